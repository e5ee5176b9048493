"""Schedules of formulas: the tables to store, and the sums over products of tables.

A table is not stored if only its sum over all roots is needed: the sum of a difference is the difference of
the sums. The result is a linear combination of sums of products, many of which are computed in one pass, and
few stored tables. The diamond takes one table and one pass:

    sum over arcs of T1 * T1  -  sum over arcs of T1            T1: triangles at each arc
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

from motiflux.graph import AdjacencyKey
from motiflux.plan.ir import (
    EndLookup,
    Finish,
    Formula,
    Joined,
    Move,
    Ones,
    Searched,
    Table,
    Walks,
    Wedges,
)
from motiflux.plan.passes.steps import adjacency_of
from motiflux.plan.rooted import Kinds, Rooted


class At(IntEnum):
    """The position at which a factor of a product over arcs is looked up: ``local_counts::At``."""

    SELF, SOURCE, TARGET = range(3)


@dataclass(frozen=True, slots=True)
class Factor:
    """A stored table, looked up at each root, or at an end of each root arc."""

    table: Table
    at: At


Domain: TypeAlias = AdjacencyKey | None
"""The rows whose arcs are the roots of a product; None: all vertices are."""


@dataclass(frozen=True, slots=True)
class Product:
    """A product at each root."""

    domain: Domain
    factors: tuple[Factor, ...]


@dataclass(frozen=True, slots=True)
class Join:
    """A table: a product, or its sum over each row, minus other tables."""

    product: Product
    sum_rows: bool
    minus: tuple[tuple[int, Table], ...]


Scalar: TypeAlias = Product | Walks | Wedges | Searched
"""A number: the sum over all roots of a product, walks or wedges, or the result of a search."""

Combination: TypeAlias = dict[Scalar, int]


@dataclass(frozen=True, slots=True)
class Schedule:
    """The tables and sums that evaluate a formula, or tables with roots.

    Parameters
    ----------
    kinds
        The kinds to which the patterns of the tables refer.
    tables
        The stored tables, each after the tables that it needs. None: the table is not a `Join`, and is
        computed by the method of its type.
    scalars
        The sums, with their coefficients.
    formula
        The formula; None if tables are wanted.
    """

    kinds: Kinds
    tables: dict[Table, Join | None]
    scalars: Combination
    formula: Formula | None = None
    _keys: dict[tuple[Table, int, int], AdjacencyKey] = field(default_factory=dict, init=False)

    def key(self, table: Table, ends: tuple[int, int]) -> AdjacencyKey:
        """Return the rows of an edge of a table's pattern, from the first end to the second."""
        name = (table, *ends)
        found = self._keys.get(name)
        if found is None:
            found = self._keys[name] = adjacency_of(self.kinds.bound(table.pattern), *ends)
        return found


def schedule_of(formula: Formula) -> Schedule:
    """Return the schedule of a formula."""
    return _Scheduler(formula.kinds).of_formula(formula)


def schedule_of_tables(kinds: Kinds, tables: Iterable[Table]) -> Schedule:
    """Return the schedule that stores these tables, which have roots."""
    return _Scheduler(kinds).of_tables(tables)


