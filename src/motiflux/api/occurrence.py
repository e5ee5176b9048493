"""An occurrence looked up in its graph: the vertices of a row of ids, and the edges that witness it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motiflux.conditions import Condition
from motiflux.errors import ArgumentError
from motiflux.graph import Graph, VertexFilter, filter_mask
from motiflux.graph.edge_rows import edges_of_arcs, row_starts
from motiflux.pattern import NegatedEdge, Pattern, QueryEdge, QueryVertex
from motiflux.pattern.text import negated_edge_text
from motiflux.plan.bind import bind_negated
from motiflux.result.choices import Choices, edges_of_copies
from motiflux.types import VERTEX_DTYPE, Label, Semantics

_CHOICES = 1024
"""Choices of copies that are looked at together."""


@dataclass(frozen=True, slots=True)
class Witness:
    """An edge of the data graph.

    Parameters
    ----------
    source, target
        Its ends, internal ids, as its arc goes; in an undirected graph as they were asked for.
    label
        Its label.
    rows
        The rows of the graph's edge attributes that tell of its copies.
    number
        The number of the edge in `Graph.to_edges`.
    """

    source: int
    target: int
    label: Label
    rows: NDArray[np.int64]
    number: int


def edges_of_rows(pattern: Pattern, rows: ArrayLike) -> tuple[ArrayLike, NDArray[np.int64] | None]:
    """Return the ids of the vertices of rows, and the numbers of their edges, if they have these as well.

    Rows with edges are those of `motiflux.match` with ``edges=True`` or ``edges="all"``: arrays with a column
    for each vertex and each edge, or with a field for each.
    """
    size = pattern.num_vertices
    try:
        given = np.asarray(rows)
    except ValueError:  # rows of different lengths, which `check_rows` refuses
        return rows, None
    names = given.dtype.names
    if names is None:
        columns = [] if given.ndim == 0 else list(np.moveaxis(given, -1, 0))
    else:
        columns = [given[name] for name in names]
    if len(columns) != size + pattern.num_edges:
        return rows if names is None else np.stack(columns, axis=-1), None
    try:
        edges = np.stack([np.asarray(column).astype(np.int64) for column in columns[size:]], axis=-1)
    except (ValueError, TypeError):  # more ids than vertices, which `check_rows` refuses
        return rows, None
    return np.stack(columns[:size], axis=-1), np.atleast_2d(edges)


def check_rows(
    graph: Graph, pattern: Pattern, rows: ArrayLike, semantics: Semantics | str
) -> NDArray[np.int64]:
    """Return rows of external ids, or one row, as internal ids [rows, k].

    Whether there are the pattern's edges between them is not looked at; `witness_of` tells that.

    Raises
    ------
    ArgumentError
        They have another shape, or ids that the graph has not, or vertices that the pattern does not take.
    """
    if semantics not in tuple(Semantics):
        raise ArgumentError("semantics", "one of " + ", ".join(Semantics), semantics)
    size = pattern.num_vertices
    try:
        given = np.asarray(rows)
    except ValueError:  # rows of different lengths
        raise ArgumentError("rows", f"rows of {size} ids, one for each query vertex", rows) from None
    if given.ndim == 1:
        given = given[None]
    if given.ndim != 2 or given.shape[1] != size:
        raise ArgumentError("rows", f"rows of {size} ids, one for each query vertex", np.shape(rows))
    found = graph.vertex_index(given.reshape(-1)).reshape(given.shape)
    if (found < 0).any():
        row, column = (int(one[0]) for one in np.nonzero(found < 0))
        raise ArgumentError(f"rows[{row}]", "ids of the graph", given[row, column].item())
    for place, vertex in enumerate(pattern.vertices):
        _check_vertices(graph, vertex, found[:, place])
    if semantics != Semantics.HOMOMORPHISM:
        _check_different(graph, pattern, found)
    if semantics == Semantics.INDUCED:
        _check_induced(graph, pattern, found)
    _check_negated(graph, pattern, found)
    return found


def _check_vertices(graph: Graph, vertex: QueryVertex, found: NDArray[np.int64]) -> None:
    """Refuse vertices that a query vertex cannot fall on."""
    if vertex.labels is not None:
        table = graph.vertex_label_table.values
        codes = np.zeros(len(found), dtype=np.int64)
        if graph.vertex_labels is not None:
            codes = graph.vertex_labels[found].astype(np.int64)
        taken = np.isin(codes, [code for code, label in enumerate(table) if label in vertex.labels])
        labels = " or ".join(sorted(map(repr, vertex.labels)))
        _refuse(graph, found, taken, f"a vertex with the label {labels} for {vertex.name!r}")
    if vertex.ids is not None:
        ids = graph.vertex_ids[found].tolist()
        taken = np.array([one in vertex.ids for one in ids], dtype=bool)
        _refuse(graph, found, taken, f"one of the ids that {vertex.name!r} may have")
    if vertex.where is not None:
        graph.vertex_attributes.check(vertex.where)
        taken = graph.vertex_mask(vertex.where)[found] != 0
        _refuse(graph, found, taken, f"a vertex that satisfies the conditions on {vertex.name!r}")


def _refuse(graph: Graph, found: NDArray[np.int64], taken: NDArray[np.bool_], expected: str) -> None:
    if not taken.all():
        row = int(taken.argmin())
        raise ArgumentError(f"rows[{row}]", expected, graph.vertex_ids[found[row]].item())


def _check_different(graph: Graph, pattern: Pattern, found: NDArray[np.int64]) -> None:
    free = {frozenset(pair) for pair in pattern.may_coincide}
    for first, second in combinations(range(pattern.num_vertices), 2):
        if frozenset((first, second)) not in free:
            names = " and ".join(repr(pattern.vertices[place].name) for place in (first, second))
            different = found[:, first] != found[:, second]
            _refuse(graph, found[:, first], different, f"different vertices for {names}")


def _check_induced(graph: Graph, pattern: Pattern, found: NDArray[np.int64]) -> None:
    allowed = {(edge.source, edge.target) for edge in pattern.edges}
    allowed |= {
        (edge.target, edge.source) for edge in pattern.edges if not graph.directed or edge.directed is False
    }
    others = [pair for pair in permutations(range(pattern.num_vertices), 2) if pair not in allowed]
    for number, row in enumerate(found.tolist()):
        for first, second in others:
            if next(edges_between(graph, row[first], row[second]), None) is not None:
                ends = tuple(graph.vertex_ids[[row[first], row[second]]].tolist())
                raise ArgumentError(f"rows[{number}]", "no edge beside the pattern's", ends)


def _check_negated(graph: Graph, pattern: Pattern, found: NDArray[np.int64]) -> None:
    for one in pattern.negated:
        expected = f"no edge {negated_edge_text(one, pattern)}"
        if one.besides:
            _check_besides(graph, pattern, one, found)
            continue
        if not one.is_pair:
            (vertex,) = one.ends
            for key in bind_negated(replace(pattern, negated=(one,)), graph).without[vertex]:
                lone = filter_mask(graph, VertexFilter(without=(key,))) != 0
                _refuse(graph, found[:, vertex], lone[found[:, vertex]], expected)
            continue
        edge = one.as_edge()
        for number, row in enumerate(found.tolist()):
            if witness_of(graph, edge, row) is not None:
                ends = tuple(graph.vertex_ids[[row[edge.source], row[edge.target]]].tolist())
                raise ArgumentError(f"rows[{number}]", expected, ends)


def _check_besides(graph: Graph, pattern: Pattern, one: NegatedEdge, found: NDArray[np.int64]) -> None:
    """Refuse a vertex with negated edges to other vertices than those of some query vertices."""
    plain = replace(one, besides=frozenset())
    for key in bind_negated(replace(pattern, negated=(plain,)), graph).without[one.ends[0]]:
        offsets, neighbors = graph.adjacency(key, 1)
        for number, row in enumerate(found.tolist()):
            vertex = row[one.ends[0]]
            near = neighbors[int(offsets[vertex]) : int(offsets[vertex + 1])].tolist()
            if not set(near) <= {row[at] for at in one.besides}:
                expected = f"no edge {negated_edge_text(one, pattern)}"
                raise ArgumentError(f"rows[{number}]", expected, graph.vertex_ids[vertex].item())


def chosen_copies(
    graph: Graph, pattern: Pattern, row: Sequence[int], edges: Sequence[int] | None = None, turn: int = 0
) -> list[int] | None:
    """Return the row of attributes of the copy on which each query edge falls; empty if no choice is right.

    Without `edges` the first choice; None without comparisons. With the numbers of the edges, one of the
    choices of their copies: for `turn` 0 the first one, then the next, and so on from the first one again.
    """
    block = np.array([row], dtype=VERTEX_DTYPE)
    if edges is None:
        if not pattern.comparisons:
            return None
        found = Choices(graph, pattern, every=False).of(block)
        return [int(copy) for copy in found[0, pattern.num_vertices :]] if len(found) else []
    begun = Choices(graph, pattern, every=True).begin(block)
    right: list[list[int]] = []
    while len(right) <= turn and not begun.finished:
        copies = begun.next(_CHOICES)[:, pattern.num_vertices :].astype(np.int64)
        right += copies[(edges_of_copies(graph, copies) == np.asarray(edges)).all(axis=1)].tolist()
    return right[turn % len(right)] if right else []


def witness_of(
    graph: Graph, edge: QueryEdge, row: Sequence[int], copy: int | None = None, number: int | None = None
) -> Witness | None:
    """Return the first data edge that a query edge may fall on, given its ends, or the edge of a copy.

    `number`: the number of the edge, if it is known.
    """
    source, target = row[edge.source], row[edge.target]
    ways = [(source, target)]
    if graph.directed and edge.directed is False:
        ways.append((target, source))
    for u, v in ways:
        for found in edges_between(graph, u, v):
            if edge.labels is not None and found.label not in edge.labels:
                continue
            if number is not None and found.number != number:
                continue
            if copy is not None and len(found.rows):
                if copy in found.rows:
                    return replace(found, rows=np.array([copy]))
                continue
            rows = found.rows if edge.where is None else _satisfying(graph, edge.where, found.rows)
            if edge.where is None or len(rows):
                return replace(found, rows=rows)
    return None


def edges_between(graph: Graph, source: int, target: int) -> Iterator[Witness]:
    """Yield the edges from one vertex to another, those of an undirected graph either way."""
    forward = graph.forward
    first, end = (int(offset) for offset in forward.offsets[source : source + 2])
    low, high = np.searchsorted(forward.neighbors[first:end], [target, target + 1]).tolist()
    for arc in range(first + low, first + high):
        code = 0 if forward.labels is None else int(forward.labels[arc])
        label = graph.edge_label_table.values[code] if len(graph.edge_label_table) else 0
        edge = arc
        if not graph.directed:
            edge = int(graph.memo.keep("edges of arcs", lambda: edges_of_arcs(graph.forward))[arc])
        yield Witness(source, target, label, _rows_of(graph, arc, edge), edge)


def _rows_of(graph: Graph, arc: int, edge: int) -> NDArray[np.int64]:
    """Return the rows of edge attributes of an arc; none where the graph has no such attributes."""
    if not graph.edge_attributes:
        return np.zeros(0, dtype=np.int64)
    starts = graph.memo.keep("row starts", lambda: row_starts(graph.forward, directed=graph.directed))
    if starts is None or graph.forward.copies is None:
        return np.array([edge], dtype=np.int64)
    return np.arange(starts[edge], starts[edge] + int(graph.forward.copies[arc]), dtype=np.int64)


def _satisfying(graph: Graph, condition: Condition, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    graph.edge_attributes.check(condition)
    return rows[graph.edge_attributes.take(rows).holds(condition, len(rows))]


def value_text(value: Any) -> str:
    """Return a value of an attribute as people read it.

    >>> value_text(1250.5), value_text(3), value_text("x")
    ('1,250.5', '3', 'x')
    """
    if isinstance(value, float):
        return f"{value:,.10g}"
    return (
        f"{value:,}"
        if isinstance(value, int) and not isinstance(value, bool) and value > 9999
        else str(value)
    )
