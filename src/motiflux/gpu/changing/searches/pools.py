"""The pools of searches: tables of partial matches that agree in all that later levels read.

The layout is that of ``match/pooled_plans.hpp``; `motiflux.gpu.changing.pooled_plans` has the plans.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from motiflux.codegen.changing import POOLED, Pool
from motiflux.device import Buffer, HostBuffer, Mark, Stream
from motiflux.device.base import NotPinnedError
from motiflux.gpu.changing.memory import SpareRoom
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.request.deadline import moments

POOLING_SWITCHES = ("auto", "on")
"""Values of the switch with which partial matches may be pooled."""
_CLEARED_BYTES = POOLED.itemsize + 8
"""Of a place, with the high word of its weight."""
_COUNT_BYTES, _CLAIM_BYTES, _ALIGNMENT = 16, 4, 16
_LEAST_PLACES, _MOST_PLACES = 1 << 10, 1 << 26
_PLACES_OF_ROOT = 1 << 16
"""Places for each root: searches rarely reach as many vertices of a label from one."""
_LEAST_PATHS = 1 << 14
"""Expected partial matches of a root up to the last level that is pooled, from which on they are."""
_MOST_ROOTS = 1 << 30
"""The most roots that are searched at a time: a key has 32 bits for the number of one."""
_FULL, _SPARSE = 0.5, 0.125
"""Shares of the places in use beyond which fewer roots are searched at a time, and below which more are."""


class Pools:
    """The pools of searches, in memory that is kept between runs.

    A stage reads the pool that the one before it has written, so there are two at most.

    Parameters
    ----------
    budget
        Maximum number of bytes that motiflux holds on the device.
    switch
        ``auto``: for plans of which many partial matches are expected; ``on``: for all; else none.
    """

    def __init__(self, accelerator: Accelerator, budget: int | None, switch: str) -> None:
        self.switch = switch
        self._memory = SpareRoom(accelerator.device, "partial matches that are pooled", budget)
        self._buffer: Buffer | None = None
        self._places = self._pools = 0
        self._device = accelerator.device
        self._on_host: HostBuffer | None = None  # the number of entries of a stage
        self._is_fetched = False
        self._clean: set[int] = set()  # pools that were emptied for the next search
        self._clean_of: tuple[int, ...] = ()  # the memory and the places that this is true of
        self._emptied: Mark | None = None
        self._fullest = 0
        self._roots_of_place = 0.0  # as searches found so far
        self.roots = 1
        """The most roots that are searched at a time."""

    @property
    def nbytes(self) -> int:
        """Bytes held on the device."""
        return self._memory.nbytes

    def release(self) -> None:
        """Free the memory."""
        self._memory.release()
        self._buffer = self._emptied = self._on_host = None
        self._clean = set()
        self.forget()

    def forget(self) -> None:
        """Forget how many roots places sufficed for: rows or plans are others."""
        self._roots_of_place = 0.0

    def were_used(self, stream: Stream) -> None:
        """Note that no search uses the pools any more, and empty them for the next one."""
        if self._buffer is None:
            return
        for number in range(self._pools):
            self._empty(stream, number)
        self._clean, self._clean_of = set(range(self._pools)), self._layout
        self._emptied = stream.mark(self._emptied)
        self._memory.give_back()
        self._buffer = None

    @property
    def _layout(self) -> tuple[int, ...]:
        """The memory of the pools, and how they lie in it."""
        return self._memory.version, self._places, self._pools

    def are_wanted(self, stages: int, walked: int, typical: float) -> bool:
        """Whether searches should pool partial matches.

        Parameters
        ----------
        stages
            Most stages of a plan.
        walked
            Levels that are walked until they are pooled for the last time.
        typical
            The length of the row that an entry is in, on average.
        """
        if stages == 1 or self.switch not in POOLING_SWITCHES:
            return False
        return self.switch == "on" or typical**walked >= _LEAST_PATHS

    def open(self, stream: Stream, stages: int, roots: int, vertices: int, nbytes: int) -> bool:
        """Have pools for a search; False if there is no memory.

        Parameters
        ----------
        nbytes
            The most bytes that may be allocated.
        """
        of_root = min(_PLACES_OF_ROOT, 2 * vertices)
        places = max(_LEAST_PLACES, 1 << (min(roots * of_root, _MOST_PLACES) - 1).bit_length())
        pools = min(2, stages - 1)
        most = self.nbytes + nbytes
        while (needed := pools * _bytes_of(places)) > most or not self._allocated(needed, stream):
            places //= 2
            if places < _LEAST_PLACES:
                return False
        self._places, self._pools, self._fullest = places, pools, 0
        if self._clean_of != self._layout:
            self._clean = set()
        if self._emptied is not None:  # maybe by another stream
            for _ in moments():
                if self._emptied.done():
                    break
        suffices_for = max(places // of_root, int(places * self._roots_of_place))
        self.roots = max(1, min(roots, suffices_for, _MOST_ROOTS))
        return True

    def _allocated(self, nbytes: int, stream: Stream) -> bool:
        self._buffer = self._memory.take(nbytes, stream)
        return self._buffer is not None

    def cleared(self, stream: Stream, stage: int) -> Pool:
        """Return the empty pool that a stage writes."""
        assert self._buffer is not None, "open() comes first"
        number = stage % self._pools
        if number not in self._clean:
            self._empty(stream, number)
        self._clean.discard(number)
        return self.of(stage)

    def _empty(self, stream: Stream, number: int) -> None:
        assert self._buffer is not None, "open() comes first"
        stream.clear(
            self._buffer, number * _bytes_of(self._places), _CLEARED_BYTES * self._places + _COUNT_BYTES
        )

    def of(self, stage: int) -> Pool:
        """Return the pool that a stage writes."""
        assert self._buffer is not None, "open() comes first"
        places = self._buffer.address + stage % self._pools * _bytes_of(self._places)
        count = places + _CLEARED_BYTES * self._places
        highs = places + POOLED.itemsize * self._places
        return Pool(places, highs, count + _COUNT_BYTES, count, self._places - 1)

    def fetch(self, stream: Stream, stage: int) -> None:
        """Copy the number of entries of a stage behind its launch: the host need not wait once more."""
        if self._on_host is None:
            with suppress(NotPinnedError):
                self._on_host = self._device.allocate_host(_COUNT_BYTES, "numbers of partial matches")
        self._is_fetched = self._on_host is not None
        if self._on_host is not None:
            self._download(stream, stage, self._on_host.array[:4].view(np.uint32))

    def entries(self, stream: Stream, stage: int) -> int:
        """Return the number of entries that a stage has written, once its launch has ended."""
        if self._is_fetched and self._on_host is not None:
            found = int(self._on_host.array[:4].view(np.uint32)[0])
        else:
            count = np.zeros(1, np.uint32)
            self._download(stream, stage, count)
            stream.wait()
            found = int(count[0])
        self._is_fetched, self._fullest = False, max(self._fullest, found)
        return found

    def _download(self, stream: Stream, stage: int, to: NDArray[np.uint32]) -> None:
        assert self._buffer is not None, "open() comes first"
        stream.download(self._buffer, to, self.of(stage).count - self._buffer.address)

    def adapt(self, searched: int) -> None:
        """Have as many roots searched at a time as the places suffice for, in this search and the next one.

        `searched`: the roots whose partial matches the pools had last.
        """
        share, self._fullest = self._fullest / self._places, 0
        if share > _FULL:
            self.roots = max(1, searched // 2)
        elif share < _SPARSE and searched == self.roots:
            self.roots = min(2 * self.roots, _MOST_ROOTS)
        else:
            return
        self._roots_of_place = self.roots / self._places


def _bytes_of(places: int) -> int:
    """Return the bytes of a pool: its places, how many are in use, and which; the next one is aligned."""
    nbytes = (_CLEARED_BYTES + _CLAIM_BYTES) * places + _COUNT_BYTES
    return -(-nbytes // _ALIGNMENT) * _ALIGNMENT
