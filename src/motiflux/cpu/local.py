"""Evaluates formulas of local counts (`motiflux.plan.local`)."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.cpu import native
from motiflux.graph import Adjacency, Graph
from motiflux.plan.local.formula import (
    Formula,
    Joined,
    OfEnd,
    Ones,
    Searched,
    Table,
    Triangles,
    Wedges,
    parts_of,
)
from motiflux.plan.local.rooted import Kinds, Rooted
from motiflux.plan.steps import adjacency_of

Counts = NDArray[Any]
"""int64, or Python integers where these do not hold what may come."""

_MOST = 2**63 - 1
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
    """Return the number of embeddings that a formula comes to.

    Parameters
    ----------
    deadline
        When to give up, as a moment of `time.perf_counter`; None is never.
    progress
        Told how many tables are made, of how many.

    Raises
    ------
    Late
        The deadline passed.
    """
    evaluation = _Evaluation(graph, formula.kinds, threads, deadline)
    tables = formula.tables()
    uses = Counter(part for table in tables for part in parts_of(table))
    for done, table in enumerate(tables):
        if progress is not None:
            progress(done, len(tables), 0)
        evaluation.make(table)
        for part in parts_of(table):
            uses[part] -= 1
            if uses[part] == 0:
                evaluation.drop(part)
    return evaluation.total(formula.table)


class _Evaluation:
    """The tables made so far that others still need."""

    def __init__(self, graph: Graph, kinds: Kinds, threads: int, deadline: float | None) -> None:
        self._graph = graph
        self._kinds = kinds
        self._threads = threads
        self._deadline = deadline
        self._known: dict[Table, Counts | int] = {}

    def total(self, table: Table) -> int:
        """Return the number that a table without roots is."""
        found = self._known[table]
        assert isinstance(found, int)
        return found

    def drop(self, table: Table) -> None:
        """Give up what nothing needs any more."""
        del self._known[table]

    def make(self, table: Table) -> None:
        """Make a table from those that it is made of."""
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
                found = _checked(_native.triangles_of_arcs(rows, self._threads, self._remaining()))
            case OfEnd():
                found = self._of_end(table)
            case Joined():
                found = self._joined(table)
        self._known[table] = found

    def _counts(self, table: Table) -> Counts:
        found = self._known[table]
        assert not isinstance(found, int)
        return found

    def _rows(self, pattern: Rooted, start: int, end: int) -> Adjacency:
        key = adjacency_of(self._kinds.bound(pattern), start, end)
        return self._graph.adjacency(key, self._threads)

    def _ones(self, pattern: Rooted) -> Counts:
        assert pattern.roots == 2
        return np.ones(len(self._rows(pattern, 0, 1)[1]), dtype=np.int64)

    def _of_end(self, table: OfEnd) -> Counts:
        counts = self._counts(table.table)
        offsets, neighbors = self._rows(table.pattern, 0, 1)
        return counts[neighbors] if table.end == 1 else np.repeat(counts, np.diff(offsets).astype(np.intp))

    def _searched(self, table: Searched) -> Counts | int:
        search = native.prepare(self._graph, table.plan, intersect="auto", threads=self._threads)
        timeout = self._remaining()
        if table.pattern.roots == 0:
            total, stop, _ = native.count(
                search, threads=self._threads, limit=None, timeout=timeout, progress=None
            )
            if stop is not native.Stop.NONE:
                raise Late
            return total * table.plan.multiplier
        return _checked(native.count_arcs(search, threads=self._threads, timeout=timeout))

    def _wedges(self, table: Wedges) -> Counts | int:
        pattern, threads = table.pattern, self._threads
        kinds = [
            (self._rows(pattern, *kind.first), self._rows(pattern, *kind.second), kind.number)
            for kind in table.kinds
        ]
        if pattern.roots == 2:
            return _checked(_native.four_cycles_of_arcs(kinds[0][0], threads, self._remaining()))
        if pattern.roots == 1:
            return _checked(_native.wedges_of_ends(kinds, threads, self._remaining()))
        below, times = _ALL, 1
        if table.symmetric:
            below, times = _ENDS_BELOW, 2
        if table.uniform:
            below, times = _BOTH_BELOW, 4
        total = _native.wedge_total(kinds, below, threads, self._remaining())
        if total is None:
            raise Late
        return total * times

    def _joined(self, table: Joined) -> Counts | int:
        wanted = table.pattern.roots
        if wanted == 0:
            return self._sum_of(table.factors) - sum(
                times * self.total(lesser) for times, lesser in table.minus
            )
        product = self._product(table.factors)
        have = table.factors[0].pattern
        if have.roots > wanted:
            product = self._row_sums(have, product)
        for times, lesser in table.minus:
            product = _subtract(product, times, self._counts(lesser))
        return product

    def _product(self, factors: tuple[Table, ...]) -> Counts:
        product = self._counts(factors[0])
        for factor in factors[1:]:
            product = _multiply(product, self._counts(factor))
        return product

    def _sum_of(self, factors: tuple[Table, ...]) -> int:
        return self.total(factors[0]) if factors[0].pattern.roots == 0 else _sum(self._product(factors))

    def _row_sums(self, pattern: Rooted, counts: Counts) -> Counts:
        """Return the sum over the second of two roots."""
        offsets, _ = self._rows(pattern, 0, 1)
        if counts.dtype != object and _largest(counts) * max(len(counts), 1) > _MOST:
            counts = counts.astype(object)
        sums = np.concatenate([np.zeros(1, dtype=counts.dtype), np.cumsum(counts, dtype=counts.dtype)])
        return _narrow(sums[offsets[1:].astype(np.intp)] - sums[offsets[:-1].astype(np.intp)])

    def _remaining(self) -> float | None:
        if self._deadline is None:
            return None
        left = self._deadline - time.perf_counter()
        if left <= 0:
            raise Late
        return left


def _checked(counts: NDArray[np.uint64] | None) -> Counts:
    """Return counts as signed numbers; None stands for a deadline that passed."""
    if counts is None:
        raise Late
    if counts.size and int(counts.max()) > _MOST:
        return counts.astype(object)
    signed: Counts = counts.view(np.int64)
    return signed


def _largest(counts: Counts) -> int:
    return max(int(counts.max()), -int(counts.min())) if counts.size else 0


def _narrow(counts: Counts) -> Counts:
    return counts.astype(np.int64) if counts.dtype == object and _largest(counts) <= _MOST else counts


def _multiply(a: Counts, b: Counts) -> Counts:
    if _largest(a) * _largest(b) > _MOST:
        a, b = a.astype(object), b.astype(object)
    product: Counts = a * b
    return product


def _subtract(a: Counts, times: int, b: Counts) -> Counts:
    if _largest(a) + times * _largest(b) > _MOST:
        return _narrow(a.astype(object) - times * b.astype(object))
    difference: Counts = a - (b if times == 1 else times * b)
    return difference


def _sum(counts: Counts) -> int:
    if counts.dtype == object:
        return int(counts.sum()) if counts.size else 0
    if _largest(counts) * max(len(counts), 1) <= _MOST:
        return int(counts.sum())
    high, low = counts >> 32, counts & 0xFFFF_FFFF
    return (int(high.sum()) << 32) + int(low.sum())
