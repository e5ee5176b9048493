"""Rows, samples and counts at vertices by tasks that have one GPU each; tasks run in this process."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.cluster import gpu_images, gpu_listing, gpu_tasks, jobs, rows, sampler, tasks
from motiflux.device import devices_like
from tests.backend.test_cluster_gpus import CLIQUE, HOUSE, PATTERNS, TRIANGLE, graph_of
from tests.inline_ray import InlineRay, replace_ray

pytestmark = pytest.mark.devices("emulated", "cuda", reason="Ray assigns GPUs to the tasks")

NEGATED = "(a)--(b)--(c), NOT (a)--(c)"
COMPARED = "(a)-[x]->(b)-[y]->(c) WHERE x.t < y.t"
Rows = list[tuple[int, ...]]


@pytest.fixture
def ray(device: str, monkeypatch: pytest.MonkeyPatch) -> InlineRay:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)  # GPUs have the names that it gives them
    return replace_ray(monkeypatch, gpus=len(devices_like(device)))


@pytest.fixture
def cluster(ray: InlineRay) -> Iterator[mf.Cluster]:
    with mf.Cluster() as made:
        yield made


def in_order(found: mf.Matches) -> Rows:
    return sorted(map(tuple, found.to_numpy().tolist()))


def of_files(folder: Path) -> Rows:
    tables = [pq.read_table(path) for path in sorted(folder.glob("*.parquet"))]
    return sorted(tuple(row.values()) for table in tables for row in table.to_pylist())


def bounded(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Have tasks end after `number` rows."""
    for module in (rows, jobs):
        monkeypatch.setattr(module, "ROWS_OF_TASK", number)


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("most", [20, 1 << 19])
def test_rows_are_those_of_the_cpu(
    cluster: mf.Cluster, device: str, monkeypatch: pytest.MonkeyPatch, most: int, directed: bool
) -> None:
    bounded(monkeypatch, most)
    graph = graph_of(1, 14, directed=directed)
    for semantics in ("isomorphism", "induced", "homomorphism"):
        for symmetry in ("embeddings", "subgraphs"):
            if (semantics, symmetry) == ("homomorphism", "subgraphs"):
                continue
            options: dict[str, Any] = {"semantics": semantics, "symmetry": symmetry}
            for pattern in (*PATTERNS, "(a)--(b)"):
                found = cluster.match(graph, pattern, device=device, **options)
                assert in_order(found) == in_order(mf.match(graph, pattern, **options))
                assert (found.complete, found.engine) == (True, "cluster")
                assert found.device == f"{device}, {cluster._workers.gpus_told}"


@pytest.mark.turns(8, "emulated")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1000), loses=st.sampled_from([0.0, 0.05]), most=st.sampled_from([10, 1 << 19]))
def test_lost_tasks_change_no_row(ray: InlineRay, device: str, seed: int, loses: float, most: int) -> None:
    graph, pattern = graph_of(seed, 12), random.Random(seed).choice(PATTERNS)
    ray.loses = loses
    with pytest.MonkeyPatch.context() as patch, mf.Cluster() as cluster:
        bounded(patch, most)
        found = cluster.match(graph, pattern, device=device)
        assert in_order(found) == in_order(mf.match(graph, pattern))


def test_several_patterns_are_listed(cluster: mf.Cluster, device: str) -> None:
    graph = graph_of(2)
    found = cluster.match(graph, [TRIANGLE, HOUSE], device=device)
    assert list(map(in_order, found)) == list(map(in_order, mf.match(graph, [TRIANGLE, HOUSE])))


