"""Labels of the native graph that say, beside the label of an edge, which conditions its copies satisfy.

A query edge with a condition has a witness as long as some copy satisfies it. So copies are told apart by the
label and by the conditions that they satisfy, a bit for each: that is their *facet*. The native monitor gets
the facets as labels, and counts copies by facet; a query edge accepts a set of facets, as it would a set of
labels. So all that holds of parallel edges with different labels holds of facets: a match comes or goes when
the first copy of a facet comes, or its last one goes, unless another facet serves the query edge too.

A facet gets its number when a copy first has it, and keeps it. Whether a query edge accepts it depends on the
label code and the bits alone, so a call that is undone need not take numbers back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from motiflux.conditions import AllOf, AnyOf, Comparison, Condition, IsMissing, Not, OneOf, Value
from motiflux.errors import ArgumentError
from motiflux.graph import AttributeTable
from motiflux.pattern import Pattern
from motiflux.pattern.queries.watched import CasePattern
from motiflux.plan.bind import BoundPattern

_MOST_CONDITIONS = 62

_Key = tuple[tuple[int, ...] | None, int | None, bool]


class Growing(Protocol):
    """The part of a native monitor that facets need."""

    def relation(self, labels: Sequence[int] | None, either: bool, growing: int = 0) -> int:
        """Return the number of a set of labels, which may grow."""

    def accept(self, label: int, relations: Sequence[int]) -> None:
        """Have sets accept one more label."""


@dataclass(frozen=True)
class _Relation:
    """A set of facets in the native monitor: with one of the labels and the bit."""

    number: int
    labels: frozenset[int] | None
    bit: int | None

    def accepts(self, label: int, bits: int) -> bool:
        return (self.labels is None or label in self.labels) and (
            self.bit is None or bits >> self.bit & 1 == 1
        )


class Facets:
    """The facets of the copies of one native monitor.

    Parameters
    ----------
    conditions
        Different ones, each with a bit.
    native
        The monitor.

    Attributes
    ----------
    attributes
        Those that the conditions look at.
    """

    def __init__(self, conditions: Sequence[Condition], native: Growing) -> None:
        if len(conditions) > _MOST_CONDITIONS:
            raise ArgumentError(
                "patterns",
                f"at most {_MOST_CONDITIONS} different conditions on edges, of patterns watched so far",
                len(conditions),
            )
        self.conditions = tuple(conditions)
        self.attributes = frozenset(name for condition in conditions for name in names_in(condition))
        self._bits = {condition: bit for bit, condition in enumerate(conditions)}
        self._native = native
        self._all: list[tuple[int, int]] = []  # label and bits by number
        self._numbers: dict[tuple[int, int], int] = {}
        self._relations: dict[_Key, _Relation] = {}
        self._growing = count(1)  # sets with one number could be taken for one

    def __len__(self) -> int:
        return len(self._all)

    def knows(self, condition: Condition | None) -> bool:
        """Return whether a condition has a bit."""
        return condition is None or condition in self._bits

    def bits(self, values: AttributeTable, rows: int) -> NDArray[np.int64]:
        """Return the conditions that each of some rows satisfies, as bits."""
        bits = np.zeros(rows, dtype=np.int64)
        for condition, bit in self._bits.items():
            bits |= values.holds(condition, rows).astype(np.int64) << bit
        return bits

    def numbers(self, labels: NDArray[np.uint32], bits: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Return the facets of copies by their labels and bits; new ones get a number."""
        if len(labels) < 2:
            return np.array(
                [self._number(*one) for one in zip(labels.tolist(), bits.tolist(), strict=True)], np.uint32
            )
        kinds, first, places = np.unique(bits, return_index=True, return_inverse=True)
        pairs = labels.astype(np.int64) * len(kinds) + places.reshape(-1)
        _, first, places = np.unique(pairs, return_index=True, return_inverse=True)
        wanted = zip(labels[first].tolist(), bits[first].tolist(), strict=True)
        numbers = np.array([self._number(*facet) for facet in wanted], dtype=np.uint32)
        return np.asarray(numbers[places.reshape(-1)])

    def _number(self, label: int, bits: int) -> int:
        known = self._numbers.get((label, bits))
        if known is not None:
            return known
        # An interrupt in between leaves a number that nothing has.
        self._all.append((label, bits))
        number = len(self._all) - 1
        accepting = [one.number for one in self._relations.values() if one.accepts(label, bits)]
        self._native.accept(number, accepting)
        self._numbers[label, bits] = number
        return number

    def labels(self) -> NDArray[np.uint32]:
        """Return the label of each facet."""
        return np.array([label for label, _ in self._all], dtype=np.uint32)

    def accepted(self, labels: tuple[int, ...] | None, condition: Condition | None) -> NDArray[np.uint8]:
        """Return which facets a query edge accepts: uint8 [facets]."""
        one = self._set(labels, condition)
        return np.array([one.accepts(*facet) for facet in self._all], dtype=np.uint8)

    def _set(self, labels: tuple[int, ...] | None, condition: Condition | None, number: int = 0) -> _Relation:
        bit = None if condition is None else self._bits[condition]
        return _Relation(number, None if labels is None else frozenset(labels), bit)

    def relation(self, labels: tuple[int, ...] | None, condition: Condition | None, *, either: bool) -> int:
        """Return the number, in the native monitor, of the facets that a query edge accepts."""
        if labels is None and condition is None:
            return self._native.relation(None, either)
        key = (labels, None if condition is None else self._bits[condition], either)
        if key not in self._relations:
            facets = np.flatnonzero(self.accepted(labels, condition)).tolist()
            number = self._native.relation(facets, either, next(self._growing))
            self._relations[key] = self._set(labels, condition, number)
        return self._relations[key].number

    def counted(self, bound: BoundPattern) -> BoundPattern:
        """Return a pattern whose query edges accept facets, as the graph has them now, and no conditions."""
        edges = []
        for edge in bound.edges:
            if edge.labels is not None or edge.where is not None:
                facets = tuple(np.flatnonzero(self.accepted(edge.labels, edge.where)).tolist())
                edge = replace(edge, labels=facets, where=None)
            edges.append(edge)
        return replace(bound, edges=tuple(edges))


def names_in(condition: Condition) -> set[str]:
    """Return the names of the attributes that a condition looks at."""
    match condition:
        case Not(inner):
            return names_in(inner)
        case AllOf(parts) | AnyOf(parts):
            return set().union(*map(names_in, parts))
        case Comparison(attribute=name) | OneOf(attribute=name) | IsMissing(attribute=name):
            return {name}
    raise AssertionError(condition)


def numbers_in(condition: Condition) -> set[str]:
    """Return the names of the attributes that a condition compares with numbers."""
    match condition:
        case Not(inner):
            return numbers_in(inner)
        case AllOf(parts) | AnyOf(parts):
            return set().union(*map(numbers_in, parts))
        case Comparison(name, _, value):
            return {name} if _is_number(value) else set()
        case OneOf(name, values):
            return {name} if any(map(_is_number, values)) else set()
    return set()


def _is_number(value: Value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def edge_conditions(pattern: Pattern) -> list[Condition]:
    """Return the different conditions of the edges of a pattern, of negated ones and other cases too."""
    cases = (pattern, *pattern.others) if isinstance(pattern, CasePattern) else (pattern,)
    conditions = [edge.where for one in cases for edge in one.edges]
    conditions += [edge.where for one in cases for edge in one.negated]
    return list(dict.fromkeys(one for one in conditions if one is not None))
