"""Memory of a device that a search will take, estimated before anything is uploaded or compiled."""

from __future__ import annotations

import ctypes
from collections.abc import Collection
from dataclasses import dataclass
from math import isqrt
from typing import Protocol

from motiflux.codegen import layout
from motiflux.codegen.kernels import LANES, THREADS, Goal
from motiflux.codegen.tails import device_tail
from motiflux.gpu.launch.compared import copy_keys
from motiflux.gpu.launch.group_memory import USABLE, kept_places, lay_out
from motiflux.gpu.launch.prepare import row_keys
from motiflux.gpu.storage.candidate_space import slot_keys
from motiflux.gpu.storage.device_copies import copies_bytes
from motiflux.gpu.storage.device_csr import RowsKey
from motiflux.gpu.storage.placed_rows import PLACE_BYTES, SHARE
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.plan.estimate.predict import arcs_of
from motiflux.plan.physical import Stage
from motiflux.request.registry import OUT_OF_CORE
from motiflux.request.request import Request
from motiflux.units import bytes_text, quantity

_RESIDENT_THREADS = 2048
"""Most resident threads of a multiprocessor."""
_FEW = 4
"""`explain` reports the groups if memory suffices for fewer than one in this many."""


class HasMemory(Protocol):
    """A device, or what is known of one of another machine."""

    @property
    def multiprocessors(self) -> int:
        """Number of multiprocessors."""

    def free_memory(self) -> int:
        """Return the number of bytes that can be allocated."""


@dataclass(frozen=True, slots=True)
class _Needs:
    """Device memory of a count.

    Parameters
    ----------
    rows, beside
        Bytes of copies of rows; bytes of cached counts of parts and work queues.
    group
        Bytes of the lists of one group of lanes.
    groups
        Number of groups that can run at once.
    """

    rows: int
    beside: int
    group: int
    groups: int


def device_bytes(device: HasMemory, graph: Graph, stage: Stage, request: Request) -> int:
    """Return the most bytes that a count takes: copies of rows, lists of candidates, wait slots.

    All groups of lanes that can run at once have lists; if these do not fit, fewer groups run. The rows of a
    candidate space are taken to be as long as the graph's rows with these labels.
    """
    needs = _needs(device, graph, stage, request)
    wanted = needs.group * needs.groups + needs.beside
    return needs.rows + min(wanted, _room(device, request, needs))


def groups_told(device: HasMemory, graph: Graph, stage: Stage, request: Request) -> str:
    """Return a note if memory for lists suffices for few of the groups that could run; else an empty text."""
    needs = _needs(device, graph, stage, request)
    if needs.group == 0:
        return ""
    fitting = _room(device, request, needs) // needs.group
    if fitting * _FEW >= needs.groups:
        return ""
    return (
        f"; lists of {bytes_text(needs.group)} for each group of lanes leave room for"
        f" {fitting:,} of {quantity(needs.groups, 'group')}"
    )


def _room(device: HasMemory, request: Request, needs: _Needs) -> int:
    """Return the bytes that lists may take."""
    room = device.free_memory() if request.gpu_memory is None else request.gpu_memory
    return max(0, int(USABLE * (room - needs.rows)))


def _needs(device: HasMemory, graph: Graph, stage: Stage, request: Request) -> _Needs:
    plan, kernel = stage.plan, stage.kernel
    keys = row_keys(plan)
    distinct = {key for level in keys for key in level}
    steps = plan.shape.steps
    whole = any(s.bounds_out or s.not_out for s in steps) + any(s.bounds_in or s.not_in for s in steps)
    if request.engine == OUT_OF_CORE:
        rows = _bytes_for_host(device, graph, stage, request, distinct, whole)
    else:
        rows = sum(_row_bytes(graph, _arcs(graph, key)) for key in distinct)
        rows += whole * _row_bytes(graph, len(graph.forward.neighbors))
    if plan.space is not None:
        slots = {key for level in slot_keys(plan) for key in level}
        rows += 4 * graph.num_vertices + 8 * (len(slots) * graph.num_vertices + 1)
    root_arcs = _arcs(graph, keys[1][0])
    groups_of_block = THREADS // (LANES[-1] if kernel is None else kernel.lanes)
    blocks = min(device.multiprocessors * (_RESIDENT_THREADS // THREADS), -(-root_arcs // groups_of_block))
    longest = {key: _longest(graph, key) for key in distinct}
    tail = device_tail(plan)
    goal = Goal.COUNT
    if plan.comparisons is not None:
        goal = Goal.COUNT_COMPARED
        rows += _copies_bytes(graph, plan)
    lists = lay_out(plan, keys, longest, goal, tail)
    groups = groups_of_block * max(1, blocks)
    beside = 0
    if kernel is not None and kernel.remembers:
        beside += ctypes.sizeof(layout.KeptNumber) * kept_places(root_arcs)
    if kernel is not None and kernel.work_queue:
        beside += layout.work_queue_bytes(layout.wait_slots_for(groups))
    return _Needs(rows, beside, 4 * lists.words, groups)


def _bytes_for_host(
    device: HasMemory, graph: Graph, stage: Stage, request: Request, keys: Collection[RowsKey], whole: int
) -> int:
    """Return the bytes for rows that stay on the host: of their places, and of copies."""
    if stage.copies is None:
        return (len(keys) + whole) * _row_bytes(graph, 0)
    tables = (len(keys) + whole) * PLACE_BYTES * graph.num_vertices + _row_bytes(graph, 0)
    if stage.copies.percent is not None:
        room = len(graph.forward.neighbors) * 4 * stage.copies.percent // 100
    else:
        free = device.free_memory() if request.gpu_memory is None else request.gpu_memory
        room = int(SHARE * max(0, free - tables))
    return tables + min(room, sum(4 * _arcs(graph, key) for key in keys))


def _copies_bytes(graph: Graph, plan: Plan) -> int:
    """Bound the bytes of copies of edges, and of values of vertices, that a search compares."""
    assert plan.comparisons is not None
    found = sum(copies_bytes(graph, key) for key in copy_keys(plan))
    of_vertices = {one.columns for one in plan.comparisons.variables if one.vertex is not None}
    return found + sum((8 * len(columns) + 1) * graph.num_vertices for columns in of_vertices)


def _row_bytes(graph: Graph, arcs: int) -> int:
    return 8 * (graph.num_vertices + 1) + 4 * arcs


def _arcs(graph: Graph, key: RowsKey) -> int:
    """Bound the arcs of rows. Between vertices of equal labels, an edge has one arc to the greater vertex."""
    arcs = arcs_of(graph, key.adjacency)
    alike = key.adjacency.source_labels == key.adjacency.target_labels
    return arcs // 2 if key.above and alike and not graph.directed else arcs


def _longest(graph: Graph, key: RowsKey) -> int:
    """Bound the longest row. Ids ascend by degree: a row has at most sqrt(arcs) greater neighbours."""
    longest = graph.longest_row(key.adjacency.direction)
    if key.above and not graph.directed:
        longest = min(longest, isqrt(len(graph.forward.neighbors)) + 1)
    return longest
