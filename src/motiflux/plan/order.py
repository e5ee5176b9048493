"""The matching order: which query vertex is matched when."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from motiflux.graph.stats import LabelFrequencies
from motiflux.plan.bind import BoundEdge, BoundPattern

# Starting vertices tried; more changed no order that was looked at.
_STARTS = 4


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
        # chances[v]: each neighbour of v and how likely it is joined to v as the query edges ask.
        self.chances: list[list[tuple[int, float]]] = [[] for _ in range(pattern.size)]
        for edge, number in zip(pattern.edges, arcs, strict=True):
            chance = min(1.0, number / (self.candidates[edge.source] * self.candidates[edge.target]))
            self.chances[edge.source].append((edge.target, chance))
            self.chances[edge.target].append((edge.source, chance))


def frequencies(pattern: BoundPattern, labels: LabelFrequencies) -> tuple[list[int], list[int]]:
    """Return the numbers of candidates and arcs that label frequencies alone give."""
    return [labels.vertices(codes) for codes in pattern.labels], [
        _arcs(pattern, labels, edge) for edge in pattern.edges
    ]


def _arcs(pattern: BoundPattern, labels: LabelFrequencies, edge: BoundEdge) -> int:
    ends = pattern.labels[edge.source], pattern.labels[edge.target]
    arcs = labels.arcs(ends[0], edge.labels, ends[1])
    if edge.either and pattern.directed:
        arcs += labels.arcs(ends[1], edge.labels, ends[0])
    return arcs


class _PartialOrder:
    """An order under construction, and the growth each vertex would bring if it came next."""

    def __init__(self, pattern: BoundPattern, model: CostModel) -> None:
        self._pattern = pattern
        self._model = model
        self._growth = [float(number) for number in model.candidates]
        self._backward = [0] * pattern.size
        self._reachable: set[int] = set()
        self.order: list[int] = []
        self.sizes: list[float] = []

    def place(self, vertex: int) -> None:
        """Append `vertex`."""
        self.sizes.append((self.sizes[-1] if self.sizes else 1.0) * self._growth[vertex])
        self.order.append(vertex)
        for other, chance in self._model.chances[vertex]:
            self._growth[other] *= chance
            self._backward[other] += 1
        self._reachable |= self._pattern.neighbors[vertex]
        self._reachable.difference_update(self.order)

    def place_cheapest(self) -> None:
        """Append the reachable vertex that multiplies the partial embeddings least."""
        neighbors = self._pattern.neighbors
        self.place(
            min(self._reachable, key=lambda v: (self._growth[v], -self._backward[v], -len(neighbors[v]), v))
        )

    def place_first(self) -> None:
        """Append the reachable vertex that the pattern lists first."""
        self.place(min(self._reachable))


@dataclass(frozen=True, slots=True)
class Order:
    """A matching order and the expected number of partial embeddings up to each level."""

    vertices: tuple[int, ...]
    estimates: tuple[float, ...]


def cheapest_order(pattern: BoundPattern, model: CostModel) -> Order:
    """Return a connected order with few expected partial embeddings.

    From each of the most selective starts, the vertex that multiplies them least is taken next.
    """
    by_promise = sorted(
        range(pattern.size), key=lambda v: (model.candidates[v] / len(pattern.neighbors[v]), v)
    )
    orders = [
        _complete(pattern, model, start, _PartialOrder.place_cheapest) for start in by_promise[:_STARTS]
    ]
    return min(orders, key=lambda order: sum(order.estimates))


def given_order(pattern: BoundPattern, model: CostModel) -> Order:
    """Return the pattern's own order, vertices that are not yet connected put off."""
    return _complete(pattern, model, 0, _PartialOrder.place_first)


def _complete(
    pattern: BoundPattern, model: CostModel, start: int, place_next: Callable[[_PartialOrder], None]
) -> Order:
    partial = _PartialOrder(pattern, model)
    partial.place(start)
    while len(partial.order) < pattern.size:
        place_next(partial)
    return Order(tuple(partial.order), tuple(partial.sizes))
