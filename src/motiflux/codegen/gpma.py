"""Kernels of packed memory arrays: structures of ``include/motiflux/changing/gpma.hpp``, and their unit."""

from __future__ import annotations

import ctypes
from enum import IntEnum
from functools import cache

import numpy as np

from motiflux.codegen.changing import WriteArgs
from motiflux.jit import Source

_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64

THREADS, WINDOW_LEVELS = 256, 33
"""``changing::kPackedThreads``, ``kWindowLevels``."""
MEDIUM_SLOTS = TILE_SLOTS = 4096
"""``changing::kMediumSlots``, ``kTileSlots``."""
WINDOWS_OF_WARP, SUM_TILE, LARGE_SHIFT = 16, 4096, 40
"""``changing::kWindowsOfWarp``, ``kSumTile``, ``kLargeShift``."""
INSERTS = 2**32 - 1
"""``changing::PackedUpdate::kInserts``."""

UPDATE = np.dtype([("key", "<u8"), ("inserts_before", "<u4"), ("turn", "<u4")])
"""``changing::PackedUpdate``."""
WINDOW = np.dtype(
    [
        ("leaf", "<u4"),
        ("level", "<u4"),
        ("first", "<u4"),
        ("end", "<u4"),
        ("first_tile", "<u8"),
        ("entries", "<u8"),
    ]
)
"""``changing::Window``."""
CHOICE = np.dtype(
    [
        ("levels", "<u8"),
        ("large", "<u8"),
        ("small", "<u4"),
        ("medium", "<u4"),
        ("missing", "<u4"),
        ("unused", "<u4"),
    ]
)
"""``changing::PackedChoice``."""


class GroupSizes(IntEnum):
    """``changing::GroupSizes``."""

    WARP = 0
    FIXED = 1
    ADAPTIVE = 2


class PackedArray(ctypes.Structure):
    """``changing::PackedArray``."""

    __slots__ = ()
    _fields_ = [
        ("sources", _u64),
        ("neighbors", _u64),
        ("firsts", _u64),
        ("counts", _u64),
        ("before", _u64),
        ("leaves", _u64),
        ("leaf_shift", _u32),
        ("unused", _u32),
    ]


class PackedRows(ctypes.Structure):
    """``changing::PackedRows``."""

    __slots__ = ()
    _fields_ = [("begins", _u64), ("ends", _u64), ("rows", _u64), ("vertices", _u64)]


class PackedArgs(ctypes.Structure):
    """``changing::PackedArgs``."""

    __slots__ = ()
    _fields_ = [
        ("array", PackedArray),
        ("target", PackedArray),
        ("rows", PackedRows),
        ("old_rows", PackedRows),
        ("updates", _u64),
        ("update_count", _u64),
        ("insert_count", _u64),
        ("leaf_of", _u64),
        ("marks", _u64),
        ("windows", _u64),
        ("window_capacity", _u64),
        ("large", _u64),
        ("choice", _u64),
        ("entries", _u64),
        ("tile_sums", _u64),
        ("marks_at", _u64 * WINDOW_LEVELS),
        ("most", _u32 * WINDOW_LEVELS),
        ("least", _u32 * WINDOW_LEVELS),
        ("top_level", _u32),
        ("index_levels", _u32),
        ("group_sizes", _u32),
        ("replaces", _u32),
    ]


class PackedMergeArgs(ctypes.Structure):
    """``changing::PackedMergeArgs``."""

    __slots__ = ()
    _fields_ = [("write", WriteArgs), ("array", PackedArray), ("rows", PackedRows), ("touched_count", _u64)]


BATCH_KERNELS = (
    *("locate", "mark_windows", "list_windows"),
    *("rewrite_small", "rewrite_medium", "copy_large", "rewrite_large"),
    *("sum_tiles", "add_up_tiles", "sum_leaves", "find_rows", "empty_rows", "write_headers"),
    "extend_rows",
)
"""Names of the kernels with `PackedArgs`."""
RUN_KERNELS = ("merge", "restore")
"""Names of the kernels with `PackedMergeArgs`."""


def entry_of(name: str) -> str:
    """Return the entry point of a kernel of the unit."""
    return f"motiflux_gpma_{name}"


@cache
def gpma_source() -> Source:
    """Return the unit of all kernels of packed memory arrays."""
    return Source("gpma", '#include "motiflux/changing/gpma.cuh"\n')
