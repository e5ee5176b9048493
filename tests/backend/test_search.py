"""Searches as they run: cut short, streamed, interrupted, shared between threads, and exact at any size."""

from __future__ import annotations

import gc
import math
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import motiflux as mf
from tests.unit.cli_run import motiflux, only_json, write_edges

TASKS = Path("/proc/self/task")


def clique(size: int) -> list[tuple[int, int]]:
    return [(u, v) for v in range(size) for u in range(v)]


def path(size: int) -> list[tuple[int, int]]:
    return [(v, v + 1) for v in range(size - 1)]


def cycle(size: int) -> list[tuple[int, int]]:
    return [*path(size), (size - 1, 0)]


TRIANGLE = mf.Pattern.from_edges(cycle(3))
EDGE = mf.Pattern.from_edges([(0, 1)])
PATH = mf.Pattern.from_edges(path(8))
ODD_CYCLE = mf.Pattern.from_edges(cycle(9))


@pytest.fixture(scope="module")
def dense() -> mf.Graph:
    """A graph with some 10**19 paths of eight vertices: counting them does not end."""
    return mf.Graph.from_edges(clique(300))


@pytest.fixture(scope="module")
def bipartite() -> mf.Graph:
    """A graph without odd cycles: looking for one goes on for ever and finds nothing."""
    pairs = np.random.default_rng(7).integers(0, 1000, (60_000, 2))
    return mf.Graph.from_edges(pairs + np.array([0, 1000]))


@pytest.fixture(scope="module")
def small() -> mf.Graph:
    """A clique of thirty: 24,360 triangles, each edge and vertex like every other."""
    return mf.Graph.from_edges(clique(30))


SMALL_TRIANGLES = 30 * 29 * 28


def threads_of_this_process(expected: int | None = None) -> int:
    """Count this process's threads; the kernel lists one for a moment after it was joined."""
    if not TASKS.is_dir():
        pytest.skip(f"no {TASKS} to count threads by")
    number = len(list(TASKS.iterdir()))
    for _ in range(100):
        time.sleep(0.01)
        before, number = number, len(list(TASKS.iterdir()))
        if number == (before if expected is None else expected):
            break
    return number


def timed(action: Callable[[], object], what: str) -> float:
    """Do it, print how long it took, and return that in seconds."""
    started = time.perf_counter()
    action()
    seconds = time.perf_counter() - started
    print(f"{what}: {1000 * seconds:.1f} ms")
    return seconds


class TestTimeouts:
    @pytest.mark.parametrize("threads", [1, 2])
    def test_a_count_cut_short_is_a_lower_bound(self, dense: mf.Graph, device: str, threads: int) -> None:
        found = mf.count(dense, PATH, timeout=0.15, threads=threads, device=device)
        assert not found.complete
        assert 0 < found < math.perm(300, 8)
        print(f"asked for 0.15 s, took {found.plan_seconds + found.seconds:.3f} s")
        assert 0.15 <= found.plan_seconds + found.seconds < 5

    def test_a_search_that_finds_nothing_stops_too(self, bipartite: mf.Graph, device: str) -> None:
        found = mf.count(bipartite, ODD_CYCLE, timeout=0.1, device=device)
        assert (found, found.complete) == (0, False)

    def test_no_time_at_all_gives_what_is_known_without_searching(self, dense: mf.Graph, device: str) -> None:
        found = mf.count(dense, PATH, timeout=0, device=device)
        assert (found, found.complete) == (0, False)
        matches = mf.match(dense, PATH, timeout=0, device=device)
        matches.to_numpy()
        assert matches.complete is False

    def test_a_search_that_ends_in_time_is_complete(self, small: mf.Graph, device: str) -> None:
        found = mf.count(small, TRIANGLE, timeout=60, device=device)
        assert (found, found.complete) == (SMALL_TRIANGLES, True)

    @pytest.mark.parametrize("threads", [1, 3])
    def test_matches_end_when_time_is_up_and_say_that_rows_are_missing(
        self, dense: mf.Graph, device: str, threads: int
    ) -> None:
        matches = mf.match(dense, PATH, timeout=0.15, threads=threads, device=device)
        rows = sum(len(batch) for batch in matches)
        assert rows == matches.rows > 0
        assert matches.complete is False
        assert matches.seconds < 5

    def test_the_time_taken_between_batches_counts(self, dense: mf.Graph, device: str) -> None:
        matches = mf.match(dense, PATH, timeout=0.1, device=device)
        next(matches)
        time.sleep(0.2)
        left = sum(1 for _ in matches)
        assert matches.complete is False
        assert left < 100


