"""Rows of a search in phases, with the images of each row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motiflux.device import Device
from motiflux.device.arrays import DeviceArray
from motiflux.result.images import Block, Images, written
from motiflux.result.rows import RowSource, StoresRows


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

        Phases keep no rows on the device, so ids are copied there.
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


def found_limit(limit: int | None, images: int) -> int | None:
    """Return the number of rows to find whose images are at least `limit` rows; None: no limit."""
    return None if limit is None else -(-limit // images)
