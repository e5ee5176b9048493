"""Rows of the host for kernels, some of which are copied to the device (``view/adjacency.hpp``, placed rows).

    host    | row 0 | row 1 | row 2 | row 3 | ...      pinned memory, all rows of a kind
    device  | row 1 | row 3 | ...                      the rows that are expected to be opened most often
    device  | place and end of row 0 | of row 1 | ...  16 bytes for each vertex and kind of rows

A kernel takes one load of 16 bytes to open a row, wherever it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux import log
from motiflux.device import Buffer, Device
from motiflux.device.pinned import PinnedMemory
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.runtime.device_cache import CacheEntry
from motiflux.gpu.storage.device_csr import DeviceCsr, HostRows, only_rows
from motiflux.gpu.storage.expected_opens import ArcNumbers, ArcsKey, KindKey, Opens
from motiflux.gpu.storage.row_choice import Values, choose, pieces
from motiflux.gpu.storage.upload import UploadContext, upload_row_ends
from motiflux.graph import Graph
from motiflux.plan.physical import RowCopies
from motiflux.request.deadline import Deadline
from motiflux.types import OffsetArray
from motiflux.units import bytes_text, grouped

SHARE = 0.5
"""Share of the free memory that copies take at most: searches need some, too."""
LINE = 32
"""Least bytes of a read from the host."""
ENTRY = 4
"""Bytes of a neighbour."""
PLACE_BYTES = 16
"""Bytes of the place and the end of a row."""
_WHAT = "places of rows that stay on the host"
_WHAT_COPIES = "copies of rows that are on the host"

Kinds = Mapping[KindKey, Sequence[Opens]]
"""Kinds of rows that a search reads, and how often it opens them."""


class PlacedKind(NamedTuple):
    """The rows of one kind, as a search reads them (`WalkedRows`)."""

    addresses: tuple[int, int]
    arcs: int
    longest: int
    starts: int


@dataclass(eq=False)
class PlacedRows(CacheEntry):
    """The rows of a search, which may lie anywhere.

    Parameters
    ----------
    kinds
        The rows of each kind.
    copied, nbytes_copied
        Rows that were copied to the device, and their bytes.
    memory
        Memory of the device: tables and copies.
    host
        The rows of the host.
    """

    kinds: Mapping[KindKey, PlacedKind]
    copied: int
    nbytes_copied: int
    memory: tuple[Buffer, ...] = field(repr=False)
    host: tuple[HostRows, ...] = field(repr=False)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Memory of the device and of the host; the latter counts as none."""
        return (*self.memory, *self.pinned)

    @property
    def pinned(self) -> tuple[PinnedMemory, ...]:
        """Memory of the host."""
        return tuple(one.neighbors for one in self.host)

    def __str__(self) -> str:
        rows = sum(one.arcs for one in self.host) * ENTRY
        return f"{grouped(self.copied)} rows, {bytes_text(self.nbytes_copied)} of {bytes_text(rows)}"


def placed_rows(
    copies: DeviceCsr, device: Device, graph: Graph, kinds: Kinds, how: RowCopies, context: UploadContext
) -> PlacedRows | None:
    """Return the rows of a search, placed and copied if necessary; None if the tables do not fit.

    Raises
    ------
    DeviceError
        Memory of the host cannot be pinned.
    OutOfTimeError
        Time was up before all rows were placed.
    """
    host = {key: _host_rows(copies, graph, key, context) for key, opens in kinds.items() if opens}
    parts = tuple((key, id(host.get(key)), tuple(opens)) for key, opens in kinds.items())
    make = partial(_Builder(copies, device, graph, host, context).build, kinds, how)
    try:
        return copies.keep(("placed", how, parts), make)
    except DeviceMemoryError as error:
        log.MEMORY.info("rows are read from the host only: %s", error)
        return None


def _host_rows(copies: DeviceCsr, graph: Graph, key: KindKey, context: UploadContext) -> HostRows:
    if isinstance(key, ArcsKey):
        return copies.arcs_of_host(graph, into=key.into, context=context)
    return copies.rows_of_host(graph, key, context)


