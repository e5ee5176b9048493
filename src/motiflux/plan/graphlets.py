"""Graphlets: the connected graphs of two to five vertices, and the orbits of their vertices and edges.

Orbits of vertices have the numbers of Przulj (Bioinformatics 2007), which ORCA uses too: 0 to 14 up to four
vertices, 15 to 72 for five. Those of edges have the numbers of ORCA (Hocevar and Demsar, Bioinformatics
2014): 0 to 11 up to four vertices, 12 to 67 for five.
"""

from __future__ import annotations

from dataclasses import dataclass

ORBITS = {4: 15, 5: 73}
"""The number of orbits of vertices up to a size."""
EDGE_ORBITS = {4: 12, 5: 68}
"""The number of orbits of edges up to a size."""


@dataclass(frozen=True, slots=True)
class Graphlet:
    """A connected graph.

    Parameters
    ----------
    edges
        Pairs of vertices.
    orbits
        The orbit of each vertex.
    edge_orbits
        The orbit of each edge; of the single edge, none.
    """

    edges: tuple[tuple[int, int], ...]
    orbits: tuple[int, ...]
    edge_orbits: tuple[int, ...]


def _graphlet(edges: str, edge_orbits: str, *orbits: int) -> Graphlet:
    ends = tuple((int(pair[0]), int(pair[1])) for pair in edges.split())
    return Graphlet(ends, orbits, tuple(map(int, edge_orbits.split())))


GRAPHLETS = (
    _graphlet("01", "", 0, 0),
    _graphlet("01 02", "0 0", 2, 1, 1),
    _graphlet("01 02 12", "1 1 1", 3, 3, 3),
    _graphlet("01 02 13", "3 2 2", 5, 5, 4, 4),
    _graphlet("01 02 03", "4 4 4", 7, 6, 6, 6),
    _graphlet("01 02 13 23", "5 5 5 5", 8, 8, 8, 8),
    _graphlet("01 02 03 12", "8 8 6 7", 11, 10, 10, 9),
    _graphlet("01 02 03 12 13", "10 9 9 9 9", 13, 13, 12, 12),
    _graphlet("01 02 03 12 13 23", "11 11 11 11 11 11", 14, 14, 14, 14),
    _graphlet("01 02 13 24", "13 13 12 12", 17, 16, 16, 15, 15),
    _graphlet("01 02 03 14", "16 15 15 14", 21, 20, 19, 19, 18),
    _graphlet("01 02 03 04", "17 17 17 17", 23, 22, 22, 22, 22),
    _graphlet("01 02 03 12 14", "20 19 18 19 18", 26, 26, 25, 24, 24),
    _graphlet("01 02 03 12 34", "24 24 22 23 21", 30, 29, 29, 28, 27),
    _graphlet("01 02 03 04 12", "27 27 25 25 26", 33, 32, 32, 31, 31),
    _graphlet("01 02 13 24 34", "28 28 28 28 28", 34, 34, 34, 34, 34),
    _graphlet("01 02 03 14 24", "31 31 29 30 30", 38, 37, 37, 35, 36),
    _graphlet("01 02 03 04 12 13", "35 34 34 32 33 33", 42, 41, 40, 40, 39),
    _graphlet("01 02 03 04 12 34", "37 37 37 37 36 36", 44, 43, 43, 43, 43),
    _graphlet("01 02 03 12 13 24", "41 40 39 40 39 38", 48, 48, 47, 46, 45),
    _graphlet("01 02 03 14 24 34", "42 42 42 42 42 42", 50, 49, 49, 49, 50),
    _graphlet("01 02 03 12 14 34", "46 45 44 45 44 43", 53, 53, 52, 51, 51),
    _graphlet("01 02 03 04 12 13 14", "48 47 47 47 47 47 47", 55, 55, 54, 54, 54),
    _graphlet("01 02 03 04 12 13 23", "51 51 51 49 50 50 50", 58, 57, 57, 57, 56),
    _graphlet("01 02 03 04 12 13 24", "55 55 53 53 54 52 52", 61, 60, 60, 59, 59),
    _graphlet("01 02 03 12 13 24 34", "58 57 57 57 57 56 56", 64, 64, 63, 63, 62),
    _graphlet("01 02 03 04 12 13 14 23", "62 61 61 59 61 61 59 60", 67, 67, 66, 66, 65),
    _graphlet("01 02 03 04 12 13 24 34", "64 64 64 64 63 63 63 63", 69, 68, 68, 68, 68),
    _graphlet("01 02 03 04 12 13 14 23 24", "66 66 65 65 66 65 65 65 65", 71, 71, 71, 70, 70),
    _graphlet("01 02 03 04 12 13 14 23 24 34", "67 67 67 67 67 67 67 67 67 67", 72, 72, 72, 72, 72),
)
"""Graphlets by their orbits; among those of one size, each after all with fewer edges."""


def graphlets_of(size: int) -> list[Graphlet]:
    """Return the graphlets of a number of vertices."""
    return [graphlet for graphlet in GRAPHLETS if len(graphlet.orbits) == size]
