"""A thread that runs calls one after another."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")

_BEGINS = 0.05
"""Maximum seconds until a thread runs, if an interrupt came during its start."""


class WorkerThread:
    """Runs calls on one thread. It must be closed, also after an interrupt.

    An executor of the standard library may lose a thread if an interrupt comes during its start.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._begun = threading.Event()
        self._started = False
        """Whether `Thread.start` returned: no interrupt came during it."""

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Return the future result of `call`, which runs after all earlier calls."""
        future: Future[T] = Future()
        self._work.put(lambda: _settle(future, call))
        if self._thread is None:
            # A daemon: `close` waits for it, the interpreter does not.
            self._thread = threading.Thread(target=self._go, name=self._name, daemon=True)
            self._thread.start()
            self._started = True
        return future

    def close(self) -> None:
        """Wait until all calls are done, and end the thread."""
        self._work.put(None)
        if self._thread is not None and (self._started or self._begun.wait(_BEGINS)):
            self._thread.join()

    def _go(self) -> None:
        self._begun.set()
        while (work := self._work.get()) is not None:
            work()
            del work  # free its arguments now


def _settle(future: Future[T], call: Callable[[], T]) -> None:
    try:
        future.set_result(call())
    except BaseException as error:  # noqa: BLE001 - raised by Future.result
        future.set_exception(error)
