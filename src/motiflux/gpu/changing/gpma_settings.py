"""How a packed memory array is laid out and updated: bounds of density, and the switches of GAMMA, V-C."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from motiflux.codegen.gpma import GroupSizes

_UNIT = 1 << 16
"""Bounds of density are in entries per so many slots."""


@dataclass(frozen=True)
class PackedSettings:
    """How an array is laid out and updated; the defaults of the bounds are usual for packed memory arrays.

    Parameters
    ----------
    leaf_shift
        Leaves have 2^leaf_shift slots: 3 to 5.
    leaf_density, root_density
        The least and the most entries per slot of a leaf, and of the whole array; those of levels between
        are interpolated.
    fresh_density
        Entries per slot of an array that is made.
    index_levels
        Top levels of the index that are searched in shared memory (V-C): 0 to 12.
    group_sizes
        How the lanes of a warp are divided among small windows (V-C).
    """

    leaf_shift: int = 5
    leaf_density: tuple[float, float] = (0.08, 0.92)
    root_density: tuple[float, float] = (0.3, 0.7)
    fresh_density: float = 0.6
    index_levels: int = 8
    group_sizes: GroupSizes = GroupSizes.ADAPTIVE

    def bounds(self, level: int, top: int) -> tuple[int, int]:
        """Return the least and the most entries per 2^16 slots of windows of a level."""
        share = level / max(1, top)
        least, most = (
            leaf + (root - leaf) * share
            for leaf, root in zip(self.leaf_density, self.root_density, strict=True)
        )
        return int(least * _UNIT), int(most * _UNIT)

    @property
    def leaf_bounds(self) -> tuple[int, int]:
        """Least and most entries of a leaf."""
        least, most = self.bounds(0, 1)
        return max(1, -(-(least << self.leaf_shift) // _UNIT)), (most << self.leaf_shift) // _UNIT

    def leaves_for(self, entries: int) -> int:
        """Return the leaves of an array that is made for a number of entries."""
        leaves = max(1, math.ceil(entries / (self.fresh_density * (1 << self.leaf_shift))))
        return max(leaves, -(-entries // self.leaf_bounds[1]))

    def fits(self, entries: int, leaves: int) -> bool:
        """Whether an array of this size may hold a number of entries."""
        if leaves == 1:
            return 1 <= entries <= self.leaf_bounds[1]
        least, most = self.bounds(1, 1)
        slots = leaves << self.leaf_shift
        return slots * least <= entries * _UNIT <= slots * most and entries >= leaves * self.leaf_bounds[0]


def packed_settings(tuning: Mapping[str, str]) -> PackedSettings:
    """Return what tuning switches say about packed memory arrays."""
    return PackedSettings(
        leaf_shift=int(tuning["gpma_leaf"]).bit_length() - 1,
        index_levels=int(tuning["gpma_index"]),
        group_sizes=GroupSizes[tuning["gpma_groups"].upper()],
    )
