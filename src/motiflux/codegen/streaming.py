"""Structures of the streaming kernel, as in ``include/motiflux/streaming``."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from enum import IntEnum
from functools import cache

import numpy as np

from motiflux.codegen.changing import LANES, ChangingPlans, changing_source
from motiflux.codegen.kernels import Goal
from motiflux.codegen.layout import Adjacency, Cursor, Ring, Task
from motiflux.jit import Source
from motiflux.types import MAX_PATTERN_VERTICES

_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64

UNIT_BYTES = 64
"""``streaming::kUnitBytes``."""
SIZE_CLASSES = 124
"""``streaming::kSizeClasses``."""


class PoolCounts(ctypes.Structure):
    """``streaming::PoolCounts``."""

    __slots__ = ()
    _fields_ = [
        ("tops", _u64 * SIZE_CLASSES),
        ("carved", _u64),
        ("in_use", _u64),
        ("asked", _u64),
        ("high_water", _u64),
        ("cuts", _u64),
        ("merges", _u64),
        ("refusals", _u64),
        ("steps", _u64),
    ]


class Pool(ctypes.Structure):
    """``streaming::Pool``."""

    __slots__ = ()
    _fields_ = [("memory", _u64), ("counts", _u64), ("marks", _u64), ("units", _u64)]


MOST_UPDATES, MOST_CHANGES = 64, 256
"""``streaming::kMostUpdates`` and ``streaming::kMostChanges``: of a batch."""
MOST_IN_FLIGHT = 1 << 20
"""``view::kMostInFlight``."""
FARTHEST_END = 2**32 - 3
"""``view::kFarthestEnd``."""
VERSION_BYTES, SLAB_BYTES = 48, 672
"""Bytes of ``view::Version`` and ``view::Slab``."""
BATCH_BYTES = 30_760
"""Bytes of ``streaming::Batch``."""
COPIED_ROWS = np.dtype(
    {
        "names": ["taken", "done", "rows", "strip", "copied", "helped"],
        "formats": ["<u8", "<u4", "<u4", "<u4", "<u8", "<u8"],
        "offsets": [0, 128, 132, 136, 144, 152],
        "itemsize": 45_312,
    }
)
"""``streaming::CopiedRows``, without its arrays."""
LOAD_ENTRY = "motiflux_load_versions"
"""The kernel that writes the first versions of rows."""

HEAD = np.dtype(
    [
        *((name, "<u8") for name in ("newest", "slabs", "old_first", "old_last")),
        ("old", "<u4"),
        ("unused", "<u4"),
    ]
)
"""``view::RowHead``."""
UPDATE = np.dtype([("source", "<u4"), ("target", "<u4"), ("of", "<u4"), ("inserts", "<u4")])
"""``streaming::Update``."""
INSERTION, JUDGED = 1, 2
"""Bits of ``streaming::Update::inserts``."""
PLACE = np.dtype([("first_row", "<u4"), ("of_target", "<u4")])
"""``streaming::Place``."""
UPDATE_SLOT = np.dtype([("done", "<u8"), ("cut", "<u4"), ("effect", "<u4")])
"""``streaming::UpdateSlot``."""


STEPS = (
    "wait", "receive", "room", "list", "sort", "judge",
    "reserve", "headers", "copy", "install", "publish", "issue",
    "prepared", "written", "opened", "listed", "filled",
    "found", "copied", "fetched", "handed_over",
)  # fmt: skip
"""``streaming::Step``."""
STAMPS = "seen", "begun", "published", "issued", "taken", "ready", "searched", "answered", "told"
"""``streaming::Stamp``."""
LINE_WORDS, UPDATE_LINE_WORDS = 8, 4
"""64-bit words of ``streaming::AnswerLine`` and ``streaming::UpdateLine``."""
SHORTCUTS = "few", "early", "strips", "ended", "fetched", "pairs"
"""Shorter ways to an answer that units can leave out (``streaming/shortcuts.hpp``)."""
STEP_TIMES = np.dtype([("last", "<u8"), ("batches", "<u8"), ("cycles", "<u8", len(STEPS))])
"""``streaming::StepTimes``."""


class Effect(IntEnum):
    """``streaming::Effect``."""

    NONE = 0
    APPEARS = 1
    VANISHES = 2


def bytes_of_version(size: int) -> int:
    """Return the bytes of a version with so many entries, as ``view::bytes_of_version``."""
    return VERSION_BYTES + 4 * (size + size % 2) + 8 * size


class Progress(ctypes.Structure):
    """``streaming::Progress``."""

    __slots__ = ()
    _fields_ = [
        ("published", _u64),
        ("taken", _u64),
        ("finished", _u64),
        ("cleared", _u64),
        ("collected", _u64),
        ("unlinked", _u64),
        ("freed_versions", _u64),
        ("freed_slabs", _u64),
        ("begun", _u64),
        ("committed", _u64),
        ("early_ended", _u64),
        ("turns", _u64),
        ("unlinked_top", _u32),
        ("first_waiting", _u32),
        ("last_waiting", _u32),
        ("stop", _u32),
        ("exhausted", _u32),
        ("violated", _u32),
        ("parks", _u32),
        ("unused", _u32),
    ]


class Stages(ctypes.Structure):
    """``streaming::Stages``."""

    __slots__ = ()
    _fields_ = [("progress", _u64), ("slots", _u64), ("slot_count", _u32), ("unused", _u32)]


class Versions(ctypes.Structure):
    """``view::Versions``."""

    __slots__ = ()
    _fields_ = [("heads", _u64), ("memory", _u64)]


class StreamGraph(ctypes.Structure):
    """``streaming::StreamGraph``."""

    __slots__ = ()
    _fields_ = [
        ("versions", Versions),
        ("pool", Pool),
        ("stages", Stages),
        ("classes", _u64),
        ("places", _u64),
        ("farthest_end", _u32),
        ("most_entries", _u32),
        ("copied", _u64),
        ("strip", _u32),
        ("unused", _u32),
    ]


class LoadArgs(ctypes.Structure):
    """``streaming::LoadArgs``."""

    __slots__ = ()
    _fields_ = [
        ("rows", Adjacency),
        ("heads", _u64),
        ("pool", Pool),
        ("moment", _u64),
        ("first_row", _u32),
        ("row_count", _u32),
        ("failed", _u64),
    ]


@cache
def load_source() -> Source:
    """Return the unit that writes the first versions of rows."""
    return Source("streaming-load", '#include "motiflux/streaming/load.cuh"\n')


MOVE_ENTRY = "motiflux_move_rows"
"""The kernel that gives rows other numbers."""


class MoveArgs(ctypes.Structure):
    """``streaming::MoveArgs``."""

    __slots__ = ()
    _fields_ = [
        ("from_", _u64),
        ("to", _u64),
        ("pool", Pool),
        ("first_from", _u32),
        ("first_to", _u32),
        ("count", _u32),
        ("drops", _u32),
    ]


@cache
def move_source() -> Source:
    """Return the unit that gives rows other numbers."""
    return Source("streaming-move", '#include "motiflux/streaming/move_rows.cuh"\n')


TARGET_VERSIONS = np.dtype(
    [("versions", [("heads", "<u8"), ("memory", "<u8")]), ("first_row", "<u4"), ("unused", "<u4")], align=True
)
"""``view::TargetVersions``."""
VERSIONED_ROOT = np.dtype(
    [
        ("plan", "<u4"),
        ("vertices", "<u4", 2),
        ("number", "<u4"),
        ("moment", "<u8"),
        ("slot", "<u4"),
        ("listed", "<u4"),
    ]
)
"""``match::UpdateRoot`` of units that search rows of several versions."""


def over_versions(source: Source) -> Source:
    """Return a unit of `changing_source` that searches rows of several versions instead."""
    return replace(source, name=f"{source.name}-versions", text=f"#define MOTIFLUX_VERSIONS\n{source.text}")


def versions_sources() -> list[Source]:
    """Return units that search rows of several versions, one of each kind."""
    counting = [changing_source(Goal.COUNT, lanes) for lanes in LANES]
    return [over_versions(source) for source in (*counting, changing_source(Goal.STORE, LANES[-1]))]


class UpdateRoot(ctypes.Structure):
    """``match::UpdateRoot``, likewise."""

    __slots__ = ()
    _fields_ = [
        ("plan", _u32),
        ("vertices", _u32 * 2),
        ("number", _u32),
        ("moment", _u64),
        ("slot", _u32),
        ("listed", _u32),
    ]


class Work(ctypes.Structure):
    """``streaming::Work``."""

    __slots__ = ()
    _fields_ = [
        ("state", _u32),
        ("kind", _u32),
        ("moment", _u64),
        ("awaited", _u64),
        ("plans", _u32),
        ("count", _u32),
        ("first", _u32),
        ("end", _u32),
        ("level", _u32),
        ("early", _u32),
        ("cursor", Cursor),
        ("root", UpdateRoot),
        ("vertices", _u32 * MAX_PATTERN_VERTICES),
    ]


WORK_COUNTS = np.dtype([("taken", "<u8"), ("issued", "<u8")])
"""``streaming::WorkCounts``."""


class WorkList(ctypes.Structure):
    """``streaming::WorkList``."""

    __slots__ = ()
    _fields_ = [("counts", _u64), ("works", _u64), ("size", _u32), ("unused", _u32)]


CONTROL = np.dtype([("stop", "<u4"), ("park", "<u4")])
"""``streaming::StreamControl``."""
STATUS = np.dtype(
    [
        *((name, "<u8") for name in ("packets", "finished", "collected", "issued", "taken", "beats")),
        ("turns", "<u8"),
        ("published", "<u8"),
        ("received", "<u8"),
        ("read", "<u8"),
        ("reason", "<u4"),
        ("unused", "<u4"),
    ]
)
"""``streaming::StreamStatus``."""
PENDING = np.dtype(
    [
        ("received", "<u8"),
        ("count", "<u4"),
        ("written", "<u4"),
        ("reason", "<u4"),
        ("decision", "<u4"),
        ("known_kinds", "<u4"),
        ("unused", "<u4"),
        ("waits_since", "<u8"),
        ("early", "<u8"),
        ("times", STEP_TIMES),
        ("updates", UPDATE, MOST_UPDATES),
    ]
)
"""``streaming::Pending``."""


class End(IntEnum):
    """``streaming::End``."""

    NONE = 0
    PARKED = 1
    EXHAUSTED = 2
    TOO_LONG = 3
    OVERFLOW = 4


class Stream(ctypes.Structure):
    """``streaming::Stream``."""

    __slots__ = ()
    _fields_ = [
        ("graph", StreamGraph),
        ("plan", ChangingPlans),
        ("task", Task),
        ("work", WorkList),
        ("updates", _u64),
        ("output", Ring),
        *((name, _u64) for name in ("control", "status", "pending", "batch", "parts")),
        *((name, _u64) for name in ("plan_ends", "plans", "listed", "early", "stamps", "lines")),
        *((name, _u32) for name in ("roots_of_group", "most_roots", "record_words", "updater_warps")),
        ("batch_updates", _u32),
        ("batch_nanoseconds", _u32),
        ("stamp_count", _u32),
        ("line_count", _u32),
        ("update_count", _u32),
        ("name_count", _u32),
        ("plan_bytes", _u32),
        ("most_helpers", _u32),
        ("sorted_share", _u32),
        ("unused", _u32),
    ]


HEADER_WORDS, COUNT_WORDS, MOST_RECORDS = 4, 8, 32
"""``streaming::kHeaderWords``, ``kCountWords`` and ``kMostRecords``: of records that executors write."""
APPEARS, IS_ROW = 1, 2
"""Bits of the sign of a record."""
STREAM_ENTRY = "motiflux_stream"
STREAM_LANES = 32
"""Lanes of a group of executors."""
MOST_THREADS = 512
"""Threads of a block of the resident kernel at most: all of one may be the updater's."""
_LEAST_BLOCKS = 2
"""Blocks of a multiprocessor at least: there are twice as many executors as with one, and a few spills."""
_TURNS, _TURNS_OF_TESTS = 64, 3
"""Turns of a search between looks whether another group waits."""


