"""Which edge of the data graph each query edge of a match fell on.

A match is a map of vertices. Between two images there may be several edges that serve a query edge:
parallel ones with different labels, on a directed graph one each way, and copies of one edge with different
attributes. The witness is the first:

* an arc the way the query edge is drawn, before one the other way (directed graphs only),
* then the edge of the least label code: labels are in ascending order, and so are the numbers of the edges,
* then the first copy that satisfies the condition of the query edge, in the order the copies were given.

Each query edge is treated separately: two of them on one pair of vertices may have the same witness.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.errors import InternalError
from motiflux.graph import Graph
from motiflux.graph.edge_rows import row_starts
from motiflux.graph.labels import mask
from motiflux.pattern import Pattern, QueryEdge
from motiflux.types import VertexArray


class Witnesses:
    """Finds the edges that rows of matches fell on.

    Parameters
    ----------
    graph, pattern
        The pattern and the graph of the rows.
    threads
        Threads for large batches.
    """

    def __init__(self, graph: Graph, pattern: Pattern, threads: int) -> None:
        self._graph = graph
        self._edges = pattern.edges
        self._threads = threads
        self._queries = [self._query(edge) for edge in pattern.edges]
        self._shifts = None if graph.directed else self._make_shifts()
        self._first_rows: dict[int, NDArray[np.int64] | None] = {}

    def edges(self, block: VertexArray) -> NDArray[np.int64]:
        """Return the number of each query edge's edge: int64 [query edges, rows].

        Parameters
        ----------
        block
            Internal ids [rows, query vertices].
        """
        found = self.found(block)
        if found.size and int(found.min()) < 0:
            query, row = np.argwhere(found < 0)[0].tolist()
            raise InternalError(f"a match has no edge for query edge {query}: {block[row].tolist()}")
        return found

    def found(self, block: VertexArray) -> NDArray[np.int64]:
        """Return the same for rows that may have no edge for a query edge: its number is negative then."""
        arcs = self._graph.forward
        return _native.find_edges(
            block, arcs.offsets, arcs.neighbors, arcs.labels, self._shifts, self._queries, self._threads
        )

    def rows(self, query: int, edges: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of `Graph.edge_attributes` that witness one query edge, from its edges' numbers."""
        if query not in self._first_rows:
            self._first_rows[query] = self._find_first_rows(self._edges[query])
        first = self._first_rows[query]
        return edges if first is None else first[edges]

    def _query(
        self, edge: QueryEdge
    ) -> tuple[int, int, bool, NDArray[np.uint8] | None, NDArray[np.uint8] | None]:
        graph = self._graph
        codes = None if edge.labels is None else graph.edge_label_table.codes(edge.labels)
        either = edge.directed is False and graph.directed
        arcs = None if edge.where is None else graph.arc_mask(edge.where, "out")
        return edge.source, edge.target, either, mask(codes, len(graph.edge_label_table)), arcs

    def _make_shifts(self) -> NDArray[np.uint64]:
        arcs = self._graph.forward
        return self._graph.memo.keep(
            "edge shifts", lambda: _native.edge_shifts(arcs.offsets, arcs.neighbors, self._threads)
        )

    def _find_first_rows(self, edge: QueryEdge) -> NDArray[np.int64] | None:
        """Return each edge's first row that satisfies the condition; None where each edge has one row."""
        graph = self._graph
        starts = graph.memo.keep("row starts", lambda: row_starts(graph.forward, directed=graph.directed))
        if starts is None or edge.where is None:
            return starts
        satisfied = np.flatnonzero(graph.edge_attributes.holds(edge.where, graph.num_edge_copies))
        place = np.searchsorted(satisfied, starts)
        # Edges without such a row have no witness: their entries are not read.
        return np.append(satisfied, graph.num_edge_copies)[place].astype(np.int64)
