"""Streams of our own making: a graph of ``shared/data``, a query that lies in it, edges that come and go.

All is drawn from the seed of the stream, so that it is the same everywhere. Graphs are read as undirected
and simple (of parallel edges the first counts). Some of the edges are left out at the start and inserted in
random order; where there are deletions, each takes any edge that is there, which may be inserted again later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
TRIES = 100_000
"""Most walks to find a query of a shape."""


@dataclass(frozen=True)
class Stream:
    """What a stream is drawn from.

    Parameters
    ----------
    name
        Unique among streams.
    graph
        A file of ``shared/data``, without its ending.
    shape, size
        ``tree``, ``sparse`` (one edge more than vertices), ``cycle`` or ``dense`` (at least 1.5 edges per
        vertex), and the vertices of the query.
    updates
        Insertions and deletions.
    deletions
        The share of updates that are deletions.
    vertex_labels, edge_labels
        How many to draw; None for the graph's own.
    seed
        Of everything drawn.
    """

    name: str
    graph: str
    shape: str
    size: int
    updates: int
    deletions: float = 0.0
    vertex_labels: int | None = None
    edge_labels: int | None = 1
    seed: int = 1

    @property
    def kind(self) -> str:
        """The query and what happens, in words."""
        return f"{self.shape} {self.size}, {'mixed' if self.deletions else 'insertions'}"


@dataclass(frozen=True)
class Inputs:
    """A graph at the start, a query and updates, as columns."""

    vertex_labels: Numbers
    edges: Numbers
    """m rows of source, target and label."""
    query_labels: tuple[int, ...]
    query_edges: tuple[tuple[int, int, int], ...]
    inserts: NDArray[np.bool_]
    updates: Numbers
    """Rows of source, target and label."""


@lru_cache(maxsize=2)
def draw(stream: Stream, data: Path) -> Inputs:
    """Draw a stream on a graph of the folder `data`."""
    random = np.random.default_rng([stream.seed, stream.size, stream.updates])
    labels, edges = read(data / f"{stream.graph}.npz", stream, random)
    query_labels, query_edges = draw_query(stream, labels, edges, random)
    order = random.permutation(len(edges))
    absent = round(stream.updates * (1 - stream.deletions))
    if stream.deletions:
        absent = min(absent, len(edges) // 4)
    inserts, changed = draw_updates(stream, len(edges), order, absent, random)
    return Inputs(labels, edges[np.sort(order[absent:])], query_labels, query_edges, inserts, edges[changed])


def read(path: Path, stream: Stream, random: np.random.Generator) -> tuple[Numbers, Numbers]:
    """Return the labels of vertices, and edges as rows of source, target (the greater) and label."""
    with np.load(path) as file:
        pairs = np.sort(file["edges"].astype(np.int64), axis=1)
        vertices = int(file["num_vertices"])
        own_vertices = file["vertex_labels"].astype(np.int64) if "vertex_labels" in file else None
        own_edges = file["edge_labels"].astype(np.int64) if "edge_labels" in file else None
    pairs, first = np.unique(pairs, axis=0, return_index=True)
    own_edges = None if own_edges is None else own_edges[first]
    labels = drawn_or_own(stream.vertex_labels, own_vertices, vertices, random)
    edge_labels = drawn_or_own(stream.edge_labels, own_edges, len(pairs), random)
    return labels, np.column_stack([pairs, edge_labels])


def drawn_or_own(labels: int | None, own: Numbers | None, size: int, random: np.random.Generator) -> Numbers:
    """Return drawn labels, or the file's own as numbers from 0."""
    if labels is not None:
        return random.integers(0, labels, size)
    assert own is not None, "the graph has no labels of its own"
    return np.unique(own, return_inverse=True)[1].astype(np.int64)


