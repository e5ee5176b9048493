"""The structures that kernels take, field by field as in ``include/motiflux``.

``tests/native/test_layout.py`` compares sizes and offsets with those of the C++ compiler.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

from motiflux.types import MAX_PATTERN_EDGES, MAX_PATTERN_VERTICES

_u8, _u16, _i16, _u32, _u64, _i32 = (
    ctypes.c_uint8,
    ctypes.c_uint16,
    ctypes.c_int16,
    ctypes.c_uint32,
    ctypes.c_uint64,
    ctypes.c_int32,
)


class Adjacency(ctypes.Structure):
    """``view::Adjacency``."""

    __slots__ = ()
    _fields_ = [("offsets", _u64), ("neighbors", _u64)]


class StepShape(ctypes.Structure):
    """``view::StepShape``."""

    __slots__ = ()
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

    __slots__ = ()
    _fields_ = [("min_out_degree", _u32), ("min_in_degree", _u32)]


class RuntimePlan(ctypes.Structure):
    """``match::RuntimePlan``."""

    __slots__ = ()
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

    __slots__ = ()
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

    __slots__ = ()
    _fields_ = [("claimed", _u64), ("issued", _u64), ("tail_seen", _u64)]


class Control(ctypes.Structure):
    """``match::Control``."""

    __slots__ = ()
    _fields_ = [
        ("taken", _u64),
        ("done", _u64),
        ("found", _u64 * 2),
        ("stop", _u32),
        ("parked", _u32),
        ("overflow", _u32),
        ("stolen", _u32),
        ("reserved", _u64),
        ("refused", _u64),
    ]


class WorkQueue(ctypes.Structure):
    """``match::WorkQueue``."""

    __slots__ = ()
    _fields_ = [("counts", _u64), ("closed", _u64), ("states", _u64), ("splits", _u64), ("wait_slots", _u32)]


class Task(ctypes.Structure):
    """``match::Task``."""

    __slots__ = ()
    _fields_ = [
        ("out", Adjacency),
        ("in_", Adjacency),
        ("root", Adjacency),
        ("arcs", _u64),
        ("all_arcs", _u64),
        ("vertices", _u32),
        ("chunk", _u32),
        ("first", _u32),
        ("stride", _u32),
        ("limit", _u64),
        ("control", _u64),
        ("buffers", _u64),
        ("group_words", _u64),
        ("buffer_at", _u64 * MAX_PATTERN_VERTICES),
        ("max_spans", _u32),
        ("shared_bytes", _u32),
        ("flatten_last", _u32),
        ("work_queue", WorkQueue),
        ("resume", _u32),
        ("saved", _u64),
        ("group_bytes", _u64),
        ("rows", _u64),
        ("row_capacity", _u64),
        ("column_levels", _u8 * MAX_PATTERN_VERTICES),
    ]


MOST_TAIL_SETS, MOST_TAIL_SOURCES, MOST_TAIL_TERMS, MOST_TAIL_FACTORS = 64, 192, 256, 6
"""``view::kMostTailSets`` and so on."""
MOST_TAIL_SIZES = 15
MOST_KEY_GROUPS, MOST_KEY_WORDS = 3, 27
TAIL_ONE, TAIL_SAME, TAIL_PAIR, TAIL_MIXED = 0, 1, 2, 3
"""``view::TailKind``."""


class TailSource(ctypes.Structure):
    """``view::TailSource``."""

    __slots__ = ()
    _fields_ = [("place", _u16), ("level", _u16)]


class TailSet(ctypes.Structure):
    """``view::TailSet``."""

    __slots__ = ()
    _fields_ = [
        ("after", _u32),
        ("before", _u32),
        ("apart", _u32),
        ("reuse", _i16),
        ("first_source", _u8),
        ("source_count", _u8),
    ]


class TailComponent(ctypes.Structure):
    """``view::TailComponent``."""

    __slots__ = ()
    _fields_ = [
        ("kind", _u8),
        ("levels", _u8),
        ("first_set", _u8),
        ("sizes", _u8),
        ("first_chain", _u8),
        ("chains", _u8),
        ("first_term", _u16),
        ("terms", _u16),
        ("size_of", _u8 * MOST_TAIL_FACTORS),
        ("divisor", _u32),
    ]


class TailTerm(ctypes.Structure):
    """``view::TailTerm``."""

    __slots__ = ()
    _fields_ = [("coefficient", _i16), ("size", _u8 * MOST_TAIL_FACTORS), ("factors", _u8), ("unused", _u8)]


class TailLevel(ctypes.Structure):
    """``view::TailLevel``."""

    __slots__ = ()
    _fields_ = [
        ("first_component", _u8),
        ("components", _u8),
        ("first_child", _u8),
        ("children", _u8),
        ("parent", _u8),
        ("set", _u8),
        ("by_lane", _u8),
        ("walks", _u8),
        ("exact", _u32),
        ("groups", _u32 * MOST_KEY_GROUPS),
        ("key_words", _u32),
    ]


class Tail(ctypes.Structure):
    """``view::Tail``."""

    __slots__ = ()
    _fields_ = [
        ("start", _u32),
        ("early", _u32),
        ("levels", TailLevel * MAX_PATTERN_VERTICES),
        ("children", _u8 * MAX_PATTERN_VERTICES),
        ("chains", _u8 * MAX_PATTERN_VERTICES),
        ("components", TailComponent * MAX_PATTERN_VERTICES),
        ("sets", TailSet * MOST_TAIL_SETS),
        ("sources", TailSource * MOST_TAIL_SOURCES),
        ("terms", TailTerm * MOST_TAIL_TERMS),
    ]


class RuntimeArgs(ctypes.Structure):
    """``match::SearchArgs<match::RuntimePlan>``."""

    __slots__ = ()
    _fields_ = [("plan", RuntimePlan), ("task", Task)]


TAIL_FIELDS: list[tuple[str, Any]] = [("tail", Tail), ("kept", _u64), ("kept_mask", _u32), ("unused", _u32)]
"""Fields of ``match::TailArgs`` behind the plan and the task."""


class RuntimeTailArgs(ctypes.Structure):
    """``match::TailArgs<match::RuntimePlan>``."""

    __slots__ = ()
    _fields_ = [("plan", RuntimePlan), ("task", Task), *TAIL_FIELDS]


MOST_PLACES = 64
"""``match::kMostPlaces``."""
NO_LEVEL = 2**32 - 1
"""``match::kNoLevel``."""


class ImagePlace(ctypes.Structure):
    """``match::ImagePlace``."""

    __slots__ = ()
    _fields_ = [("level", _u32), ("target", _u32), ("first", _u64), ("arcs", Adjacency)]


class ImageTask(ctypes.Structure):
    """``match::ImageTask``."""

    __slots__ = ()
    _fields_ = [
        ("places", ImagePlace * MOST_PLACES),
        ("ends", _u32 * MAX_PATTERN_VERTICES),
        ("numbers", _u64),
    ]


IMAGE_FIELDS: list[tuple[str, Any]] = [("images", ImageTask)]
"""Fields of ``match::ImageArgs`` behind the plan and the task."""


class RuntimeImageArgs(ctypes.Structure):
    """``match::ImageArgs<match::RuntimePlan>``."""

    __slots__ = ()
    _fields_ = [("plan", RuntimePlan), ("task", Task), *IMAGE_FIELDS]


class CliqueTask(ctypes.Structure):
    """``match::CliqueTask``."""

    __slots__ = ()
    _fields_ = [
        ("rows", Adjacency),
        ("units", _u64),
        ("unit_count", _u64),
        ("arcs", _u64),
        ("limit", _u64),
        ("control", _u64),
        ("memory", _u64),
        ("spill_bytes", _u64),
        ("spill_blocks", _u32),
        ("spilled", _u32),
        ("blocks", _u32),
        ("vertices", _u32),
        ("chunk", _u32),
        ("shared_bytes", _u32),
        ("first", _u32),
        ("stride", _u32),
    ]


class CliqueArgs(ctypes.Structure):
    """``match::CliqueArgs``."""

    __slots__ = ()
    _fields_ = [("task", CliqueTask)]


class TriangleTask(ctypes.Structure):
    """``match::TriangleTask``."""

    __slots__ = ()
    _fields_ = [
        ("rows", Adjacency),
        ("ends", _u64),
        ("arcs", _u64),
        ("limit", _u64),
        ("control", _u64),
        ("vertices", _u32),
        ("chunk", _u32),
        ("shared_bytes", _u32),
        ("first", _u32),
        ("stride", _u32),
    ]


class TriangleArgs(ctypes.Structure):
    """``match::TriangleArgs``."""

    __slots__ = ()
    _fields_ = [("task", TriangleTask)]


class RowTile(ctypes.Structure):
    """``view::RowTile``."""

    __slots__ = ()
    _fields_ = [("offsets", _u64), ("base", _u64)]


class TriangleTileTask(ctypes.Structure):
    """``match::TriangleTileTask``."""

    __slots__ = ()
    _fields_ = [
        ("rows", RowTile),
        ("roots", RowTile),
        ("ends", _u64),
        ("counter", _u64),
        ("first_arc", _u64),
        ("arcs", _u64),
        ("limit", _u64),
        ("control", _u64),
        ("lowest", _u32),
        ("highest", _u32),
        ("vertices", _u32),
        ("chunk", _u32),
        ("shared_bytes", _u32),
    ]


class TriangleTileArgs(ctypes.Structure):
    """``match::TriangleTileArgs``."""

    __slots__ = ()
    _fields_ = [("task", TriangleTileTask)]


@lru_cache(maxsize=256)
def static_args(
    levels: int, sources: int, *, tail: bool = False, images: bool = False
) -> type[ctypes.Structure]:
    """Return ``match::SearchArgs<match::StaticPlan<Shape>>`` for a shape of these sizes.

    With `tail`, return ``match::TailArgs`` for this shape; with `images`, ``match::ImageArgs``.
    """
    plan = type(
        "StaticPlan",
        (ctypes.Structure,),
        {"_fields_": [("args", StepArgs * levels), ("rows", Adjacency * sources)]},
    )
    more = TAIL_FIELDS if tail else IMAGE_FIELDS if images else ()
    fields = [("plan", plan), ("task", Task), *more]
    return type("StaticArgs", (ctypes.Structure,), {"_fields_": fields})


class EchoArgs(ctypes.Structure):
    """``device::EchoArgs``."""

    __slots__ = ()
    _fields_ = [("in_", Ring), ("out", Ring), ("stop", _u64), ("record_words", _u32)]


class FloodArgs(ctypes.Structure):
    """``device::FloodArgs``."""

    __slots__ = ()
    _fields_ = [("out", Ring), ("next", _u64), ("stop", _u64), ("records", _u64), ("record_words", _u32)]


class Permutation(ctypes.Structure):
    """``random::Permutation``."""

    __slots__ = ()
    _fields_ = [("keys", _u64 * 8), ("size", _u64), ("left_bits", _u32), ("right_bits", _u32)]


class Quadrants(ctypes.Structure):
    """``generate::Quadrants``."""

    __slots__ = ()
    _fields_ = [("end", _u32 * 3)]


MAX_RMAT_LEVELS = 31
"""``generate::kMaxLevels``."""


class Rmat(ctypes.Structure):
    """``generate::Rmat``."""

    __slots__ = ()
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

    __slots__ = ()
    _fields_ = [("rmat", Rmat), ("first", _u64), ("count", _u64), ("sources", _u64), ("targets", _u64)]


class NumberArgs(ctypes.Structure):
    """``rows::NumberArgs``."""

    __slots__ = ()
    _fields_ = [
        ("vertices", _u64),
        ("ids", _u64),
        ("sources", _u64),
        ("out", _u64),
        ("cells", _u64),
        ("capacity", _u64),
        ("columns", _u32),
        ("image_cells", _u32),
        ("tile_rows", _u32),
    ]


class Span(ctypes.Structure):
    """``sets::Span``."""

    __slots__ = ()
    _fields_ = [("first", _u64), ("last", _u64)]


class Cursor(ctypes.Structure):
    """``match::Cursor``."""

    __slots__ = ()
    _fields_ = [("base", _u64), ("next", _u32), ("end", _u32), ("waiting", _u32)]


class LevelState(ctypes.Structure):
    """``match::LevelState``."""

    __slots__ = ()
    _fields_ = [("base", _u64), ("base_size", _u32), ("vertex", _u32), ("cursor", Cursor)]


class Place(ctypes.Structure):
    """``match::Place``."""

    __slots__ = ()
    _fields_ = [
        ("arc", _u64),
        ("arc_end", _u64),
        ("chunk", _u64),
        ("level", _u32),
        ("valid", _u32),
        ("floor", _u32),
    ]


class Split(ctypes.Structure):
    """``match::Split``."""

    __slots__ = ()
    _fields_ = [
        ("cursor", Cursor),
        ("level", _u32),
        ("root", _u32),
        ("vertices", _u32 * MAX_PATTERN_VERTICES),
    ]


class KeptNumber(ctypes.Structure):
    """``match::KeptNumber``."""

    __slots__ = ()
    _fields_ = [("state", _u32), ("key", _u32 * MOST_KEY_WORDS), ("number", _u64 * 2)]


class TailFrame(ctypes.Structure):
    """``match::TailFrame``."""

    __slots__ = ()
    _fields_ = [
        ("sum", _u64 * 2),
        ("product", _u64 * 2),
        ("walk", Cursor),
        ("child", _u32),
        ("unused", _u32),
    ]


class Saved(ctypes.Structure):
    """``match::Saved``."""

    __slots__ = ()
    _fields_ = [("place", Place), ("cursor", Cursor)]


STOP_NONE, STOP_PAUSE, STOP_LIMIT, STOP_HOST = 0, 1, 2, 3
"""``match::Stop``."""

NO_LIMIT = 2**64 - 1
STAGED_ROWS = 32
"""``match::kStaged``."""


def shared_bytes_of_group(levels: int, max_spans: int, *, listing: bool) -> int:
    """Return the bytes of shared memory of one group of lanes (``match::SharedState``)."""
    staged = STAGED_ROWS * ctypes.sizeof(_u32) if listing else 0
    return max_spans * ctypes.sizeof(Span) + levels * ctypes.sizeof(LevelState) + staged


def tail_bytes_of_group(levels: int) -> int:
    """Return the bytes of shared memory that a group needs for a tail, beyond `shared_bytes_of_group`."""
    numbers = 2 * levels + MOST_TAIL_SIZES
    key = MOST_KEY_WORDS + MOST_KEY_WORDS % 2
    return numbers * ctypes.sizeof(_u64) + levels * ctypes.sizeof(TailFrame) + key * ctypes.sizeof(_u32)


def image_bytes_of_group(levels: int) -> int:
    """Return the bytes of shared memory that a group needs behind its levels (``match::CountingImages``)."""
    held = (levels + levels % 2) * ctypes.sizeof(_u32)
    return levels * ctypes.sizeof(_u64) + held


_LINE = 128
WORK_QUEUE_COUNTS = 3
"""Words of ``match::WorkQueueCounts``: the last one is the number of walks that were given."""
CLOSED_COPIES, CLOSED_STRIDE = 32, 32
"""``match::kClosedCopies``, ``match::kClosedStride``."""


def work_queue_at(address: int, wait_slots: int) -> WorkQueue:
    """Return a work queue whose memory begins at an address."""
    closed = address + _LINE
    states = closed + 4 * CLOSED_COPIES * CLOSED_STRIDE
    return WorkQueue(address, closed, states, address + work_queue_cleared_bytes(wait_slots), wait_slots)


def wait_slots_for(groups: int) -> int:
    """Return the number of wait slots for `groups` groups: a power of two."""
    return 1 << (groups - 1).bit_length()


def work_queue_cleared_bytes(wait_slots: int) -> int:
    """Return the number of bytes of a work queue that must be zero at each launch: all before the splits."""
    words = CLOSED_COPIES * CLOSED_STRIDE + wait_slots
    return -(-(_LINE + 4 * words) // _LINE) * _LINE


def work_queue_bytes(wait_slots: int) -> int:
    """Return the bytes of a work queue."""
    return work_queue_cleared_bytes(wait_slots) + wait_slots * ctypes.sizeof(Split)


def saved_bytes_of_group(levels: int) -> int:
    """Return the bytes in which a listing group saves itself."""
    return ctypes.sizeof(Saved) + levels * ctypes.sizeof(LevelState)
