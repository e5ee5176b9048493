"""The numbers of candidates and of arcs that the orders of delta plans are planned by."""

from __future__ import annotations

from typing import Protocol

from motiflux.graph import Graph
from motiflux.plan.bind import BoundPattern

Numbers = tuple[list[int], list[int]]
"""The numbers that orders are planned by: of candidates by query vertex, and of arcs by query edge."""


class Labels(Protocol):
    """Numbers of vertices and arcs by codes of labels; None: all."""

    def vertices(self, labels: tuple[int, ...] | None) -> int:
        """Return the number of vertices with one of `labels`."""

    def arcs(
        self, sources: tuple[int, ...] | None, edges: tuple[int, ...] | None, targets: tuple[int, ...] | None
    ) -> int:
        """Return the number of arcs between vertices of such labels."""


def numbers_of(bound: BoundPattern, labels: Labels) -> Numbers:
    """Return the numbers of candidates and of arcs that orders are planned by."""
    arcs = []
    for edge in bound.edges:
        ends = bound.labels[edge.source], bound.labels[edge.target]
        number = labels.arcs(ends[0], edge.labels, ends[1])
        if edge.either and bound.directed:
            number += labels.arcs(ends[1], edge.labels, ends[0])
        arcs.append(number)
    return [labels.vertices(codes) for codes in bound.labels], arcs


class _KnownLabels:
    """The numbers of a graph, which has no code of labels that it does not have."""

    def __init__(self, graph: Graph) -> None:
        self._labels = graph.label_frequencies()
        self._sizes = len(graph.vertex_label_table), len(graph.edge_label_table)

    def vertices(self, labels: tuple[int, ...] | None) -> int:
        return self._labels.vertices(_below(labels, self._sizes[0]))

    def arcs(
        self, sources: tuple[int, ...] | None, edges: tuple[int, ...] | None, targets: tuple[int, ...] | None
    ) -> int:
        vertices, kinds = self._sizes
        return self._labels.arcs(_below(sources, vertices), _below(edges, kinds), _below(targets, vertices))


def _below(codes: tuple[int, ...] | None, size: int) -> tuple[int, ...] | None:
    return None if codes is None else tuple(code for code in codes if code < size)


def numbers_of_graph(bound: BoundPattern, graph: Graph) -> Numbers:
    """Return the numbers of a graph that does not change."""
    return numbers_of(bound, _KnownLabels(graph))
