"""The shape of a graph beyond its sizes: degrees, wedges and how many of them close.

Degrees and wedges are counted, closing is sampled: a few thousand wedges and edges, always the same ones for
the same graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.graph.adjacency import Adjacency, AdjacencyKey, Direction
from motiflux.graph.arrays import GraphArrays
from motiflux.graph.narrow import narrow

_SAMPLES = 8192
_SEED = 1


@dataclass(frozen=True, slots=True)
class ShapeStats:
    """Statistics of degrees, wedges and common neighbours of a graph.

    Degrees count arcs; in an undirected graph, out-degrees and in-degrees are equal. Wedges, closed wedges
    and common neighbours ignore directions and labels.

    Parameters
    ----------
    out_histogram, in_histogram
        Number of vertices by degree: entry 0 for degree 0, entry k for degrees from 2**(k - 1) to 2**k - 1.
    out_degree_sum, in_degree_sum
        Sum of all degrees: the number of arcs.
    out_degree_squares, in_degree_squares
        Sum of the squares of all degrees.
    wedges
        Number of paths of two edges, each counted once.
    closed_wedges
        Share of the sampled wedges whose ends are neighbours; 0.0 without wedges.
    common_neighbors
        Estimate of the mean number of neighbours that the ends of an edge have in common.
    samples
        Number of wedges and of edges that were sampled; 0 where there are none.

    Examples
    --------
    >>> import motiflux as mf
    >>> shape = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0), (2, 3)]).shape_stats()
    >>> shape.out_histogram, shape.wedges
    ((0, 1, 3), 5)
    """

    out_histogram: tuple[int, ...]
    in_histogram: tuple[int, ...]
    out_degree_sum: int
    in_degree_sum: int
    out_degree_squares: int
    in_degree_squares: int
    wedges: int
    closed_wedges: float
    common_neighbors: float
    samples: int


def describe(graph: GraphArrays, threads: int) -> ShapeStats:
    """Return the shape of `graph`; linear in its vertices, with directions or labels in its arcs."""
    out, into = _Degrees(graph.forward.degrees()), _Degrees(graph.reverse.degrees())
    # Not through the graph, which would keep rows that may serve no query.
    rows = narrow(AdjacencyKey(Direction.EITHER, None, None, None), graph, threads)
    ends = rows[0].astype(np.int64)
    degrees = ends[1:] - ends[:-1]
    neighbors = _Degrees(degrees)
    wedges = (neighbors.squares - neighbors.total) // 2
    random = np.random.default_rng(_SEED)
    return ShapeStats(
        out_histogram=out.histogram,
        in_histogram=into.histogram,
        out_degree_sum=out.total,
        in_degree_sum=into.total,
        out_degree_squares=out.squares,
        in_degree_squares=into.squares,
        wedges=wedges,
        closed_wedges=_closed_wedges(rows, degrees, random) if wedges else 0.0,
        common_neighbors=_common_neighbors(rows, degrees, random) if neighbors.total else 0.0,
        samples=_SAMPLES if neighbors.total else 0,
    )


class _Degrees:
    """Exact sums over degrees of any size."""

    def __init__(self, degrees: NDArray[np.int64]) -> None:
        values, counts = (column.tolist() for column in np.unique(degrees, return_counts=True))
        self.total = sum(value * count for value, count in zip(values, counts, strict=True))
        self.squares = sum(value * value * count for value, count in zip(values, counts, strict=True))
        histogram = [0] * (values[-1].bit_length() + 1 if values else 0)
        for value, count in zip(values, counts, strict=True):
            histogram[value.bit_length()] += count
        self.histogram = tuple(histogram)


def _closed_wedges(rows: Adjacency, degrees: NDArray[np.int64], random: np.random.Generator) -> float:
    """Return the share of closed wedges: a middle vertex drawn by its wedges, then two of its neighbours."""
    weights = np.cumsum(degrees.astype(np.float64) * (degrees - 1))
    middle = np.searchsorted(weights, random.random(_SAMPLES) * weights[-1], side="right")
    middle = np.minimum(middle, np.searchsorted(weights, weights[-1]))  # rounding may lead past the last one
    one = _below(degrees[middle], random)
    other = (one + 1 + _below(degrees[middle] - 1, random)) % degrees[middle]
    ends = (rows[1][_row_starts(rows, middle) + place] for place in (one, other))
    return float(_adjacent(rows, *ends).mean())


def _common_neighbors(rows: Adjacency, degrees: NDArray[np.int64], random: np.random.Generator) -> float:
    """Return the mean over sampled arcs, by one random neighbour of the end with fewer neighbours."""
    arcs = _below(np.full(_SAMPLES, len(rows[1]), dtype=np.int64), random)
    source = np.searchsorted(rows[0], arcs.astype(np.uint64), side="right").astype(np.int64) - 1
    target = rows[1][arcs].astype(np.int64)
    fewer = np.where(degrees[source] <= degrees[target], source, target)
    third = rows[1][_row_starts(rows, fewer) + _below(degrees[fewer], random)]
    # The end with more neighbours is itself a neighbour of the other, but not of itself.
    found = _adjacent(rows, third, source + target - fewer)
    return float((degrees[fewer] * found).mean())


def _below(bounds: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
    """Return a random integer below each of `bounds`."""
    return np.minimum((random.random(len(bounds)) * bounds).astype(np.int64), bounds - 1)


def _row_starts(rows: Adjacency, vertices: NDArray[Any]) -> NDArray[np.int64]:
    return np.asarray(rows[0][vertices].astype(np.int64))


def _adjacent(rows: Adjacency, first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether two vertices are neighbours, for arrays of them: a binary search in each row at once."""
    low, end = _row_starts(rows, second), rows[0][second.astype(np.int64) + 1].astype(np.int64)
    last = high = end
    while (low < high).any():
        middle = (low + high) // 2
        before = (low < high) & (rows[1][np.minimum(middle, len(rows[1]) - 1)] < first)
        low, high = np.where(before, middle + 1, low), np.where(before | (low >= high), high, middle)
    return np.asarray((low < last) & (rows[1][np.minimum(low, len(rows[1]) - 1)] == first))
