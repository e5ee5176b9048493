"""What engines took for a plan that has been counted by before: better known than expected."""

from __future__ import annotations

from math import inf

from motiflux.plan import Plan

_TRIES = 2
"""Counts after which an engine's time is known: kernels of its own are compiled beside the first."""
_WORTH_A_TRY = 4.0
"""Times the known time that the other engine may be expected to take, for it to be tried."""
_LONG = 0.05
"""Seconds from which on a count is raced instead: starting threads for that takes nothing in comparison."""


class RuntimeHistory:
    """How often a plan was counted by, and what that took each engine. Holds on to the plan it is kept under.

    Several threads may tell it times at once: one of them may be lost.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.times = 0
        self.gpu_plan: Plan | None = None
        self._seconds: dict[str, float] = {}
        self._tries: dict[str, int] = {}
        self._expected: dict[str, float] = {}

    def took(self, engine: str, seconds: float) -> None:
        """Remember that a count took an engine so long, or longer where another one was done first.

        The least time is what is known, until it takes longer again and again: the GPU may be in other use.
        """
        self._seconds[engine] = min(seconds, 2 * self._seconds.get(engine, inf))
        self._tries[engine] = self._tries.get(engine, 0) + 1

    def forget(self, engine: str) -> None:
        """Forget what is known of an engine that could not count."""
        self._seconds.pop(engine, None)
        self._tries.pop(engine, None)

    def seconds(self, engine: str) -> float | None:
        """Return what is known of an engine; None before it was tried often enough."""
        return self._seconds[engine] if self._tries.get(engine, 0) >= _TRIES else None

    def expect(self, engine: str, seconds: float | None) -> None:
        """Remember what an engine is expected to take; None where that is not known."""
        if seconds is not None:
            self._expected[engine] = seconds

    def better(self, one: str, other: str) -> str | None:
        """Return which of two engines to take; None where that is to be found out, or both take long."""
        first, second = self.seconds(one), self.seconds(other)
        known = [seconds for seconds in (first, second) if seconds is not None]
        if not known or min(known) > _LONG:
            return None
        if first is not None and second is not None:
            return one if first <= second else other
        here, there = (one, other) if second is None else (other, one)
        expected = self._expected.get(there)
        return None if expected is None or self.is_worth_a_try(there, here) else here

    def is_worth_a_try(self, engine: str, other: str) -> bool:
        """Return whether to have an engine count that is not known, to see how long it takes."""
        known, expected = self.seconds(other), self._expected.get(engine)
        if known is None or known > _LONG or self.seconds(engine) is not None or expected is None:
            return False
        return expected < _WORTH_A_TRY * known
