"""Conditions on the attributes of one vertex or edge: how patterns state them and graphs evaluate them.

A condition is true, false or unknown; it is unknown where it looks at a missing value (null or NaN), and only
what is true matches. As in SQL, ``NOT`` leaves unknown as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

Value: TypeAlias = int | float | str | bool
"""What an attribute is compared with."""


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


@dataclass(frozen=True, slots=True)
class Comparison:
    """The attribute, compared with one value."""

    attribute: str
    operator: Operator
    value: Value


@dataclass(frozen=True, slots=True)
class OneOf:
    """The attribute is one of `values`."""

    attribute: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class IsMissing:
    """The attribute has no value there. Never unknown."""

    attribute: str


@dataclass(frozen=True, slots=True)
class Not:
    """The condition is false."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every condition is true."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Some condition is true."""

    conditions: tuple[Condition, ...]


Condition: TypeAlias = Comparison | OneOf | IsMissing | Not | AllOf | AnyOf
