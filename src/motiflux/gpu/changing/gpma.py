"""A packed memory array on the device: the entries of all rows in one sorted array with gaps (GAMMA, V-C).

The layout and the kernels are in ``include/motiflux/changing/gpma.hpp`` and beside it. The host knows the
number of entries: it chooses the size of the array, and replaces the array when the number leaves its bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen.changing import ROW
from motiflux.codegen.gpma import (
    BATCH_KERNELS,
    CHOICE,
    INSERTS,
    LARGE_SHIFT,
    RUN_KERNELS,
    SUM_TILE,
    THREADS,
    TILE_SLOTS,
    UPDATE,
    WINDOW,
    WINDOW_LEVELS,
    WINDOWS_OF_WARP,
    PackedArgs,
    PackedArray,
    PackedRows,
    entry_of,
    gpma_source,
)
from motiflux.device import Buffer, Device, Kernel, Stream
from motiflux.errors import InternalError
from motiflux.gpu.changing.gpma_settings import PackedSettings
from motiflux.gpu.changing.memory import Room
from motiflux.gpu.runtime.accelerator import Accelerator

_WARPS = THREADS // 32
_MOST_BLOCKS = 1 << 12
_PURPOSE = "packed memory array of the changing graph"


@dataclass
class _Array:
    """An array on the device.

    Parameters
    ----------
    buffers
        Its memory: the parts that kernels see, and one for sums.
    at
        These parts.
    """

    buffers: list[Buffer]
    at: PackedArray

    @property
    def leaves(self) -> int:
        """Number of leaves."""
        return int(self.at.leaves)

    @property
    def slots(self) -> int:
        """Number of slots."""
        return int(self.at.leaves) << int(self.at.leaf_shift)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(buffer.nbytes for buffer in self.buffers)

    def hold(self, stream: Stream) -> None:
        """Keep the memory until the work on a stream is done."""
        for buffer in self.buffers:
            stream.hold(buffer)


@dataclass
class _Places:
    """Where rows are: the slots of each, and its header."""

    buffers: list[Buffer]
    at: PackedRows
    vertices: int


class PackedMemoryArray:
    """The entries (vertex, neighbour) of all rows, with a header of each row for searches.

    Parameters
    ----------
    accelerator, budget
        The device and its kernels, and the maximum number of bytes that motiflux holds there.
    settings
        How it is laid out and updated.

    Attributes
    ----------
    entries
        Number of entries.
    """

    def __init__(
        self, accelerator: Accelerator, budget: int | None, settings: PackedSettings | None = None
    ) -> None:
        self._accelerator, self._budget = accelerator, budget
        self.settings = settings or PackedSettings()
        self._work = Room(self._device, "updates of a packed memory array", budget)
        self._array: _Array | None = None
        self._places: _Places | None = None
        self.entries = 0

    @property
    def _device(self) -> Device:
        return self._accelerator.device

    @property
    def kernels(self) -> Mapping[str, Kernel]:
        """All kernels, by entry point."""
        return self._accelerator.kernels(gpma_source(), map(entry_of, (*BATCH_KERNELS, *RUN_KERNELS)))

    @property
    def array(self) -> PackedArray:
        """The array, as kernels see it."""
        assert self._array is not None, "nothing is loaded"
        return self._array.at

    @property
    def rows(self) -> PackedRows:
        """Where rows are, as kernels see it."""
        assert self._places is not None, "nothing is loaded"
        return self._places.at

    @property
    def nbytes(self) -> int:
        """Bytes of the array and of the places of rows."""
        places = [] if self._places is None else self._places.buffers
        return (0 if self._array is None else self._array.nbytes) + sum(buffer.nbytes for buffer in places)

    def load(self, stream: Stream, offsets: NDArray[np.uint64], neighbors: NDArray[np.uint32]) -> None:
        """Hold rows of the host: those of vertex v are from offsets[v] to offsets[v + 1], each ascending.

        Raises
        ------
        DeviceMemoryError
            There is no room. Nothing is held then.
        """
        self.release()
        first = offsets.astype(np.int64)
        sizes = first[1:] - first[:-1]
        array = self._new_array(len(neighbors))
        places = self._new_places(max(1, len(sizes)))
        for buffer in places.buffers:
            stream.clear(buffer)
        self._array, self._places, self.entries = array, places, len(neighbors)
        if self.entries:
            keys = np.repeat(np.arange(len(sizes), dtype=np.uint64) << np.uint64(32), sizes)
            keys |= neighbors
            copy = self._device.allocate(keys.nbytes, _PURPOSE, budget=self._budget)
            stream.upload(copy, keys)
            stream.hold(copy)
            args = self._args()
            args.array = args.target
            args.entries = copy.address
            self._replace(stream, args, array, len(keys))
        stream.wait()  # the arrays above are not kept

    def cover(self, stream: Stream, vertices: int) -> None:
        """Have empty rows for new vertices, up to this number of vertices in all."""
        old = self._places
        assert old is not None, "nothing is loaded"
        if vertices <= old.vertices:
            return
        new = self._new_places(vertices + vertices // 4 + 4)
        args = self._args()
        args.old_rows, args.rows = old.at, new.at
        self._hold(stream)
        for buffer in new.buffers:
            stream.hold(buffer)
        self._launch(stream, "extend_rows", args, new.vertices)
        self._places = new

    def update(self, stream: Stream, updates: int, count: int, inserts: int) -> None:
        """Insert and delete entries.

        Parameters
        ----------
        updates
            Address of the updates (`UPDATE`), in the order of entries.
        count, inserts
            Number of updates, and of those that insert.

        Raises
        ------
        DeviceMemoryError
            There is no room. All entries are as before.
        InternalError
            An entry that is to be deleted is not there. All entries are as before.
        """
        if count == 0:
            return
        entries = self.entries + 2 * inserts - count
        array = self._array
        assert array is not None, "nothing is loaded"
        if entries == 0 or self.entries == 0:
            self._update_from_nothing(stream, updates, count, entries)
        elif self.settings.fits(entries, array.leaves):
            self._update_windows(stream, updates, count, inserts)
        else:
            self._update_all(stream, updates, count, inserts, entries)
        self.entries = entries

    def read(self, stream: Stream) -> dict[str, NDArray[Any]]:
        """Return the slots and what belongs to them, by name, for tests and measurements."""
        array, places = self._array, self._places
        assert array is not None, "nothing is loaded"
        assert places is not None
        found: dict[str, NDArray[Any]] = {}
        for name, buffer, dtype, size in (
            ("sources", array.buffers[0], np.uint32, array.slots),
            ("neighbors", array.buffers[1], np.uint32, array.slots),
            ("firsts", array.buffers[2], np.uint64, array.leaves),
            ("counts", array.buffers[3], np.uint32, array.leaves),
            ("before", array.buffers[4], np.uint64, array.leaves + 1),
            ("begins", places.buffers[0], np.uint64, places.vertices),
            ("ends", places.buffers[1], np.uint64, places.vertices),
        ):
            found[name] = np.zeros(size, dtype)
            stream.download(buffer, found[name])
        headers = np.zeros(places.vertices, ROW)
        stream.download(places.buffers[2], headers)
        stream.wait()
        wide = {name: one.astype(np.uint64) for name, one in found.items()}
        return {**wide, "headers": headers}

    def release(self) -> None:
        """Free the memory."""
        self._array = self._places = None
        self._work.release()
        self.entries = 0

    def _update_from_nothing(self, stream: Stream, updates: int, count: int, entries: int) -> None:
        """Update an array that has no entries, or will have none."""
        places = self._places
        assert places is not None
        array = self._new_array(entries)
        args = self._args(array)
        args.updates, args.update_count = updates, count
        if entries:  # all updates insert, and are the entries of one window
            args.array, args.insert_count = args.target, count
            copy = self._device.allocate(1, _PURPOSE, budget=self._budget)
            args.entries = copy.address
            stream.hold(copy)
            self._replace(stream, args, array, 0, count)
        else:
            self._locate(stream, args, count)
            for buffer in places.buffers:
                stream.clear(buffer)
        self._array = array

    def _update_all(self, stream: Stream, updates: int, count: int, inserts: int, entries: int) -> None:
        """Move all entries to an array of another size, with the updates."""
        old = self._array
        assert old is not None
        new = self._new_array(entries)
        args = self._args(new)
        args.updates, args.update_count, args.insert_count = updates, count, inserts
        self._locate(stream, args, count)
        copy = self._device.allocate(8 * old.slots, _PURPOSE, budget=self._budget)
        stream.hold(copy)
        args.entries = copy.address
        self._replace(stream, args, new, self.entries, count, copies=True)
        self._array = new

    def _update_windows(self, stream: Stream, updates: int, count: int, inserts: int) -> None:
        args = self._args()
        args.updates, args.update_count, args.insert_count = updates, count, inserts
        choice = self._locate(stream, args, count, chooses=True)
        small, medium, large = (int(choice[name][0]) for name in ("small", "medium", "large"))
        tiles = large & ((1 << LARGE_SHIFT) - 1)
        if tiles:
            copy = self._device.allocate(8 * TILE_SLOTS * tiles, _PURPOSE, budget=self._budget)
            stream.hold(copy)
            args.entries = copy.address
        if small:
            warps = -(-small // WINDOWS_OF_WARP)
            self._launch(stream, "rewrite_small", args, 32 * warps)
        if medium:
            self._launch(stream, "rewrite_medium", args, THREADS * medium)
        if tiles:
            self._launch(stream, "copy_large", args, THREADS * tiles)
            self._launch(stream, "rewrite_large", args, THREADS * tiles)
        self._find_rows(stream, args, count)

    def _locate(
        self, stream: Stream, args: PackedArgs, count: int, *, chooses: bool = False
    ) -> NDArray[np.void]:
        """Find the leaf of each update, and the windows that are rewritten; wait for their numbers."""
        leaves, settings = int(args.array.leaves), self.settings
        top = int(args.top_level)
        widths = [-(-leaves // (1 << level)) for level in range(top + 1)]
        starts = np.cumsum([0, *widths])
        capacity = min(count, leaves)
        large = -(-int(leaves << settings.leaf_shift) // TILE_SLOTS) + 1
        sizes = [4 * count, int(starts[-1]), WINDOW.itemsize * capacity, WINDOW.itemsize * large]
        places = np.cumsum([CHOICE.itemsize, *(-(-size // 16) * 16 for size in sizes)])
        work = self._work.of(int(places[-1]), stream)
        args.choice = work.address
        args.leaf_of, args.marks, args.windows, args.large = (
            work.address + int(place) for place in places[:-1]
        )
        args.window_capacity = capacity
        for level in range(top + 1):
            args.marks_at[level] = int(starts[level])
        self._hold(stream)
        stream.clear(work, 0, CHOICE.itemsize)
        shared = 8 << settings.index_levels if settings.index_levels else 0
        self._launch(stream, "locate", args, count, shared)
        if chooses:
            stream.clear(work, int(places[1]), int(starts[-1]))
            self._launch(stream, "mark_windows", args, count)
            self._launch(stream, "list_windows", args, count)
        found = np.zeros(1, CHOICE)
        stream.download(work, found)
        stream.wait()
        if found["missing"][0]:
            raise InternalError("a packed memory array: an entry to be deleted is not there")
        return found

    def _replace(
        self,
        stream: Stream,
        args: PackedArgs,
        array: _Array,
        entries: int,
        count: int = 0,
        *,
        copies: bool = False,
    ) -> None:
        """Write a whole array: `entries` entries of a copy, and `count` updates."""
        tiles = -(-(int(args.array.leaves) << self.settings.leaf_shift) // TILE_SLOTS)
        head = np.zeros(CHOICE.itemsize + WINDOW.itemsize, np.uint8)
        choice, window = head[: CHOICE.itemsize].view(CHOICE), head[CHOICE.itemsize :].view(WINDOW)
        choice["large"] = (1 << LARGE_SHIFT) + tiles
        level = max(0, int(args.array.leaves) - 1).bit_length()
        window["level"], window["end"], window["entries"] = level, count, entries
        work = self._work.of(head.nbytes, stream)
        stream.upload(work, head)
        args.choice, args.large = work.address, work.address + CHOICE.itemsize
        args.replaces = 1
        array.hold(stream)
        if copies:
            self._launch(stream, "copy_large", args, THREADS * tiles)
        self._launch(stream, "rewrite_large", args, THREADS * tiles)
        self._find_rows(stream, args, count)
        stream.wait()  # for what was uploaded

    def _find_rows(self, stream: Stream, args: PackedArgs, count: int) -> None:
        """Add up the entries before each leaf, and write where rows are."""
        leaves = int(args.target.leaves)
        tiles = -(-leaves // SUM_TILE)
        self._launch(stream, "sum_tiles", args, THREADS * tiles)
        self._launch(stream, "add_up_tiles", args, 1)
        self._launch(stream, "sum_leaves", args, THREADS * tiles)
        self._launch(stream, "find_rows", args, leaves)
        if count:
            self._launch(stream, "empty_rows", args, count)
        self._launch(stream, "write_headers", args, max(leaves, count))

    def _launch(self, stream: Stream, name: str, args: PackedArgs, threads: int, shared: int = 0) -> None:
        blocks = max(1, min(_MOST_BLOCKS, -(-threads // THREADS)))
        stream.launch(self.kernels[entry_of(name)], blocks, THREADS, shared, args)

    def _hold(self, stream: Stream) -> None:
        assert self._array is not None, "nothing is loaded"
        assert self._places is not None
        self._array.hold(stream)
        for buffer in self._places.buffers:
            stream.hold(buffer)

    def _args(self, target: _Array | None = None) -> PackedArgs:
        assert self._array is not None, "nothing is loaded"
        args, array = PackedArgs(), self._array.at
        args.array, args.target = array, array if target is None else target.at
        args.rows = self.rows
        args.tile_sums = (self._array if target is None else target).buffers[-1].address
        top = max(0, int(array.leaves) - 1).bit_length()
        for level in range(WINDOW_LEVELS):
            args.least[level], args.most[level] = self.settings.bounds(min(level, top), top)
        args.top_level = top
        args.index_levels, args.group_sizes = self.settings.index_levels, self.settings.group_sizes
        return args

    def _new_array(self, entries: int) -> _Array:
        leaves = self.settings.leaves_for(entries)
        slots = leaves << self.settings.leaf_shift
        sums = -(-leaves // SUM_TILE)
        sizes = 4 * slots, 4 * slots, 8 * leaves, 4 * leaves, 8 * (leaves + 1), 8 * sums
        buffers = [self._device.allocate(size, _PURPOSE, budget=self._budget) for size in sizes]
        at = PackedArray(*(buffer.address for buffer in buffers[:-1]), leaves, self.settings.leaf_shift)
        return _Array(buffers, at)

    def _new_places(self, vertices: int) -> _Places:
        sizes = 8 * vertices, 8 * vertices, ROW.itemsize * vertices
        buffers = [self._device.allocate(size, _PURPOSE, budget=self._budget) for size in sizes]
        return _Places(buffers, PackedRows(*(buffer.address for buffer in buffers), vertices), vertices)


def packed_updates(keys: NDArray[np.uint64], inserts: NDArray[np.bool_]) -> NDArray[np.void]:
    """Return updates as kernels read them.

    Parameters
    ----------
    keys
        Vertices times 2^32 plus neighbours, ascending; updates of one key are all of one kind.
    inserts
        Whether each one inserts.
    """
    updates = np.zeros(len(keys), UPDATE)
    updates["key"] = keys
    updates["inserts_before"] = np.cumsum(inserts) - inserts
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)])
    lengths = np.append(starts[1:], len(keys)) - starts
    turns = np.arange(len(keys)) - np.repeat(starts, lengths)
    updates["turn"] = np.where(inserts, INSERTS, turns)
    return updates
