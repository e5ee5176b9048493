"""A thread beside the caller's."""

from __future__ import annotations

import threading
import time

import pytest

from motiflux.sampling.worker_thread import WorkerThread


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "aside"]


def test_it_does_one_thing_after_another_and_ends() -> None:
    aside, done = WorkerThread("aside"), []
    futures = [aside.submit(lambda number=number: done.append(number) or number) for number in range(50)]
    aside.close()
    assert done == [future.result(0) for future in futures] == list(range(50))
    assert threads() == []


def test_what_goes_wrong_is_raised_where_the_result_is_asked_for() -> None:
    aside = WorkerThread("aside")

    def fail() -> None:
        raise KeyboardInterrupt

    failed, other = aside.submit(fail), aside.submit(lambda: 7)
    with pytest.raises(KeyboardInterrupt):
        failed.result()
    assert other.result() == 7
    aside.close()


def test_there_is_no_thread_before_there_is_something_to_do() -> None:
    aside = WorkerThread("aside")
    assert threads() == []
    aside.close()


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interrupt_while_its_thread_is_started_leaves_none(
    when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C may come on either side of the moment from which the thread is there."""
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        if when == "after":
            start(thread)
        raise KeyboardInterrupt

    aside = WorkerThread("aside")
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            aside.submit(lambda: 7)
    aside.close()
    assert threads() == []


def test_a_thread_that_is_slow_to_begin_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    go = WorkerThread._go

    def slowly(aside: WorkerThread) -> None:
        time.sleep(0.3)
        go(aside)

    monkeypatch.setattr(WorkerThread, "_go", slowly)
    aside = WorkerThread("aside")
    future = aside.submit(lambda: 7)
    aside.close()
    assert threads() == []
    assert future.result(0) == 7
