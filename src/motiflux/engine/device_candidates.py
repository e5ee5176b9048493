"""Candidate graphs for samplers on a device: copied there once, and kept with the graph like other copies.

They are the CPU's, array by array: a space that a device filters may stop at another round from run to run,
and its samples would be others.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.codegen.layout import Adjacency
from motiflux.codegen.sampling import CandidateGraph, SampleSource
from motiflux.device import Buffer, Device
from motiflux.engine.deadline import seconds_left
from motiflux.engine.device_search import DeviceSearch
from motiflux.engine.resident import DeviceRows, Means, RowsKey, resident
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.statistics import UNIT_BITS

_ALIGNED = 16


@dataclass(eq=False)
class DeviceCandidates:
    """What is sampled by one plan, in one buffer, or what its tree needs besides.

    Parameters
    ----------
    name
        What it is kept under.
    buffer
        Its memory.
    graph
        As kernels see it; rows of the data graph that it points into are not filled in.
    """

    name: Hashable
    buffer: Buffer
    graph: CandidateGraph
    users: weakref.WeakSet[Any] = field(default_factory=weakref.WeakSet, repr=False)

    @property
    def names(self) -> Iterable[Hashable]:
        """The name under which it is kept."""
        return (self.name,)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Its memory."""
        return (self.buffer,)

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        return self.buffer.nbytes


class Loader:
    """Finds, or makes, what a search of one plan samples.

    Parameters
    ----------
    host
        The host's candidate graph.
    """

    def __init__(self, graph: Graph, plan: Plan, device: Device, host: _native.SampleGraph) -> None:
        self._graph = graph
        self._plan = plan
        self._device = device
        self._host = host
        self._copies = resident(graph, device)

    def load(self, search: DeviceSearch, means: Means, *, tree: bool) -> CandidateGraph:
        """Return the candidate graph, which stays until `search` is over.

        Raises
        ------
        DeviceMemoryError
            It does not fit.
        OutOfTimeError
            Time was up before it was there.
        """
        rows = self._rows(search, means)
        name = ("candidates", self._plan)
        found = self._copies.keep(name, lambda: self._copy(name, means, self._pack, rows))
        search.read([found])
        graph = CandidateGraph.from_buffer_copy(found.graph)
        for_arcs = [step for step in self._plan.shape.steps if step.not_out or step.not_in]
        for into, side in ((False, "out"), (True, "in_")):
            if any(step.not_in if into else step.not_out for step in for_arcs):
                arcs = self._copies.arcs(self._graph, into=into, means=means)
                search.read([arcs])
                setattr(graph, side, Adjacency(*arcs.addresses))
        if tree:
            self._add_tree(graph, search, means)
        return graph

    def _rows(self, search: DeviceSearch, means: Means) -> list[DeviceRows]:
        """Return the rows of all sources where they are rows of the graph; none over a candidate space."""
        if self._plan.space is not None:
            return []
        keys = [key for args in self._plan.args.steps for key in args.adjacencies]
        rows = [self._copies.rows(self._graph, RowsKey(key, above=False), means) for key in keys]
        search.read(dict.fromkeys(rows))
        return rows

    def _add_tree(self, graph: CandidateGraph, search: DeviceSearch, means: Means) -> None:
        name = ("sums of candidates", self._plan)
        tree = self._copies.keep(name, lambda: self._copy(name, means, self._pack_tree, []))
        search.read([tree])
        graph.root_sums, graph.trees = tree.graph.root_sums, tree.graph.trees
        for level in range(1, graph.levels):
            graph.level[level].sums = tree.graph.level[level].sums
            graph.level[level].tree_source = tree.graph.level[level].tree_source

    def _copy(
        self,
        name: Hashable,
        means: Means,
        pack: Callable[[Packer, CandidateGraph, list[DeviceRows]], None],
        rows: list[DeviceRows],
    ) -> DeviceCandidates:
        """Copy to the device what `pack` packs, which it does twice: addresses come with the memory."""
        seconds_left(means.deadline)
        packer, graph = Packer(), CandidateGraph()
        pack(packer, graph, rows)
        buffer = self._device.allocate(max(packer.nbytes, 8), "candidates to sample", budget=means.budget)
        packer.begin(buffer.address)
        pack(packer, graph, rows)
        means.stream.upload(buffer, packer.bytes)
        means.stream.wait()  # searches on other streams may read it from now on
        return DeviceCandidates(name, buffer, graph)

    def _pack(self, packer: Packer, graph: CandidateGraph, rows: list[DeviceRows]) -> None:
        host, steps = self._host, self._plan.shape.steps
        graph.levels = len(steps)
        levels = [source.level for step in steps for source in step.sources]
        sources = (SampleSource * len(levels))()
        for number, level in enumerate(levels):
            if rows:
                adjacency = Adjacency(*rows[number].addresses)
            else:
                adjacency = Adjacency(*(packer.add(array) for array in host.rows(number)))
            sources[number] = SampleSource(adjacency, level)
        graph.sources = packer.add(np.frombuffer(bytes(sources), np.uint8), shared=False)
        graph.root_count = host.root_count
        graph.roots = 0 if host.roots is None else packer.add(host.roots)
        first = 0
        for level, step in enumerate(steps):
            at = graph.level[level]
            members = host.members(level)
            at.members = 0 if members is None else packer.add(members)
            at.first_source, at.source_count = first, len(step.sources)
            at.distinct, at.not_out, at.not_in = map(_mask, (step.distinct, step.not_out, step.not_in))
            first += len(step.sources)

    def _pack_tree(self, packer: Packer, graph: CandidateGraph, rows: list[DeviceRows]) -> None:
        host = self._host
        fraction, exponent = host.grow_tree()
        graph.trees = math.ldexp(fraction, exponent - UNIT_BITS)
        for level, source in enumerate(host.tree_sources):
            sums = host.sums(level)
            address = 0 if sums is None else packer.add(sums)
            if level == 0:
                graph.root_sums = address
            else:
                graph.level[level].sums, graph.level[level].tree_source = address, source


class Packer:
    """Puts arrays one behind another into one block of memory, each array once."""

    def __init__(self) -> None:
        self.nbytes = 0
        self.bytes = np.empty(0, np.uint8)
        self._start: int | None = None
        self._places: dict[tuple[int, int], int] = {}

    def begin(self, address: int) -> None:
        """Begin again, now for memory of a device that begins there."""
        self.bytes = np.empty(self.nbytes, np.uint8)
        self.nbytes, self._start = 0, address
        self._places.clear()

    def add(self, array: NDArray[Any], *, shared: bool = True) -> int:
        """Return the address of an array; the same for the same memory of the host, unless not `shared`."""
        key = (array.ctypes.data, array.nbytes) if shared else (0, self.nbytes)
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = self.nbytes
            self.nbytes += -(-array.nbytes // _ALIGNED) * _ALIGNED
            if self._start is not None:
                self.bytes[place : place + array.nbytes] = array.view(np.uint8)
        return place + (self._start or 0)


def _mask(levels: tuple[int, ...]) -> int:
    return sum(1 << level for level in levels)
