"""Conditions and ids of query vertices in a sharded graph: shards tell which of their vertices satisfy them.

For each query vertex that has some there is a bit for each vertex of the graph. The plan sees, in their
place, a condition on an attribute of the sketch's vertices that has the same bits.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.shards.allowance import Allowance, Bits, NumberOfEnds
from motiflux.cluster.shards.asking import ask_servers, result_of_server
from motiflux.cluster.shards.attributes import EDGE, VERTEX
from motiflux.cluster.shards.judging import MOST_CONDITIONS, MOST_KINDS, Judged, sketch_columns
from motiflux.cluster.shards.layout import Layout
from motiflux.cluster.shards.ranks import Ranked, make_ranks
from motiflux.cluster.shards.sketch_values import (
    bits_of_sketch,
    edge_attributes_of_sketch,
    vertex_attributes_of_sketch,
)
from motiflux.conditions import Comparison, Condition, Operator
from motiflux.errors import ArgumentError, PatternError
from motiflux.graph import AdjacencyKey, AttributeTable, Column, Direction, Graph
from motiflux.graph.copies import ColumnKey, Form
from motiflux.pattern import AnyVertex, NegatedEdge, Pattern, QueryEdge, QueryVertex
from motiflux.pattern.automorphism import negated_alone
from motiflux.pattern.negated import PossibleEnd
from motiflux.pattern.queries.absent_edges import WithAllEnds
from motiflux.plan.bind import BoundPattern, bind, bind_negated
from motiflux.request.deadline import Deadline

if TYPE_CHECKING:
    from motiflux.cluster.shards.sharded import ShardedGraph

_NO_ARCS = AdjacencyKey(Direction.EITHER, (), None, None)


@dataclass(frozen=True, slots=True, eq=False)
class Narrowed:
    """A pattern and a sketch as plans are made on them, and the vertices that query vertices may be.

    Parameters
    ----------
    graph
        The sharded graph, with kinds that tell which conditions on edges an entry satisfies.
    described
        The sketch with the names and kinds of all attributes, without values: for reports on the pattern as
        it was given.
    allowed
        For each query vertex, bits of the vertices of the graph; None: as labels say.
    """

    graph: ShardedGraph
    pattern: Pattern
    sketch: Graph
    described: Graph
    allowed: tuple[Bits | None, ...]


def refuse_lost_copies(layout: Layout, copies: bool) -> None:
    """Refuse to count copies that a sharded graph does not have.

    Raises
    ------
    ArgumentError
        Edges were there several times, and their copies were not kept.
    """
    if copies and layout.duplicate_edges and not layout.copies:
        raise ArgumentError(
            "copies",
            "False for a graph that was sharded without attributes=, which keeps copies of edges",
            True,
        )


def described_of(graph: ShardedGraph) -> Graph:
    """Return the sketch of a graph with the names and kinds of all attributes, without values."""
    return replace(
        graph.sketch,
        vertex_attributes=graph.layout.attribute_table(),
        edge_attributes=graph.layout.edge_attribute_table(),
    )


def narrowed(graph: ShardedGraph, pattern: Pattern, deadline: Deadline) -> Narrowed:
    """Return a pattern without conditions that shards judge, and what these say.

    Raises
    ------
    PatternError, ArgumentError
        A condition does not fit the attributes of the graph, or a sharded graph cannot judge it.
    OutOfTimeError
        Time was up before the servers had judged all conditions.
    """
    described = described_of(graph)
    alone = negated_alone(pattern, graph.layout.directed)
    every = [edge.where for edge in pattern.edges]
    every += [one.where for edge in pattern.negated for one in (edge, *_behind(edge))]
    pattern, exactly = _without_ends(pattern, described)
    bound = bind(pattern, described)
    wanted = [_wanted(pattern, bound, vertex, alone[vertex], exactly[vertex]) for vertex in range(bound.size)]
    numbers: dict[Allowance, int] = {}
    for one in wanted:
        if one.needs_bits:
            numbers.setdefault(one, len(numbers))
    columns, of_edges = _compared(graph, pattern, bound, deadline)
    judged = _judged(graph, every, deadline)
    if judged is not None:
        pattern, graph, of_conditions = _with_bits(graph, pattern, judged, deadline)
        of_edges |= of_conditions
    sketch = graph.sketch
    if columns or of_edges:
        sketch = replace(
            sketch,
            vertex_attributes=AttributeTable(VERTEX, columns),
            edge_attributes=AttributeTable(EDGE, of_edges),
        )
    if not numbers:
        return Narrowed(graph, pattern, sketch, described, (None,) * bound.size)
    names = [f"{_free_prefix(graph.layout.attributes)}{number}" for number in range(len(numbers))]
    found = _ask(graph, list(numbers), judged, deadline)
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
        graph,
        replace(pattern, vertices=tuple(vertices), negated=negated),
        replace(sketch, vertex_attributes=AttributeTable(VERTEX, columns)),
        described,
        allowed,
    )


def _judged(graph: ShardedGraph, every: Sequence[Condition | None], deadline: Deadline) -> Judged | None:
    """Return the conditions on edges, once servers have judged them; None for none.

    Raises
    ------
    PatternError
        There are too many.
    """
    conditions = tuple(dict.fromkeys(where for where in every if where is not None))
    if not conditions:
        return None
    if len(conditions) > MOST_CONDITIONS:
        raise PatternError(
            f"expected at most {MOST_CONDITIONS} different conditions on edges in a sharded graph, "
            f"found {len(conditions)}"
        )
    if (kinds := graph.layout.kinds << len(conditions)) > MOST_KINDS:
        raise PatternError(
            "expected fewer conditions on edges in a sharded graph of so many labels, found "
            f"{len(conditions)}: they make {kinds:,} kinds of entries, {MOST_KINDS:,} are the most"
        )
    shards = range(len(graph.served().actors))
    return graph.judged(
        conditions,
        lambda judged: ask_servers(graph, deadline, "judge", [(at, (judged,)) for at in shards]),
        deadline,
    )


def _with_bits(
    graph: ShardedGraph, pattern: Pattern, judged: Judged, deadline: Deadline
) -> tuple[Pattern, ShardedGraph, dict[str, Column]]:
    """Return a pattern with a boolean attribute in the place of each condition on edges.

    Returns the graph with kinds that tell them, and the attributes of the edges of the sketch, too.
    """
    prefix = _free_prefix(graph.layout.edge_attributes)
    names = [f"{prefix}{at}" for at in range(len(judged.conditions))]
    of = {where: _is_true(name) for where, name in zip(judged.conditions, names, strict=True)}
    edges = tuple(one if one.where is None else replace(one, where=of[one.where]) for one in pattern.edges)
    negated = tuple(
        one if one.where is None else replace(one, where=of[one.where]) for one in pattern.negated
    )
    columns = sketch_columns(bits_of_sketch(graph, judged, deadline), names)
    view = graph.view(judged, tuple(of.values()))
    return replace(pattern, edges=edges, negated=negated), view, columns


def _without_ends(pattern: Pattern, described: Graph) -> tuple[Pattern, list[tuple[NumberOfEnds, ...]]]:
    """Return a pattern without the negated edges whose other ends are counted, and what each vertex asks.

    These are edges to any vertex that satisfies a condition, and edges to any vertex but some. A pattern with
    all ends has an edge to each of the latter: they are the only such neighbours if the vertex has no more
    than their number.
    """
    found: list[tuple[NumberOfEnds, ...]] = [() for _ in pattern.vertices]
    kept = []
    for one in pattern.negated:
        end = next((end for end in (one.source, one.target) if isinstance(end, AnyVertex)), AnyVertex())
        of_monitors = bool(one.besides) or end.ids is not None or isinstance(end, PossibleEnd)
        if not isinstance(pattern, WithAllEnds) if of_monitors else end.where is None:
            kept.append(one)
            continue
        (vertex,) = one.ends
        bare = AnyVertex(end.labels)
        plain = replace(
            one,
            source=bare if isinstance(one.source, AnyVertex) else one.source,
            target=bare if isinstance(one.target, AnyVertex) else one.target,
            besides=frozenset(),
        )
        bound = bind_negated(replace(pattern, negated=(plain,)), described)
        (key,) = bound.without[vertex] or (_NO_ARCS,)
        found[vertex] = (*found[vertex], _number_of_ends(key, end, len(one.besides), described))
    return replace(pattern, negated=tuple(kept)), found


def _number_of_ends(key: AdjacencyKey, end: AnyVertex, number: int, described: Graph) -> NumberOfEnds:
    """Return what a vertex asks that has so many possible ends of some arcs."""
    asked = QueryVertex("end", end.labels, ids=end.ids, where=end.where)
    joined = Pattern((QueryVertex("start"), asked), (QueryEdge(0, 1, directed=False),))
    behind = end.negated if isinstance(end, PossibleEnd) else ()
    between = tuple(replace(one, **_ANY_END[one.source == 0]) for one in behind if one.is_pair)
    apart = bind_negated(replace(joined, negated=between), described).without[0]
    alone = replace(joined, negated=tuple(one for one in behind if not one.is_pair))
    rest, exactly = _without_ends(alone, described)
    bound, kinds = bind(rest, described), negated_alone(alone, described.directed)
    of_start, of_end = (_wanted(rest, bound, at, kinds[at], exactly[at]) for at in range(2))
    return NumberOfEnds(
        key,
        replace(of_end, labels=None) if of_end.needs_bits else None,
        number,
        apart,
        of_start if of_start.needs_bits else None,
    )


_ANY_END: dict[bool, dict[str, Any]] = {True: {"target": AnyVertex()}, False: {"source": AnyVertex()}}
"""Any vertex in the place of the second of two, by whether the first one is the source."""


def _behind(edge: NegatedEdge) -> Iterator[NegatedEdge]:
    """Yield the negated edges of the possible ends of a negated edge."""
    for end in (edge.source, edge.target):
        yield from end.negated if isinstance(end, PossibleEnd) else ()


def _wanted(
    pattern: Pattern,
    bound: BoundPattern,
    vertex: int,
    alone: frozenset[Hashable],
    exactly: tuple[NumberOfEnds, ...],
) -> Allowance:
    given, narrowing = pattern.vertices[vertex], bound.filters[vertex]
    ids = None if given.ids is None else tuple(sorted(int(one) for one in given.ids))
    without = () if narrowing is None else narrowing.without
    return Allowance(bound.labels[vertex], ids, given.where, without, alone, exactly)


def _compared(
    graph: ShardedGraph, pattern: Pattern, bound: BoundPattern, deadline: Deadline
) -> tuple[dict[str, Column], dict[str, Column]]:
    """Return the compared attributes of the vertices and of the edges of the sketch.

    They are ready to be compared then.

    Raises
    ------
    PatternError
        Integers need 64 bits without a sign.
    """
    keys = ready_to_compare(graph, pattern, bound, deadline)
    if not keys:
        return {}, {}
    found: list[dict[str, Column]] = []
    for of, values in ((VERTEX, vertex_attributes_of_sketch), (EDGE, edge_attributes_of_sketch)):
        names = [key.attribute for whose, key in keys if whose == of]
        found.append(values(graph, tuple(dict.fromkeys(names)), deadline) if names else {})
    return found[0], found[1]


def ready_to_compare(
    graph: ShardedGraph, pattern: Pattern, bound: BoundPattern, deadline: Deadline
) -> list[tuple[str, ColumnKey]]:
    """Return the compared attributes, and whose they are: `VERTEX` or `EDGE`. Their strings are ranked then.

    Raises
    ------
    PatternError
        Integers need 64 bits without a sign.
    OutOfTimeError
        Time was up.
    """
    if bound.comparisons is None:
        return []
    variables = bound.comparisons.variables
    keys = [(VERTEX if one.edge is None else EDGE, key) for one in variables for key in one.columns]
    _check_greatest(graph, pattern, keys, deadline)
    ranked = [Ranked.of(key, of) for of, key in keys if key.form is Form.RANK]
    for among in dict.fromkeys(one.among for one in ranked):
        make_ranks(graph.folder, graph.layout, among, graph.memory, partial(ask_servers, graph, deadline))
    return keys


def _check_greatest(
    graph: ShardedGraph, pattern: Pattern, keys: Sequence[tuple[str, ColumnKey]], deadline: Deadline
) -> None:
    """Refuse integers beyond 63 bits, as for whole graphs, whose values tell."""
    layout = graph.layout
    types = {VERTEX: layout.attributes, EDGE: layout.edge_attributes}
    named = dict.fromkeys((of, key.attribute) for of, key in keys if key.attribute is not None)
    names = [one for one in named if types[one[0]][one[1]][1][1:] == "u8"]
    if not names:
        return
    shards = range(len(graph.served().actors))
    found = ask_servers(graph, deadline, "greatest", [(at, (names,)) for at in shards])
    tables = {VERTEX: dict(layout.attribute_table()), EDGE: dict(layout.edge_attribute_table())}
    for (of, name), each in zip(names, zip(*found, strict=True), strict=True):
        tables[of][name] = Column(np.array([max(each)], np.uint64))
    given: dict[str, Any] = {f"{of}_attributes": AttributeTable(of, table) for of, table in tables.items()}
    bind(pattern, replace(graph.sketch, **given))


def _free_prefix(taken: Iterable[str]) -> str:
    """Return what the name of no attribute begins with."""
    prefix = "allowed "
    while any(name.startswith(prefix) for name in taken):
        prefix = f"_{prefix}"
    return prefix


def _is_true(name: str) -> Comparison:
    return Comparison(name, Operator.EQUAL, True)


def _ask(
    graph: ShardedGraph, wanted: Sequence[Allowance], judged: Judged | None, deadline: Deadline
) -> list[Bits]:
    """Return the bits of all vertices, from the servers; first those of other ends of arcs, if some ask."""
    served = graph.served()
    found = [np.zeros(-(-graph.num_vertices // 8), np.uint8) for _ in wanted]
    ends = tuple(dict.fromkeys(end for one in wanted for number in one.exactly for end in number.ends))
    given = [dict(zip(ends, _ask(graph, ends, judged, deadline), strict=True))] if ends else []
    asked = [actor.allowed.remote(list(wanted), judged, *given) for actor in served.actors]
    for first, reference in zip(served.layout.starts.tolist(), asked, strict=False):
        for bits, own in zip(found, result_of_server(graph, deadline, reference), strict=True):
            bits[first // 8 : first // 8 + len(own)] |= own
    return found


def _bits_at(bits: Bits, ids: NDArray[Any]) -> NDArray[np.bool_]:
    at = ids.astype(np.int64)
    found: NDArray[np.bool_] = ((bits[at >> 3] >> (at & 7).astype(np.uint8)) & 1).astype(np.bool_)
    return found
