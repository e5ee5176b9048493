"""Calls on the GPUs of a cluster, as those who plan and make calls ask for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from motiflux.cluster.engine import ClusterEngine
from motiflux.cluster.gpu_engine import GpuClusterEngine
from motiflux.cluster.gpu_images import GpuImageCounter
from motiflux.cluster.images import ClusterImageCounter
from motiflux.cluster.sampler import ClusterSampler, TreeDraws
from motiflux.cpu.sampling import kinds_apart
from motiflux.gpu.strategy import DeviceFacts
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.plan.projection import ProjectedPlan
from motiflux.request.deadline import Deadline
from motiflux.request.engine import Engine
from motiflux.request.images import ImageCounter
from motiflux.request.request import Request
from motiflux.request.sampler import Sampler
from motiflux.result.rows import RowSource
from motiflux.types import VertexArray

if TYPE_CHECKING:
    from motiflux.cluster.workers import Workers

WHY = "GPUs of a cluster were asked for"


class OnGpus:
    """Does a call on GPUs; see `motiflux.request.stand_in`.

    Attributes
    ----------
    kind
        The kind of device: ``"cuda"``.
    """

    def __init__(self, workers: Workers, kind: str, host: ClusterEngine) -> None:
        self.kind = kind
        self._workers, self._host = workers, host
        self._engine = GpuClusterEngine(workers, kind, host)
        self._trees, self._trees_on_cpus = TreeDraws(workers, kind), TreeDraws(workers)

    def check(self) -> None:
        """Raise `DeviceError` if the cluster has no GPU for a task."""
        self._engine.check()

    def engine(self, why_host: str | None) -> tuple[Engine, str]:
        """Return the engine, and the reason for it in words."""
        if why_host is not None:
            return self._host, f"{why_host}, not {self._engine.device}"
        return self._engine, WHY

    def facts(self) -> DeviceFacts:
        """Return facts of one of the GPUs."""
        self._engine.look(Deadline.after(None))
        return self._engine.facts

    def projected_rows(
        self, graph: Graph, plan: ProjectedPlan, request: Request, batch_rows: int, deadline: Deadline
    ) -> RowSource:
        """Start a listing of at most ``request.limit`` distinct rows, on CPUs."""
        return self._host.projected_rows(graph, plan, request, batch_rows, deadline)

    def image_counter(self, why_host: str | None) -> ImageCounter:
        """Return who counts by images."""
        if why_host is not None:
            return ClusterImageCounter(self._workers)
        self.check()
        return GpuImageCounter(self._workers, self.kind)

    def sampler(self, graph: Graph, plan: Plan, request: Request, deadline: float | None) -> Sampler:
        """Return the sampler of a plan."""
        self.check()
        kind = None if kinds_apart(plan) else self.kind
        return ClusterSampler(self._workers, graph, plan, request, deadline, kind)

    def draws_on(self) -> tuple[str, str]:
        """Return the device that draws embeddings, and the reason for it in words."""
        self.check()
        return self._engine.device, WHY

    def draw_embeddings(
        self,
        graph: Graph,
        plan: Plan,
        request: Request,
        seed: int,
        first: int,
        count: int,
        left: float | None,
    ) -> tuple[VertexArray, int]:
        """Return the embeddings among trees, and the number of trees drawn."""
        self.check()
        trees = self._trees_on_cpus if kinds_apart(plan) else self._trees
        return trees.draw(graph, plan, request, seed, first, count, left)
