"""A canonical numbering of rooted patterns: the same for isomorphic ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from motiflux.plan.rooted import Rooted


def canonical(pattern: Rooted, either: frozenset[int]) -> Rooted:
    """Return the pattern renumbered, equally for isomorphic patterns; roots keep their numbers.

    Colours are refined. If several vertices have one colour, each of them in turn gets a unique colour, but
    only one of each set of twins (McKay and Piperno 2014). The least numbering is taken.

    Parameters
    ----------
    either
        Edge kinds that go either way.
    """
    refinement = _Refinement(pattern, either)
    start = [(min(v, pattern.fixed), kind, v in pattern.below) for v, kind in enumerate(pattern.vertices)]
    return min(
        (pattern.renumbered(order, pattern.roots, either) for order in refinement.orders(_ranks(start))),
        key=lambda one: (one.vertices, one.edges, sorted(one.below)),
    )


class _Refinement:
    """Refines colours of the vertices of a pattern by the edges at each vertex."""

    def __init__(self, pattern: Rooted, either: frozenset[int]) -> None:
        self._around: list[list[tuple[int, int, int]]] = [[] for _ in pattern.vertices]
        for u, v, kind in pattern.edges:
            goes_either_way = kind in either
            self._around[u].append((v, kind, 0 if goes_either_way else 1))
            self._around[v].append((u, kind, 0 if goes_either_way else 2))

    def orders(self, colors: list[int]) -> Iterator[list[int]]:
        """Yield the numberings to compare, for colours to start from."""
        colors = self._refined(colors)
        classes: dict[int, list[int]] = {}
        for vertex, color in enumerate(colors):
            classes.setdefault(color, []).append(vertex)
        alike = min((one for one in classes.values() if len(one) > 1), key=len, default=None)
        if alike is None:
            yield sorted(range(len(colors)), key=colors.__getitem__)
            return
        first: list[int] = []
        for vertex in alike:
            if not any(self._are_twins(vertex, other) for other in first):
                first.append(vertex)
                yield from self.orders([2 * color - (v == vertex) for v, color in enumerate(colors)])

    def _refined(self, colors: list[int]) -> list[int]:
        around, number = self._around, len(set(colors))
        while True:
            colors = _ranks(
                [
                    (color, tuple(sorted((kind, way, colors[other]) for other, kind, way in around[vertex])))
                    for vertex, color in enumerate(colors)
                ]
            )
            if len(set(colors)) == number:
                return colors
            number = len(set(colors))

    def _are_twins(self, u: int, v: int) -> bool:
        """Return whether exchanging two vertices of one colour changes nothing."""
        swap = {u: v, v: u}
        return sorted((swap.get(w, w), *rest) for w, *rest in self._around[u]) == sorted(
            (w, *rest) for w, *rest in self._around[v]
        )


def _ranks(keys: Sequence[tuple[Any, ...]]) -> list[int]:
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    return [ranks[key] for key in keys]
