"""Ctrl-C while a run begins or ends leaves the handlers of signals as they were."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import Any

import pytest

from motiflux.stream.run import delivery
from motiflux.stream.run.delivery import Shield


@pytest.mark.parametrize("looked_up", range(4))
def test_ctrl_c_anywhere_leaves_no_handler_behind(looked_up: int, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    looks: list[int] = []

    def getsignal(number: int, look_up: Any = signal.getsignal) -> Any:
        looks.append(number)
        found = look_up(number)
        if len(looks) == looked_up + 1:
            signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr(delivery.signal, "getsignal", getsignal)

    def term(number: int, frame: Any) -> None: ...

    signal.signal(signal.SIGTERM, term)  # the command line has one
    try:
        with pytest.raises(KeyboardInterrupt), Shield():
            pass
        monkeypatch.undo()
        assert signal.getsignal(signal.SIGINT) is before[signal.SIGINT]
        assert signal.getsignal(signal.SIGTERM) is term
        assert len(looks) > looked_up
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_ctrl_c_as_a_run_ends_is_raised_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT)

    def press(frame: FrameType, event: str, argument: Any) -> None:
        if frame.f_code is Shield.__exit__.__code__:  # at its start, where the interpreter hears signals
            handler = signal.getsignal(signal.SIGINT)
            assert callable(handler)
            handler(signal.SIGINT, frame)

    tracer = sys.gettrace()
    try:
        with pytest.raises(KeyboardInterrupt), Shield():
            sys.settrace(press)
    finally:
        sys.settrace(tracer)
    assert signal.getsignal(signal.SIGINT) is before
