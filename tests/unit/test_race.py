"""Two engines at one count: whatever interrupts the caller, none of them goes on."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from linecache import getline
from types import FrameType
from typing import Any

import pytest

from motiflux.dispatch import race as race_module
from motiflux.dispatch.race import Contestant, Result, Wait, race, race_here
from motiflux.request.engine import Outcome
from motiflux.request.request import Request
from tests.unit.dispatch_cases import ENDLESS, asking

_MOST_LINES = 500
_PATIENCE = 60.0
"""Seconds after which what should end fails a test; `ENDLESS` is longer."""


def counts_for(seconds: float) -> Callable[[Request, Wait], Outcome]:
    """Return what counts for so long, unless it is told to stop."""

    def count(request: Request, wait: Wait) -> Outcome:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            assert request.check is not None
            request.check()
            time.sleep(1e-3)
        return Outcome(7, True)

    return count


SOON, NEVER = Contestant("soon", counts_for(0.02), checks=True), Contestant("never", counts_for(ENDLESS))
RACES: dict[str, Callable[[], Result]] = {
    "both on threads of their own": partial(race, NEVER, SOON, 5e-3, asking()),
    "the first one here": partial(race_here, SOON, NEVER, 5e-3, asking()),
}


@contextmanager
def interrupt_at(number: int) -> Iterator[list[int]]:
    """Press Ctrl-C at that line of races that the caller comes to; give which it was, if it came so far.

    But for the words that a block begins with, where no interrupt is heard.
    """
    passed, came = 0, list[int]()

    def look(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal passed
        if frame.f_code.co_filename != race_module.__file__:
            return None
        line = getline(race_module.__file__, frame.f_lineno).strip()
        if event == "line" and line not in ("try:", "finally:"):
            passed += 1
            if passed == number:
                came.append(frame.f_lineno)
                raise KeyboardInterrupt
        return look

    traced = sys.gettrace()
    sys.settrace(look)
    try:
        yield came
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(traced)


def contestants() -> list[threading.Thread]:
    names = [f"motiflux {one.name}" for one in (SOON, NEVER)]
    return [thread for thread in threading.enumerate() if thread.name in names and thread.is_alive()]


def goes_on() -> bool:
    """Whether a contestant does not end."""
    end = time.perf_counter() + _PATIENCE
    while contestants() and time.perf_counter() < end:
        time.sleep(1e-3)
    return bool(contestants())


@pytest.mark.parametrize("way", RACES)
def test_nobody_counts_on_wherever_an_interrupt_comes(way: str) -> None:
    for line in range(1, _MOST_LINES):
        with interrupt_at(line) as came:
            assert RACES[way]().outcome.value == 7
        assert not goes_on(), f"Ctrl-C at line {came} of {race_module.__file__}"
        if not came:
            return
    raise AssertionError("the race never came to its end")


@pytest.mark.parametrize("way", RACES)
def test_nobody_counts_on_where_an_interrupt_comes_while_a_thread_is_started(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        RACES[way]()
    assert not goes_on()
