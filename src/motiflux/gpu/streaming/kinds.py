"""Kinds of updates: the rows that an update is written to, and the plans that it concerns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen.streaming import MOST_CHANGES, PLACE
from motiflux.device import Buffer, Device, Stream
from motiflux.errors import InternalError

Places = tuple[tuple[int, int], ...]
"""The number of the kind of rows of each place, and whether it is the row of the target."""
Kind = tuple[Places, tuple[int, ...]]
"""Places, and the plans of the roots."""


@dataclass(frozen=True)
class KindRoom:
    """How many kinds, and places and plans of all kinds together, the tables have room for."""

    kinds: int = 1 << 12
    places: int = 1 << 16
    plans: int = 1 << 16

    def doubled(self) -> KindRoom:
        """Return twice the room."""
        return KindRoom(2 * self.kinds, 2 * self.places, 2 * self.plans)


class KindTables:
    """Tables of kinds in device memory, to which kinds are added while a kernel reads the others.

    Parameters
    ----------
    stream
        The stream of the uploads, which no kernel runs on.
    vertices
        How many rows there are of a kind: the first row of the next one is so much higher.

    Attributes
    ----------
    room
        What there is room for.
    """

    def __init__(
        self, device: Device, stream: Stream, budget: int | None, room: KindRoom, vertices: int
    ) -> None:
        self.room, self._stream, self._vertices = room, stream, vertices
        self._numbers: dict[Kind, int] = {}
        self._places = self._plans = 0
        what = "kinds of updates"
        self._buffers: dict[str, Buffer] = {}
        for name, nbytes in (
            ("places_at", 4 * (room.kinds + 1)),
            ("places", PLACE.itemsize * room.places),
            ("plans_at", 4 * (room.kinds + 1)),
            ("plans", 4 * room.plans),
        ):
            self._buffers[name] = device.allocate(nbytes, what, budget=budget)
            stream.clear(self._buffers[name])
        stream.wait()

    def address(self, name: str) -> int:
        """Return the address of ``places_at``, ``places``, ``plans_at`` or ``plans``."""
        return self._buffers[name].address

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        return sum(buffer.nbytes for buffer in self._buffers.values())

    @property
    def buffers(self) -> Sequence[Buffer]:
        """The memory of the tables."""
        return list(self._buffers.values())

    def release(self) -> None:
        """Free the memory."""
        self._buffers.clear()

    @property
    def known(self) -> list[Kind]:
        """All kinds, by number."""
        return list(self._numbers)

    def number(self, kind: Kind) -> int | None:
        """Return the number of a kind; None if it is not known."""
        return self._numbers.get(kind)

    def has_room(self, kind: Kind) -> bool:
        """Whether one more kind fits."""
        places, plans = kind
        return (
            len(self._numbers) < self.room.kinds
            and self._places + len(places) <= self.room.places
            and self._plans + len(plans) <= self.room.plans
        )

    def add(self, kind: Kind) -> int:
        """Add a kind, whose number is returned once kernels may use it."""
        places, plans = kind
        if len(places) > MOST_CHANGES:
            raise InternalError(f"places: expected at most {MOST_CHANGES}, found {len(places)}")
        number = len(self._numbers)
        rows = [(name * self._vertices, of_target) for name, of_target in places]
        self._put("places", np.array(rows, PLACE), self._places)
        self._put("plans", np.array(plans, np.uint32), self._plans)
        self._places += len(places)
        self._plans += len(plans)
        self._put("places_at", np.array([self._places], np.uint32), number + 1)
        self._put("plans_at", np.array([self._plans], np.uint32), number + 1)
        self._stream.wait()
        self._numbers[kind] = number
        return number

    def _put(self, name: str, array: NDArray[Any], at: int) -> None:
        if array.nbytes:
            self._stream.upload(self._buffers[name], array, at * array.itemsize)
