"""The syntax tree of pattern text, with names that are not yet resolved.

Every ``start`` is a position in the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from motiflux.conditions import Operator, Value


class TextError(Exception):
    """An error in the text, and its position."""

    def __init__(self, message: str, position: int) -> None:
        self.message = message
        self.position = position
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name or a label: its text, and its value as a label."""

    name: str
    label: int | str
    start: int


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels after the colon; None for the star."""

    choice: frozenset[int | str] | None
    start: int


@dataclass(frozen=True, slots=True)
class Literal:
    """A value; None for NULL. `source` is how it is written."""

    value: Value | None
    source: str
    start: int


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of the element `variable`."""

    variable: Symbol
    name: str
    start: int


@dataclass(frozen=True, slots=True)
class Call:
    """A function, its arguments, and the labels after them."""

    function: str
    arguments: tuple[Operand, ...]
    start: int
    labels: Labels | None = None


@dataclass(frozen=True, slots=True)
class Length:
    """A duration, in nanoseconds. `source` is how it is written."""

    nanoseconds: int
    source: str
    start: int


@dataclass(frozen=True, slots=True)
class Product:
    """Operands that are multiplied, and the ones by which the result is divided (``True``)."""

    factors: tuple[tuple[bool, Operand], ...]
    start: int


@dataclass(frozen=True, slots=True)
class Total:
    """Terms that are added, and the ones that are subtracted (``True``)."""

    terms: tuple[tuple[bool, Operand], ...]
    start: int


Operand: TypeAlias = Symbol | Attribute | Call | Literal | Length | Product | Total


@dataclass(frozen=True, slots=True)
class Compared:
    """Operands with an operator between each two; a single operand has no operator."""

    operands: tuple[Operand, ...]
    operators: tuple[Operator, ...]
    start: int
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Among:
    """Whether the operand is one of the values."""

    operand: Operand
    values: tuple[Literal, ...]
    start: int
    depth: int = 1


@dataclass(frozen=True, slots=True)
class NullTest:
    """Whether the operand has a value (`negated`) or has none."""

    operand: Operand
    negated: bool
    start: int
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Negated:
    """NOT."""

    inner: Test
    start: int
    depth: int


@dataclass(frozen=True, slots=True)
class Joined:
    """AND (`every`) or OR of tests; no part is joined the same way."""

    every: bool
    parts: tuple[Test, ...]
    start: int
    depth: int


@dataclass(frozen=True, slots=True)
class NegatedTest:
    """NOT before a path, in a condition."""

    path: NegatedPath
    start: int
    depth: int = 1


Test: TypeAlias = Compared | Among | NullTest | Negated | Joined | NegatedTest


@dataclass(frozen=True, slots=True)
class LengthText:
    """The least and the greatest number of edges of a path; None where no number is written."""

    least: int | None
    most: int | None
    start: int


@dataclass(frozen=True, slots=True)
class Details:
    """The content of the parentheses of a vertex or of the brackets of an edge."""

    symbol: Symbol | None
    labels: Labels | None
    properties: tuple[tuple[str, Literal], ...]
    where: Test | None
    length: LengthText | None = None


@dataclass(frozen=True, slots=True)
class VertexText:
    """A mention of a vertex."""

    details: Details
    start: int


@dataclass(frozen=True, slots=True)
class EdgeText:
    """An edge between the vertices before and after it, or a path; `leftward` turns it round."""

    details: Details
    start: int
    directed: bool | None
    leftward: bool = False


PathParts: TypeAlias = "tuple[VertexText | EdgeText, ...]"
"""Vertices, and the edges between them."""


@dataclass(frozen=True, slots=True)
class PathMark:
    """The name before a path, and whether its paths of variable length may repeat vertices."""

    name: Symbol | None
    walks: bool
    start: int


@dataclass(frozen=True, slots=True)
class OptionalText:
    """A path that need not be there, and its condition."""

    path: PathParts
    where: Test | None
    start: int


@dataclass(frozen=True, slots=True)
class NegatedPath:
    """NOT before a path: vertices and the edges between them, of which there should be one."""

    path: tuple[VertexText | EdgeText, ...]
    start: int


@dataclass(frozen=True, slots=True)
class WithinText:
    """A span over all edges, and the attribute if it is named."""

    span: Literal | Length
    attribute: str | None
    start: int


@dataclass(frozen=True, slots=True)
class ReturnText:
    """The vertices after RETURN DISTINCT, and the condition after HAVING."""

    names: tuple[Symbol, ...]
    having: Test | None
    start: int


@dataclass(frozen=True, slots=True)
class PatternText:
    """The paths, the condition after WHERE, spans, optional and negated paths, and what is returned.

    `marks` has an entry for each path, or is empty.
    """

    paths: tuple[PathParts, ...]
    where: Test | None
    spans: tuple[WithinText, ...] = ()
    marks: tuple[PathMark | None, ...] = ()
    optionals: tuple[OptionalText, ...] = ()
    negated: tuple[NegatedPath, ...] = ()
    returned: ReturnText | None = None
