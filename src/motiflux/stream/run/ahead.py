"""A source that a thread reads, up to two batches ahead of the batch that is applied."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from queue import SimpleQueue

from motiflux.stream.matching.interrupts import in_spite_of_interrupts
from motiflux.stream.sources.source import Batch, Request, Source
from motiflux.stream.updates import Updates

LEAST_UPDATES = 4096
"""Batches of fewer updates are not read ahead: to read them takes less than to hand them over."""

_MOST_READ = 2
"""Batches that are read and not taken yet, at most."""


class ReadAhead:
    """Reads a source on a thread of its own.

    The thread begins to read a batch when the second one before it is taken, so there are never more than two
    that are not taken yet: one that may be prepared, and one that is read meanwhile. `stop` ends the thread:
    a source is asked to end between two pieces of its input (`Request.is_over`).

    Parameters
    ----------
    source
        A source without code of users: it must not depend on the thread that reads it.
    request
        What is asked of it.
    idle
        Called each time before a batch that is not there yet is waited for; it may raise errors.
    """

    def __init__(self, source: Source, request: Request, idle: Callable[[], None] = lambda: None) -> None:
        self._source = source
        self._idle = idle
        self._given = request
        self._request = replace(request, idle=None, quiet=None, is_over=lambda: self._is_over)
        self._is_over = False
        self._ended = threading.Event()
        # Whether one more batch is wanted; a batch, or the error that ended the source, or None at its end.
        self._wanted: SimpleQueue[bool] = SimpleQueue()
        self._read: SimpleQueue[Batch | BaseException | None] = SimpleQueue()
        self._seen: list[Batch | BaseException | None] = []  # taken out of it, and not yielded yet
        self._thread = threading.Thread(target=self._run, name="motiflux-source", daemon=True)

    def batches(self) -> Iterator[Batch]:
        """Yield the batches; raises the error of the source after those before it."""
        for _ in range(_MOST_READ):
            self._wanted.put(True)
        try:
            self._thread.start()
        except RuntimeError:  # there is no room for one more: the calling thread reads
            for batch in self._source.batches(self._given):
                yield batch
                self._idle()
            return
        while True:
            if not self._seen and self._read.empty():
                self._idle()
            if not self._seen:
                self._seen.append(self._read.get())
            found = self._seen.pop()
            if found is None:
                return
            if isinstance(found, BaseException):
                raise found
            self._wanted.put(True)
            yield replace(found, arrived=time.perf_counter()) if isinstance(found, Batch) else found

    def following(self) -> Updates | None:
        """Return the updates of the batch that `batches` yields next, if it is there already."""
        if not self._seen and self._read.empty():
            return None
        if not self._seen:
            self._seen.append(self._read.get())
        found = self._seen[0]
        return found.updates if isinstance(found, Batch) else None

    def stop(self) -> None:
        """End the thread and wait for it; Ctrl-C is raised afterwards."""

        def end() -> None:
            self._is_over = True
            self._wanted.put(False)
            if self._thread.ident is not None:
                self._ended.wait()  # `join` forgets a thread if Ctrl-C interrupts it
                self._thread.join()

        in_spite_of_interrupts(end)

    def _run(self) -> None:
        # Signals are for the threads that look at them.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        end: BaseException | None = None
        try:
            batches = self._source.batches(self._request)
            while self._wanted.get() and not self._is_over:
                batch = next(batches, None)
                if batch is None:
                    break
                self._read.put(batch)
            del batches  # closes what it has open
        except BaseException as error:  # noqa: BLE001 - raised by the thread that takes the batches
            end = error
        self._read.put(end)
        self._ended.set()
