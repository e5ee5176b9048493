"""Graphs that change, as the suite `streaming` draws them: flows among hosts, and a labelled power law."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

import motiflux as mf
from motiflux.generate import rmat

Ends = NDArray[np.int64]
FLOW_LABELS, VERTEX_LABELS = 8, 16
_HUBS = 8


@dataclass(frozen=True)
class World:
    """A graph before the updates, and the updates: half of them insertions, of edges that are not there.

    Parameters
    ----------
    largest_degree
        Of the graph with all edges that are inserted.
    """

    graph: mf.Graph
    updates: mf.Updates
    largest_degree: int


@lru_cache(maxsize=1)
def flows(scale: int, updates: int, most: int) -> World:
    """Return flows among 2^scale hosts, directed, with skewed labels of edges.

    A host has at most `most` flows; the most active ones have as many.
    """
    random = np.random.default_rng(11)
    hosts, edges = 1 << scale, 10 << scale
    weights = 1 / np.arange(1, hosts + 1) ** 0.75
    chosen = [random.choice(hosts, edges, p=weights / weights.sum()) for _ in range(2)]
    turned = random.permutation(hosts)
    src, dst = chosen[0], turned[chosen[1]]
    pairs = np.unique(src[src != dst] * np.int64(hosts) + dst[src != dst])
    pairs = random.permutation(pairs)
    src, dst = pairs // hosts, pairs % hosts
    ends = np.concatenate([src, dst])
    stays = (_ranks(ends) < most).reshape(2, -1).all(axis=0)
    src, dst = src[stays], dst[stays]
    labels = np.minimum(random.geometric(0.4, len(src)) - 1, FLOW_LABELS - 1)
    return _world(src, dst, labels, None, hosts, updates, directed=True)


@lru_cache(maxsize=1)
def power_law(scale: int, updates: int) -> World:
    """Return an R-MAT graph with eight edges a vertex, whose vertices have labels drawn alike."""
    graph = rmat(scale, 8 << scale, directed=False, duplicates="drop", seed=1)
    edges = graph.to_edges()
    labels = np.random.default_rng(3).integers(0, VERTEX_LABELS, graph.num_vertices)
    src, dst = np.asarray(edges.src), np.asarray(edges.dst)
    order = np.random.default_rng(4).permutation(len(src))
    return _world(src[order], dst[order], None, labels, graph.num_vertices, updates, directed=False)


@lru_cache(maxsize=1)
def hubs(scale: int, updates: int, row: int) -> World:
    """Return a sparse graph with eight hubs of about `row` neighbours, which all updates change.

    An updater copies the whole row of a hub for each insertion.
    """
    random = np.random.default_rng(13)
    vertices = max(1 << scale, 2 * row)
    sparse = random.integers(_HUBS, vertices, (4 * vertices, 2))
    src = np.concatenate([np.repeat(np.arange(_HUBS), row), sparse[:, 0]])
    dst = np.concatenate(
        [_HUBS + random.choice(vertices - _HUBS, row, replace=False) for _ in range(_HUBS)] + [sparse[:, 1]]
    )
    pairs = np.sort(np.stack([src, dst])[:, src != dst], axis=0)
    keys = np.unique(pairs[0] * np.int64(vertices) + pairs[1])
    keys = random.permutation(keys)
    # Edges of hubs come last: these are inserted; of the others none is deleted.
    keys = keys[np.argsort(keys // vertices < _HUBS, kind="stable")]
    src, dst = keys // vertices, keys % vertices
    others = int(np.count_nonzero(src >= _HUBS))
    return _world(src, dst, None, None, vertices, updates, directed=False, kept=others)


def _ranks(values: Ends) -> Ends:
    """Return how many equal values come before each."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    ranks = np.empty(len(values), np.int64)
    ranks[order] = np.arange(len(values)) - np.repeat(starts, np.diff(np.append(starts, len(values))))
    return ranks


def _world(
    src: Ends,
    dst: Ends,
    edge_labels: Ends | None,
    vertex_labels: Ends | None,
    vertices: int,
    updates: int,
    *,
    directed: bool,
    kept: int = 0,
) -> World:
    """Insert the last edges, and delete as many others, in turns drawn alike; then undo all, and so on.

    `kept`: of the first ones, none of which is changed.
    """
    inserted = min(updates // 2, (len(src) - kept) // 4)
    first = len(src) - inserted
    random = np.random.default_rng(5)
    gone = kept + random.choice(first - kept, inserted, replace=False)
    chosen = np.concatenate([np.arange(first, len(src)), gone])
    inserts = np.repeat([True, False], inserted)
    order = random.permutation(2 * inserted)
    chosen, inserts = chosen[order], inserts[order]
    rounds = -(-updates // (4 * inserted))
    chosen = np.tile(np.concatenate([chosen, chosen[::-1]]), rounds)[:updates]
    inserts = np.tile(np.concatenate([inserts, ~inserts[::-1]]), rounds)[:updates]
    labels = None if edge_labels is None else edge_labels[chosen]
    graph = mf.Graph.from_edges(
        (src[:first], dst[:first]),
        num_vertices=vertices,
        directed=directed,
        edge_labels=None if edge_labels is None else edge_labels[:first],
        vertex_labels=vertex_labels,
    )
    largest = int(np.bincount(np.concatenate([src, dst])).max())
    return World(graph, mf.Updates(inserts, src[chosen], dst[chosen], labels), largest)
