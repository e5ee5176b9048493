"""Translation units of the kernels that make tables of local counts (``include/motiflux/local``)."""

from __future__ import annotations

from enum import StrEnum

from motiflux.jit import Source

MOST_THREADS = 1024
"""Threads of a block at most."""


class Local(StrEnum):
    """A kernel: its header, its argument and its body."""

    ORDER = "order"
    TRIANGLES = "triangles"
    WEDGE_TOTAL = "wedge-total"
    WEDGE_ENDS = "wedge-ends"
    WEDGE_ARCS = "wedge-arcs"
    MERGE = "merge"
    KINDS = "kinds"
    WALKS = "walks"
    SUMS = "sums"
    JOIN = "join"


_PARTS = {
    Local.ORDER: ("order", "OrderArgs", "find_order"),
    Local.TRIANGLES: ("triangles", "TriangleArgs", "triangles_of_arcs"),
    Local.WEDGE_TOTAL: ("wedges", "WedgeArgs", "count_wedges<motiflux::local::WedgeGoal::kTotal>"),
    Local.WEDGE_ENDS: ("wedges", "WedgeArgs", "count_wedges<motiflux::local::WedgeGoal::kEnds>"),
    Local.WEDGE_ARCS: ("wedges", "WedgeArgs", "count_wedges<motiflux::local::WedgeGoal::kArcs>"),
    Local.MERGE: ("wedges", "MergeArgs", "merge_arcs"),
    Local.KINDS: ("kinds", "KindArgs", "count_kinds"),
    Local.WALKS: ("walks", "WalkArgs", "walk"),
    Local.SUMS: ("combine", "SumArgs", "sum_products"),
    Local.JOIN: ("combine", "JoinArgs", "join_tables"),
}


def local_source(kernel: Local, entry: str) -> Source:
    """Return the unit of a kernel with an entry point of that name."""
    header, argument, body = _PARTS[kernel]
    text = f"""\
#include "motiflux/local/{header}.cuh"

extern "C" __global__ void __launch_bounds__({MOST_THREADS}, 1)
{entry}(const __grid_constant__ motiflux::local::{argument} args) {{
  motiflux::local::{body}(args);
}}
"""
    return Source(f"local-{kernel}", text)
