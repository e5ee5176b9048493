"""The kernels that make a candidate space: their unit, and the structures of their arguments.

Fields are as in ``include/motiflux/candidates/space.hpp``; ``tests/native/test_layout.py`` compares them.
"""

from __future__ import annotations

import ctypes
from enum import StrEnum

from motiflux.codegen.layout import Adjacency
from motiflux.jit import Source
from motiflux.types import MAX_PATTERN_VERTICES

_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64

MAX_KINDS = 16
"""``candidates::kMaxKinds``."""
MAX_GROUPS = 128
"""``candidates::kMaxGroups``."""
MAX_ROW_SETS = 256
"""``candidates::kMaxRowSets``."""
MAX_ROUNDS = 16
"""``candidates::kMaxRounds``."""
TILE = 2048
"""``candidates::kTile``."""

SPACE_THREADS = 128
"""Threads of a block."""
WARP = 32


class SpaceKernel(StrEnum):
    """Entry points of the unit, in the order in which they are launched."""

    START = "motiflux_space_start"
    SWEEP = "motiflux_space_sweep"
    MEASURE = "motiflux_space_measure"
    ADD_TILES = "motiflux_space_add_tiles"
    PLACE_TILES = "motiflux_space_place_tiles"
    PLACE_ROWS = "motiflux_space_place_rows"
    FILL = "motiflux_space_fill"


def space_source() -> Source:
    """Return the unit of all kernels of `SpaceKernel`."""
    return Source("space", '#include "motiflux/candidates/space.cuh"\n')


class Group(ctypes.Structure):
    """``candidates::Group``."""

    __slots__ = ()
    _fields_ = [("kind", _u32), ("mask", _u32), ("least", _u32)]


class RowSet(ctypes.Structure):
    """``candidates::RowSet``."""

    __slots__ = ()
    _fields_ = [("kind", _u32), ("from_", _u32), ("to", _u32)]


class Report(ctypes.Structure):
    """``candidates::Report``."""

    __slots__ = ()
    _fields_ = [
        ("started", _u64 * MAX_PATTERN_VERTICES),
        ("removed", _u64 * MAX_PATTERN_VERTICES * MAX_ROUNDS),
        ("arcs", _u64 * MAX_ROW_SETS),
        ("longest", _u64 * MAX_ROW_SETS),
    ]


class SpaceArgs(ctypes.Structure):
    """``candidates::SpaceArgs``."""

    __slots__ = ()
    _fields_ = [
        ("out", Adjacency),
        ("in_", Adjacency),
        ("kinds", Adjacency * MAX_KINDS),
        ("labels", _u64),
        ("of_label", _u64),
        ("allowed", _u64),
        ("serves", _u64),
        ("offsets", _u64),
        ("tiles", _u64),
        ("neighbors", _u64),
        ("report", _u64),
        ("vertices", _u32),
        ("query_vertices", _u32),
        ("kind_count", _u32),
        ("row_set_count", _u32),
        ("round", _u32),
        ("rounds", _u32),
        ("min_out", _u32 * MAX_PATTERN_VERTICES),
        ("min_in", _u32 * MAX_PATTERN_VERTICES),
        ("needs", _u32 * MAX_PATTERN_VERTICES * MAX_KINDS),
        ("first_group", _u32 * (MAX_PATTERN_VERTICES + 1)),
        ("groups", Group * MAX_GROUPS),
        ("row_sets", RowSet * MAX_ROW_SETS),
    ]
