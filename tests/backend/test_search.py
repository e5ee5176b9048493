"""Searches cut short, streamed, and exact at any size."""

from __future__ import annotations

import gc
import json
import math
import pickle
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import motiflux as mf
from tests.backend.cases import (
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
from tests.unit.cli_run import motiflux, only_json, write_edges


class TestTimeouts:
    @pytest.mark.turns(8, "cpu", "emulated")
    @pytest.mark.parametrize("threads", [1, 2])
    def test_a_count_cut_short_is_a_lower_bound(self, dense: mf.Graph, device: str, threads: int) -> None:
        searched = {"tables": "off"}  # a formula would have it all soon
        found = given_time(
            lambda timeout: mf.count(
                dense, PATH, timeout=timeout, threads=threads, device=device, tuning=searched
            ),
            bool,
        )
        assert not found.complete
        assert 0 < found < math.perm(300, 8)
        assert found.plan_seconds + found.seconds >= 0.2

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
        def search(timeout: float) -> tuple[mf.Matches, int]:
            matches = mf.match(dense, PATH, timeout=timeout, threads=threads, device=device)
            return matches, sum(len(batch) for batch in matches)

        matches, rows = given_time(search, lambda found: found[1] > 0)
        assert rows == matches.rows > 0
        assert matches.complete is False

    def test_the_time_taken_between_batches_counts(self, dense: mf.Graph, device: str) -> None:
        def search(timeout: float) -> tuple[mf.Matches, int | None]:
            matches = mf.match(dense, PATH, timeout=timeout, device=device)
            if next(matches, None) is None:
                return matches, None
            time.sleep(1.5 * timeout)
            return matches, sum(1 for _ in matches)

        matches, left = given_time(search, lambda found: found[1] is not None)
        assert matches.complete is False
        assert left is not None
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

    @pytest.mark.turns(8)
    def test_an_endless_count_stops_at_its_limit(self, dense: mf.Graph, device: str) -> None:
        found = mf.count(dense, PATH, limit=10**6, device=device)
        assert (found, found.complete) == (10**6, False)


class TestMatches:
    def test_the_first_batch_comes_long_before_the_end(self, dense: mf.Graph, device: str) -> None:
        with mf.match(dense, PATH, device=device) as matches:
            batch = next(matches)
            assert batch.shape[1] == 8
            assert matches.complete is None
        assert matches.rows == len(batch) > 0

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
        assert repr(matches) == "Matches(3 columns, no row taken, open)"
        next(matches)
        assert matches.complete is None
        assert repr(matches) == f"Matches(3 columns, {matches.rows} rows taken, open)"
        assert list(matches) != []
        assert matches.complete is True
        assert repr(matches) == "Matches(3 columns, 24,360 rows taken, complete)"

    def test_an_exhausted_iterator_stays_exhausted(self, small: mf.Graph, device: str) -> None:
        matches = mf.match(small, TRIANGLE, device=device)
        assert len(matches.to_numpy()) == SMALL_TRIANGLES
        for _ in range(3):
            with pytest.raises(StopIteration):
                next(matches)
        with pytest.raises(mf.MotifluxError, match=r"found 24,360 rows taken before; keep the result"):
            matches.to_numpy()
        matches.close()
        assert matches.complete is True
        assert matches.rows == SMALL_TRIANGLES

    @pytest.mark.devices("cpu", reason="a search there has no threads of this process")
    @pytest.mark.parametrize("threads", [1, 4])
    def test_closing_stops_the_threads(self, dense: mf.Graph, device: str, threads: int) -> None:
        before = threads_of_this_process()
        matches = mf.match(dense, PATH, threads=threads, device=device)
        next(matches)
        assert threads_of_this_process(before + threads) == before + threads
        matches.close()
        assert threads_of_this_process(before) == before
        assert matches.complete is False
        with pytest.raises(mf.MotifluxError, match="found a search that was closed"):
            list(matches)
        matches.close()

    @pytest.mark.devices("cpu", reason="a search there has no threads of this process")
    def test_closing_before_the_first_row_stops_the_threads(self, bipartite: mf.Graph, device: str) -> None:
        before = threads_of_this_process()
        matches = mf.match(bipartite, ODD_CYCLE, threads=2, device=device)
        matches.close()
        assert threads_of_this_process(before) == before
        assert matches.complete is False

    @pytest.mark.devices("cpu", reason="a search there has no threads of this process")
    def test_leaving_a_with_block_closes(self, dense: mf.Graph, device: str) -> None:
        before = threads_of_this_process()
        with mf.match(dense, PATH, device=device) as matches:
            next(matches)
        assert threads_of_this_process(before) == before
        assert matches.complete is False
        assert next(matches, None) is None

    @pytest.mark.devices("cpu", reason="a search there has no threads of this process")
    def test_leaving_a_with_block_by_an_error_closes(self, dense: mf.Graph, device: str) -> None:
        before = threads_of_this_process()
        with pytest.raises(KeyError), mf.match(dense, PATH, device=device) as matches:
            raise KeyError("from the block")
        assert threads_of_this_process(before) == before
        assert matches.complete is False

    @pytest.mark.devices("cpu", reason="a search there has no threads of this process")
    def test_an_abandoned_iterator_is_collected_without_waiting_for_the_end(
        self, dense: mf.Graph, device: str
    ) -> None:
        before = threads_of_this_process()
        matches = mf.match(dense, PATH, threads=3, device=device)
        next(matches)
        del matches
        gc.collect()
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


class TestLargeCounts:
    STAR = [(0, leaf) for leaf in range(1, 22)]

    def test_a_count_beyond_64_bits_is_exact(self, device: str) -> None:
        graph, pattern = mf.Graph.from_edges(self.STAR), mf.Pattern.from_edges(self.STAR)
        found = mf.count(graph, pattern, device=device)
        assert found == math.factorial(21) > 2**64
        assert found.complete
        assert mf.count(graph, pattern, symmetry="subgraphs", device=device) == 1

    def test_a_limit_beyond_64_bits_is_kept(self, device: str) -> None:
        graph, pattern = mf.Graph.from_edges(self.STAR), mf.Pattern.from_edges(self.STAR)
        found = mf.count(graph, pattern, limit=2**65 + 1, device=device)
        assert (found, found.complete) == (2**65 + 1, False)
        found = mf.count(graph, pattern, limit=math.factorial(21), device=device)
        assert (found, found.complete) == (math.factorial(21), True)

    def test_json_holds_every_digit(self, tmp_path: Path, device: str) -> None:
        graph = write_edges(tmp_path / "star.txt", self.STAR)
        pattern = tmp_path / "star.graph"
        vertices = [f"v {vertex} -1" for vertex in range(22)]
        edges = [f"e {u} {v}" for u, v in self.STAR]
        pattern.write_text("\n".join(["t 22 21", *vertices, *edges]) + "\n")
        result = motiflux("count", graph, pattern, "--json", "--device", device)
        assert result.exit_code == 0
        assert f'"count": {math.factorial(21)},' in result.stdout
        assert only_json(result)["count"] == math.factorial(21)


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
        assert (found.engine, found.device) == ("cpu" if device == "cpu" else "dfs", device)
        assert found.seconds >= 0
        assert found.plan_seconds >= 0
        assert repr(found).startswith("Count(24,360, ")
        cut = mf.count(small, TRIANGLE, limit=3)
        assert repr(cut).startswith("Count(3, incomplete, ")
        assert (str(cut), f"{cut}", str(found)) == (
            "at least 3 (incomplete)",
            "at least 3 (incomplete)",
            "24360",
        )
        assert (int(cut), f"{cut:d}", f"{cut:,}", f"{cut:6.1f}", json.dumps([cut]), cut + 1) == (
            3, "3", "3", "   3.0", "[3]", 4,
        )  # fmt: skip
