"""The public calls: they check their arguments, ask an engine or a sampler, and return its results."""

from motiflux.api.counting import count
from motiflux.api.drawing import draw_graph, draw_match
from motiflux.api.estimating import estimate
from motiflux.api.explaining import Explanation, explain
from motiflux.api.matching import match
from motiflux.api.random_rows import sample
from motiflux.request.policy import SamplingPolicy
from motiflux.request.reports import ProgressReport
from motiflux.result.count import Count
from motiflux.result.estimate import Estimate, EstimateProgress, Trawled
from motiflux.result.matches import Matches

__all__ = [
    "Count",
    "Estimate",
    "EstimateProgress",
    "Explanation",
    "Matches",
    "ProgressReport",
    "SamplingPolicy",
    "Trawled",
    "count",
    "draw_graph",
    "draw_match",
    "estimate",
    "explain",
    "match",
    "sample",
]
