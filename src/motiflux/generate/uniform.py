"""Erdos-Renyi graphs: every edge is as likely as every other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.arguments import check_integer, resolve_threads
from motiflux.errors import ArgumentError
from motiflux.generate.base import (
    BLOCK_ROWS,
    EdgeColumns,
    Progress,
    check_flag,
    check_number,
    check_rows,
    reporting,
)
from motiflux.generate.generator import CountedGenerator, Generator
from motiflux.graph import Graph
from motiflux.types import MAX_VERTICES
from motiflux.units import counted

_EDGES_OF_PART = 1 << 14
"""Edges that are drawn one after the other, on average; parts are drawn in parallel."""


def most_edges(vertices: int, *, directed: bool) -> int:
    """Return how many edges there can be."""
    return vertices * (vertices - 1) // (1 if directed else 2)


@dataclass(frozen=True, kw_only=True)
class UniformEdges(CountedGenerator):
    """G(n, m): `edges` distinct edges; every set of this size is equally likely.

    Parameters
    ----------
    vertices
        n.
    edges
        m, at most as many as there can be.
    directed
        Whether edges have a direction. If not, the smaller id comes first.

    Notes
    -----
    The edges are the first m of a pseudo-random order of all that there can be, a Feistel network over their
    numbers: no edge is drawn twice, and no edge is stored.

    Examples
    --------
    >>> import motiflux as mf
    >>> len(mf.generate.UniformEdges(vertices=1000, edges=5000, seed=1).columns())
    5000
    """

    vertices: int
    edges: int
    directed: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("vertices", self.vertices, 0, MAX_VERTICES)
        check_flag("directed", self.directed)
        check_rows("edges", self.edges)
        most = most_edges(self.vertices, directed=self.directed)
        if self.edges > most:
            size = counted(self.vertices, "vertex")
            raise ArgumentError("edges", f"at most {most}, as many as {size} can have", self.edges)

    @property
    def num_vertices(self) -> int:
        """Number of vertices."""
        return self.vertices

    @property
    def is_directed(self) -> bool:
        """Whether edges have a direction."""
        return self.directed

    @property
    def num_rows(self) -> int:
        """Number of edges."""
        return self.edges

    def draw_ends(
        self, first: int, sources: NDArray[np.uint32], targets: NDArray[np.uint32], threads: int
    ) -> None:
        """Fill the arrays with the ends of the edges number `first`, ..."""
        _native.draw_pairs(self.seed, self.vertices, self.directed, first, sources, targets, threads)


@dataclass(frozen=True, kw_only=True)
class UniformGraph(Generator):
    """G(n, p): each edge that there can be is there with the same probability.

    Parameters
    ----------
    vertices
        n.
    probability
        p, 0 to 1.
    directed
        Whether edges have a direction. If not, the smaller id comes first.

    Notes
    -----
    Absent edges are skipped in one step (Batagelj and Brandes, Physical Review E 71, 2005), so that the time
    of drawing is proportional to the number of edges.

    Examples
    --------
    >>> import motiflux as mf
    >>> len(mf.generate.UniformGraph(vertices=1000, probability=0.01, seed=1).columns())
    4892
    """

    vertices: int
    probability: float
    directed: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("vertices", self.vertices, 0, MAX_VERTICES)
        check_number("probability", self.probability, 0, 1)
        check_flag("directed", self.directed)

    @property
    def num_vertices(self) -> int:
        """Number of vertices."""
        return self.vertices

    @property
    def is_directed(self) -> bool:
        """Whether edges have a direction."""
        return self.directed

    def blocks(self, *, rows: int = BLOCK_ROWS, threads: int | None = None) -> Iterator[EdgeColumns]:
        """Draw the edges part by part, `rows` each but for the last; see `Generator.blocks`."""
        check_integer("rows", rows, 1)
        pairs = most_edges(self.vertices, directed=self.directed)
        if self.probability == 1 or pairs == 0 or self.probability == 0:
            edges = pairs if self.probability == 1 else 0
            whole = UniformEdges(vertices=self.vertices, edges=edges, directed=self.directed, seed=self.seed)
            yield from whole.blocks(rows=rows, threads=threads)
            return
        # Parts of numbers of edges, always the same ones, drawn some at a time.
        part = max(1, min(pairs, int(min(2.0**63, _EDGES_OF_PART / self.probability))))
        parts = -(-pairs // part)
        at_once = max(1, rows // _EDGES_OF_PART)
        count = resolve_threads(threads)
        rest = np.empty((2, 0), dtype=np.uint32)
        for first in range(0, parts, at_once):
            found = _native.skip_pairs(
                *(self.seed, self.vertices, self.directed, self.probability, part),
                *(first, min(first + at_once, parts), count),
            )
            rest = np.concatenate([rest, np.stack(found)], axis=1)
            while rest.shape[1] >= rows:
                yield self._made(rest[:, :rows])
                rest = rest[:, rows:]
        if rest.shape[1]:
            yield self._made(rest)

    def columns(self, *, threads: int | None = None, progress: Progress = False) -> EdgeColumns:
        """Draw all edges into arrays; see `Generator.columns`."""
        expected = round(most_edges(self.vertices, directed=self.directed) * self.probability)
        parts, done = [np.empty((2, 0), dtype=np.uint32)], 0
        with reporting(progress, "drawing edges", expected) as update:
            for block in self.blocks(threads=threads):
                parts.append(np.stack([block.sources, block.targets]))
                done += len(block)
                update(min(done, expected))
        return self._made(np.concatenate(parts, axis=1))

    def _made(self, ends: NDArray[np.uint32]) -> EdgeColumns:
        sources, targets = np.ascontiguousarray(ends)
        return EdgeColumns(sources, targets, self.vertices, self.directed)


def erdos_renyi(
    vertices: int,
    *,
    edges: int | None = None,
    probability: float | None = None,
    directed: bool = False,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = False,
) -> Graph:
    """Return an Erdos-Renyi graph: G(n, m) if `edges` is given, G(n, p) if `probability` is.

    Parameters
    ----------
    vertices, edges, probability, directed
        As for `UniformEdges` and `UniformGraph`.
    seed, threads, progress
        As for `Generator` and its `columns`.

    Raises
    ------
    ArgumentError
        Both or neither are given, or there cannot be such a graph.

    Examples
    --------
    >>> import motiflux as mf
    >>> mf.generate.erdos_renyi(1000, edges=5000)
    Graph(1,000 vertices, 5,000 edges, undirected)
    """
    generator = make_uniform(vertices, edges, probability, directed=directed, seed=seed)
    return generator.graph(threads=threads, progress=progress)


def make_uniform(
    vertices: int, edges: int | None, probability: float | None, *, directed: bool, seed: int
) -> Generator:
    """Return the generator that `erdos_renyi` draws with."""
    if edges is not None and probability is None:
        return UniformEdges(vertices=vertices, edges=edges, directed=directed, seed=seed)
    if probability is not None and edges is None:
        return UniformGraph(vertices=vertices, probability=probability, directed=directed, seed=seed)
    raise ArgumentError("edges, probability", "one of them", (edges, probability))
