"""Comparisons between attributes of several query vertices and edges: how patterns state them.

A condition (`motiflux.conditions`) concerns one vertex or edge. A comparison relates two, or with `Within`
all query edges. Each copy of a data edge is judged by itself: an embedding counts if for each query edge a
copy can be chosen such that all comparisons, and the conditions of the edges, hold for the chosen copies
together. A comparison that looks at a missing value (null or NaN) is false.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TypeAlias

from motiflux.conditions import Operator


class Element(StrEnum):
    """The kind of the element that an attribute belongs to."""

    VERTEX = "vertex"
    EDGE = "edge"


@dataclass(frozen=True, slots=True)
class Operand:
    """An attribute of a query vertex or a query edge, or the id of a vertex.

    Parameters
    ----------
    element
        Whether `position` is a position in `Pattern.vertices` or in `Pattern.edges`.
    position
        The position of the element.
    attribute
        The name of the attribute; None: the external id of the vertex.
    """

    element: Element
    position: int
    attribute: str | None = None

    @property
    def is_edge(self) -> bool:
        """Whether the element is a query edge."""
        return self.element is Element.EDGE

    @property
    def key(self) -> tuple[bool, int, str]:
        """A key to sort by: vertices first; the id before attributes, whose names are not empty."""
        return self.is_edge, self.position, self.attribute or ""


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time, in nanoseconds of any sign."""

    nanoseconds: int


Offset: TypeAlias = Fraction | Duration
"""A number, or a duration for datetimes."""


@dataclass(frozen=True, slots=True)
class Relation:
    """``left operator factor * right + offset``.

    Parameters
    ----------
    left, right
        Different operands.
    operator
        One of the first six: equality and order.
    factor
        Not zero; 1 for strings, booleans, datetimes and ids.
    offset
        A number, for numbers; a `Duration`, for datetimes; 0 for none.
    """

    left: Operand
    operator: Operator
    right: Operand
    factor: Fraction = Fraction(1)
    offset: Offset = Fraction(0)


@dataclass(frozen=True, slots=True)
class Within:
    """The largest value of the attribute on all query edges minus the smallest is at most `span`.

    Parameters
    ----------
    span
        A number, for numbers; a `Duration`, for datetimes. Not negative.
    attribute
        The name of the attribute of edges.
    """

    span: Offset
    attribute: str = "time"


PatternComparison: TypeAlias = Relation | Within

MIRRORED = {
    Operator.EQUAL: Operator.EQUAL,
    Operator.UNEQUAL: Operator.UNEQUAL,
    Operator.LESS: Operator.GREATER,
    Operator.AT_MOST: Operator.AT_LEAST,
    Operator.GREATER: Operator.LESS,
    Operator.AT_LEAST: Operator.AT_MOST,
}
"""The operator that says the same of exchanged sides."""

NEGATED = {
    Operator.EQUAL: Operator.UNEQUAL,
    Operator.UNEQUAL: Operator.EQUAL,
    Operator.LESS: Operator.AT_LEAST,
    Operator.AT_MOST: Operator.GREATER,
    Operator.GREATER: Operator.AT_MOST,
    Operator.AT_LEAST: Operator.LESS,
}
"""The operator that says the opposite, where no value is missing."""
