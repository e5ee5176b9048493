"""Worker threads."""

from __future__ import annotations

import threading
import time

import pytest

from motiflux.sampling.worker_thread import WorkerThread


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "worker"]


def test_it_does_one_thing_after_another_and_ends() -> None:
    worker, done = WorkerThread("worker"), []
    futures = [worker.submit(lambda number=number: done.append(number) or number) for number in range(50)]
    worker.close()
    assert done == [future.result(0) for future in futures] == list(range(50))
    assert threads() == []


def test_what_goes_wrong_is_raised_where_the_result_is_asked_for() -> None:
    worker = WorkerThread("worker")

    def fail() -> None:
        raise KeyboardInterrupt

    failed, other = worker.submit(fail), worker.submit(lambda: 7)
    with pytest.raises(KeyboardInterrupt):
        failed.result()
    assert other.result() == 7
    worker.close()


def test_there_is_no_thread_before_there_is_something_to_do() -> None:
    worker = WorkerThread("worker")
    assert threads() == []
    worker.close()


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

    worker = WorkerThread("worker")
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            worker.submit(lambda: 7)
    worker.close()
    assert threads() == []


def test_a_thread_that_is_slow_to_begin_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    go = WorkerThread._go

    def slowly(worker: WorkerThread) -> None:
        time.sleep(0.3)
        go(worker)

    monkeypatch.setattr(WorkerThread, "_go", slowly)
    worker = WorkerThread("worker")
    future = worker.submit(lambda: 7)
    worker.close()
    assert threads() == []
    assert future.result(0) == 7
