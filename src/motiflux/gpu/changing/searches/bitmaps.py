"""Bitmaps of the longest rows of a run: a search looks an entry up by one load instead of a bisection.

They are written anew for each run of many updates, once its rows are merged, and hold nothing that rows do
not: a device without memory for them has fewer, or none. The layout is that of ``view::RowBitmaps``, the
kernels are those of ``include/motiflux/changing/row_bitmaps.cuh``.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from motiflux.codegen.changing import (
    BITMAP_ENTRIES,
    BITMAP_THREADS,
    BLOCK_BYTES,
    IDS_OF_BLOCK,
    SIZE_CLASSES,
    RowBitmaps,
    RowBitmapsArgs,
    bitmaps_source,
)
from motiflux.device import Stream
from motiflux.gpu.changing.memory import SpareRoom
from motiflux.gpu.changing.searches.searched import SearchedRows
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.jit import Source

BITMAP_SWITCHES = ("auto", "on")
"""Values of the switch with which runs may have bitmaps."""
_LEAST_ROW = 1024
"""Entries of the shortest row that gets a bitmap."""
_LEAST_TYPICAL = 512.0
"""Length of the row that an entry is in, on average, of rows that get bitmaps: shorter ones are in caches."""
_LEAST_ROOTS = 1024
"""Searches from fewer roots take as long as writing bitmaps, unless they begin at hubs."""
_BYTES_OF_ROOT = 1024
"""Bytes of bitmaps for each root of a search: to write these takes a tenth of the time of the search."""
_TYPICAL_WALK = 16
"""A level that is walked multiplies a search's work by a typical row, of which many entries fall away."""
_MOST_BYTES = 4 << 30
"""To write more bytes takes longer than 2 ms."""
_LEAST_BYTES = 16 << 20
"""No bitmaps are written if fewer bytes would be: their kernels take some 20 us."""
_BLOCKS_OF_MULTIPROCESSOR = 8
_CLEARED_WORDS = SIZE_CLASSES + 8


class LongRowBitmaps:
    """Writes bitmaps of long rows, in memory that is kept between runs.

    Parameters
    ----------
    budget
        Maximum number of bytes that motiflux holds on the device.
    switch
        ``auto``: for runs of many updates, and long rows; ``on``: for all runs and rows; else none.
    """

    def __init__(self, accelerator: Accelerator, budget: int | None, switch: str) -> None:
        self._accelerator, self._switch = accelerator, switch
        self._memory = SpareRoom(accelerator.device, "bitmaps of rows", budget, _MOST_BYTES)

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        return self._memory.nbytes

    def release(self) -> None:
        """Free the memory."""
        self._memory.release()

    def were_read(self) -> None:
        """Note that no search reads the bitmaps any more."""
        self._memory.give_back()

    def wanted(self, rows: Sequence[SearchedRows], roots: int, walked: int) -> int:
        """Return the bytes that bitmaps for a search should take at most.

        Parameters
        ----------
        rows
            All rows that the search reads.
        roots
            The number of its roots.
        walked
            Levels that are walked before those that are counted.
        """
        if self._switch == "auto" and roots < _LEAST_ROOTS:
            return 0
        some = self._some_of(rows)
        if not some or self._switch == "on":
            return _MOST_BYTES if some else 0
        longer = max(1.0, max(rows[number].typical for number in some) / _TYPICAL_WALK)
        nbytes = min(_MOST_BYTES, int(roots * _BYTES_OF_ROOT * min(longer**walked, _MOST_BYTES)))
        return nbytes if nbytes >= _LEAST_BYTES else 0

    def _some_of(self, rows: Sequence[SearchedRows]) -> list[int]:
        """Return the numbers of the rows that bitmaps may be written of."""
        if self._switch not in BITMAP_SWITCHES:
            return []
        least = 0.0 if self._switch == "on" else _LEAST_TYPICAL
        return [number for number, one in enumerate(rows) if one.looked_up and one.typical >= least]

    def write(
        self, stream: Stream, rows: Sequence[SearchedRows], vertices: int, nbytes: int, search: Source
    ) -> int:
        """Write bitmaps of the longest rows.

        Parameters
        ----------
        rows
            All rows that the search reads, as its table has them.
        vertices
            Number of vertices.
        nbytes
            The most bytes that may be allocated.
        search
            The unit that looks candidates up in them.

        Returns
        -------
        The address of a table of ``view::RowBitmaps``; 0 if there is no memory for any bitmap, or, unless
        bitmaps are written for all runs, kernels are not compiled, which begins in the background.
        """
        some = self._some_of(rows)
        if self._switch != "on" and not self._are_compiled(search):
            return 0
        least = 1 if self._switch == "on" else _LEAST_ROW
        blocks = -(-vertices // IDS_OF_BLOCK)
        told = ctypes.sizeof(RowBitmaps) * len(rows)
        beside = told + 4 * (_CLEARED_WORDS + vertices) * len(some)
        of_row = BLOCK_BYTES * blocks + 4
        capacity = min(vertices, (nbytes - beside) // (of_row * len(some))) if some else 0
        if capacity < 1:
            return 0
        buffer = self._memory.take(beside + of_row * capacity * len(some), stream)
        if buffer is None:
            return 0
        of_rows = BLOCK_BYTES * blocks * capacity
        table = buffer.address + of_rows * len(some)
        counts = table + told
        arrays = counts + 4 * _CLEARED_WORDS * len(some)
        stream.clear(buffer, table - buffer.address, arrays - table)
        for place, number in enumerate(some):
            numbers = arrays + 4 * (vertices + capacity) * place
            self._launch(
                stream,
                RowBitmapsArgs(
                    rows=rows[number].headers,
                    bitmaps=RowBitmaps(numbers, buffer.address + of_rows * place, least, blocks),
                    told=table + ctypes.sizeof(RowBitmaps) * number,
                    numbers=numbers,
                    classes=counts + 4 * _CLEARED_WORDS * place,
                    chosen=counts + 4 * (_CLEARED_WORDS * place + SIZE_CLASSES),
                    vertices=numbers + 4 * vertices,
                    row_count=vertices,
                    capacity=capacity,
                ),
            )
        return table

    def _are_compiled(self, search: Source) -> bool:
        """Whether the kernels are compiled, which begins in the background if they are not."""
        sources = (bitmaps_source(), search)
        begun = [self._accelerator.begin(source) for source in sources]
        return all(begun) and all(map(self._accelerator.is_compiled, sources))  # some may have been refused

    def begin(self, typical: float, search: Source) -> None:
        """Have the kernels compiled in the background if rows of this typical length may get bitmaps."""
        if self._switch in BITMAP_SWITCHES and typical >= _LEAST_TYPICAL:
            self._are_compiled(search)

    def _launch(self, stream: Stream, args: RowBitmapsArgs) -> None:
        kernels = self._accelerator.kernels(bitmaps_source(), BITMAP_ENTRIES)
        most = _BLOCKS_OF_MULTIPROCESSOR * self._accelerator.device.multiprocessors
        rows = -(-int(args.row_count) // BITMAP_THREADS)
        for entry, blocks in zip(BITMAP_ENTRIES, (rows, rows, int(args.capacity)), strict=True):
            stream.launch(kernels[entry], max(1, min(most, blocks)), BITMAP_THREADS, 0, args)
