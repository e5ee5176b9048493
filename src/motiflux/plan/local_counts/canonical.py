"""One numbering for all rooted patterns that are isomorphic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from motiflux.plan.rooted import Rooted


def canonical(pattern: Rooted, either: frozenset[int]) -> Rooted:
    """Return the pattern with its vertices renumbered, the same for isomorphic ones; roots stay.

    Colours are refined; where several vertices have one, each that is not a twin of another is told apart in
    turn (McKay and Piperno 2014), and the least numbering is taken.
    """
    look = _Look(pattern, either)
    start = [(min(v, pattern.fixed), kind, v in pattern.below) for v, kind in enumerate(pattern.vertices)]
    return min(
        (pattern.renumbered(order, pattern.roots, either) for order in look.orders(_ranks(start))),
        key=lambda one: (one.vertices, one.edges, sorted(one.below)),
    )


class _Look:
    """What the vertices of a pattern look like from each other."""

    def __init__(self, pattern: Rooted, either: frozenset[int]) -> None:
        self._around: list[list[tuple[int, int, int]]] = [[] for _ in pattern.vertices]
        for u, v, kind in pattern.edges:
            goes_either_way = kind in either
            self._around[u].append((v, kind, 0 if goes_either_way else 1))
            self._around[v].append((u, kind, 0 if goes_either_way else 2))

    def orders(self, colors: list[int]) -> Iterator[list[int]]:
        """Yield the numberings to compare."""
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


def _ranks(looks: Sequence[tuple[Any, ...]]) -> list[int]:
    ranks = {look: rank for rank, look in enumerate(sorted(set(looks)))}
    return [ranks[look] for look in looks]
