"""A pattern's labels and directions in the terms of one data graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from motiflux.errors import PatternError
from motiflux.graph import Graph, LabelTable
from motiflux.pattern import Pattern, QueryEdge
from motiflux.types import Label

Codes = tuple[int, ...] | None
"""Label codes, ascending; None lets all through."""


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
    """

    directed: bool
    labels: tuple[Codes, ...]
    edges: tuple[BoundEdge, ...]
    missing: str | None
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
        A directed query edge on an undirected graph.
    """
    missing: list[str] = []

    def codes(labels: frozenset[Label] | None, table: LabelTable, what: str) -> Codes:
        if labels is None:
            return None
        found = table.codes(labels)
        if not found:
            names = ", ".join(sorted(map(repr, labels)))
            missing.append(f"{what} asks for the label {names}, which does not occur in the graph")
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
    return BoundPattern(graph.directed, vertex_codes, tuple(edges), missing[0] if missing else None)


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
