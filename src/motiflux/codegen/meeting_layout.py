"""The structures of tails in which pieces meet, field by field as in ``view/meeting.hpp``.

``tests/native/test_layout.py`` compares sizes and offsets with what the C++ compiler says.
"""

from __future__ import annotations

import ctypes

from motiflux.codegen.layout import TAIL_FIELDS, RuntimePlan, Task
from motiflux.types import MAX_PATTERN_VERTICES

_u8, _u16, _u32, _u64 = ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64

MOST_MEETINGS, MOST_PARTS, MOST_SLOTS, MOST_BESIDE, MOST_DOORS = 15, 31, 6, 3, 3
"""``view::kMostMeetings`` and so on."""


class MeetingPart(ctypes.Structure):
    """``view::MeetingPart``."""

    _fields_ = [
        ("at", _u64),
        ("room", _u32),
        ("meeting", _u8),
        ("first", _u8),
        ("last", _u8),
        ("doors", _u8),
        ("door", _u8 * MOST_DOORS),
        ("unused", _u8 * 5),
    ]


class Meeting(ctypes.Structure):
    """``view::Meeting``."""

    _fields_ = [
        ("lists", _u8),
        ("first_part", _u8),
        ("parts", _u8),
        ("plain", _u8),
        ("sizes", _u16),
        ("divisor", _u16),
        ("common", _u8 * (1 << (MOST_SLOTS - 1))),
    ]


class Meetings(ctypes.Structure):
    """``view::Meetings``."""

    _fields_ = [
        ("begins", _u8 * MAX_PATTERN_VERTICES),
        ("ends", _u8 * MAX_PATTERN_VERTICES),
        ("meetings", _u32),
        ("parts", _u32),
        ("sizes", _u32),
        ("masks", _u32),
        ("all", Meeting * MOST_MEETINGS),
        ("part", MeetingPart * MOST_PARTS),
    ]


class RuntimeMeetingArgs(ctypes.Structure):
    """``match::MeetingArgs<match::RuntimePlan>``."""

    _fields_ = [("plan", RuntimePlan), ("task", Task), *TAIL_FIELDS, ("meetings", Meetings)]


class PartState(ctypes.Structure):
    """``match::PartState``."""

    _fields_ = [("sum", _u64 * 2), ("length", _u32), ("waits", _u32)]


def meeting_bytes_of_group(meetings: Meetings) -> int:
    """Return the shared memory that a group needs beside that for a tail (``match::MeetingMemory``)."""
    numbers = 2 * meetings.meetings + meetings.sizes + 4 * meetings.masks
    return int(meetings.parts) * ctypes.sizeof(PartState) + int(numbers) * ctypes.sizeof(_u64)