class TestLimits:
    def test_a_limit_below_the_count_is_what_is_counted(self, small: mf.Graph, device: str) -> None:
        for limit in (1, 5, SMALL_TRIANGLES - 1):
            found = mf.count(small, TRIANGLE, limit=limit, device=device)
            assert (found, found.complete) == (limit, False)

    def test_a_limit_that_is_the_count_cuts_nothing(self, small: mf.Graph, device: str) -> None:
        for limit in (SMALL_TRIANGLES, SMALL_TRIANGLES + 1):
            found = mf.count(small, TRIANGLE, limit=limit, device=device)
            assert (found, found.complete) == (SMALL_TRIANGLES, True)
            matches = mf.match(small, TRIANGLE, limit=limit, device=device)
            assert (len(matches.to_numpy()), matches.complete) == (SMALL_TRIANGLES, True)

    def test_a_limit_of_none_at_all_tells_whether_there_is_one(self, small: mf.Graph, device: str) -> None:
        found = mf.count(small, TRIANGLE, limit=0, device=device)
        assert (found, found.complete) == (0, False)
        matches = mf.match(small, TRIANGLE, limit=0, device=device)
        assert (matches.to_numpy().shape, matches.complete) == ((0, 3), False)
        nothing = mf.Graph.from_edges(path(4))
        found = mf.count(nothing, TRIANGLE, limit=0, device=device)
        assert (found, found.complete) == (0, True)
        matches = mf.match(nothing, TRIANGLE, limit=0, device=device)
        assert (matches.to_numpy().shape, matches.complete) == ((0, 3), True)

    @pytest.mark.parametrize("threads", [1, 4])
    @pytest.mark.parametrize("limit", [1, 999, 1000, 1001])
    def test_match_gives_exactly_as_many_distinct_rows_as_asked_for(
        self, dense: mf.Graph, device: str, limit: int, threads: int
    ) -> None:
        matches = mf.match(dense, PATH, limit=limit, threads=threads, batch_rows=250, device=device)
        rows = matches.to_numpy()
        assert len(np.unique(rows, axis=0)) == len(rows) == limit
        assert matches.complete is False

    def test_an_endless_count_stops_at_its_limit(self, dense: mf.Graph, device: str) -> None:
        found = mf.count(dense, PATH, limit=10**6, timeout=60, device=device)
        assert (found, found.complete) == (10**6, False)
        assert found.seconds < 30