class _Scheduler:
    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self._tables: dict[Table, Join | None] = {}
        self._sums: dict[Table, Combination] = {}

    def of_tables(self, tables: Iterable[Table]) -> Schedule:
        self._need(tables)
        return Schedule(self._kinds, self._tables, {})

    def of_formula(self, formula: Formula) -> Schedule:
        scalars = self._number(formula.table)
        for scalar in scalars:
            if isinstance(scalar, Product):
                self._need(factor.table for factor in scalar.factors)
            elif isinstance(scalar, Walks):
                self._need(_weights(scalar))
        return Schedule(self._kinds, self._tables, scalars, formula)

    def _number(self, table: Table) -> Combination:
        """Return the number that a table without roots holds."""
        if table not in self._sums:
            self._sums[table] = self._number_of(table)
        return self._sums[table]

    def _number_of(self, table: Table) -> Combination:
        if isinstance(table, Walks):
            return self._walks(table)
        if not isinstance(table, Joined):
            assert isinstance(table, (Wedges, Searched))
            return {table: 1}
        found = self._sum_of_product(table.factors)
        minus = [(times, self._number(other)) for times, other in table.minus]
        return _combined([(table.times, found), *((-times, less) for times, less in minus)])

    def _sum(self, table: Table) -> Combination:
        """Return the sum of a table over all its roots."""
        if not table.pattern.roots:
            return self._number(table)
        if table not in self._sums:
            self._sums[table] = self._sum_of(table)
        return self._sums[table]

    def _sum_of(self, table: Table) -> Combination:
        if isinstance(table, Joined):
            minus = [(-times, self._sum(other)) for times, other in table.minus]
            return _combined([(1, self._sum_of_product(table.factors)), *minus])
        if isinstance(table, Walks):
            return self._walks(table)
        if isinstance(table, Wedges) and table.pattern.roots == 1:
            return {table: 1}
        return {self._product((table,)): 1}

    def _walks(self, walks: Walks) -> Combination:
        product = self._simple(walks)
        if product is not None:
            return {product: 1}
        if walks.finish is Finish.ARCS:
            return {self._product((walks,)): 1}
        return {walks: 1}

    def _sum_of_product(self, factors: tuple[Table, ...]) -> Combination:
        if len(factors) == 1 or not factors[0].pattern.roots:
            return self._sum(factors[0])
        return {self._product(factors): 1}

    def _product(self, tables: tuple[Table, ...]) -> Product:
        pattern = tables[0].pattern
        domain = self._arcs(pattern, (0, 1)) if pattern.roots == 2 else None
        return Product(domain, _factors(tables, At.SELF))

    def _arcs(self, pattern: Rooted, ends: tuple[int, int]) -> AdjacencyKey:
        return adjacency_of(self._kinds.bound(pattern), *ends)

    def _simple(self, walks: Walks) -> Product | None:
        """Return walks of one edge as a product, to be summed over rows; None for longer walks."""
        first, *others = walks.steps
        if not walks.is_near or first.ends is None:
            return None
        weights = () if first.weights is None else (first.weights,)
        factors = _factors(weights, At.SELF)
        for step in others:
            if step.move is Move.POWER:
                factors *= step.power
            elif step.weights is not None:
                factors += _factors((step.weights,), At.TARGET)
        return Product(self._arcs(walks.pattern, first.ends), factors)

    def _need(self, tables: Iterable[Table]) -> None:
        for table in tables:
            if table not in self._tables:
                join = self._join(table)
                if join is not None:
                    self._need(factor.table for factor in join.product.factors)
                    self._need(other for _, other in join.minus)
                elif isinstance(table, Walks):
                    self._need(_weights(table))
                self._tables[table] = join

    def _join(self, table: Table) -> Join | None:
        """Return the pass that computes a table from others; None for tables computed in another way."""
        if isinstance(table, Joined):
            sums = table.factors[0].pattern.roots > table.pattern.roots
            return Join(self._product(table.factors), sums, table.minus)
        if isinstance(table, (EndLookup, Ones)):
            return Join(self._product((table,)), False, ())
        if isinstance(table, Walks) and (product := self._simple(table)) is not None:
            return Join(product, True, ())
        return None


def _factors(tables: Iterable[Table], at: At) -> tuple[Factor, ...]:
    found = []
    for table in tables:
        if isinstance(table, EndLookup):
            found.append(Factor(table.table, At.TARGET if table.end else At.SOURCE))
        elif not isinstance(table, Ones):
            found.append(Factor(table, at))
    return tuple(found)


def _weights(walks: Walks) -> list[Table]:
    return [step.weights for step in walks.steps if step.weights is not None]


def _combined(parts: Iterable[tuple[int, Combination]]) -> Combination:
    total: Counter[Scalar] = Counter()
    for times, found in parts:
        for scalar, number in found.items():
            total[scalar] += times * number
    return {scalar: number for scalar, number in total.items() if number}
