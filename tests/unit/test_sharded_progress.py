"""Progress of calls on sharded graphs, and their timeouts while servers tell the ids of vertices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.cluster.shards import counting, edges, search, sharded
from tests.inline_ray import InlineRay, replace_ray
from tests.unit.test_sharded_calls import made_in

TRIANGLE = "(a)--(b)--(c)--(a)"
Call = Callable[[mf.Cluster, Any, Any], Any]
CALLS: dict[str, Call] = {
    "count": lambda cluster, graph, progress: cluster.count(graph, TRIANGLE, progress=progress),
    "count_per_vertex": lambda cluster, graph, progress: cluster.count_per_vertex(
        graph, TRIANGLE, progress=progress
    ),
    "count_per_vertex of a star": lambda cluster, graph, progress: cluster.count_per_vertex(
        graph, "(a)--(b), (a)--(c), (a)--(d)", progress=progress
    ),
    "count_per_edge": lambda cluster, graph, progress: cluster.count_per_edge(
        graph, TRIANGLE, progress=progress
    ),
    "count_per_edge of nothing": lambda cluster, graph, progress: cluster.count_per_edge(
        graph, "(a)--(b) WHERE degree(a) > 99", progress=progress
    ),
    "sample": lambda cluster, graph, progress: cluster.sample(
        graph, TRIANGLE, 20, progress=progress
    ).to_numpy(),
    "sample of a query": lambda cluster, graph, progress: cluster.sample(
        graph, "(a)-[*1..3]-(b)", 20, progress=progress
    ).to_arrow(),
    "census": lambda cluster, graph, progress: cluster.census(graph, progress=progress),
    "orbits": lambda cluster, graph, progress: cluster.orbits(graph, 3, progress=progress),
    "edge_orbits": lambda cluster, graph, progress: cluster.edge_orbits(graph, 4, progress=progress),
}


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> InlineRay:
    monkeypatch.setattr(search, "_FIRST", 16)
    monkeypatch.setattr(sharded, "_HOT", 200)
    monkeypatch.setattr(counting, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(edges, "_LEAST_SECONDS", 0.0)
    return replace_ray(monkeypatch, nodes=2)


@pytest.mark.parametrize("name", CALLS)
def test_progress_rises_to_all_work(ray: InlineRay, tmp_path: Path, name: str) -> None:
    reports: list[mf.ProgressReport] = []
    with mf.Cluster() as cluster:
        made, _ = made_in(cluster, tmp_path, 4, memory=200_000)
        CALLS[name](cluster, made, reports.append)
    shares = [report.done / report.total for report in reports]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert name.endswith("nothing") or (shares[0] < 1 and reports[-1].found > 0)
    assert len({report.total for report in reports}) == 1


def test_progress_tells_what_was_found(ray: InlineRay, tmp_path: Path) -> None:
    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path, 4, memory=200_000)
        number = mf.count(graph, TRIANGLE)
        of_query = mf.count(graph, "(a)-[*1..3]-(b)")
        for name in ("count", "count_per_vertex", "count_per_edge", "sample", "sample of a query"):
            reports: list[mf.ProgressReport] = []
            CALLS[name](cluster, made, reports.append)
            found = [report.found for report in reports]
            expected = of_query if name == "sample of a query" else number
            assert (found, found[-1]) == (sorted(found), expected), name


@pytest.mark.parametrize("name", CALLS)
def test_what_a_progress_function_raises_ends_a_call(ray: InlineRay, tmp_path: Path, name: str) -> None:
    def fail(report: mf.ProgressReport) -> None:
        raise RuntimeError("enough")

    with mf.Cluster() as cluster:
        made, _ = made_in(cluster, tmp_path, 4, memory=200_000)
        with pytest.raises(RuntimeError, match="enough"):
            CALLS[name](cluster, made, fail)
        assert not list((tmp_path / "g").glob("_counts-*")), "numbers of tasks are deleted"


def test_calls_that_find_nothing_end_their_progress(ray: InlineRay, tmp_path: Path) -> None:
    ends = [(at, at + 1) for at in range(40)]
    mf.write_graph(mf.Graph.from_edges(ends), tmp_path / "g.npz")
    with mf.Cluster() as cluster:
        made = cluster.shard(tmp_path / "g.npz", tmp_path / "shards", shards=2)
        told: list[mf.ProgressReport] = []
        assert len(cluster.sample(made, TRIANGLE, 5, progress=told.append).to_numpy()) == 0
        assert told[-1].done == told[-1].total > 0
        told.clear()
        none = cluster.count_per_vertex(made, "(a)--(b) WHERE degree(a) > 99", progress=told.append)
        assert (none.complete, int(none.counts.sum())) == (True, 0)
        assert told[-1].done == told[-1].total > 0


def test_progress_of_random_rows_of_whole_graphs_is_refused(ray: InlineRay, tmp_path: Path) -> None:
    with mf.Cluster() as cluster:
        _, graph = made_in(cluster, tmp_path, 4, memory=200_000)
        with pytest.raises(mf.ArgumentError, match="progress"):
            cluster.sample(graph, TRIANGLE, 3, progress=True)
        assert len(cluster.sample(graph, TRIANGLE, 3, progress=False).to_numpy()) == 3


def test_a_timeout_covers_the_ids_of_vertices(ray: InlineRay, tmp_path: Path) -> None:
    why = "time was up before servers had told the ids of all vertices"
    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path, 4, memory=200_000)
        ray.late = {"ids"}
        for by, shape in ((None, (0, 3)), (0, (0,))):
            found = cluster.count_per_vertex(made, TRIANGLE, by=by, timeout=0.2)
            assert (found.complete, found.counts.shape, found.reason) == (False, shape, why)
            assert (found.ids.tolist(), found.to_arrow().num_rows) == ([], 0)
            at_edges = cluster.count_per_edge(made, TRIANGLE, by=by, timeout=0.2)
            assert (at_edges.complete, at_edges.counts.shape, at_edges.reason) == (False, shape, why)
            assert at_edges.to_arrow().num_rows == 0
        orbits, of_edges = cluster.orbits(made, timeout=0.2), cluster.edge_orbits(made, timeout=0.2)
        assert (orbits.complete, orbits.counts.shape, orbits.reason) == (False, (0, 15), why)
        assert (of_edges.complete, of_edges.counts.shape, of_edges.reason) == (False, (0, 12), why)
        wrong: list[dict[str, Any]] = [{"threads": -3}, {"tuning": {"foo": "on"}}]
        for options in wrong:
            name = next(iter(options))
            for call in (cluster.count_per_vertex, cluster.count_per_edge):
                with pytest.raises(mf.ArgumentError, match=name):
                    call(made, TRIANGLE, timeout=0.2, **options)
            for orbits_of in (cluster.orbits, cluster.edge_orbits):
                with pytest.raises(mf.ArgumentError, match=name):
                    orbits_of(made, timeout=0.2, **options)
        with pytest.raises(mf.ArgumentError, match="by"):
            cluster.count_per_vertex(made, TRIANGLE, by="x", timeout=0.2)
        ray.late = set()
        whole = cluster.count_per_vertex(made, TRIANGLE, timeout=60)
        expected = mf.count_per_vertex(graph, TRIANGLE)
        assert whole.complete
        assert np.array_equal(whole.counts, expected.counts[expected.graph.vertex_index(whole.ids)])
