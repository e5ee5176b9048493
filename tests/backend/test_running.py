"""Searches beside other work: memory, threads, processes, interrupts, progress."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from itertools import pairwise

import numpy as np
import pytest

import motiflux as mf
from tests.backend.cases import (
    EDGE,
    ODD_CYCLE,
    PATH,
    SMALL_TRIANGLES,
    TRIANGLE,
    clique,
    cycle,
    given_time,
    path,
    threads_of_this_process,
)
from tests.simt.gxx import sanitized


def run_script(script: str) -> dict[str, float]:
    """Run a Python script of its own process and return the ``name value`` lines it prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    print(done.stdout, end="")
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


# On Linux getrusage starts from what the parent held when it forked: VmHWM is of this program alone.
PEAK = """
            import resource, sys

            def peak():
                if sys.platform == "linux":
                    lines = open("/proc/self/status").readlines()
                    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024
                return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
"""


class TestMemory:
    @pytest.mark.turns(8)
    @pytest.mark.skipif(sanitized(), reason="the memory of the address sanitizer itself grows")
    def test_twenty_million_rows_pass_in_bounded_memory(self, device: str) -> None:
        told = run_script(f"""
            import motiflux as mf
            {PEAK}
            graph = mf.Graph.from_edges([(u, v) for v in range(280) for u in range(v)])
            pattern = mf.Pattern.from_edges([(0, 1), (1, 2)])
            mf.match(graph, pattern, limit=1, device={device!r}).to_numpy()
            before = peak()
            rows = sum(len(batch) for batch in mf.match(graph, pattern, device={device!r}))
            print("rows", rows)
            print("growth_mb", peak() - before)
            ballast = bytearray(300 << 20)
            print("ballast_mb", peak() - before)
        """)
        assert told["rows"] == math.perm(280, 3) > 20_000_000
        assert told["growth_mb"] < 150
        assert told["ballast_mb"] > 250, "the peak is not measured"

    @pytest.mark.turns(8)
    def test_a_consumer_that_waits_does_not_let_rows_pile_up(self, device: str) -> None:
        told = run_script(f"""
            import time
            import motiflux as mf
            {PEAK}
            graph = mf.Graph.from_edges([(u, v) for v in range(280) for u in range(v)])
            pattern = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3)])
            mf.match(graph, pattern, limit=1, device={device!r}).to_numpy()
            before = peak()
            with mf.match(graph, pattern, device={device!r}) as matches:
                next(matches)
                time.sleep(1)
                next(matches)
            print("growth_mb", peak() - before)
        """)
        assert told["growth_mb"] < 150


