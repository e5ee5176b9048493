"""Taking times.

One thread is timed by process CPU time, which other programs on the machine disturb least, and the minimum
of several runs is the figure to compare. Scaling over threads is timed by the wall clock.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

RUNS = 5
LONG_RUN_SECONDS = 5.0
"""A run this long is not repeated; `Timing.runs` is the number of runs."""

Clock = Callable[[], float]
cpu_clock: Clock = time.process_time
wall_clock: Clock = time.perf_counter


@dataclass(frozen=True)
class Timing:
    """Seconds of several runs of one thing."""

    median: float
    min: float
    runs: int

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Timing:
        """Summarise at least one time."""
        return cls(statistics.median(seconds), min(seconds), len(seconds))


def repeat(
    call: Callable[[], T],
    clock: Clock = cpu_clock,
    runs: int = RUNS,
    before: Callable[[], object] = lambda: None,
) -> tuple[T, Timing]:
    """Call up to `runs` times, fewer if a run is long; give the last result and the times.

    Parameters
    ----------
    call
        The function to time.
    clock
        `cpu_clock` or `wall_clock`, in seconds.
    runs
        Most runs, at least 1.
    before
        Called before each run, untimed.
    """
    taken: list[float] = []
    while True:
        before()
        start = clock()
        result = call()
        taken.append(clock() - start)
        if len(taken) >= runs or taken[-1] > LONG_RUN_SECONDS:
            return result, Timing.of(taken)
