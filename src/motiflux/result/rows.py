"""Sources of the rows of an enumeration."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from motiflux.result.images import Block

if TYPE_CHECKING:
    from motiflux.device.arrays import DeviceArray


class OutOfTimeError(Exception):
    """Time is up. Engines and sources of rows catch it; their result is incomplete then."""


class RowSource(Protocol):
    """Where `Matches` takes its rows from: an engine's running search."""

    def next(self) -> Block | None:
        """Return the next block of internal ids, or None at the end.

        It has at most the requested number of rows, or all images of one row found.
        """

    def close(self) -> None:
        """Stop searching."""

    @property
    def complete(self) -> bool:
        """Whether nothing was cut."""


class StoresRows(ABC):
    """A source whose rows are on a device.

    A class, no protocol: to ask whether an object follows a protocol takes 8 us, and each listing asks.
    """

    @abstractmethod
    def next(self) -> Block | None:
        """Return the next block, as `RowSource.next` does."""

    @abstractmethod
    def close(self) -> None:
        """Stop searching."""

    @property
    @abstractmethod
    def complete(self) -> bool:
        """Whether nothing was cut."""

    @abstractmethod
    def widen(self, rows: int) -> None:
        """Return blocks of up to `rows` rows from now on, if that is more than before."""

    @abstractmethod
    def next_on_device(self, ids: NDArray[np.int64]) -> DeviceArray | None:
        """Return the next rows as ids on the device, [rows, columns], or None at the end."""


class NoRows(StoresRows):
    """The rows of a search that has none: nothing can match, or there was no time to begin."""

    def __init__(self, *, complete: bool) -> None:
        self._complete = complete

    @property
    def complete(self) -> bool:
        """What it was made with."""
        return self._complete

    def next(self) -> Block | None:
        """Return None."""
        return None

    def widen(self, rows: int) -> None:
        """Do nothing."""

    def next_on_device(self, ids: NDArray[np.int64]) -> DeviceArray | None:
        """Return None."""
        return None

    def close(self) -> None:
        """Do nothing."""
