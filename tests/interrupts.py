"""Ctrl-C that comes while native code runs, whatever the machine does meanwhile."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

FOR_GOOD = 3600.0
"""What `sys.setswitchinterval` takes to let a thread keep the interpreter until it gives it up."""


@contextmanager
def ctrl_c_in_native_code(
    number: signal.Signals = signal.SIGINT, then: Callable[[], object] = lambda: None
) -> Iterator[None]:
    """Press Ctrl-C once this thread lets others run, which in the ``with`` block only native code does.

    The thread that presses calls `then` afterwards.

    No clock decides when: the thread that presses waits for the interpreter, which this one is not asked for.
    """
    go = threading.Event()

    def press() -> None:
        go.wait()
        os.kill(os.getpid(), number)
        then()

    presser = threading.Thread(target=press)
    presser.start()
    before = sys.getswitchinterval()
    sys.setswitchinterval(FOR_GOOD)
    try:
        go.set()
        yield
    finally:
        sys.setswitchinterval(before)
        presser.join()
