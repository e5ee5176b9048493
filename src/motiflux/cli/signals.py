"""SIGINT and SIGTERM as exceptions. Imports little: the handlers are set before the rest is loaded."""

from __future__ import annotations

import signal
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """SIGINT.

    Not `KeyboardInterrupt` itself: if that leaves a call of `exec`, Python ends the process by the signal,
    with no exit code of its own.
    """


class Terminated(KeyboardInterrupt):
    """SIGTERM, handled like Ctrl-C."""


def raise_on_signals() -> None:
    """Raise `Interrupted` on SIGINT and `Terminated` on SIGTERM, where Python's own handlers are set.

    Later SIGTERMs are ignored: they would interrupt the cleanup.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise Interrupted

    def terminate(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Terminated

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, terminate)


def ignore_signals() -> None:
    """Ignore SIGINT and SIGTERM: Python restores the handlers of the system before it has ended."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
