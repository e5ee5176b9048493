"""Conditions and columns drawn at random, and the plain meaning of a condition."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from motiflux.conditions import AllOf, AnyOf, Comparison, Condition, IsMissing, Not, OneOf, Operator

TINY = ["", "a", "ab", "b", "é", "\U0001f600"]
NUMBERS = st.sampled_from(
    [
        0,
        1,
        -1,
        3,
        2**53,
        2**53 + 1,
        -(2**53) - 1,
        2**63 - 1,
        -(2**63),
        0.5,
        -0.0,
        1.0,
        2.0**53,
        math.inf,
        -math.inf,
        math.nan,
        2**64,
        10**400,
        -(10**400),
        2**63,
        2.0**63,
    ]
)
INTEGERS = st.sampled_from([0, 1, -1, 3, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)])
FLOATS = st.sampled_from([0.0, -0.0, 1.0, 0.5, 2.0**53, 2.0**53 + 2, 2.0**63, math.inf, -math.inf, math.nan])
VALUES = {"i": INTEGERS, "f": FLOATS, "s": st.sampled_from(TINY), "b": st.booleans()}
ASKED = {"i": NUMBERS, "f": NUMBERS, "s": st.sampled_from([*TINY, "zz", "\ud800"]), "b": st.booleans()}
ORDERINGS = [operator for operator in Operator if operator.value in ("=", "<>", "<", "<=", ">", ">=")]


def columns(length: int) -> st.SearchStrategy[dict[str, list[Any]]]:
    """Draw a column of each kind, with missing values."""
    return st.fixed_dictionaries(
        {
            name: st.lists(st.none() | values, min_size=length, max_size=length)
            for name, values in VALUES.items()
        }
    )


@st.composite
def comparisons(draw: st.DrawFn) -> Condition:
    name = draw(st.sampled_from(sorted(VALUES)))
    form = draw(st.integers(0, 3))
    if form == 0:
        return IsMissing(name)
    if form == 1:
        return OneOf(name, tuple(draw(st.lists(ASKED[name], max_size=3))))
    return Comparison(
        name, draw(st.sampled_from(list(Operator) if name == "s" else ORDERINGS)), draw(ASKED[name])
    )


def conditions() -> st.SearchStrategy[Condition]:
    def combine(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
        several = st.lists(inner, max_size=3).map(tuple)
        return st.builds(Not, inner) | st.builds(AllOf, several) | st.builds(AnyOf, several)

    return st.recursive(comparisons(), combine, max_leaves=5)


def truth(condition: Condition, row: Mapping[str, Any]) -> bool | None:
    """Say whether a condition holds of one row; None is unknown."""
    match condition:
        case Not(inner):
            found = truth(inner, row)
            return None if found is None else not found
        case AllOf(parts):
            found_all = [truth(part, row) for part in parts]
            return False if False in found_all else None if None in found_all else True
        case AnyOf(parts):
            found_all = [truth(part, row) for part in parts]
            return True if True in found_all else None if None in found_all else False
        case IsMissing(name):
            return is_missing(row[name])
        case OneOf(name, values):
            if is_missing(row[name]):
                return None
            return truth(AnyOf(tuple(Comparison(name, Operator.EQUAL, value) for value in values)), row)
        case Comparison(name, operator, value):
            if is_missing(row[name]) or is_missing(value):
                return None
            return bool(PLAIN[operator](row[name], value))
    raise AssertionError(condition)


def is_missing(value: Any) -> bool:
    return value is None or value != value


PLAIN = {
    Operator.EQUAL: lambda a, b: a == b,
    Operator.UNEQUAL: lambda a, b: a != b,
    Operator.LESS: lambda a, b: a < b,
    Operator.AT_MOST: lambda a, b: a <= b,
    Operator.GREATER: lambda a, b: a > b,
    Operator.AT_LEAST: lambda a, b: a >= b,
    Operator.STARTS_WITH: lambda a, b: a.startswith(b),
    Operator.ENDS_WITH: lambda a, b: a.endswith(b),
    Operator.CONTAINS: lambda a, b: b in a,
}