class TestThreads:
    def test_two_threads_may_count_on_one_graph_at_once(self, small: mf.Graph, device: str) -> None:
        patterns = [mf.Pattern.from_edges(edges) for edges in (cycle(3), cycle(4), path(4), clique(4))]
        expected = [mf.count(small, pattern, device=device) for pattern in patterns]
        small.forget()
        found: dict[int, list[int]] = {}

        def count_all(number: int) -> None:
            found[number] = [
                mf.count(small, pattern, threads=2, device=device) for _ in range(5) for pattern in patterns
            ]

        workers = [threading.Thread(target=count_all, args=(number,)) for number in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert found == dict.fromkeys(range(3), expected * 5)

    def test_two_threads_may_match_on_one_graph_at_once(self, small: mf.Graph, device: str) -> None:
        found: dict[int, int] = {}

        def match_all(number: int) -> None:
            matches = mf.match(small, TRIANGLE, threads=2, batch_rows=500, device=device)
            found[number] = len(np.unique(matches.to_numpy(), axis=0))

        workers = [threading.Thread(target=match_all, args=(number,)) for number in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert found == dict.fromkeys(range(3), SMALL_TRIANGLES)

    @pytest.mark.parametrize("search", ["count", "match"])
    def test_other_python_threads_go_on_during_a_search(
        self, bipartite: mf.Graph, device: str, search: str
    ) -> None:
        def tick_then_stop() -> None:
            for _ in range(200):
                time.sleep(0.001)
            signal.raise_signal(signal.SIGINT)

        def search_for_ever() -> None:
            ticker.start()
            if search == "count":
                mf.count(bipartite, ODD_CYCLE, threads=1, device=device)
            else:
                mf.match(bipartite, ODD_CYCLE, threads=1, device=device).to_numpy()

        ticker = threading.Thread(target=tick_then_stop)
        with pytest.raises(KeyboardInterrupt):
            search_for_ever()
        ticker.join()

    def test_more_threads_than_work_change_nothing(self, device: str) -> None:
        graph = mf.Graph.from_edges(clique(4))
        assert mf.count(graph, TRIANGLE, threads=64, device=device) == 24
        assert len(mf.match(graph, TRIANGLE, threads=64, device=device).to_numpy()) == 24

    @pytest.mark.turns(8)
    @pytest.mark.devices("cpu", "emulated", reason="CUDA does not survive a fork")
    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
    def test_a_forked_child_counts_on_its_parents_graph(self, device: str) -> None:
        told = run_script(f"""
            import os
            import motiflux as mf

            graph = mf.Graph.from_edges([(u, v) for v in range(30) for u in range(v)])
            triangle = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0)])
            square = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])
            print("parent", int(mf.count(graph, triangle, threads=2, device={device!r})), flush=True)
            child = os.fork()
            if child == 0:
                again = mf.count(graph, triangle, threads=2, device={device!r})
                rows = len(mf.match(graph, triangle, threads=2, device={device!r}).to_numpy())
                other = mf.count(graph, square, threads=2, device={device!r})
                print("child", int(again))
                print("child_rows", rows)
                print("child_squares", int(other), flush=True)
                os._exit(0)
            _, status = os.waitpid(child, 0)
            print("status", status)
            print("parent_after", int(mf.count(graph, square, threads=2, device={device!r})))
        """)
        assert told == {
            "parent": SMALL_TRIANGLES,
            "child": SMALL_TRIANGLES,
            "child_rows": SMALL_TRIANGLES,
            "child_squares": math.perm(30, 4),
            "status": 0,
            "parent_after": math.perm(30, 4),
        }


INTERRUPTED = """
    import os, signal, threading, time
    import numpy as np
    import motiflux as mf

    pairs = np.random.default_rng(7).integers(0, 1000, (60_000, 2)) + [0, 1000]
    graph = mf.Graph.from_edges(pairs)
    edge = mf.Pattern.from_edges([(0, 1)])
    path = mf.Pattern.from_edges([(v, v + 1) for v in range(7)])
    odd = mf.Pattern.from_edges([(v, (v + 1) % 9) for v in range(9)])
    before = int(mf.count(graph, edge, device={device!r}))
    mf.match(graph, edge, device={device!r}).to_numpy()

    def threads(most=0):
        # The kernel lists a thread for a moment after it was joined.
        for _ in range(3000 if most else 10):
            time.sleep(0.01)
            found = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1
            if found <= most:
                break
        return found

    idle = threads()
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        {search}
        print("interrupted", 0)
    except KeyboardInterrupt:
        print("interrupted", 1)
    timer.join()
    print("left_running", threads(idle) - idle)
    print("same", int(mf.count(graph, edge, device={device!r}) == before))
    print("same_rows", int(len(mf.match(graph, edge, device={device!r}).to_numpy()) == before))
"""
LONG_SEARCHES = {
    "count": "mf.count(graph, path, device={device!r})",
    "count that finds nothing": "mf.count(graph, odd, device={device!r})",
    "match": "[None for batch in mf.match(graph, path, device={device!r})]",
    "match that finds nothing": "[None for batch in mf.match(graph, odd, device={device!r})]",
}


class TestInterrupts:
    @pytest.mark.turns(8)
    @pytest.mark.parametrize("search", LONG_SEARCHES.values(), ids=LONG_SEARCHES.keys())
    def test_ctrl_c_stops_a_search_and_leaves_the_graph_usable(self, device: str, search: str) -> None:
        script = textwrap.dedent(INTERRUPTED).format(search=search.format(device=device), device=device)
        told = run_script(script)
        assert (told["same"], told["same_rows"]) == (1, 1)
        assert (told["interrupted"], told["left_running"]) == (1, 0)


class RefusalError(Exception):
    """What a callback raises in these tests."""


class TestProgress:
    @pytest.mark.turns(8)
    @pytest.mark.parametrize("pattern", [PATH, ODD_CYCLE], ids=["path", "odd cycle"])
    def test_reports_of_a_count_never_go_back(
        self, bipartite: mf.Graph, device: str, pattern: mf.Pattern
    ) -> None:
        reports: list[mf.ProgressReport] = []

        def count(timeout: float) -> mf.Count:
            reports.clear()
            return mf.count(bipartite, pattern, timeout=timeout, progress=reports.append, device=device)

        def is_brief(found: mf.Count) -> bool:
            """Whether all was counted before three reports, which are 50 ms apart, could come."""
            return found.complete and found.seconds < 0.15

        found = given_time(count, lambda found: len(reports) >= 3 or is_brief(found))
        if is_brief(found):
            pytest.skip(f"device {device} counts all in less time than reports take")
        assert len(reports) >= 3
        for earlier, later in pairwise(reports):
            assert earlier.done <= later.done
            assert earlier.found <= later.found
            assert earlier.seconds <= later.seconds
            assert earlier.total == later.total
        assert all(0 <= report.done <= report.total for report in reports)
        assert reports[-1].found <= found

    def test_reports_of_matches_never_go_back(self, bipartite: mf.Graph, device: str) -> None:
        reports: list[mf.ProgressReport] = []

        def search(timeout: float) -> None:
            reports.clear()
            told = reports.append
            mf.match(bipartite, ODD_CYCLE, timeout=timeout, progress=told, device=device).to_numpy()

        given_time(search, lambda _: len(reports) >= 3)
        assert len(reports) >= 3
        states = [(report.done, report.found, report.seconds) for report in reports]
        assert states == sorted(states)

    def test_an_error_of_the_callback_stops_a_count(self, bipartite: mf.Graph, device: str) -> None:
        before = threads_of_this_process()

        def refuse(report: mf.ProgressReport) -> None:
            raise RefusalError(report.total)

        with pytest.raises(RefusalError):
            mf.count(bipartite, ODD_CYCLE, progress=refuse, device=device)
        assert threads_of_this_process(before) == before
        assert mf.count(bipartite, EDGE, device=device) == 2 * bipartite.num_edges

    def test_an_error_of_the_callback_stops_matches(self, bipartite: mf.Graph, device: str) -> None:
        before = threads_of_this_process()

        def refuse(report: mf.ProgressReport) -> None:
            raise RefusalError(report.total)

        matches = mf.match(bipartite, ODD_CYCLE, progress=refuse, device=device)
        with pytest.raises(RefusalError):
            next(matches)
        assert threads_of_this_process(before) == before
        assert matches.complete is False
        with pytest.raises(mf.MotifluxError, match="a search that was closed or failed after 0 rows"):
            list(matches)

    @pytest.mark.devices("cpu", "emulated", reason="a kernel holds the GPU until it ends")
    def test_a_callback_may_search_itself(self, bipartite: mf.Graph, small: mf.Graph, device: str) -> None:
        counts: list[int] = []

        def look(report: mf.ProgressReport) -> None:
            counts.append(mf.count(small, TRIANGLE, device=device))

        given_time(
            lambda timeout: mf.count(bipartite, ODD_CYCLE, timeout=timeout, progress=look, device=device),
            lambda _: bool(counts),
        )
        assert set(counts) == {SMALL_TRIANGLES}
