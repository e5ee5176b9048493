"""What searches are made from beside their graph: the driver makes it once, and each node gets it once.

A search reads a candidate space, or rows that were narrowed to the arcs that its query edges may use. The
driver has made them for its plan. Workers of a node map them from the object store, so none filters them
again, and all have one copy in memory and in shared caches.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from motiflux.cluster.connection import Connection
from motiflux.graph import Adjacency, AdjacencyKey, Graph
from motiflux.plan import Plan
from motiflux.plan.candidates.space import KEPT_SPACES, SpaceArrays, keep_space, kept_arrays

_LEAST_BYTES = 1 << 20
"""Less is made by each worker as fast as it is sent."""
_SHARE_OF_STORE = 8
"""At most so much of the object store of a node is for one search: workers hold what they map."""
_STORE = 1 << 30
"""Bytes of an object store whose size is not known."""
MOST_KEPT = 2
"""Searches for which the driver keeps this in the object store, and each worker process maps it."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a search is made from: the arrays of its candidate space, or else rows that were narrowed."""

    space: SpaceArrays | None
    rows: tuple[tuple[AdjacencyKey, Adjacency], ...]

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        of_space = 0 if self.space is None else self.space.nbytes
        return of_space + sum(array.nbytes for _, rows in self.rows for array in rows)


def prepared(graph: Graph, plan: Plan) -> Prepared:
    """Return what a process has made for the search of a plan, as far as it still has it."""
    if plan.space is not None:
        return Prepared(kept_arrays(graph, plan.space), ())
    return Prepared(
        None, tuple((key, rows) for key in _keys(plan) if (rows := graph.narrowed(key)) is not None)
    )


def install(graph: Graph, plan: Plan, made: Prepared) -> None:
    """Let a graph find what was prepared for a plan, as if it had made it."""
    if made.space is not None and plan.space is not None:
        keep_space(graph, plan.space, made.space)
    for key, rows in made.rows:
        graph.keep_narrowed(key, rows)


def is_installed(graph: Graph, plan: Plan) -> bool:
    """Whether a graph still has what was installed for a plan; rows are not looked for."""
    return plan.space is None or graph.memo.recent(KEPT_SPACES, plan.space) is not None


def read_by(plan: Plan) -> Hashable:
    """Return what the search of a plan reads: the key of its candidate space, or those of its rows."""
    return plan.space or tuple(_keys(plan))


def forget(graph: Graph, plan: Plan) -> None:
    """Drop what a graph has for a plan; what still uses it keeps it."""
    if plan.space is not None:
        graph.memo.forget_one(KEPT_SPACES, plan.space)
    for key in _keys(plan):
        graph.forget_narrowed(key)


def _keys(plan: Plan) -> Sequence[AdjacencyKey]:
    return list(dict.fromkeys(key for args in plan.args.steps for key in args.adjacencies))


class PreparedObjects:
    """What the driver has put into the object store for its last searches."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._put: OrderedDict[Hashable, tuple[weakref.ref[Graph], Any]] = OrderedDict()

    def of(self, graph: Graph, plan: Plan, *, again: bool = False) -> list[Any]:
        """Return the reference of what a search is made from, as a list; an empty one if workers make it.

        Parameters
        ----------
        again
            Put it again, since an object was lost.
        """
        if plan.impossible is not None:
            return []
        for old in [call for call, (there, _) in self._put.items() if there() is None]:
            del self._put[old]
        call = (id(graph), read_by(plan))
        known = self._put.get(call)
        if again or known is None or known[0]() is not graph:
            reference = self._sent(prepared(graph, plan))
            if reference is None:
                self._put.pop(call, None)
                return []
            self._put[call] = weakref.ref(graph), reference
        self._put.move_to_end(call)
        while len(self._put) > MOST_KEPT:
            self._put.popitem(last=False)
        return [self._put[call][1]]

    def _sent(self, made: Prepared) -> Any:
        """Put it into the object store; None if that does not pay, or there is no room."""
        stores = [one["Resources"].get("object_store_memory", _STORE) for one in self._connection.nodes()]
        if not _LEAST_BYTES <= made.nbytes <= min(stores, default=_STORE) / _SHARE_OF_STORE:
            return None
        ray = self._connection.ray
        with suppress(ray.exceptions.ObjectStoreFullError):
            return ray.put(made)
        return None
