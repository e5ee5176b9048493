"""The host memory that a count from tables takes."""

from __future__ import annotations

from collections import Counter

from motiflux.graph import AdjacencyKey, Graph
from motiflux.plan.estimate.predict import arcs_of, distinct_keys, host_memory, narrowed_bytes
from motiflux.plan.estimate.prediction import MemoryReport
from motiflux.plan.ir import (
    EndLookup,
    Formula,
    Joined,
    Ones,
    Searched,
    Table,
    Triangles,
    Walks,
    Wedges,
    WeightedCycles,
    parts_of,
)
from motiflux.plan.passes.steps import adjacency_of

_NUMBER, _TOTAL, _COUNTER = 8, 16, 4
"""Bytes of a stored number of one word, of a number just computed, and of a counter of wedges or vertices."""


def table_memory(graph: Graph, formula: Formula, threads: int) -> MemoryReport:
    """Return the bytes that counting by a formula on the CPU takes.

    The bytes of tables are the most that exist at one time, with the buffers of the threads that compute
    them. A table takes more if one of its numbers needs more than 64 bits.
    """
    sizes = _Sizes(graph, formula, threads)
    tables = formula.tables()
    uses = Counter(part for table in tables for part in parts_of(table))
    kept = most = 0
    for table in tables:
        kept += sizes.of(table)
        most = max(most, kept + sizes.buffers_of(table))
        for part in parts_of(table):
            uses[part] -= 1
            if uses[part] == 0:
                kept -= sizes.of(part)
    searches = [
        host_memory(graph, table.plan, threads).search for table in tables if isinstance(table, Searched)
    ]
    keys = dict.fromkeys(key for table in tables for key in sizes.keys(table))
    rows = sum(narrowed_bytes(graph, key) for key in keys)
    return MemoryReport(rows, max(searches, default=0), tables=most)


class _Sizes:
    """Bytes of the tables of a formula, and the rows that they are computed from."""

    def __init__(self, graph: Graph, formula: Formula, threads: int) -> None:
        self._graph = graph
        self._kinds = formula.kinds
        self._threads = threads

    def of(self, table: Table) -> int:
        """Return the bytes of a table."""
        return _NUMBER * self._numbers(table)

    def buffers_of(self, table: Table) -> int:
        """Return the bytes of buffers while a table is computed, without the buffers of searches."""
        vertices = self._graph.num_vertices
        match table:
            case Triangles():
                return (self._threads * _COUNTER + _NUMBER) * vertices
            case Wedges():
                found = {0: 0, 1: _TOTAL, 2: _NUMBER}[table.pattern.roots]
                return (self._threads * len(table.kinds) * _COUNTER + found) * vertices
            case WeightedCycles():
                reverse = _NUMBER * self._numbers(table.weights)
                return self._threads * (4 * _NUMBER + _TOTAL) * vertices + reverse
            case Walks():
                registers = 1 + max(step.into for step in table.steps)
                found = _TOTAL * (self._numbers(table) if table.pattern.roots == 2 else vertices)
                kept = 0 if table.pattern.roots else _NUMBER * vertices
                return self._threads * registers * (_NUMBER + _COUNTER) * vertices + found + kept
            case Joined():
                products = min(len(table.factors) - 1, 2) * self.of(table.factors[0])
                return products + min(len(table.minus), 1) * self.of(table)
        return 0

    def keys(self, table: Table) -> list[AdjacencyKey]:
        """Return the rows that are read to compute a table."""
        bound = self._kinds.bound(table.pattern)
        ends: list[tuple[int, int] | None] = []
        match table:
            case Searched():
                return list(distinct_keys(table.plan))
            case Wedges():
                ends = [end for kind in table.kinds for end in (kind.first, kind.second)]
            case Walks():
                ends = [*(step.ends for step in table.steps), table.ends]
            case WeightedCycles():
                ends = [table.edge]
            case Triangles() | Ones() | EndLookup():
                ends = [(0, 1)]
            case Joined() if table.factors[0].pattern.roots > table.pattern.roots > 0:
                return [self._arcs(table.factors[0])]
        return [adjacency_of(bound, *end) for end in ends if end is not None]

    def _numbers(self, table: Table) -> int:
        roots = table.pattern.roots
        if roots == 2:
            return arcs_of(self._graph, self._arcs(table))
        return self._graph.num_vertices if roots else 0

    def _arcs(self, table: Table) -> AdjacencyKey:
        return adjacency_of(self._kinds.bound(table.pattern), 0, 1)
