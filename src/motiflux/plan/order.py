"""The matching order: which query vertex is matched when."""

from __future__ import annotations

from motiflux.graph.stats import LabelFrequencies
from motiflux.plan.bind import BoundEdge, BoundPattern

# Starting vertices tried; more changed no order that was looked at.
_STARTS = 6


class CostModel:
    """Expected numbers of candidates, taking label frequencies as independent."""

    def __init__(self, pattern: BoundPattern, frequencies: LabelFrequencies) -> None:
        self.candidates = [max(frequencies.vertices(labels), 1) for labels in pattern.labels]
        self.degree = [len(pattern.neighbors(v)) for v in range(pattern.size)]
        self._edges_at: list[list[tuple[int, float]]] = [[] for _ in range(pattern.size)]
        for edge in pattern.edges:
            chance = self._chance(pattern, frequencies, edge)
            self._edges_at[edge.source].append((edge.target, chance))
            self._edges_at[edge.target].append((edge.source, chance))

    def _chance(self, pattern: BoundPattern, frequencies: LabelFrequencies, edge: BoundEdge) -> float:
        """Return how likely two random vertices with the right labels are joined as `edge` asks."""
        ends = pattern.labels[edge.source], pattern.labels[edge.target]
        arcs = frequencies.arcs(ends[0], edge.labels, ends[1])
        if edge.either and pattern.directed:
            arcs += frequencies.arcs(ends[1], edge.labels, ends[0])
        return min(1.0, arcs / (self.candidates[edge.source] * self.candidates[edge.target]))

    def growth(self, vertex: int, placed: set[int]) -> float:
        """Return the factor by which matching `vertex` after `placed` multiplies the partial embeddings."""
        factor = float(self.candidates[vertex])
        for other, chance in self._edges_at[vertex]:
            if other in placed:
                factor *= chance
        return factor

    def backward(self, vertex: int, placed: set[int]) -> int:
        """Return the number of query edges from `vertex` into `placed`."""
        return sum(other in placed for other, _ in self._edges_at[vertex])

    def estimates(self, order: tuple[int, ...]) -> tuple[float, ...]:
        """Return the expected partial embeddings up to each level."""
        sizes: list[float] = []
        placed: set[int] = set()
        for vertex in order:
            sizes.append((sizes[-1] if sizes else 1.0) * self.growth(vertex, placed))
            placed.add(vertex)
        return tuple(sizes)


def cheapest_order(pattern: BoundPattern, model: CostModel) -> tuple[int, ...]:
    """Return a connected order with few expected partial embeddings.

    From each of the most selective starts, the vertex that multiplies them least is taken next.
    """
    by_promise = sorted(range(pattern.size), key=lambda v: (model.candidates[v] / model.degree[v], v))
    orders = [_greedy(pattern, model, start) for start in by_promise[:_STARTS]]
    return min(orders, key=lambda order: sum(model.estimates(order)))


def _greedy(pattern: BoundPattern, model: CostModel, start: int) -> tuple[int, ...]:
    order, placed = [start], {start}
    reachable = pattern.neighbors(start)
    while len(order) < pattern.size:
        vertex = min(
            reachable,
            key=lambda v: (model.growth(v, placed), -model.backward(v, placed), -model.degree[v], v),
        )
        order.append(vertex)
        placed.add(vertex)
        reachable = (reachable | pattern.neighbors(vertex)) - placed
    return tuple(order)


def given_order(pattern: BoundPattern) -> tuple[int, ...]:
    """Return the pattern's own order, vertices that are not yet connected put off."""
    order, placed = [0], {0}
    while len(order) < pattern.size:
        vertex = next(v for v in range(pattern.size) if v not in placed and pattern.neighbors(v) & placed)
        order.append(vertex)
        placed.add(vertex)
    return tuple(order)
