"""A graph of versions on a device, and a model of it: sets of neighbours at every moment."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen.layout import Adjacency
from motiflux.codegen.streaming import (
    BATCH_BYTES,
    COPIED_ROWS,
    FARTHEST_END,
    HEAD,
    LOAD_ENTRY,
    PLACE,
    UNIT_BYTES,
    UPDATE,
    UPDATE_SLOT,
    Effect,
    LoadArgs,
    Pool,
    PoolCounts,
    Progress,
    Stages,
    StreamGraph,
    Versions,
    bytes_of_version,
)

if TYPE_CHECKING:
    from motiflux.device.base import Buffer, Device, Kernel, Stream

Edge = tuple[int, int]
Change = tuple[Edge, bool]
"""An edge, and whether it is inserted."""
Places = Sequence[Sequence[tuple[int, bool]]]
"""By class: the first row of each place, and whether it is the target's."""
UNDIRECTED: Places = (((0, False), (0, True)),)


class VersionsArgs(ctypes.Structure):
    # As versions.cu has it.
    _fields_ = (
        ("graph", StreamGraph),
        *((name, ctypes.c_uint64) for name in ("updates", "batch", "asked", "found", "wrong", "start")),
        ("update_count", ctypes.c_uint64),
        ("seed", ctypes.c_uint64),
        *((name, ctypes.c_uint32) for name in ("asked_of_update", "most_found", "batch_size", "lag")),
    )


@dataclass
class Model:
    """What rows hold, by definition.

    Attributes
    ----------
    now
        The neighbours in each row, now.
    history
        Which rows were what, at each moment: an update at a moment sees the edge that it inserts or deletes.
    effects
        What each update did.
    """

    rows: int
    places: Places
    now: list[frozenset[int]] = field(default_factory=list)
    history: list[list[frozenset[int]]] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.now = [frozenset()] * self.rows

    def load(self, edges: Sequence[Edge], classes: Sequence[int]) -> None:
        for edge, of in zip(edges, classes, strict=True):
            self._write(edge, of, True)

    def apply(self, changes: Sequence[Change], classes: Sequence[int]) -> None:
        for (edge, inserts), of in zip(changes, classes, strict=True):
            before = list(self.now)
            self._write(edge, of, inserts)
            changed = self.now != before
            kind = Effect.APPEARS if inserts else Effect.VANISHES
            self.effects.append(kind if changed else Effect.NONE)
            self.history.append(list(self.now) if inserts else before)

    def _write(self, edge: Edge, of: int, inserts: bool) -> None:
        for first, of_target in self.places[of]:
            row, other = first + edge[of_target], edge[not of_target]
            self.now[row] = self.now[row] | {other} if inserts else self.now[row] - {other}


@dataclass
class Run:
    """What a run of updates left, and what its readers found."""

    rows: list[list[tuple[frozenset[int], bool]]]
    """By update, then by row that was asked for: the living ids, and whether the row was clean."""
    effects: list[Effect]
    progress: Progress
    counts: PoolCounts
    slabs: int
    """Rows that have slabs."""
    kept: int
    """Bytes of the newest versions."""
    copied: int
    """Strips of long rows that were copied."""
    helped: int
    """Of these, those that readers have copied."""


