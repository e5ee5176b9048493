"""Graphs and queries of the search experiments (GENEVA, section 7.1), drawn by seeds.

Graphs without labels get random labels of vertices and as many of edges: 3, 5, 7 or 12, as in the paper's
table 1, more for larger graphs and for dense ones, whose queries have too many embeddings otherwise; one
graph gets each number. The paper's larger graphs are not at hand: R-MAT graphs stand for them. Others have
labels of their own.

A query is the first of its draws with at most a billion embeddings, as ``micro/pvm_queries.py`` found it, or
that of the fewest:
``benchmarks/queries/pvm_counts.json`` has the numbers of the draws, and the counts. Of queries that are not
there, the first draw is taken.
"""

from __future__ import annotations

import json
import os
import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import motiflux as mf
from motiflux.bench.suite import GraphSource, load_part
from motiflux.generate import rmat

formats = load_part(Path(__file__).resolve().parent / "formats.py")

SHARED = {
    "ca_condmat": (3,),
    "email_enron": (3, 5, 7, 12),
    "wiki_vote": (7,),
    "soc_slashdot0902": (7,),
    "facebook_mit8": (12,),
    "web_uk2007_100k": (12,),
}
"""Graphs of the shared folder, read as undirected ones, and how many labels they get."""
OWN_LABELS = ("wn18rr", "yago_temporal", "wordnet30_relations")
"""Graphs of the shared folder with directions and labels of their own."""
RMAT = {16: 7, 18: 12, 20: 12}
"""Scales of R-MAT graphs, and how many labels they get."""
RMAT_EDGES = 4
"""Edges drawn for each vertex of an R-MAT graph; Patents has 4.3."""
SIZES = tuple(range(4, 13))
"""Vertices of the nine queries of a graph."""
QUERIES = int(os.environ.get("MOTIFLUX_QUERIES", str(len(SIZES))))
"""How many of them are asked: the smallest, the largest, and others at equal distances."""
COUNTS = Path(__file__).resolve().parents[2] / "queries/pvm_counts.json"
MOST = 10**9
"""Embeddings of a query, at most."""
_STEPS = 20
"""Steps of a walk for each vertex that it has to meet, at most."""
Edge = tuple[int, int, int]
"""An edge that a walk took: its ends, in its direction, and the code of its label."""


@dataclass(frozen=True)
class Rmat:
    """An undirected R-MAT graph without labels."""

    scale: int

    def read(self) -> mf.Graph:
        """Draw it."""
        return rmat(self.scale, RMAT_EDGES << self.scale, directed=False, duplicates="drop", seed=1)


def graphs(shared: Path) -> list[formats.Labelled]:
    """Return the graphs; those of one source stand together."""
    found = [
        formats.Labelled(name, GraphSource(shared / f"data/{name}.npz", directed=False), labels)
        for name, numbers in SHARED.items()
        for labels in numbers
    ]
    found += [formats.Labelled(name, GraphSource(shared / f"data/{name}.npz")) for name in OWN_LABELS]
    found += [formats.Labelled(f"R-MAT {scale}", Rmat(scale), labels) for scale, labels in RMAT.items()]
    return found


@lru_cache(maxsize=1)
def read(graph: formats.Labelled) -> mf.Graph:
    """Return a graph; the last one is kept, with what a device has of it."""
    found: mf.Graph = graph.read()
    return found


def sizes() -> list[int]:
    """Return the numbers of vertices of the queries that are asked."""
    last, number = len(SIZES) - 1, min(QUERIES, len(SIZES))
    return [SIZES[round(at * last / max(number - 1, 1))] for at in range(number)]


def drawn(graph: mf.Graph, case: str, vertices: int, draw: int) -> mf.Pattern:
    """Return the edges that a random walk takes until it has met so many vertices, with all labels.

    The walk follows edges in either direction. It begins anew where it meets too few vertices.

    Parameters
    ----------
    case
        The name of the graph, which is the seed with the numbers of vertices and of the draw.
    """
    randomness = random.Random(f"{case} {vertices} {draw}")
    rows = [graph.forward, *([graph.reverse] if graph.directed else [])]
    while True:
        start = randomness.randrange(graph.num_vertices)
        numbers, taken = {start: 0}, dict[Edge, None]()
        for edge, vertex in _walk(graph, rows, start, randomness, _STEPS * vertices):
            numbers.setdefault(vertex, len(numbers))
            taken[edge] = None
            if len(numbers) == vertices:
                return _pattern(graph, numbers, list(taken))


def _walk(
    graph: mf.Graph, rows: list[mf.graph.Csr], vertex: int, randomness: random.Random, steps: int
) -> Iterator[tuple[Edge, int]]:
    """Yield the edges of a walk, and the vertices that they lead to."""
    for _ in range(steps):
        begins = [(int(csr.offsets[vertex]), int(csr.offsets[vertex + 1])) for csr in rows]
        degrees = [end - begin for begin, end in begins]
        if not any(degrees):
            return
        place = randomness.randrange(sum(degrees))
        against = place >= degrees[0]
        csr = rows[against]
        at = begins[against][0] + place - against * degrees[0]
        other = int(csr.neighbors[at])
        label = 0 if csr.labels is None else int(csr.labels[at])
        ends = (other, vertex) if against else (vertex, other)
        yield (*(ends if graph.directed else sorted(ends)), label), other  # type: ignore[misc]
        vertex = other


def _pattern(graph: mf.Graph, numbers: dict[int, int], edges: list[Edge]) -> mf.Pattern:
    """Return the pattern of some edges, whose vertices have numbers."""
    codes = graph.vertex_labels
    of_vertices = graph.vertex_label_table.values
    return mf.Pattern.from_edges(
        [(numbers[u], numbers[v]) for u, v, _ in edges],
        num_vertices=len(numbers),
        vertex_labels=None if codes is None else [of_vertices[int(codes[vertex])] for vertex in numbers],
        edge_labels=None
        if graph.forward.labels is None
        else [graph.edge_label_table.values[label] for *_, label in edges],
        directed=graph.directed,
    )


@dataclass(frozen=True)
class Query:
    """A query of a graph. Its name is that of the paper: ``Q4`` has 4 vertices.

    Parameters
    ----------
    count
        Its embeddings; None if they are not known.
    """

    name: str
    pattern: mf.Pattern
    count: int | None


def queries(graph: formats.Labelled) -> list[Query]:
    """Return the queries of a graph."""
    return [_query(graph, size) for size in sizes()]


def _query(graph: formats.Labelled, vertices: int) -> Query:
    name = f"Q{vertices}"
    known = counts().get(f"{graph.case} {name}")
    pattern = drawn(read(graph), graph.case, vertices, known["draw"] if known else 0)
    # A graph that was drawn otherwise gives other queries: nothing is known of these.
    same = known is not None and known["crc"] == checksum(pattern)
    return Query(name, pattern, known["count"] if known and same else None)


@cache
def counts() -> dict[str, dict[str, int]]:
    """Return what is known of queries, by graph and query: draw, checksum of the text, embeddings."""
    found: dict[str, dict[str, int]] = json.loads(COUNTS.read_text())
    return found


def checksum(pattern: mf.Pattern) -> int:
    """Return a checksum of the text of a query."""
    return zlib.crc32(str(pattern).encode())