@cache
def stream_source(
    *, lists: bool, checks: bool = False, measures: bool = False, without: tuple[str, ...] = ()
) -> Source:
    """Return the unit of the resident kernel; its entry point is `STREAM_ENTRY`.

    Parameters
    ----------
    lists
        Whether a plan may list its matches.
    checks
        Whether the updater checks the rows that it writes, memory that is freed is wiped, and groups share
        their work early: for tests.
    measures
        Whether stages measure when they have an update, and the updater the steps of batches.
    without
        Those of `SHORTCUTS` that are left out.
    """
    turns = _TURNS_OF_TESTS if checks else _TURNS
    marked = "#define MOTIFLUX_CHECKS_VERSIONS\n" if checks else ""
    marked += "#define MOTIFLUX_STAGE_TIMES\n" if measures else ""
    marked += "".join(f"#define MOTIFLUX_WITHOUT_{name.upper()}\n" for name in without)
    text = f"""\
{marked}#define MOTIFLUX_VERSIONS
#include "motiflux/streaming/resident.cuh"

extern "C" __global__ void __launch_bounds__({MOST_THREADS}, {_LEAST_BLOCKS})
{STREAM_ENTRY}(const __grid_constant__ motiflux::streaming::Stream stream) {{
  using Plans = motiflux::match::ChangingPlans;
  motiflux::streaming::run_stream<Plans, {STREAM_LANES}, {str(lists).lower()}, {turns}>(stream);
}}
"""
    words = [
        "streaming",
        "list" if lists else "count",
        *(["checks"] if checks else []),
        *(["times"] if measures else []),
        *(f"no_{name}" for name in without),
    ]
    return Source("-".join(words), text)


def stream_sources() -> list[Source]:
    """Return the units of the resident kernel, and of what is done while it is parked."""
    return [*(stream_source(lists=lists) for lists in (False, True)), move_source()]
