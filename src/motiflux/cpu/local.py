"""Evaluates formulas over tables of local counts (`motiflux.plan.local_counts`)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.cpu import native
from motiflux.graph import Adjacency, Graph
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
    all_tables,
    parts_of,
)
from motiflux.plan.local_counts.native import native_walk
from motiflux.plan.native_plan import native_problem
from motiflux.plan.passes.steps import adjacency_of
from motiflux.plan.rooted import Kinds, Rooted

Counts: TypeAlias = tuple[NDArray[np.uint64], int]
"""A number for each root: 64-bit words, low words first, and the number of words of each number."""

_ALL, _ENDS_BELOW, _BOTH_BELOW = 0, 1, 2


class Late(Exception):  # noqa: N818 - no error
    """The deadline passed."""


def evaluate(
    graph: Graph,
    formula: Formula,
    threads: int,
    deadline: float | None,
    progress: native.Progress | None = None,
) -> int:
    """Return the number of embeddings by a formula.

    Parameters
    ----------
    deadline
        Time limit, a value of `time.perf_counter`; None: no limit.
    progress
        Called with the number of finished tables, the number of all tables, and 0.

    Raises
    ------
    Late
        The deadline passed.
    """
    evaluation = _Evaluation(graph, formula.kinds, threads, deadline)
    evaluation.make_all(formula.tables(), (), progress)
    return evaluation.total(formula.table)


def evaluate_tables(
    graph: Graph,
    kinds: Kinds,
    wanted: Sequence[Table],
    threads: int,
    deadline: float | None,
    progress: native.Progress | None = None,
) -> list[Counts]:
    """Return the numbers of tables with roots, computing each table that they share once.

    Raises
    ------
    Late
        The deadline passed.
    OverflowError
        A number needs more bits than a method has: weights of walks have 64, searches from arcs too.
    """
    evaluation = _Evaluation(graph, kinds, threads, deadline)
    evaluation.make_all(list(dict.fromkeys(chain.from_iterable(map(all_tables, wanted)))), wanted, progress)
    return [evaluation.counts(table) for table in wanted]


class _Evaluation:
    """The finished tables that other tables still need."""

    def __init__(self, graph: Graph, kinds: Kinds, threads: int, deadline: float | None) -> None:
        self._graph = graph
        self._kinds = kinds
        self._threads = threads
        self._deadline = deadline
        self._known: dict[Table, Counts | int] = {}

    def total(self, table: Table) -> int:
        """Return the number that a table without roots holds."""
        found = self._known[table]
        assert isinstance(found, int)
        return found

    def make_all(
        self, tables: Sequence[Table], wanted: Sequence[Table], progress: native.Progress | None
    ) -> None:
        """Compute tables in this order; keep those that are `wanted`, or needed by no other."""
        uses = Counter(part for table in tables for part in parts_of(table))
        for done, table in enumerate(tables):
            if progress is not None:
                progress(done, len(tables), 0)
            self.make(table)
            for part in parts_of(table):
                uses[part] -= 1
                if uses[part] == 0 and part not in wanted:
                    del self._known[part]

    def make(self, table: Table) -> None:
        """Compute a table from the tables that it needs."""
        self._remaining()
        match table:
            case Ones():
                found: Counts | int = self._ones(table.pattern)
            case Searched():
                found = self._searched(table)
            case Wedges():
                found = self._wedges(table)
            case Triangles():
                rows = self._rows(table.pattern, 0, 1)
                found = _made(_native.triangles_of_arcs(rows, self._threads, self._remaining()))
            case WeightedCycles():
                rows = self._rows(table.pattern, *table.edge)
                weights = self._weights(table.weights)
                found = _made(_native.weighted_cycles(rows, weights, self._threads, self._remaining()))
            case Walks():
                found = self._walks(table)
            case EndLookup():
                found = self._end_lookup(table)
            case Joined():
                found = self._joined(table)
        self._known[table] = found

    def counts(self, table: Table) -> Counts:
        """Return the numbers of a table with roots."""
        found = self._known[table]
        assert not isinstance(found, int)
        return found

    def _rows(self, pattern: Rooted, start: int, end: int) -> Adjacency:
        key = adjacency_of(self._kinds.bound(pattern), start, end)
        return self._graph.adjacency(key, self._threads)

    def _ones(self, pattern: Rooted) -> Counts:
        assert pattern.roots == 2
        return np.ones(len(self._rows(pattern, 0, 1)[1]), dtype=np.uint64), 1

    def _end_lookup(self, table: EndLookup) -> Counts:
        counts = self.counts(table.table)
        rows = self._rows(table.pattern, 0, 1)
        return _made(_native.table_of_ends(rows, counts, table.end, self._threads, self._remaining()))

    def _searched(self, table: Searched) -> Counts | int:
        search = native_problem(
            self._graph, table.plan, intersect="auto", threads=self._threads, adaptive=True, again=True
        )
        timeout = self._remaining()
        if table.pattern.roots == 0:
            total, stop, _ = native.count(
                search, threads=self._threads, limit=None, timeout=timeout, progress=None
            )
            if stop is not native.Stop.NONE:
                raise Late
            return total * table.plan.multiplier
        counts = native.count_arcs(search, threads=self._threads, timeout=timeout)
        if counts is None:
            raise Late
        return counts, 1

    def _wedges(self, table: Wedges) -> Counts | int:
        pattern, threads = table.pattern, self._threads
        kinds = [
            (self._rows(pattern, *kind.first), self._rows(pattern, *kind.second), kind.number)
            for kind in table.kinds
        ]
        if pattern.roots == 2:
            return _made(_native.four_cycles_of_arcs(kinds[0][0], threads, self._remaining()))
        if pattern.roots == 1:
            return _made(_native.wedges_of_ends(kinds, threads, self._remaining()))
        below, times = _ALL, 1
        if table.symmetric:
            below, times = _ENDS_BELOW, 2
        if table.uniform:
            below, times = _BOTH_BELOW, 4
        total = _native.wedge_total(kinds, below, threads, self._remaining())
        if total is None:
            raise Late
        return total * times

    def _walks(self, table: Walks) -> Counts | int:
        walk = native_walk(self._graph, self._kinds, table, self._threads, self._weights)
        vertices = self._graph.num_vertices
        counts = _made(_native.walk_counts(walk, vertices, self._threads, self._remaining()))
        return self._sum(counts) if table.pattern.roots == 0 else counts

    def _weights(self, table: Table) -> NDArray[np.uint64]:
        words, width = self.counts(table)
        if width > 1:
            raise OverflowError("weights of walks have 64 bits")
        return words

    def _joined(self, table: Joined) -> Counts | int:
        if table.pattern.roots == 0:
            return table.times * self._sum_of(table.factors) - sum(
                times * self.total(other) for times, other in table.minus
            )
        product = self._product(table.factors)
        factor = table.factors[0].pattern
        if factor.roots > table.pattern.roots:
            rows = self._rows(factor, 0, 1)
            product = _made(_native.table_row_sums(rows, product, self._threads, self._remaining()))
        for times, other in table.minus:
            less = self.counts(other)
            product = _made(_native.table_minus(product, times, less, self._threads, self._remaining()))
        return product

    def _product(self, factors: tuple[Table, ...]) -> Counts:
        product = self.counts(factors[0])
        for factor in factors[1:]:
            other = self.counts(factor)
            product = _made(_native.table_product(product, other, self._threads, self._remaining()))
        return product

    def _sum_of(self, factors: tuple[Table, ...]) -> int:
        if factors[0].pattern.roots == 0:
            return self.total(factors[0])
        return self._sum(self._product(factors))

    def _sum(self, counts: Counts) -> int:
        total = _native.table_sum(counts, self._threads, self._remaining())
        if total is None:
            raise Late
        return total

    def _remaining(self) -> float | None:
        if self._deadline is None:
            return None
        left = self._deadline - time.perf_counter()
        if left <= 0:
            raise Late
        return left


def _made(table: Counts | None) -> Counts:
    """Return a table; raise `Late` for None, which the native code returns after the deadline."""
    if table is None:
        raise Late
    return table
