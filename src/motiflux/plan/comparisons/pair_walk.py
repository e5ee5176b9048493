"""Searches that go from pair to pair of data vertices, with all choices of copies: in which orders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations

from motiflux.plan.bind import BoundPattern
from motiflux.plan.comparisons.bound import BoundComparisons
from motiflux.plan.comparisons.copy_walk import CopyWalk, possible_copy_walks
from motiflux.types import Semantics

_FEW_EDGES = 3
"""Edges of which all orders are tried."""
_MOST_ORDERS = 16


def possible_pair_walks(
    bound: BoundPattern, comparisons: BoundComparisons, semantics: Semantics, *, leaves: bool
) -> Sequence[CopyWalk]:
    """Return the searches from pair to pair of a pattern; none if it has edges that are not compared.

    Parameters
    ----------
    leaves
        Whether the last edges may be counted without being matched.
    """
    if not possible_copy_walks(bound, comparisons, semantics):
        return ()
    return _Orders(bound, comparisons).walks(leaves)


class _Orders:
    def __init__(self, bound: BoundPattern, comparisons: BoundComparisons) -> None:
        self._ends: dict[int, tuple[int, int]] = {}
        for at, variable in enumerate(comparisons.variables):
            if variable.edge is not None:
                edge = bound.edges[variable.edge]
                self._ends[at] = (edge.source, edge.target)
        self._joined = {(one.left, one.right) for one in comparisons.comparisons}
        self._joined |= {pair[::-1] for pair in self._joined}
        self._spanned = comparisons.span is not None
        used = Counter(vertex for ends in self._ends.values() for vertex in set(ends))
        self._pendant = [at for at, ends in self._ends.items() if min(used[v] for v in ends) == 1]

    def walks(self, leaves: bool) -> Sequence[CopyWalk]:
        orders: dict[tuple[int, ...], int] = {}
        pairs = [] if self._spanned or not leaves else list(combinations(self._pendant, 2))
        for pair in pairs:
            if len(self._ends) > len(pair) and pair not in self._joined:
                core = [at for at in self._ends if at not in pair]
                orders.update(dict.fromkeys(((*order, *pair) for order in self._orders(core)), 2))
        if not orders:
            orders = dict.fromkeys(self._orders(list(self._ends)), 1)
        return [
            CopyWalk(order[0], self._vertex(order), order, number if leaves else 0)
            for order, number in list(orders.items())[:_MOST_ORDERS]
            if self._is_connected(order)
        ]

    def _orders(self, edges: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """Yield orders in which each edge begins at a vertex of those before."""
        if len(edges) <= _FEW_EDGES:
            yield from filter(self._is_connected, permutations(edges))
            return
        for root in edges:
            order = [root]
            while len(order) < len(edges):
                reached = self._reached(order)
                touching = [at for at in edges if at not in order and set(self._ends[at]) & reached]
                if not touching:
                    break

                def judged(
                    at: int, order: list[int] = order, reached: set[int] = reached
                ) -> tuple[bool, int, int]:
                    number = sum((at, other) in self._joined for other in order)
                    return set(self._ends[at]) <= reached, number, -at

                order.append(max(touching, key=judged))
            if len(order) == len(edges):
                yield tuple(order)

    def _reached(self, edges: Iterable[int]) -> set[int]:
        return {vertex for at in edges for vertex in self._ends[at]}

    def _is_connected(self, order: Sequence[int]) -> bool:
        return all(set(self._ends[order[at]]) & self._reached(order[:at]) for at in range(1, len(order)))

    def _vertex(self, order: Sequence[int]) -> int:
        """Return the vertex of the first edge that the second begins at: its row stays the same."""
        ends = self._ends[order[0]]
        shared = [vertex for vertex in ends if len(order) > 1 and vertex in self._ends[order[1]]]
        return (shared or ends)[0]
