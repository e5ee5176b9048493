"""The queue between sources and the engine, bounded by records."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from motiflux._native import Records
from motiflux.serve.records import Refused

Answer = dict[str, Any]

_MOST_JOINED = 1000
"""Records of chunks that are joined in the queue."""
_PAUSE = 0.4
"""The share of the longest time of a group that is between the begins of two: a small group takes as much
processor time as one of a hundred records."""


@dataclass(frozen=True)
class Lost:
    """What a source did not give, and never will.

    Parameters
    ----------
    place
        Where it was, in words.
    amount
        Bytes of a file or messages, at least; 0: it is not known.
    reason
        What was found and what was expected.
    """

    place: str
    amount: int
    reason: str


@dataclass
class Chunk:
    """Records of a source, with its position behind them.

    Parameters
    ----------
    lost
        What was missing before them.
    position
        A JSON value; None: the source has none.
    key
        Of the request that brought them, if it has one: a second request with it changes nothing.
    done
        Called with the numbers of records when they are on disk, in the committer's thread.
    size
        Bytes of what they were read from.
    arrived
        When they came (`time.perf_counter`).
    """

    source: str
    records: Records
    refused: list[Refused] = field(default_factory=list)
    position: Any = None
    key: str | None = None
    done: Callable[[Answer], None] | None = None
    lost: Lost | None = None
    size: int = 0
    arrived: float = field(default_factory=time.perf_counter)

    @property
    def weight(self) -> int:
        """Places in the queue."""
        return len(self.records) + len(self.refused) + 1

    def can_take(self, later: Chunk) -> bool:
        """Whether a later chunk can become part of this one: each takes as long as a hundred records."""
        if self.source != later.source or self.weight + later.weight > _MOST_JOINED:
            return False
        return all(one.key is None and one.done is None and one.lost is None for one in (self, later))

    def take(self, later: Chunk) -> None:
        """Add the records of a later chunk."""
        self.records.extend(later.records, 0, len(later.records))
        self.refused += later.refused
        self.size += later.size
        if later.position is not None:
            self.position = later.position


Call = tuple[Callable[[], Any], "Future[Any]"]


class Intake:
    """Chunks that wait for the engine, and calls that it is to make between two groups.

    Parameters
    ----------
    most, most_bytes
        Records that may wait, and bytes of what they were read from; a chunk is taken while fewer do.
    """

    def __init__(self, most: int, most_bytes: int = 2**63) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._chunks: deque[Chunk] = deque()
        self._calls: deque[Call] = deque()
        lock = threading.Lock()
        self._room, self._came = threading.Condition(lock), threading.Condition(lock)
        self._wanted = 1
        """Places that `take` waits for: to wake it for fewer takes as long as a small group."""
        self._taken_at = 0.0
        self._closed = False
        self.waiting = 0
        """Places that are taken."""
        self._waiting_bytes = 0
        self._busy = False

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits, and what `take` returned last is done with."""
        with self._came:
            return not self._chunks and not self._calls and not self._busy

    @property
    def _has_enough(self) -> bool:
        return self.waiting >= self._most or self._waiting_bytes >= self._most_bytes

    @property
    def is_full(self) -> bool:
        """Whether a chunk has to wait."""
        with self._came:
            return self._has_enough

    def put(self, chunk: Chunk, ends: Callable[[], bool]) -> bool:
        """Add a chunk as soon as there is room; return False if there is none before it `ends`."""
        with self._room:
            while not self._closed and not ends():
                if not self._has_enough:
                    self._add(chunk)
                    return True
                self._room.wait(0.1)
        return False

    def try_put(self, chunk: Chunk) -> bool:
        """Add a chunk if there is room; return whether there was."""
        with self._came:
            if self._closed or self._has_enough:
                return False
            self._add(chunk)
            return True

    def _add(self, chunk: Chunk) -> None:
        last = self._chunks[-1] if self._chunks else None
        if last is not None and last.can_take(chunk):
            self.waiting -= last.weight
            last.take(chunk)
            self.waiting += last.weight
        else:
            self._chunks.append(chunk)
            self.waiting += chunk.weight
        self._waiting_bytes += chunk.size
        if self.waiting >= self._wanted:
            self._came.notify()

    def call(self, function: Callable[[], Any]) -> Future[Any]:
        """Have the engine call a function between two groups; return its future."""
        future: Future[Any] = Future()
        with self._came:
            if self._closed:
                future.set_exception(RuntimeError("the service is stopping"))
            else:
                self._calls.append((function, future))
                self._came.notify()
        return future

    def wake(self) -> None:
        """Have `take` look again."""
        with self._came:
            self._came.notify()

    def close(self) -> None:
        """Take no more; `take` returns what is there."""
        with self._came:
            self._closed = True
            for _, future in self._calls:
                future.set_exception(RuntimeError("the service is stopping"))
            self._calls.clear()
            self._came.notify()
            self._room.notify_all()

    def take(
        self, size: int, longest: float, idle: float, is_free: Callable[[], bool]
    ) -> tuple[list[Chunk], list[Call]]:
        """Return what came.

        Parameters
        ----------
        size
            Records after which no more are waited for.
        longest
            Seconds that the first chunk waits for others, unless the log is free; and even then while less
            than `_PAUSE` of them have passed since the last group.
        idle
            Seconds to wait for anything.
        is_free
            Whether nothing is being written: then there is nothing to wait for.
        """
        with self._came:
            self._busy = False
            self._wait(lambda: bool(self._chunks), 1, idle)
            if self._chunks and not self._calls:
                now = time.perf_counter()
                self._wait(lambda: False, size, self._taken_at + _PAUSE * longest - now)
                rest = self._chunks[0].arrived + longest - time.perf_counter()
                self._wait(is_free, size, rest)
            self._wanted, self._taken_at = 1, time.perf_counter()
            chunks, taken = [], 0
            while self._chunks and taken < size:
                chunks.append(self._chunks.popleft())
                taken += chunks[-1].weight
                self._waiting_bytes -= chunks[-1].size
            self.waiting -= taken
            calls = list(self._calls)
            self._calls.clear()
            self._busy = bool(chunks or calls)
            self._room.notify_all()
            return chunks, calls

    def _wait(self, enough: Callable[[], bool], size: int, seconds: float) -> None:
        """Wait for so many records, a call, or the end, unless there is enough before."""
        self._wanted = size
        self._came.wait_for(
            lambda: self.waiting >= size or self._calls or self._closed or enough(), max(0.0, seconds)
        )
