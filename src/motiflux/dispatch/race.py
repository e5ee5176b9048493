"""Two engines at one count: the second starts where the first takes long, and whoever is done first is heard.

Each runs on a thread of its own, the caller waits. The one that is not needed any more is told to stop at its
next report of progress, within 20 ms, and nobody waits for it.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf

from motiflux.errors import CompileError, DeviceError
from motiflux.request.engine import Outcome
from motiflux.request.reports import ProgressReport
from motiflux.request.request import ProgressCallback, Request

_REPORT_SECONDS = 0.05
_LONGEST_WAIT = 1.0
_LEAVE_SECONDS = 0.5
_GRACE_SECONDS = 0.02
"""How long the count of the other one is waited for once time is up."""

CANNOT = (DeviceError, CompileError)
"""What an engine raises that cannot do a count which another can: no memory, no driver, no such kernel."""

_running: set[threading.Thread] = set()


@atexit.register
def _leave() -> None:
    """Give those that were told to stop the time for it; a compilation is not waited for."""
    end = time.perf_counter() + _LEAVE_SECONDS
    for thread in list(_running):
        thread.join(max(0.0, end - time.perf_counter()))


Wait = Callable[[float], None]
"""Waits so many seconds, or until the other one turns out unable to count."""


class _NotNeededError(Exception):
    """The other engine was faster."""


@dataclass(frozen=True)
class Contestant:
    """One of the two: what to call it, and what counts. It must report progress, however seldom.

    It may wait before it begins: what is expected of it may ask for patience with the other one.

    Parameters
    ----------
    checks
        Whether it calls ``Request.check`` often, so that no progress need be asked of it.
    """

    name: str
    count: Callable[[Request, Wait], Outcome]
    checks: bool = False


@dataclass(frozen=True)
class Result:
    """The count, who counted, and what kept the other one from counting (None: nothing)."""

    outcome: Outcome
    name: str
    refused: Exception | None = None


class _Run:
    """A contestant at work."""

    def __init__(
        self, contestant: Contestant, request: Request, changed: threading.Event, *, hurry: bool = False
    ) -> None:
        self.name = contestant.name
        self.outcome: Outcome | None = None
        self.error: BaseException | None = None
        self.report: ProgressReport | None = None
        self._stopped = False
        self._wake = threading.Event()
        if hurry:
            self._wake.set()
        self._changed = changed
        self._count = contestant.count
        self._request = replace(request, progress=self._look, check=self._check)
        # The interpreter does not wait for it: `_leave` does, for a while.
        self._thread = threading.Thread(target=self._go, name=f"motiflux {self.name}", daemon=True)

    def start(self) -> None:
        """Begin. Whoever has it begin must know it by then: an interrupt may come as soon as it has."""
        self._thread.start()

    @property
    def share(self) -> float:
        """How much of its work was done at its last report."""
        return 0.0 if self.report is None else self.report.done / max(self.report.total, 1)

    @property
    def over(self) -> bool:
        """Whether it came to an end, good or bad."""
        return self.outcome is not None or self.error is not None

    def hurry(self) -> None:
        """Say that there is nothing to wait for."""
        self._wake.set()

    def stop(self) -> None:
        """Say that it is not needed. Safe to repeat."""
        self._stopped = True
        self._wake.set()

    def _go(self) -> None:
        thread = self._thread
        _running.add(thread)
        try:
            self.outcome = self._count(self._request, self._wait)
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            self.error = error
        self._changed.set()
        _running.discard(thread)

    def _wait(self, seconds: float) -> None:
        self._wake.wait(min(seconds, threading.TIMEOUT_MAX))
        self._check()

    def _look(self, report: ProgressReport) -> None:
        self._check()
        self.report = report

    def _check(self) -> None:
        if self._stopped:
            raise _NotNeededError


def race(first: Contestant, second: Contestant, patience: float, request: Request) -> Result:
    """Return the count of whichever is done first, the second being started after `patience` seconds.

    It is started at once where the first one cannot count. Where both are cut short, the larger number is
    returned: each is a lower bound.
    """
    changed = threading.Event()
    progress = _Progress(request.progress)
    begins = time.perf_counter() + patience
    refused: Exception | None = None
    runs: list[_Run] = []
    try:
        _begin(_Run(first, request, changed), runs)
        while True:
            now = time.perf_counter()
            if len(runs) == 1 and (now >= begins or refused is not None):
                _begin(_Run(second, request, changed, hurry=refused is not None), runs)
            left = min(begins - now, _LONGEST_WAIT) if len(runs) == 1 else _LONGEST_WAIT
            changed.wait(left if request.progress is None else min(left, _REPORT_SECONDS))
            changed.clear()
            if refused is None and (refused := _refusal(runs)) is not None:
                for run in runs:
                    run.hurry()
            elif refused is not None:
                _refusal(runs)
            found = _found(runs, request, changed)
            if found is not None and found.outcome is not None:
                return Result(found.outcome, found.name, refused)
            progress.tell(runs)
    finally:
        try:
            _stop(runs)
        finally:
            _stop(runs)  # again: an interrupt may have come meanwhile


def race_here(first: Contestant, second: Contestant, patience: float, request: Request) -> Result:
    """Return the same, the first one counting in the calling thread, which saves the time to start another.

    It must not be long about what comes before its first check or report.
    """
    begins = time.perf_counter() + patience
    runs: list[_Run] = []
    changed = threading.Event()

    def check() -> None:
        if not runs and time.perf_counter() >= begins:
            _begin(_Run(second, replace(request, progress=None), changed), runs)
        if runs and changed.is_set() and _done(runs[0], request):
            raise _NotNeededError

    def tell(report: ProgressReport) -> None:
        check()
        if request.progress is not None:
            request.progress(report)

    try:
        try:
            told = None if first.checks and request.progress is None else tell
            outcome = first.count(replace(request, progress=told, check=check), _no_wait)
        except _NotNeededError:
            assert runs[0].outcome is not None
            return Result(runs[0].outcome, second.name)
        except CANNOT as error:
            return _after_refusal(second, runs, changed, error, request)
        other = runs[0].outcome if runs else None
        if not outcome.complete and other is not None and other.value > outcome.value:
            return Result(other, second.name)
        return Result(outcome, first.name)
    finally:
        try:
            _stop(runs)
        finally:
            _stop(runs)  # again: an interrupt may have come meanwhile


def _begin(run: _Run, runs: list[_Run]) -> None:
    """Have a run begin, which is known first: whatever interrupts this, it will be stopped."""
    runs.append(run)
    run.start()


def _stop(runs: Sequence[_Run]) -> None:
    for run in runs:
        run.stop()


def _after_refusal(
    second: Contestant, runs: list[_Run], changed: threading.Event, refused: Exception, request: Request
) -> Result:
    """Return the count of the second one, which may be at it already."""
    if not runs:
        return Result(second.count(request, _no_wait), second.name, refused)
    runs[0].hurry()
    while not runs[0].over:
        changed.wait(_REPORT_SECONDS)
    if runs[0].error is not None:
        raise runs[0].error
    assert runs[0].outcome is not None
    return Result(runs[0].outcome, second.name, refused)


def _no_wait(seconds: float) -> None:
    """Do not wait: nobody else counts."""


def _done(run: _Run, request: Request) -> bool:
    """Return whether a run has the count that was asked for; raise what is wrong with it."""
    if run.error is not None and not isinstance(run.error, CANNOT):
        raise run.error
    return run.outcome is not None and (run.outcome.complete or run.outcome.value == request.limit)


def _refusal(runs: Sequence[_Run]) -> Exception | None:
    """Return why one cannot count; raise what is wrong beyond that, or if none can."""
    errors = [run.error for run in runs if run.error is not None]
    for error in errors:
        if not isinstance(error, CANNOT):
            raise error
    if len(errors) == 2:
        raise errors[0]
    return errors[0] if errors and isinstance(errors[0], CANNOT) else None


def _found(runs: Sequence[_Run], request: Request, changed: threading.Event) -> _Run | None:
    """Return the run whose count is to be returned; None while there is none."""
    cut = False
    for run in runs:
        if _done(run, request):
            return run
        cut = cut or run.outcome is not None
    if not cut:
        return None
    if not all(run.over for run in runs):  # time was up: the other one knows that too
        changed.wait(_GRACE_SECONDS)
    return max(runs, key=_value)


def _value(run: _Run) -> float:
    return -inf if run.outcome is None else run.outcome.value


class _Progress:
    """Tells of whichever is further, and never less than before."""

    def __init__(self, report: ProgressCallback | None) -> None:
        self._report = report
        self._share = -1.0
        self._next = time.perf_counter() + _REPORT_SECONDS

    def tell(self, runs: Sequence[_Run]) -> None:
        now = time.perf_counter()
        if self._report is None or now < self._next:
            return
        run = max(runs, key=lambda run: run.share)
        if run.report is not None and run.share >= self._share:
            self._share, self._next = run.share, now + _REPORT_SECONDS
            self._report(run.report)
