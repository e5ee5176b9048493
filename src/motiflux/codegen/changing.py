"""Kernels of changing graphs: structures as in ``include/motiflux``, and translation units."""

from __future__ import annotations

import ctypes
from enum import IntEnum
from functools import cache

import numpy as np

from motiflux.codegen.kernels import CHECK_TURNS, ENTRY, THREADS, WITHIN_BLOCK, Goal
from motiflux.codegen.layout import Span, StepShape, Task
from motiflux.jit import Source
from motiflux.types import MAX_PATTERN_EDGES, MAX_PATTERN_VERTICES

_u8, _u16, _u32, _u64 = ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64

FOREVER = 2**32 - 1
"""``view::Life::kForever``."""
SPANS_OF_TIMED = 3
"""``match::kSpansOfTimed``."""
MERGE_ENTRY, SETTLE_ENTRY = "motiflux_merge", "motiflux_settle"
CANDIDATES_ENTRY, ENCODE_ENTRY = "motiflux_candidates", "motiflux_encode"
NO_COLUMN = 2**32 - 1
"""``match::kNoColumn``."""
BITMAP_ENTRIES = "motiflux_bitmaps_count", "motiflux_bitmaps_choose", "motiflux_bitmaps_write"
"""Kernels that write bitmaps of rows, in their order."""
BITMAP_THREADS = 256
"""Threads of a block of these."""
SIZE_CLASSES = 256
"""``changing::kSizeClasses``."""
BLOCK_BYTES, IDS_OF_BLOCK = 32, 112
"""Bytes of a block of ``view::RowBitmaps``, and ids that it has bits for."""
BITMAP_LANES = 32
"""Lanes of a group that looks candidates up in bitmaps."""
POOLED_LANES = 32
"""Lanes of a group that pools partial matches."""
LANES = (8, 32)
"""Numbers of lanes of a group, for short rows and for others."""

ROW = np.dtype(
    [("neighbors", "<u8"), ("lives", "<u8"), ("moments", "<u8"), ("size", "<u4"), ("changes", "<u4")]
)
"""``view::ChangingRow``."""
ROWS = np.dtype([("rows", "<u8"), ("repeats", "<u4"), ("unused", "<u4")])
"""``view::ChangingRows``."""


class Repeats(IntEnum):
    """``view::Repeats``: equal ids in untouched rows."""

    NONE = 0
    IN_GAPS = 1
    OF_EDGES = 2


LIFE_BYTES = 8
"""Bytes of ``view::Life``."""
ROOT = np.dtype([("plan", "<u4"), ("vertices", "<u4", 2), ("moment", "<u4"), ("slot", "<u4")])
"""``match::UpdateRoot``."""
CHANGE = np.dtype(
    [("neighbor", "<u4"), ("first", "<u4"), ("last", "<u4"), ("fresh_before", "<u4"), ("dead_before", "<u4")]
)
"""``changing::Change``."""
TOUCHED = np.dtype(
    [
        ("old", "<u8"),
        ("neighbors", "<u8"),
        ("lives", "<u8"),
        ("after", "<u8"),
        ("changes", "<u8"),
        ("moments", "<u8"),
        ("positions", "<u8"),
        ("vertex", "<u4"),
        ("old_size", "<u4"),
        ("change_count", "<u4"),
        ("size", "<u4"),
        ("after_size", "<u4"),
        ("brought", "<u4"),
    ]
)
"""``changing::TouchedRow``."""
PIECE = np.dtype([("row", "<u4"), ("first", "<u4")])
"""``changing::Piece``."""


class ChangingSource(ctypes.Structure):
    """``match::ChangingSource``."""

    __slots__ = ()
    _fields_ = [("level", _u16), ("hidden", _u16), ("rows", _u32)]


class TailPart(ctypes.Structure):
    """``match::TailPart``."""

    __slots__ = ()
    _fields_ = [("level", _u8), ("levels", _u8), ("first_chain", _u8), ("chains", _u8)]


class ChangingPlan(ctypes.Structure):
    """``match::ChangingPlan``."""

    __slots__ = ()
    _fields_ = [
        ("level_count", _u32),
        ("tail_start", _u32),
        ("part_count", _u32),
        ("fork", _u16),
        ("is_shared", _u16),
        ("pooled_from", _u16),
        ("pooled_by", _u16),
        ("continuation", _u32),
        ("parts", TailPart * MAX_PATTERN_VERTICES),
        ("chains", _u8 * MAX_PATTERN_VERTICES),
        ("shapes", StepShape * MAX_PATTERN_VERTICES),
        ("renewed", _u32 * MAX_PATTERN_VERTICES),
        ("candidate_columns", _u32 * MAX_PATTERN_VERTICES),
        ("allowed", Span * MAX_PATTERN_VERTICES),
        ("sources", ChangingSource * MAX_PATTERN_EDGES),
    ]


