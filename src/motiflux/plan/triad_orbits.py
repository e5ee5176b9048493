"""The orbits of the vertices of directed pairs and triads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from motiflux.plan.census import KINDS, SHAPES, Arc, arcs_of, classes


@dataclass(frozen=True, eq=False)
class TriadOrbitTables:
    """The orbits of directed pairs and triads (``csrc/census/triad_orbits.hpp``).

    Parameters
    ----------
    names
        Of each orbit: the class, and the arcs that leave and enter a vertex in it.
    """

    names: tuple[str, ...]
    pairs: NDArray[np.uint32]
    middles: NDArray[np.uint32]
    ends: NDArray[np.uint32]
    triangles: NDArray[np.uint32]
    contained: NDArray[np.uint32]


def _degrees(arcs: Sequence[Arc], vertex: int) -> tuple[int, int]:
    return sum(u == vertex for u, _ in arcs), sum(v == vertex for _, v in arcs)


@lru_cache(maxsize=1)
def triad_orbit_tables() -> TriadOrbitTables:
    """Return the orbits of directed pairs and triads: of an arc, of a mutual pair, of triads in MAN order.

    In one class, orbits differ in the arcs that leave and enter a vertex. They are ordered by those that
    leave, the most first, then by those that enter, the fewest first.

    Examples
    --------
    >>> tables = triad_orbit_tables()
    >>> len(tables.names), tables.names[:5]
    (33, ('arc 1 0', 'arc 0 1', 'mutual 1 1', '021D 2 0', '021D 0 1'))
    """
    table = classes(3, True)
    orbit_of: dict[tuple[int, tuple[int, int]], int] = {}
    names = ["arc 1 0", "arc 0 1", "mutual 1 1"]
    for at, one in enumerate(table.all):
        if not one.connected:
            continue
        degrees = {_degrees(one.arcs, vertex) for vertex in range(3)}
        for out, into in sorted(degrees, key=lambda pair: (-pair[0], pair[1])):
            orbit_of[at, (out, into)] = len(names)
            names.append(f"{one.name} {out} {into}")

    def orbit(arcs: Sequence[Arc], vertex: int) -> int:
        return orbit_of[table.class_of(arcs), _degrees(arcs, vertex)]

    wedges = [arcs_of(((0, 1), (0, 2)), digits) for digits in product(KINDS, repeat=2)]
    chains = [arcs_of(((0, 1), (1, 2)), digits) for digits in product(KINDS, repeat=2)]
    triangles = [arcs_of(SHAPES[2], digits) for digits in product(KINDS, repeat=3)]
    contained = np.zeros((len(names), len(names)), np.uint32)
    for at, one in enumerate(table.all):
        joined = sorted({(min(arc), max(arc)) for arc in one.arcs})
        if len(joined) < 3:
            continue
        for out, into in {_degrees(one.arcs, vertex) for vertex in range(3)}:
            vertex = next(v for v in range(3) if _degrees(one.arcs, v) == (out, into))
            for left in joined:
                arcs = [arc for arc in one.arcs if (min(arc), max(arc)) != left]
                contained[orbit(arcs, vertex), orbit_of[at, (out, into)]] += 1
    return TriadOrbitTables(
        tuple(names),
        np.arange(3, dtype=np.uint32),
        np.array([orbit(arcs, 0) for arcs in wedges], np.uint32),
        np.array([orbit(arcs, 0) for arcs in chains], np.uint32),
        np.array([orbit(arcs, vertex) for arcs in triangles for vertex in range(3)], np.uint32),
        contained.reshape(-1),
    )
