"""The one form in which patterns keep comparisons, so that equal comparisons are equal patterns."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from operator import index
from typing import Any

import numpy as np

from motiflux.comparisons import (
    MIRRORED,
    Duration,
    Element,
    Offset,
    Operand,
    PatternComparison,
    Relation,
    Within,
)
from motiflux.conditions import Operator
from motiflux.errors import PatternError
from motiflux.pattern.elements import QueryEdge, QueryVertex
from motiflux.times import duration_of, parse_duration

_LARGEST_FACTOR = 1 << 61
_LARGEST_OFFSET = 1 << 124
"""Limits of the whole numbers m, n and c of a comparison written as ``m * left < n * right + c``.

So the sides have at most 128 bits for values of 64 bits.
"""
_MOST_EXPONENT = 60


def compared_edges(comparisons: Iterable[PatternComparison]) -> set[int]:
    """Return the positions of the edges that relations name."""
    return {
        operand.position
        for one in comparisons
        if isinstance(one, Relation)
        for operand in (one.left, one.right)
        if operand.is_edge
    }


def with_names(
    edges: Sequence[QueryEdge], vertices: Sequence[QueryVertex], comparisons: Sequence[PatternComparison]
) -> tuple[QueryEdge, ...]:
    """Return the edges with a name for each that a relation names: text cannot speak of others."""
    nameless = {at for at in compared_edges(comparisons) if 0 <= at < len(edges) and not edges[at].name}
    if not nameless:
        return tuple(edges)
    taken = {edge.name for edge in edges} | {vertex.name for vertex in vertices}
    unused = (name for number in range(len(taken) + len(edges)) if (name := f"e{number}") not in taken)
    return tuple(
        replace(edge, name=next(unused)) if at in nameless else edge for at, edge in enumerate(edges)
    )


def moved(comparisons: Iterable[PatternComparison], positions: Sequence[int]) -> list[PatternComparison]:
    """Return the comparisons for edges of which edge i now is at ``positions[i]``."""

    def of(operand: Operand) -> Operand:
        if operand.is_edge and 0 <= operand.position < len(positions):
            return replace(operand, position=positions[operand.position])
        return operand

    return [
        replace(one, left=of(one.left), right=of(one.right)) if isinstance(one, Relation) else one
        for one in comparisons
    ]


def checked(
    comparisons: Iterable[Any],
) -> list[PatternComparison]:
    """Return `comparisons` with plain values, each in its one form.

    Raises
    ------
    PatternError
        One is no comparison, or has parts that do not fit together.
    """
    found: list[PatternComparison] = []
    for one in comparisons:
        match one:
            case Relation():
                found.append(_relation(one))
            case Within():
                found.append(_within(one))
            case _:
                raise PatternError(
                    f"comparisons: expected a comparison of motiflux.comparisons, found {one!r}"
                )
    return found


def normal_order(
    comparisons: Iterable[PatternComparison], num_vertices: int, num_edges: int
) -> tuple[PatternComparison, ...]:
    """Return the comparisons, each once and in order: relations before spans.

    Raises
    ------
    PatternError
        One names a vertex or an edge that is not there.
    """
    relations: dict[Relation, None] = {}
    spans: dict[str, Within] = {}
    for one in comparisons:
        if isinstance(one, Relation):
            _check_positions(one, num_vertices, num_edges)
            relations[_turned(one)] = None
        else:
            spans[one.attribute] = _narrower(spans.get(one.attribute, one), one)
    return (*sorted(relations, key=_key), *(spans[name] for name in sorted(spans)))


def number_of(value: object, what: str) -> Fraction:
    """Return a number exactly; a float is the decimal number that it is shown as.

    Raises
    ------
    PatternError
        It is none, or too large or too fine to be compared exactly.
    """
    if isinstance(value, (float, np.floating)) and math.isfinite(value):
        value = Decimal(repr(float(value)))
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) <= _MOST_EXPONENT:
        return Fraction(value)
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return Fraction(int(value))
    if isinstance(value, Fraction):
        return value
    raise PatternError(f"{what}: expected a number of ordinary size, found {value!r}")


def offset_of(value: object, what: str) -> Offset:
    """Return a number, or a duration given as text, by Python or by NumPy.

    Raises
    ------
    PatternError
        It is neither.
    """
    if isinstance(value, Duration):
        return Duration(index(value.nanoseconds))
    nanoseconds = None
    if isinstance(value, str):
        nanoseconds = parse_duration(value)
    elif isinstance(value, (dt.timedelta, np.timedelta64)):
        nanoseconds = duration_of(value)
    if nanoseconds is not None:
        return Duration(nanoseconds)
    if isinstance(value, (str, dt.timedelta, np.timedelta64)):
        raise PatternError(f"{what}: expected a number or a duration such as '1h30m', found {value!r}")
    return number_of(value, what)


def whole(relation: Relation) -> tuple[int, int, int]:
    """Return whole numbers m > 0, n, c such that the relation is ``m * left operator n * right + c``."""
    factor = relation.factor
    offset = relation.offset
    c = Fraction(offset.nanoseconds) if isinstance(offset, Duration) else offset
    m = math.lcm(factor.denominator, c.denominator)
    return m, int(factor * m), int(c * m)


def _relation(one: Relation) -> Relation:
    try:
        operator = Operator(one.operator)
    except ValueError:
        operator = Operator.CONTAINS
    if operator not in MIRRORED:
        known = ", ".join(MIRRORED)
        raise PatternError(f"comparisons: expected an operator ({known}), found {one.operator!r}")
    left, right = _operand(one.left), _operand(one.right)
    factor, offset = number_of(one.factor, "factor"), offset_of(one.offset, "offset")
    if factor == 0:
        raise PatternError("factor: expected a number that is not 0")
    if isinstance(offset, Duration):
        if factor != 1:
            raise PatternError(f"factor: expected 1 beside a duration, found {factor}")
        if offset.nanoseconds == 0:
            offset = Fraction(0)
    if left == right:
        raise PatternError("comparisons: expected two different attributes, found one twice")
    found = Relation(left, operator, right, factor, offset)
    m, n, c = whole(found)
    if max(m, abs(n)) > _LARGEST_FACTOR or abs(c) > _LARGEST_OFFSET:
        raise PatternError(
            f"comparisons: expected a factor and an offset of at most 18 digits, found {factor} and {offset}"
        )
    return found


def _operand(one: object) -> Operand:
    if not isinstance(one, Operand):
        raise PatternError(f"comparisons: expected an Operand, found {one!r}")
    try:
        element, position = Element(one.element), index(one.position)
    except (ValueError, TypeError):
        raise PatternError(f"comparisons: expected a vertex or an edge by position, found {one!r}") from None
    if one.attribute is None:
        if element is Element.EDGE:
            raise PatternError("comparisons: expected an attribute of an edge, which has no id")
    elif not isinstance(one.attribute, str) or not one.attribute:
        raise PatternError(f"comparisons: expected the name of an attribute, found {one.attribute!r}")
    return Operand(element, position, None if one.attribute is None else str(one.attribute))


def _within(one: Within) -> Within:
    if not isinstance(one.attribute, str) or not one.attribute:
        raise PatternError(f"within: expected the name of an attribute, found {one.attribute!r}")
    span = offset_of(one.span, "within")
    length = span.nanoseconds if isinstance(span, Duration) else span
    if not 0 <= length <= _LARGEST_OFFSET or max(Fraction(length).denominator, 0) > _LARGEST_FACTOR:
        raise PatternError(f"within: expected a span that is not negative, found {one.span!r}")
    return Within(span, str(one.attribute))


def _narrower(first: Within, second: Within) -> Within:
    a, b = first.span, second.span
    if isinstance(a, Duration) and isinstance(b, Duration):
        return min(first, second, key=lambda one: one.span.nanoseconds)  # type: ignore[union-attr]
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return first if a <= b else second
    raise PatternError(f"within: expected a number or a duration for {first.attribute!r}, found both")


def _check_positions(one: Relation, num_vertices: int, num_edges: int) -> None:
    for operand in (one.left, one.right):
        most = (num_edges if operand.is_edge else num_vertices) - 1
        if not 0 <= operand.position <= most:
            plural = "edges" if operand.is_edge else "vertices"
            raise PatternError(f"comparisons: expected {plural} 0 to {most}, found {operand.position}")


def _turned(one: Relation) -> Relation:
    """Return the relation with the smaller operand at the left, where the sides can be exchanged exactly."""
    if abs(one.factor) != 1 or one.left.key <= one.right.key:
        return one
    if one.factor == -1:
        return replace(one, left=one.right, right=one.left)
    offset = one.offset
    turned = Duration(-offset.nanoseconds) if isinstance(offset, Duration) else -offset
    return Relation(one.right, MIRRORED[one.operator], one.left, one.factor, turned)


def _key(one: Relation) -> tuple[Any, ...]:
    offset = one.offset
    length = Fraction(offset.nanoseconds) if isinstance(offset, Duration) else offset
    return (
        one.left.key,
        one.right.key,
        one.operator.value,
        one.factor,
        isinstance(offset, Duration),
        length,
    )
