"""The checked arguments of planning, which are the key of cached plans."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import frexp, inf

from motiflux.plan.ir import Plan
from motiflux.plan.local_counts.speeds import Speeds
from motiflux.types import Semantics, Symmetry

# A deadline further away than this number of seconds does not shorten planning. A formula must be found, and
# all probes made, within a share of the seconds left: a smaller share if the search is expected to end in
# time.
_NO_HURRY = 10.0
_SHARE_OF_TIMEOUT = 0.1
_SHARE_OF_SHORT_TIMEOUT = 0.5
_LEAST_LEFT = 1e-3


@dataclass(frozen=True)
class PlanOptions:
    """The checked arguments of `make_plan`. Equal options give the same plan of a pattern.

    They are part of the key of cached plans, with all fields but those with ``compare=False``.

    Parameters
    ----------
    switches
        All switches of `motiflux.config`.
    haste
        0 if there is enough time before the deadline; greater by 1 each time that the time left halves. A
        cached plan serves calls of equal or greater haste. Other calls have more time, which may give a
        better plan, so it is made again.
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
        """Return the options with default values for all that the matching order does not depend on."""
        return replace(self, parts=False, parts_cost=1.0, searchers=1, tables=None, deadline=None)

    def planning_seconds(self, search: float | None) -> float:
        """Return the seconds that may be spent on finding a better plan than a search of `search` seconds.

        If the search is not expected to end before the deadline, or is of unknown length, this is half of the
        time left.
        """
        if self.deadline is None:
            return inf
        left = self.deadline - time.perf_counter()
        in_time = search is not None and search < left
        return left * (_SHARE_OF_TIMEOUT if in_time else _SHARE_OF_SHORT_TIMEOUT)
