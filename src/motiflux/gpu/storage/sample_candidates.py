"""Candidate graphs for samplers on a device, copied from the host once and kept with the data graph.

They are not filtered on the device: its filter may end in a different round from run to run, so that samples
would not be reproducible.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.codegen.layout import Adjacency
from motiflux.codegen.sampling import (
    BITS_ENTRY,
    DRAW_THREADS,
    GROUP,
    BitsArgs,
    CandidateGraph,
    SampleSource,
    bits_source,
)
from motiflux.device import Buffer
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.device_cache import CacheEntry
from motiflux.gpu.runtime.job import AnyJob
from motiflux.gpu.storage.device_csr import DeviceRows, RowsKey, resident
from motiflux.gpu.storage.upload import UploadContext
from motiflux.graph import AdjacencyKey, Graph
from motiflux.plan import Plan
from motiflux.statistics import UNIT_BITS

_ALIGNED = 16
_WHAT = "candidates to sample"
_MOST_BITS = 1 << 18
"""Most bytes of the bitmap of one source's rows."""
_BLOCKS_OF_MULTIPROCESSOR = 16


@dataclass(eq=False)
class DeviceCandidates(CacheEntry):
    """The candidate graph of one plan in one buffer, or the additional sums for the tree estimator.

    Parameters
    ----------
    name
        Name in the cache.
    buffer
        Memory of the candidate graph.
    graph
        The candidate graph as the kernels' argument, without the arcs of the data graph.
    sources
        An array of `SampleSource`, as on the device.
    sizes
        Sizes of the host's candidate graph that was copied.
    rows
        Rows on the device that it points into, but does not keep there.
    """

    name: Hashable
    buffer: Buffer
    graph: CandidateGraph
    sources: Sequence[SampleSource]
    sizes: tuple[int, ...] = ()
    rows: tuple[weakref.ref[DeviceRows], ...] = ()

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Memory of the candidate graph."""
        return (self.buffer,)

    def is_of(self, sizes: tuple[int, ...], rows: Sequence[DeviceRows]) -> bool:
        """Whether it was copied from a graph of these sizes, and points into these rows."""
        return self.sizes == sizes and [ref() for ref in self.rows] == list(rows)


class Loader:
    """Finds or makes the candidate graph of one plan on a device.

    Parameters
    ----------
    host
        The host's candidate graph.
    bits
        Whether rows between small sets are written as bitmaps too.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        graph: Graph,
        plan: Plan,
        host: _native.SampleGraph,
        *,
        bits: bool,
    ) -> None:
        self._accelerator = accelerator
        self._graph = graph
        self._plan = plan
        self._host = host
        self._bits = bits
        self._copies = resident(graph, accelerator.device)
        sources = range(sum(len(step.sources) for step in plan.shape.steps))
        self._sizes = (host.root_count, *(len(host.rows(number)[1]) for number in sources))

    def load(self, job: AnyJob, context: UploadContext, *, tree: bool, arcs: bool) -> CandidateGraph:
        """Return the candidate graph, which stays until `job` is over.

        Parameters
        ----------
        tree
            Whether the sums of the tree estimator are needed.
        arcs
            Whether all arcs of the data graph are needed, even if the plan does not read them.

        Raises
        ------
        DeviceMemoryError
            The candidate graph does not fit.
        OutOfTimeError
            Time was up before the candidate graph was copied.
        """
        rows = self._rows(job, context)
        name = ("candidates", self._plan, self._bits)
        found = self._kept(name, rows, lambda: self._copy_graph(name, context, rows))
        job.memory.read(found)
        graph = CandidateGraph.from_buffer_copy(found.graph)
        steps = self._plan.shape.steps
        for into, side in ((False, "out"), (True, "in_")):
            if arcs or any(step.not_in if into else step.not_out for step in steps):
                all_arcs = self._copies.arcs(self._graph, into=into, context=context)
                job.memory.read(all_arcs)
                setattr(graph, side, Adjacency(*all_arcs.addresses))
        if tree:
            self._add_tree(graph, job, context)
        return graph

    def _kept(
        self, name: Hashable, rows: Sequence[DeviceRows], make: Callable[[], DeviceCandidates]
    ) -> DeviceCandidates:
        """Return the entry of a name, made again if it points into rows that are no longer on the device."""
        while True:
            found = self._copies.keep(name, make)
            if found.is_of(self._sizes, rows):
                return found
            self._copies.drop(name)

    def _rows(self, job: AnyJob, context: UploadContext) -> list[DeviceRows]:
        """Return the rows of all sources if they are rows of the graph; none with a candidate space."""
        if self._plan.space is not None:
            return []
        rows: dict[AdjacencyKey, DeviceRows] = {}
        keys = [key for args in self._plan.args.steps for key in args.adjacencies]
        for key in keys:
            if key not in rows:
                rows[key] = self._copies.rows(self._graph, RowsKey(key, above=False), context)
                job.memory.read(rows[key])  # before the next allocation, which may drop entries
        return [rows[key] for key in keys]

    def _add_tree(self, graph: CandidateGraph, job: AnyJob, context: UploadContext) -> None:
        name = ("sums of candidates", self._plan)
        tree = self._kept(name, (), lambda: self._copy(name, context, (), self._pack_tree))
        job.memory.read(tree)
        graph.root_sums, graph.trees = tree.graph.root_sums, tree.graph.trees
        for level in range(1, graph.levels):
            graph.level[level].sums = tree.graph.level[level].sums
            graph.level[level].tree_source = tree.graph.level[level].tree_source

    def _copy_graph(self, name: Hashable, context: UploadContext, rows: list[DeviceRows]) -> DeviceCandidates:
        """Copy the candidate graph, without bitmaps if these do not fit."""
        if self._bits:
            sources = self._sources_with_bits()
            try:
                copied = self._copy(name, context, rows, partial(self._pack, rows, sources))
                self._write_bits(copied, sources, context)
                return copied
            except DeviceMemoryError:
                pass
        return self._copy(name, context, rows, partial(self._pack, rows, {}))

    def _copy(
        self,
        name: Hashable,
        context: UploadContext,
        rows: Sequence[DeviceRows],
        pack: Callable[[Packer, CandidateGraph], Sequence[SampleSource]],
    ) -> DeviceCandidates:
        """Copy packed arrays to the device. `pack` runs twice: addresses are known after the allocation."""
        context.deadline.check()
        packer, graph = Packer(), CandidateGraph()
        pack(packer, graph)
        nbytes = packer.nbytes + packer.empty_bytes
        buffer = self._accelerator.device.allocate(max(nbytes, 8), _WHAT, budget=context.budget)
        packer.begin(buffer.address)
        sources = pack(packer, graph)
        context.stream.upload(buffer, packer.bytes)
        context.stream.clear(buffer, packer.nbytes)
        context.stream.wait()  # searches on other streams may read it from now on
        of_rows = tuple(weakref.ref(one) for one in rows)
        return DeviceCandidates(name, buffer, graph, sources, self._sizes, of_rows)

    def _sources_with_bits(self) -> dict[int, _Bits]:
        """Return the sizes of the bitmaps, by source in which edges are looked up."""
        found: dict[int, _Bits] = {}
        number = 0
        for level, step in enumerate(self._plan.shape.steps):
            members = self._host.members(level)
            ends = self._graph.num_vertices if members is None else len(members)
            for _ in step.sources:
                starts = len(self._host.rows(number)[0]) - 1
                bits = _Bits(starts, -(-ends // 32))
                if len(step.sources) > 1 and bits.nbytes <= _MOST_BITS:
                    found[number] = bits
                number += 1
        return found

    def _write_bits(
        self, copied: DeviceCandidates, sources: Mapping[int, _Bits], context: UploadContext
    ) -> None:
        if not sources:
            return
        kernel = self._accelerator.kernel(bits_source(), context.deadline, BITS_ENTRY)
        written: set[int] = set()
        for number, bits in sources.items():
            source = copied.sources[number]
            if source.bits in written:
                continue
            written.add(source.bits)
            args = BitsArgs(source.rows, source.bits, bits.starts, bits.words)
            blocks = max(1, -(-bits.starts * GROUP // DRAW_THREADS))
            most = _BLOCKS_OF_MULTIPROCESSOR * self._accelerator.device.multiprocessors
            context.stream.launch(kernel, min(blocks, most), DRAW_THREADS, 0, args)
        context.stream.wait()

    def _pack(
        self,
        rows: list[DeviceRows],
        with_bits: Mapping[int, _Bits],
        packer: Packer,
        graph: CandidateGraph,
    ) -> Sequence[SampleSource]:
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
            if (bits := with_bits.get(number)) is not None:
                sources[number].words = bits.words
                sources[number].bits = packer.leave(bits.nbytes, (adjacency.offsets, bits))
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
        return list(sources)

    def _pack_tree(self, packer: Packer, graph: CandidateGraph) -> Sequence[SampleSource]:
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
        return ()


class _Bits(NamedTuple):
    """Size of a bitmap: number of rows, and words of a row."""

    starts: int
    words: int

    @property
    def nbytes(self) -> int:
        return 4 * self.starts * self.words


class Packer:
    """Packs arrays into one block of memory, each once, with uninitialized space behind them."""

    def __init__(self) -> None:
        self.nbytes = self.empty_bytes = 0
        self.bytes = np.empty(0, np.uint8)
        self._start: int | None = None
        self._places: dict[Hashable, int] = {}

    def begin(self, address: int) -> None:
        """Begin again, now for device memory at `address`."""
        self.bytes = np.zeros(self.nbytes, np.uint8)
        self.nbytes = self.empty_bytes = 0
        self._start = address
        self._places.clear()

    def add(self, array: NDArray[Any], *, shared: bool = True) -> int:
        """Return the address of an array; if `shared`, the same address for the same host memory."""
        key = (array.ctypes.data, array.nbytes) if shared else self.nbytes
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = self.nbytes
            self.nbytes += _aligned(array.nbytes)
            if self._start is not None:
                self.bytes[place : place + array.nbytes] = array.view(np.uint8)
        return place + (self._start or 0)

    def leave(self, nbytes: int, key: Hashable) -> int:
        """Reserve space and return its address; the same address for the same key."""
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = self.empty_bytes
            self.empty_bytes += _aligned(nbytes)
        return place + len(self.bytes) + (self._start or 0)


def _aligned(nbytes: int) -> int:
    return -(-nbytes // _ALIGNED) * _ALIGNED


def _mask(levels: tuple[int, ...]) -> int:
    return sum(1 << level for level in levels)
