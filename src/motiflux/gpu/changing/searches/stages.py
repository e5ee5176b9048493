"""Searches in stages: from updates, then from the entries of the pool that the stage before has filled."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from motiflux.codegen.changing import POOLED_LANES, ROOT, Pool, PooledArgs
from motiflux.codegen.kernels import Goal
from motiflux.device import Mark
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.changing.manner import Manner
from motiflux.gpu.changing.searches.pools import Pools
from motiflux.gpu.changing.searches.searched import Searched
from motiflux.gpu.changing.searches.set_up import (
    MANY_ROOTS,
    PooledSearch,
    Roots,
    SearchSetUp,
    chunk_for,
    do_meanwhile,
    waited,
)
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.job import SearchJob
from motiflux.jit import Source


class StagedSearch:
    """Counts in stages, where partial matches are pooled.

    Parameters
    ----------
    budget
        Maximum number of bytes that motiflux holds on the device.
    manner
        How updates are searched.
    set_up
        Sets searches up and launches them.
    """

    def __init__(
        self, accelerator: Accelerator, budget: int | None, manner: Manner, set_up: SearchSetUp
    ) -> None:
        self._accelerator, self._manner, self._set_up = accelerator, manner, set_up
        self.pools = Pools(accelerator, budget, manner.pooling)
        self._end: Mark | None = None

    def release(self) -> None:
        """Free the memory."""
        self.pools.release()
        self._end = None

    def sources(self, levels: int) -> list[Source]:
        """Return the units that pool partial matches: for stages of many roots, and of few if it differs."""
        many, few = (
            self._manner.source(Goal.COUNT, POOLED_LANES, levels, roots, pooled=True)
            for roots in (MANY_ROOTS, 1)
        )
        return [many] if few == many else [many, few]

    def set_up(self, job: SearchJob, searched: Searched, roots: Roots) -> PooledSearch | None:
        """Set a search up; None if it is to go without pools.

        It goes without where no plan pools, the kernels are not compiled yet, or memory is short.
        """
        if searched.stages == 1:
            return None
        sources = self.sources(searched.most_levels)
        if self.pools.switch != "on" and not self._are_compiled(sources):
            return None
        most = self._set_up.room_left() // 2
        if not self.pools.open(job.stream, searched.stages, roots[1], searched.vertices, most):
            return None
        try:
            return self._set_up.pooled(job, searched, sources, roots)
        except DeviceMemoryError:
            self.pools.release()  # the lists come first
            return None

    def _are_compiled(self, sources: Sequence[Source]) -> bool:
        """Whether kernels are compiled, which begins in the background if they are not."""
        begun = [self._accelerator.begin(source) for source in sources]
        return all(begun) and all(map(self._accelerator.is_compiled, sources))  # some may have been refused

    def count(
        self,
        job: SearchJob,
        searched: Searched,
        search: PooledSearch,
        roots: Roots,
        goes_on: Callable[[], bool],
        behind: Callable[[], None],
        meanwhile: Callable[[], None],
    ) -> bool:
        """Search from as many roots at a time as pools suffice for; False if it was stopped.

        `goes_on`, `behind` and `meanwhile` are as for `RunSearch.count`.
        """
        (address, count), stages = roots, searched.stages
        first, is_first = 0, True
        while first < count:
            piece = min(self.pools.roots, count - first)
            search.argument.plan.roots = address + ROOT.itemsize * first
            first += piece
            arcs = piece
            for stage in range(stages):
                if not is_first and not goes_on():
                    return False
                ends = stage + 1 == stages
                search.use(job, int(self._manner.has_few(arcs)))
                self._launch(job, search.argument, stage, arcs, ends=ends)
                if is_first:
                    do_meanwhile(job, meanwhile)
                if ends and first == count:
                    do_meanwhile(job, behind)
                is_first = False
                if not ends:
                    self.pools.fetch(job.stream, stage)
                self._end = job.stream.mark(self._end)
                if not waited(job, self._end, goes_on):
                    return False
                self._set_up.note(job, stage)
                arcs = 0 if ends else self.pools.entries(job.stream, stage)
                if not arcs:
                    break
            self.pools.adapt(piece)
        return True

    def _launch(self, job: SearchJob, argument: PooledArgs, stage: int, arcs: int, *, ends: bool) -> None:
        """Launch a stage from so many roots or entries; the last one fills no pool."""
        plan, task = argument.plan, argument.task
        plan.stage = stage
        plan.source = self.pools.of(stage - 1) if stage else Pool()
        plan.target = Pool() if ends else self.pools.cleared(job.stream, stage)
        task.arcs = task.all_arcs = arcs
        task.chunk = chunk_for(arcs, job.launches.groups)
        self._set_up.launch(job)
