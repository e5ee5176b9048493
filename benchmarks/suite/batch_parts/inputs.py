"""Graphs, query sets and batches of GAMMA's experiments (sections VI-A and VI-C), drawn by seeds."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import motiflux as mf
from motiflux.bench.suite import load_part
from motiflux.generate import rmat

drawn = load_part(Path(__file__).resolve().parents[1] / "estimate_parts/random_queries.py")

SCALE = int(os.environ.get("MOTIFLUX_RMAT", "20"))
KINDS: dict[str, Callable[[mf.Graph, int, random.Random], mf.Pattern]] = {
    "dense": drawn.dense_query,
    "sparse": drawn.sparse_query,
    "tree": drawn.tree_query,
}
LABELS = {"enron_label20": None, "soc_slashdot0902": 25, "web_uk2007_100k": 30}
"""Graphs of the shared folder, and how many labels their vertices get; None: they have labels."""
RMAT = "rmat"
_RMAT_LABELS = 16
_DENSE = 3.0
_TRIES = 50
Edges = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class Source:
    """A graph by name: of the shared folder, or the R-MAT graph, which is drawn.

    Parameters
    ----------
    folder
        The shared folder.
    """

    name: str
    folder: Path

    def read(self) -> mf.Graph:
        """Return it, undirected and with labels; the last one is kept."""
        return _read(self.name, self.folder, SCALE)


@lru_cache(maxsize=1)
def _read(name: str, folder: Path, scale: int) -> mf.Graph:
    if name != RMAT:
        found: mf.Graph = drawn.read_labelled(folder / f"data/{name}.npz", LABELS[name], 1)
        return found
    graph = rmat(scale, 16 << scale, directed=False, duplicates="drop", seed=1)
    edges = graph.to_edges()
    labels = np.random.default_rng(3).integers(0, _RMAT_LABELS, graph.num_vertices)
    return mf.Graph.from_edges((edges.src, edges.dst), num_vertices=graph.num_vertices, vertex_labels=labels)


def queries(graph: mf.Graph, kind: str, vertices: int, number: int) -> list[mf.Pattern]:
    """Return a query set: dense queries have a mean degree of 3 or more, sparse ones less, trees no cycle."""
    randomness = random.Random(f"{kind} {vertices}")
    found: list[mf.Pattern] = []
    for _ in range(_TRIES * number):
        pattern = KINDS[kind](graph, vertices, randomness)
        mean = 2 * len(pattern.edges) / vertices
        is_kind = kind == "tree" or (mean >= _DENSE) == (kind == "dense")
        if is_kind and pattern not in found:
            found.append(pattern)
        if len(found) == number:
            break
    return found


def prefixes(pattern: mf.Pattern) -> list[mf.Pattern]:
    """Return the parts that the first vertices of a matching order make: two of them, and so on, but not all.

    The order is breadth-first from the first edge, so each part is connected.
    """
    joined: dict[int, set[int]] = {}
    for edge in pattern.edges:
        joined.setdefault(edge.source, set()).add(edge.target)
        joined.setdefault(edge.target, set()).add(edge.source)
    order = [pattern.edges[0].source]
    for vertex in order:
        order += sorted(joined[vertex] - set(order))
    found = []
    for size in range(2, len(order)):
        number = {vertex: place for place, vertex in enumerate(order[:size])}
        edges = [
            (number[edge.source], number[edge.target])
            for edge in pattern.edges
            if edge.source in number and edge.target in number
        ]
        labels = [next(iter(pattern.vertices[vertex].labels or (None,))) for vertex in order[:size]]
        found.append(mf.Pattern.from_edges(edges, num_vertices=size, vertex_labels=labels))
    return found


def split(graph: mf.Graph, rate: float, core: int = 0) -> tuple[mf.Graph, Edges]:
    """Return the graph without a share of its edges, and these; ids are the numbers of the graph.

    Parameters
    ----------
    core
        Only edges of the core of this number are taken, as many as `rate` says if it has so many.
    """
    src, dst = _edges(graph)
    among = np.flatnonzero(_in_core(src, dst, graph.num_vertices, core))
    many = min(len(among), round(rate * len(src)))
    late = np.zeros(len(src), bool)
    late[np.random.default_rng(5).choice(among, many, replace=False)] = True
    labels = np.asarray(graph.vertex_label_table.values)[graph.vertex_labels]  # by number, as the edges
    first = mf.Graph.from_edges(
        (src[~late], dst[~late]), num_vertices=graph.num_vertices, vertex_labels=labels
    )
    return first, (src[late], dst[late])


def without_labels(graph: mf.Graph) -> mf.Graph:
    """Return a graph whose ids are its numbers, without its labels."""
    return mf.Graph.from_edges(_edges(graph), num_vertices=graph.num_vertices)


def mixed(graph: mf.Graph, rate: float) -> tuple[mf.Graph, Edges, Edges]:
    """Return a graph, edges to insert, and edges to delete: two to one, a share of all edges together."""
    first, inserted = split(graph, 2 * rate / 3)
    edges = first.to_edges()
    src, dst = np.asarray(edges.src, np.int64), np.asarray(edges.dst, np.int64)
    many = round(rate * (len(src) + len(inserted[0])) / 3)
    chosen = np.random.default_rng(6).choice(len(src), many, replace=False)
    return first, inserted, (src[chosen], dst[chosen])


def _edges(graph: mf.Graph) -> Edges:
    """Return the edges by the numbers of their vertices."""
    rows = graph.forward
    src = np.repeat(np.arange(graph.num_vertices), np.diff(rows.offsets).astype(np.int64))
    dst = rows.neighbors.astype(np.int64)
    return src[src < dst], dst[src < dst]


def _in_core(src: NDArray[np.int64], dst: NDArray[np.int64], vertices: int, core: int) -> NDArray[np.bool_]:
    """Return which edges are in the core: the largest part whose vertices have so many neighbours in it."""
    stays = np.ones(len(src), bool)
    while core > 0:
        ends = np.concatenate([src[stays], dst[stays]])
        inside = np.bincount(ends, minlength=vertices) >= core
        kept = stays & inside[src] & inside[dst]
        if kept.sum() == stays.sum():
            break
        stays = kept
    return stays
