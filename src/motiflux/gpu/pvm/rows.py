"""Rows of a search in phases, with the images of each row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motiflux.device import Device
from motiflux.device.arrays import DeviceArray
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.pvm.search import FoundEmbeddings, Stored
from motiflux.gpu.rows.ids import DeviceIds
from motiflux.request.deadline import Deadline
from motiflux.result.images import Block, Images, written
from motiflux.result.rows import RowSource, StoresRows

_MOST_BYTES = 256 << 20
"""Most bytes of ids on the device at a time."""
_ID_BYTES = 8


class PhaseRows(StoresRows):
    """All images of the rows that phases find, at most `limit` of them.

    Parameters
    ----------
    source
        The rows found, at most as many as `found_limit` returns.
    images
        The images of a row.
    limit
        Most images to return; None: all.
    device, budget
        The device, and the maximum number of bytes that motiflux holds there.
    """

    def __init__(
        self, source: RowSource, images: Images, limit: int | None, device: Device, budget: int | None
    ) -> None:
        self._source = source
        self._images = images
        self._left = limit
        self._cut = False
        self._device = device
        self._budget = budget

    def next(self) -> Block | None:
        """Return the images of the next block of rows, or None at the end."""
        block = None if self._cut else self._source.next()
        if block is None:
            return None
        rows = self._images.of(written(block).copy())
        if self._left is None:
            return rows
        if len(rows) > self._left:
            rows, self._cut = rows[: self._left], True
            self._source.close()
        self._left -= len(rows)
        return rows if len(rows) else None

    def close(self) -> None:
        """Stop searching."""
        self._source.close()

    @property
    def complete(self) -> bool:
        """Whether nothing was cut."""
        return self._source.complete and not self._cut

    def widen(self, rows: int) -> None:
        """Do nothing: blocks are as large as the driver makes them."""

    def next_on_device(self, ids: NDArray[np.int64]) -> DeviceArray | None:
        """Return the next rows as ids on the device, [rows, columns]; None at the end.

        The rows of several devices are in memory of the host, from where their ids are copied.
        """
        block = self.next()
        if block is None:
            return None
        numbered, stream = ids[written(block)], self._device.stream()
        try:
            array = DeviceArray.from_numpy(self._device, numbered, stream, "rows of ids", budget=self._budget)
            stream.wait()
        finally:
            stream.close()
        array.stream = None  # it is written
        return array


class StoredPhaseRows(PhaseRows):
    """The same of one device, where the rows are numbered: they do not leave it.

    Parameters
    ----------
    found
        The rows found, at most as many as `found_limit` returns.
    deadline
        Deadline for the compilation of the kernel that numbers them.
    """

    def __init__(
        self,
        found: FoundEmbeddings,
        images: Images,
        limit: int | None,
        device: Device,
        budget: int | None,
        deadline: Deadline,
    ) -> None:
        super().__init__(found, images, limit, device, budget)
        self._found, self._deadline = found, deadline
        self._most_rows = max(1, _MOST_BYTES // (_ID_BYTES * images.sources.size))
        self._numbering: DeviceIds | None = None

    def next_on_device(self, ids: NDArray[np.int64]) -> DeviceArray | None:
        """Return the next rows as ids on the device, [rows, columns]; None at the end.

        If memory is short, arrays are smaller. Do not mix calls with `next`.

        Raises
        ------
        DeviceMemoryError
            The ids do not fit beside the search.
        """
        array = None if self._cut else self._found.next_on_device(lambda stored: self._numbered(stored, ids))
        if array is None:
            self._numbering = None
        elif self._cut:
            self._found.close()
        return array

    def _numbered(self, stored: Stored, ids: NDArray[np.int64]) -> tuple[int, DeviceArray]:
        """Return the number of embeddings whose ids fit, and the ids of their images."""
        if self._numbering is None:
            sources = np.array(stored.columns, self._images.sources.dtype)[self._images.sources]
            self._numbering = DeviceIds(stored.job, sources, ids, self._budget, self._deadline)
        while True:
            found = min(stored.rows, self._most_rows)
            rows = found * self._images.of_each
            if self._left is not None and rows > self._left:
                rows, self._cut = self._left, True
            try:
                out = self._numbering.empty(rows)
                break
            except DeviceMemoryError:
                if self._most_rows == 1:
                    raise
                self._most_rows, self._cut = max(1, found // 4), False
        self._numbering.write(stored.address, out, stored.capacity)
        stored.job.session.side.wait()
        if self._left is not None:
            self._left -= rows
        return found, out


def found_limit(limit: int | None, images: int) -> int | None:
    """Return the number of rows to find whose images are at least `limit` rows; None: no limit."""
    return None if limit is None else -(-limit // images)
