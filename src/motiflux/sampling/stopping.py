"""The stopping rules of an estimate: relative error, confidence and number of samples."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from motiflux.arguments import check_integer
from motiflux.errors import ArgumentError
from motiflux.result.estimate import EstimateProgress
from motiflux.statistics import GROUP

MAX_SAMPLES = 2**40
DEFAULT_REL_ERROR = 0.05
DEFAULT_SAMPLES = 2**20

_CONFIDENCE = (0.01, 1 - 1e-9)
"""Minimum and maximum; a look may need a level of 1 - (1 - confidence) / 1000, still a float below 1."""
_FIRST_LOOK = 256
_WHOLE = 10_000
"""The total of a progress bar."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The stopping rules of one call.

    Parameters
    ----------
    rel_error
        Maximum relative error; None if only the number of samples counts.
    confidence
        Confidence level of the interval.
    groups
        Maximum number of groups of samples.
    strict
        Whether the caller asked for the relative error: an estimate that does not reach it is incomplete.
    """

    rel_error: float | None
    confidence: float
    groups: int
    strict: bool

    @property
    def first_look(self) -> int:
        """Number of groups at the first test of the rules; all groups without a relative error."""
        return self.groups if self.rel_error is None else _FIRST_LOOK

    def share(self, point: EstimateProgress) -> tuple[int, int]:
        """Return the progress and its total.

        The relative error is inverse to the square root of the number of samples.
        """
        done = point.samples / (self.groups * GROUP)
        if self.rel_error is not None and point.value > 0:
            reach = max(point.high - point.value, point.value - point.low) / point.value
            if reach > 0 and math.isfinite(reach):
                done = max(done, (self.rel_error / reach) ** 2)
        return int(_WHOLE * min(1.0, done)), _WHOLE


def make_rules(rel_error: object, confidence: object, samples: object) -> Rules:
    """Return the rules of a call.

    Raises
    ------
    ArgumentError
        An argument is out of range.
    """
    sure = _share("confidence", confidence)
    if not _CONFIDENCE[0] <= sure <= _CONFIDENCE[1]:
        raise ArgumentError("confidence", "a number from 0.01 to 1 - 1e-9", confidence)
    wanted = None if rel_error is None else _share("rel_error", rel_error, ", or None")
    groups = None
    if samples is not None:
        groups = -(-check_integer("samples", samples, 1, MAX_SAMPLES, or_none=True) // GROUP)
    if wanted is None and groups is None:
        return Rules(DEFAULT_REL_ERROR, sure, DEFAULT_SAMPLES // GROUP, strict=False)
    return Rules(wanted, sure, groups or MAX_SAMPLES // GROUP, strict=wanted is not None)


def _share(argument: str, value: object, more: str = "") -> float:
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        share = float(value) if -1 < value < 2 else 0.0
        if 0 < share < 1:
            return share
    raise ArgumentError(argument, f"a number above 0 and below 1{more}", value)
