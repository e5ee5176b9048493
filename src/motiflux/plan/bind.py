"""A pattern's labels and directions in the terms of one data graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from motiflux.errors import PatternError
from motiflux.graph import Graph, LabelTable
from motiflux.pattern import Pattern, QueryEdge
from motiflux.types import Label

Codes = tuple[int, ...] | None
"""Label codes, ascending; None lets all through."""

_MOST_COMPARED = 10_000
"""Labels of a graph that a misspelt one is compared with at most: each takes some microseconds."""


@dataclass(frozen=True, slots=True)
class BoundEdge:
    """A query edge: the arc source -> target, or with `either` an arc one way or the other."""

    source: int
    target: int
    labels: Codes
    either: bool

    def other(self, end: int) -> int:
        """Return the end that is not `end`."""
        return self.target if self.source == end else self.source


@dataclass(frozen=True, slots=True)
class BoundPattern:
    """A pattern bound to a graph.

    Parameters
    ----------
    labels
        Codes each query vertex may have.
    edges
        Query edges, each once; those of an undirected graph have ``source < target``.
    missing
        Why nothing can match: a label that the graph does not have. None otherwise.
    may_coincide
        Pairs of query vertices that may go to one data vertex, each in both orders.
    """

    directed: bool
    labels: tuple[Codes, ...]
    edges: tuple[BoundEdge, ...]
    missing: str | None
    may_coincide: frozenset[tuple[int, int]] = frozenset()
    incident: tuple[tuple[BoundEdge, ...], ...] = field(init=False, compare=False, repr=False)
    """The edges at each query vertex."""
    neighbors: tuple[frozenset[int], ...] = field(init=False, compare=False, repr=False)
    """The query vertices joined to each by an edge of any kind."""
    position: Mapping[BoundEdge, int] = field(init=False, compare=False, repr=False)
    """Where each edge stands in `edges`."""

    def __post_init__(self) -> None:
        incident: list[list[BoundEdge]] = [[] for _ in self.labels]
        for edge in self.edges:
            incident[edge.source].append(edge)
            incident[edge.target].append(edge)
        neighbors = (frozenset(edge.other(v) for edge in edges) for v, edges in enumerate(incident))
        object.__setattr__(self, "incident", tuple(map(tuple, incident)))
        object.__setattr__(self, "neighbors", tuple(neighbors))
        object.__setattr__(self, "position", {edge: at for at, edge in enumerate(self.edges)})

    @property
    def size(self) -> int:
        """Number of query vertices."""
        return len(self.labels)


def bind(pattern: Pattern, graph: Graph) -> BoundPattern:
    """Return `pattern` in the label codes and the direction of `graph`.

    Raises
    ------
    PatternError
        A directed query edge on an undirected graph, or conditions and ids, which are not yet matched.
    """
    _refuse_conditions(pattern)
    missing: list[str] = []

    def codes(labels: frozenset[Label] | None, table: LabelTable, what: str) -> Codes:
        if labels is None:
            return None
        found = table.codes(labels)
        if not found:
            names = ", ".join(sorted(map(repr, labels)))
            missing.append(
                f"{what} asks for the label {names}, which does not occur in the graph{_hint(labels, table)}"
            )
        return None if len(found) == len(table) else found

    vertex_codes = tuple(
        codes(vertex.labels, graph.vertex_label_table, f"query vertex {vertex.name!r}")
        for vertex in pattern.vertices
    )
    edges: dict[BoundEdge, None] = {}
    for edge in pattern.edges:
        names = [pattern.vertices[end].name for end in (edge.source, edge.target)]
        edge_codes = codes(edge.labels, graph.edge_label_table, f"query edge {names[0]!r} - {names[1]!r}")
        edges[_bound_edge(edge, edge_codes, names, graph.directed)] = None
    coinciding = frozenset(pair for u, v in pattern.may_coincide for pair in ((u, v), (v, u)))
    return BoundPattern(
        graph.directed, vertex_codes, tuple(edges), missing[0] if missing else None, coinciding
    )


def _refuse_conditions(pattern: Pattern) -> None:
    """Refuse what no search looks at yet, so that it is not silently left out."""
    for vertex in pattern.vertices:
        if vertex.ids is not None or vertex.where is not None:
            what = "ids" if vertex.where is None else "conditions"
            raise PatternError(f"query vertex {vertex.name!r}: {what} are not matched yet")
    for edge in pattern.edges:
        if edge.where is not None:
            names = " - ".join(repr(pattern.vertices[end].name) for end in (edge.source, edge.target))
            raise PatternError(f"query edge {names}: conditions are not matched yet")


def _hint(labels: frozenset[Label], table: LabelTable) -> str:
    """Return which label of the graph may have been meant, as part of a sentence; empty if none is close."""
    if len(table) > _MOST_COMPARED:
        return ""
    written = {str(label).casefold(): label for label in table.values}
    for label in sorted(labels, key=str):
        key = str(label).casefold()
        if key in written:
            return f"; did you mean {written[key]!r}?"
        close = get_close_matches(key, written, n=1) if isinstance(label, str) else []
        if close and isinstance(written[close[0]], str):
            return f"; did you mean {written[close[0]]!r}?"
    return ""


def _bound_edge(edge: QueryEdge, codes: Codes, names: list[str], directed_graph: bool) -> BoundEdge:
    if edge.directed and not directed_graph:
        raise PatternError(
            f"query edge {names[0]!r} -> {names[1]!r}: expected an undirected query edge "
            "on an undirected graph, found a directed one"
        )
    either = not directed_graph if edge.directed is None else not edge.directed
    swap = either and edge.source > edge.target
    source, target = (edge.target, edge.source) if swap else (edge.source, edge.target)
    return BoundEdge(source, target, codes, either)
