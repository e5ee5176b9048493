"""Calls on a cluster give what they give on one machine; tasks run in this process (`tests.inline_ray`)."""

from __future__ import annotations

import json
import os
import random
import sys
import types
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.cluster import folder as folders
from motiflux.cluster import jobs, rows, shares, timed_shares, workers
from motiflux.cluster.digests import digest_of
from motiflux.cluster.driver import Driver, _Running
from motiflux.cluster.records import TaskLog
from motiflux.request.deadline import Deadline
from tests.inline_ray import InlineRay, WorkerCrashedError, replace_ray
from tests.unit.cli_run import complete_graph, motiflux, only_json

PATTERNS = [
    "(a)--(b)--(c)--(a)",
    "(a:1)--(b:0)--(c)--(a)",
    "(a)--(b)--(c)--(d)--(a)",
    "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)",
    "(a)--(b), (a)--(c)--(d)",
    "(a:7)--(b)",
]


def graph_of(seed: int, vertices: int = 25, *, directed: bool = False) -> mf.Graph:
    draws = random.Random(seed)
    pairs = [
        (f"v{u}", f"v{v}")
        for u in range(vertices)
        for v in range(vertices)
        if u != v and draws.random() < 0.2
    ]
    return mf.Graph.from_edges(
        pairs,
        directed=directed,
        vertex_ids=[f"v{u}" for u in range(vertices)],
        vertex_labels=[draws.randrange(2) for _ in range(vertices)],
    )


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> InlineRay:
    return replace_ray(monkeypatch)


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have listings end after a few steps or rows, and files not wait for the disk."""
    monkeypatch.setattr(os, "fsync", lambda file: None)
    monkeypatch.setattr(jobs, "_MANIFEST_SECONDS", 0.0)
    for module in (rows, jobs):
        monkeypatch.setattr(module, "FIRST_WORK", 16_000)
        monkeypatch.setattr(module, "MOST_WORK", 16_000)
        monkeypatch.setattr(module, "ROWS_OF_TASK", 50)


@pytest.fixture
def small_tasks(monkeypatch: pytest.MonkeyPatch, small_files: None) -> None:
    """Have tasks also end at their first look at the clock."""
    for name in ("_DRIVER_SECONDS", "LEAST_SECONDS", "MOST_SECONDS"):
        monkeypatch.setattr(shares, name, 0.0)
    for name in ("TASK_SECONDS", "LEAST_SECONDS", "MOST_SECONDS"):
        monkeypatch.setattr(timed_shares, name, 0.0)


@pytest.mark.parametrize("semantics", ["isomorphism", "induced", "homomorphism"])
@pytest.mark.parametrize("directed", [False, True])
def test_counts_are_those_of_one_machine(ray: InlineRay, semantics: str, directed: bool) -> None:
    graph = graph_of(1, directed=directed)
    for symmetry in ("embeddings", "subgraphs"):
        if (semantics, symmetry) == ("homomorphism", "subgraphs"):
            continue
        options: dict[str, Any] = {"semantics": semantics, "symmetry": symmetry}
        expected = mf.count(graph, PATTERNS, **options)
        with mf.Cluster() as cluster:
            found = cluster.count(graph, PATTERNS, **options)
        assert isinstance(found, list)
        assert found == expected
        assert all(one.complete and one.engine == "cluster" for one in found)
    assert len(ray.names) > 10


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1000), loses=st.sampled_from([0.0, 0.05, 0.1]))
def test_lost_tasks_change_no_count(ray: InlineRay, small_tasks: None, seed: int, loses: float) -> None:
    graph = graph_of(seed)
    pattern = random.Random(seed).choice(PATTERNS)
    ray.loses = loses
    with mf.Cluster() as cluster:
        found = cluster.count(graph, pattern, tuning={"tables": "off"})
        rows = cluster.match(graph, pattern).to_numpy()
    assert found == mf.count(graph, pattern)
    assert Counter(map(tuple, rows.tolist())) == Counter(
        map(tuple, mf.match(graph, pattern).to_numpy().tolist())
    )


def test_items_of_a_lost_task_keep_the_seconds_that_they_were_expected_to_take(ray: InlineRay) -> None:
    back: shares.Item = (2, 0, 6, 0, 0, 9, [1, 2])
    order = shares.Order(4, [back, shares.roots(10, 20)], 2.0, guessed=3.0, known=5.0)
    search: Any = types.SimpleNamespace(name="count", divisible=True)
    connection: Any = types.SimpleNamespace(ray=ray)
    retries: list[Any] = []
    Driver(connection, 2, TaskLog())._lost(WorkerCrashedError("it died"), _Running(search, order), retries)
    assert [(one.share, one.guessed, one.known) for _, one, _ in retries] == [
        ([back], 3.0, 0.0),
        ([shares.roots(10, 20)], 0.0, 5.0),
    ]


def test_work_that_is_lost_again_and_again_is_an_error(ray: InlineRay) -> None:
    ray.loses = 1.0
    with mf.Cluster() as cluster, pytest.raises(mf.ClusterError, match="lost 5 times"):
        cluster.count(graph_of(1), PATTERNS[0])


def test_a_graph_whose_object_was_lost_is_shared_again(ray: InlineRay) -> None:
    graph = graph_of(2)
    ray.loses_object = 2
    with mf.Cluster() as cluster:
        assert cluster.count(graph, PATTERNS[0]) == mf.count(graph, PATTERNS[0])


@pytest.mark.parametrize("tables", ["on", "off"])
def test_a_plan_whose_object_was_lost_is_shared_again(ray: InlineRay, tables: str) -> None:
    graph = graph_of(2)
    losses = 0

    def lose() -> None:
        nonlocal losses
        losses += 1
        if losses == 1:
            ray.lose_objects()

    ray.before = lose
    with mf.Cluster() as cluster:
        found = cluster.count(graph, PATTERNS[2], tuning={"tables": tables})
    assert found == mf.count(graph, PATTERNS[2])
    assert losses > 1


def test_a_limit_ends_the_count_and_cancels_tasks(ray: InlineRay) -> None:
    graph = graph_of(3)
    with mf.Cluster() as cluster:
        found = cluster.count(graph, PATTERNS[2], limit=5, tuning={"tables": "off"})
    assert (found, found.complete) == (5, False)
    assert ray.cancelled > 0


def test_a_timeout_gives_what_was_found(ray: InlineRay) -> None:
    graph = graph_of(3)
    with mf.Cluster() as cluster:
        found = cluster.count(graph, PATTERNS[2], timeout=0.0, tuning={"tables": "off"})
    assert not found.complete
    assert found <= mf.count(graph, PATTERNS[2])


def test_an_interrupt_cancels_tasks(ray: InlineRay) -> None:
    graph = graph_of(3)
    calls = 0

    def interrupt() -> None:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt

    ray.before = interrupt
    with mf.Cluster() as cluster, pytest.raises(KeyboardInterrupt):
        cluster.count(graph, PATTERNS[2], tuning={"tables": "off"})
    assert ray.cancelled > 0
    ray.before = None
    assert mf.count(graph, PATTERNS[2]).engine == "cpu"


def test_a_call_that_is_one_task_is_its_unit_of_progress(ray: InlineRay) -> None:
    reports: list[mf.ProgressReport] = []
    with mf.Cluster() as cluster:
        found = cluster.count(graph_of(3), PATTERNS[0], distinct=[0], progress=reports.append)
        assert [(one.done, one.total, one.found) for one in reports] == [(0, 1, 0), (1, 1, int(found))]
        reports.clear()
        cluster.census(graph_of(3), progress=reports.append)
        assert [(one.done, one.total) for one in reports] == [(0, 1), (1, 1)]


def test_progress_ends_with_all_work_done(ray: InlineRay) -> None:
    graph = graph_of(3)
    reports: list[mf.ProgressReport] = []
    with mf.Cluster() as cluster:
        found = cluster.count(graph, PATTERNS[2], progress=reports.append, tuning={"tables": "off"})
    assert reports[-1].done == reports[-1].total
    assert reports[-1].found == found


@pytest.mark.parametrize("symmetry", ["embeddings", "subgraphs"])
def test_rows_are_those_of_one_machine(ray: InlineRay, small_tasks: None, symmetry: str) -> None:
    graph = graph_of(4)
    for pattern in PATTERNS:
        expected = Counter(map(tuple, mf.match(graph, pattern, symmetry=symmetry).to_numpy().tolist()))
        with mf.Cluster() as cluster:
            matches = cluster.match(graph, pattern, symmetry=symmetry)
            found = Counter(map(tuple, matches.to_numpy().tolist()))
        assert found == expected
        assert matches.complete


def test_rows_that_wait_for_the_reader_are_bounded(ray: InlineRay, small_tasks: None) -> None:
    graph = graph_of(5, 40)
    with mf.Cluster() as cluster, cluster.match(graph, PATTERNS[2], batch_rows=10) as matches:
        batch = next(iter(matches))
        assert 0 < len(batch) <= 10
        submitted = ray.submitted
        assert len(cluster.tasks) < submitted < mf.count(graph, PATTERNS[2])
    assert ray.largest <= 3  # two CPUs, and one task that waits
    assert (ray.submitted, ray.cancelled) == (submitted, submitted - len(cluster.tasks))


def test_a_limit_cuts_rows(ray: InlineRay, small_tasks: None) -> None:
    graph = graph_of(4)
    with mf.Cluster() as cluster:
        matches = cluster.match(graph, PATTERNS[0], limit=7)
        assert len(matches.to_numpy()) == 7
        assert matches.complete is False
        whole = cluster.match(graph, PATTERNS[0], limit=10**6)
        whole.to_numpy()
        assert whole.complete is True


def test_witnesses_and_attributes_of_rows(ray: InlineRay) -> None:
    graph = mf.Graph.from_edges(
        [(0, 1), (1, 2), (2, 0), (0, 1)], directed=True, edge_attributes={"x": [1, 2, 3, 4]}
    )
    pattern = "(a)-[e]->(b)-[f]->(c) WHERE e.x < f.x"
    expected = mf.match(graph, pattern, edges=True, attributes=["x"]).to_arrow()
    with mf.Cluster() as cluster:
        found = cluster.match(graph, pattern, edges=True, attributes=["x"]).to_arrow()
    order = [(name, "ascending") for name in expected.column_names]
    assert found.sort_by(order).equals(expected.sort_by(order))


def rows_in(folder: Path) -> Counter[tuple[Any, ...]]:
    table = pq.read_table(folder)
    return Counter(zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True))


def rows_of(graph: mf.Graph, pattern: str, **options: Any) -> Counter[tuple[Any, ...]]:
    return Counter(map(tuple, mf.match(graph, pattern, **options).to_numpy().tolist()))


@pytest.mark.parametrize("symmetry", ["embeddings", "subgraphs"])
@pytest.mark.parametrize("loses", [0.0, 0.05])
def test_rows_of_a_data_set_are_each_there_once(
    ray: InlineRay, small_files: None, tmp_path: Path, symmetry: str, loses: float
) -> None:
    graph = graph_of(4, 40)
    ray.loses = loses
    for at, pattern in enumerate([PATTERNS[0], PATTERNS[1], PATTERNS[5]]):
        with mf.Cluster() as cluster:
            written = cluster.match(graph, pattern, symmetry=symmetry, output=tmp_path / str(at))
        expected = rows_of(graph, pattern, symmetry=symmetry)
        assert (written.rows, written.complete) == (expected.total(), True)
        assert rows_in(tmp_path / str(at)) == expected
        assert written.files == len(list((tmp_path / str(at)).glob("*.parquet")))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 100), after=st.lists(st.integers(1, 12), min_size=1, max_size=3))
def test_a_job_whose_driver_was_lost_continues(
    ray: InlineRay, small_files: None, tmp_path_factory: pytest.TempPathFactory, seed: int, after: list[int]
) -> None:
    graph, folder = graph_of(seed, 40), tmp_path_factory.mktemp("rows")
    ran = 0

    def lose_driver() -> None:
        nonlocal ran
        ran += 1
        if after and ran == after[0]:
            raise SystemExit

    ray.before = lose_driver
    lost = 0
    with pytest.MonkeyPatch.context() as patch, mf.Cluster() as cluster:
        patch.setattr(jobs.RowJob, "delete_others", lambda self: None)  # a lost driver deletes nothing
        while after:
            ran = 0
            try:
                cluster.match(graph, PATTERNS[0], output=folder, job="mine")
            except SystemExit:
                lost += 1
            after = after[1:]
    ray.before = None
    before = len(list(folder.glob("_motiflux/done-*")))
    with mf.Cluster() as cluster:
        written = cluster.match(graph, PATTERNS[0], output=folder, job="mine")
        assert written.resumed == before
        assert rows_in(folder) == rows_of(graph, PATTERNS[0])
        assert written.rows == mf.count(graph, PATTERNS[0])
        tasks = len(ray.names)
        again = cluster.match(graph, PATTERNS[0], output=folder, job="mine")
    assert (again.rows, len(ray.names)) == (written.rows, tasks)
    assert again.resumed >= written.resumed


def test_tasks_that_a_lost_driver_took_are_not_done_again(
    ray: InlineRay, small_files: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, ran = graph_of(4, 40), 0

    def lose_driver() -> None:
        nonlocal ran
        ran += 1
        if ran == 7:
            raise SystemExit

    ray.before = lose_driver
    with mf.Cluster() as cluster, pytest.raises(SystemExit):
        cluster.match(graph, PATTERNS[0], output=tmp_path, job="mine")
    ray.before = None
    with mf.Cluster() as cluster:
        written = cluster.match(graph, PATTERNS[0], output=tmp_path, job="mine")
        assert written.resumed == 6
        assert len(cluster.tasks) > 1
    assert rows_in(tmp_path) == rows_of(graph, PATTERNS[0])


def test_a_limit_cuts_the_files_of_a_data_set(ray: InlineRay, small_files: None, tmp_path: Path) -> None:
    graph = graph_of(4, 40)
    with mf.Cluster() as cluster:
        written = cluster.match(graph, PATTERNS[0], output=tmp_path / "rows", limit=77)
    assert (written.rows, written.complete) == (77, False)
    found = rows_in(tmp_path / "rows")
    assert found.total() == 77
    assert found <= rows_of(graph, PATTERNS[0])


def test_files_have_edges_and_attributes(ray: InlineRay, tmp_path: Path) -> None:
    graph = mf.Graph.from_edges(
        [(0, 1), (1, 2), (2, 0), (0, 1)], directed=True, edge_attributes={"x": [1, 2, 3, 4]}
    )
    pattern = "(a)-[e]->(b)-[f]->(c) WHERE e.x < f.x"
    for edges in (True, "all"):
        options: dict[str, Any] = {"edges": edges, "attributes": ["x"], "names": True}
        expected = mf.match(graph, pattern, **options).to_arrow()
        with mf.Cluster() as cluster:
            cluster.match(graph, pattern, output=tmp_path / str(edges), **options)
        found = pq.read_table(tmp_path / str(edges))
        order = [(name, "ascending") for name in expected.column_names]
        assert found.sort_by(order).equals(expected.sort_by(order))


def test_a_job_goes_on_with_the_same_names_of_attributes_and_labels_only(
    ray: InlineRay, tmp_path: Path
) -> None:
    edges, pattern = [(0, 1), (1, 2), (2, 0)], "(a)-[e]->(b)-[f]->(c) WHERE e.x < f.x"

    def graph(first: str, second: str) -> mf.Graph:
        return mf.Graph.from_edges(
            edges, directed=True, edge_attributes={first: [1, 2, 3], second: [6, 5, 4]}
        )

    named = [
        mf.Graph.from_edges(edges, vertex_labels=labels) for labels in (["p", "q", "p"], ["r", "s", "r"])
    ]
    assert digest_of(named[0]) != digest_of(named[1])
    mf.write_graph(named[0], tmp_path / "graph.mfg")
    assert digest_of(mf.read_graph(tmp_path / "graph.mfg")) == digest_of(named[0])
    with mf.Cluster() as cluster:
        rows = tmp_path / "rows"
        written = cluster.match(graph("x", "y"), pattern, output=rows, job="mine")
        assert cluster.match(graph("x", "y"), pattern, output=rows, job="mine").rows == written.rows
        with pytest.raises(mf.OutputError, match="others: graph"):
            cluster.match(graph("y", "x"), pattern, output=rows, job="mine")


def test_another_job_in_the_folder_is_refused(ray: InlineRay, tmp_path: Path) -> None:
    graph = graph_of(1)
    with mf.Cluster() as cluster:
        cluster.match(graph, PATTERNS[0], output=tmp_path, job="one")
        for refused in [
            lambda: cluster.match(graph, PATTERNS[0], output=tmp_path),
            lambda: cluster.match(graph, PATTERNS[0], output=tmp_path, job="two"),
            lambda: cluster.match(graph, PATTERNS[1], output=tmp_path, job="one"),
            lambda: cluster.match(graph, "(x)--(y)--(z)--(x)", output=tmp_path, job="one"),
            lambda: cluster.match(graph_of(2), PATTERNS[0], output=tmp_path, job="one"),
        ]:
            with pytest.raises(mf.OutputError, match="expected an empty folder"):
                refused()
        with pytest.raises(mf.ArgumentError, match="job"):
            cluster.match(graph, PATTERNS[0], job="one")  # type: ignore[call-overload]
    assert rows_in(tmp_path) == rows_of(graph, PATTERNS[0])
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("of someone")
    with mf.Cluster() as cluster, pytest.raises(mf.OutputError, match="expected an empty folder"):
        cluster.match(graph, PATTERNS[0], output=tmp_path / "other")


def test_a_file_that_the_driver_does_not_see_is_an_error(
    ray: InlineRay, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    written = folders.Folder.write

    def elsewhere(self: folders.Folder, name: str, data: bytes) -> None:
        if not name.endswith(".parquet"):
            written(self, name, data)

    monkeypatch.setattr(folders.Folder, "write", elsewhere)
    with (
        mf.Cluster() as cluster,
        pytest.raises(mf.OutputError, match="all nodes have to see the same folder"),
    ):
        cluster.match(graph_of(1), PATTERNS[0], output=tmp_path)


def test_a_store_that_pyarrow_knows_holds_a_data_set(
    ray: InlineRay, small_files: None, tmp_path: Path
) -> None:
    graph = graph_of(1)
    with mf.Cluster() as cluster:
        cluster.match(graph, PATTERNS[0], output=(tmp_path / "rows").as_uri(), job="one", timeout=0.0)
        written = cluster.match(graph, PATTERNS[0], output=(tmp_path / "rows").as_uri(), job="one")
        with pytest.raises(mf.OutputError, match="nowhere"):
            cluster.match(graph, PATTERNS[0], output="nowhere://rows")
    assert rows_in(tmp_path / "rows") == rows_of(graph, PATTERNS[0])
    assert written.path.startswith("file://")


@pytest.mark.parametrize("estimator", ["auto", "wanderjoin", "alley", "tree"])
def test_estimates_are_equal_to_the_last_bit(ray: InlineRay, estimator: str) -> None:
    graph = graph_of(6, 60)
    options: dict[str, Any] = {
        "estimator": estimator,
        "samples": 50_000,
        "seed": 3,
        "tuning": {"count_first": "off"},
    }
    expected = mf.estimate(graph, PATTERNS[3], **options)
    with mf.Cluster() as cluster:
        found = cluster.estimate(graph, PATTERNS[3], **options)
    assert (found.value, found.low, found.high) == (expected.value, expected.low, expected.high)
    assert any(name.startswith("estimate") for name in ray.names)


def test_samples_are_the_same_rows(ray: InlineRay) -> None:
    graph = graph_of(6, 60)
    expected = mf.sample(graph, PATTERNS[0], 3000, seed=5).to_numpy()
    with mf.Cluster() as cluster:
        found = cluster.sample(graph, PATTERNS[0], 3000, seed=5).to_numpy()
    assert np.array_equal(found, expected)
    assert any(name.startswith("sample") for name in ray.names)


@pytest.mark.parametrize("tables", ["on", "off"])
def test_counts_per_vertex_are_those_of_one_machine(ray: InlineRay, tables: str) -> None:
    graph = graph_of(7)
    for pattern in PATTERNS[:3]:
        for symmetry in ("embeddings", "subgraphs"):
            options: dict[str, Any] = {"symmetry": symmetry, "tuning": {"tables": tables}}
            expected = mf.count_per_vertex(graph, pattern, **options)
            with mf.Cluster() as cluster:
                found = cluster.count_per_vertex(graph, pattern, **options)
            assert all(np.array_equal(found.column(v), expected.column(v)) for v in "abc")
            assert found.complete


def test_the_census_is_that_of_one_machine(ray: InlineRay) -> None:
    graph = graph_of(8, directed=True)
    with mf.Cluster() as cluster:
        assert dict(cluster.census(graph)) == dict(mf.census(graph))
        assert dict(cluster.census(graph, 4, connected=True)) == dict(mf.census(graph, 4, connected=True))


def test_negated_edges_distinct_rows_copies_and_paths_are_counted(ray: InlineRay) -> None:
    draws = random.Random(9)
    edges = [(draws.randrange(20), draws.randrange(20)) for _ in range(150)]
    graph = mf.Graph.from_edges([(u, v) for u, v in edges if u != v], directed=True)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("(a)-->(b)-->(c), NOT (a)-->(c)", {}),
        ("(a)-->(b)-->(c) RETURN DISTINCT a", {}),
        ("(a)-->(b)-->(c)", {"distinct": ["a", "c"], "having": "count(b) >= 2"}),
        ("(a)-->(b)-->(c)", {"copies": True}),
        ("(a)-[*2..3]->(b)", {}),
    ]
    with mf.Cluster() as cluster:
        for pattern, options in calls:
            assert cluster.count(graph, pattern, **options) == mf.count(graph, pattern, **options)


def test_a_graph_file_that_all_nodes_see_is_mapped(ray: InlineRay, tmp_path: Path) -> None:
    path = tmp_path / "graph.mfg"
    mf.write_graph(graph_of(1), path)
    with mf.Cluster() as cluster:
        assert cluster.count(path, PATTERNS[0]) == mf.count(path, PATTERNS[0])
        assert "find graph file" in ray.names


def test_a_graph_file_is_not_needed_where_a_node_is_lost(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "graph.mfg"
    mf.write_graph(graph_of(1), path)

    def lost(path: str) -> None:
        raise WorkerCrashedError("the node died")

    monkeypatch.setattr(workers, "state_here", lost)
    with mf.Cluster() as cluster:
        assert cluster.count(path, PATTERNS[0]) == mf.count(path, PATTERNS[0])


def test_a_graph_whose_file_was_replaced_is_sent(ray: InlineRay, tmp_path: Path) -> None:
    path = tmp_path / "graph.mfg"
    mf.write_graph(mf.Graph.from_edges([(0, 1), (1, 2), (2, 0), (2, 3)]), path)
    graph = mf.read_graph(path)
    with mf.Cluster() as cluster:
        cluster.map_file(graph, path)
        mf.write_graph(mf.Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)]), path)
        assert cluster.count(graph, PATTERNS[0], tuning={"tables": "off"}) == 6


def test_a_file_with_another_graph_is_not_mapped(ray: InlineRay, tmp_path: Path) -> None:
    path = tmp_path / "graph.mfg"
    mf.write_graph(graph_of(1), path)
    with mf.Cluster() as cluster:
        with pytest.raises(mf.ArgumentError, match="path: expected the file that the graph was opened from"):
            cluster.map_file(graph_of(2), path)
        assert cluster.count(graph_of(2), PATTERNS[0]) == mf.count(graph_of(2), PATTERNS[0])


def test_errors_name_the_argument(ray: InlineRay) -> None:
    graph = graph_of(1)
    with mf.Cluster() as cluster:
        with pytest.raises(mf.ArgumentError, match="device"):
            cluster.match(graph, PATTERNS[0], device="cuda:0")
        with pytest.raises(mf.ArgumentError, match="engine"):
            cluster.count(graph, PATTERNS[0], engine="dfs")
        with pytest.raises(mf.ArgumentError, match="limit"):
            cluster.count(graph, PATTERNS[0], limit=-1)
        with pytest.raises(mf.ArgumentError, match=r"^limit"):
            cluster.match(graph, PATTERNS[0], limit=-1)
        with pytest.raises(mf.ArgumentError, match=r"^pattern\[0\]: limit"):
            cluster.match(graph, PATTERNS[:1], limit=-1)
    with pytest.raises(mf.ClusterError, match="closed"):
        cluster.count(graph, PATTERNS[0])
    with pytest.raises(mf.ArgumentError, match="threads"):
        mf.Cluster(threads=3)
    with pytest.raises(mf.ArgumentError, match="object_store"):
        mf.Cluster(object_store="1MiB")


def test_a_cluster_without_gpus_says_so(ray: InlineRay, tmp_path: Path) -> None:
    with (
        mf.Cluster() as cluster,
        pytest.raises(mf.DeviceError, match="found 2 CPUs of 1 node, none with a GPU"),
    ):
        cluster.count(graph_of(1), PATTERNS[0], device="cuda")
    with mf.Cluster() as cluster:
        for call in (cluster.match, cluster.estimate, cluster.count_per_vertex):
            with pytest.raises(mf.DeviceError, match="none with a GPU"):
                call(graph_of(1), PATTERNS[0], device="cuda")
    path = complete_graph(tmp_path / "k8.txt", 8)
    result = motiflux("count", path, PATTERNS[0], "--cluster", "auto", "--device", "cuda")
    assert (result.exit_code, "none with a GPU" in result.stderr) == (3, True)


def test_calls_that_do_not_run_on_gpus_of_a_cluster_name_the_device(ray: InlineRay) -> None:
    graph, triangle = graph_of(1), PATTERNS[0]
    options: dict[str, Any] = {"device": "cuda"}
    with mf.Cluster() as cluster:
        with pytest.raises(mf.ArgumentError, match="device: expected 'auto' or 'cpu' for this call"):
            cluster.count_per_edge(graph, triangle, **options)
        for call in (cluster.count, cluster.explain):
            with pytest.raises(mf.ArgumentError, match=r"device: .* beside copies="):
                call(graph, triangle, copies=True, **options)
            for pattern in ("(a)-[*1..2]-(b)", "(a)--(b) OPTIONAL (b)--(c)"):
                with pytest.raises(mf.ArgumentError, match=r"device: .* for patterns with OPTIONAL or paths"):
                    call(graph, pattern, **options)
        with pytest.raises(mf.DeviceError, match="none with a GPU"):  # CPUs would find them
            cluster.count(graph, triangle, distinct=["a"], **options)
        with pytest.raises(mf.ArgumentError, match=r"device: .* where Ray assigns GPUs"):
            cluster.count(graph, triangle, device="cuda:1")
        with pytest.raises(mf.ArgumentError, match=r"device: .*'quantum'"):
            cluster.count(graph, triangle, device="quantum")  # type: ignore[arg-type]
        with pytest.raises(mf.ArgumentError, match="engine: expected 'auto' or 'dfs' beside device='cuda'"):
            cluster.count(graph, triangle, engine="cpu", **options)


def test_without_ray_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(mf.MotifluxError, match="package ray; install it, or motiflux with the extra 'ray'"):
        mf.Cluster()


def test_the_command_line_counts_on_a_cluster(ray: InlineRay, tmp_path: Path) -> None:
    graph, log = complete_graph(tmp_path / "k8.txt", 8), tmp_path / "tasks.jsonl"
    result = motiflux("count", graph, PATTERNS[0], "--cluster", "auto", "--task-log", log, "--json")
    fields = only_json(result)
    assert (fields["count"], fields["engine"], fields["device"]) == (336, "cluster", "2 CPUs of 1 node")
    tasks = [json.loads(line) for line in log.read_text().splitlines()]
    assert tasks[0]["name"].startswith("count ")
    assert tasks[0]["seconds"] > 0
    assert motiflux("count", graph, PATTERNS[0], "(a)--(b)", "--cluster", "auto").exit_code == 0
    assert motiflux("count", graph, PATTERNS[0], "--task-log", log).exit_code == 2
    assert motiflux("count", graph, PATTERNS[0], "--cluster", "auto", "--per-vertex", "a").exit_code == 2
    assert motiflux("count", graph, PATTERNS[0], "--cluster", "auto", "--engine", "dfs").exit_code == 2


def test_an_absent_cluster_is_no_available_device(ray: InlineRay, tmp_path: Path) -> None:
    ray.is_initialized = lambda: False  # type: ignore[method-assign]
    result = motiflux("count", complete_graph(tmp_path / "k4.txt", 4), PATTERNS[0], "--cluster", "here:1")
    assert result.exit_code == 3
    assert "no Ray cluster at address='here:1'" in result.stderr


def test_explain_tells_how_a_count_is_cut(ray: InlineRay, tmp_path: Path) -> None:
    graph = mf.generate.rmat(scale=9, edges=4000, seed=1)
    with mf.Cluster() as cluster:
        search = cluster.explain(graph, PATTERNS[0], tuning={"tables": "off"})
        tables = cluster.explain(graph, PATTERNS[3], tuning={"tables": "on"})
        ran = cluster.explain(graph, PATTERNS[0], analyze=True)
    assert "a search, in shares for 2 tasks at a time" in search
    assert "tables of local counts, as one task on the largest node" in tables
    assert search.report.predicted is not None
    assert search.report.predicted.threads == 2
    for told, least in ((search, 2), (tables, 1)):
        tasks = told.report.predicted.tasks
        assert tasks.at_once == least
        assert tasks.expected >= least
    assert "task, at most 1 at a time" in tables
    assert ran.report.actual is not None
    assert ran.report.actual.count == mf.count(graph, PATTERNS[0])
    assert ray.names


def test_a_pattern_that_was_searched_before_time_was_up_is_complete(
    ray: InlineRay, small_tasks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, patterns = graph_of(3), ["(a:0)--(b:1)", PATTERNS[2]]
    expected = mf.count(graph, patterns)
    second = "count 2 patterns, 2"
    monkeypatch.setattr(Deadline, "passed", property(lambda self: ray.names.count(second) > 2))
    with mf.Cluster() as cluster:
        first, last = cluster.count(graph, patterns, tuning={"tables": "off"})
    assert (first, first.complete) == (expected[0], True)
    assert last < expected[1]
    assert last.complete is False


def test_a_call_that_only_seemed_lost_ends_once_another_continues_its_job(
    ray: InlineRay, small_files: None, tmp_path: Path
) -> None:
    graph, ran = graph_of(4, 40), 0

    def go_on_with_job() -> None:
        nonlocal ran
        ran += 1
        if ran == 5:
            ray.before = None
            with mf.Cluster() as other:
                other.match(graph, PATTERNS[0], output=tmp_path, job="mine")

    ray.before = go_on_with_job
    with mf.Cluster() as cluster, pytest.raises(mf.OutputError, match="another call has continued this job"):
        cluster.match(graph, PATTERNS[0], output=tmp_path, job="mine")
    assert rows_in(tmp_path) == rows_of(graph, PATTERNS[0])
