"""Counts by images on the GPUs of a cluster: a sum of the numbers of tasks for each image."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motiflux import log
from motiflux.cluster.engine import NAME
from motiflux.cluster.gpu_shares import Cuts, Parts
from motiflux.cluster.gpu_tasks import assigned_gpu, take_share
from motiflux.cluster.images import ClusterImageCounter
from motiflux.cluster.shares import Order
from motiflux.cluster.tasks import Done, Job, Watch, content_of, plain
from motiflux.gpu.group import working_on
from motiflux.gpu.images.counter import DeviceImageCounter
from motiflux.gpu.images.search import Places, numbers_of_share, too_many
from motiflux.gpu.images.tables import numbers_of_tables
from motiflux.gpu.kernels.table_run import TooWide
from motiflux.gpu.runtime.accelerator import open_accelerator
from motiflux.gpu.runtime.job import SearchJob
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.plan.ir import Table
from motiflux.plan.physical import Family
from motiflux.plan.rooted import Kinds
from motiflux.request.deadline import Deadline, OutOfTimeError
from motiflux.request.request import Request

if TYPE_CHECKING:
    from motiflux.cluster.workers import Workers


class GpuImageCounter(DeviceImageCounter):
    """Counts by images as one GPU does, with searches cut into a share for each GPU, and tables on one.

    A task sends 8 bytes for each number, so there are no more shares.
    """

    engine = NAME

    def __init__(self, workers: Workers, kind: str) -> None:
        self._workers, self._kind = workers, kind
        self._name = f"{kind}, {workers.gpus_told}"

    def _host(self, why: str) -> ClusterImageCounter:
        log.ENGINE.info("CPUs take over: %s", why)
        return ClusterImageCounter(self._workers, f"CPUs took over from {self._name}: {why}")

    def _search(
        self, graph: Graph, plan: Plan, places: Places, request: Request, deadline: Deadline
    ) -> tuple[NDArray[np.uint64], bool]:
        content = ((plan, places), plain(request))
        search = _Sum(self._workers, graph, content, self._kind, self._workers.gpus)
        whole = self._run(search, deadline) and search.whole
        words = np.zeros(places.size, np.uint64) if search.words is None else search.words[0]
        if search.overflow or too_many(search.found, places):
            raise TooWide
        return words, whole

    def _tables(
        self, graph: Graph, kinds: Kinds, tables: Sequence[Table], request: Request, deadline: Deadline
    ) -> list[NDArray[np.uint64]]:
        content = ((kinds, list(tables)), plain(request))
        search = _Sum(self._workers, graph, content, self._kind, 1)
        if not self._run(search, deadline) or search.words is None:
            raise OutOfTimeError
        return search.words

    def _run(self, search: _Sum, deadline: Deadline) -> bool:
        """Run the tasks of a search; return whether all ended."""
        driver = self._workers.driver(self._workers.gpus)
        driver.run_all([search], deadline)
        return driver.has_all_of(search)


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Numbers of a share: those of a search, or of each table."""

    words: list[NDArray[np.uint64]]
    found: int = 0
    whole: bool = True
    cut: tuple[Hashable, ...] = ()


class _Sum:
    """The sum of the numbers of shares."""

    divisible = False

    def __init__(self, workers: Workers, graph: Graph, content: Any, kind: str, shares: int) -> None:
        self._workers, self._graph, self._content, self._kind = workers, graph, content, kind
        self._job = workers.job(graph, content)
        self.name = f"count_per_vertex {workers.pattern}"
        self.shares = Parts(shares)
        self.words: list[NDArray[np.uint64]] | None = None
        self.found, self.whole, self.overflow = 0, True, False
        self._cuts = Cuts()

    @property
    def over(self) -> bool:
        return self.overflow

    def submit(self, order: Order) -> Any:
        share = order.number, self.shares.units
        given = (self._job, self._kind, share, self._workers.threads, order.seconds)
        return self._workers.submit(numbers_on_gpu, self.name, *given, on_gpu=True)

    def take(self, order: Order, done: Done) -> None:
        numbers: _Numbers = done.value
        self._cuts.add(self.name, numbers.cut, done.node)
        self.found += numbers.found
        self.whole = self.whole and numbers.whole
        self.shares.done += 1
        if self.words is None:
            self.words = [np.array(one) for one in numbers.words]
            return
        for total, one in zip(self.words, numbers.words, strict=True):
            total += one
            self.overflow = self.overflow or bool((total < one).any())

    def renew(self) -> None:
        self._job = self._workers.job(self._graph, self._content, again=True)


def numbers_on_gpu(job: Job, kind: str, share: tuple[int, int], threads: int, seconds: float) -> Done:
    """Count by images on the task's GPU: a share of a search, or tables.

    Raises
    ------
    TooWide, DeviceMemoryError, OutOfTimeError
        As `motiflux.gpu.images.search.numbers_of_search`.
    """
    watch = Watch()
    graph, (what, how), asked, _ = content_of(job)
    request = replace(asked, threads=threads)
    deadline = Deadline.after(None if seconds == float("inf") else seconds)
    accelerator = open_accelerator(assigned_gpu(kind))
    with working_on(accelerator):
        if not isinstance(how, Places):
            return watch.done(_Numbers(numbers_of_tables(accelerator, graph, what, how, request, deadline)))
        cuts: list[Hashable] = []

        def restrict(job: SearchJob) -> None:
            cuts.append(take_share(job, Family.SEARCH, share))

        words, found, whole = numbers_of_share(accelerator, graph, what, how, request, deadline, restrict)
        return watch.done(_Numbers([words], found, whole, tuple(cuts)))
