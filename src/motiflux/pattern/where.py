"""The one form in which patterns keep conditions, so that equal conditions are equal patterns.

Nested ``AllOf`` and ``AnyOf`` are made flat, what they have twice is left out, single ones are unwrapped, and
values are plain Python values. Their order is that of the text, but makes no difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from operator import index
from typing import SupportsIndex

import numpy as np

from motiflux.conditions import (
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Degree,
    IsMissing,
    Not,
    OneOf,
    Operator,
    Value,
)
from motiflux.errors import PatternError
from motiflux.times import MomentError, format_moment, is_moment, moment_of

MAX_CONDITION_DEPTH = 50
"""How deep conditions may be nested."""

TEXT_OPERATORS = frozenset({Operator.STARTS_WITH, Operator.ENDS_WITH, Operator.CONTAINS})
"""Operators that compare with strings only."""


def normal_form(condition: Condition | None) -> Condition | None:
    """Return `condition` in the form that patterns keep.

    Raises
    ------
    PatternError
        It is no condition, compares with something that is no value (NaN among them), joins no conditions at
        all, or is nested too deep.
    """
    return None if condition is None else _normal(condition, MAX_CONDITION_DEPTH)


def has_degree(condition: Condition) -> bool:
    """Return whether a part of a condition is about the degree of a vertex."""
    match condition:
        case AllOf(parts) | AnyOf(parts):
            return any(map(has_degree, parts))
        case Not(inner):
            return has_degree(inner)
    return isinstance(condition, Degree)


def joined(conditions: Iterable[Condition]) -> Condition | None:
    """Return the condition that all of `conditions` hold; None if there are none."""
    parts = tuple(conditions)
    return normal_form(AllOf(parts) if len(parts) > 1 else parts[0]) if parts else None


def _normal(condition: Condition, levels_left: int) -> Condition:
    if levels_left == 0:
        raise PatternError(f"where: expected conditions nested at most {MAX_CONDITION_DEPTH} deep")
    match condition:
        case Comparison():
            return _comparison(condition)
        case OneOf():
            values = tuple(_value(value) for value in condition.values)
            return OneOf(_attribute(condition.attribute), values)
        case IsMissing():
            return IsMissing(_attribute(condition.attribute))
        case Degree():
            return _degree(condition)
        case Not():
            return Not(_normal(condition.condition, levels_left - 1))
        case AllOf() | AnyOf():
            return _flat(condition, levels_left)
    raise PatternError(f"where: expected a condition of motiflux.conditions, found {condition!r}")


def _flat(condition: AllOf | AnyOf, levels_left: int) -> Condition:
    kind = type(condition)
    parts: list[Condition] = []
    for part in condition.conditions:
        normal = _normal(part, levels_left - 1)
        parts.extend(
            normal.conditions if isinstance(normal, (AllOf, AnyOf)) and type(normal) is kind else [normal]
        )
    if not parts:
        raise PatternError(f"where: expected at least one condition in {kind.__name__}, found none")
    parts = list(dict.fromkeys(parts))
    return parts[0] if len(parts) == 1 else replace(condition, conditions=tuple(parts))


def _comparison(condition: Comparison) -> Comparison:
    try:
        operator = Operator(condition.operator)
    except ValueError:
        known = ", ".join(Operator)
        raise PatternError(f"where: expected an operator ({known}), found {condition.operator!r}") from None
    value = _value(condition.value)
    if operator in TEXT_OPERATORS and not isinstance(value, str):
        raise PatternError(f"where: expected a string after {operator}, found {value!r}")
    return Comparison(_attribute(condition.attribute), operator, value)


def _degree(condition: Degree) -> Degree:
    direction, value = condition.direction, condition.value
    if direction not in (None, "in", "out"):
        raise PatternError(
            f"where: expected the direction 'in', 'out' or None of a degree, found {direction!r}"
        )
    try:
        operator = Operator(condition.operator)
    except ValueError:
        operator = Operator.CONTAINS
    if operator in TEXT_OPERATORS:
        found = condition.operator
        raise PatternError(f"where: expected an operator such as >= of a degree, found {found!r}")
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise PatternError(f"where: expected an integer beside a degree, found {value!r}")
    labels = condition.labels
    if labels is not None:
        labels = frozenset(one if isinstance(one, str) else index(one) for one in labels)
        if not labels:
            raise PatternError("where: expected at least one label of a degree, found none")
    return Degree(direction, labels, operator, index(value))


def _attribute(attribute: object) -> str:
    if not isinstance(attribute, str):
        raise PatternError(f"where: expected the name of an attribute, found {attribute!r}")
    return str(attribute)


def _value(value: object) -> Value:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, str):
        return str(value)
    if is_moment(value):
        return _moment(value)
    if isinstance(value, (float, np.floating)) and not math.isnan(value):
        return float(value)
    if isinstance(value, SupportsIndex) and not isinstance(value, np.ndarray):
        return index(value)
    raise PatternError(
        f"where: expected an integer, a number, a string, a boolean or a datetime, found {value!r}"
    )


def _moment(value: object) -> str:
    """Return a datetime as text: conditions hold it so, and compare it exactly."""
    try:
        nanoseconds, zoned = moment_of(value)
        return format_moment(nanoseconds, utc=zoned)
    except (MomentError, ValueError, OverflowError) as error:
        raise PatternError(f"where: expected a datetime of the years 1 to 9999, found {value!r}") from error
