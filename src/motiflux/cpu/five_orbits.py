"""The orbits of graphlets of five vertices on the CPU, from sums that are linear in them.

For each orbit, native code adds up maps of its graphlet at each vertex or edge (`csrc/local_counts/five`).
A map may give vertices the same image, and the images need not be induced subgraphs. So each sum is a
linear combination of the numbers of induced subgraphs of all orbits of up to five vertices, with the same
coefficients in every graph. They are found once, from the sums on the graphlets themselves, and are
triangular: a graphlet of five vertices contributes to the sums of its own orbits, and of sparser graphlets.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.cpu.orbits import numbers_of, rows_of
from motiflux.graph import Graph
from motiflux.plan.graphlets import EDGE_ORBITS, GRAPHLETS, ORBITS
from motiflux.request.deadline import Deadline
from motiflux.request.images import Numbers
from motiflux.request.request import Request
from motiflux.result.arc_counts import at_pairs_of_edges
from motiflux.types import OffsetArray, VertexArray


def five_orbits(graph: Graph, request: Request, deadline: Deadline) -> Numbers | None:
    """Return the number of induced subgraphs of each orbit at each vertex: [vertices, 73]; None if late.

    Raises
    ------
    CountOverflowError
        The graph is too large.
    """
    rows, coefficients = rows_of(graph, request), coefficients_of_vertices()
    return numbers_of(
        lambda: _native.all_orbits_of_vertices(rows, coefficients, request.threads, deadline.left()),
        ORBITS[5],
    )


def five_edge_orbits(graph: Graph, request: Request, deadline: Deadline) -> Numbers | None:
    """Return the number of induced subgraphs of each orbit of edges at each edge: [edges, 68]; None if late.

    Raises
    ------
    CountOverflowError
        The graph is too large.
    """
    rows, coefficients = rows_of(graph, request), coefficients_of_edges()
    numbers = numbers_of(
        lambda: _native.all_orbits_of_edges(rows, coefficients, request.threads, deadline.left()),
        EDGE_ORBITS[5],
    )
    return None if numbers is None else at_pairs_of_edges(graph, rows, numbers)


def most_trees(offsets: OffsetArray, neighbors: VertexArray) -> float:
    """Return a bound of the connected subgraphs of five vertices that contain any one vertex."""
    degrees = np.diff(offsets).astype(np.float64)
    sources = np.repeat(np.arange(len(degrees)), np.diff(offsets).astype(np.int64))

    def summed(of: NDArray[np.float64]) -> NDArray[np.float64]:
        sums = np.bincount(sources, weights=of[neighbors], minlength=len(degrees))
        return sums.astype(np.float64)

    ends, squares, cubes = (summed(degrees**power) for power in (1, 2, 3))
    seconds = summed(ends)
    trees = summed(seconds) + degrees * seconds + ends**2 + summed(squares) + summed(degrees * ends)
    trees += degrees * squares + degrees**2 * ends + cubes + degrees**4
    return float(trees.max(initial=0.0))


@lru_cache(maxsize=1)
def coefficients_of_vertices() -> NDArray[np.uint64]:
    """Return the coefficient of each orbit in each sum of vertices: [58 * 73]."""
    rows = _rows_of_graphlets()
    sums = _native.orbit_sums_of_vertices(rows, 1, None)
    found = _native.orbits_of_vertices(rows, 1, None)
    assert sums is not None
    assert found is not None
    orbits = [orbit for graphlet in GRAPHLETS for orbit in graphlet.orbits]
    smaller = found[0].reshape(-1, ORBITS[4])
    return _solved(sums, smaller, orbits, ORBITS[5])


@lru_cache(maxsize=1)
def coefficients_of_edges() -> NDArray[np.uint64]:
    """Return the coefficients of the edge alone and of each orbit in each sum of edges: [56 * 69]."""
    offsets, neighbors = rows = _rows_of_graphlets()
    sums = _native.orbit_sums_of_edges(rows, 1, None)
    found = _native.orbits_of_edges(rows, 1, None)
    assert sums is not None
    assert found is not None
    sources = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets).astype(np.int64))
    smaller = found[0].reshape(-1, EDGE_ORBITS[4])[sources < neighbors]
    smaller = np.concatenate([np.ones((len(smaller), 1), np.uint64), smaller], axis=1)
    orbits = []
    for graphlet in GRAPHLETS:  # edges in the order of the rows
        numbered = [0] if not graphlet.edge_orbits else [1 + orbit for orbit in graphlet.edge_orbits]
        orbits += [orbit for _, orbit in sorted(zip(map(sorted, graphlet.edges), numbered, strict=True))]
    return _solved(sums, smaller, orbits, 1 + EDGE_ORBITS[5])


def _solved(
    sums: NDArray[np.uint64], smaller: NDArray[np.uint64], orbits: list[int], number: int
) -> NDArray[np.uint64]:
    """Return the coefficients of each sum, one row after the other.

    Parameters
    ----------
    sums, smaller, orbits
        Of all vertices or edges of all graphlets, smaller graphlets first: the sums, the numbers of orbits of
        up to four vertices, and its orbit.
    number
        Number of orbits.
    """
    known = smaller.shape[1]
    values = sums.view(np.int64).reshape(len(orbits), -1)
    by_orbit = np.zeros((number, values.shape[1]), np.int64)
    for row, orbit in enumerate(orbits):
        # What a graphlet contains in other orbits is smaller, and has coefficients. What a small graphlet
        # contains in this orbit, itself, counts for nothing in the product.
        by_orbit[orbit] = 0
        by_orbit[orbit] = values[row] - smaller[row].astype(np.int64) @ by_orbit[:known]
    return by_orbit.T.astype(np.uint64).ravel()


def _rows_of_graphlets() -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    """Return the rows of the graph whose connected parts are the graphlets."""
    ends, first = [], 0
    for graphlet in GRAPHLETS:
        ends += [(first + u, first + v) for u, v in graphlet.edges]
        first += len(graphlet.orbits)
    arcs = np.array(sorted(ends + [(v, u) for u, v in ends]))
    offsets = np.searchsorted(arcs[:, 0], np.arange(first + 1))
    return offsets.astype(np.uint64), arcs[:, 1].astype(np.uint32)
