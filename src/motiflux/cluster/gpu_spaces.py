"""Candidate spaces of counts on GPUs: one task filters, the object store carries the result to the others.

GPUs that filter by themselves may have other rows, so that their shares would not be parts of one whole.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from motiflux.cluster.connection import put
from motiflux.cluster.gpu_shares import Parts
from motiflux.cluster.gpu_tasks import Filtered, Space, filter_on_gpu
from motiflux.cluster.shares import Order
from motiflux.cluster.tasks import Done, plain
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.request.request import Request

if TYPE_CHECKING:
    from motiflux.cluster.workers import Workers

_MOST_KEPT = 16
"""Candidate spaces that stay in the object store."""


@dataclass(frozen=True, slots=True)
class MaybeFiltered:
    """A candidate space that is kept with the graph; None if it does not fit on a GPU."""

    made: Filtered | None

    @property
    def nbytes(self) -> int:
        """Its bytes."""
        return 0 if self.made is None else self.made.nbytes


class Spaces:
    """The candidate spaces in the object store."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._put: OrderedDict[str, Space] = OrderedDict()

    def of(self, made: Filtered, *, again: bool = False) -> Space:
        """Return the way of workers to a candidate space; put it `again` if its object was lost."""
        if again or made.token not in self._put:
            self._put[made.token] = Space(
                made.token, [put(self._workers.connection.ray, made, "the candidate space")]
            )
        self._put.move_to_end(made.token)
        while len(self._put) > _MOST_KEPT:
            self._put.popitem(last=False)
        return self._put[made.token]


class Filtering:
    """The task that filters a candidate space.

    Attributes
    ----------
    made
        What it returned: None if the space does not fit on the GPU.
    """

    divisible = False
    over = False

    def __init__(self, workers: Workers, graph: Graph, plan: Plan, request: Request, kind: str) -> None:
        self._workers, self._graph, self._kind = workers, graph, kind
        self._content = (plan, plain(request))
        self._job = workers.job(graph, self._content)
        self.name = f"filter {workers.pattern}"
        self.shares = Parts(1)
        self.made: Filtered | None = None

    def submit(self, order: Order) -> Any:
        """Start the task."""
        given = (self._job, self._kind, uuid.uuid4().hex, self._workers.threads, order.seconds)
        return self._workers.submit(filter_on_gpu, self.name, *given, on_gpu=True)

    def take(self, order: Order, done: Done) -> None:
        """Take its result."""
        self.made = done.value

    def renew(self) -> None:
        """Share the graph again."""
        self._job = self._workers.job(self._graph, self._content, again=True)
