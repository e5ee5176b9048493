"""Samples drawn on a cluster: each task draws a range of numbered groups."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from motiflux.cluster.shares import Order, Share, Shares, roots
from motiflux.cluster.tasks import Done, draw_share, draw_trees, plain
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.request.deadline import Deadline
from motiflux.request.policy import SamplingPolicy
from motiflux.request.request import Request
from motiflux.request.sampler import inheritance_of
from motiflux.result.sample_groups import Groups, joined
from motiflux.sampling.cpu_sampler import CpuSampler
from motiflux.statistics import GROUP
from motiflux.types import VertexArray

if TYPE_CHECKING:
    from motiflux.cluster.workers import Workers

LEAST_GROUPS = 256
"""Groups that are drawn by the caller: a task would take longer."""
_LEAST_OF_GPU = 1 << 13
"""Groups for which a draw pays on a GPU."""


class _Draws:
    """Numbered draws, in ranges; the results are joined in the order of their numbers."""

    divisible = True

    def __init__(
        self,
        name: str,
        renewed: Callable[[], Any],
        job: Any,
        start: Callable[[Any, int, int], Any],
        first: int,
        count: int,
        slots: int,
    ) -> None:
        self.name = name
        self.found: dict[int, Any] = {}
        self.over = False
        self._renewed, self._job, self._start = renewed, job, start
        each = max(1, -(-count // (2 * slots)))
        self.shares = Shares(0, slots)
        for begin in range(first, first + count, each):
            self.shares.add([roots(begin, min(begin + each, first + count))])

    def submit(self, order: Order) -> Any:
        (_, begin, end, *_), *_ = order.share
        return self._start(self._job, begin, end - begin)

    def take(self, order: Order, done: Done) -> None:
        (_, begin, *_), *_ = order.share
        self.found[begin] = done.value
        left: Share = []
        self.shares.finished(order.share, left, done.seconds)

    def renew(self) -> None:
        self._job = self._renewed()

    def in_order(self) -> list[Any]:
        """Return what was found, by number."""
        return [self.found[begin] for begin in sorted(self.found)]


class ClusterSampler(CpuSampler):
    """Draws groups on a cluster, and few groups where it is called; the groups are the same everywhere.

    Parameters
    ----------
    kind
        The kind of device of which each task has one: ``"cuda"``; None for CPUs.
    """

    def __init__(
        self,
        workers: Workers,
        graph: Graph,
        plan: Plan,
        request: Request,
        deadline: float | None = None,
        kind: str | None = None,
    ) -> None:
        what = "a cluster was" if kind is None else "GPUs of a cluster were"
        super().__init__(graph, plan, request, f"{what} asked for", deadline)
        self.device = workers.device if kind is None else f"{kind}, {workers.gpus_told}"
        self._slots = workers.slots if kind is None else workers.gpus
        if kind is not None:
            self.least_piece = _LEAST_OF_GPU * self._slots
        self._kind = kind
        self._workers, self._graph = workers, graph
        self._content = (plan, plain(request))
        self._plan = None if kind is not None else plan
        self._job = workers.job(graph, self._content, plan=self._plan)
        self._inherits = inheritance_of(request)

    def draw(
        self,
        estimator: str | SamplingPolicy,
        seed: int,
        first: int,
        count: int,
        timeout: float | None = None,
    ) -> Groups:
        """Return groups; see `Sampler`."""
        if isinstance(estimator, str) and count < LEAST_GROUPS:
            return super().draw(estimator, seed, first, count, timeout)
        workers, threads = self._workers, self._workers.threads
        name = f"estimate {workers.pattern}"
        end = None if timeout is None else time.perf_counter() + timeout

        def start(job: Any, begin: int, number: int) -> Any:
            left = None if end is None else max(0.0, end - time.perf_counter())
            if self._kind is None:
                given = (estimator, self._inherits, seed, begin, number, threads, left)
                return workers.submit(draw_share, name, job, *given)
            from motiflux.cluster.gpu_sampling import draw_on_gpu

            there = (self._kind, estimator, seed, begin, number, threads, left)
            return workers.submit(draw_on_gpu, name, job, *there, on_gpu=True)

        draws = _Draws(name, self._put_again, self._job, start, first, count, self._slots)
        workers.driver(self._slots).run_all([draws], Deadline(time.perf_counter(), end))
        parts: list[Groups] = []
        for begin in sorted(draws.found):  # after a timeout, those before the first that is missing
            if begin != first + sum(len(part.weights) for part in parts):
                break
            parts.append(draws.found[begin])
        if not parts:
            return Groups(np.empty(0, np.float64), np.empty(0, np.uint32), np.empty(0, np.uint32))
        return joined(parts)

    def _put_again(self) -> Any:
        self._job = self._workers.job(self._graph, self._content, plan=self._plan, again=True)
        return self._job


class TreeDraws:
    """Trees drawn on a cluster, of which the embeddings are kept.

    Parameters
    ----------
    kind
        As for `ClusterSampler`.
    """

    def __init__(self, workers: Workers, kind: str | None = None) -> None:
        self._workers, self._kind = workers, kind
        self._jobs: dict[int, tuple[Plan, Any]] = {}

    def draw(
        self,
        graph: Graph,
        plan: Plan,
        request: Request,
        seed: int,
        first: int,
        count: int,
        left: float | None,
    ) -> tuple[VertexArray, int]:
        """Return the embeddings among trees ``first .. first + count - 1``, and the number of trees drawn."""
        workers = self._workers
        content = (plan, plain(request))
        known, job = self._jobs.get(id(plan), (None, None))
        if known is not plan:
            job = workers.job(graph, content)
            self._jobs = {id(plan): (plan, job)}
        end = None if left is None else time.perf_counter() + left
        name = f"sample {workers.pattern}"

        def start(job: Any, begin: int, number: int) -> Any:
            rest = None if end is None else max(0.0, end - time.perf_counter())
            given = (seed, GROUP * begin, GROUP * number, workers.threads, rest)
            if self._kind is None:
                return workers.submit(draw_trees, name, job, *given)
            from motiflux.cluster.gpu_sampling import draw_trees_on_gpu

            return workers.submit(draw_trees_on_gpu, name, job, self._kind, *given, on_gpu=True)

        def again() -> Any:
            return workers.job(graph, content, again=True)

        slots = workers.slots if self._kind is None else workers.gpus
        draws = _Draws(name, again, job, start, first // GROUP, -(-count // GROUP), slots)
        workers.driver(slots).run_all([draws], Deadline(time.perf_counter(), end))
        parts, drawn = [np.empty((0, len(plan.order)), np.uint32)], 0
        for begin in sorted(draws.found):
            if begin != first // GROUP + drawn // GROUP or drawn % GROUP:
                break
            rows, trees = draws.found[begin]
            parts.append(rows)
            drawn += trees
        return np.concatenate(parts), min(drawn, count)