@dataclass
class Graph:
    """Versions of rows on a device."""

    device: Device
    stream: Stream
    kernel: Callable[[str], Kernel]
    rows: int
    units: int = 4_000
    slot_count: int = 64
    farthest_end: int = FARTHEST_END
    places: Places = UNDIRECTED
    strip: int = 0
    buffers: dict[str, Buffer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, nbytes in (
            ("memory", self.units * UNIT_BYTES),
            ("counts", ctypes.sizeof(PoolCounts)),
            ("marks", self.units // 64 * 8 + 8),
            ("heads", self.rows * HEAD.itemsize),
            ("progress", ctypes.sizeof(Progress)),
            ("slots", self.slot_count * UPDATE_SLOT.itemsize),
            ("batch", BATCH_BYTES),
            ("copied", COPIED_ROWS.itemsize),
            ("failed", 4),
            ("wrong", 8),
        ):
            self.buffers[name] = self.device.allocate(nbytes, name)
            if name not in ("memory", "batch"):
                self.stream.clear(self.buffers[name])
        ends = [0, *accumulate(len(places) for places in self.places)]
        self.put("classes", np.array(ends, np.uint32))
        self.put("places", np.array([place for places in self.places for place in places], PLACE))

    def put(self, name: str, array: NDArray[Any]) -> int:
        """Copy an array to the device; return its address."""
        self.buffers[name] = self.device.allocate(max(array.nbytes, 1), name)
        if array.nbytes:
            self.stream.upload(self.buffers[name], array)
        return self.buffers[name].address

    def get(self, name: str, array: NDArray[Any]) -> NDArray[Any]:
        self.stream.download(self.buffers[name], array)
        self.stream.wait()
        return array

    def structure(self, name: str, kind: type[ctypes.Structure]) -> Any:
        return kind.from_buffer_copy(self.get(name, np.zeros(ctypes.sizeof(kind), np.uint8)))

    def address(self, name: str) -> int:
        return self.buffers[name].address

    def pool(self) -> Pool:
        return Pool(*map(self.address, ("memory", "counts", "marks")), self.units)

    def load(self, neighbors: Sequence[frozenset[int]], moment: int = 0) -> bool:
        """Write first versions; return whether memory sufficed."""
        offsets = np.array([0, *accumulate(map(len, neighbors))], np.uint64)
        entries = np.array([other for row in neighbors for other in sorted(row)], np.uint32)
        rows = Adjacency(self.put("offsets", offsets), self.put("neighbors", entries))
        heads, failed = self.address("heads"), self.address("failed")
        argument = LoadArgs(rows, heads, self.pool(), moment, 0, self.rows, failed)
        self.stream.launch(self.kernel(LOAD_ENTRY), 2, 64, 0, argument)
        return bool(self.get("failed", np.zeros(1, np.uint32))[0] == 0)

    def run(
        self,
        changes: Sequence[Change],
        classes: Sequence[int],
        asked: NDArray[np.uint32],
        *,
        batch_size: int = 8,
        blocks: int = 3,
        threads: int = 64,
        seed: int = 1,
        start: int = 0,
        lag: int = 0,
    ) -> Run:
        """Apply updates, of which each reads the rows that it asks for, in one launch.

        Parameters
        ----------
        start
            The moment before that of the first update.
        lag
            How many further updates are published before one is read.
        """
        found = np.zeros((*asked.shape, self.rows + 2), np.uint32)
        argument = self._argument(changes, classes, batch_size, seed, start)
        argument.asked, argument.found = self.put("asked", asked), self.put("found", found)
        argument.asked_of_update, argument.most_found, argument.lag = asked.shape[1], self.rows, lag
        self.stream.launch(self.kernel("run_stages"), blocks, threads, 0, argument)
        self.get("found", found)
        slots = self.get("slots", np.zeros(self.slot_count, UPDATE_SLOT))
        last = range(start + max(1, len(changes) - self.slot_count + 1), start + len(changes) + 1)
        assert self.get("wrong", np.zeros(1, np.uint64))[0] == 0
        rows = [[(frozenset(one[2 : 2 + one[0]].tolist()), bool(one[1])) for one in of] for of in found]
        assert all(one[0] == len(set(one[2 : 2 + one[0]].tolist())) for of in found for one in of)
        return Run(
            rows,
            [Effect(slots["effect"][moment % self.slot_count]) for moment in last],
            self.structure("progress", Progress),
            self.structure("counts", PoolCounts),
            *self._left(),
            *self._copied(),
        )

    def write(
        self, changes: Sequence[Change], classes: Sequence[int], *, batch_size: int, seed: int = 1
    ) -> None:
        """Apply updates, at most as many as there are slots, and keep all versions."""
        argument = self._argument(changes, classes, batch_size, seed, 0)
        self.stream.launch(self.kernel("run_updater"), 1, 64, 0, argument)
        progress = self.structure("progress", Progress)
        assert (progress.published, progress.violated) == (len(changes), 0)

    def versions(self) -> Versions:
        return Versions(self.address("heads"), self.address("memory"))

    def _argument(
        self, changes: Sequence[Change], classes: Sequence[int], batch_size: int, seed: int, start: int
    ) -> VersionsArgs:
        begun = Progress(start, start, start, start, start)
        self.stream.upload(self.buffers["progress"], np.frombuffer(bytes(begun), np.uint8).copy())
        updates = np.array(
            [(*edge, of, inserts) for (edge, inserts), of in zip(changes, classes, strict=True)], UPDATE
        )
        graph = StreamGraph(
            self.versions(),
            self.pool(),
            Stages(self.address("progress"), self.address("slots"), self.slot_count),
            self.address("classes"),
            self.address("places"),
            self.farthest_end,
            copied=self.address("copied"),
            strip=self.strip,
        )
        return VersionsArgs(
            graph,
            self.put("updates", updates),
            self.address("batch"),
            wrong=self.address("wrong"),
            start=start,
            update_count=len(changes),
            seed=seed,
            batch_size=batch_size,
        )

    def _copied(self) -> tuple[int, int]:
        found = self.get("copied", np.zeros(COPIED_ROWS.itemsize, np.uint8)).view(COPIED_ROWS)[0]
        return int(found["copied"]), int(found["helped"])

    def _left(self) -> tuple[int, int]:
        """Return how many rows have slabs, and the bytes of all newest versions."""
        heads = self.get("heads", np.zeros(self.rows, HEAD))
        memory = self.get("memory", np.zeros(self.units * UNIT_BYTES, np.uint8)).view(np.uint32)
        blocks = (heads["newest"] & 0xFFFFFFFF).astype(np.int64)
        sizes = memory[blocks[blocks > 0] * (UNIT_BYTES // 4) + 1]
        return np.count_nonzero(heads["slabs"]), sum(bytes_of_version(int(size)) for size in sizes)
