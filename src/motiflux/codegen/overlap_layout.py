"""The structures of tails with overlapping components, field by field as in ``view/overlap.hpp``.

``tests/native/test_layout.py`` compares sizes and offsets with what the C++ compiler says.
"""

from __future__ import annotations

import ctypes

from motiflux.codegen.layout import TAIL_FIELDS, RuntimePlan, Task
from motiflux.types import MAX_PATTERN_VERTICES

_u8, _u16, _u32, _u64 = ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64

(
    MOST_OVERLAP_COMPONENTS,
    MOST_OVERLAP_BRANCHES,
    MOST_OVERLAP_LEVELS,
    MOST_LEVELS_BESIDE_LISTS,
    MOST_SEPARATORS,
) = 15, 31, 6, 3, 3
"""``view::kMostOverlapComponents`` and so on."""


class OverlapBranch(ctypes.Structure):
    """``view::OverlapBranch``."""

    _fields_ = [
        ("at", _u64),
        ("capacity", _u32),
        ("component", _u8),
        ("first", _u8),
        ("last", _u8),
        ("separators", _u8),
        ("separator", _u8 * MOST_SEPARATORS),
        ("unused", _u8 * 5),
    ]


class OverlapComponent(ctypes.Structure):
    """``view::OverlapComponent``."""

    _fields_ = [
        ("lists", _u8),
        ("first_branch", _u8),
        ("branches", _u8),
        ("leaf_levels", _u8),
        ("sizes", _u16),
        ("divisor", _u16),
        ("common", _u8 * (1 << (MOST_OVERLAP_LEVELS - 1))),
    ]


class OverlapComponents(ctypes.Structure):
    """``view::OverlapComponents``."""

    _fields_ = [
        ("begins", _u8 * MAX_PATTERN_VERTICES),
        ("ends", _u8 * MAX_PATTERN_VERTICES),
        ("components", _u32),
        ("branches", _u32),
        ("sizes", _u32),
        ("masks", _u32),
        ("all", OverlapComponent * MOST_OVERLAP_COMPONENTS),
        ("branch", OverlapBranch * MOST_OVERLAP_BRANCHES),
    ]


class RuntimeOverlapArgs(ctypes.Structure):
    """``match::OverlapArgs<match::RuntimePlan>``."""

    _fields_ = [("plan", RuntimePlan), ("task", Task), *TAIL_FIELDS, ("overlaps", OverlapComponents)]


class BranchState(ctypes.Structure):
    """``match::BranchState``."""

    _fields_ = [("sum", _u64 * 2), ("length", _u32), ("resumes", _u32)]


def overlap_bytes_of_group(overlaps: OverlapComponents) -> int:
    """Return the shared memory that a group needs beyond that for a tail (``match::OverlapMemory``)."""
    numbers = 2 * overlaps.components + overlaps.sizes + 4 * overlaps.masks
    return int(overlaps.branches) * ctypes.sizeof(BranchState) + int(numbers) * ctypes.sizeof(_u64)
