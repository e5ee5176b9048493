"""The structures that kernels of local counts take, field by field as in ``include/motiflux/local_counts``.

``tests/native/test_layout.py`` compares sizes and offsets with those of the C++ compiler.
"""

from __future__ import annotations

import ctypes
from enum import IntEnum

from motiflux.codegen.layout import Adjacency

_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64

SCRATCH_BYTES = 1024
"""``local_counts::kScratchBytes``: bytes at the start of the shared memory of every block."""

MOST_FACTORS, MOST_PRODUCTS, MOST_LESSER = 6, 4, 12
"""``local_counts::kMostFactors`` and so on."""

ROW_SUMS = 13
"""``local_counts::kRowSums``."""

MOST_KINDS, MOST_STEPS, MOST_REGISTERS = 8, 24, 16

SELF, SOURCE, TARGET = 0, 1, 2
"""``local_counts::At``."""


class Ends(IntEnum):
    """``local_counts::Ends``: the wedges x - y - z of a root x that count."""

    ALL = 0
    LESSER = 1
    UNDER_ROOT = 2
    GREATER = 3
    GREATEST = 4


class Frame(ctypes.Structure):
    """``local_counts::Frame``."""

    __slots__ = ()
    _fields_ = [("control", _u64), ("failed", _u64)]


class Roots(ctypes.Structure):
    """``local_counts::Roots``."""

    __slots__ = ()
    _fields_ = [
        ("order", _u64),
        ("work", _u64),
        ("heavy", _u32),
        ("count", _u32),
        ("taken", _u64),
        ("first", _u32),
        ("stride", _u32),
    ]


class RankArgs(ctypes.Structure):
    """``local_counts::RankArgs``."""

    __slots__ = ()
    _fields_ = [("rows", Adjacency), ("vertices", _u32), ("lesser", _u64), ("ranks", _u64)]


class OrderArgs(ctypes.Structure):
    """``local_counts::OrderArgs``."""

    __slots__ = ()
    _fields_ = [
        ("first", Adjacency),
        ("second", Adjacency),
        ("vertices", _u32),
        ("ends", _u32),
        ("ranks", _u64),
        ("work", _u64),
    ]


class TriangleArgs(ctypes.Structure):
    """``local_counts::TriangleArgs``."""

    __slots__ = ()
    _fields_ = [
        ("rows", Adjacency),
        ("ranks", _u64),
        ("frame", Frame),
        ("roots", Roots),
        ("slices", _u64),
        ("vertices", _u32),
        ("near_words", _u32),
        ("hash_slots", _u32),
        ("far_words", _u64),
        ("far", _u64),
        ("out", _u64),
    ]


class WedgeArgs(ctypes.Structure):
    """``local_counts::WedgeArgs``."""

    __slots__ = ()
    _fields_ = [
        ("first", Adjacency),
        ("second", Adjacency),
        ("ranks", _u64),
        ("frame", Frame),
        ("roots", Roots),
        ("vertices", _u32),
        ("ends", _u32),
        ("number", _u32),
        ("near_words", _u32),
        ("hash_slots", _u32),
        ("far_words", _u32),
        ("far", _u64),
        ("out", _u64),
    ]


class MergeArgs(ctypes.Structure):
    """``local_counts::MergeArgs``."""

    __slots__ = ()
    _fields_ = [("rows", Adjacency), ("ranks", _u64), ("vertices", _u32), ("table", _u64)]


class WedgeKind(ctypes.Structure):
    """``local_counts::WedgeKind``."""

    __slots__ = ()
    _fields_ = [("first", Adjacency), ("second", Adjacency), ("number", _u64)]


class KindArgs(ctypes.Structure):
    """``local_counts::KindArgs``."""

    __slots__ = ()
    _fields_ = [
        ("kinds", WedgeKind * MOST_KINDS),
        ("count", _u32),
        ("below", _u32),
        ("frame", Frame),
        ("roots", Roots),
        ("vertices", _u32),
        ("counters", _u64),
        ("total", _u64),
        ("ends", _u64),
    ]


class WalkStep(ctypes.Structure):
    """``local_counts::WalkStep``."""

    __slots__ = ()
    _fields_ = [
        ("rows", Adjacency),
        ("weights", _u64),
        ("move", _u32),
        ("into", _u32),
        ("source", _u32),
        ("power", _u32),
        ("below", _u64),
    ]


class WalkArgs(ctypes.Structure):
    """``local_counts::WalkArgs``."""

    __slots__ = ()
    _fields_ = [
        ("steps", WalkStep * MOST_STEPS),
        ("count", _u32),
        ("registers", _u32),
        ("apart", _u32),
        ("finish", _u32),
        ("rows", Adjacency),
        ("frame", Frame),
        ("roots", Roots),
        ("vertices", _u32),
        ("totals", _u32),
        ("values", _u64),
        ("reached", _u64),
        ("out", _u64),
    ]


class Factor(ctypes.Structure):
    """``local_counts::Factor``."""

    __slots__ = ()
    _fields_ = [("table", _u64), ("at", _u32), ("unused", _u32)]


