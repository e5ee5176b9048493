"""Pictures of answers: occurrences, their surroundings, and small graphs in which they are marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motiflux.api.occurrence import (
    Witness,
    check_rows,
    chosen_copies,
    edges_between,
    edges_of_rows,
    value_text,
    witness_of,
)
from motiflux.api.subject import GraphLike, data_graph, subject_of
from motiflux.arguments import check_integer
from motiflux.draw import MAX_NODES, Link, Node, Panel, Picture, diagram, grid, place, slots_for
from motiflux.draw.panel import titled
from motiflux.errors import ArgumentError
from motiflux.graph import AttributeTable, Column, Graph, Kind
from motiflux.pattern import Pattern, PatternLike, as_pattern
from motiflux.times import format_moment
from motiflux.types import DEFAULT_LABEL, Label, Semantics
from motiflux.units import grouped, quantity
from motiflux.words import SemanticsName

MAX_ROWS = 12
"""Most occurrences in one picture."""

_MOST_ARCS = 1024
"""Of each vertex of an occurrence, most arcs that are looked at for its surroundings."""
_CROWDED = 0.4
"""How long lines are between vertices without names."""
_MOST_NAMED, _MOST_LABELLED = 24, 40


def draw_match(
    graph: GraphLike,
    pattern: PatternLike,
    rows: ArrayLike,
    *,
    attributes: Sequence[str] = (),
    neighbors: int = 0,
    title: str = "",
    semantics: SemanticsName = Semantics.ISOMORPHISM,
) -> Picture:
    """Return a picture of one occurrence, or of several side by side.

    Parameters
    ----------
    graph, pattern
        The data graph and the pattern.
    rows
        One or several rows of ids in the order of the pattern's vertices, as from `match`. Rows may have the
        numbers of edges behind the ids, as with ``match(edges="all")``: then these edges are drawn, each with
        one copy, and equal rows show one choice of copies after the other. At most 12 rows are drawn; the
        picture shows the total number.
    attributes
        Names of edge or vertex attributes to show. For an edge with several copies, the picture shows the
        first copy that the pattern accepts, and the number of further copies.
    neighbors
        Maximum number of other vertices to draw around each occurrence, in grey, starting with the vertices
        that have most neighbours in it. Edges between two of them are not drawn.
    title
        A line above the picture.
    semantics
        What `rows` were searched with: what an occurrence is.

    Returns
    -------
    Picture
        An SVG string; notebooks show it, and ``.save(path)`` writes it. The layout is the layout of the
        pattern's picture. No search runs.

    Raises
    ------
    ArgumentError
        A row is not an occurrence, or there is no such attribute.

    Examples
    --------
    >>> import motiflux as mf
    >>> g = mf.Graph.from_edges(
    ...     [("ann", "bob"), ("bob", "cy")], directed=True, edge_attributes={"amount": [250.0, 90.5]}
    ... )
    >>> picture = mf.draw_match(g, "(a)-->(b)-->(c)", ["ann", "bob", "cy"], attributes=["amount"])
    >>> picture.name, "amount 90.5" in picture
    ('An occurrence of the pattern: ann, bob, cy', True)
    """
    graph, pattern = subject_of(graph, pattern)
    rows, edges = edges_of_rows(pattern, rows)
    found = check_rows(graph, pattern, rows, semantics)
    neighbors = check_integer("neighbors", neighbors, 0, MAX_NODES - pattern.num_vertices)
    _check_attributes(graph, attributes)
    if not len(found):
        raise ArgumentError("rows", "at least one row", len(found))
    shown = found[:MAX_ROWS].tolist()
    pairs = [(edge.source, edge.target) for edge in pattern.edges]
    at = place(pattern.num_vertices, pairs, arcs=all(edge.directed is True for edge in pattern.edges))
    slots = _slots(graph, list(chain.from_iterable(shown)))
    witnesses = _witnesses_of_rows(graph, pattern, shown, edges)
    panels = [
        _occurrence(graph, pattern, row, witnesses[number], at, slots, attributes, neighbors)
        for number, row in enumerate(shown)
    ]
    name = pattern.name or "the pattern"
    if len(found) == 1:
        ids = ", ".join(map(str, graph.vertex_ids[shown[0]].tolist()))
        told = f"An occurrence of {name}: {ids}"
    else:
        told = f"{quantity(len(shown), 'occurrence')} of {name}"
        told += f", the first of {grouped(len(found))}" if len(found) > len(shown) else ""
        title = title or (told if len(found) > len(shown) else "")
    return Picture(titled(grid(panels), title), told, str(pattern))


def draw_graph(
    graph: GraphLike,
    *,
    pattern: PatternLike | None = None,
    rows: ArrayLike | None = None,
    title: str = "",
    semantics: SemanticsName = Semantics.ISOMORPHISM,
) -> Picture:
    """Return a picture of a small graph with highlighted occurrences of a pattern.

    Parameters
    ----------
    graph
        A graph of at most 64 vertices.
    pattern, rows
        A pattern and rows of ids as from `match`: their vertices and edges are highlighted. Edges with labels
        that the pattern does not use are grey.
    title
        A line above the picture.
    semantics
        What `rows` were searched with: what an occurrence is.

    Returns
    -------
    Picture
        An SVG string. Names are drawn for up to 24 vertices and labels for up to 40 edges; in larger graphs
        they appear when the pointer is over a vertex or an edge. No search runs.

    Raises
    ------
    ArgumentError
        The graph is too large to draw, or a row is not an occurrence.

    Examples
    --------
    >>> import motiflux as mf
    >>> g = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0), (2, 3)])
    >>> mf.draw_graph(g, pattern="(a)--(b)--(c)--(a)", rows=[0, 1, 2]).name
    'Graph of 4 vertices and 4 edges, 1 occurrence marked'
    """
    graph = data_graph(graph)
    if graph.num_vertices > MAX_NODES:
        raise ArgumentError("graph", f"at most {MAX_NODES} vertices to draw", graph.num_vertices)
    if (pattern is None) != (rows is None):
        raise ArgumentError("pattern, rows", "both or neither", "one of them")
    marked, wanted, count = _Marked(), None, 0
    if pattern is not None and rows is not None:
        pattern = as_pattern(pattern)
        rows, edges = edges_of_rows(pattern, rows)
        found = check_rows(graph, pattern, rows, semantics)
        count = len(found)
        listed = found.tolist()
        for row, witnesses in zip(listed, _witnesses_of_rows(graph, pattern, listed, edges), strict=True):
            marked.take(row, witnesses)
        asked = [edge.labels for edge in pattern.edges]
        if all(labels is not None for labels in asked):
            wanted = {label for labels in asked if labels is not None for label in labels}
    slots = _slots(graph, range(graph.num_vertices))
    named = graph.num_vertices <= _MOST_NAMED
    nodes = [_graph_node(graph, vertex, slots, marked, named=named) for vertex in range(graph.num_vertices)]
    panel = diagram(nodes, _graph_links(graph, marked, wanted), scale=1.0 if named else _CROWDED)
    sizes = f"{quantity(graph.num_vertices, 'vertex')} and {quantity(graph.num_edges, 'edge')}"
    told = f"Graph of {sizes}" + (f", {quantity(count, 'occurrence')} marked" if marked.vertices else "")
    return Picture(titled(panel, title), told)


class _Marked:
    """Vertices and edges of occurrences."""

    def __init__(self) -> None:
        self.vertices: set[int] = set()
        self.edges: set[tuple[int, int, Label]] = set()

    def take(self, row: Sequence[int], witnesses: Sequence[Witness]) -> None:
        self.vertices.update(row)
        self.edges.update((one.source, one.target, one.label) for one in witnesses)

    def holds(self, edge: Witness, *, directed: bool) -> bool:
        ways = [(edge.source, edge.target, edge.label)]
        ways += [] if directed else [(edge.target, edge.source, edge.label)]
        return not self.edges.isdisjoint(ways)


def _graph_node(graph: Graph, vertex: int, slots: dict[str, int], marked: _Marked, *, named: bool) -> Node:
    label = _label_of(graph, vertex)
    name = str(graph.vertex_ids[vertex])
    told = f"{name}: {label}" if label else name
    if marked.vertices:
        style: str | int = "found" if vertex in marked.vertices else "faint"
    else:
        style = slots.get(label, "open")
    return Node(name if named else "", (label,) if named and label else (), style, title=told)


def _graph_links(graph: Graph, marked: _Marked, wanted: set[Label] | None) -> list[Link]:
    edges = [
        edge
        for source, targets in _neighbors(graph)
        for target in sorted(set(targets))
        if graph.directed or source < target
        for edge in edges_between(graph, source, target)
    ]
    edges.sort(key=lambda edge: (edge.source, edge.target, str(edge.label)))
    labelled = len(edges) <= _MOST_LABELLED
    links = []
    for edge in edges:
        style = "found" if marked.holds(edge, directed=graph.directed) else "line"
        if style == "line" and marked.vertices and (wanted is None or edge.label not in wanted):
            style = "faint"
        label = _shown(graph, edge.label)
        text = (label,) if label and labelled and style != "faint" else ()
        links.append(Link(edge.source, edge.target, text, graph.directed, style, title=label))
    return links


def _neighbors(graph: Graph) -> Iterator[tuple[int, list[int]]]:
    for vertex in range(graph.num_vertices):
        first, end = (int(offset) for offset in graph.forward.offsets[vertex : vertex + 2])
        yield vertex, graph.forward.neighbors[first:end].tolist()


def _occurrence(
    graph: Graph,
    pattern: Pattern,
    row: Sequence[int],
    witnesses: Sequence[Witness],
    at: NDArray[np.float64],
    slots: dict[str, int],
    attributes: Sequence[str],
    neighbors: int,
) -> Panel:
    """Return the panel of one row."""
    nodes = [
        _matched_node(graph, vertex.name, where, slots, attributes)
        for vertex, where in zip(pattern.vertices, row, strict=True)
    ]
    position = {where: place for place, where in reversed(list(enumerate(row)))}
    links = []
    for edge, witness in zip(pattern.edges, witnesses, strict=True):
        ends = (edge.source, edge.target)
        turned = witness.source != row[edge.source]
        source, target = ends[::-1] if turned else ends
        style = "found" if neighbors else "line"
        label = _edge_lines(graph, edge.name, witness, attributes)
        links.append(Link(source, target, tuple(label), graph.directed, style))
    if neighbors:
        around = _surroundings(graph, row, neighbors)
        at = np.vstack([at, _ring(at, [[position[one] for one in known] for _, known in around])])
        for other, known in around:
            nodes.append(Node(str(graph.vertex_ids[other]), (), "faint"))
            links += _faint_links(graph, other, len(nodes) - 1, known, position)
    return diagram(nodes, links, at=at)


def _matched_node(
    graph: Graph, name: str, vertex: int, slots: dict[str, int], attributes: Sequence[str]
) -> Node:
    label = _label_of(graph, vertex)
    lines = [f"{name}: {label}" if label else name]
    lines += _values(graph.vertex_attributes, attributes, vertex)
    return Node(str(graph.vertex_ids[vertex]), tuple(lines), slots.get(label, 0))


def _edge_lines(graph: Graph, name: str, witness: Witness, attributes: Sequence[str]) -> list[str]:
    label = _shown(graph, witness.label)
    first = f"{name}: {label}" if name and label else name or label
    lines = [first] if first else []
    if len(witness.rows):
        lines += _values(graph.edge_attributes, attributes, int(witness.rows[0]))
        if len(witness.rows) > 1 and len(lines) > bool(first):
            lines[-1] += f" (+{len(witness.rows) - 1})"
    return lines


def _values(table: AttributeTable, names: Sequence[str], row: int) -> list[str]:
    lines = []
    for name in names:
        if name in table:
            one = table[name].take(np.array([row]))
            first, *more = ["-"] if one.missing()[0] else _value(one)
            lines += [f"{name} {first}", *more]
    return lines


def _value(one: Column) -> list[str]:
    """Return the value of a column of one row in lines: the day and the time of a datetime."""
    if one.times is None:
        return [value_text(one.to_list()[0])]
    day, _, time = format_moment(int(one.data[0]), utc=one.times is Kind.DATETIME_UTC).partition("T")
    return [day] if time.removesuffix("Z") == "00:00:00" else [day, time]


def _witnesses_of_rows(
    graph: Graph, pattern: Pattern, rows: Sequence[Sequence[int]], edges: NDArray[np.int64] | None
) -> list[list[Witness]]:
    """Return the edges of each row; equal rows that name edges have one choice of copies after another."""
    if edges is None:
        return [_witnesses(graph, pattern, row, number) for number, row in enumerate(rows)]
    turns: Counter[tuple[int, ...]] = Counter()
    found = []
    for number, row in enumerate(rows):
        numbers = edges[number].tolist()
        found.append(_witnesses(graph, pattern, row, number, numbers, turns[*row, *numbers]))
        turns[*row, *numbers] += 1
    return found


def _witnesses(
    graph: Graph,
    pattern: Pattern,
    row: Sequence[int],
    number: int,
    edges: Sequence[int] | None = None,
    turn: int = 0,
) -> list[Witness]:
    found = []
    copies = chosen_copies(graph, pattern, row, edges, turn)
    if copies == []:
        ends = tuple(graph.vertex_ids[list(row)].tolist())
        expected = "copies of edges that satisfy the comparisons"
        if edges is not None:
            expected = f"edges with the numbers {', '.join(map(str, edges))} that satisfy the pattern"
        raise ArgumentError(f"rows[{number}]", expected, ends)
    for position, edge in enumerate(pattern.edges):
        copy = None if copies is None else copies[position]
        witness = witness_of(graph, edge, row, copy, None if edges is None else edges[position])
        if witness is None:
            ends = tuple(graph.vertex_ids[[row[edge.source], row[edge.target]]].tolist())
            raise ArgumentError(f"rows[{number}]", "an edge for each of the pattern's", ends)
        found.append(witness)
    return found


def _surroundings(graph: Graph, row: Sequence[int], most: int) -> list[tuple[int, list[int]]]:
    """Return other vertices beside an occurrence, each with those of the occurrence that it is beside."""
    beside: dict[int, set[int]] = {}
    for vertex in dict.fromkeys(row):
        for rows in {id(graph.forward): graph.forward, id(graph.reverse): graph.reverse}.values():
            first, end = (int(offset) for offset in rows.offsets[vertex : vertex + 2])
            for other in rows.neighbors[first : min(end, first + _MOST_ARCS)].tolist():
                if other not in row:
                    beside.setdefault(other, set()).add(vertex)
    chosen = sorted(beside, key=lambda other: (-len(beside[other]), other))[:most]
    return [(other, sorted(beside[other])) for other in chosen]


def _faint_links(
    graph: Graph, other: int, place: int, known: Sequence[int], position: dict[int, int]
) -> list[Link]:
    links = []
    for vertex in known:
        here = position[vertex]
        if next(edges_between(graph, vertex, other), None) is not None:
            links.append(Link(here, place, (), graph.directed, "faint"))
        if graph.directed and next(edges_between(graph, other, vertex), None) is not None:
            links.append(Link(place, here, (), graph.directed, "faint"))
    return links


def _ring(at: NDArray[np.float64], known: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """Return places around a layout, each near the points it is beside, spread so that none meet."""
    if not known:
        return np.zeros((0, 2))
    means = np.array([at[list(points)].mean(axis=0) for points in known])
    angles = np.arctan2(means[:, 1], means[:, 0])
    order = np.argsort(angles, kind="stable")
    step = min(2 * np.pi / len(known), 0.5)
    spread = angles[order].copy()
    for _ in range(200):  # push apart those that are closer than a step, around the circle
        gaps = np.diff(np.concatenate([spread, spread[:1] + 2 * np.pi]))
        push = np.maximum(step - gaps, 0) / 2
        if push.max() < 1e-3:
            break
        spread = spread - push + np.roll(push, 1)
    radius = np.linalg.norm(at, axis=1).max() + max(1.0, len(known) / 12)
    placed = np.empty((len(known), 2))
    placed[order] = radius * np.column_stack([np.cos(spread), np.sin(spread)])
    return placed


def _label_of(graph: Graph, vertex: int) -> str:
    if graph.vertex_labels is None and graph.vertex_label_table.values == (DEFAULT_LABEL,):
        return ""
    code = 0 if graph.vertex_labels is None else int(graph.vertex_labels[vertex])
    return str(graph.vertex_label_table.values[code])


def _shown(graph: Graph, label: Label) -> str:
    return "" if graph.edge_label_table.values == (DEFAULT_LABEL,) else str(label)


def _slots(graph: Graph, vertices: Sequence[int] | range) -> dict[str, int]:
    return slots_for(label for label in (_label_of(graph, vertex) for vertex in vertices) if label)


def _check_attributes(graph: Graph, names: Any) -> None:
    if isinstance(names, str):
        raise ArgumentError("attributes", "a list of names", names)
    known = sorted({*graph.edge_attributes, *graph.vertex_attributes})
    for name in names:
        if name not in known:
            expected = f"attributes of the graph ({', '.join(map(repr, known)) or 'it has none'})"
            raise ArgumentError("attributes", expected, name)
