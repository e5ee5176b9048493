"""Structures of the streaming kernel, as in ``include/motiflux/streaming``."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from enum import IntEnum
from functools import cache

import numpy as np

from motiflux.codegen.changing import LANES, changing_source
from motiflux.codegen.kernels import Goal
from motiflux.codegen.layout import Adjacency
from motiflux.jit import Source

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
VERSION_BYTES, SLAB_BYTES = 32, 672
"""Bytes of ``view::Version`` and ``view::Slab``."""
BATCH_BYTES = 28_704
"""Bytes of ``streaming::Batch``."""
LOAD_ENTRY = "motiflux_load_versions"
"""The kernel that writes the first versions of rows."""

HEAD = np.dtype([("newest", "<u8"), ("slabs", "<u8")])
"""``view::RowHead``."""
UPDATE = np.dtype([("source", "<u4"), ("target", "<u4"), ("of", "<u4"), ("inserts", "<u4")])
"""``streaming::Update``."""
PLACE = np.dtype([("first_row", "<u4"), ("of_target", "<u4")])
"""``streaming::Place``."""
UPDATE_SLOT = np.dtype([("done", "<u8"), ("cut", "<u4"), ("effect", "<u4")])
"""``streaming::UpdateSlot``."""


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
        ("unlinked_top", _u32),
        ("first_waiting", _u32),
        ("last_waiting", _u32),
        ("stop", _u32),
        ("exhausted", _u32),
        ("violated", _u32),
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


TARGET_VERSIONS = np.dtype(
    [("versions", [("heads", "<u8"), ("memory", "<u8")]), ("first_row", "<u4"), ("unused", "<u4")], align=True
)
"""``view::TargetVersions``."""
VERSIONED_ROOT = np.dtype(
    [
        ("plan", "<u4"),
        ("vertices", "<u4", 2),
        ("unused", "<u4"),
        ("moment", "<u8"),
        ("slot", "<u4"),
        ("unused_too", "<u4"),
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
