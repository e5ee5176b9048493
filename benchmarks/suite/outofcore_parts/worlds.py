"""Graphs of the suite `outofcore` and their updates.

They are drawn at each run, or once into the folder that ``MOTIFLUX_DRAWN`` names: an R-MAT graph of 200
million edges takes longer to draw than most experiments.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import motiflux as mf
from motiflux.generate import Rmat, rmat

KEPT = "MOTIFLUX_DRAWN"
"""The environment variable with the folder of graphs that were drawn before."""
MISSING = 0.1
"""Part of the edges of a lattice that are missing."""
Ends = NDArray[np.int64]
World = tuple[mf.Graph, mf.Updates]
"""A graph before updates, and these."""


@lru_cache(maxsize=1)
def skewed(scale: int, edges: int, max_degree: int, labels: int, updates: int) -> World:
    """Return an R-MAT graph with so many edges drawn for each vertex.

    Parameters
    ----------
    labels
        Number of labels of vertices; 0 for none.
    """

    def draw() -> World:
        graph = rmat(scale, edges << scale, directed=False, duplicates="drop", max_degree=max_degree, seed=1)
        ends, vertices = graph.to_edges(), graph.num_vertices
        del graph
        given = np.random.default_rng(3).integers(0, labels, vertices) if labels else None
        return stream(np.asarray(ends.src), np.asarray(ends.dst), vertices, given, updates)

    return _kept(f"rmat-{scale}-{edges}-{max_degree}-{labels}-{updates}", draw)


@lru_cache(maxsize=1)
def lattice(scale: int, updates: int) -> World:
    """Return a lattice of about ``2**scale`` vertices, of which a tenth of the edges is missing."""

    def draw() -> World:
        side = 1 << (scale // 2)
        number = np.arange(side * side).reshape(side, side)
        src = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
        dst = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
        there = np.random.default_rng(4).random(len(src)) > MISSING
        return stream(src[there], dst[there], side * side, None, updates)

    return _kept(f"lattice-{scale}-{updates}", draw)


def stream(src: Ends, dst: Ends, vertices: int, labels: Ends | None, updates: int) -> World:
    """Choose edges; leave those out that are inserted later, and delete the others later."""
    random = np.random.default_rng(5)
    chosen = random.choice(len(src), min(updates, len(src) // 4), replace=False)
    inserts = random.random(len(chosen)) < 0.5
    stays = np.ones(len(src), bool)
    stays[chosen[inserts]] = False
    graph = mf.Graph.from_edges((src[stays], dst[stays]), num_vertices=vertices, vertex_labels=labels)
    return graph, mf.Updates(inserts, src[chosen], dst[chosen])


def _kept(name: str, draw: Callable[[], World]) -> World:
    """Return what was drawn before, or is drawn now and kept if there is a folder."""
    folder = os.environ.get(KEPT)
    if not folder:
        return draw()
    graph_file, updates_file = Path(folder, f"{name}.mfg"), Path(folder, f"{name}.npz")
    if not updates_file.exists():
        graph, updates = draw()
        Path(folder).mkdir(parents=True, exist_ok=True)
        mf.write_graph(graph, graph_file)
        part = updates_file.with_suffix(".part.npz")
        np.savez(part, inserts=updates.inserts, sources=updates.sources, targets=updates.targets)
        part.replace(updates_file)  # last: it says that both are there
    with np.load(updates_file) as found:
        updates = mf.Updates(found["inserts"], found["sources"], found["targets"])
    return mf.read_graph(graph_file), updates


def rmat_file(scale: int, path: Path, *, edges: int = 16, max_degree: int | None = None) -> Path:
    """Return the file of an R-MAT graph with so many edges drawn for each vertex; `path` if none is kept."""
    folder = os.environ.get(KEPT)
    kept = path if not folder else Path(folder, f"rmat-{scale}-{edges}-{max_degree or 'unbounded'}.mfg")
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_name(f"part-{kept.name}")
        Rmat(
            scale=scale,
            edges=edges << scale,
            directed=False,
            duplicates="drop",
            max_degree=max_degree,
            seed=1,
        ).write(part)
        part.replace(kept)
    return kept


def changes(graph: mf.Graph, updates: int) -> mf.Updates:
    """Return updates of a graph as it is: edges of it are deleted, and ends of other edges are joined.

    What is inserted may be there already. `stream` takes as long as drawing the graph.
    """
    random, updates = np.random.default_rng(6), min(updates, graph.forward.num_arcs // 4)
    arcs = np.sort(random.choice(graph.forward.num_arcs, 2 * updates, replace=False))
    heads = np.asarray(graph.forward.neighbors[arcs], np.int64)
    tails = np.searchsorted(np.asarray(graph.forward.offsets), arcs, "right") - 1
    order = random.permutation(2 * updates)
    tails, heads = tails[order], heads[order]
    inserts = np.arange(updates) % 2 == 0
    heads[:updates][inserts] = heads[updates:][inserts]
    keep = tails[:updates] != heads[:updates]
    ends = tails[:updates][keep], heads[:updates][keep]
    names = graph.vertex_ids  # of vertices in the order of their degrees
    return mf.Updates(inserts[keep], *(end if names is None else np.asarray(names)[end] for end in ends))


def motifs(fewest: int, most: int) -> tuple[str, ...]:
    """Return all connected patterns of so many vertices, one of each class of isomorphic ones.

    Examples
    --------
    >>> len(motifs(3, 3)), len(motifs(3, 5))
    (2, 29)
    """
    return tuple(text for vertices in range(fewest, most + 1) for text in _motifs(vertices))


def _motifs(vertices: int) -> list[str]:
    pairs = list(combinations(range(vertices), 2))
    place = {pair: number for number, pair in enumerate(pairs)}
    renamings = [
        [place[min(new[u], new[v]), max(new[u], new[v])] for u, v in pairs]
        for new in permutations(range(vertices))
    ]
    seen: set[int] = set()
    found = []
    for edges in range(1 << len(pairs)):
        own = [number for number in range(len(pairs)) if edges >> number & 1]
        if edges in seen or not _connects([pairs[number] for number in own], vertices):
            continue
        seen |= {sum(1 << renaming[number] for number in own) for renaming in renamings}
        found.append(
            ", ".join("({})--({})".format(*("abcde"[end] for end in pairs[number])) for number in own)
        )
    return found


def _connects(edges: list[tuple[int, int]], vertices: int) -> bool:
    """Return whether edges connect all vertices."""
    seen = {0}
    for _ in range(vertices):
        seen |= {end for edge in edges if seen & {*edge} for end in edge}
    return len(seen) == vertices
