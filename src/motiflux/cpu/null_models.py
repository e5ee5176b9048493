"""Random graphs that keep something of a given one, by swaps of edges (``csrc/census/rewire.hpp``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.graph import AdjacencyKey, Direction, Graph
from motiflux.request.deadline import Deadline

Wiring: TypeAlias = tuple[
    int, bool, bool, NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint64], NDArray[np.uint32] | None
]
"""Vertices, directed, whether mutual arcs are kept, sources, targets, ends of layers, labels of vertices."""

SWAPS_OF_EACH = 10
"""In how many swaps an edge must have been on average."""
_FIRST_ROUNDS, _LAST_ROUNDS = 8, 512


@dataclass(frozen=True, slots=True)
class Mixing:
    """How many swaps make a random graph independent of the given one.

    Parameters
    ----------
    proposals
        Swaps that are proposed for each edge.
    swaps
        Swaps that were done for each edge, in the chain that was looked at.
    kept
        The share of the given graph's edges that this chain had at its end: those of any random graph.
    mixed
        Whether the rule was met: False if too few swaps are possible, or the number was given.
    """

    proposals: float
    swaps: float
    kept: float
    mixed: bool


def simple_wiring(
    graph: Graph, *, directed: bool, reciprocal: bool, keep_labels: bool, threads: int
) -> Wiring:
    """Return the arcs of a graph without edge labels: each pair once."""
    direction = Direction.OUT if directed else Direction.EITHER
    rows = graph.adjacency(AdjacencyKey(direction, None, None, None), threads)
    sources, targets = _arcs(*rows, directed=directed)
    ends = np.array([len(sources)], np.uint64)
    return graph.num_vertices, directed, reciprocal, sources, targets, ends, _labels(graph, keep_labels)


def labelled_wiring(
    graph: Graph, *, reciprocal: bool, keep_labels: bool
) -> tuple[Wiring, NDArray[np.uint32] | None]:
    """Return the arcs of a graph, a layer for each edge label, and the codes of the labels of all."""
    rows = graph.forward
    sources = np.repeat(
        np.arange(graph.num_vertices, dtype=np.uint32), np.diff(rows.offsets).astype(np.int64)
    )
    targets, labels = rows.neighbors, rows.labels
    if not graph.directed:
        once = sources < targets
        sources, targets = sources[once], targets[once]
        labels = None if labels is None else labels[once]
    if labels is None:
        ends = np.array([len(sources)], np.uint64)
    else:
        order = np.argsort(labels, kind="stable")
        sources, targets, labels = sources[order], targets[order], labels[order]
        ends = np.cumsum(np.bincount(labels)).astype(np.uint64)
    wiring = (
        graph.num_vertices,
        graph.directed,
        reciprocal,
        np.ascontiguousarray(sources),
        np.ascontiguousarray(targets),
        ends,
        _labels(graph, keep_labels),
    )
    return wiring, labels


def mixing(wiring: Wiring, seed: int, deadline: Deadline) -> Mixing | None:
    """Find how many swaps are enough; None if late.

    A chain of swaps is followed for 8, 16, 32, ... rounds of one proposal for each edge, until the average
    edge was in ten swaps, and the share of the given graph's edges that are left has stopped falling: its
    mean over the second half of the rounds is not below that over the quarter before by more than twice the
    standard deviation of such a number. It was reached in a quarter of these rounds; all are proposed.
    """
    edges = len(wiring[3])
    rounds = _FIRST_ROUNDS
    while True:
        found = _native.overlaps(wiring, rounds, seed, deadline.left())
        if found is None:
            return None
        kept, swaps = (np.array(numbers, np.float64) for numbers in found)
        if edges == 0:
            return Mixing(0.0, 0.0, 1.0, mixed=True)
        early, late = kept[rounds // 4 : rounds // 2].mean(), kept[rounds // 2 :].mean()
        settled = late >= early - 2 * sqrt(early)
        enough = 2 * swaps[-1] >= SWAPS_OF_EACH * edges
        if (settled and enough) or rounds >= _LAST_ROUNDS:
            return Mixing(float(rounds), swaps[-1] / edges, late / edges, mixed=bool(settled and enough))
        rounds *= 2


def null_bins(
    wiring: Wiring,
    proposals: float,
    seed: int,
    graphs: int,
    size: int,
    threads: int,
    deadline: Deadline,
    progress: Callable[[int, int], None] | None,
) -> tuple[list[list[int]], float]:
    """Return the bins of random graphs, as many as time allows, and the swaps done for each edge."""
    bins, swaps, done = _native.null_bins(
        wiring, proposals, seed, graphs, size, threads, deadline.left(), progress
    )
    return bins, swaps / max(1, done * len(wiring[3]))


def shuffled_labels(graph: Graph, seed: int, number: int) -> NDArray[np.uint32] | None:
    """Return the codes of the vertex labels in a random order; None if all vertices have one label."""
    if graph.vertex_labels is None:
        return None
    order = np.arange(graph.num_vertices, dtype=np.uint32)
    words = _native.philox((number & 0xFFFFFFFF, number >> 32, 42, 0), (seed & 0xFFFFFFFF, seed >> 32))
    permutation = _native.make_permutation(words[0] | words[1] << 32, 0, max(1, graph.num_vertices))
    _native.permute(permutation, order, 1)
    shuffled: NDArray[np.uint32] = graph.vertex_labels[order]
    return shuffled


def _labels(graph: Graph, keep: bool) -> NDArray[np.uint32] | None:
    if not keep or graph.vertex_labels is None:
        return None
    return np.ascontiguousarray(graph.vertex_labels, np.uint32)


def _arcs(
    offsets: NDArray[np.uint64], neighbors: NDArray[np.uint32], *, directed: bool
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    sources = np.repeat(np.arange(len(offsets) - 1, dtype=np.uint32), np.diff(offsets).astype(np.int64))
    if directed:
        return sources, np.ascontiguousarray(neighbors)
    once = sources < neighbors
    return sources[once], neighbors[once]
