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
        ("unused", "<u4"),
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
        ("parts", TailPart * MAX_PATTERN_VERTICES),
        ("chains", _u8 * MAX_PATTERN_VERTICES),
        ("shapes", StepShape * MAX_PATTERN_VERTICES),
        ("renewed", _u32 * MAX_PATTERN_VERTICES),
        ("allowed", Span * MAX_PATTERN_VERTICES),
        ("sources", ChangingSource * MAX_PATTERN_EDGES),
    ]


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
    ]


class ChangingArgs(ctypes.Structure):
    """``match::SearchArgs<match::ChangingPlans>``."""

    __slots__ = ()
    _fields_ = [("plan", ChangingPlans), ("task", Task)]


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
def changing_source(goal: Goal, lanes: int, within: str | None, *, in_bits: bool = False) -> Source:
    """Return the unit that searches from updates, by any plans; its entry point is `ENTRY`.

    Parameters
    ----------
    goal
        Counting or listing.
    lanes
        Number of lanes of a group.
    within
        The way in which groups get work of others in their block, a key of `WITHIN_BLOCK`; None: they do not.
    in_bits
        Whether candidates are looked up in bitmaps of rows.
    """
    sharing = "NoStealing"
    if within is not None:
        sharing = f"{WITHIN_BLOCK[within]}<{CHECK_TURNS[0]}, {CHECK_TURNS[1]}>"
    text = f"""\
#include "motiflux/match/{goal}.cuh"

using Plans = motiflux::match::{"ChangingPlansInBits" if in_bits else "ChangingPlans"};
extern "C" __global__ void __launch_bounds__({THREADS})
{ENTRY}(const __grid_constant__ motiflux::match::SearchArgs<Plans> args) {{
  motiflux::match::{goal}<Plans, {lanes}, motiflux::match::{sharing}>(args);
}}
"""
    suffix = ("" if within is None else f"-{within}") + ("-bits" if in_bits else "")
    return Source(f"changing-{goal}-{lanes}{suffix}", text)


@cache
def write_source() -> Source:
    """Return the unit that writes changed rows; its entry points are `MERGE_ENTRY` and `SETTLE_ENTRY`."""
    return Source("changing-rows", '#include "motiflux/changing/write_rows.cuh"\n')


@cache
def bitmaps_source() -> Source:
    """Return the unit that writes bitmaps of rows; its entry points are `BITMAP_ENTRIES`."""
    return Source("changing-bitmaps", '#include "motiflux/changing/row_bitmaps.cuh"\n')


def changing_sources() -> list[Source]:
    """Return all units of changing graphs that calls with the default tuning can use."""
    searches = [changing_source(goal, lanes, None) for goal in (Goal.COUNT, Goal.STORE) for lanes in LANES]
    in_bits = changing_source(Goal.COUNT, BITMAP_LANES, None, in_bits=True)
    return [*searches, in_bits, write_source(), bitmaps_source()]
