"""The budget of pinned memory of the host."""

from __future__ import annotations

import gc
import threading
import time
from typing import Any

import numpy as np
import pytest

from motiflux.device import pinned
from motiflux.device.base import NotPinnedError
from motiflux.device.pinned import VARIABLE, PinnedMemory, budget, held, pin, reserve
from motiflux.errors import ArgumentError, DeviceError
from motiflux.request.deadline import Deadline, OutOfTimeError

LARGE = pinned._SMALL + 1


class Memory:
    """Ordinary memory, which takes some time."""

    address = 0

    def __init__(self, nbytes: int) -> None:
        self.array = np.empty(min(nbytes, 16), np.uint8)
        self.closed = threading.Event()

    def close(self) -> None:
        self.closed.set()


class Pinning:
    """A device that pins memory as slowly as it is told."""

    def __init__(self, error: Exception | None = None) -> None:
        self.goes_on = threading.Event()
        self.error, self.given, self.settled = error, list[Memory](), 0

    def used_memory(self) -> int:
        self.settled += 1
        return 0

    def use(self) -> None:
        pass

    def allocate_host(self, nbytes: int, what: str, *, clear: bool = True) -> Memory:
        assert not clear
        if nbytes > pinned._SMALL:
            assert self.goes_on.wait(10)
        if self.error is not None:
            raise self.error
        self.given.append(Memory(nbytes))
        return self.given[-1]


def pinned_by(
    device: Any, nbytes: int, check: Any = lambda: None, release: Any = lambda _: 0
) -> PinnedMemory:
    return pin(device, nbytes, "rows", release, check)


@pytest.fixture(autouse=True)
def nothing_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what other tests of this process hold."""
    monkeypatch.setattr(pinned, "_held", {})


def test_the_budget_is_half_of_the_memory_or_what_the_environment_says() -> None:
    assert budget({}) == budget({VARIABLE: " "}) > 1 << 28
    assert budget({VARIABLE: "2GiB"}) == 2 << 30
    assert budget({VARIABLE: "4096"}) == 4096
    for wrong in ("much", "-1", "0"):
        with pytest.raises(ArgumentError, match=VARIABLE):
            budget({VARIABLE: wrong})


def test_memory_counts_until_it_is_closed_or_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (pinned_by(Pinning(), nbytes) for nbytes in (100, 50))
    assert held() == 150
    first.close()
    first.close()
    assert held() == 50
    del second
    gc.collect()
    assert held() == 0


def test_what_the_budget_lacks_is_released_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1000")
    kept = {"old": pinned_by(Pinning(), 900)}
    asked = []

    def release(needed: int) -> int:
        asked.append(needed)
        kept.clear()
        return 900

    pinned_by(Pinning(), 300, release=release)
    assert asked == [200]


def test_nothing_is_released_for_more_than_the_whole_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1000")
    with pytest.raises(NotPinnedError, match=r"found 1,001 B beside 0 B"):
        pinned_by(Pinning(), 1001, release=pytest.fail)


def test_the_default_budget_is_half_of_the_limit_of_the_control_group(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pinned, "total", lambda: 600)
    assert budget({}) == 300


def test_memory_that_is_not_available_is_not_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel would end the process, or move memory of others to a disk."""
    free, asked = [50], list[int]()
    monkeypatch.setattr(pinned, "available", lambda: free[0])
    device = Pinning()
    words = "rows: expected 101 B of memory .* found 50 B that are available.* or use device='cpu'"
    with pytest.raises(NotPinnedError, match=words):
        pinned_by(device, 101)
    assert (held(), device.given) == (0, [])

    def release(needed: int) -> int:
        asked.append(needed)
        free[0] = 200
        return needed

    assert pinned_by(device, 101, release=release).host_nbytes == 101
    assert (asked, device.settled) == ([51], 1)
    monkeypatch.setattr(pinned, "available", lambda: None)
    assert pinned_by(device, 101).host_nbytes == 101


def test_bytes_of_several_pieces_are_reserved_together_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1000")
    first = reserve([300, 200], "rows", lambda _: 0, "engine='batch'")
    words = r"rows: expected at most 1,000 B .* found 501 B beside 500 B .* or use engine='batch'"
    with pytest.raises(NotPinnedError, match=words):
        reserve([500, 1], "rows", lambda _: 0, "engine='batch'")
    assert held() == 500
    first[0].close()
    assert held() == 200
    del first
    gc.collect()
    assert held() == 0


def test_more_than_the_budget_is_an_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1000")
    kept = pinned_by(Pinning(), 900)
    words = (
        rf"rows: expected at most 1,000 B .* found 101 B beside 900 B .* set {VARIABLE} to more, call forget"
    )
    with pytest.raises(DeviceError, match=words):
        pinned_by(Pinning(), 101)
    assert held() == 900
    kept.close()
    assert pinned_by(Pinning(), 101).host_nbytes == 101


def test_memory_that_the_machine_lacks_does_not_count() -> None:
    refusal = DeviceError("no pinned memory")
    device = Pinning(refusal)
    device.goes_on.set()
    for nbytes in (100, LARGE):
        with pytest.raises(DeviceError, match="no pinned memory"):
            pinned_by(device, nbytes)
    assert held() == 0


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OutOfTimeError()], ids=["Ctrl-C", "timeout"])
def test_a_large_piece_can_be_interrupted_and_is_freed_afterwards(error: BaseException) -> None:
    device, calls = Pinning(), []

    def check() -> None:
        calls.append(None)
        if len(calls) == 3:
            raise error

    with pytest.raises(type(error)):
        pinned_by(device, LARGE, check)
    assert (held(), device.given) == (0, [])
    device.goes_on.set()
    end = time.monotonic() + 10
    while not device.given and time.monotonic() < end:
        time.sleep(1e-3)
    assert device.given[0].closed.wait(10)


def test_a_deadline_is_kept_while_memory_is_pinned() -> None:
    device = Pinning()
    with pytest.raises(OutOfTimeError):
        pinned_by(device, LARGE, Deadline.after(0.02).check)
    device.goes_on.set()
