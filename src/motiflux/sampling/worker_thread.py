"""A thread beside the caller's, which does one thing after another."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")

_BEGINS = 0.05
"""Seconds that a thread takes to begin, at most, where an interrupt came while it was started."""


class WorkerThread:
    """Does what it is given on a thread of its own. Close it, whatever was interrupted.

    An executor of the standard library may forget a thread if an interrupt comes while that is started.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._begun = threading.Event()
        self._started = False
        """Whether nothing interrupted its start."""

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Return what `call` will give, once it was its turn."""
        future: Future[T] = Future()
        self._work.put(lambda: _settle(future, call))
        if self._thread is None:
            # The interpreter does not wait for it: whoever closes it does.
            self._thread = threading.Thread(target=self._go, name=self._name, daemon=True)
            self._thread.start()
            self._started = True
        return future

    def close(self) -> None:
        """Wait until all that was given is done."""
        self._work.put(None)
        if self._thread is not None and (self._started or self._begun.wait(_BEGINS)):
            self._thread.join()

    def _go(self) -> None:
        self._begun.set()
        while (work := self._work.get()) is not None:
            work()
            del work  # what it holds is freed now


def _settle(future: Future[T], call: Callable[[], T]) -> None:
    try:
        future.set_result(call())
    except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
        future.set_exception(error)
