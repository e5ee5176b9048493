"""Counts of queries in sharded graphs: those of their patterns, which are searched together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from motiflux.api.queries.counts import Counted, Sum, count_queries
from motiflux.cluster.shards.counting import count_sharded
from motiflux.comparisons import Within
from motiflux.errors import ArgumentError
from motiflux.graph import Graph
from motiflux.pattern import Pattern, Query
from motiflux.pattern.queries.absent_edges import NoOthers, negating
from motiflux.pattern.queries.shapes import Absent, AbsentPath, Shape
from motiflux.pattern.queries.symmetry import first_alike
from motiflux.request.deadline import Deadline
from motiflux.request.request import Request
from motiflux.result.count import Count
from motiflux.result.partial import partial_result, replace_partial

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

    def ends(self, request: Request) -> PossibleEnds:
        """Return who says which possible ends of optional edges there are."""
        del request
        return EndsAsNegatedEdges()

    def check(self, query: Pattern | Query, whole: Sum, request: Request) -> None:
        """Refuse a query of which rows would have to be looked at one by one."""
        for term in whole.terms:
            if term.listed is not None:
                raise refusal(term.listed, query, request)

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
        """Refuse to count rows: `check` does so before."""
        raise refusal(shape, str(shape), request)


def refusal(shape: Shape, found: object, request: Request) -> ArgumentError:
    """Return the error for a shape of which rows would have to be looked at one by one."""
    expected = "OPTIONAL edges that fewer vertices of the pattern may be the ends of"
    paths = [one for one in shape.absent if isinstance(one, AbsentPath)]
    some = "OPTIONAL paths, and OPTIONAL edges to new vertices or with negated edges"
    if request.copies:
        beside = some if shape.absent else "negated edges or comparisons between parts"
        return ArgumentError("copies", f"False beside {beside}, for a sharded graph", True)
    if shape.compares_parts:
        expected = "comparisons within one connected part"
    elif any(one.induced for one in paths):
        expected = "'isomorphism' or 'homomorphism' beside OPTIONAL edges to new vertices"
        return ArgumentError("semantics", f"{expected}, for a sharded graph", "induced")
    elif paths:
        expected = "OPTIONAL edges, or OPTIONAL paths of one edge or more to any vertex"
    elif not shape.is_connected:
        expected = "one connected part beside OPTIONAL"
    elif shape.skeleton.may_coincide:
        expected = "no WALK or may_equal beside OPTIONAL"
    elif shape.absent and has_within(shape):
        expected = f"no WITHIN beside {some}"
    return ArgumentError("pattern", f"{expected}, for a sharded graph", found)


def has_within(shape: Shape) -> bool:
    """Return whether all edges of a shape lie within a span."""
    return any(isinstance(one, Within) for case in shape.cases for one in case.pattern.comparisons)


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
