"""What a plan is asked for, and what of that plans are remembered by."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import frexp, inf

from motiflux.plan.ir import Plan
from motiflux.plan.local_counts.speeds import Speeds
from motiflux.types import Semantics, Symmetry

# Seconds left from which on a timeout is no hurry, and the share of those left in which a formula must be
# found, and all probes made: where the search is expected to be done in time, and where it is not.
_NO_HURRY = 10.0
_SHARE_OF_TIMEOUT = 0.1
_SHARE_OF_SHORT_TIMEOUT = 0.5
_LEAST_LEFT = 1e-3


@dataclass(frozen=True)
class PlanOptions:
    """The arguments of `make_plan`, checked: two that are equal ask for the same plan of a pattern.

    So plans are remembered by them. Whatever is added here is part of that, unless it says ``compare=False``.

    Parameters
    ----------
    switches
        All switches of `motiflux.config`.
    haste
        How little time is left, by powers of two; 0 is enough. A plan is good for all who are in as much
        haste or more; for others it is looked for anew: what is missed in 10 ms is found in a second.
    """

    semantics: Semantics
    symmetry: Symmetry
    counting: bool
    images: bool
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
    haste: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        left = inf if self.deadline is None else self.deadline - time.perf_counter()
        haste = 0 if left >= _NO_HURRY else frexp(_NO_HURRY / max(left, _LEAST_LEFT))[1]
        object.__setattr__(self, "haste", haste)

    def of_order(self) -> PlanOptions:
        """Return these with the same in the place of all that the order of a plan does not depend on."""
        return replace(self, parts=False, parts_cost=1.0, searchers=1, tables=None, deadline=None)

    def seconds_to_look(self, search: float | None) -> float:
        """Return how long something better may be looked for than a search of so many seconds, if known.

        A search that is expected to be cut off is worth nothing: half of the time goes into the look.
        """
        if self.deadline is None:
            return inf
        left = self.deadline - time.perf_counter()
        in_time = search is not None and search < left
        return left * (_SHARE_OF_TIMEOUT if in_time else _SHARE_OF_SHORT_TIMEOUT)
