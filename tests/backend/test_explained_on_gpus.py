"""What is told of counts on the GPUs of a cluster before they are made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import motiflux as mf
from motiflux.device import devices_like
from tests.backend.test_cluster_gpus import HOUSE, TRIANGLE, graph_of
from tests.inline_ray import InlineRay, replace_ray
from tests.unit.cli_run import motiflux

pytestmark = pytest.mark.devices("emulated", "cuda", reason="Ray assigns GPUs to the tasks")

SEARCH = {"tables": "off", "bitmaps": "off"}
CYCLE = "(a)--(b)--(c)--(d)--(a)"


@pytest.fixture
def ray(device: str, monkeypatch: pytest.MonkeyPatch) -> InlineRay:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)  # GPUs have the names that it gives them
    return replace_ray(monkeypatch, gpus=len(devices_like(device)))


@pytest.fixture
def cluster(ray: InlineRay) -> Iterator[mf.Cluster]:
    with mf.Cluster() as made:
        yield made


def made_in(cluster: mf.Cluster, folder: Path, memory: str = "1MB") -> tuple[Any, mf.Graph]:
    graph = mf.generate.rmat(scale=7, edges=600, seed=3, directed=False)
    sources, targets, *_ = graph.to_edges()
    labels = [int(u + v) % 2 for u, v in zip(sources, targets, strict=True)]
    graph = mf.Graph.from_edges(list(zip(sources, targets, strict=True)), edge_labels=labels)
    mf.write_graph(graph, folder / "edges.npz")
    return cluster.shard([folder / "edges.npz"], folder / "g", shards=2, memory=memory), graph


def tasks_of(told: Any) -> Any:
    assert told.report.predicted is not None
    return told.report.predicted.tasks


def test_a_search_is_cut_into_shares_for_all_gpus(ray: InlineRay, cluster: mf.Cluster, device: str) -> None:
    graph, gpus = graph_of(3), cluster._workers.gpus
    told = cluster.explain(graph, HOUSE, device=device, tuning=SEARCH)
    assert f"shares for {gpus} GPUs" in told or gpus == 1
    assert told.report.engine.device == f"{device}, {cluster._workers.gpus_told}"
    found = cluster.count(graph, HOUSE, device=device, tuning=SEARCH)
    assert found == mf.count(graph, HOUSE)
    tasks = tasks_of(told)
    assert (tasks.at_once, tasks.gpus) == (gpus, gpus)
    assert tasks.expected == len(cluster.tasks) - 1  # the first one looked at a GPU
    assert f"on {gpus} GPU" in told
    assert told.report.predicted is not None
    assert told.report.predicted.memory.device


def test_candidates_are_filtered_by_a_task_before(cluster: mf.Cluster, device: str) -> None:
    graph, tuning = graph_of(3), {**SEARCH, "candidates": "on"}
    told = cluster.explain(graph, HOUSE, device=device, tuning=tuning)
    cluster.count(graph, HOUSE, device=device, tuning=tuning)
    assert "after a task that filters candidates" in told
    assert tasks_of(told).expected == len(cluster.tasks) - 1


def test_tables_are_one_task(cluster: mf.Cluster, device: str) -> None:
    graph = mf.generate.rmat(scale=9, edges=4000, seed=1)
    told = cluster.explain(graph, CYCLE, device=device, tuning={"tables": "on"})
    assert "tables of local counts, as one task on one GPU" in told
    assert (tasks_of(told).at_once, tasks_of(told).expected) == (1, 1)


def test_what_cpus_do_is_told(cluster: mf.Cluster, device: str) -> None:
    told = cluster.explain(graph_of(3), "(a)--(b)--(c), NOT (a)--(c)", device=device)
    assert "the CPU engine looks for negated edges" in told
    assert tasks_of(told).gpus == 0


def test_the_count_is_made_if_it_is_asked_for(cluster: mf.Cluster, device: str) -> None:
    graph = graph_of(3)
    told = cluster.explain(graph, HOUSE, device=device, tuning=SEARCH, analyze=True)
    assert told.report.actual is not None
    assert told.report.actual.count == mf.count(graph, HOUSE)


@pytest.mark.parametrize("memory", ["20kB", "1MB"])
def test_parts_of_sharded_graphs_are_searched_by_kernels(
    cluster: mf.Cluster, device: str, tmp_path: Path, memory: str
) -> None:
    made, graph = made_in(cluster, tmp_path, memory)
    gpus = cluster._workers.gpus
    told = cluster.explain(made, TRIANGLE, device=device, analyze=True)
    assert "kernels search their parts" in told
    assert f"shares for {gpus} task" in told
    assert told.report.engine.device == f"{device}, {cluster._workers.gpus_told}, 2 shards"
    tasks = tasks_of(told)
    assert (tasks.at_once, tasks.gpus) == (gpus, gpus)
    assert f" on {gpus} GPU" in told
    assert "at least" in told
    assert told.report.actual is not None
    assert told.report.actual.count == mf.count(graph, TRIANGLE)


def test_parts_that_cpus_search_are_told(cluster: mf.Cluster, device: str, tmp_path: Path) -> None:
    made, _ = made_in(cluster, tmp_path)
    told = cluster.explain(made, "(a)--(b)--(c) WHERE NOT (a)-[:1]-(c)", device=device)
    assert "CPUs search their parts: it looks for negated edges of some kinds" in told
    compared = cluster.explain(made, "(a)--(b)--(c) WHERE id(a) < id(c)", device=device)
    assert "CPUs search their parts: it compares attributes" in compared
    none = cluster.explain(made, "(a:7)--(b)", device=device)
    assert none.report.predicted is None


def test_distinct_rows_are_explained_for_cpus(cluster: mf.Cluster, device: str, tmp_path: Path) -> None:
    made, graph = made_in(cluster, tmp_path)
    for subject, why in (
        (graph, "the CPU engine finds distinct rows,"),
        (made, "all rows are listed, by CPUs,"),
    ):
        told = cluster.explain(subject, TRIANGLE, device=device, distinct=["a"], analyze=True)
        assert f"{why} not {device!r}" in told
        assert told.report.actual is not None
        assert told.report.actual.count == mf.count(graph, TRIANGLE, distinct=["a"])
    assert told.report.engine.device == "2 CPUs of 1 node, 2 shards"
    assert tasks_of(told).gpus == 0


def test_calls_that_gpus_do_not_make_are_refused(cluster: mf.Cluster, device: str, tmp_path: Path) -> None:
    made, graph = made_in(cluster, tmp_path)
    for subject in (made, graph):
        with pytest.raises(mf.ArgumentError, match="where Ray assigns GPUs"):
            cluster.explain(subject, TRIANGLE, device=f"{device}:1")


def test_a_cluster_without_gpus_says_so(ray: InlineRay, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_ray(monkeypatch)
    with mf.Cluster() as cluster, pytest.raises(mf.DeviceError, match="none with a GPU"):
        cluster.explain(graph_of(3), HOUSE, device=device)


def test_the_command_line_tells_it(ray: InlineRay, device: str, tmp_path: Path) -> None:
    mf.write_graph(graph_of(3), tmp_path / "g.npz")
    where = ("--cluster", "auto", "--device", device)
    result = motiflux("explain", tmp_path / "g.npz", HOUSE, *where, "--set", "tables=off")
    assert result.exit_code == 0, result.stderr
    assert "a search, in " in " ".join(result.stdout.split())


def test_the_command_line_tells_it_of_sharded_graphs(
    cluster: mf.Cluster, device: str, tmp_path: Path
) -> None:
    _, graph = made_in(cluster, tmp_path)
    where = ("--cluster", "auto", "--device", device, "--memory", "1MB")
    told = motiflux("explain", tmp_path / "g", TRIANGLE, *where)
    assert told.exit_code == 0, told.stderr
    assert "kernels search their parts" in " ".join(told.stdout.split())
    counted = motiflux("count", tmp_path / "g", TRIANGLE, *where, "--gpu-memory", "1GB")
    assert counted.stdout.split()[0].replace(",", "") == str(int(mf.count(graph, TRIANGLE)))


def test_kernels_count_no_parts_of_tails_unless_asked_to(
    cluster: mf.Cluster, device: str, tmp_path: Path
) -> None:
    made, graph = made_in(cluster, tmp_path)
    tuning = {"parts": "on"}
    assert "a sum over its candidates" in cluster.explain(made, HOUSE, device=device, tuning=tuning)
    assert cluster.count(made, HOUSE, device=device, tuning=tuning) == mf.count(graph, HOUSE)
    mf.write_graph(mf.generate.rmat(scale=12, edges=60_000, seed=3), tmp_path / "large.npz")
    large = cluster.shard([tmp_path / "large.npz"], tmp_path / "large", memory="400kB")
    assert "a sum over its candidates" in cluster.explain(large, HOUSE)
    assert "a sum over its candidates" not in cluster.explain(large, HOUSE, device=device)
