"""Estimates from sums of weights: means, intervals that hold up for skewed weights, when to stop.

Knows no graphs and no plans.
"""

from motiflux.statistics.blend import blended_interval, share_by
from motiflux.statistics.interval import Interval, confidence_interval, share_upper_bound
from motiflux.statistics.quantiles import gamma_quantile
from motiflux.statistics.stopping import StoppingChecks
from motiflux.statistics.tally import GROUP, UNIT_BITS, Tally

__all__ = [
    "GROUP",
    "UNIT_BITS",
    "Interval",
    "StoppingChecks",
    "Tally",
    "blended_interval",
    "confidence_interval",
    "gamma_quantile",
    "share_by",
    "share_upper_bound",
]
