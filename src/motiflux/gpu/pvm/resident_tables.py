"""Tables of rows on a device: all that a search reads, or those tiles of them that it reads now.

    most_bytes     | tile being read | tile being copied | third tile |     copies go on a stream of their own

If all tables that a search reads fit together, each is one tile, is copied once, and stays for later
searches of the graph. If not, each table is in tiles of at most a third of the memory. The tiles that were
used last are on the device. The memory of a tile that leaves is used for another one, whose copy begins when
the kernels that read the first one are over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from contextlib import suppress
from typing import Self
from weakref import WeakMethod

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen import pcsr as layout
from motiflux.device import Buffer, Mark, Stream
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.pcsr.formats import HashPartition, IntervalPartition
from motiflux.gpu.pcsr.images import arrays_of, rows_at
from motiflux.gpu.pvm.pinned_blocks import PinnedBlocks
from motiflux.gpu.pvm.resident_tile import ResidentTile, TableRows, TileName, Traffic
from motiflux.gpu.pvm.row_ranges import RowRanges, WholeTable
from motiflux.gpu.pvm.row_tables import RowTables, TableKey
from motiflux.gpu.pvm.table_copies import TableCopies
from motiflux.gpu.pvm.tile_memory import Taking, TileMemory
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.runtime.device_cache import CacheEntry, ticks
from motiflux.gpu.storage.device_csr import CopiedArray, resident
from motiflux.gpu.storage.upload import UploadContext, wait_for_mark
from motiflux.request.deadline import Deadline

TILES = 3
"""Tiles that fit at once: those of two tables of a phase, and one that is copied meanwhile."""


_MOST_NAMES = 1 << 16
"""Most names of tiles that were copied before."""
_STEPS = 16
"""Sizes of memory for tiles between a power of two and the next one."""


class ResidentTables:
    """The tables of one graph on one device, for one search. One thread at a time uses it.

    Parameters
    ----------
    accelerator, tables
        The device, and the tables.
    budget
        Most bytes that motiflux holds on the device.
    most_bytes
        Most bytes of all tables at a time. The ids and labels of vertices are not among them
        (`vertex_bytes`).
    expected
        The tables that the search reads: all of them, or none if they are not known.
    deadline
        Deadline of the call.
    most_in_tiles
        Most bytes if the tables do not fit together; None: `most_bytes`.

    Attributes
    ----------
    copied_bytes
        Bytes of tables copied by this object.
    copies
        How often tiles of each table were copied.
    renamed
        Ids of all vertices in tables, uint32 [n]; None if no expected table has new ids.
    labels
        Codes of the labels of all vertices, uint32 [n]; None if all have one label.

    Raises
    ------
    DeviceMemoryError
        Ids and labels do not fit.
    OutOfTimeError
        Time was up before they were copied.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        tables: RowTables,
        budget: int | None,
        most_bytes: int,
        *,
        expected: Collection[TableKey] = (),
        deadline: Deadline | None = None,
        most_in_tiles: int | None = None,
    ) -> None:
        self._tables, self._budget, self._most_bytes = tables, budget, most_bytes
        self._device = accelerator.device
        self._deadline = Deadline.after(None) if deadline is None else deadline
        self._cache = resident(tables.graph, self._device)
        self._copier = TableCopies(self._device, self._cache, self._deadline, tables.threads)
        self._normal_keys: dict[TableKey, TableKey] = {}
        self._ranges: dict[TableKey, RowRanges | WholeTable] = {}
        self._shared: dict[TableKey, ResidentTile] = {}
        self._own: dict[TileName, ResidentTile] = {}  # the one that was used last is the last
        self._reading: list[ResidentTile] = []
        self._stream: Stream | None = None
        self._before: Mark | None = None
        self._copied_before: set[tuple[object, ...]] = tables.graph.memo.keep(
            ("copied tiles", id(self._device)), set
        )
        self.copied_bytes = 0
        self.copies: Counter[TableKey] = Counter()
        self._copied: Counter[TableKey] = Counter()
        whole = {key: tables.table(key).nbytes for key in {tables.normal(key) for key in expected}}
        self._expected = frozenset(whole)
        self._fits = sum(whole.values()) <= most_bytes
        if not self._fits:
            most_bytes = _rounded(most_bytes if most_in_tiles is None else most_in_tiles)
            self._most_bytes = most_bytes
        held = WeakMethod(self._held)  # without a circle, memory is freed with the last reference
        self._memory = TileMemory(
            self._device,
            budget,
            most_bytes,
            self._deadline,
            lambda: 0 if (known := held()) is None else known(),
            self.vertex_bytes(tables),
        )
        if self._fits:
            self._claim_shared()  # before the search allocates memory, for which they might be dropped
        self._arrays: list[CopiedArray] = []
        try:
            renames = not expected or any(key.renames for key in expected)
            self.renamed: Buffer | None = self._copied_ids() if renames else None
            self.labels: Buffer | None = self._copied_labels()
        except BaseException:
            self.close()  # entries that an object uses are not dropped, and it may wait for the collector
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @staticmethod
    def vertex_bytes(tables: RowTables) -> int:
        """Return the bytes of ids and labels of vertices, which are on the device beside tables."""
        arrays = 1 if tables.graph.vertex_labels is None else 2
        return arrays * max(8, 4 * tables.graph.num_vertices)

    @property
    def nbytes(self) -> int:
        """Bytes of tables on the device."""
        return self._held() + self._memory.unused_bytes

    @property
    def blocks(self) -> PinnedBlocks:
        """Pinned memory of the host."""
        return self._copier.blocks

    @property
    def entries(self) -> list[CacheEntry]:
        """Whole tables, ids and labels that were copied, which later searches share."""
        return [*self._shared.values(), *self._arrays]

    @property
    def fits(self) -> bool:
        """Whether all tables that the search reads fit together."""
        return self._fits

    def expects(self, key: TableKey) -> bool:
        """Whether the search reads a table."""
        return self._normal(key) in self._expected

    def tiles(self, key: TableKey) -> int:
        """Return the number of tiles of a table."""
        return len(self._ranges_of(self._normal(key)))

    def least_ids(self, key: TableKey) -> NDArray[np.uint32]:
        """Return the least id of each tile of a table, uint32 [tiles]; 0 for the first."""
        return self._ranges_of(self._normal(key)).least_ids()

    def has(self, key: TableKey, number: int) -> bool:
        """Whether a tile is on the device."""
        name = TileName(self._normal(key), number)
        return name in self._own or name.key in self._shared

    def traffic(self) -> dict[TableKey, Traffic]:
        """Return the bytes of each table that was read, and those copied."""
        return {
            key: Traffic(self._tables.table(key).nbytes, self._copied[key])
            for key in self._expected | set(self._ranges)
        }

    def acquire(self, stream: Stream, wanted: Sequence[tuple[TableKey, int]]) -> list[TableRows]:
        """Have tiles on the device, and return their rows.

        Kernels may read them that are launched on `stream` before the next call. They wait for the copies,
        and the memory stays until they are over. This call waits for earlier kernels only if the memory that
        they read is needed.

        Raises
        ------
        DeviceMemoryError
            These tiles do not fit together.
        OutOfTimeError
            Time was up before all was copied.
        """
        self._stop_reading()
        names = self._names(wanted)
        tiles = [self._bring(name, names) for name in names]
        for tile in tiles:
            stream.hold(tile.memory)
            if not tile.copied.done():
                stream.follow(tile.copied)
        for buffer in (self.renamed, self.labels):
            if buffer is not None:
                stream.hold(buffer)
        self._stream, self._reading = stream, tiles
        return [self._rows_of(name.key, tile) for name, tile in zip(names, tiles, strict=True)]

    def prefetch(self, wanted: Sequence[tuple[TableKey, int]]) -> None:
        """Begin to copy tiles, while kernels run that read those of the last `acquire`.

        Tiles for which there is no room beside those are left out. The thread waits while pieces are copied
        within memory of the host, but not for kernels.

        Raises
        ------
        OutOfTimeError
            Time was up before all was copied.
        """
        names = self._names(wanted)
        reading = [name for name, tile in self._own.items() if tile in self._reading]
        for name in names:
            with suppress(DeviceMemoryError):
                self._bring(name, [*names, *reading], waits=False)

    def close(self) -> None:
        """Leave the tables to later searches. Kernels that read them may still run."""
        self._stop_reading()
        for name, tile in self._own.items():
            self._cache.keep(self._name_of_own(name), lambda tile=tile: tile)  # type: ignore[misc]
        for entry in (*self._shared.values(), *self._arrays):
            entry.users.discard(self)
        self._own, self._shared, self._arrays = {}, {}, []
        self._memory.release()
        self._copier.close()

    # Tiles

    def _ranges_of(self, key: TableKey) -> RowRanges | WholeTable:
        """Return the tiles of a table, and take over those that an earlier search has left."""
        if (found := self._ranges.get(key)) is None:
            assert not self._expected or key in self._expected, "a table that was not expected"
            self._deadline.check()
            whole = self._is_shared(key)
            most = self._tables.table(key).nbytes if whole else self._most_bytes // TILES
            found = self._ranges[key] = self._tables.tiles(key, most)
            if not whole:
                self._take_over(key, len(found))
        return found

    def _take_over(self, key: TableKey, tiles: int) -> None:
        for name in (TileName(key, number) for number in range(tiles)):
            known = self._cache.known(self._name_of_own(name))
            if known is None or self.nbytes + known.nbytes > self._most_bytes:
                continue
            if isinstance(tile := self._cache.take(self._name_of_own(name)), ResidentTile):
                self._own[name] = tile

    def _normal(self, key: TableKey) -> TableKey:
        """Return the normal form of a key (`RowTables.normal`)."""
        if (found := self._normal_keys.get(key)) is None:
            found = self._normal_keys[key] = self._tables.normal(key)
        return found

    def _name_of_own(self, name: TileName) -> tuple[object, ...]:
        return "tile", *name, self._most_bytes // TILES

    def _names(self, wanted: Iterable[tuple[TableKey, int]]) -> list[TileName]:
        return [TileName(self._normal(key), number) for key, number in wanted]

    def _rows_of(self, key: TableKey, tile: ResidentTile) -> TableRows:
        """Return the rows of a tile with the ids of this search: an earlier one may have copied the tile."""
        rows = type(tile.rows).from_buffer_copy(tile.rows)
        if isinstance(rows, layout.IntervalRows):
            assert self.renamed is not None or not key.renames
            rows.renamed = self.renamed.address if key.renames and self.renamed is not None else 0
        return rows

    def _held(self) -> int:
        """Return the bytes of tiles."""
        return sum(tile.nbytes for tile in (*self._shared.values(), *self._own.values()))

    def _stop_reading(self) -> None:
        """Note that kernels to come do not read the tiles of the last `acquire`."""
        if self._stream is not None and not self._stream.is_open:
            # Nothing tells when its kernels are over: the memory is freed, but not used for other tiles.
            self._own = {name: tile for name, tile in self._own.items() if tile not in self._reading}
        elif self._stream is not None:
            self._before = self._stream.mark()
            for tile in self._reading:
                tile.read = self._before
        self._reading, self._stream = [], None

    def _bring(self, name: TileName, kept: Collection[TileName], *, waits: bool = True) -> ResidentTile:
        """Return a tile that is on the device, or is copied there; `kept` tiles stay."""
        ranges = self._ranges_of(name.key)
        if self._is_shared(name.key):
            return self._bring_shared(name, ranges)
        tile = self._own.pop(name, None)
        if tile is None:
            part = ranges[name.number]
            image = self._name_of_own(name) if self._is_copied_again(name) else None
            taking = Taking(
                waits=waits,
                follows=waits or self._copier.has_image(image),
                drop=lambda: self._drop_oldest(kept),
                before=self._before,
            )
            memory, marks = self._memory.take(part.nbytes, taking)
            tile = self._copy(name, part, memory, marks, image)
        self._own[name] = tile
        return tile

    def _is_copied_again(self, name: TileName) -> bool:
        """Whether a tile was copied before, by this search or an earlier one; note that it is."""
        key = self._name_of_own(name)
        known = key in self._copied_before
        if len(self._copied_before) >= _MOST_NAMES:
            self._copied_before.clear()
        self._copied_before.add(key)
        return known

    def _claim_shared(self) -> None:
        """Have tables stay that earlier searches left."""
        for key in self._expected:
            if isinstance(known := self._cache.known(("table", key)), ResidentTile):
                self._use_shared(key, known)

    def _use_shared(self, key: TableKey, tile: ResidentTile) -> None:
        tile.users.add(self)
        tile.used = next(ticks)
        self._shared[key] = tile

    def _bring_shared(self, name: TileName, ranges: RowRanges | WholeTable) -> ResidentTile:
        if (found := self._shared.get(name.key)) is None:

            def make() -> ResidentTile:
                return self._copy(name, ranges[0], self._memory.allocate(ranges[0].nbytes))

            found = self._cache.keep(("table", name.key), make)
            self._use_shared(name.key, found)
        return found

    def _is_shared(self, key: TableKey) -> bool:
        """Whether a table is whole, and used by other searches at the same time."""
        return self._fits and key in self._expected

    def _copy(
        self,
        name: TileName,
        part: IntervalPartition | HashPartition,
        memory: Buffer,
        marks: Sequence[Mark] = (),
        image: Hashable = None,
    ) -> ResidentTile:
        """Copy a tile into memory after these marks, from its image if that has a name."""
        copied = self._copier.copy(memory, arrays_of(part), marks, image)
        self.copies[name.key] += 1
        self._copied[name.key] += part.nbytes
        self.copied_bytes += part.nbytes
        return ResidentTile(rows_at(part, memory.address, 0), memory, copied)

    def _drop_oldest(self, kept: Collection[TileName]) -> bool:
        """Have the tile leave that was not used for longest; return whether there is one."""
        name = next((name for name in self._own if name not in kept), None)
        if name is None:
            return False
        tile = self._own.pop(name)
        self._memory.give(tile.memory, tile.marks)
        return True

    # Ids and labels of vertices

    def _copied_ids(self) -> Buffer:
        def make() -> CopiedArray:
            ids = self._tables.renamed
            memory = self._memory.allocate(ids.nbytes)
            wait_for_mark(self._copier.copy(memory, [ids]), self._deadline)  # other searches may read it
            return CopiedArray(memory, ids)

        return self._use(self._cache.keep("renamed ids", make))

    def _copied_labels(self) -> Buffer | None:
        context = UploadContext(self._copier.stream, self._tables.threads, self._budget, self._deadline)
        found = self._cache.labels(self._tables.graph, context)
        return None if found is None else self._use(found)

    def _use(self, entry: CopiedArray) -> Buffer:
        entry.users.add(self)
        self._arrays.append(entry)
        return entry.buffer


def _rounded(nbytes: int) -> int:
    """Return nearly as many bytes, so that searches with about the same memory have the same tiles."""
    step = max(1, (1 << nbytes.bit_length()) // (2 * _STEPS))
    return nbytes // step * step
