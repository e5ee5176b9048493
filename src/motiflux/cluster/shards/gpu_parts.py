"""Parts of a sharded graph that a GPU searches."""

from __future__ import annotations

from motiflux import _native
from motiflux.cluster.shards.part import Part
from motiflux.cluster.shards.search import RangeSearch
from motiflux.cluster.shares import Item
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.engine import run_job
from motiflux.gpu.group import DeviceGroup, working_on
from motiflux.gpu.launch.prepare import NarrowedSearch, set_up_narrowed, without_bounds
from motiflux.gpu.runtime.job import SearchJob, setting_up
from motiflux.gpu.runtime.launches import Result
from motiflux.gpu.storage.upload import UploadContext
from motiflux.gpu.strategy import MOST_VERTICES, counting_kernel
from motiflux.plan import Plan
from motiflux.plan.physical import SearchKernel
from motiflux.request.deadline import Deadline


class PartsOnGpu:
    """Counts the embeddings in parts on a GPU.

    A part is copied to the device, searched by the kernels of the engine ``dfs``, and forgotten. What kernels
    do not count is counted by the native search of the part, and so are numbers beyond their range.

    Parameters
    ----------
    device
        Its name.
    """

    def __init__(self, search: RangeSearch, device: str) -> None:
        self._search = search
        self._group = DeviceGroup.open((device,))
        self._kernels: dict[int, tuple[Plan, Plan, SearchKernel | None]] = {}
        self.by_cpu = 0
        """Parts that the native search counted."""

    def counted(self, part: Part, search: _native.NativePlan, item: Item) -> int:
        """Return the number of embeddings in a part.

        Raises
        ------
        DeviceMemoryError
            The part and its search do not fit on the GPU.
        """
        result = self._result(part)
        if result is None or result.overflow:
            self.by_cpu += 1
            return self._search.counted(part, search, item)
        return result.found

    def _result(self, part: Part) -> Result | None:
        """Return what kernels counted; None if there are none for the plan."""
        planned, rows = self._search.planned
        plan, kernel = self._kernel_of(planned)
        if kernel is None or rows.apart or part.vertices > MOST_VERTICES:
            return None
        request, deadline, accelerator = self._search.request, Deadline.after(None), self._group.first
        found = NarrowedSearch(
            plan, part.rows, rows.sources, rows.out, rows.into, (part.first, part.last), part.vertices
        )
        with working_on(accelerator):
            try:
                with setting_up(SearchJob(accelerator)) as job:
                    context = UploadContext.of(job.stream, request, deadline)
                    set_up_narrowed(job, found, kernel, request, context)
                    job.launches.set_limit(None)
            except DeviceMemoryError as error:
                error.advise("a sharded graph with a smaller memory= has smaller parts")
                raise
            return run_job(job, deadline, None)[1]

    def _kernel_of(self, planned: Plan) -> tuple[Plan, SearchKernel | None]:
        """Return a plan without bounds, and its kernel if there is one."""
        if id(planned) not in self._kernels:  # the entry holds the plan: its id stays its own
            plan = without_bounds(planned)
            kernel = counting_kernel(plan, self._group.facts, self._search.request)
            self._kernels[id(planned)] = planned, plan, kernel
        return self._kernels[id(planned)][1:]
