"""The structures that kernels take, field by field as in ``include/motiflux``.

``tests/native/test_layout.py`` compares sizes and offsets with what the C++ compiler says.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache

from motiflux.types import MAX_PATTERN_EDGES, MAX_PATTERN_VERTICES

_u8, _u16, _u32, _u64, _i32 = (
    ctypes.c_uint8,
    ctypes.c_uint16,
    ctypes.c_uint32,
    ctypes.c_uint64,
    ctypes.c_int32,
)


class Adjacency(ctypes.Structure):
    """``view::Adjacency``."""

    _fields_ = [("offsets", _u64), ("neighbors", _u64)]


class StepShape(ctypes.Structure):
    """``view::StepShape``."""

    _fields_ = [
        ("first_source", _u32),
        ("source_count", _u32),
        ("reuse", _i32),
        ("anchor", _i32),
        ("after", _u32),
        ("before", _u32),
        ("distinct", _u32),
        ("not_out", _u32),
        ("not_in", _u32),
        ("bounds_out", ctypes.c_bool),
        ("bounds_in", ctypes.c_bool),
    ]


class StepArgs(ctypes.Structure):
    """``view::StepArgs``."""

    _fields_ = [("min_out_degree", _u32), ("min_in_degree", _u32)]


class RuntimePlan(ctypes.Structure):
    """``match::RuntimePlan``."""

    _fields_ = [
        ("level_count", _u32),
        ("shapes", StepShape * MAX_PATTERN_VERTICES),
        ("args", StepArgs * MAX_PATTERN_VERTICES),
        ("renewed", _u32 * MAX_PATTERN_VERTICES),
        ("source_levels", _u16 * MAX_PATTERN_EDGES),
        ("rows", Adjacency * MAX_PATTERN_EDGES),
    ]


class Ring(ctypes.Structure):
    """``device::Ring``."""

    _fields_ = [
        ("tickets", _u64),
        ("tail", _u64),
        ("published", _u64),
        ("payload", _u64),
        ("slots", _u32),
        ("slot_bytes", _u32),
    ]


class Tickets(ctypes.Structure):
    """``device::Tickets``."""

    _fields_ = [("claimed", _u64), ("issued", _u64), ("tail_seen", _u64)]


class Control(ctypes.Structure):
    """``match::Control``."""

    _fields_ = [
        ("taken", _u64),
        ("done", _u64),
        ("found", _u64 * 2),
        ("stop", _u32),
        ("parked", _u32),
        ("reserved", _u64),
        ("refused", _u64),
    ]


class Task(ctypes.Structure):
    """``match::Task``."""

    _fields_ = [
        ("out", Adjacency),
        ("in_", Adjacency),
        ("root", Adjacency),
        ("arcs", _u64),
        ("vertices", _u32),
        ("piece", _u32),
        ("limit", _u64),
        ("control", _u64),
        ("buffers", _u64),
        ("group_words", _u64),
        ("buffer_at", _u64 * MAX_PATTERN_VERTICES),
        ("max_spans", _u32),
        ("shared_bytes", _u32),
        ("resume", _u32),
        ("patience", _u32),
        ("saved", _u64),
        ("group_bytes", _u64),
        ("ring", Ring),
        ("rows", _u64),
        ("row_room", _u64),
        ("column_levels", _u8 * MAX_PATTERN_VERTICES),
    ]


class RuntimeArgs(ctypes.Structure):
    """``match::SearchArgs<match::RuntimePlan>``."""

    _fields_ = [("plan", RuntimePlan), ("task", Task)]


@lru_cache(maxsize=256)
def static_args(levels: int, sources: int) -> type[ctypes.Structure]:
    """Return ``match::SearchArgs<match::StaticPlan<Shape>>`` for a shape of these sizes."""
    plan = type(
        "StaticPlan",
        (ctypes.Structure,),
        {"_fields_": [("args", StepArgs * levels), ("rows", Adjacency * sources)]},
    )
    return type("StaticArgs", (ctypes.Structure,), {"_fields_": [("plan", plan), ("task", Task)]})


class EchoArgs(ctypes.Structure):
    """``device::EchoArgs``."""

    _fields_ = [("in_", Ring), ("out", Ring), ("stop", _u64), ("record_words", _u32)]


class FloodArgs(ctypes.Structure):
    """``device::FloodArgs``."""

    _fields_ = [("out", Ring), ("next", _u64), ("stop", _u64), ("records", _u64), ("record_words", _u32)]


class Permutation(ctypes.Structure):
    """``random::Permutation``."""

    _fields_ = [("keys", _u64 * 8), ("size", _u64), ("left_bits", _u32), ("right_bits", _u32)]


class Quadrants(ctypes.Structure):
    """``generate::Quadrants``."""

    _fields_ = [("end", _u32 * 3)]


MAX_RMAT_LEVELS = 31
"""``generate::kMaxLevels``."""


class Rmat(ctypes.Structure):
    """``generate::Rmat``."""

    _fields_ = [
        ("seed", _u64),
        ("ids", Permutation),
        ("quadrants", Quadrants * MAX_RMAT_LEVELS),
        ("levels", _u32),
        ("permutes", _u32),
        ("undirected", _u32),
    ]


class RmatArgs(ctypes.Structure):
    """``generate::RmatArgs``."""

    _fields_ = [("rmat", Rmat), ("first", _u64), ("count", _u64), ("sources", _u64), ("targets", _u64)]


class NumberArgs(ctypes.Structure):
    """``rows::NumberArgs``."""

    _fields_ = [("vertices", _u64), ("ids", _u64), ("out", _u64), ("count", _u64)]


class View(ctypes.Structure):
    """``sets::View``."""

    _fields_ = [("first", _u64), ("last", _u64)]


class Cursor(ctypes.Structure):
    """``match::Cursor``."""

    _fields_ = [("base", _u64), ("next", _u32), ("end", _u32), ("waiting", _u32)]


class LevelState(ctypes.Structure):
    """``match::LevelState``."""

    _fields_ = [("base", _u64), ("base_size", _u32), ("vertex", _u32), ("cursor", Cursor)]


class Place(ctypes.Structure):
    """``match::Place``."""

    _fields_ = [("arc", _u64), ("arc_end", _u64), ("piece", _u64), ("level", _u32), ("valid", _u32)]


class Saved(ctypes.Structure):
    """``match::Saved``."""

    _fields_ = [("place", Place), ("cursor", Cursor)]


STOP_NONE, STOP_PAUSE, STOP_LIMIT, STOP_HOST = 0, 1, 2, 3
"""``match::Stop``."""

NO_LIMIT = 2**64 - 1
ROWS_PER_PACKET = 32
"""``match::kStaged``."""


def shared_bytes_of_group(levels: int, max_spans: int, *, listing: bool) -> int:
    """Return the shared memory of one group of lanes (``match::SharedState``)."""
    staged = ROWS_PER_PACKET * ctypes.sizeof(_u32) if listing else 0
    return max_spans * ctypes.sizeof(View) + levels * ctypes.sizeof(LevelState) + staged


def saved_bytes_of_group(levels: int) -> int:
    """Return the memory in which a listing group saves itself."""
    return ctypes.sizeof(Saved) + levels * ctypes.sizeof(LevelState)