def draw_updates(
    stream: Stream, edges: int, order: Numbers, absent: int, random: np.random.Generator
) -> tuple[NDArray[np.bool_], Numbers]:
    """Return whether each update inserts, and the row of its edge."""
    waiting, present = order[:absent].tolist(), order[absent:].tolist()
    inserts = random.random(stream.updates) >= stream.deletions
    places = random.random(stream.updates)
    changed = []
    for at, place in enumerate(places.tolist()):
        inserts[at] = waiting and (inserts[at] or not present)
        pool, other = (waiting, present) if inserts[at] else (present, waiting)
        chosen = int(place * len(pool))
        pool[chosen], pool[-1] = pool[-1], pool[chosen]
        other.append(pool.pop())
        changed.append(other[-1])
    return inserts, np.array(changed, dtype=np.int64)


@dataclass(frozen=True)
class Walks:
    """The graph as rows of neighbours, to draw queries from."""

    starts: Numbers
    neighbors: Numbers
    labels: Numbers
    edges: Numbers
    random: np.random.Generator

    def row(self, vertex: int) -> Numbers:
        return self.neighbors[self.starts[vertex] : self.starts[vertex + 1]]

    def edge(self, source: int, target: int) -> int | None:
        """Return the label of the edge, or None."""
        at = self.starts[source] + np.searchsorted(self.row(source), target)
        there = at < self.starts[source + 1] and self.neighbors[at] == target
        return int(self.labels[at]) if there else None

    def start(self) -> int:
        """Draw a vertex by its degree."""
        return int(self.edges[self.random.integers(len(self.edges)), self.random.integers(2)])

    def chosen(self, row: Numbers) -> int:
        return int(row[self.random.integers(len(row))])

    def induced(self, vertices: list[int]) -> dict[tuple[int, int], int]:
        """Return the edges between vertices, by their places."""
        pairs = ((u, v) for v in range(len(vertices)) for u in range(v))
        found = {pair: self.edge(vertices[pair[0]], vertices[pair[1]]) for pair in pairs}
        return {pair: label for pair, label in found.items() if label is not None}


Query = tuple[list[int], dict[tuple[int, int], int]]
"""Data vertices, and labels of edges by the places of their ends."""


def draw_query(
    stream: Stream, labels: Numbers, edges: Numbers, random: np.random.Generator
) -> tuple[tuple[int, ...], tuple[tuple[int, int, int], ...]]:
    """Draw a query that occurs in the graph: its labels of vertices, and its edges."""
    ends = np.concatenate([edges[:, [0, 1, 2]], edges[:, [1, 0, 2]]])
    ends = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
    starts = np.concatenate([[0], np.cumsum(np.bincount(ends[:, 0], minlength=len(labels)))])
    walks = Walks(starts, ends[:, 1], ends[:, 2], edges, random)
    for _ in range(TRIES):
        query = SHAPES[stream.shape](walks, stream.size)
        if query is not None:
            vertices, found = query
            return tuple(int(labels[vertex]) for vertex in vertices), tuple(
                (*pair, found[pair]) for pair in sorted(found)
            )
    raise ValueError(f"no {stream.shape} of {stream.size} vertices found in {stream.graph}")


def grown(walks: Walks, size: int) -> tuple[list[int], list[tuple[int, int]]] | None:
    """Grow a connected set of vertices: also return the edge by which each vertex came."""
    vertices, came = [walks.start()], []
    for _ in range(8 * size):
        if len(vertices) == size:
            return vertices, came
        parent = int(walks.random.integers(len(vertices)))
        vertex = walks.chosen(walks.row(vertices[parent]))
        if vertex not in vertices:
            came.append((parent, len(vertices)))
            vertices.append(vertex)
    return None


def tree(walks: Walks, size: int) -> Query | None:
    found = grown(walks, size)
    if found is None:
        return None
    edges = walks.induced(found[0])
    return found[0], {pair: edges[pair] for pair in found[1]}


def sparse(walks: Walks, size: int) -> Query | None:
    """Find a tree and two more of the edges between its vertices."""
    found = grown(walks, size)
    if found is None:
        return None
    vertices, kept = found
    edges = walks.induced(vertices)
    more = sorted(set(edges) - set(kept))
    if len(more) < 2:
        return None
    kept += [more[at] for at in walks.random.permutation(len(more))[:2]]
    return vertices, {pair: edges[pair] for pair in kept}


