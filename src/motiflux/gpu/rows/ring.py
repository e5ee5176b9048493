"""A ring between host and device: its memory, and both sides' views of it (``device/ring.hpp``)."""

from __future__ import annotations

from typing import Any

from motiflux._native import RingReader, RingWriter
from motiflux.codegen import layout
from motiflux.device import Device, HostBuffer

_LINE = 128
"""Bytes that a device writes at once; tail and packets begin at multiples of it."""
_RECORDS_PER_PACKET = 32


class MappedRing:
    """Host memory mapped into the device, with a ring of packets in it.

    Parameters
    ----------
    slots
        Capacity in packets, a power of two.
    record_words
        32-bit words of a record; a packet holds up to 32 records.
    """

    def __init__(self, device: Device, slots: int, record_words: int) -> None:
        self.slots = slots
        self.record_words = record_words
        self.slot_bytes = 4 * _RECORDS_PER_PACKET * record_words  # a multiple of 128
        self._payload = _LINE + -(-8 * slots // _LINE) * _LINE
        self.memory: HostBuffer = device.allocate_host(
            self._payload + slots * self.slot_bytes, "a ring between host and device"
        )

    def view(self, tickets: int) -> layout.Ring:
        """Return the ring as a kernel's argument; `tickets` is the address of the producers' words."""
        start = self.memory.address
        return layout.Ring(tickets, start, start + _LINE, start + self._payload, self.slots, self.slot_bytes)

    def reader(self) -> RingReader:
        """Return the host's end of a ring that the device fills."""
        return RingReader(**self._ends())

    def writer(self) -> RingWriter:
        """Return the host's end of a ring that the device empties."""
        return RingWriter(**self._ends())

    def _ends(self) -> dict[str, Any]:
        start = int(self.memory.array.ctypes.data)
        return {
            "tail": start,
            "published": start + _LINE,
            "payload": start + self._payload,
            "slots": self.slots,
            "slot_bytes": self.slot_bytes,
            "record_words": self.record_words,
            "memory": self.memory,
        }
