"""Translation units of the kernels that make tables of local counts (``include/motiflux/local_counts``)."""

from __future__ import annotations

from enum import StrEnum

from motiflux.jit import Source

MOST_THREADS = 1024
"""Most threads of a block."""


class LocalCountKernel(StrEnum):
    """A kernel of local counts."""

    RANKS = "ranks"
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
    DIAMONDS = "diamonds"
    ORBITS = "orbits"
    FIVE_LISTS = "five-lists"
    FIVE_HUBS = "five-hubs"
    FIVE_OPPOSITES = "five-opposites"
    FIVE_PAIRS = "five-pairs"
    FIVE_WALKS = "five-walks"
    FIVE_CLOSE = "five-close"
    FIVE_SOLVE = "five-solve"


_KERNELS = {
    LocalCountKernel.RANKS: ("order", "RankArgs", "find_ranks"),
    LocalCountKernel.ORDER: ("order", "OrderArgs", "find_order"),
    LocalCountKernel.TRIANGLES: ("triangles", "TriangleArgs", "triangles_of_arcs"),
    LocalCountKernel.WEDGE_TOTAL: (
        "wedges",
        "WedgeArgs",
        "count_wedges<motiflux::local_counts::WedgeGoal::kTotal>",
    ),
    LocalCountKernel.WEDGE_ENDS: (
        "wedges",
        "WedgeArgs",
        "count_wedges<motiflux::local_counts::WedgeGoal::kEnds>",
    ),
    LocalCountKernel.WEDGE_ARCS: (
        "wedges",
        "WedgeArgs",
        "count_wedges<motiflux::local_counts::WedgeGoal::kArcs>",
    ),
    LocalCountKernel.MERGE: ("wedges", "MergeArgs", "merge_arcs"),
    LocalCountKernel.KINDS: ("kinds", "KindArgs", "count_kinds"),
    LocalCountKernel.WALKS: ("walks", "WalkArgs", "walk"),
    LocalCountKernel.SUMS: ("combine", "SumArgs", "sum_products"),
    LocalCountKernel.JOIN: ("combine", "JoinArgs", "join_tables"),
    LocalCountKernel.DIAMONDS: ("diamonds", "DiamondArgs", "count_diamonds"),
    LocalCountKernel.ORBITS: ("orbits", "OrbitArgs", "find_orbits"),
    LocalCountKernel.FIVE_LISTS: ("five/lists", "ListArgs", "list_triangles"),
    LocalCountKernel.FIVE_HUBS: ("five/hub", "HubArgs", "count_hubs"),
    LocalCountKernel.FIVE_OPPOSITES: ("five/opposites", "OppositeArgs", "add_opposites"),
    LocalCountKernel.FIVE_PAIRS: ("five/pairs", "CounterArgs", "count_pairs"),
    LocalCountKernel.FIVE_WALKS: ("five/walks", "CounterArgs", "count_closed_walks"),
    LocalCountKernel.FIVE_CLOSE: ("five/close", "CloseArgs", "close_rows"),
    LocalCountKernel.FIVE_SOLVE: ("five/close", "SolveArgs", "solve_orbits"),
}


def local_counts_source(kernel: LocalCountKernel, entry: str) -> Source:
    """Return the unit of a kernel, with the entry point `entry`."""
    header, argument, body = _KERNELS[kernel]
    text = f"""\
#include "motiflux/local_counts/{header}.cuh"

extern "C" __global__ void __launch_bounds__({MOST_THREADS}, 1)
{entry}(const __grid_constant__ motiflux::local_counts::{argument} args) {{
  motiflux::local_counts::{body}(args);
}}
"""
    return Source(f"local-counts-{kernel}", text)