class Product(ctypes.Structure):
    """``local_counts::Product``."""

    __slots__ = ()
    _fields_ = [("factors", Factor * MOST_FACTORS), ("count", _u64)]


class Domain(ctypes.Structure):
    """``local_counts::Domain``."""

    __slots__ = ()
    _fields_ = [("rows", Adjacency), ("size", _u64), ("vertices", _u32), ("by_rows", _u32)]


class SumArgs(ctypes.Structure):
    """``local_counts::SumArgs``."""

    __slots__ = ()
    _fields_ = [
        ("domain", Domain),
        ("frame", Frame),
        ("products", Product * MOST_PRODUCTS),
        ("count", _u64),
        ("out", _u64),
    ]


class Lesser(ctypes.Structure):
    """``local_counts::Lesser``."""

    __slots__ = ()
    _fields_ = [("table", _u64), ("times", _u64)]


class JoinArgs(ctypes.Structure):
    """``local_counts::JoinArgs``."""

    __slots__ = ()
    _fields_ = [
        ("domain", Domain),
        ("frame", Frame),
        ("product", Product),
        ("lesser", Lesser * MOST_LESSER),
        ("count", _u64),
        ("sum_rows", _u64),
        ("out", _u64),
    ]


class DiamondArgs(ctypes.Structure):
    """``local_counts::DiamondArgs``."""

    __slots__ = ()
    _fields_ = [
        ("rows", Adjacency),
        ("above", Adjacency),
        ("triangles", _u64),
        ("frame", Frame),
        ("roots", Roots),
        ("near_words", _u32),
        ("unused", _u32),
        ("far_words", _u64),
        ("far", _u64),
        ("cliques", _u64),
        ("apart", _u64),
    ]


class OrbitArgs(ctypes.Structure):
    """``local_counts::OrbitArgs``."""

    __slots__ = ()
    _fields_ = [
        ("rows", Adjacency),
        ("triangles", _u64),
        ("squares", _u64),
        ("frame", Frame),
        ("vertices", _u32),
        ("sums", _u32),
        ("closed", _u64),
        ("cycles", _u64),
        ("ends", _u64),
        ("cliques", _u64),
        ("apart", _u64),
        ("orbits", _u64),
    ]


class FiveGraph(ctypes.Structure):
    """``local_counts::FiveGraph``."""

    __slots__ = ()
    _fields_ = [
        ("rows", Adjacency),
        ("closed", _u64),
        ("squares", _u64),
        ("reverse", _u64),
        ("begins", _u64),
        ("lists", _u64),
        ("ends", _u64),
        ("sides", _u64),
        ("cliques", _u64),
        ("edges", _u64),
        ("sums", _u64),
        ("places", _u64),
        ("vertices", _u64),
    ]


class ListArgs(ctypes.Structure):
    """``local_counts::ListArgs``."""

    __slots__ = ()
    _fields_ = [
        ("graph", FiveGraph),
        ("above", Adjacency),
        ("ranks", _u64),
        ("edges", _u64),
        ("starts", _u64),
        ("frame", Frame),
        ("arcs", _u64),
        ("links", _u64),
    ]


class HubArgs(ctypes.Structure):
    """``local_counts::HubArgs``."""

    __slots__ = ()
    _fields_ = [
        ("graph", FiveGraph),
        ("frame", Frame),
        ("order", _u64),
        ("begin", _u32),
        ("count", _u32),
        ("parts", _u32),
        ("longest", _u32),
        ("taken", _u64),
        ("near_words", _u64),
        ("far_words", _u64),
        ("far", _u64),
        ("members", _u64),
    ]


class OppositeArgs(ctypes.Structure):
    """``local_counts::OppositeArgs``."""

    __slots__ = ()
    _fields_ = [("graph", FiveGraph), ("frame", Frame), ("of", _u64), ("arcs", _u64)]


class CounterArgs(ctypes.Structure):
    """``local_counts::CounterArgs``."""

    __slots__ = ()
    _fields_ = [
        ("graph", FiveGraph),
        ("ranks", _u64),
        ("frame", Frame),
        ("roots", Roots),
        ("room", _u32),
        ("unused", _u32),
        ("far", _u64),
        ("touched", _u64),
    ]


class CloseArgs(ctypes.Structure):
    """``local_counts::CloseArgs``."""

    __slots__ = ()
    _fields_ = [("graph", FiveGraph), ("frame", Frame), ("of", _u64), ("step", _u64)]


class EdgeArgs(ctypes.Structure):
    """``local_counts::EdgeArgs``."""

    __slots__ = ()
    _fields_ = [
        ("graph", FiveGraph),
        ("above", Adjacency),
        ("of", _u64),
        ("small", _u64),
        ("frame", Frame),
    ]


class SolveArgs(ctypes.Structure):
    """``local_counts::SolveArgs``."""

    __slots__ = ()
    _fields_ = [
        ("small", _u64),
        ("sums", _u64),
        ("coefficients", _u64),
        ("orbits", _u64),
        ("frame", Frame),
        ("places", _u64),
        ("known", _u32),
        ("unknown", _u32),
        ("unnamed", _u32),
        ("unused", _u32),
    ]
