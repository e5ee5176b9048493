"""How a search divides the memory of a device between tables and frontiers."""

from __future__ import annotations

from typing import NamedTuple

from motiflux.codegen.pvm import BATCH, ITEMS
from motiflux.gpu.pvm.buckets import bucket_bytes
from motiflux.gpu.pvm.frontiers import (
    MOST_BYTES,
    SHARE,
    TILED_SHARE,
    least_bytes,
    left_bytes,
)
from motiflux.gpu.pvm.launches import PLACE_BYTES
from motiflux.gpu.pvm.phase_query import PhaseQuery
from motiflux.gpu.pvm.programs import ExtensionProgram, Programs
from motiflux.gpu.pvm.resident_tables import TILES
from motiflux.graph import Graph

_SMALL = 256
"""Bytes for each small array, in addition to its contents, and for each phase."""


class Division(NamedTuple):
    """Bytes of all frontiers, and of tables."""

    frontiers: int
    tables: int


def divided_memory(
    room: int, programs: Programs, query: PhaseQuery, warps: int, largest: int
) -> tuple[Division, Division]:
    """Return how memory is divided if all tables fit, and if they do not.

    Parameters
    ----------
    warps
        Warps of the largest grid.
    largest
        Bytes of the largest table.
    """
    left = left_bytes(warps, min(MOST_BYTES, max(0, int(SHARE * room))))
    room -= _other_bytes(programs, query.graph, left)
    if query.is_on("pvm_distribution", "round_robin"):
        most_phases = sum(
            len(phase.sets) + len(phase.tests) if isinstance(phase, ExtensionProgram) else len(phase.tests)
            for phase in programs.phases
        )
        room -= 8 * warps * most_phases + _SMALL
    if query.kernel_form.two_passes:
        rows = max(query.graph.num_vertices, min(MOST_BYTES, max(0, int(TILED_SHARE * room))) // 4)
        room -= place_bytes(rows, left // ITEMS.itemsize)
    found = []
    for share in (SHARE, TILED_SHARE):
        frontiers = max(min(MOST_BYTES, int(share * room)), _least_share(programs))
        found.append(Division(frontiers, max(0, room - frontiers)))
    whole, tiled = found
    tiles = 2 + TILES * largest // max(1, tiled.tables // 2)
    return whole, tiled._replace(tables=max(0, tiled.tables - bucket_bytes(tiles)))


def place_bytes(rows: int, parts: int) -> int:
    """Return the bytes of the places of units of work: batches of so many rows, and parts of batches."""
    return PLACE_BYTES * (-(-max(1, rows) // BATCH) + parts)


def _least_share(programs: Programs) -> int:
    """Return the bytes of the smallest frontiers, and of one to sort them."""
    least = [least_bytes(phase) for phase in programs.phases]
    return (len(least) + 1) * max(least)


def _other_bytes(programs: Programs, graph: Graph, left: int) -> int:
    """Bound the bytes of a search beside tables and frontiers: work that is left, and small arrays."""
    extensions = [phase for phase in programs.phases if isinstance(phase, ExtensionProgram)]
    roots = [phase.root[1:] for phase in extensions if phase.root is not None]
    sets = [one for phase in extensions for one in phase.sets]
    among = [*roots, *((one.narrowing, one.signature) for one in sets)]
    filters = [one for both in among for one in both if one is not None]
    orders = sum(one.members * len(one.orders) for one in sets)
    labels = (len(sets) + len(roots)) * (len(graph.vertex_label_table) // 8 + _SMALL)
    masks = len(filters) * (graph.num_vertices // 8 + _SMALL)
    return left + orders + labels + masks + _SMALL * len(programs.phases)
