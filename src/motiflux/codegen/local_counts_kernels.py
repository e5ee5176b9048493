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
    FIVE_HUBS_AT_EDGES = "five-hubs-at-edges"
    FIVE_OPPOSITES = "five-opposites"
    FIVE_OPPOSITES_AT_EDGES = "five-opposites-at-edges"
    FIVE_PAIRS = "five-pairs"
    FIVE_PAIRS_AT_EDGES = "five-pairs-at-edges"
    FIVE_WALKS = "five-walks"
    FIVE_WALKS_AT_EDGES = "five-walks-at-edges"
    FIVE_ROWS = "five-rows"
    FIVE_EDGES = "five-edges"
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
    LocalCountKernel.FIVE_HUBS: ("five/hub", "HubArgs", "count_hubs<false>"),
    LocalCountKernel.FIVE_HUBS_AT_EDGES: ("five/hub", "HubArgs", "count_hubs<true>"),
    LocalCountKernel.FIVE_OPPOSITES: ("five/opposites", "OppositeArgs", "add_opposites<false>"),
    LocalCountKernel.FIVE_OPPOSITES_AT_EDGES: ("five/opposites", "OppositeArgs", "add_opposites<true>"),
    LocalCountKernel.FIVE_PAIRS: ("five/pairs", "CounterArgs", "count_pairs<false>"),
    LocalCountKernel.FIVE_PAIRS_AT_EDGES: ("five/pairs", "CounterArgs", "count_pairs<true>"),
    LocalCountKernel.FIVE_WALKS: ("five/walks", "CounterArgs", "count_closed_walks<false>"),
    LocalCountKernel.FIVE_WALKS_AT_EDGES: ("five/walks", "CounterArgs", "count_closed_walks<true>"),
    LocalCountKernel.FIVE_ROWS: ("five/close", "CloseArgs", "close_rows"),
    LocalCountKernel.FIVE_EDGES: ("five/edges", "EdgeArgs", "close_edges"),
    LocalCountKernel.FIVE_SOLVE: ("five/solve", "SolveArgs", "solve_orbits"),
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
