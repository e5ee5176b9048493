"""Rows of partitions: structures of ``include/motiflux/view`` and ``pcsr``, and the unit that finds rows."""

from __future__ import annotations

import ctypes
from enum import StrEnum
from functools import cache

import numpy as np

from motiflux.jit import Source

_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64

GROUP_WORDS, GROUP_KEYS, NO_KEY = 32, 15, 2**32 - 1
"""``view::HashGroup::kWords``, ``kKeys``, ``kNone``."""
FIND_THREADS = 256
"""``pcsr::kFindThreads``."""


class FindKernel(StrEnum):
    """Entry points of `pcsr_source`: a warp finds the row of a vertex, or each lane does (``ALONE``)."""

    INTERVAL = "motiflux_find_by_interval"
    INTERVAL_ALONE = "motiflux_find_by_interval_alone"
    HASH = "motiflux_find_by_hash"
    HASH_ALONE = "motiflux_find_by_hash_alone"


FOUND_ROW = np.dtype([("first", "<u8"), ("size", "<u8")])
"""``pcsr::FoundRow``."""


class IntervalRows(ctypes.Structure):
    """``view::IntervalRows``."""

    __slots__ = ()
    _fields_ = [
        ("renamed", _u64),
        ("firsts", _u64),
        ("rows_before", _u64),
        ("offsets", _u64),
        ("wide_offsets", _u64),
        ("neighbors", _u64),
        ("intervals", _u32),
        ("unused", _u32),
    ]


class HashRows(ctypes.Structure):
    """``view::HashRows``."""

    __slots__ = ()
    _fields_ = [("words", _u64), ("neighbors", _u64), ("groups", _u32), ("unused", _u32)]


_ASKED = [
    ("vertices", _u64),
    ("labels", _u64),
    ("found", _u64),
    ("total", _u64),
    ("count", _u64),
    ("label", _u32),
    ("index_words", _u32),
]


class FindByInterval(ctypes.Structure):
    """``pcsr::FindArgs<view::IntervalRows>``."""

    __slots__ = ()
    _fields_ = [("rows", IntervalRows), *_ASKED]


class FindByHash(ctypes.Structure):
    """``pcsr::FindArgs<view::HashRows>``."""

    __slots__ = ()
    _fields_ = [("rows", HashRows), *_ASKED]


@cache
def pcsr_source() -> Source:
    """Return the unit of the kernels that find rows."""
    return Source("pcsr", '#include "motiflux/pcsr/find_rows.cuh"\n')
