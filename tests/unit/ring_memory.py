"""Rings in memory that numpy allocated, and their two ends."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motiflux._native import RingReader, RingWriter


class RingMemory:
    """A ring of packets of 32-bit words: empty, as all zeroed memory is."""

    def __init__(self, slots: int = 4, slot_bytes: int = 64, record_words: int = 2) -> None:
        self.tail = np.zeros(1, np.uint64)
        self.published = np.zeros(slots, np.uint64)
        self.payload = np.zeros((slots, slot_bytes // 4), np.uint32)
        self.arguments = {
            "tail": self.tail.ctypes.data,
            "published": self.published.ctypes.data,
            "payload": self.payload.ctypes.data,
            "slots": slots,
            "slot_bytes": slot_bytes,
            "record_words": record_words,
        }

    def reader(self) -> RingReader:
        return RingReader(**self.arguments, memory=self)

    def writer(self) -> RingWriter:
        return RingWriter(**self.arguments, memory=self)


def records(first: int, count: int, words: int = 2) -> NDArray[np.uint32]:
    """Return [count, words]: the number of each record, then numbers that follow from it."""
    numbers = np.arange(first, first + count, dtype=np.uint32)
    return numbers[:, None] * 3 + np.arange(words, dtype=np.uint32)
