"""Conditions and ids of query vertices in a sharded graph: shards tell which of their vertices satisfy them.

For each query vertex that has some there is a bit for each vertex of the graph. The plan sees, in their
place, a condition on an attribute of the sketch's vertices that has the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.driver import raise_own
from motiflux.cluster.shards.allowance import Allowance, Bits
from motiflux.cluster.shards.layout import Ids
from motiflux.cluster.shards.ranks import Ranked, make_ranks
from motiflux.cluster.shards.values import AskValues, Names, VertexValues, name_of
from motiflux.comparisons import Relation
from motiflux.conditions import Comparison, Operator
from motiflux.errors import ClusterError, PatternError
from motiflux.graph import AttributeTable, Column, Graph
from motiflux.pattern import AnyVertex, Pattern
from motiflux.pattern.automorphism import negated_alone
from motiflux.plan.bind import BoundPattern, bind

if TYPE_CHECKING:
    from motiflux.cluster.shards.sharded import ShardedGraph


@dataclass(frozen=True, slots=True, eq=False)
class Narrowed:
    """A pattern and a sketch as plans are made on them, and the vertices that query vertices may be.

    Parameters
    ----------
    described
        The sketch with the names and kinds of all attributes, without values: for reports on the pattern as
        it was given.
    allowed
        For each query vertex, bits of the vertices of the graph; None: as labels say.
    """

    pattern: Pattern
    sketch: Graph
    described: Graph
    allowed: tuple[Bits | None, ...]


def refuse_others(pattern: Pattern) -> None:
    """Refuse conditions that a sharded graph cannot judge.

    Raises
    ------
    PatternError
        Names what a sharded graph does not have.
    """
    conditions = [*(edge.where for edge in pattern.edges), *(edge.where for edge in pattern.negated)]
    if any(where is not None for where in conditions):
        raise PatternError(
            "expected no conditions on edges, found one: the edges of a sharded graph have no attributes"
        )
    if any(
        not isinstance(one, Relation) or one.left.is_edge or one.right.is_edge for one in pattern.comparisons
    ):
        raise PatternError(
            "expected comparisons of vertices, found one of edges: the edges of a sharded graph have no "
            "attributes"
        )
    for one in pattern.negated:
        for end in (one.source, one.target):
            if isinstance(end, AnyVertex) and end.where is not None:
                raise PatternError(
                    "expected no condition on the other end of a negated edge, found one: rows of a sharded "
                    "graph have the labels of neighbours alone"
                )


def narrowed(graph: ShardedGraph, pattern: Pattern) -> Narrowed:
    """Return a pattern without conditions that shards judge, and what these say.

    Raises
    ------
    PatternError, ArgumentError
        A condition does not fit the attributes of the graph, or a sharded graph cannot judge it.
    """
    refuse_others(pattern)
    described = replace(graph.sketch, vertex_attributes=graph.layout.attribute_table())
    bound = bind(pattern, described)
    alone = negated_alone(pattern, graph.layout.directed)
    wanted = [_wanted(pattern, bound, vertex, alone[vertex]) for vertex in range(bound.size)]
    numbers: dict[Allowance, int] = {}
    for one in wanted:
        if one.needs_bits:
            numbers.setdefault(one, len(numbers))
    columns = _compared(graph, bound)
    sketch = replace(graph.sketch, vertex_attributes=AttributeTable("vertex", columns))
    if not numbers:
        return Narrowed(pattern, sketch if columns else graph.sketch, described, (None,) * bound.size)
    names = [f"{_free_prefix(graph.layout.attributes)}{number}" for number in range(len(numbers))]
    found = _ask(graph, list(numbers))
    columns |= {
        name: Column(_bits_at(bits, graph.sketch.vertex_ids)) for name, bits in zip(names, found, strict=True)
    }
    vertices = [
        replace(vertex, ids=None, where=_is_true(names[numbers[one]])) if one in numbers else vertex
        for vertex, one in zip(pattern.vertices, wanted, strict=True)
    ]
    allowed = tuple(found[numbers[one]] if one in numbers else None for one in wanted)
    negated = tuple(one for one in pattern.negated if one.is_pair)
    return Narrowed(
        replace(pattern, vertices=tuple(vertices), negated=negated),
        replace(sketch, vertex_attributes=AttributeTable("vertex", columns)),
        described,
        allowed,
    )


def _wanted(pattern: Pattern, bound: BoundPattern, vertex: int, alone: frozenset[Hashable]) -> Allowance:
    given, narrowing = pattern.vertices[vertex], bound.filters[vertex]
    ids = None if given.ids is None else tuple(sorted(int(one) for one in given.ids))
    without = () if narrowing is None else narrowing.without
    return Allowance(bound.labels[vertex], ids, given.where, without, alone)


def _compared(graph: ShardedGraph, bound: BoundPattern) -> dict[str, Column]:
    """Return the compared attributes of the vertices of the sketch, and have their strings ranked."""
    if bound.comparisons is None:
        return {}
    keys = [key for one in bound.comparisons.variables for key in one.columns]
    for among in dict.fromkeys(name.among for name in map(name_of, keys) if isinstance(name, Ranked)):
        make_ranks(graph.folder, graph.layout, among, graph.memory, partial(_ask_servers, graph))
    names = tuple(dict.fromkeys(key.attribute for key in keys if key.attribute is not None))
    ids = graph.sketch.vertex_ids.astype(np.int64)
    order = np.argsort(ids)
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    asks = [_asking(graph, actor, names) for actor in graph.served().actors]
    values = VertexValues(graph.layout, names, asks).of(ids[order])
    return dict(values.vertex_attributes.take(back))


def _asking(graph: ShardedGraph, actor: Any, names: Names) -> AskValues:
    def ask(places: Ids) -> Callable[[], list[Column]]:
        reference = actor.values.remote(names, places)
        return lambda: _wait(graph, reference)

    return ask


def _ask_servers(graph: ShardedGraph, method: str, calls: Sequence[tuple[int, tuple[Any, ...]]]) -> list[Any]:
    """Return the results of calls of a method of servers, by their numbers."""
    actors = graph.served().actors
    asked = [getattr(actors[number], method).remote(*given) for number, given in calls]
    return [_wait(graph, reference) for reference in asked]


def _wait(graph: ShardedGraph, reference: Any) -> Any:
    """Return what a server returned.

    Raises
    ------
    ClusterError
        It was lost, again and again.
    """
    try:
        return graph.ray.get(reference)
    except Exception as error:
        raise_own(error, graph.ray)
        raise ClusterError(f"{graph.folder}: a server of shards was lost: {error}") from error


def _free_prefix(taken: Iterable[str]) -> str:
    """Return what the name of no attribute begins with."""
    prefix = "allowed "
    while any(name.startswith(prefix) for name in taken):
        prefix = f"_{prefix}"
    return prefix


def _is_true(name: str) -> Comparison:
    return Comparison(name, Operator.EQUAL, True)


def _ask(graph: ShardedGraph, wanted: Sequence[Allowance]) -> list[Bits]:
    """Return the bits of all vertices, from the servers."""
    served = graph.served()
    found = [np.zeros(-(-graph.num_vertices // 8), np.uint8) for _ in wanted]
    asked = [actor.allowed.remote(list(wanted)) for actor in served.actors]
    for first, reference in zip(served.layout.starts.tolist(), asked, strict=False):
        for bits, own in zip(found, _wait(graph, reference), strict=True):
            bits[first // 8 : first // 8 + len(own)] |= own
    return found


def _bits_at(bits: Bits, ids: NDArray[Any]) -> NDArray[np.bool_]:
    at = ids.astype(np.int64)
    found: NDArray[np.bool_] = ((bits[at >> 3] >> (at & 7).astype(np.uint8)) & 1).astype(np.bool_)
    return found
