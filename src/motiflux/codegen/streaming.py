"""Structures of the streaming kernel, as in ``include/motiflux/streaming``."""

from __future__ import annotations

import ctypes

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
