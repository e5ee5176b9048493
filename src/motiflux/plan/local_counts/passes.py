"""A formula as passes over tables: what is written down, what is only summed up.

Tables that are needed only as a sum over all their roots are not made: the sum of a product less others is
the sum of the product less theirs. What is left is a linear combination of sums of products, many of which go
in one pass, and few tables. The diamond takes one table and one pass:

    sum over arcs of T1 * T1  -  sum over arcs of T1            T1: triangles at each arc
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

from motiflux.graph import AdjacencyKey
from motiflux.plan.local_counts.formula import (
    Finish,
    Formula,
    Joined,
    Move,
    OfEnd,
    Ones,
    Searched,
    Table,
    Walks,
    Wedges,
)
from motiflux.plan.local_counts.rooted import Kinds, Rooted
from motiflux.plan.passes.steps import adjacency_of


class At(IntEnum):
    """Where a factor of a product over arcs is looked up: ``local_counts::At``."""

    SELF, SOURCE, TARGET = range(3)


@dataclass(frozen=True, slots=True)
class Factor:
    """A table that is written down, looked up at each root or at an end of it."""

    table: Table
    at: At


Domain: TypeAlias = AdjacencyKey | None
"""The rows whose arcs a product is taken over; None for all vertices."""


@dataclass(frozen=True, slots=True)
class Product:
    """A product at each root."""

    domain: Domain
    factors: tuple[Factor, ...]


@dataclass(frozen=True, slots=True)
class Join:
    """A table: a product, or its sum over each row, less others."""

    product: Product
    sum_rows: bool
    minus: tuple[tuple[int, Table], ...]


Scalar: TypeAlias = Product | Walks | Wedges | Searched
"""The sum over all roots: of a product, or of the walks or wedges from each; or what is searched for."""

Combination: TypeAlias = dict[Scalar, int]


@dataclass(frozen=True, slots=True)
class Passes:
    """What is to be done.

    Parameters
    ----------
    formula
        Where it comes from.
    tables
        What is written down, those first that others need, each in its own way or joined.
    scalars
        What is summed up, and how often it counts.
    """

    formula: Formula
    tables: dict[Table, Join | None]
    scalars: Combination
    _keys: dict[tuple[Table, int, int], AdjacencyKey] = field(default_factory=dict, init=False)

    def key(self, table: Table, ends: tuple[int, int]) -> AdjacencyKey:
        """Return the rows of an edge of a table's pattern, from the first end to the second."""
        name = (table, *ends)
        found = self._keys.get(name)
        if found is None:
            found = self._keys[name] = adjacency_of(self.formula.kinds.bound(table.pattern), *ends)
        return found


def passes_of(formula: Formula) -> Passes:
    """Return the passes that a formula takes."""
    return _Passes(formula).found()


class _Passes:
    def __init__(self, formula: Formula) -> None:
        self._formula = formula
        self._kinds: Kinds = formula.kinds
        self._tables: dict[Table, Join | None] = {}
        self._sums: dict[Table, Combination] = {}

    def found(self) -> Passes:
        scalars = self._number(self._formula.table)
        for scalar in scalars:
            if isinstance(scalar, Product):
                self._need(factor.table for factor in scalar.factors)
            elif isinstance(scalar, Walks):
                self._need(_weights(scalar))
        return Passes(self._formula, self._tables, scalars)

    def _number(self, table: Table) -> Combination:
        """Return what a table without roots is."""
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
        minus = [(times, self._number(lesser)) for times, lesser in table.minus]
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
            minus = [(-times, self._sum(lesser)) for times, lesser in table.minus]
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
        """Return walks that go no further than to neighbours as a product that is summed over rows."""
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
                    self._need(lesser for _, lesser in join.minus)
                elif isinstance(table, Walks):
                    self._need(_weights(table))
                self._tables[table] = join

    def _join(self, table: Table) -> Join | None:
        """Return how a table is made of others in one pass; None for those made in their own way."""
        if isinstance(table, Joined):
            sums = table.factors[0].pattern.roots > table.pattern.roots
            return Join(self._product(table.factors), sums, table.minus)
        if isinstance(table, (OfEnd, Ones)):
            return Join(self._product((table,)), False, ())
        if isinstance(table, Walks) and (product := self._simple(table)) is not None:
            return Join(product, True, ())
        return None


def _factors(tables: Iterable[Table], at: At) -> tuple[Factor, ...]:
    found = []
    for table in tables:
        if isinstance(table, OfEnd):
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
