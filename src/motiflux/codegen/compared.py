"""Plans that compare attributes: the structures of ``compared/network.hpp``, and their limits."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from motiflux.codegen import layout
from motiflux.conditions import Operator
from motiflux.plan.comparisons.bound import BoundComparisons
from motiflux.types import MAX_PATTERN_VERTICES

_u8, _u16, _u32, _u64, _i64 = (
    ctypes.c_uint8,
    ctypes.c_uint16,
    ctypes.c_uint32,
    ctypes.c_uint64,
    ctypes.c_int64,
)
MOST_VARIABLES, MOST_COMPARISONS, MOST_COLUMNS = 32, 64, 64
"""``compared::kMostVariables`` and so on."""
MOST_COPIES = 2**32 - 1
"""Places of copies have 32 bits."""
NO_SOURCE = 255
"""``compared::kNoSource``."""
PLAIN, INTEGERS, FLOATS = 0, 1, 2
"""``compared::Form``."""
OPERATORS = {
    Operator.EQUAL: 0,
    Operator.UNEQUAL: 1,
    Operator.LESS: 2,
    Operator.AT_MOST: 3,
    Operator.GREATER: 4,
    Operator.AT_LEAST: 5,
}
"""``compared::Operator``."""


class Range(ctypes.Structure):
    """``compared::Range``."""

    __slots__ = ()
    _fields_ = [("first", _u32), ("last", _u32)]


class Variable(ctypes.Structure):
    """``compared::Variable``."""

    __slots__ = ()
    _fields_ = [
        ("offsets", _u64),
        ("neighbors", _u64),
        ("starts", _u64),
        ("row_values", _u64),
        ("row_others", _u64),
        ("row_pairs", _u64),
        ("row_previous", _u64),
        ("missing", _u64),
        ("from_", _u8),
        ("to", _u8),
        ("is_vertex", _u8),
        ("main", _u8),
        ("source", _u8),
        ("filtered", _u8),
        ("unused", _u8 * 2),
    ]


class Comparison(ctypes.Structure):
    """``compared::Comparison``."""

    __slots__ = ()
    _fields_ = [
        ("numbers", _i64 * 4),
        ("left", _u8),
        ("right", _u8),
        ("left_column", _u8),
        ("right_column", _u8),
        ("op", _u8),
        ("form", _u8),
        ("monotone", _u8),
        ("rises", _u8),
    ]


class Span(ctypes.Structure):
    """``compared::Span``."""

    __slots__ = ()
    _fields_ = [("length", _u64), ("float_length", ctypes.c_double), ("there", _u8), ("floats", _u8)]


class Network(ctypes.Structure):
    """``compared::Network``."""

    __slots__ = ()
    _fields_ = [
        ("variables", Variable * MOST_VARIABLES),
        ("comparisons", Comparison * MOST_COMPARISONS),
        ("columns", _u64 * MOST_COLUMNS),
        ("span", Span),
        ("most_trials", _u64),
        ("ranges_at", _u32),
        ("matched", _u8 * MAX_PATTERN_VERTICES),
        ("judged", _u8 * (MOST_VARIABLES + 1)),
        ("all_monotone", _u8),
        ("both_ends", _u8),
        ("windows", _u8),
        ("stored_at", _u16 * MAX_PATTERN_VERTICES),
    ]


class RuntimeArgs(ctypes.Structure):
    """``match::ComparedArgs<match::RuntimePlan>``."""

    __slots__ = ()
    _fields_ = [("plan", layout.RuntimePlan), ("task", layout.Task), ("network", Network)]


@lru_cache(maxsize=256)
def static_args(levels: int, sources: int) -> type[ctypes.Structure]:
    """Return ``match::ComparedArgs<match::StaticPlan<Shape>>`` for a shape of these sizes."""
    plan = dict(layout.static_args(levels, sources)._fields_)["plan"]  # type: ignore[arg-type]
    fields = [("plan", plan), ("task", layout.Task), ("network", Network)]
    return type("StaticArgs", (ctypes.Structure,), {"_fields_": fields})


@dataclass(frozen=True, slots=True)
class PackedNetwork:
    """A network of a plan, and the ranges that a group of lanes stores: all of them in shared memory."""

    network: Network
    ranges: int

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory of a group for its ranges."""
        return self.ranges * ctypes.sizeof(Range)


def stored_ranges(matched: Sequence[int]) -> int:
    """Return the number of ranges that a group stores, by the variables matched up to each level."""
    return sum(matched[:-1])


def why_not(comparisons: BoundComparisons) -> str | None:
    """Return why kernels cannot judge comparisons; None if they can."""
    columns = sum(len(variable.columns) for variable in comparisons.variables)
    for number, most, what in (
        (len(comparisons.variables), MOST_VARIABLES, "compared edges and vertices"),
        (len(comparisons.comparisons), MOST_COMPARISONS, "comparisons"),
        (columns, MOST_COLUMNS, "compared attributes of edges and vertices"),
    ):
        if number > most:
            return f"kernels take at most {most} {what}, found {number}"
    return None