def dense(walks: Walks, size: int) -> Query | None:
    found = grown(walks, size)
    edges = walks.induced(found[0]) if found else {}
    return (found[0], edges) if found and 2 * len(edges) >= 3 * size else None


def cycle(walks: Walks, size: int) -> Query | None:
    vertices = [walks.start()]
    while len(vertices) < size:
        vertex = walks.chosen(walks.row(vertices[-1]))
        if vertex in vertices:
            return None
        vertices.append(vertex)
    edges = walks.induced(vertices)
    ring = [(at, at + 1) for at in range(size - 1)] + [(0, size - 1)]
    return (vertices, {pair: edges[pair] for pair in ring}) if (0, size - 1) in edges else None


SHAPES: dict[str, Callable[[Walks, int], Query | None]] = {
    "tree": tree,
    "sparse": sparse,
    "dense": dense,
    "cycle": cycle,
}


STREAMS = (
    Stream("yeast tree 8", "yeast", "tree", 8, 5_000, 0.4, vertex_labels=None),
    Stream("yeast dense 6", "yeast", "dense", 6, 5_000, vertex_labels=None),
    Stream("hprd tree 6", "hprd", "tree", 6, 15_000, 0.33, vertex_labels=None, seed=3),
    Stream("hprd sparse 7", "hprd", "sparse", 7, 10_000, vertex_labels=None, seed=3),
    Stream("human sparse 6", "human", "sparse", 6, 10_000, vertex_labels=None, seed=2),
    Stream("human cycle 5", "human", "cycle", 5, 15_000, 0.33, vertex_labels=None),
    Stream("enron tree 7", "enron_label20", "tree", 7, 15_000, vertex_labels=None),
    Stream("enron dense 6", "enron_label20", "dense", 6, 30_000, 0.33, vertex_labels=None),
    Stream("enron cycle 6", "enron_label20", "cycle", 6, 15_000, vertex_labels=None),
    Stream("enron cycle 4, no labels", "email_enron", "cycle", 4, 5_000, vertex_labels=1),
    Stream("condmat tree 5", "ca_condmat", "tree", 5, 20_000, 0.33, vertex_labels=8),
    Stream("condmat sparse 8", "ca_condmat", "sparse", 8, 10_000, vertex_labels=8),
    Stream("facebook dense 8", "ego_facebook", "dense", 8, 8_000, vertex_labels=24),
    Stream("mit cycle 4", "facebook_mit8", "cycle", 4, 10_000, 0.33, vertex_labels=12),
    Stream("mit sparse 6", "facebook_mit8", "sparse", 6, 20_000, vertex_labels=64),
    Stream("wordnet tree 7", "wordnet30_relations", "tree", 7, 40_000, vertex_labels=None, edge_labels=None),
    Stream(
        "wordnet cycle 6",
        "wordnet30_relations",
        "cycle",
        6,
        40_000,
        0.33,
        vertex_labels=None,
        edge_labels=None,
    ),
    Stream("relations tree 5", "wn18rr", "tree", 5, 10_000, vertex_labels=1, edge_labels=None),
    Stream("slashdot sparse 5", "soc_slashdot0902", "sparse", 5, 30_000, vertex_labels=6, edge_labels=4),
    Stream("slashdot dense 5", "soc_slashdot0902", "dense", 5, 50_000, 0.33, vertex_labels=4),
    Stream("votes cycle 4", "wiki_vote", "cycle", 4, 5_000, 0.33, vertex_labels=2),
    Stream(
        "molecules tree 8",
        "molecules_moses_20k",
        "tree",
        8,
        40_000,
        0.33,
        vertex_labels=None,
        edge_labels=None,
    ),
    Stream(
        "molecules cycle 6", "molecules_moses_20k", "cycle", 6, 50_000, vertex_labels=None, edge_labels=None
    ),
)
"""Each has the least seed for which it gains and loses 100 to 30 million matches, whatever time they take."""
