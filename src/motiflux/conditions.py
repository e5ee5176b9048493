"""Conditions on the attributes of one vertex or edge: how patterns state them and graphs evaluate them.

A condition is true, false or unknown; it is unknown where it looks at a missing value (null or NaN), and only
what is true matches. As in SQL, ``NOT`` leaves unknown as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

Value: TypeAlias = int | float | str | bool
"""The value that an attribute is compared with; datetimes are text, such as ``2024-03-01T12:00:00Z``.

Patterns also take the datetimes and dates of Python and NumPy, and keep them as this text.
"""


class Operator(StrEnum):
    """How an attribute is compared with a value; the last three are for strings."""

    EQUAL = "="
    UNEQUAL = "<>"
    LESS = "<"
    AT_MOST = "<="
    GREATER = ">"
    AT_LEAST = ">="
    STARTS_WITH = "STARTS WITH"
    ENDS_WITH = "ENDS WITH"
    CONTAINS = "CONTAINS"


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """The attribute, compared with one value. Equal to another one only if the values' types are too."""

    attribute: str
    operator: Operator
    value: Value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Comparison) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        # In Python 1, 1.0 and True are equal; a column of numbers tells them apart.
        return self.attribute, self.operator, type(self.value), self.value


@dataclass(frozen=True, slots=True, eq=False)
class OneOf:
    """The attribute is one of `values`. Equal to another one of the same values, and types, in any order."""

    attribute: str
    values: tuple[Value, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OneOf) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.attribute, frozenset((type(value), value) for value in self.values)


@dataclass(frozen=True, slots=True)
class IsMissing:
    """The attribute has no value there. Never unknown."""

    attribute: str


@dataclass(frozen=True, slots=True)
class Degree:
    """The number of edges at a vertex, compared with a number; for vertices only. Never unknown.

    Edges are those of `Graph.to_edges`: parallel edges of different labels each count, copies of one once.

    Parameters
    ----------
    direction
        ``"in"`` or ``"out"``: arcs that lead there, or from there, in a directed graph; None: all edges.
    labels
        The labels that edges may have; None: any.
    operator, value
        One of the first six operators, and an integer.
    """

    direction: str | None
    labels: frozenset[int | str] | None
    operator: Operator
    value: int


@dataclass(frozen=True, slots=True)
class Not:
    """The condition is false."""

    condition: Condition


@dataclass(frozen=True, slots=True, eq=False)
class _Several:
    """Conditions that are joined. Equal to others that are joined in the same way, in any order."""

    conditions: tuple[Condition, ...]

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        assert isinstance(other, _Several)
        return all(part in other.conditions for part in self.conditions) and all(
            part in self.conditions for part in other.conditions
        )

    def __hash__(self) -> int:
        return hash((type(self), frozenset(self.conditions)))


@dataclass(frozen=True, slots=True, eq=False)
class AllOf(_Several):
    """Every condition is true. Equal to another one of the same conditions in any order."""


@dataclass(frozen=True, slots=True, eq=False)
class AnyOf(_Several):
    """Some condition is true. Equal to another one of the same conditions in any order."""


Condition: TypeAlias = Comparison | OneOf | IsMissing | Degree | Not | AllOf | AnyOf
