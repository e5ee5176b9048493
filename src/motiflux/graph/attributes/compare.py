"""A column compared with a value, exactly: where that is true and where it is false.

NumPy rounds 64-bit integers when it compares them with floats; here integers are compared exactly.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from motiflux.conditions import Operator, Value
from motiflux.graph.attributes.columns import Column, Kind
from motiflux.interop.strings import StringTable
from motiflux.times import MomentError, is_moment, moment_of, parse_moment

Mask: TypeAlias = NDArray[np.bool_]
Judgement: TypeAlias = tuple[Mask, Mask]
"""Where something is true and where it is false; it is unknown where it is neither."""

_ORDERINGS = {
    Operator.LESS: np.less,
    Operator.AT_MOST: np.less_equal,
    Operator.GREATER: np.greater,
    Operator.AT_LEAST: np.greater_equal,
}
_OPPOSITE = {Operator.GREATER: Operator.AT_MOST, Operator.AT_LEAST: Operator.LESS}


def compare(column: Column, operator: Operator, value: Value) -> Judgement:
    """Judge a comparison with a value of the column's kind; unknown where a side is missing or NaN."""
    if operator is Operator.EQUAL:
        return compare_any(column, (value,))
    if operator is Operator.UNEQUAL:
        holds, fails = compare_any(column, (value,))
        return fails, holds
    value = _plain(value, column)
    if column.kind is Kind.NOTHING or _is_nan(value):
        return _nowhere(column), _nowhere(column)
    if isinstance(value, str):
        assert column.strings is not None
        holds = _compare_strings(column.strings, operator, value)[column.data]
    elif isinstance(value, bool):
        holds = _ORDERINGS[operator](column.data, np.bool_(value))
    elif column.kind is Kind.INTEGER or column.times is not None:
        holds = _compare_integers(column.data, operator, value)
    else:
        holds = _compare_floats(column.data.astype(np.float64, copy=False), operator, value)
    missing = column.missing()
    return holds & ~missing, ~(holds | missing)


def compare_any(column: Column, values: Sequence[Value]) -> Judgement:
    """Judge whether the column equals one of some values of its kind."""
    if column.kind is Kind.NOTHING:
        return _nowhere(column), _nowhere(column)
    present = ~column.missing()
    plain = (_plain(value, column) for value in values)
    wanted = [value for value in plain if not _is_nan(value)]
    holds = _equals_any(column, wanted) & present
    return holds, present & ~holds if len(wanted) == len(values) else _nowhere(column)


def _nowhere(column: Column) -> Mask:
    return np.zeros(len(column), dtype=bool)


def _plain(value: Value, column: Column) -> Value:
    """Return a value as Python's; the nanoseconds of datetimes where the column holds these."""
    if column.times is not None:
        return moment_for(column, value)
    return value.item() if isinstance(value, np.generic) else value


def moment_for(column: Column, value: object) -> int:
    """Return the nanoseconds, of any size, of a datetime that a column of datetimes is compared with.

    Text without a time zone is in UTC where the column has one.

    Raises
    ------
    ValueError
        It is no datetime, or has a time zone where the column has none; names the expected kind.
    """
    try:
        found = (
            moment_of(value) if is_moment(value) else parse_moment(value) if isinstance(value, str) else None
        )
    except MomentError as fault:
        raise ValueError(fault.message) from None
    if found is None:
        raise ValueError(
            f"expected text such as '2024-03-01' or '2024-03-01T12:00:00' to compare its {column.kind.value} "
            f"with, found {value!r}"
        )
    nanoseconds, zoned = found
    if zoned and column.times is Kind.DATETIME:
        raise ValueError(f"expected no time zone, as its datetimes have none, found {value!r}")
    return nanoseconds


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _equals_any(column: Column, values: Iterable[Any]) -> Mask:
    if column.strings is not None:
        return np.asarray(_among(column.strings, values)[column.data])
    if column.kind is Kind.BOOLEAN:
        return np.isin(column.data, list(values))
    if column.kind is Kind.INTEGER or column.times is not None:
        limits = np.iinfo(column.data.dtype)
        whole = [int(value) for value in values if isinstance(value, int) or value.is_integer()]
        within = [value for value in whole if limits.min <= value <= limits.max]
        return np.isin(column.data, np.array(within, dtype=column.data.dtype))
    exact = [_largest_float(value) for value in values if _largest_float(value) == value]
    return np.isin(column.data.astype(np.float64, copy=False), exact)


def _compare_integers(data: NDArray[Any], operator: Operator, value: float) -> Mask:
    if operator in _OPPOSITE:
        return ~_compare_integers(data, _OPPOSITE[operator], value)
    limits = np.iinfo(data.dtype)
    if not isinstance(value, int) and math.isinf(value):
        return np.full(len(data), value > 0)
    bound = math.ceil(value) - 1 if operator is Operator.LESS else math.floor(value)
    if not limits.min <= bound <= limits.max:
        return np.full(len(data), bound > limits.max)
    return np.asarray(data <= data.dtype.type(bound))


def _compare_floats(data: NDArray[np.float64], operator: Operator, value: float) -> Mask:
    if operator in _OPPOSITE:
        return ~_compare_floats(data, _OPPOSITE[operator], value)
    below = _largest_float(value)
    if below == value:
        return np.asarray(_ORDERINGS[operator](data, below))
    return np.asarray(data <= below)  # no float lies between the two


def _largest_float(value: float) -> float:
    """Return the largest float that is not greater than a number."""
    try:
        nearest = float(value)
    except OverflowError:  # an integer beyond all floats
        nearest = math.inf if value > 0 else -math.inf
    return math.nextafter(nearest, -math.inf) if nearest > value else nearest


def _compare_strings(table: StringTable, operator: Operator, value: str) -> Mask:
    """Return of which strings of a table a comparison is true."""
    if operator is Operator.CONTAINS:
        return np.fromiter((value in text for text in table), dtype=bool, count=len(table))
    if operator is Operator.ENDS_WITH:
        return np.fromiter((text.endswith(value) for text in table), dtype=bool, count=len(table))
    first, end = 0, len(table)
    if operator is Operator.LESS:
        end = bisect_left(table, value)
    elif operator is Operator.AT_MOST:
        end = bisect_right(table, value)
    elif operator is Operator.GREATER:
        first = bisect_right(table, value)
    else:
        first = bisect_left(table, value)
    if operator is Operator.STARTS_WITH:
        end = bisect_left(table, True, lo=first, key=lambda text: not text.startswith(value))
    holds = np.zeros(len(table), dtype=bool)
    holds[first:end] = True
    return holds


def _among(table: StringTable, values: Iterable[str]) -> Mask:
    """Return which strings of a table are among `values`."""
    holds = np.zeros(len(table), dtype=bool)
    for value in values:
        place = bisect_left(table, value)
        if place < len(table) and table[place] == value:
            holds[place] = True
    return holds
