"""Optional paths that are not there: which rows have none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.api.listing import Listing, Search
from motiflux.errors import PatternError
from motiflux.graph import Adjacency, AdjacencyKey, Direction, Graph
from motiflux.pattern import Pattern, QueryEdge
from motiflux.pattern.queries.shapes import AbsentPath, LonePath
from motiflux.plan.bind import BoundEdge, BoundPattern, bind, bound_edge
from motiflux.request.deadline import Deadline, OutOfTimeError
from motiflux.request.request import Request
from motiflux.result.queries.sources import all_rows
from motiflux.types import VERTEX_DTYPE, Semantics, Symmetry, VertexArray

_BLOCK_ROWS = 65_536

MAX_PATHS = 4_000_000
"""Most paths with comparisons that are held in memory."""

_Apart = tuple[bool, int, Adjacency]
_Step = tuple[Adjacency, NDArray[np.uint8] | None, list[_Apart]]
_Marks = Callable[[VertexArray], NDArray[np.uint8] | None]


class AbsentPaths:
    """Tells which rows of a shape have no optional path.

    A path is looked for from each row, depth first, and the search ends at the first one. Vertices from which
    no path could go on, whatever the row, are left out. Paths with comparisons are listed before.

    Parameters
    ----------
    graph, absent, request
        The graph, the path, and the options of the call.
    deadline
        The deadline of the call.

    Raises
    ------
    PatternError
        There are too many paths with comparisons.
    OutOfTimeError
        The deadline passed before they were listed; also raised by `holds`.
    """

    def __init__(self, graph: Graph, absent: AbsentPath, request: Request, deadline: Deadline) -> None:
        self._graph = graph
        self._absent = absent
        self._request = request
        found = (self._marks(path, deadline) for path in absent.paths)
        self._forms = [marks for marks in found if marks is not None]

    def holds(self, vertices: VertexArray) -> NDArray[np.bool_]:
        """Return where there is no such path: bool [rows], of the vertices of the shape [rows, vertices]."""
        block = np.ascontiguousarray(vertices, VERTEX_DTYPE)
        missing = np.ones(len(block), dtype=bool)
        for marks in self._forms:
            left = np.flatnonzero(missing)
            found = marks(block if len(left) == len(block) else block[left])
            if found is None:
                raise OutOfTimeError
            missing[left] = found == 0
        return missing

    def _marks(self, path: LonePath, deadline: Deadline) -> _Marks | None:
        """Return the function that marks rows with a path of some lengths; None if there is none at all."""
        bound = bind(path.pattern, self._graph)
        if bound.missing is not None:
            return None
        start, end = self._absent.ends
        before = list(self._absent.before)
        distinct = self._request.semantics is not Semantics.HOMOMORPHISM
        threads = self._request.threads
        if path.pattern.comparisons:
            offsets, paths = self._listed(path, deadline)
            return lambda block: _native.mark_listed(
                block, start, end, before, distinct, offsets, paths, threads
            )
        steps = self._steps(path, bound)
        return lambda block: _native.mark_extended(
            block, start, end, before, distinct, steps, threads, deadline.left()
        )

    def _steps(self, path: LonePath, bound: BoundPattern) -> list[_Step]:
        """Return the rows by which a path goes on, where it can, and what it must not lead to."""
        graph, threads = self._graph, self._request.threads
        rows = [
            graph.adjacency(bound.rows_from(self._bound(path.pattern, edge), start), threads)
            for (start, _), edge in zip(pairwise(path.vertices), path.edges, strict=True)
        ]
        reach: list[NDArray[np.uint8]] = []
        for offsets, targets in reversed(rows):
            ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(reach[-1][targets])]) if reach else None
            number = offsets if ends is None else ends[offsets]
            reach.append((number[1:] > number[:-1]).astype(np.uint8))
        apart: list[list[_Apart]] = [[] for _ in rows]
        place = {vertex: at for at, vertex in reversed(list(enumerate(path.vertices)))}
        for one in bound.negated:
            first, last = sorted((one.source, one.target), key=place.__getitem__)
            near = graph.adjacency(bound.rows_from(one, first), threads)
            apart[place[last] - 1].append((True, place[first], near))
        if self._absent.induced:
            for at in range(1, len(path.vertices)):
                apart[at - 1] += self._no_other_edges(path, at)
        return list(zip(rows, reversed(reach), apart, strict=True))

    def _no_other_edges(self, path: LonePath, at: int) -> list[_Apart]:
        """Return what the new vertex at a place of a path has no edge to, but for that of the path."""
        edge = self._bound(path.pattern, path.edges[at - 1])
        ways = [Direction.OUT, Direction.IN] if self._graph.directed else [Direction.EITHER]
        of_path = (
            None if edge.either else Direction.OUT if edge.source == path.vertices[at - 1] else Direction.IN
        )
        others = [(False, column) for column in self._absent.before]
        others += [(True, place) for place in range(1, at)]
        last = (False, self._absent.ends[0]) if at == 1 else (True, at - 1)
        return [
            (
                in_path,
                other,
                self._graph.adjacency(AdjacencyKey(way, None, None, None), self._request.threads),
            )
            for in_path, other in others
            for way in ways
            if (in_path, other) != last or (of_path is not None and way is not of_path)
        ]

    def _bound(self, pattern: Pattern, number: int) -> BoundEdge:
        edge: QueryEdge = pattern.edges[number]
        table = self._graph.edge_label_table
        codes = None if edge.labels is None else table.codes(edge.labels)
        names = [pattern.vertices[end].name for end in (edge.source, edge.target)]
        every = codes is None or len(codes) == len(table)
        return bound_edge(edge, None if every else codes, names, self._graph.directed)

    def _listed(self, path: LonePath, deadline: Deadline) -> tuple[NDArray[np.uint64], VertexArray]:
        """Return all paths [paths, vertices after the first], and where those of each first vertex begin."""
        own = replace(
            self._request,
            symmetry=Symmetry.EMBEDDINGS,
            limit=None,
            copies=False,
            progress=None,
            device="cpu",
            engine="auto",
            devices=None,
        )
        listing = Listing(self._graph, own, _BLOCK_ROWS, False, (), False)
        found, complete = all_rows(Search(listing, path.pattern, deadline).begin(limit=None), MAX_PATHS)
        if found is None:
            raise PatternError(
                f"expected at most {MAX_PATHS:,} paths {path.pattern} with comparisons behind OPTIONAL, found"
                " more"
            )
        if not complete:
            raise OutOfTimeError
        found = found.reshape(-1, path.pattern.num_vertices)
        starts = found[:, path.vertices[0]]
        order = np.argsort(starts, kind="stable")
        offsets = np.searchsorted(starts[order], np.arange(self._graph.num_vertices + 1)).astype(np.uint64)
        return offsets, np.ascontiguousarray(found[order][:, list(path.vertices[1:])], VERTEX_DTYPE)
