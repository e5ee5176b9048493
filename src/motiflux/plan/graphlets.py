"""Graphlets: the connected graphs of two to five vertices, and the orbits of their vertices.

Orbits have the numbers of Przulj (Bioinformatics 2007), which ORCA uses too: 0 to 14 up to four vertices, 15
to 72 for five.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from motiflux.pattern import Pattern

ORBITS = {4: 15, 5: 73}
"""The number of orbits up to a size."""


@dataclass(frozen=True, slots=True)
class Graphlet:
    """A connected graph.

    Parameters
    ----------
    edges
        Pairs of vertices.
    orbits
        The orbit of each vertex.
    """

    edges: tuple[tuple[int, int], ...]
    orbits: tuple[int, ...]

    def pattern(self) -> Pattern:
        """Return the graphlet as a pattern whose edges match arcs of either direction."""
        return Pattern.from_edges(self.edges, directed=False)


def _graphlet(edges: str, *orbits: int) -> Graphlet:
    return Graphlet(tuple((int(pair[0]), int(pair[1])) for pair in edges.split()), orbits)


GRAPHLETS = (
    _graphlet("01", 0, 0),
    _graphlet("01 02", 2, 1, 1),
    _graphlet("01 02 12", 3, 3, 3),
    _graphlet("01 02 13", 5, 5, 4, 4),
    _graphlet("01 02 03", 7, 6, 6, 6),
    _graphlet("01 02 13 23", 8, 8, 8, 8),
    _graphlet("01 02 03 12", 11, 10, 10, 9),
    _graphlet("01 02 03 12 13", 13, 13, 12, 12),
    _graphlet("01 02 03 12 13 23", 14, 14, 14, 14),
    _graphlet("01 02 13 24", 17, 16, 16, 15, 15),
    _graphlet("01 02 03 14", 21, 20, 19, 19, 18),
    _graphlet("01 02 03 04", 23, 22, 22, 22, 22),
    _graphlet("01 02 03 12 14", 26, 26, 25, 24, 24),
    _graphlet("01 02 03 12 34", 30, 29, 29, 28, 27),
    _graphlet("01 02 03 04 12", 33, 32, 32, 31, 31),
    _graphlet("01 02 13 24 34", 34, 34, 34, 34, 34),
    _graphlet("01 02 03 14 24", 38, 37, 37, 35, 36),
    _graphlet("01 02 03 04 12 13", 42, 41, 40, 40, 39),
    _graphlet("01 02 03 04 12 34", 44, 43, 43, 43, 43),
    _graphlet("01 02 03 12 13 24", 48, 48, 47, 46, 45),
    _graphlet("01 02 03 14 24 34", 50, 49, 49, 49, 50),
    _graphlet("01 02 03 12 14 34", 53, 53, 52, 51, 51),
    _graphlet("01 02 03 04 12 13 14", 55, 55, 54, 54, 54),
    _graphlet("01 02 03 04 12 13 23", 58, 57, 57, 57, 56),
    _graphlet("01 02 03 04 12 13 24", 61, 60, 60, 59, 59),
    _graphlet("01 02 03 12 13 24 34", 64, 64, 63, 63, 62),
    _graphlet("01 02 03 04 12 13 14 23", 67, 67, 66, 66, 65),
    _graphlet("01 02 03 04 12 13 24 34", 69, 68, 68, 68, 68),
    _graphlet("01 02 03 04 12 13 14 23 24", 71, 71, 71, 70, 70),
    _graphlet("01 02 03 04 12 13 14 23 24 34", 72, 72, 72, 72, 72),
)
"""Graphlets by their orbits; among those of one size, each after all with fewer edges."""


def graphlets_of(size: int) -> list[Graphlet]:
    """Return the graphlets of a number of vertices."""
    return [graphlet for graphlet in GRAPHLETS if len(graphlet.orbits) == size]


@lru_cache(maxsize=4)
def contained(size: int) -> dict[int, dict[int, int]]:
    """Return how often induced subgraphs of `size` vertices contain others on the same vertices.

    Returns
    -------
    dict
        For each orbit, the orbits of graphlets with more edges: the number of subgraphs, not induced, in
        which a vertex in the second orbit is in the first.
    """
    graphlets = graphlets_of(size)
    found: dict[int, dict[int, int]] = {}
    for sparse in graphlets:
        copies: dict[frozenset[frozenset[int]], tuple[int, ...]] = {}
        for order in permutations(range(size)):
            edges = frozenset(frozenset((order[u], order[v])) for u, v in sparse.edges)
            if edges not in copies:
                orbits = [0] * size
                for vertex, orbit in zip(order, sparse.orbits, strict=True):
                    orbits[vertex] = orbit
                copies[edges] = tuple(orbits)
        for orbit in set(sparse.orbits):
            found[orbit] = {}
        for dense in graphlets:
            if len(dense.edges) <= len(sparse.edges):
                continue
            whole = {frozenset(edge) for edge in dense.edges}
            inside = [orbits for edges, orbits in copies.items() if edges <= whole]
            for orbit in set(dense.orbits):
                at = dense.orbits.index(orbit)
                for place, times in Counter(orbits[at] for orbits in inside).items():
                    found[place][orbit] = times
    return found


def induced(
    counts: dict[int, NDArray[np.object_] | NDArray[np.int64]], size: int
) -> dict[int, NDArray[np.int64] | NDArray[np.object_]]:
    """Return the numbers of induced subgraphs of each orbit, from those of all subgraphs.

    Parameters
    ----------
    counts
        For each orbit of the graphlets of `size` vertices, the number at each vertex: int64, or Python
        integers.
    """
    smaller = contained(size)
    low: dict[int, NDArray[np.uint64]] = {}
    great = np.zeros(len(next(iter(counts.values()))), np.bool_)
    for orbit, numbers in counts.items():
        if numbers.dtype == object:
            great |= np.array([number >= 2**63 for number in numbers], np.bool_)
            low[orbit] = np.array([number % 2**64 for number in numbers], np.uint64)
        else:
            low[orbit] = numbers.astype(np.int64).view(np.uint64)
    # An induced number is at most the number of all, so where those are below 2^63, it is right modulo 2^64.
    found: dict[int, NDArray[np.uint64]] = {}
    for graphlet in reversed(graphlets_of(size)):
        for orbit in set(graphlet.orbits):
            rest = low[orbit].copy()
            for other, times in smaller[orbit].items():
                rest -= found[other] * np.uint64(times)
            found[orbit] = rest
    result: dict[int, NDArray[np.int64] | NDArray[np.object_]] = {
        orbit: numbers.view(np.int64) for orbit, numbers in found.items()
    }
    rows = np.flatnonzero(great).tolist()
    if not rows:
        return result
    exact: dict[int, list[int]] = {}
    for graphlet in reversed(graphlets_of(size)):
        for orbit in set(graphlet.orbits):
            exact[orbit] = [
                int(counts[orbit][row])
                - sum(times * exact[other][at] for other, times in smaller[orbit].items())
                for at, row in enumerate(rows)
            ]
            if max(exact[orbit]) >= 2**63:
                result[orbit] = result[orbit].astype(object)
            result[orbit][rows] = exact[orbit]
    return result
