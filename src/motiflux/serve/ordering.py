"""The order of records: by number, or by time where records may wait for earlier ones."""

from __future__ import annotations

import heapq
import json
from typing import Any, NamedTuple

import numpy as np

from motiflux._native import Records
from motiflux.serve.batch import TIME, Batch, Numbered, Record
from motiflux.serve.settings.parts import StreamSettings
from motiflux.times.iso import format_moment

_FIRST, _LAST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
MOMENT, BEGIN = "", "*"
"""Sources of rows without records: a time that is reached, and the begin of a process."""


class Late(NamedTuple):
    """A record that is refused: records with later times were applied, or its time is in the future."""

    numbered: Numbered
    reason: str


class Ordering:
    """Releases records in the order of their times, as far as these are known.

    What it does depends on records, their numbers and times of arrival alone, all of which are in the log.

    Parameters
    ----------
    settings
        Of the stream.
    """

    def __init__(self, settings: StreamSettings) -> None:
        self._settings = settings
        self._lateness, self._idle = settings.lateness, settings.idle
        self._clamps = settings.late == "clamp"
        self._ahead = settings.ahead
        self._heap: list[tuple[int, int, str, Record]] = []
        self._latest: dict[str, tuple[int, int]] = {}
        self._applied: int | None = None
        self.late = 0
        """Number of late records so far."""

    def __len__(self) -> int:
        """Return the number of waiting records."""
        return len(self._heap)

    @property
    def watermark(self) -> int | None:
        """The time of the last record that was released; None: none was."""
        return self._applied

    def put(self, first: int, source: str, records: Records, arrival: int) -> list[Late]:
        """Take the records of a source, numbered from `first`; return those that are refused."""
        numbered = (Numbered(number, source, record) for number, record in enumerate(records, first))
        return [late for one in numbered if (late := self._put(one, arrival)) is not None]

    def _put(self, numbered: Numbered, arrival: int) -> Late | None:
        time = numbered.record[TIME]
        if (future := self._beyond(numbered, arrival)) is not None:
            return future
        before = self._latest.get(numbered.source)
        self._latest[numbered.source] = (time if before is None else max(before[0], time), arrival)
        if self._applied is not None and time < self._applied:
            self.late += 1
            if not self._clamps:
                return _late(numbered, self._applied)
            time = numbered.record[TIME] = self._applied
        heapq.heappush(self._heap, (time, numbered.number, numbered.source, numbered.record))
        return None

    def begin(self, arrival: int) -> None:
        """Have all sources be heard now."""
        self._latest = {name: (time, arrival) for name, (time, _) in self._latest.items()}

    def _beyond(self, numbered: Numbered, arrival: int) -> Late | None:
        """Return a record if its time is so far ahead that all later ones would be late."""
        if self._ahead is None or numbered.record[TIME] <= arrival + self._ahead:
            return None
        found = format_moment(numbered.record[TIME], utc=True)
        return Late(
            numbered, f"expected a time until {format_moment(arrival + self._ahead, utc=True)}, found {found}"
        )

    def release(self, arrival: int) -> Batch:
        """Return the records that need not wait any more, by time and number.

        Parameters
        ----------
        arrival
            The time of arrival of the last record, or of a moment without records.
        """
        end = self._reached(arrival)
        released = []
        while self._heap and (end is None or self._heap[0][0] <= end):
            time, number, source, record = heapq.heappop(self._heap)
            self._applied = time
            released.append(Numbered(number, source, record))
        return Batch.of(released, self._settings)

    def _reached(self, arrival: int) -> int | None:
        """Return the watermark; None: nothing holds it back."""
        heard = [time for time, last in self._latest.values() if arrival - last < self._idle]
        return min(heard) - self._lateness if heard else None

    def state(self) -> str:
        """Return all that decides about later records, as JSON."""
        facts = {
            "heap": sorted(self._heap),
            "latest": self._latest,
            "applied": self._applied,
            "late": self.late,
        }
        return json.dumps(facts, ensure_ascii=False)

    def restore(self, state: str) -> None:
        """Go on from a state."""
        facts: dict[str, Any] = json.loads(state)
        self._heap = [(time, number, source, record) for time, number, source, record in facts["heap"]]
        self._latest = {name: (time, arrival) for name, (time, arrival) in facts["latest"].items()}
        self._applied = facts["applied"]
        self.late = facts["late"]


def _late(numbered: Numbered, applied: int) -> Late:
    found = format_moment(numbered.record[TIME], utc=True)
    return Late(numbered, f"expected a time from {format_moment(applied, utc=True)} on, found {found}")


class InOrder(Ordering):
    """Releases records at once: nothing waits with a lateness of 0."""

    def __init__(self, settings: StreamSettings) -> None:
        super().__init__(settings)
        self._ready: list[Batch] = []

    def put(self, first: int, source: str, records: Records, arrival: int) -> list[Late]:
        """Take the records of a source, numbered from `first`; return those that are refused."""
        count = len(records)
        if not count:
            return []
        before = _FIRST if self._applied is None else self._applied
        last = _LAST if self._ahead is None else min(arrival + self._ahead, _LAST)
        if records.times_ascend(before, last):
            self._applied = records[count - 1][TIME]
            self._ready.append(Batch(records, np.arange(first, first + count), [source] * count))
            return []
        times = records.times()
        beyond = times > last  # a record in the future does not make others late
        reached = np.maximum.accumulate(np.concatenate([[before], np.where(beyond, _FIRST, times)]))
        late = ~beyond & (times < reached[:-1])
        self.late += int(late.sum())
        gone = beyond if self._clamps else beyond | late
        refused = []
        for at in np.flatnonzero(gone).tolist():
            numbered = Numbered(first + at, source, records[at])
            refused.append(self._beyond(numbered, arrival) or _late(numbered, int(reached[at])))
        if late.any() and self._clamps:
            records.set_times(np.where(late, reached[:-1], times))
        if not beyond.all():
            self._applied = int(reached[-1])
        numbers = np.arange(first, first + count)
        if refused:
            rows = np.flatnonzero(~gone)
            records, numbers = records.take(rows), numbers[rows]
        self._ready.append(Batch(records, numbers, [source] * len(numbers)))
        return refused

    def release(self, arrival: int) -> Batch:
        """Return all records."""
        released, self._ready = Batch.joined(self._ready), []
        return released


def ordering_of(settings: StreamSettings) -> Ordering:
    """Return what orders the records of a stream."""
    return Ordering(settings) if settings.lateness else InOrder(settings)
