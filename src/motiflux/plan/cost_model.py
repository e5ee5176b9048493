"""Expected numbers of candidates and arcs, from label frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from motiflux.graph import Graph, VertexFilter
from motiflux.graph.stats import LabelFrequencies
from motiflux.plan.bind import BoundEdge, BoundPattern


class CostModel:
    """Expected numbers of candidates, taking query edges as independent.

    Parameters
    ----------
    candidates
        Number of candidates of each query vertex.
    arcs
        Number of arcs between candidates for each query edge.
    """

    def __init__(self, pattern: BoundPattern, candidates: Sequence[int], arcs: Sequence[int]) -> None:
        self.candidates = [max(number, 1) for number in candidates]
        # chances[v]: each neighbour of v, and the probability that its image is joined to that of v.
        self.chances: list[list[tuple[int, float]]] = [[] for _ in range(pattern.size)]
        for edge, number in zip(pattern.edges, arcs, strict=True):
            chance = min(1.0, number / (self.candidates[edge.source] * self.candidates[edge.target]))
            self.chances[edge.source].append((edge.target, chance))
            self.chances[edge.target].append((edge.source, chance))


def frequencies(
    pattern: BoundPattern, graph: Graph, deadline: float | None = None
) -> tuple[list[int], list[int]]:
    """Return the expected numbers of candidates and of arcs, by label frequencies and conditions.

    Conditions and labels are taken as independent. Conditions on edges are taken to hold for all edges.
    `TimeoutError` if `deadline` passes while labels are counted.
    """
    labels = graph.label_frequencies(deadline)
    shares = [_share(graph, narrowing) for narrowing in pattern.filters]
    candidates = [labels.vertices(codes) for codes in pattern.labels]
    arcs = [
        ceil(_arcs(pattern, labels, edge) * shares[edge.source] * shares[edge.target])
        for edge in pattern.edges
    ]
    return [ceil(number * share) for number, share in zip(candidates, shares, strict=True)], arcs


def _share(graph: Graph, narrowing: VertexFilter | None) -> float:
    """Return the share of the vertices that satisfy a filter."""
    if narrowing is None or graph.num_vertices == 0:
        return 1.0
    share = 1.0 if narrowing.ids is None else len(narrowing.ids) / graph.num_vertices
    if narrowing.condition is not None:
        share *= float(graph.vertex_mask(narrowing.condition).mean())
    return share


def _arcs(pattern: BoundPattern, labels: LabelFrequencies, edge: BoundEdge) -> int:
    ends = pattern.labels[edge.source], pattern.labels[edge.target]
    arcs = labels.arcs(ends[0], edge.labels, ends[1])
    if edge.either and pattern.directed:
        arcs += labels.arcs(ends[1], edge.labels, ends[0])
    return arcs
