"""The kernels of an engine: which ones a run needs, and whether they are compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from motiflux.codegen.changing import LANES
from motiflux.codegen.kernels import Goal
from motiflux.gpu.changing.manner import Manner
from motiflux.gpu.changing.plans import PlanTable
from motiflux.gpu.changing.searches import RunSearch
from motiflux.gpu.changing.searches.searched import lanes_for
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.jit import Source
from motiflux.request.deadline import moments
from motiflux.types import MAX_PATTERN_VERTICES

_MANY = (1 << 32) - 1


class _Needed(NamedTuple):
    """What the kernels of a run depend on; runs with equal ones need the same kernels.

    Parameters
    ----------
    lanes
        Lanes of a group that suit the rows.
    levels
        Most levels of a plan.
    forks
        Whether plans share levels.
    counts, lists
        Whether it counts, and whether it lists: with many roots or with few, or None.
    """

    lanes: int
    levels: int
    forks: bool
    counts: bool | None
    lists: bool | None


class RunKernels:
    """The kernels of one engine.

    Parameters
    ----------
    writers
        Units that write rows and candidates.
    """

    def __init__(
        self, accelerator: Accelerator, manner: Manner, search: RunSearch, writers: Sequence[Source]
    ) -> None:
        self._accelerator, self._manner, self._search = accelerator, manner, search
        self._writers = tuple(writers)
        self._ready: set[_Needed] = set()
        """Kernels that are compiled, for the lanes that suit the rows."""

    def are_ready(self) -> bool:
        """Whether those that count are compiled, for any lanes; compiled in the background if not."""
        searches = [self._manner.source(Goal.COUNT, lanes, MAX_PATTERN_VERTICES, _MANY) for lanes in LANES]
        begun = [self._accelerator.begin(source) for source in searches]
        written = [self._accelerator.begin(source) for source in self._writers]
        return all(written) and any(begun)

    def wait(
        self, table: PlanTable, roots: tuple[int, int], typical: float, goes_on: Callable[[], bool]
    ) -> int | None:
        """Wait until the kernels of a run are compiled; return the lanes of a group, None if it was stopped.

        If they are compiled for another number of lanes only, that one is taken, and the better ones are
        compiled in the background.

        Parameters
        ----------
        roots
            From how many searches count, and from how many they list.
        typical
            The size of the row that an entry is in, on average.
        """
        counts, lists = (self._manner.has_few(many) if many > 0 else None for many in roots)
        forks = table.shared is not None
        needed = _Needed(lanes_for(typical), table.most_levels, forks, counts, lists)
        if needed in self._ready:
            return needed.lanes
        searches = {lanes: self._searches(table, roots, lanes) for lanes in LANES}
        lanes = needed.lanes
        compiled = [one for one in LANES if all(map(self._accelerator.is_compiled, searches[one]))]
        if compiled and lanes not in compiled:
            for source in searches[lanes]:
                self._accelerator.begin(source)
            lanes = compiled[0]
        sources = [*self._writers, *searches[lanes]]
        for _ in moments():
            waits = [source for source in sources if not self._accelerator.begin(source, at_once=True)]
            if not waits:
                break
            if not goes_on():
                return None
        if lanes == needed.lanes:
            self._ready.add(needed)
        if roots[0] > 0:
            self._search.begin(typical)
        return lanes

    def _searches(self, table: PlanTable, roots: tuple[int, int], lanes: int) -> list[Source]:
        """Return the units that search, with those that counting needs beside its search."""
        counted, listed = roots
        found = self._search.awaited(table.most_levels, counted) if counted > 0 else []
        if counted > 0:
            found.append(self._manner.source(Goal.COUNT, lanes, table.most_levels, counted))
        if listed > 0:
            forks = table.shared is not None
            found.append(self._manner.source(Goal.STORE, lanes, table.most_levels, listed, coalesced=forks))
        return found
