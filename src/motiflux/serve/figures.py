"""Figures of a running service, for metrics and the page."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import deque

BOUNDS = (0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24)
"""Upper bounds of the classes of a histogram, in seconds."""
_SECONDS = 300
_SAMPLES = 4096


class Histogram:
    """Counts of durations by class, as Prometheus has them, and the last durations."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.sum = 0.0
        self._last: deque[tuple[float, float, int]] = deque(maxlen=_SAMPLES)

    def add(self, seconds: float, weight: int = 1) -> None:
        """Count a duration of so many records."""
        self.counts[bisect_left(BOUNDS, seconds)] += weight
        self.sum += seconds * weight
        self._last.append((time.monotonic(), seconds, weight))

    def quantiles(self, span: float, *shares: float) -> list[float | None]:
        """Return quantiles of the durations of the last seconds, weighted by records."""
        since = time.monotonic() - span
        recent = sorted((seconds, weight) for at, seconds, weight in list(self._last) if at >= since)
        total = sum(weight for _, weight in recent)
        found: list[float | None] = []
        for share in shares:
            left = share * total
            chosen = None
            for seconds, weight in recent:
                chosen = seconds
                left -= weight
                if left <= 0:
                    break
            found.append(chosen)
        return found


class Figures:
    """Counts since the start, by source and sink, and the last minutes second by second."""

    def __init__(self) -> None:
        self.began = time.time()
        self._lock = threading.Lock()
        self.records: dict[str, int] = {}
        self.refused: dict[str, int] = {}
        self.refused_by_monitors = 0
        self.late = 0
        self.alerts = 0
        self.commits = 0
        self.delivered: dict[str, int] = {}
        self.latency = Histogram()
        """From the arrival of a record until it is on disk and its alerts can be read."""
        self.commit_time = Histogram()
        self.delivery: dict[str, Histogram] = {}
        """From the commit of a sink's batch's first alert until the sink has it."""
        self.checkpoint_time = Histogram()
        """Until a checkpoint was on disk."""
        self.checkpoint_hold = Histogram()
        """How long records waited for a checkpoint."""
        self.trouble: dict[str, str] = {}
        """What does not work at the moment, by part."""
        self.lag: dict[str, int] = {}
        """Records that wait in the broker or file, by source, where that is known."""
        self.gaps: dict[str, int] = {}
        self.lost: dict[str, int] = {}
        """How often records were lost before they were read, and how many messages or bytes at least."""
        self.last_loss: dict[str, str] = {}
        """The last time in words, by source."""
        self.history: deque[tuple[int, int, int]] = deque(maxlen=_SECONDS)
        """Seconds since 1970, with records and alerts of the second."""

    def took(self, source: str, records: int, refused: int) -> None:
        """Count records of a source."""
        with self._lock:
            self.records[source] = self.records.get(source, 0) + records
            self.refused[source] = self.refused.get(source, 0) + refused
            self._count(records, 0)

    def lose(self, source: str, amount: int, reason: str) -> None:
        """Count what a source will never give."""
        with self._lock:
            self.gaps[source] = self.gaps.get(source, 0) + 1
            self.lost[source] = self.lost.get(source, 0) + amount
            self.last_loss[source] = reason

    def applied(self, refused: int, late: int, alerts: int) -> None:
        """Count what came of records."""
        with self._lock:
            self.refused_by_monitors += refused
            self.late += late
            self.alerts += alerts
            self._count(0, alerts)

    def _count(self, records: int, alerts: int) -> None:
        now = int(time.time())
        if self.history and self.history[-1][0] >= now:
            second, before, told = self.history.pop()
            self.history.append((second, before + records, told + alerts))
        else:
            self.history.append((now, records, alerts))

    def sent(self, sink: str, alerts: int) -> None:
        """Count alerts that a sink has."""
        with self._lock:
            self.delivered[sink] = self.delivered.get(sink, 0) + alerts
