"""Counts of queries in sharded graphs: those of their patterns, which are searched together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from motiflux.api.matching import DEFAULT_BATCH_ROWS
from motiflux.api.queries.counts import Counted, Sum, count_queries
from motiflux.cluster.shards.counting import count_sharded
from motiflux.cluster.shards.parts import PartsRows, Searching
from motiflux.cluster.shards.refusals import refusal
from motiflux.graph import Graph
from motiflux.pattern import Pattern, Query
from motiflux.pattern.queries.absent_edges import NoOthers, negating
from motiflux.pattern.queries.shapes import Absent, Shape
from motiflux.pattern.queries.symmetry import first_alike
from motiflux.request.deadline import Deadline
from motiflux.request.engine import Ran
from motiflux.request.request import Request
from motiflux.result.count import Count
from motiflux.result.partial import partial_result, replace_partial
from motiflux.types import Symmetry

if TYPE_CHECKING:
    from motiflux.api.queries.without import PossibleEnds
    from motiflux.cluster.shards.sharded import ShardedGraph
    from motiflux.cluster.workers import Workers


class EndsAsNegatedEdges:
    """Possible ends of optional edges as negated edges, which the servers of shards judge."""

    def no_others(self, absent: Absent) -> NoOthers:
        """Return the function that says that there are no others."""
        return negating(absent)

    def graph(self) -> None:
        """Return None: it is the graph of the call."""


def searched_once(counted: Sequence[Counted], request: Request, *, directed: bool) -> list[Counted]:
    """Return patterns without those that are the same as an earlier one but for names and numbers."""
    groups: dict[object, list[Counted]] = {}
    for one in counted:
        groups.setdefault((one.symmetry, one.semantics), []).append(one)
    found = []
    for group in groups.values():
        firsts = first_alike([one.pattern for one in group], directed=directed, copies=request.copies)
        found += [group[at] for at in sorted(set(firsts))]
    return found


class ShardedCounter:
    """Counts the patterns of queries in a sharded graph.

    Parameters
    ----------
    kind
        See `count_sharded`.
    """

    stops_at_limits = True

    def __init__(self, workers: Workers, sharded: ShardedGraph, kind: str | None) -> None:
        self._workers, self._sharded, self._kind = workers, sharded, kind
        self.graph = sharded.sketch
        device = f"{workers.device_on(kind)}, {sharded.num_shards} shards"
        self.lister = Ran("cluster", device, "the graph is sharded; rows of its parts are compared")

    def ends(self, request: Request) -> PossibleEnds:
        """Return who says which possible ends of optional edges there are."""
        del request
        return EndsAsNegatedEdges()

    def check(self, query: Pattern | Query, whole: Sum, request: Request) -> None:
        """Refuse a query of which rows would have to be looked at one by one."""
        for term in whole.terms:
            if (shape := term.listed) is not None and (
                request.copies or shape.absent or not shape.compares_parts
            ):
                raise refusal(shape, query, request)

    def counts(
        self, graph: Graph | None, patterns: Sequence[Pattern], request: Request, deadline: Deadline
    ) -> list[Count]:
        """Return the count of each pattern; of those that are the same but for names, one is searched.

        They were planned together: each has a part of the time.
        """
        del graph
        before = deadline.elapsed()
        firsts = first_alike(patterns, directed=self._sharded.directed, copies=request.copies)
        searched = sorted(set(firsts))
        distinct = [patterns[at] for at in searched]
        try:
            counts = count_sharded(self._workers, self._sharded, distinct, request, deadline, self._kind)
        except KeyboardInterrupt as stop:
            so_far = partial_result(stop)
            if so_far is not None:
                known = dict(zip(searched, so_far, strict=True))
                replace_partial(stop, [known[at] for at in firsts])
            raise
        planning = max(0.0, counts[0].plan_seconds - before) / len(patterns)
        found = {
            at: Count(
                int(one),
                complete=one.complete,
                seconds=one.seconds,
                plan_seconds=planning,
                engine=one.engine,
                device=one.device,
                reason=one.reason,
            )
            for at, one in zip(searched, counts, strict=True)
        }
        return [found[at] for at in firsts]

    def rows(self, shape: Shape, request: Request, deadline: Deadline, limit: int | None) -> tuple[int, bool]:
        """Return the number of rows of a shape whose parts are compared, and whether it is exact."""
        own = replace(request, symmetry=Symmetry.EMBEDDINGS, limit=limit, progress=None)
        given = self._workers, self._sharded, own, deadline, self._sharded.memory
        searching = Searching(*given, DEFAULT_BATCH_ROWS, self._kind, "count")
        return PartsRows(searching, [shape], str(shape)).counted()


def count_queries_sharded(
    workers: Workers,
    graph: ShardedGraph,
    queries: Sequence[Pattern | Query],
    request: Request,
    deadline: Deadline,
    kind: str | None,
    *,
    named: bool,
) -> list[Count]:
    """Return the count of each query or pattern; see `count_sharded`."""
    where = ShardedCounter(workers, graph, kind)
    return count_queries(where, queries, request, deadline, named=named)