def test_a_root_arc_with_many_rows_is_searched_by_the_cpu(
    cluster: mf.Cluster, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bounded(monkeypatch, 64)
    hub = mf.Graph.from_edges([(0, leaf) for leaf in range(1, 12)] + [(1, 2)])
    pattern = "(a)--(b), (a)--(c), (a)--(d)"
    options: dict[str, Any] = {"semantics": "homomorphism"}
    shares: list[Any] = []
    search = gpu_listing.list_on_cpu

    def note(job: Any, share: Any, bounds: Any) -> Any:
        shares.append(share)
        return search(job, share, bounds)

    monkeypatch.setattr(gpu_listing, "list_on_cpu", note)
    found = cluster.match(hub, pattern, device=device, **options)
    assert in_order(found) == in_order(mf.match(hub, pattern, **options))
    assert len(shares) == 11  # the root arcs of the hub, of 121 rows each
    assert all(last - first == 1 and not before for ((_, first, last, *_, before),) in shares)


def test_a_limit_ends_the_rows(cluster: mf.Cluster, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bounded(monkeypatch, 20)
    graph = graph_of(3, 14)
    every = set(in_order(mf.match(graph, HOUSE)))
    for limit in (0, 1, 30, len(every), len(every) + 1):
        found = cluster.match(graph, HOUSE, device=device, limit=limit)
        given = in_order(found)
        assert (len(given), found.complete) == (min(limit, len(every)), len(every) <= limit)
        assert len(set(given)) == len(given)
        assert set(given) <= every


def test_rows_that_are_not_taken_hold_tasks_back(
    ray: InlineRay, cluster: mf.Cluster, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bounded(monkeypatch, 4)
    found = cluster.match(graph_of(3, 14), HOUSE, device=device, batch_rows=1)
    next(found)
    ran = len(ray.names)
    assert ran < 10 * len(devices_like(device))
    found.close()


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("loses", [0.0, 0.2])
def test_files_have_each_row_once(
    ray: InlineRay,
    cluster: mf.Cluster,
    device: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    loses: float,
) -> None:
    bounded(monkeypatch, 30)
    graph = graph_of(4, 14)
    ray.loses = loses
    written = cluster.match(graph, HOUSE, device=device, output=tmp_path / "rows")
    expected = in_order(mf.match(graph, HOUSE))
    assert of_files(tmp_path / "rows") == expected
    assert (written.rows, written.complete) == (len(expected), True)
    assert written.files > 3


def test_a_task_that_runs_twice_writes_the_same_file(
    ray: InlineRay, cluster: mf.Cluster, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, wrote = gpu_listing.write_rows_on_gpu, []

    def twice(*given: Any) -> Any:
        folder, name = Path(given[4]), given[5]
        files = []
        for _ in range(2):
            done = write(*given)
            files.append((folder / name).read_bytes() if done.value[0] else b"")
        wrote.append(files[0] == files[1])
        return done

    bounded(monkeypatch, 30)
    monkeypatch.setattr(gpu_listing, "write_rows_on_gpu", twice)
    cluster.match(graph_of(4, 14), HOUSE, device=device, output=tmp_path / "rows")
    assert len(wrote) > 3
    assert all(wrote)


@given(seed=st.integers(0, 1000), columns=st.integers(1, 6), bits=st.sampled_from([1, 2, 13, 21, 32]))
def test_rows_of_files_are_sorted(device: str, seed: int, columns: int, bits: int) -> None:
    found = np.random.default_rng(seed).integers(0, 1 << bits, (40, columns), np.uint32)
    assert gpu_listing.sorted_rows(found).tolist() == sorted(found.tolist())
    assert len(gpu_listing.sorted_rows(found[:0])) == 0


def test_a_job_goes_on_where_it_ended(
    ray: InlineRay, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bounded(monkeypatch, 30)
    graph, folder, calls = graph_of(4, 14), tmp_path / "rows", 0

    def interrupt() -> None:
        nonlocal calls
        calls += 1
        if calls == 9:
            raise KeyboardInterrupt

    ray.before = interrupt
    with mf.Cluster() as cluster, pytest.raises(KeyboardInterrupt):
        cluster.match(graph, HOUSE, device=device, output=folder, job="houses")
    with mf.Cluster() as cluster:
        with pytest.raises(mf.OutputError, match="others: graph"):
            cluster.match(graph, HOUSE, output=folder, job="houses")
        written = cluster.match(graph, HOUSE, device=device, output=folder, job="houses")
    assert written.resumed > 0
    assert of_files(folder) == in_order(mf.match(graph, HOUSE))


def test_nothing_is_a_file_without_rows(cluster: mf.Cluster, device: str, tmp_path: Path) -> None:
    tree = mf.Graph.from_edges([(0, 1), (1, 2)])
    written = cluster.match(tree, TRIANGLE, device=device, output=tmp_path / "rows")
    assert (written.rows, written.complete) == (0, True)
    assert of_files(tmp_path / "rows") == []


def test_rows_have_edges_and_names(cluster: mf.Cluster, device: str) -> None:
    graph = mf.Graph.from_edges([("ann", "bob"), ("bob", "cy"), ("cy", "ann"), ("cy", "dan")])
    options: dict[str, Any] = {"edges": True, "names": True}
    found = cluster.match(graph, TRIANGLE, device=device, **options).to_arrow()
    expected = mf.match(graph, TRIANGLE, **options).to_arrow()
    assert found.schema == expected.schema
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, expected.to_pylist()))


def test_cpus_list_what_kernels_cannot(cluster: mf.Cluster, device: str, tmp_path: Path) -> None:
    graph = graph_of(3, 14)
    found = cluster.match(graph, NEGATED, device=device)
    assert in_order(found) == in_order(mf.match(graph, NEGATED))
    assert found.device == "2 CPUs of 1 node"
    cluster.match(graph, NEGATED, device=device, output=tmp_path / "rows")
    assert of_files(tmp_path / "rows") == in_order(mf.match(graph, NEGATED))


DISTINCT = [
    "(a)--(b)--(c) RETURN DISTINCT c, a",
    "(a)--(b)--(c)--(d) RETURN DISTINCT a HAVING count(b, d) > 3",
    "(a)-[*1..2]-(b) RETURN DISTINCT b HAVING count(a) >= 4",
    "(a)--(b) OPTIONAL (b)--(c:1) RETURN DISTINCT a",
]


@pytest.mark.parametrize("query", DISTINCT)
def test_cpus_find_distinct_rows(
    ray: InlineRay, cluster: mf.Cluster, device: str, tmp_path: Path, query: str
) -> None:
    graph = graph_of(3, 12)
    found = cluster.match(graph, query, device=device)
    expected = in_order(mf.match(graph, query))
    assert (in_order(found), found.complete) == (expected, True)
    assert (found.engine, found.device) == ("cluster", "2 CPUs of 1 node")
    assert found.reason.startswith(f"the CPU engine finds distinct rows, not {device}, ")
    written = cluster.match(graph, query, device=device, output=tmp_path / "rows", job="mine")
    assert (written.rows, written.complete) == (len(expected), True)
    assert of_files(tmp_path / "rows") == expected
    number = cluster.count(graph, query, device=device)
    assert (number, number.complete, number.device) == (len(expected), True, "cpu")
    assert number.reason == f"the CPU engine finds distinct rows, not {device!r}"
    assert set(ray.gpus_asked) == {0}


def test_gpus_search_patterns_beside_distinct_rows(
    ray: InlineRay, cluster: mf.Cluster, device: str, tmp_path: Path
) -> None:
    graph, patterns = graph_of(3, 12), [TRIANGLE, DISTINCT[0], HOUSE]
    reports: list[mf.ProgressReport] = []
    counts = cluster.count(graph, patterns, device=device, progress=reports.append)
    assert counts == mf.count(graph, patterns)
    gpus = f"{device}, {cluster._workers.gpus_told}"
    assert [one.device for one in counts] == [gpus, "cpu", gpus]
    shares = [one.done / one.total for one in reports]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    found = cluster.match(graph, patterns, device=device)
    expected = list(map(in_order, mf.match(graph, patterns)))
    assert list(map(in_order, found)) == expected
    assert [one.device for one in found] == [gpus, "2 CPUs of 1 node", gpus]
    cluster.match(graph, patterns, device=device, output=tmp_path)
    assert [of_files(tmp_path / f"pattern-00{at}") for at in range(3)] == expected
    asked = cluster.count(graph, [TRIANGLE, HOUSE], distinct=["a"], device=device, limit=3)
    assert [(int(one), one.complete) for one in asked] == 2 * [(3, False)]
    late = cluster.count(graph, patterns, device=device, timeout=0.0)
    assert not any(one.complete for one in late)
    with pytest.raises(mf.ArgumentError, match=r"pattern\[1\]: distinct: expected names or positions"):
        cluster.count(graph, [TRIANGLE, "(x)--(y)"], distinct=["a"], device=device)


def transfers() -> mf.Graph:
    draws = random.Random(5)
    pairs = [(u, v) for u in range(15) for v in range(15) if u != v and draws.random() < 0.3]
    times = [draws.randrange(50) for _ in pairs]
    return mf.Graph.from_edges(pairs, directed=True, edge_attributes={"t": times})


def test_comparisons_are_listed(cluster: mf.Cluster, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bounded(monkeypatch, 50)
    graph = transfers()
    found = cluster.match(graph, COMPARED, device=device)
    assert in_order(found) == in_order(mf.match(graph, COMPARED))


def test_a_timeout_ends_the_rows(cluster: mf.Cluster, device: str) -> None:
    graph = graph_of(3, 14)
    found = cluster.match(graph, HOUSE, device=device, timeout=0.0)
    assert set(in_order(found)) <= set(in_order(mf.match(graph, HOUSE)))
    assert not found.complete


def test_too_little_memory_for_rows_is_an_error(cluster: mf.Cluster, device: str) -> None:
    with pytest.raises(mf.DeviceMemoryError, match="bytes of device memory") as raised:
        cluster.match(graph_of(3, 14), HOUSE, device=device, gpu_memory=100).to_numpy()
    assert raised.value.needed > raised.value.available


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("estimator", ["wanderjoin", "alley", "tree", "auto"])
@pytest.mark.parametrize("loses", [0.0, 0.2])
def test_estimates_are_equal_to_the_last_bit(
    ray: InlineRay,
    cluster: mf.Cluster,
    device: str,
    monkeypatch: pytest.MonkeyPatch,
    estimator: str,
    loses: float,
) -> None:
    monkeypatch.setattr(sampler, "LEAST_GROUPS", 1)
    ray.loses = loses
    graph = graph_of(6, 40)
    options: dict[str, Any] = {
        "estimator": estimator,
        "samples": 3000,
        "seed": 7,
        "tuning": {"count_first": "off"},
    }
    found = cluster.estimate(graph, [HOUSE, CLIQUE], device=device, **options)
    there = mf.estimate(graph, [HOUSE, CLIQUE], device=device, **options)
    here = mf.estimate(graph, [HOUSE, CLIQUE], device="cpu", **options)
    for one, *others in zip(found, there, here, strict=True):
        for other in others:
            assert (one.value, one.low, one.high, one.samples) == (
                other.value,
                other.low,
                other.high,
                other.samples,
            )
        assert one.device == f"{device}, {cluster._workers.gpus_told}"
    assert 1 in ray.gpus_asked


def test_policies_of_users_are_drawn(cluster: mf.Cluster, device: str) -> None:
    policy = mf.SamplingPolicy("struct Custom : Alley {};", name="like Alley")
    graph = graph_of(6, 40)
    options: dict[str, Any] = {"estimator": policy, "samples": 2000, "seed": 3}
    found = cluster.estimate(graph, HOUSE, device=device, **options)
    assert found.value == mf.estimate(graph, HOUSE, device=device, **options).value


def test_policies_of_users_are_refused_where_the_cpu_draws(cluster: mf.Cluster, device: str) -> None:
    policy = mf.SamplingPolicy("struct Custom : Alley {};", name="like Alley")
    pattern = "(a)--(b)--(c), NOT (a)-[:1]-(c)"
    graph = mf.Graph.from_edges([(0, 1), (1, 2), (0, 2), (2, 3)], edge_labels=[0, 1, 1, 0])
    for call in (cluster.estimate, mf.estimate):
        with pytest.raises(mf.ArgumentError, match=r"estimator: expected .* negated edges .* 'like Alley'"):
            call(graph, pattern, device=device, estimator=policy, samples=2000)


def test_workers_keep_the_trees_of_one_seed(cluster: mf.Cluster, device: str) -> None:
    graph = graph_of(6, 40)
    for seed in range(3):
        cluster.sample(graph, HOUSE, 20, device=device, seed=seed).to_numpy()
    *_, made = next(reversed(tasks._KEPT.values()))
    kept = {name for name in made if name.startswith("trees")}
    assert kept
    assert kept <= {f"trees {name}" for name in devices_like(device)}


def test_negated_edges_of_one_kind_are_sampled(cluster: mf.Cluster, device: str) -> None:
    graph = graph_of(6, 40)
    options: dict[str, Any] = {"samples": 20_000, "seed": 3, "estimator": "alley"}
    found = cluster.estimate(graph, NEGATED, device=device, **options)
    assert found.value == mf.estimate(graph, NEGATED, **options).value


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("loses", [0.0, 0.2])
def test_random_rows_are_the_same(ray: InlineRay, cluster: mf.Cluster, device: str, loses: float) -> None:
    ray.loses = loses
    graph = graph_of(6, 40)
    for pattern in (HOUSE, CLIQUE):
        found = cluster.sample(graph, pattern, 50, device=device, seed=2)
        expected = mf.sample(graph, pattern, 50, seed=2)
        assert np.array_equal(found.to_numpy(), expected.to_numpy())
        assert found.device == f"{device}, {cluster._workers.gpus_told}"
    assert 1 in ray.gpus_asked


def test_a_pattern_that_is_not_there_has_no_random_rows(cluster: mf.Cluster, device: str) -> None:
    star = mf.Graph.from_edges([(0, leaf) for leaf in range(1, 9)])
    found = cluster.sample(star, TRIANGLE, 5, device=device)
    assert (len(found.to_numpy()), found.complete) == (0, True)


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("loses", [0.0, 0.2])
@pytest.mark.parametrize("tuning", [{}, {"tables": "off"}])
def test_counts_at_vertices_are_those_of_the_cpu(
    ray: InlineRay, cluster: mf.Cluster, device: str, loses: float, tuning: dict[str, str]
) -> None:
    ray.loses = loses
    graph = graph_of(7, 14)
    for pattern in (TRIANGLE, HOUSE, "(a:1)--(b:0)--(c)--(a)"):
        for symmetry in ("embeddings", "subgraphs"):
            options: dict[str, Any] = {"symmetry": symmetry, "tuning": tuning}
            found = cluster.count_per_vertex(graph, pattern, device=device, **options)
            expected = mf.count_per_vertex(graph, pattern, device="cpu", **options)
            assert np.array_equal(found.counts, expected.counts)
            assert (found.complete, found.engine) == (True, "cluster")
    assert 1 in ray.gpus_asked


def test_gpus_share_the_counts_at_vertices(
    ray: InlineRay, cluster: mf.Cluster, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares: list[tuple[str, tuple[int, int]]] = []
    take = gpu_tasks.take_share

    def note(job: Any, family: Any, share: tuple[int, int]) -> Any:
        shares.append((job.accelerator.device.name, share))
        return take(job, family, share)

    monkeypatch.setattr(gpu_images, "take_share", note)
    cluster.count_per_vertex(graph_of(7, 14), CLIQUE, device=device, tuning={"tables": "off"})
    number = len(devices_like(device))
    gpus = cluster._workers.gpus
    assert {share for _, share in shares} == {(at, gpus) for at in range(gpus)}
    assert len({name for name, _ in shares}) == min(gpus, number)


def test_cpus_count_at_vertices_what_kernels_cannot(cluster: mf.Cluster, device: str) -> None:
    graph = transfers()
    found = cluster.count_per_vertex(graph, COMPARED, device=device)
    assert np.array_equal(found.counts, mf.count_per_vertex(graph, COMPARED).counts)
    assert found.device == "2 CPUs of 1 node"
    assert "it compares attributes" in found.reason


def test_a_timeout_ends_the_counts_at_vertices(cluster: mf.Cluster, device: str) -> None:
    found = cluster.count_per_vertex(graph_of(3, 14), HOUSE, device=device, timeout=0.0)
    assert not found.complete


ON_RAY = f"""
import os
import signal
import numpy as np
import ray
ray.init(num_cpus=2, num_gpus=2, object_store_memory=256 << 20, include_dashboard=False)
import motiflux as mf
graph = mf.generate.rmat(scale=7, edges=600, seed=1)
kills = 0
with mf.Cluster() as cluster:
    def kill(report):
        global kills
        if report.done and kills < 2:
            kills += 1
            os.kill(cluster.tasks[-1].process, signal.SIGKILL)
    found = cluster.match(graph, {HOUSE!r}, device="emulated", progress=kill).to_numpy()
    here = mf.match(graph, {HOUSE!r}).to_numpy()
    assert kills and np.array_equal(np.unique(found, axis=0), np.unique(here, axis=0)), len(found)
    assert len(found) == len(here)
    started = cluster.match(graph, {HOUSE!r}, device="emulated")
    next(started)
    started.close()
    options = dict(samples=20_000, seed=2, estimator="alley")
    there = cluster.estimate(graph, {HOUSE!r}, device="emulated", **options)
    assert there.value == mf.estimate(graph, {HOUSE!r}, device="cpu", **options).value
    try:
        cluster.match(graph, {HOUSE!r}, device="emulated", gpu_memory=100).to_numpy()
    except mf.DeviceMemoryError as error:
        assert error.needed > 100, error
    else:
        raise AssertionError("no error")
print("exact")
"""


@pytest.mark.long
@pytest.mark.devices("emulated", reason="Ray is told of GPUs that are not there")
def test_killed_workers_of_ray_change_no_row(device: str) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: make test-all installs it")
    done = subprocess.run([sys.executable, "-c", ON_RAY], capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines()[-1:] == ["exact"], done.stderr
