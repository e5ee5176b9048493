"""Memory that a search in phases will take, estimated before partitions are made."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from math import isfinite

from motiflux.gpu.pvm.frontiers import SHARE
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.device_cache import droppable
from motiflux.graph import Direction, Graph
from motiflux.plan.bind import BoundPattern
from motiflux.plan.phases.data import Elimination, Extension, Phase, PhasePlan
from motiflux.plan.phases.estimates import phase_estimates
from motiflux.plan.phases.statistics import PhaseStatistics, phase_statistics

_ID_BYTES = 4
_WIDE_OFFSET, _OFFSET = 8, 4
_INTERVAL_BYTES = 8
_MOST_NARROW_ARCS = 2**32 - 1


@dataclass(frozen=True, slots=True)
class PhaseMemory:
    """Bytes of a search in phases; upper bounds.

    Parameters
    ----------
    partitions
        All partitions that it reads, on the host.
    largest
        The partitions that a device has at a time for one edge label, in all directions that one phase reads.
    vertices
        New ids and labels of vertices, which stay on the device.
    frontier
        The expected embeddings of all phases.
    reads
        The partitions that each phase reads, summed over phases.
    """

    partitions: int
    largest: int
    vertices: int
    frontier: float
    reads: int = 0

    @property
    def tables(self) -> int:
        """Bytes that a device needs besides embeddings."""
        return self.largest + self.vertices

    @property
    def all_tables(self) -> int:
        """Bytes that a device needs besides embeddings to have all partitions at a time."""
        return self.partitions + self.vertices

    def copied_bytes(self, room: int, of_host: int) -> int:
        """Return the bytes that are copied to a device with `room` bytes, if none of them are there.

        If all partitions fit, each is copied once; if not, each phase copies those that it reads, once for
        each group of embeddings that the host holds between phases in `of_host` bytes.
        """
        if self.all_tables <= (1 - SHARE) * room:
            return self.all_tables
        groups = self.frontier // max(1, of_host) + 1 if isfinite(self.frontier) else 1
        return self.vertices + int(groups) * self.reads

    def device_bytes(self, room: int) -> int:
        """Return the bytes that are taken on a device with `room` bytes; a frontier waits in chunks there."""
        left = max(0, room - self.tables)
        frontier = int(self.frontier) if isfinite(self.frontier) else left
        return self.tables + min(frontier, left)


def phase_memory(graph: Graph, bound: BoundPattern, phases: PhasePlan) -> PhaseMemory:
    """Return the memory of a search in phases."""
    statistics = phase_statistics(bound, graph)
    read = [set(_partitions(phase, statistics, directed=graph.directed)) for phase in phases.phases]
    nbytes = {
        (label, way): _partition_bytes(statistics.partitions[label], graph.num_vertices)
        for one in read
        for label, way in one
    }
    sizes = phase_estimates(phases, bound, statistics)
    width, frontier = 0, 0.0
    for phase, size in zip(phases.phases, sizes, strict=True):
        width += len(phase.vertices) if isinstance(phase, Extension) else 0
        frontier += _ID_BYTES * width * size
    labelled = graph.vertex_labels is not None
    return PhaseMemory(
        partitions=sum(nbytes.values()),
        largest=max((_largest(one, nbytes) for one in read), default=0),
        vertices=_ID_BYTES * graph.num_vertices * (1 + labelled),
        frontier=frontier,
        reads=sum(nbytes[key] for one in read for key in one),
    )


def room_for(accelerator: Accelerator, budget: int | None) -> int:
    """Return the bytes that a search may take on a device.

    Copies and jobs that earlier searches left are part of it: they are used again, or dropped for other
    memory.

    Parameters
    ----------
    budget
        Most bytes that motiflux holds there; None: all.
    """
    device = accelerator.device
    if budget is not None:
        device.settle()  # for memory of a search that was given up
    idle = droppable(device) + accelerator.kept_bytes()
    room = device.free_memory() + idle
    return max(0, room if budget is None else min(room, budget - device.used_memory() + idle))


def _partitions(
    phase: Phase, statistics: PhaseStatistics, *, directed: bool
) -> Iterator[tuple[int, Direction]]:
    """Yield the edge label and the direction of each partition that a phase reads."""
    labels = range(len(statistics.partitions)) if phase.partitions is None else phase.partitions
    if isinstance(phase, Elimination):
        asked = {Direction.EITHER if edge.either else Direction.OUT for edge in phase.required}
        asked |= {Direction.OUT for _ in phase.forbidden}
    else:
        asked = {one.direction for one in phase.sets}
        asked |= {Direction.OUT} if phase.tests_absent_arcs else set()
    ways = {way for one in asked for way in _sides(one, directed=directed)}
    yield from ((label, way) for label in labels for way in ways)


def _sides(direction: Direction, *, directed: bool) -> tuple[Direction, ...]:
    """Return the directions of the partitions that have the arcs of a direction."""
    if not directed:
        return (Direction.EITHER,)
    return (Direction.OUT, Direction.IN) if direction is Direction.EITHER else (direction,)


def _largest(read: Collection[tuple[int, Direction]], nbytes: dict[tuple[int, Direction], int]) -> int:
    """Return the bytes of the largest label of a phase: a device has the partitions of one at a time."""
    of_label: dict[int, int] = {}
    for label, way in read:
        of_label[label] = of_label.get(label, 0) + nbytes[label, way]
    return max(of_label.values(), default=0)


def _partition_bytes(arcs: int, num_vertices: int) -> int:
    """Bound the bytes of a partition by intervals: neighbours, offsets, and the intervals of its vertices."""
    rows = min(arcs, num_vertices)
    offset = _WIDE_OFFSET if arcs > _MOST_NARROW_ARCS else _OFFSET
    intervals = min(arcs, (num_vertices + 1) // 2)  # a gap of one vertex or more is between two of them
    return _ID_BYTES * arcs + offset * (rows + 1) + _INTERVAL_BYTES * intervals + _ID_BYTES
