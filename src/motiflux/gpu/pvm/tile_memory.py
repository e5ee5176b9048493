"""Memory of the tiles of a search on a device, which tiles use one after another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from motiflux.device import Buffer, Device, Mark
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.storage.upload import wait_for_mark
from motiflux.request.deadline import Deadline

_WASTE = 2
"""A tile takes memory of at most so many times its size if other memory can be had."""
_WHAT = "tables of rows of a search in phases"


class Unused(NamedTuple):
    """Memory of a tile that left, and points after which nothing uses it."""

    memory: Buffer
    marks: tuple[Mark, ...]

    @property
    def over(self) -> bool:
        """Whether nothing uses it any more."""
        return all(mark.done() for mark in self.marks)


@dataclass(frozen=True)
class Taking:
    """How memory for a tile is taken.

    Parameters
    ----------
    waits
        Whether the caller waits for kernels rather than do without the memory.
    follows
        Whether memory is taken that kernels still use: the copy follows them.
    drop
        Has a tile leave, whose memory is given with `TileMemory.give`; returns False if there is none.
    before
        Behind kernels launched before, which may use memory that is closed; None: there were none.
    """

    waits: bool
    follows: bool
    drop: Callable[[], bool]
    before: Mark | None


class TileMemory:
    """Memory of tiles.

    Parameters
    ----------
    device, budget, deadline
        The device, most bytes that motiflux holds there, and the deadline of the call.
    most_bytes
        Most bytes of tiles, and of memory that they left.
    held
        Returns the bytes of tiles.
    beside
        Bytes that a search needs beside tiles and embeddings, for errors.
    """

    def __init__(
        self,
        device: Device,
        budget: int | None,
        most_bytes: int,
        deadline: Deadline,
        held: Callable[[], int],
        beside: int,
    ) -> None:
        self._device, self._budget, self._most_bytes = device, budget, most_bytes
        self._deadline, self._held, self._beside = deadline, held, beside
        self._unused: list[Unused] = []

    @property
    def unused_bytes(self) -> int:
        """Bytes of memory that tiles left."""
        return sum(one.memory.nbytes for one in self._unused)

    def give(self, memory: Buffer, marks: tuple[Mark, ...]) -> None:
        """Have memory of a tile used for others after these marks."""
        self._unused.append(Unused(memory, marks))

    def release(self) -> None:
        """Free memory that tiles left, once nothing uses it."""
        self._unused = []

    def take(self, nbytes: int, how: Taking) -> Unused:
        """Return memory for a tile, and the points after which it may be written.

        Raises
        ------
        DeviceMemoryError
            There is none, or none without waiting.
        OutOfTimeError
            Time was up before kernels were over.
        """
        refusal: DeviceMemoryError | None = None
        while True:
            if (found := self._take_unused(nbytes, follows=how.follows)) is not None:
                return found
            fits = self._held() + self.unused_bytes + nbytes <= self._most_bytes
            if fits and (how.waits or refusal is None):
                try:
                    return Unused(self.allocate(nbytes), ())
                except DeviceMemoryError as error:
                    refusal = error
            if not (self._free_unused() or how.drop() or (how.waits and self._wait(how.before))):
                raise self._refusal(nbytes) if refusal is None else refusal

    def allocate(self, nbytes: int) -> Buffer:
        """Return new memory; raises `DeviceMemoryError`."""
        try:
            return self._device.allocate(max(8, nbytes), _WHAT, budget=self._budget)
        except DeviceMemoryError as error:
            error.advise(self._advice(nbytes))
            raise

    def _take_unused(self, nbytes: int, *, follows: bool) -> Unused | None:
        """Return the smallest unused memory that a tile fits into without much waste."""
        fitting = [
            one
            for one in self._unused
            if nbytes <= one.memory.nbytes <= _WASTE * nbytes and (follows or one.over)
        ]
        if not fitting:
            return None
        chosen = min(fitting, key=lambda one: one.memory.nbytes)
        self._unused = [one for one in self._unused if one is not chosen]
        return chosen

    def _free_unused(self) -> bool:
        """Free unused memory that nothing uses any more; return whether there was some."""
        over = [one for one in self._unused if one.over]
        self._unused = [one for one in self._unused if one not in over]
        for one in over:
            one.memory.close()
        return bool(over)

    def _wait(self, before: Mark | None) -> bool:
        """Wait for kernels that use memory which is unused or closed; return whether there were any."""
        marks = [mark for one in self._unused for mark in one.marks]
        if not marks and before is not None and not before.done():
            marks = [before]
        for mark in marks:
            wait_for_mark(mark, self._deadline)
        return bool(marks)

    def _refusal(self, nbytes: int) -> DeviceMemoryError:
        left = max(0, self._most_bytes - self._held() - self.unused_bytes)
        return DeviceMemoryError(_WHAT, nbytes, left, self._advice(nbytes))

    def _advice(self, nbytes: int) -> str:
        return (
            f"a search in phases needs {self._beside:,} bytes for ids and labels of vertices, and beside its "
            f"embeddings those of the longest row of each table that a phase reads, here {nbytes:,}: raise "
            "gpu_memory, or choose another engine"
        )
