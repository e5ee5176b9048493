"""Kernels of walks that estimate how often searches open rows: structures as in ``include/motiflux``."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np

from motiflux.codegen.changing import ChangingPlans
from motiflux.jit import Source
from motiflux.types import MAX_PATTERN_VERTICES

_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64

WALK_ENTRY, OPEN_ENTRY, GATHER_ENTRY = "motiflux_walk", "motiflux_walk_open", "motiflux_walk_gather"
"""Kernels that draw the nodes of a level, open rows, and gather these."""
WALK_THREADS = 256
"""``changing::kWalkThreads``."""
WALK_LEVEL = np.dtype([("weight", "<f8"), ("places", "<u8"), ("blocks", "<u4"), ("unused", "<u4")])
"""``changing::WalkLevel``."""
OPENED_ROW = np.dtype([("key", "<u8"), ("times", "<u8")])
"""``changing::OpenedRow``."""


class WalkArgs(ctypes.Structure):
    """``changing::WalkArgs``."""

    __slots__ = ()
    _fields_ = [
        ("plans", ChangingPlans),
        ("parents", _u64),
        ("vertices", _u64),
        ("sums", _u64),
        ("blocks", _u64),
        ("levels", _u64),
        ("rows", _u64),
        ("found", _u64),
        ("found_count", _u64),
        ("left_out", _u64),
        ("seed", _u64),
        ("round", _u32),
        ("slots", _u32),
        ("roots", _u32),
        ("counted", _u32),
        ("level", _u32),
        ("mask", _u32),
        ("looks", _u32),
        ("unused", _u32),
        ("amounts", _u64 * MAX_PATTERN_VERTICES),
    ]


@cache
def walks_source() -> Source:
    """Return the unit that walks; its entry points are `WALK_ENTRY`, `OPEN_ENTRY` and `GATHER_ENTRY`."""
    return Source("changing-walks", '#include "motiflux/changing/access_walks.cuh"\n')
