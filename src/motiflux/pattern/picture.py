"""Pictures of patterns, with the conditions of each query vertex and edge in a few words."""

from __future__ import annotations

from heapq import nsmallest

from motiflux.draw import Link, Node, Picture, diagram, slots_for
from motiflux.draw.panel import titled
from motiflux.pattern.elements import QueryEdge, QueryVertex
from motiflux.pattern.query_graph import QueryGraph
from motiflux.pattern.text import condition_text, negated_edge_text, pattern_text
from motiflux.types import Label
from motiflux.units import quantity

_MOST_LABELS = 3
_MOST_IDS = 3


def pattern_picture(pattern: QueryGraph) -> Picture:
    """Return the picture of a pattern.

    Vertices with the same choice of labels have one colour; vertices of any label are open. An edge that
    must be an arc has an arrowhead. Negated edges are faint.
    """
    panel = diagram(pattern_nodes(pattern), pattern_links(pattern))
    sizes = f"{quantity(pattern.num_vertices, 'vertex')} and {quantity(pattern.num_edges, 'edge')}"
    title = f"Pattern {pattern.name} of {sizes}" if pattern.name else f"Pattern of {sizes}"
    return Picture(titled(panel, pattern.name), title, pattern_text(pattern))


def pattern_nodes(pattern: QueryGraph) -> list[Node]:
    """Return a node for each query vertex."""
    slots = vertex_slots(pattern)
    return [
        Node(
            vertex.name,
            (*_asked_of_vertex(vertex), *_negated_at(pattern, position)),
            slots[position],
            title=_told(vertex),
        )
        for position, vertex in enumerate(pattern.vertices)
    ]


def pattern_links(pattern: QueryGraph) -> list[Link]:
    """Return a link for each query edge, and a faint one for each negated edge between two vertices."""
    links = [
        Link(edge.source, edge.target, tuple(asked_of_edge(edge)), arrow=edge.directed is True)
        for edge in pattern.edges
    ]
    for one in pattern.negated_pairs:
        edge = one.as_edge()
        first, *others = asked_of_edge(edge) or [""]
        label = (f"no {first}".strip(), *others)
        links.append(Link(edge.source, edge.target, label, arrow=edge.directed is True, style="faint"))
    return links


def vertex_slots(pattern: QueryGraph) -> list[str | int]:
    """Return the colour of each query vertex, by its labels."""
    texts = ["" if vertex.labels is None else _labels(vertex.labels) for vertex in pattern.vertices]
    slots = slots_for(text for text in texts if text)
    return [slots.get(text, "open") for text in texts]


def asked_of_edge(edge: QueryEdge) -> list[str]:
    """Return the conditions of a query edge, in lines: its name and labels, then its condition."""
    first = edge.name + ("" if edge.labels is None else f":{_labels(edge.labels)}" if edge.name else "")
    if not edge.name and edge.labels is not None:
        first = _labels(edge.labels)
    lines = [first] if first else []
    return lines + ([] if edge.where is None else [condition_text(edge.where)])


def _asked_of_vertex(vertex: QueryVertex) -> list[str]:
    lines = [] if vertex.labels is None else [_labels(vertex.labels)]
    if vertex.ids is not None:
        lines.append("id " + _few(vertex.ids, _MOST_IDS, ", "))
    return lines + ([] if vertex.where is None else [condition_text(vertex.where)])


def _negated_at(pattern: QueryGraph, vertex: int) -> list[str]:
    """Return the edges that a vertex must not have to any vertex, in lines."""
    return [
        f"no {negated_edge_text(one, pattern)}"
        for one in pattern.negated
        if not one.is_pair and one.ends == (vertex,)
    ]


def _told(vertex: QueryVertex) -> str:
    asked = _asked_of_vertex(vertex) or ["any vertex"]
    return f"{vertex.name}: {', '.join(asked)}"


def _labels(labels: frozenset[Label]) -> str:
    return _few(labels, _MOST_LABELS, " | ")


def _few(values: frozenset[int | str], most: int, between: str) -> str:
    first = nsmallest(most, values, key=lambda value: (isinstance(value, str), value))
    shown = between.join(map(str, first))
    return shown if len(values) <= most else f"{shown}{between}… ({len(values)})"
