"""The arguments of one call of `estimate`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property

from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.request.policy import SamplingPolicy
from motiflux.request.request import Request
from motiflux.result.estimate import EstimateCallback
from motiflux.sampling.stopping import Rules


@dataclass(frozen=True)
class EstimateCall:
    """The arguments of one call of `estimate`, validated.

    Parameters
    ----------
    started
        Start of the call, as a moment of `time.perf_counter`.
    callback
        Function that is called with the progress; None if there is none.
    """

    graph: Graph
    pattern: Pattern
    request: Request
    rules: Rules
    estimator: str | SamplingPolicy
    seed: int
    started: float
    callback: EstimateCallback | None = None

    @cached_property
    def deadline(self) -> float | None:
        """The end of the time limit, as a moment of `time.perf_counter`; None without a limit."""
        return None if self.request.timeout is None else self.started + self.request.timeout

    def seconds_left(self) -> float | None:
        """Return the rest of the time limit, at least 0; None without a limit."""
        return None if self.deadline is None else max(0.0, self.deadline - time.perf_counter())

    def seconds(self) -> float:
        """Return the seconds since the start of the call."""
        return time.perf_counter() - self.started