class Room(NamedTuple):
    """The bytes that copies may take, and whether that includes memory of earlier copies of the graph."""

    nbytes: int
    forgets: bool = False


def room_for(
    copies: DeviceCsr, device: Device, graph: Graph, how: RowCopies, wanted: int, budget: int | None
) -> Room:
    """Return the room of copies of a search that reads `wanted` bytes of rows."""
    if how.percent is not None:
        return Room(ENTRY * len(graph.forward.neighbors) * how.percent // 100)
    free = device.free_memory()
    if budget is not None:
        free = max(0, min(free, budget - device.used_memory()))
    room = int(SHARE * free)
    held = copies.bytes_of(PlacedRows) if room < wanted else 0
    if room < min(wanted, SHARE * held):  # less than half of what is free without them
        return Room(min(wanted, room + int(SHARE * held)), True)
    return Room(min(wanted, room))


class _Builder:
    """Places the rows of one search. While it works, it is a user of the rows of the host."""

    def __init__(
        self,
        copies: DeviceCsr,
        device: Device,
        graph: Graph,
        host: Mapping[KindKey, HostRows],
        context: UploadContext,
    ) -> None:
        self._copies, self._device, self._graph = copies, device, graph
        self._host, self._context = host, context

    def build(self, kinds: Kinds, how: RowCopies) -> PlacedRows:
        """Choose rows, copy them and write where all rows are."""
        for rows in self._host.values():
            rows.users.add(self)
        try:
            return self._build(kinds, how)
        finally:
            for rows in self._host.values():
                rows.users.discard(self)

    def _build(self, kinds: Kinds, how: RowCopies) -> PlacedRows:
        vertices = self._graph.num_vertices
        tables = [self._allocate(PLACE_BYTES * vertices, _WHAT) for _ in kinds]
        room = self._room(how)
        chosen = self._chosen(kinds, how, room)
        memory, placed, copied, nbytes = list(tables), dict[KindKey, PlacedKind](), 0, 0
        for table, key in zip(tables, kinds, strict=True):
            rows = self._host.get(key)
            if rows is None:
                placed[key] = self._only_degrees(table, key)
                continue
            offsets, there = rows.offsets, None
            if (which := chosen.get(key)) is not None:
                offsets = only_rows(rows.offsets, which)
                there = self._copy(rows, offsets)
            if which is not None and there is not None:
                memory.append(there)
                copied, nbytes = copied + int(np.count_nonzero(which)), nbytes + ENTRY * int(offsets[-1])
            away = 0 if there is None else there.address - rows.neighbors.address
            self._place(table, rows.offsets, None if there is None else which, offsets, away)
            placed[key] = PlacedKind(
                (table.address, rows.neighbors.address), rows.arcs, rows.longest, vertices
            )
        self._context.stream.wait()  # searches on other streams may read them from now on
        made = PlacedRows(placed, copied, nbytes, tuple(memory), tuple(self._host.values()))
        log.MEMORY.info("copied to %s: %s", self._device.name, made)
        return made

    def _only_degrees(self, table: Buffer, key: KindKey) -> PlacedKind:
        """Return rows that no kernel opens: only how long they are is read."""
        assert isinstance(key, ArcsKey), "rows of a source are opened"
        offsets = (self._graph.reverse if key.into else self._graph.forward).offsets
        self._place(table, offsets, None, offsets, 0)
        return PlacedKind((table.address, 0), int(offsets[-1]), 0, self._graph.num_vertices)

    def _chosen(self, kinds: Kinds, how: RowCopies, room: int) -> Mapping[KindKey, NDArray[np.bool_]]:
        """Return which rows of each kind are copied; kinds without copies are missing."""
        if not room:
            return {}
        host, deadline = list(self._host.values()), self._context.deadline
        if ENTRY * sum(rows.arcs for rows in host) <= room:
            return {key: np.diff(rows.offsets) > 0 for key, rows in self._host.items() if rows.arcs}
        if how.policy == "degree":
            values: list[Values] = [_Lengths(rows.offsets) for rows in host]
        else:
            numbers = ArcNumbers(self._graph, self._context.threads)
            values = [
                _Expected(rows.offsets, kinds[key], numbers, deadline) for key, rows in self._host.items()
            ]
        found = choose([(rows.offsets, one) for rows, one in zip(host, values, strict=True)], room, deadline)
        return {key: which for key, which in zip(self._host, found, strict=True) if which.any()}

    def _room(self, how: RowCopies) -> int:
        """Return the bytes that copies may take."""
        wanted = ENTRY * sum(rows.arcs for rows in self._host.values())
        room = room_for(self._copies, self._device, self._graph, how, wanted, self._context.budget)
        if room.forgets:
            self._copies.forget(PlacedRows)
        return room.nbytes

    def _allocate(self, nbytes: int, what: str) -> Buffer:
        self._context.deadline.check()
        return self._device.allocate(max(nbytes, PLACE_BYTES), what, budget=self._context.budget)

    def _copy(self, rows: HostRows, offsets: OffsetArray) -> Buffer | None:
        """Copy the rows that these offsets have to the device; None if there is no memory."""
        try:
            there = self._allocate(ENTRY * int(offsets[-1]), _WHAT_COPIES)
        except DeviceMemoryError as error:
            log.MEMORY.info("rows are not copied: %s", error)
            return None
        upload_row_ends(self._device, there, rows.rows, offsets, self._context)
        return there

    def _place(
        self,
        table: Buffer,
        places: OffsetArray,
        copied: NDArray[np.bool_] | None,
        places_there: OffsetArray,
        away: int,
    ) -> None:
        """Write the place and the end of each row.

        Parameters
        ----------
        places
            Offsets of the rows of the host.
        copied, places_there
            Rows that have copies, if any, and the offsets of the copies.
        away
            Bytes from the first neighbour of the host to that of the copies.
        """
        stream, distance = self._context.stream, np.uint64(away // ENTRY % 2**64)
        for first, end in pieces(self._graph.num_vertices, self._context.deadline):
            piece = np.empty((end - first, 2), np.uint64)
            piece[:, 0], piece[:, 1] = places[first:end], places[first + 1 : end + 1]
            if copied is not None:
                which = copied[first:end]
                piece[which, 0] = places_there[first:end][which] + distance  # modulo 2^64
                piece[which, 1] = places_there[first + 1 : end + 1][which] + distance
            stream.upload(table, piece, PLACE_BYTES * first)
            stream.wait()


class _Lengths:
    """Values by length: the longest rows are best."""

    def __init__(self, offsets: OffsetArray) -> None:
        self._offsets = offsets

    def __call__(self, first: int, end: int) -> NDArray[np.float64]:
        return np.diff(self._offsets[first : end + 1]).astype(np.float64)


class _Expected:
    """Values by bytes that a copy is expected to save, for each of its bytes."""

    def __init__(
        self, offsets: OffsetArray, opens: Sequence[Opens], numbers: ArcNumbers, deadline: Deadline
    ) -> None:
        self._offsets, self._numbers = offsets, numbers
        self._opens = [(one.reached, self._times_of_unit(one, deadline)) for one in opens]

    def __call__(self, first: int, end: int) -> NDArray[np.float64]:
        opened = np.zeros(end - first)
        for reached, times in self._opens:
            opened += times * self._numbers.product(reached, first, end)
        nbytes = ENTRY * np.diff(self._offsets[first : end + 1]).astype(np.float64)
        return opened * np.ceil(nbytes / LINE) * LINE / np.maximum(nbytes, 1)

    def _times_of_unit(self, opens: Opens, deadline: Deadline) -> float:
        """Return how often a row is opened whose vertex is reached in one way."""
        total = 0.0
        for first, end in pieces(len(self._offsets) - 1, deadline):
            some = np.diff(self._offsets[first : end + 1]) > 0
            total += float(self._numbers.product(opens.reached, first, end)[some].sum())
        return opens.times / total if total else 0.0
