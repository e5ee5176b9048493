"""Searches that outlive what they depend on: threads, processes, the interpreter, a caller's patience."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from textwrap import dedent

import pytest

import motiflux as mf
from motiflux.graph.memo import Memo

LONG = """
import atexit, os, sys, threading, time
import motiflux as mf
graph = mf.Graph.from_edges([(u, v) for u in range(300) for v in range(u)])
pattern = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])
"""


def run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LONG + dedent(script)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def endless() -> tuple[mf.Graph, mf.Pattern]:
    """Give a search that goes on for minutes."""
    graph = mf.Graph.from_edges([(u, v) for u in range(300) for v in range(u)])
    return graph, mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])


@pytest.mark.turns(8)
@pytest.mark.parametrize("call", ["mf.count(graph, pattern)", "mf.match(graph, pattern).to_numpy()"])
def test_a_daemon_thread_in_a_search_does_not_abort_the_exit(call: str) -> None:
    done = run(f"""
        def search():
            try:
                {call}
            except RuntimeError:
                pass
        threading.Thread(target=search, daemon=True).start()
        time.sleep(0.3)
    """)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.turns(8)
def test_a_daemon_thread_that_closes_iterations_does_not_abort_the_exit() -> None:
    """It does so after motiflux's own exit handler, and is at it while the interpreter is taken down."""
    done = run("""
        class Slow:
            def __del__(self, sleep=time.sleep):
                sleep(0.3)
        slow = Slow()
        iterations = [mf.match(graph, pattern, threads=2) for _ in range(200)]
        ended = threading.Event()
        def close():
            ended.wait()
            for iteration in iterations:
                iteration.close()
        threading.Thread(target=close, daemon=True).start()
        atexit._run_exitfuncs()
        ended.set()
        time.sleep(0.02)
    """)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.turns(8)
def test_an_open_iteration_at_exit_is_no_trouble() -> None:
    done = run("matches = mf.match(graph, pattern); next(matches)")
    assert (done.returncode, done.stderr) == (0, "")


def test_several_threads_may_close_one_iteration() -> None:
    graph, pattern = endless()
    for _ in range(20):
        matches = mf.match(graph, pattern, threads=2, batch_rows=1000)
        next(matches)
        closers = [threading.Thread(target=matches.close) for _ in range(4)]
        for closer in closers:
            closer.start()
        for closer in closers:
            closer.join(timeout=120)
            assert not closer.is_alive()
        assert matches.complete is False


@pytest.mark.turns(8)
def test_a_forked_child_drops_its_parents_iteration_and_may_not_go_on_with_it() -> None:
    done = run("""
        matches = mf.match(graph, pattern)
        next(matches)
        child = os.fork()
        if child == 0:
            try:
                next(matches)
            except RuntimeError as error:
                print(error, flush=True)
            del matches
            print(int(mf.count(graph, pattern, limit=5)), flush=True)
            os._exit(0)
        print(os.waitpid(child, 0)[1], len(next(matches)) > 0)
    """)
    assert done.stdout.splitlines() == ["this search belongs to the process that started it", "5", "0 True"]


def test_an_interrupt_between_rows_and_batch_leaves_no_complete_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(block: object) -> object:
        raise KeyboardInterrupt

    graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0)])
    matches = mf.match(graph, mf.Pattern.from_edges([(0, 1)]))
    monkeypatch.setattr(matches._layout, "array", interrupted)
    with pytest.raises(KeyboardInterrupt):
        next(matches)
    assert matches.complete is False
    with pytest.raises(mf.MotifluxError, match="a search that was closed or failed after 0 rows"):
        list(matches)


def test_progress_is_reported_while_rows_flow() -> None:
    graph, pattern = endless()
    reports: list[mf.ProgressReport] = []
    with mf.match(graph, pattern, progress=reports.append) as matches:
        for _ in matches:
            if len(reports) > 2:
                break
    assert len(reports) > 2


def test_a_memo_shared_by_threads_stays_bounded() -> None:
    memo = Memo()
    errors: list[BaseException] = []

    def fill(start: int) -> None:
        try:
            for number in range(start, start + 3000):
                assert memo.get(number, lambda number=number: number) == number
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test must say it
            errors.append(error)

    threads = [threading.Thread(target=fill, args=(3000 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(memo) <= 512 + len(threads)


def test_a_process_may_be_forked_while_others_search() -> None:
    graph, pattern = endless()
    searching = threading.Thread(target=lambda: mf.count(graph, pattern, timeout=1.0))
    searching.start()
    child = os.fork()
    if child == 0:
        triangles = int(
            mf.count(graph, mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0)]), symmetry="subgraphs")
        )
        os._exit(0 if triangles == 300 * 299 * 298 // 6 else 1)
    assert os.waitpid(child, 0)[1] == 0
    searching.join()


@pytest.mark.turns(8)
@pytest.mark.parametrize("module", ["motiflux.api.counting", "motiflux.api.pattern_list"])
def test_a_process_may_be_forked_while_another_thread_imports(module: str) -> None:
    done = run(f"""
        import signal

        class Slow:
            looked = threading.Event()

            def find_spec(self, name, path=None, target=None):
                if name == {module!r} and not self.looked.is_set():
                    self.looked.set()
                    time.sleep(0.3)

        sys.meta_path.insert(0, Slow())
        threading.Thread(target=lambda: mf.count).start()
        Slow.looked.wait()
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            triangle = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0)])
            os._exit(0 if int(mf.count(graph, triangle)) == 300 * 299 * 298 else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """)
    assert done.stdout == "0\n", done.stderr
