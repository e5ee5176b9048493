"""Commands after Ctrl-C and SIGTERM: they print the result so far."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from motiflux.cli.exits import ExitCode, report_stop
from motiflux.cli.signals import Interrupted, Terminated

if TYPE_CHECKING:
    import motiflux as mf
    from motiflux.request.reports import ProgressCallback, ProgressReport
    from motiflux.result.images import Block
    from motiflux.result.rows import RowSource

T = TypeVar("T")

_SECONDS_LEFT = 0.1

INTERRUPTED = "the result is incomplete"
"""The line on stderr beside a result that an interrupt cut short."""


def keeping_partial(call: Callable[[], T]) -> tuple[T, KeyboardInterrupt | None]:
    """Return the result of a call of the library and None, or the result so far and the interrupt.

    Raises
    ------
    KeyboardInterrupt
        Nothing is known yet.
    """
    from motiflux.result.partial import partial_result

    try:
        return call(), None
    except KeyboardInterrupt as stop:
        so_far: T | None = partial_result(stop)
        if so_far is None:
            raise
        return so_far, stop


class SoftStop:
    """Ends a listing at the first SIGINT or SIGTERM like a timeout: rows that were found until then are kept.

    In its ``with`` block, the first signal is noted, and a second one interrupts as usual. A search hands out
    the rows that it holds every 50 ms, so that it goes on for 0.1 s.
    """

    def __init__(self) -> None:
        self.arrived: KeyboardInterrupt | None = None
        """The interrupt of the first signal."""
        self._since = 0.0
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if callable(handler) and threading.current_thread() is threading.main_thread():
                self._handlers[number] = handler
                signal.signal(number, self._note)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.arrived is not None:
            self._handlers[number](number, frame)
            return
        self._since = time.monotonic()
        self.arrived = Terminated() if number == signal.SIGTERM else Interrupted()

    @property
    def is_over(self) -> bool:
        """Whether the listing must end now."""
        return self.arrived is not None and time.monotonic() - self._since >= _SECONDS_LEFT

    def watching(self, report: ProgressCallback) -> ProgressCallback:
        """Return a function for `progress` that ends a search which finds nothing more."""

        def watched(progress: ProgressReport) -> None:
            report(progress)
            if self.is_over and self.arrived is not None:
                raise self.arrived

        return watched

    def end(self, matches: mf.Matches) -> None:
        """Let `matches` end when the listing must."""
        from motiflux.result.taking import take_through

        take_through(matches, lambda source: _Ending(source, self))


class _Ending:
    """The rows of a source until a listing must end."""

    def __init__(self, source: RowSource, stop: SoftStop) -> None:
        self._source = source
        self._stop = stop
        self._is_cut = False

    def next(self) -> Block | None:
        try:
            block = None if self._stop.is_over else self._source.next()
        except KeyboardInterrupt as interrupt:
            if interrupt is not self._stop.arrived:
                raise
            block = None
        if block is None:
            self._is_cut = self._stop.is_over
        return block

    def close(self) -> None:
        self._source.close()

    @property
    def complete(self) -> bool:
        return not self._is_cut and self._source.complete


def exit_code(stop: KeyboardInterrupt | None, *, done: bool, state: str = INTERRUPTED) -> ExitCode:
    """Return the exit code of a command that has printed its result; report an interrupt with `state`."""
    if stop is not None:
        return report_stop(stop, state)
    return ExitCode.DONE if done else ExitCode.INCOMPLETE