def bytes_of_plan(sources: int) -> int:
    """Return the bytes of a `ChangingPlan` with so many sources, without room for more."""
    used = ChangingPlan.sources.offset + sources * ctypes.sizeof(ChangingSource)
    return -(-used // 16) * 16


class ChangingPlans(ctypes.Structure):
    """``match::ChangingPlans``."""

    __slots__ = ()
    _fields_ = [
        ("plans", _u64),
        ("rows", _u64),
        ("roots", _u64),
        ("totals", _u64),
        ("bitmaps", _u64),
        ("most_levels", _u32),
        ("columns", _u32),
        ("utilisation", _u64),
        ("sharing", _u64),
        ("numbers", _u64),
        ("candidates", _u64),
        ("candidate_bytes", _u32),
        ("plan_bytes", _u32),
    ]


SHARING = np.dtype([("first", "<u4"), ("count", "<u4")])
"""``match::SharingRoots``."""
UTILISATION = np.dtype([("busy", "<u8"), ("longest", "<u8"), ("groups", "<u8")])
"""``match::Utilisation``."""


class ChangingArgs(ctypes.Structure):
    """``match::SearchArgs<match::ChangingPlans>``."""

    __slots__ = ()
    _fields_ = [("plan", ChangingPlans), ("task", Task)]


POOLED = np.dtype([("key", "<u8"), ("low", "<u8")])
"""``match::Pooled``."""


class Pool(ctypes.Structure):
    """``match::Pool``."""

    __slots__ = ()
    _fields_ = [
        ("places", _u64),
        ("highs", _u64),
        ("claimed", _u64),
        ("count", _u64),
        ("mask", _u32),
        ("unused", _u32),
    ]


class PooledPlans(ChangingPlans):
    """``match::PooledPlans``."""

    __slots__ = ()
    _fields_ = [("source", Pool), ("target", Pool), ("stage", _u32), ("unused_too", _u32)]


class PooledArgs(ctypes.Structure):
    """``match::SearchArgs<match::PooledPlans>``."""

    __slots__ = ()
    _fields_ = [("plan", PooledPlans), ("task", Task)]


class CandidateArgs(ctypes.Structure):
    """``changing::CandidateArgs``."""

    __slots__ = ()
    _fields_ = [
        ("table", _u64),
        ("vertices", _u64),
        ("rows", _u64),
        ("count", _u32),
        ("row_bytes", _u32),
    ]


ENCODE_ITEM = np.dtype([("rows", "<u8"), ("least", "<u4"), ("unused", "<u4")])
"""``changing::EncodeItem``."""
ENCODE_COLUMN = np.dtype([("first_item", "<u4"), ("items", "<u4")])
"""``changing::EncodeColumn``."""


class EncodeArgs(ctypes.Structure):
    """``changing::EncodeArgs``."""

    __slots__ = ()
    _fields_ = [
        ("table", _u64),
        ("labelled", _u64),
        ("columns", _u64),
        ("items", _u64),
        ("vertices", _u64),
        ("stride", _u32),
        ("count", _u32),
        ("column_count", _u32),
        ("row_bytes", _u32),
    ]


MOVED_ROW = np.dtype([("neighbors", "<u8"), ("vertex", "<u4"), ("size", "<u4")])
"""``changing::MovedRow``."""
CACHE_MOVE_ENTRY, CACHE_COPY_ENTRY, CACHE_OPEN_ENTRY = (
    "motiflux_cache_move",
    "motiflux_cache_copy",
    "motiflux_cache_open",
)
"""Kernels that have headers name other places, copy rows, and have headers name the copies."""


class CacheArgs(ctypes.Structure):
    """``changing::CacheArgs``."""

    __slots__ = ()
    _fields_ = [
        ("rows", _u64),
        ("moved", _u64),
        ("moved_count", _u64),
        ("rowptr", _u64),
        ("rowidx", _u64),
        ("colidx", _u64),
        ("row_count", _u64),
    ]


class WriteArgs(ctypes.Structure):
    """``changing::WriteArgs``."""

    __slots__ = ()
    _fields_ = [
        ("rows", _u64),
        ("touched", _u64),
        ("pieces", _u64),
        ("piece_count", _u32),
        ("piece_size", _u32),
    ]


MOST_WRITES = 16
"""``changing::kMostWrites``."""


class WritesArgs(ctypes.Structure):
    """``changing::WritesArgs``."""

    __slots__ = ()
    _fields_ = [("writes", WriteArgs * MOST_WRITES), ("ends", _u32 * MOST_WRITES)]


class RowBitmaps(ctypes.Structure):
    """``view::RowBitmaps``."""

    __slots__ = ()
    _fields_ = [("numbers", _u64), ("words", _u64), ("least", _u32), ("blocks", _u32)]


class RowBitmapsArgs(ctypes.Structure):
    """``changing::RowBitmapsArgs``."""

    __slots__ = ()
    _fields_ = [
        ("rows", _u64),
        ("bitmaps", RowBitmaps),
        ("told", _u64),
        ("numbers", _u64),
        ("classes", _u64),
        ("chosen", _u64),
        ("vertices", _u64),
        ("row_count", _u32),
        ("capacity", _u32),
    ]


@cache
def changing_source(
    goal: Goal,
    lanes: int,
    within: str | None = None,
    *,
    whole_updates: bool = False,
    measures: bool = False,
    coalesced: bool = False,
    filtered: bool = False,
    in_bits: bool = False,
    pooled: bool = False,
) -> Source:
    """Return the unit that searches from updates, by any plans; its entry point is `ENTRY`.

    Parameters
    ----------
    goal
        Counting or listing.
    lanes
        Number of lanes of a group.
    within
        The way in which groups get work of others in their block, a key of `WITHIN_BLOCK`; None: they do not.
    whole_updates
        Whether a group searches from all roots of an update, one after the other.
    measures
        Whether the kernel measures how long groups have work.
    coalesced
        Whether plans may share levels.
    filtered
        Whether candidates are tested by a table.
    in_bits
        Whether candidates are looked up in bitmaps of rows.
    pooled
        Whether partial matches are pooled (counting only).
    """
    assert coalesced + filtered + in_bits + pooled <= 1, (
        "these are policies of plans, of which a kernel has one"
    )
    space = "motiflux::match::"
    header = '#include "motiflux/match/filtered_plans.hpp"\n' if filtered else ""
    if pooled:
        header = '#include "motiflux/match/pooled_plans.hpp"\n'
    plans = "ChangingPlans"
    for asked, policy in (
        (coalesced, "CoalescedPlans"),
        (filtered, "FilteredPlans"),
        (in_bits, "ChangingPlansInBits"),
        (pooled, "PooledPlans"),
    ):
        plans = policy if asked else plans
    sharing = f"{space}NoStealing"
    if within is not None:
        sharing = f"{space}{WITHIN_BLOCK[within]}<{CHECK_TURNS[0]}, {CHECK_TURNS[1]}>"
    if whole_updates:
        sharing = f"{space}WholeUpdates<{sharing}>"
    if measures:
        sharing = f"{space}Clocked<{sharing}>"
    text = f"""\
#include "motiflux/match/{goal}.cuh"
{header}
using Plans = {space}{plans};
extern "C" __global__ void __launch_bounds__({THREADS})
{ENTRY}(const __grid_constant__ motiflux::match::SearchArgs<Plans> args) {{
  motiflux::match::{goal}<Plans, {lanes}, {sharing}>(args);
}}
"""
    marks = (
        (whole_updates, "updates"),
        (measures, "measured"),
        (coalesced, "coalesced"),
        (filtered, "filtered"),
        (in_bits, "bits"),
        (pooled, "pooled"),
    )
    words = [] if within is None else [within]
    words += [word for asked, word in marks if asked]
    return Source("-".join(["changing", goal, str(lanes), *words]), text)


@cache
def write_source() -> Source:
    """Return the unit that writes changed rows; its entry points are `MERGE_ENTRY` and `SETTLE_ENTRY`."""
    return Source("changing-rows", '#include "motiflux/changing/write_rows.cuh"\n')


@cache
def candidates_source() -> Source:
    """Return the unit that writes rows of the candidate table; its entry point is `CANDIDATES_ENTRY`."""
    return Source("changing-candidates", '#include "motiflux/changing/write_candidates.cuh"\n')


@cache
def encode_source() -> Source:
    """Return the unit that encodes vertices for the candidate table; its entry point is `ENCODE_ENTRY`."""
    return Source("changing-encode", '#include "motiflux/changing/encode_candidates.cuh"\n')


@cache
def cache_source() -> Source:
    """Return the unit that copies rows of the host to the device; it has the entry points ``CACHE_*``."""
    return Source("changing-cache", '#include "motiflux/changing/cache_rows.cuh"\n')


def filtered_sources() -> list[Source]:
    """Return the units of changing graphs that a filter by candidates needs beside those that write rows."""
    goals = (Goal.COUNT, Goal.STORE)
    searches = [changing_source(goal, lanes, None, filtered=True) for goal in goals for lanes in LANES]
    return [*searches, candidates_source(), encode_source()]


@cache
def bitmaps_source() -> Source:
    """Return the unit that writes bitmaps of rows; its entry points are `BITMAP_ENTRIES`."""
    return Source("changing-bitmaps", '#include "motiflux/changing/row_bitmaps.cuh"\n')


def changing_sources() -> list[Source]:
    """Return all units of changing graphs that calls with the default tuning can use."""
    goals = (Goal.COUNT, Goal.STORE)
    searches = [
        changing_source(goal, lanes, within)
        for within in (None, "active")
        for goal in goals
        for lanes in LANES
    ]
    in_bits = changing_source(Goal.COUNT, BITMAP_LANES, in_bits=True)
    pooled = [changing_source(Goal.COUNT, POOLED_LANES, within, pooled=True) for within in (None, "active")]
    return [*searches, in_bits, *pooled, write_source(), bitmaps_source()]


def changing_sources_of_switches() -> list[Source]:
    """Return units that switches lead to, one for each."""
    warp = LANES[-1]
    return [
        changing_source(Goal.COUNT, warp, "passive"),
        changing_source(Goal.STORE, warp, "passive"),
        changing_source(Goal.COUNT, warp, whole_updates=True),
        changing_source(Goal.COUNT, warp, measures=True),
        changing_source(Goal.STORE, warp, coalesced=True),
        cache_source(),
    ]
