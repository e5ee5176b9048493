"""Host memory that uploads of a run go through."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from motiflux.errors import DeviceError
from motiflux.gpu.changing.memory import LargePinned, Staging


class Pinned:
    def __init__(self, nbytes: int) -> None:
        self.array = np.zeros(nbytes, np.uint8)


class Device:
    """Refuses to pin more than `most` bytes at once."""

    def __init__(self, most: int) -> None:
        self.most = most

    def use(self) -> None: ...

    def allocate_host(self, nbytes: int, what: str, *, clear: bool = True) -> Any:
        if nbytes > self.most:
            raise DeviceError("refused")
        return Pinned(nbytes)


def staging_of(most: int = 1 << 20) -> Staging:
    return Staging(Device(most), LargePinned())  # type: ignore[arg-type]


def wait_for_pinning() -> None:
    for thread in threading.enumerate():
        if thread.name == "motiflux-pin":
            thread.join()


LARGE = 33 << 20


def owner(array: np.ndarray) -> Any:
    while array.base is not None:
        array = array.base
    return array


def test_large_memory_is_used_again_by_the_next_large_run() -> None:
    staging = staging_of()
    first = staging.of(LARGE)
    staging.of(100)
    staging.sent()
    second = staging.of(LARGE - 10)
    assert len(second) == LARGE - 10
    assert owner(second) is owner(first)


def test_large_memory_is_freed_after_a_run_that_did_not_need_it() -> None:
    staging = staging_of()
    first = staging.of(LARGE)
    staging.sent()
    staging.of(100)
    staging.sent()
    assert owner(staging.of(LARGE)) is not owner(first)


def test_larger_memory_replaces_smaller() -> None:
    staging = staging_of()
    staging.of(LARGE)
    assert len(staging.of(2 * LARGE)) == 2 * LARGE


def test_large_runs_go_through_pinned_memory_once_it_is_ready() -> None:
    device, pinned = Device(1 << 30), LargePinned()
    staging, other = (Staging(device, pinned) for _ in range(2))  # type: ignore[arg-type]
    before = owner(staging.of(LARGE))
    staging.sent()
    wait_for_pinning()
    first = owner(staging.of(LARGE))
    assert first is not before
    assert owner(other.of(LARGE)) is not first  # one engine has it
    staging.sent()
    other.sent()
    assert owner(other.of(LARGE)) is first
    other.release()
    assert owner(staging.of(LARGE)) is first


def test_a_larger_run_has_more_memory_pinned() -> None:
    staging = staging_of(1 << 30)
    for size in (LARGE, 2 * LARGE):
        staging.of(size)
        staging.sent()
        wait_for_pinning()
    again = staging.of(2 * LARGE)
    staging.sent()
    assert owner(staging.of(LARGE)) is owner(again)


def test_runs_go_on_where_pinning_is_refused() -> None:
    staging = staging_of()
    first = staging.of(LARGE)
    staging.sent()
    wait_for_pinning()
    assert owner(staging.of(LARGE)) is owner(first)


class Mark:
    """A point of a stream that is passed after some looks."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def done(self) -> bool:
        self.looks -= 1
        return self.looks <= 0


class Stream:
    def __init__(self, mark: Mark) -> None:
        self._mark = mark

    def mark(self, again: Any = None) -> Any:
        return self._mark


def test_memory_is_given_again_once_the_copy_from_it_is_done() -> None:
    staging, mark = staging_of(), Mark(3)
    staging.of(100)
    staging.copies(Stream(mark))  # type: ignore[arg-type]
    assert mark.looks == 3
    staging.of(100)
    assert mark.looks == 0
    staging.of(100)
    assert mark.looks == 0
    staging.copies(Stream(Mark(1000)))  # type: ignore[arg-type]
    staging.sent()  # after the run, when all is done
    staging.of(100)
    mark.looks = 2
    staging.copies(Stream(mark))  # type: ignore[arg-type]
    staging.release()
    assert mark.looks == 0
