"""Rows and counts at each vertex of sharded graphs; tasks run in this process (`tests.inline_ray`)."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import motiflux as mf
from motiflux.cluster import jobs
from motiflux.cluster import rows as cluster_rows
from motiflux.cluster.rows import RowSearch
from motiflux.cluster.shards import search, sharded
from motiflux.cluster.shards.images import RangeImages
from tests.inline_ray import InlineRay, WorkerCrashedError, replace_ray
from tests.unit.test_sharded_graphs import COLUMNS, write_files

PATTERNS = [
    "(a)--(b)--(c)--(a)",
    "(a)--(b)--(c)--(d)--(a)",
    "(a:x)--(b)--(c:y)",
    "(a)-[:1]-(b)-[:0]-(c)",
    "(a)--(b)--(c) WHERE NOT (a)--(c)",
]


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> InlineRay:
    monkeypatch.setattr(search, "_FIRST", 16)
    monkeypatch.setattr(sharded, "_HOT", 200)  # the rows of one or two vertices
    monkeypatch.setattr(os, "fsync", lambda file: None)
    monkeypatch.setattr(jobs, "_MANIFEST_SECONDS", 0.0)
    for module in (jobs, cluster_rows):
        monkeypatch.setattr(module, "ROWS_OF_TASK", 400)
        monkeypatch.setattr(module, "FIRST_WORK", 1_000)
    return replace_ray(monkeypatch, nodes=2)


def made_in(
    cluster: mf.Cluster, folder: Path, seed: int, *, directed: bool = False, memory: int = 100_000
) -> tuple[Any, mf.Graph]:
    paths, vertices, graph = write_files(folder, seed, directed=directed, suffix=".csv")
    made = cluster.shard(
        paths, folder / "g", directed=directed, vertices=vertices, memory=memory, shards=3, **COLUMNS
    )
    return made, graph


def rows_in(folder: Path) -> Counter[tuple[Any, ...]]:
    table = pq.read_table(folder)
    return Counter(zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True))


def rows_of(graph: mf.Graph, pattern: str, **options: Any) -> Counter[tuple[Any, ...]]:
    return Counter(map(tuple, mf.match(graph, pattern, **options).to_numpy().tolist()))


@pytest.mark.turns(4)
@pytest.mark.parametrize(("directed", "loses"), [(False, 0.05), (True, 0.0)])
def test_rows_are_those_of_a_graph_read_from_the_same_files(
    ray: InlineRay, tmp_path: Path, directed: bool, loses: float
) -> None:
    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path, 1, directed=directed)
        ray.loses = loses
        for at, pattern in enumerate(PATTERNS):
            expected = rows_of(graph, pattern)
            found = cluster.match(made, pattern)
            assert Counter(map(tuple, found.to_numpy().tolist())) == expected
            assert (found.complete, found.engine) == (True, "cluster")
            folder = tmp_path / str(at)
            written = cluster.match(made, pattern, output=folder, names=True)
            assert rows_in(folder) == expected
            assert (written.rows, written.complete) == (expected.total(), True)
            columns = pq.read_schema(next(folder.glob("*.parquet")))
            local = mf.match(graph, pattern, names=True).to_arrow().schema
            assert columns.equals(local, check_metadata=True)


def test_batches_of_several_patterns_and_limits(ray: InlineRay, tmp_path: Path) -> None:
    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path, 2)
        both = cluster.match(made, PATTERNS[:2], batch_rows=7)
        assert ray.submitted
        assert [len(one.to_numpy()) for one in both] == [
            len(mf.match(graph, one).to_numpy()) for one in PATTERNS[:2]
        ]
        assert all(len(batch) <= 7 for batch in cluster.match(made, PATTERNS[0], batch_rows=7))
        few = cluster.match(made, PATTERNS[0], limit=11, names=True)
        table = few.to_arrow()
        assert (len(table), table.column_names, few.complete) == (11, ["a", "b", "c"], False)
        assert rows_of(graph, PATTERNS[0]) >= Counter(tuple(row.values()) for row in table.to_pylist())
        with cluster.match(made, PATTERNS[0]) as begun:
            assert len(next(begun))
        late = cluster.match(made, PATTERNS[0], timeout=0.0)
        assert rows_of(graph, PATTERNS[0]) >= Counter(map(tuple, late.to_numpy().tolist()))
        assert not late.complete
        none = cluster.match(made, "(a:z)--(b)")
        assert (none.to_numpy().shape, none.complete) == ((0, 2), True)
        written = cluster.match(made, PATTERNS[0], limit=11, output=tmp_path / "rows")
        assert (written.rows, written.complete, rows_in(tmp_path / "rows").total()) == (11, False, 11)


def test_tasks_have_fewer_rows_where_each_has_many_images(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bounds, most = RowSearch.bounds, set()

    def bounds_of(self: RowSearch, order: Any) -> Any:
        found = bounds(self, order)
        most.add(found.rows)
        return found

    monkeypatch.setattr(RowSearch, "bounds", bounds_of)
    star = "(a)--(b), (a)--(c), (a)--(d), (a)--(e)"  # of each row found there are 24 images
    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path, 2)
        number = mf.count(graph, star)
        for at, data in enumerate((made, graph)):
            most.clear()
            assert len(cluster.match(data, star).to_numpy()) == number
            assert most == {400 // 24}
            folder = tmp_path / f"rows-{at}"
            assert cluster.match(data, star, output=folder).rows == number
            assert json.loads((folder / "_motiflux" / "job.json").read_text())["rows_of_task"] == 400 // 24
        most.clear()
        assert cluster.count(made, star, distinct=["a"]) == mf.count(graph, star, distinct=["a"])
        query = "(a)--(b), (a)--(c) OPTIONAL (b)--(c)"
        assert cluster.match(made, query).to_arrow().num_rows == mf.count(graph, query)
        assert most == {400 // 24, 400 // 6}, "triangles have six images"


def test_a_job_whose_driver_was_lost_continues(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran, folder = 0, tmp_path / "rows"

    def lose_driver() -> None:
        nonlocal ran
        ran += 1
        if ran == 6:
            raise SystemExit

    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path, 3)
        ray.before = lose_driver
        with pytest.raises(SystemExit):
            cluster.match(made, PATTERNS[1], output=folder, job="mine")
        ray.before = None
        again = cluster.open_sharded(tmp_path / "g", memory=made.memory)
        written = cluster.match(again, PATTERNS[1], output=folder, job="mine")
        assert (written.resumed, written.complete) == (5, True)
        assert rows_in(folder) == rows_of(graph, PATTERNS[1])
        other = cluster.open_sharded(tmp_path / "g", memory=made.memory + 1)
        with pytest.raises(mf.OutputError, match=r"others: graph"):
            cluster.match(other, PATTERNS[1], output=folder, job="mine")


@pytest.mark.turns(4)
@pytest.mark.parametrize(("directed", "loses"), [(False, 0.05), (True, 0.0)])
def test_counts_at_vertices_are_those_of_a_graph_read_from_the_same_files(
    ray: InlineRay, tmp_path: Path, directed: bool, loses: float
) -> None:
    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path, 4, directed=directed)
        ray.loses = loses
        for number, pattern in enumerate([*PATTERNS, "(a)--(b), (a)--(c), (a)--(d)", "(a:z)--(b)"]):
            symmetry: Any = ("embeddings", "subgraphs")[number % 2]
            found = cluster.count_per_vertex(made, pattern, symmetry=symmetry)
            expected = mf.count_per_vertex(graph, pattern, symmetry=symmetry)
            at = expected.graph.vertex_index(found.ids)
            assert np.array_equal(found.counts, expected.counts[at])
            assert (found.complete, found.engine) == (True, "cluster")
        one = cluster.count_per_vertex(made, PATTERNS[1], by="a")
        assert one.top(3) == mf.count_per_vertex(graph, PATTERNS[1], by="a").top(3)
        late = cluster.count_per_vertex(made, PATTERNS[1], by="a", timeout=0.0)
        assert not late.complete
        assert (late.counts <= one.counts).all()


def test_what_a_lost_task_added_is_not_added_again(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add, calls = RangeImages.add, 0

    def add_and_fail_once(self: RangeImages, *given: Any) -> int:
        nonlocal calls
        calls += 1
        found = add(self, *given)
        if calls == 3:
            raise WorkerCrashedError("a server of rows starts again")
        return found

    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path, 4)
        monkeypatch.setattr(RangeImages, "add", add_and_fail_once)
        found = cluster.count_per_vertex(made, PATTERNS[1], by="a")
        expected = mf.count_per_vertex(graph, PATTERNS[1], by="a")
        assert calls > 3, "a task fails on the way"
        assert np.array_equal(found.counts, expected.counts[expected.graph.vertex_index(found.ids)])


@pytest.mark.parametrize("option", ["having", "gpu_memory", "some"])
@pytest.mark.parametrize("name", ["count", "match", "count_per_vertex", "estimate", "census"])
def test_options_that_are_not_known_are_refused(
    ray: InlineRay, tmp_path: Path, name: str, option: str
) -> None:
    with mf.Cluster() as cluster:
        made, _ = made_in(cluster, tmp_path, 5)
        given = (made,) if name == "census" else (made, PATTERNS[0])
        with pytest.raises(mf.ArgumentError, match=option):
            getattr(cluster, name)(*given, **{option: "count(b) > 1"})


@pytest.mark.turns(4)
@pytest.mark.parametrize("directed", [False, True])
def test_a_census_is_that_of_a_graph_read_from_the_same_files(
    ray: InlineRay, tmp_path: Path, directed: bool
) -> None:
    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path, 6, directed=directed)
        assert cluster.census(made) == mf.census(graph)
        options: dict[str, Any] = {"directed": False}
        assert cluster.census(made, 4, **options) == mf.census(graph, 4, **options)
        some = cluster.census(made, 4, connected=True, **options)
        assert some == mf.census(graph, 4, connected=True, **options)
        late = cluster.census(made, timeout=0.0)
        assert (late.complete, late.total) == (False, 0)
        with pytest.raises(mf.ArgumentError, match="size"):
            cluster.census(made, 5)
        with pytest.raises(mf.ArgumentError, match="directed"):
            cluster.census(made, 4, directed=True)


def test_calls_that_a_sharded_graph_does_not_have_are_refused_by_name(ray: InlineRay, tmp_path: Path) -> None:
    with mf.Cluster() as cluster:
        made, _ = made_in(cluster, tmp_path, 5)
        refused: list[tuple[str, Any]] = [
            ("edges", lambda: cluster.match(made, PATTERNS[0], edges=True)),
            ("attributes", lambda: cluster.match(made, PATTERNS[0], attributes=["label"])),
            ("edges", lambda: cluster.match(made, PATTERNS[:2], output=tmp_path / "two", edges=True)),
            ("job", lambda: cluster.match(made, PATTERNS[0], job="mine")),
            ("having", lambda: cluster.match(made, PATTERNS[0], distinct=["a"], having="count(a) > 1")),
            ("copies", lambda: cluster.match(made, PATTERNS[0], copies=True)),  # type: ignore[call-arg]
            ("copies", lambda: cluster.count(made, PATTERNS[0], copies=True)),
            (
                "symmetry",
                lambda: cluster.match(made, "(a)--(b)", semantics="homomorphism", symmetry="subgraphs"),
            ),
        ]
        for name, call in refused:
            with pytest.raises(mf.ArgumentError, match=name):
                call()
        with pytest.raises(mf.PatternError, match=r"vertex attribute .x.: expected one of"):
            cluster.match(made, "(a {x: 1})--(b)")
        with pytest.raises(mf.PatternError, match=r"vertex attribute .x.: expected one of"):
            cluster.count_per_vertex(made, "(a {x: 1})--(b)")
        small = cluster.open_sharded(tmp_path / "g", memory=8_600)
        assert len(cluster.match(small, PATTERNS[0]).to_numpy())
        with pytest.raises(mf.ClusterError, match=r"memory: expected at least"):
            cluster.count_per_vertex(small, PATTERNS[0])
        made.close()
        for call in (cluster.match, cluster.count_per_vertex):
            with pytest.raises(mf.ClusterError, match="open it again"):
                call(made, PATTERNS[0])
