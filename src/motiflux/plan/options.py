"""What a plan is asked for, and what of that plans are remembered by."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf

from motiflux.plan.ir import Plan
from motiflux.plan.local.speeds import Speeds
from motiflux.types import Semantics, Symmetry

# Seconds left from which on a timeout is no hurry, and the share of those left in which a formula must be
# found, and all probes made.
_NO_HURRY = 10.0
_SHARE_OF_TIMEOUT = 0.1


@dataclass(frozen=True)
class PlanOptions:
    """The arguments of `make_plan`, checked: two that are equal ask for the same plan of a pattern.

    So plans are remembered by them. Whatever is added here is part of that, unless it says ``compare=False``.

    Parameters
    ----------
    switches
        All of `motiflux.config.TUNING`.
    hurried
        Whether so little time is left that plans are looked for less: those are remembered apart.
    """

    semantics: Semantics
    symmetry: Symmetry
    counting: bool
    space: bool
    tail: bool
    parts: bool
    parts_cost: float
    searchers: int
    tables: Speeds | None
    threads: int = field(compare=False)
    deadline: float | None = field(compare=False)
    switches: Mapping[str, str] = field(hash=False)
    beside: tuple[Plan, ...]
    hurried: bool = field(init=False)

    def __post_init__(self) -> None:
        hurried = self.deadline is not None and self.deadline - time.perf_counter() < _NO_HURRY
        object.__setattr__(self, "hurried", hurried)

    def of_order(self) -> PlanOptions:
        """Return these with the same in the place of all that the order of a plan does not depend on."""
        return replace(self, parts=False, parts_cost=1.0, searchers=1, tables=None, deadline=None)

    def seconds_to_look(self) -> float:
        """Return how long something better than a search may be looked for."""
        return inf if self.deadline is None else _SHARE_OF_TIMEOUT * (self.deadline - time.perf_counter())
