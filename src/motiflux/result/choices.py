"""Choices of copies: the copies of edges on which rows of matches fall, all choices or the first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.graph import Graph
from motiflux.graph.edge_rows import row_starts
from motiflux.pattern import Pattern
from motiflux.plan.bind import bind
from motiflux.plan.comparisons.native import comparisons_of_rows
from motiflux.result.images import Block, written
from motiflux.result.rows import RowSource
from motiflux.types import VERTEX_DTYPE, VertexArray

_FIRST_CHOICES, _MOST_CHOICES = 64, 1 << 16
"""Choices of the first block and of later blocks, at most."""


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

    def holds(self, block: VertexArray) -> NDArray[np.bool_]:
        """Return which rows of a block have a choice."""
        return holding(self._found.native, block)

    def of(self, block: VertexArray) -> VertexArray:
        """Return all choices of the rows of a block, as `ChoicesOfBlock.next` does."""
        begun = self.begin(block)
        found = [begun.next(_MOST_CHOICES)]
        while not begun.finished:
            found.append(begun.next(_MOST_CHOICES))
        return np.concatenate(found)

    def begin(self, block: VertexArray) -> ChoicesOfBlock:
        """Return the choices of the rows of a block, which are found as they are asked for."""
        rows = np.ascontiguousarray(block)
        return ChoicesOfBlock(self, rows, _native.RowChoices(self._found.native, rows, self._most))

    def columns(self, block: VertexArray, rows: NDArray[np.int64], places: NDArray[np.uint64]) -> VertexArray:
        """Return the given rows of a block with the rows of attributes of their copies."""
        result = np.empty((len(rows), block.shape[1] + len(self._columns)), dtype=VERTEX_DTYPE)
        result[:, : block.shape[1]] = block[rows]
        for query_edge, at in self._columns:
            index = self._found.indexes[at]
            assert index is not None
            assert query_edge is not None
            result[:, block.shape[1] + query_edge] = index.rows[places[:, at].astype(np.int64)]
        return result


class ChoicesOfBlock:
    """The choices of the rows of one block, piece by piece."""

    def __init__(self, choices: Choices, block: VertexArray, native: _native.RowChoices) -> None:
        self._choices = choices
        self._block = block
        self._native = native

    def next(self, most: int, timeout: float | None = None) -> VertexArray:
        """Return a row for each of the next choices, at most `most`: [choices, vertices and edges].

        Behind the vertices are the rows of `Graph.edge_attributes` that the query edges fall on. After
        `timeout` seconds the choices found so far are returned, and there are no others.
        """
        return self._choices.columns(self._block, *self._native.next(most, timeout))

    @property
    def finished(self) -> bool:
        """Whether there are no further choices."""
        return self._native.finished is not False

    @property
    def complete(self) -> bool:
        """Whether time was never up."""
        return self._native.finished is not None


def holding(comparisons: _native.Comparisons, block: VertexArray) -> NDArray[np.bool_]:
    """Return which rows of a block have a choice of copies."""
    native = _native.RowChoices(comparisons, np.ascontiguousarray(block), 1)
    found = np.zeros(len(block), dtype=bool)
    while native.finished is False:
        found[native.next(_MOST_CHOICES, None)[0]] = True
    return found


def edges_of_copies(graph: Graph, copies: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of the edge of each copy, from its row of `Graph.edge_attributes`."""
    starts = graph.memo.keep("row starts", lambda: row_starts(graph.forward, directed=graph.directed))
    return copies if starts is None else np.searchsorted(starts, copies, side="right") - 1


class ChoiceRows:
    """Rows of a search with their choices of copies, in blocks."""

    def __init__(
        self,
        source: RowSource,
        choices: Choices,
        limit: int | None,
        seconds_left: Callable[[], float | None],
    ) -> None:
        self._source = source
        self._choices = choices
        self._left = limit
        self._seconds_left = seconds_left
        self._cut = False
        self._begun: ChoicesOfBlock | None = None
        self._most = _FIRST_CHOICES

    def next(self) -> Block | None:
        """Return the next block, or None at the end."""
        while True:
            if self._begun is None:
                block = self._source.next()
                if block is None:
                    return None
                self._begun = self._choices.begin(written(block))
            found = self._next_choices(self._begun)
            if len(found):
                return found
            if self._cut:
                return None

    def _next_choices(self, begun: ChoicesOfBlock) -> VertexArray:
        most = self._most
        if self._left is not None:  # one more than is left shows that the result is cut
            most = min(most, self._left + 1)
        found = begun.next(most, self._seconds_left())
        self._most = min(_MOST_CHOICES, 4 * self._most)
        if begun.finished:
            self._begun = None
        if not begun.complete:
            self._end()
        if self._left is not None:
            if len(found) > self._left:
                self._end()
            found = found[: self._left]
            self._left -= len(found)
        return found

    def _end(self) -> None:
        """End the result before all choices were given."""
        self._cut = True
        self.close()

    def close(self) -> None:
        """Stop the search; blocks not taken are dropped."""
        self._begun = None
        self._source.close()

    @property
    def complete(self) -> bool:
        """Whether all choices were given."""
        return self._source.complete and not self._cut
