"""A tile of a table of rows on a device."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from motiflux.codegen import pcsr as layout
from motiflux.device import Buffer, Mark
from motiflux.gpu.pvm.row_tables import TableKey
from motiflux.gpu.runtime.device_cache import CacheEntry

TableRows: TypeAlias = layout.IntervalRows | layout.HashRows
"""Rows of a table as kernels see them."""


class TileName(NamedTuple):
    """Names a tile: a table, and the number of the tile in it."""

    key: TableKey
    number: int


class Traffic(NamedTuple):
    """Bytes of a table, and of it that a search copied to the device."""

    nbytes: int
    copied: int


@dataclass(eq=False)
class ResidentTile(CacheEntry):
    """A tile on a device.

    Parameters
    ----------
    rows
        The rows as kernels see them, without the ids of vertices.
    memory
        Memory of the tile, which may be larger.
    copied
        Behind the copy.
    read
        Behind the kernels that read it last; None: none did.
    """

    rows: TableRows = field(repr=False)
    memory: Buffer
    copied: Mark = field(repr=False)
    read: Mark | None = field(default=None, repr=False)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The memory."""
        return (self.memory,)

    @property
    def marks(self) -> tuple[Mark, ...]:
        """Points after which its memory can be used for others."""
        return tuple(mark for mark in (self.copied, self.read) if mark is not None and not mark.done())