class TestMatches:
    def test_the_first_batch_comes_long_before_the_end(self, dense: mf.Graph, device: str) -> None:
        with mf.match(dense, PATH, device=device) as matches:
            batches: list[np.ndarray] = []
            assert timed(lambda: batches.append(next(matches)), "first batch") < 5
            assert batches[0].shape[1] == 8
            assert matches.complete is None
        assert matches.rows == len(batches[0]) > 0

    def test_rare_matches_do_not_wait_for_a_full_batch(self, bipartite: mf.Graph, device: str) -> None:
        """A 9-cycle of hubs is searched first; then the search goes on for ever without another match."""
        sources, targets, _, _ = bipartite.to_edges()
        ring = [(5000 + u, 5000 + v) for u, v in cycle(9)]
        leaves = [(5000 + hub, 10_000 + 500 * hub + leaf) for hub in range(9) for leaf in range(500)]
        graph = mf.Graph.from_edges(np.concatenate([np.column_stack([sources, targets]), ring, leaves]))
        with mf.match(graph, ODD_CYCLE, batch_rows=10**6, device=device) as matches:
            rows = [next(matches)]
            while matches.rows < 18:
                rows.append(next(matches))
            assert matches.complete is None
        assert set(np.concatenate(rows).reshape(-1).tolist()) == set(range(5000, 5009))

    @pytest.mark.parametrize("batch_rows", [1, 7, 1000, 10**6])
    @pytest.mark.parametrize("threads", [1, 3])
    def test_no_batch_has_more_rows_than_asked_for_and_none_is_lost(
        self, small: mf.Graph, device: str, batch_rows: int, threads: int
    ) -> None:
        graph = small if batch_rows > 1 else mf.Graph.from_edges(clique(8))
        matches = mf.match(graph, TRIANGLE, batch_rows=batch_rows, threads=threads, device=device)
        batches = list(matches)
        assert all(1 <= len(batch) <= batch_rows for batch in batches)
        rows = np.concatenate(batches)
        assert len(np.unique(rows, axis=0)) == len(rows) == mf.count(graph, TRIANGLE)
        assert matches.rows == len(rows)

    @pytest.mark.parametrize("batch_rows", [10**8, 10**9, 2**30])
    @pytest.mark.parametrize("columns", [2, 8, 26])
    def test_a_batch_larger_than_all_there_is_takes_no_more_memory_than_that(
        self, device: str, batch_rows: int, columns: int
    ) -> None:
        line = path(columns)
        graph, pattern = mf.Graph.from_edges(line), mf.Pattern.from_edges(line)
        matches = mf.match(graph, pattern, batch_rows=batch_rows, device=device)
        assert len(matches.to_numpy()) == 2

    def test_completeness_is_open_then_known(self, small: mf.Graph, device: str) -> None:
        matches = mf.match(small, TRIANGLE, batch_rows=100, device=device)
        assert matches.complete is None
        assert repr(matches) == "Matches(0 rows of 3, open)"
        next(matches)
        assert matches.complete is None
        matches.to_numpy()
        assert matches.complete is True
        assert repr(matches) == "Matches(24,360 rows of 3, complete)"

    def test_an_exhausted_iterator_stays_exhausted(self, small: mf.Graph, device: str) -> None:
        matches = mf.match(small, TRIANGLE, device=device)
        assert len(matches.to_numpy()) == SMALL_TRIANGLES
        for _ in range(3):
            with pytest.raises(StopIteration):
                next(matches)
        assert matches.to_numpy().shape == (0, 3)
        matches.close()
        assert matches.complete is True
        assert matches.rows == SMALL_TRIANGLES

    @pytest.mark.parametrize("threads", [1, 4])
    def test_closing_stops_the_threads(self, dense: mf.Graph, device: str, threads: int) -> None:
        before = threads_of_this_process()
        matches = mf.match(dense, PATH, threads=threads, device=device)
        next(matches)
        assert threads_of_this_process(before + threads) == before + threads
        assert timed(matches.close, "close") < 1
        assert threads_of_this_process(before) == before
        assert matches.complete is False
        assert list(matches) == []
        matches.close()

    def test_closing_before_the_first_row_stops_the_threads(self, bipartite: mf.Graph, device: str) -> None:
        before = threads_of_this_process()
        matches = mf.match(bipartite, ODD_CYCLE, threads=2, device=device)
        assert timed(matches.close, "close") < 1
        assert threads_of_this_process(before) == before
        assert matches.complete is False

    def test_leaving_a_with_block_closes(self, dense: mf.Graph, device: str) -> None:
        before = threads_of_this_process()
        with mf.match(dense, PATH, device=device) as matches:
            next(matches)
        assert threads_of_this_process(before) == before
        assert matches.complete is False
        assert list(matches) == []

    def test_leaving_a_with_block_by_an_error_closes(self, dense: mf.Graph, device: str) -> None:
        before = threads_of_this_process()
        with pytest.raises(KeyError), mf.match(dense, PATH, device=device) as matches:
            raise KeyError("from the block")
        assert threads_of_this_process(before) == before
        assert matches.complete is False

    def test_an_abandoned_iterator_is_collected_without_waiting_for_the_end(
        self, dense: mf.Graph, device: str
    ) -> None:
        before = threads_of_this_process()
        matches = mf.match(dense, PATH, threads=3, device=device)
        next(matches)

        def abandon() -> None:
            nonlocal matches
            del matches
            gc.collect()

        assert timed(abandon, "abandon") < 1
        assert threads_of_this_process(before) == before

    def test_closing_from_another_thread_ends_a_waiting_iteration(
        self, bipartite: mf.Graph, device: str
    ) -> None:
        matches = mf.match(bipartite, ODD_CYCLE, device=device)
        closer = threading.Timer(0.1, matches.close)
        closer.start()
        assert list(matches) == []
        closer.join()
        assert matches.complete is False

    def test_the_graph_may_go_before_its_matches(self, device: str) -> None:
        graph = mf.Graph.from_edges(clique(30), edge_labels=[u % 2 for u, _ in clique(30)])
        pattern = mf.Pattern.from_edges(cycle(3), edge_labels=[1, 1, 1])
        expected = int(mf.count(graph, pattern))
        matches = mf.match(graph, pattern, batch_rows=10, device=device)
        graph.forget()
        del graph
        gc.collect()
        assert len(matches.to_numpy()) == expected > 0


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

    def test_a_consumer_that_waits_does_not_let_rows_pile_up(self, device: str) -> None:
        told = run_script(f"""
            import time
            import motiflux as mf
            {PEAK}
            graph = mf.Graph.from_edges([(u, v) for v in range(280) for u in range(v)])
            pattern = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3)])
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
        ticks = 0
        over = threading.Event()

        def tick() -> None:
            nonlocal ticks
            while not over.wait(0.002):
                ticks += 1

        ticker = threading.Thread(target=tick)
        ticker.start()
        if search == "count":
            mf.count(bipartite, ODD_CYCLE, timeout=0.5, threads=1, device=device)
        else:
            mf.match(bipartite, ODD_CYCLE, timeout=0.5, threads=1, device=device).to_numpy()
        over.set()
        ticker.join()
        print(f"{ticks} ticks in 0.5 s")
        assert ticks >= 10

    def test_more_threads_than_work_change_nothing(self, device: str) -> None:
        graph = mf.Graph.from_edges(clique(4))
        assert mf.count(graph, TRIANGLE, threads=64, device=device) == 24
        assert len(mf.match(graph, TRIANGLE, threads=64, device=device).to_numpy()) == 24

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
    before = int(mf.count(graph, edge))
    sent = 0.0

    def threads():
        time.sleep(0.1)
        return len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1

    idle = threads()

    def interrupt():
        global sent
        sent = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.3, interrupt)
    timer.start()
    try:
        {search}
    except KeyboardInterrupt:
        print("seconds", time.perf_counter() - sent)
    timer.join()
    print("left_running", threads() - idle)
    print("same", int(mf.count(graph, edge) == before == len(mf.match(graph, edge).to_numpy())))
"""
LONG_SEARCHES = {
    "count": "mf.count(graph, path, device={device!r})",
    "count that finds nothing": "mf.count(graph, odd, device={device!r})",
    "match": "[None for batch in mf.match(graph, path, device={device!r})]",
    "match that finds nothing": "[None for batch in mf.match(graph, odd, device={device!r})]",
}


class TestInterrupts:
    @pytest.mark.parametrize("search", LONG_SEARCHES.values(), ids=LONG_SEARCHES.keys())
    def test_ctrl_c_stops_a_search_and_leaves_the_graph_usable(self, device: str, search: str) -> None:
        script = textwrap.dedent(INTERRUPTED).format(search=search.format(device=device))
        told = run_script(script)
        assert told["same"] == 1
        assert told["left_running"] == 0
        assert told["seconds"] < 1


class RefusalError(Exception):
    """What a callback raises in these tests."""


class TestProgress:
    @pytest.mark.parametrize("pattern", [PATH, ODD_CYCLE], ids=["path", "odd cycle"])
    def test_reports_of_a_count_never_go_back(
        self, bipartite: mf.Graph, device: str, pattern: mf.Pattern
    ) -> None:
        reports: list[mf.ProgressReport] = []
        found = mf.count(bipartite, pattern, timeout=0.4, progress=reports.append, device=device)
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
        mf.match(bipartite, ODD_CYCLE, timeout=0.4, progress=reports.append, device=device).to_numpy()
        assert len(reports) >= 3
        states = [(report.done, report.found, report.seconds) for report in reports]
        assert states == sorted(states)

    def test_an_error_of_the_callback_stops_a_count(self, bipartite: mf.Graph, device: str) -> None:
        before = threads_of_this_process()

        def refuse(report: mf.ProgressReport) -> None:
            raise RefusalError(report.total)

        def count() -> None:
            with pytest.raises(RefusalError):
                mf.count(bipartite, ODD_CYCLE, progress=refuse, device=device)

        assert timed(count, "until the error") < 5
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
        assert list(matches) == []

    def test_a_callback_may_search_itself(self, bipartite: mf.Graph, small: mf.Graph, device: str) -> None:
        counts: list[int] = []

        def look(report: mf.ProgressReport) -> None:
            counts.append(mf.count(small, TRIANGLE, device=device))

        mf.count(bipartite, ODD_CYCLE, timeout=0.2, progress=look, device=device)
        assert set(counts) == {SMALL_TRIANGLES}


class TestLargeCounts:
    STAR = [(0, leaf) for leaf in range(1, 26)]

    def test_a_count_beyond_64_bits_is_exact(self, device: str) -> None:
        graph, pattern = mf.Graph.from_edges(self.STAR), mf.Pattern.from_edges(self.STAR)
        found = mf.count(graph, pattern, device=device)
        assert found == math.factorial(25) > 2**64
        assert found.complete
        assert mf.count(graph, pattern, symmetry="subgraphs", device=device) == 1

    def test_a_limit_beyond_64_bits_is_kept(self, device: str) -> None:
        graph, pattern = mf.Graph.from_edges(self.STAR), mf.Pattern.from_edges(self.STAR)
        found = mf.count(graph, pattern, limit=2**70 + 1, device=device)
        assert (found, found.complete) == (2**70 + 1, False)
        found = mf.count(graph, pattern, limit=math.factorial(25), device=device)
        assert (found, found.complete) == (math.factorial(25), True)

    def test_json_holds_every_digit(self, tmp_path: Path, device: str) -> None:
        graph = write_edges(tmp_path / "star.txt", self.STAR)
        pattern = tmp_path / "star.graph"
        vertices = [f"v {vertex} -1" for vertex in range(26)]
        edges = [f"e {u} {v}" for u, v in self.STAR]
        pattern.write_text("\n".join(["t 26 25", *vertices, *edges]) + "\n")
        result = motiflux("count", graph, pattern, "--json", "--device", device)
        assert result.exit_code == 0
        assert f'"count": {math.factorial(25)},' in result.stdout
        assert only_json(result)["count"] == math.factorial(25)


class TestCount:
    def test_it_is_an_int_that_survives_pickling(self, small: mf.Graph, device: str) -> None:
        for found in (
            mf.count(small, TRIANGLE, device=device),
            mf.count(small, TRIANGLE, limit=3, device=device),
        ):
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                again = pickle.loads(pickle.dumps(found, protocol))
                assert type(again) is mf.Count
                assert again == found
                assert vars(again) == vars(found)
                assert repr(again) == repr(found)

    def test_it_tells_where_it_came_from(self, small: mf.Graph, device: str) -> None:
        found = mf.count(small, TRIANGLE, device=device)
        assert (found.engine, found.device) == ("cpu", device)
        assert found.seconds >= 0
        assert found.plan_seconds >= 0
        assert repr(found).startswith("Count(24,360, ")
        assert repr(mf.count(small, TRIANGLE, limit=3)).startswith("Count(3, incomplete, ")
