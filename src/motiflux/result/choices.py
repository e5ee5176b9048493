"""Choices of copies: the copies of edges on which rows of matches fall, all choices or the first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motiflux.graph import Graph
from motiflux.graph.edge_rows import row_starts
from motiflux.pattern import Pattern
from motiflux.plan.bind import bind
from motiflux.plan.native_comparisons import comparisons_of_rows
from motiflux.result.images import Block, written
from motiflux.result.rows import RowSource
from motiflux.types import VERTEX_DTYPE, VertexArray

_FIRST_ROWS, _MOST_ROWS, _CHOICES_AT_ONCE = 64, 4096, 1 << 16
"""Rows whose choices are found in the first call and at most, and the choices that a call should give."""


class Choices:
    """Finds the choices of rows of matches.

    Parameters
    ----------
    graph, pattern
        The pattern and the graph of the rows.
    every
        Whether all choices of a row are found, or the first one.
    """

    def __init__(self, graph: Graph, pattern: Pattern, *, every: bool) -> None:
        bound = bind(pattern, graph, count_choices=True)
        assert bound.comparisons is not None
        self._graph = graph
        self._most = 0 if every else 1
        self._found = comparisons_of_rows(graph, bound.comparisons, bound.edges, bound.size)
        self._columns = [
            (variable.query_edge, at)
            for at, number in enumerate(self._found.order)
            if (variable := bound.comparisons.variables[number]).query_edge is not None
        ]

    def of(self, block: VertexArray, most: int | None = None) -> VertexArray:
        """Return a row for each choice of the rows of a block: [choices, vertices and edges].

        Behind the vertices are the rows of `Graph.edge_attributes` that the query edges fall on. With `most`,
        at most as many choices of each row.
        """
        found = self._most if self._most or most is None else max(1, most)
        rows, places = self._found.native.choices(np.ascontiguousarray(block), found)
        result = np.empty((len(rows), block.shape[1] + len(self._columns)), dtype=VERTEX_DTYPE)
        result[:, : block.shape[1]] = block[rows]
        for query_edge, at in self._columns:
            index = self._found.indexes[at]
            assert index is not None
            assert query_edge is not None
            result[:, block.shape[1] + query_edge] = index.rows[places[:, at].astype(np.int64)]
        return result


def edges_of_copies(graph: Graph, copies: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of the edge of each copy, from its row of `Graph.edge_attributes`."""
    starts = graph.memo.keep("row starts", lambda: row_starts(graph.forward, directed=graph.directed))
    return copies if starts is None else np.searchsorted(starts, copies, side="right") - 1


class ChoiceRows:
    """Rows of a search with their choices of copies, in blocks."""

    def __init__(self, source: RowSource, choices: Choices, limit: int | None) -> None:
        self._source = source
        self._choices = choices
        self._left = limit
        self._cut = False
        self._waiting: VertexArray | None = None
        self._rows_at_once = _FIRST_ROWS

    def next(self) -> Block | None:
        """Return the next block, or None at the end."""
        if self._waiting is None or not len(self._waiting):
            block = self._source.next()
            if block is None:
                return None
            self._waiting = written(block)
        taken = self._waiting[: self._rows_at_once]
        self._waiting = self._waiting[self._rows_at_once :]
        if self._left is None:
            found = self._choices.of(taken)
        else:  # one more than is left shows that the result is cut
            found = self._choices.of(taken, self._left + 1)
        each = max(1, len(found) // max(1, len(taken)))
        self._rows_at_once = min(_MOST_ROWS, max(1, _CHOICES_AT_ONCE // each))
        if self._left is None:
            return found
        given = found[: self._left]
        self._cut |= len(given) < len(found)
        self._left -= len(given)
        return given

    def close(self) -> None:
        """Stop the search; blocks not taken are dropped."""
        self._waiting = None
        self._source.close()

    @property
    def complete(self) -> bool:
        """Whether all choices were given."""
        return self._source.complete and not self._cut
