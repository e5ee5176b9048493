"""Rows, counts at vertices and estimates of sharded graphs whose parts a GPU searches."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import motiflux as mf
from motiflux.cluster import jobs
from motiflux.cluster import rows as cluster_rows
from motiflux.cluster.shards import estimating, gpu_parts, planning, ranges, row_tasks, search
from motiflux.cluster.shards.gpu_parts import PartsOnGpu
from motiflux.cluster.shards.images import RangeImages, Sums
from motiflux.cluster.shards.planning import image_plan_of, ranged_images
from motiflux.cluster.shards.rows import Rows
from motiflux.cluster.shards.search import RangeSearch
from motiflux.cluster.shares import roots
from motiflux.cluster.tasks import Bounds
from motiflux.cpu.image_counts import times_of
from motiflux.device import devices_like
from motiflux.plan.local_counts.speeds import DEVICE_IMAGE_SPEEDS
from motiflux.request.deadline import Deadline
from motiflux.request.request import make_request
from tests.inline_ray import InlineRay, replace_ray
from tests.sharded import ids_of, sharded
from tests.unit.test_sharded_edge_conditions import NAMES, write_files
from tests.unit.test_sharded_edges import assert_numbers_are_those_of_the_whole_graph, at_edges
from tests.unit.test_sharded_rows import in_order, listed, lister_of
from tests.unit.test_sharded_search import DIRECTED, PATTERNS, random_graph

pytestmark = pytest.mark.devices("emulated", "cuda", reason="these search on a GPU")

TRIANGLE, HOUSE = PATTERNS[1], PATTERNS[5]
NEGATED = "(a)--(b)--(c) WHERE NOT (a)-[:1]-(c)"
STAR = "(a)--(b), (a)--(c), (a)--(d)"


@pytest.mark.turns(8, "emulated")
@settings(max_examples=12)
@given(
    seed=st.integers(0, 10**6),
    directed=st.booleans(),
    semantics=st.sampled_from(["isomorphism", "induced", "homomorphism"]),
    symmetry=st.sampled_from(["embeddings", "subgraphs"]),
    cut=st.floats(0, 1),
    memory=st.sampled_from([9_500, 12_000, 1 << 20]),
    most=st.sampled_from([20, 10**6]),
)
def test_rows_are_those_of_the_whole_graph(
    device: str, seed: int, directed: bool, semantics: str, symmetry: str, cut: float, memory: int, most: int
) -> None:
    if (semantics, symmetry) == ("homomorphism", "subgraphs"):
        symmetry = "embeddings"
    graph = random_graph(seed, directed=directed)
    pattern = random.Random(seed).choice(PATTERNS + DIRECTED if directed else PATTERNS)
    options: dict[str, Any] = {"semantics": semantics, "symmetry": symmetry}
    expected = mf.match(graph, pattern, device="cpu", limit=5_000, **options).to_numpy()
    if len(expected) == 5_000:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_LEAST", 0)
        made = lister_of(graph, pattern, memory, **options)
    if made is None:
        assert not len(expected)
        return
    lister, entries = made
    lister.rows_of = PartsOnGpu(lister.search, device).rows
    found = [np.empty((0, expected.shape[1]), np.int64)]
    for first, last in pairwise([0, int(cut * entries), entries]):
        found += listed(lister, [roots(first, last)], Bounds(rows=most, work=100))[0]
    as_sets = symmetry == "subgraphs"
    every = np.concatenate(found)
    assert np.array_equal(in_order(every, as_sets=as_sets), in_order(expected, as_sets=as_sets))


@pytest.mark.parametrize("memory", [10_500, 1 << 20])
def test_the_rows_of_a_share_depend_on_it_alone(device: str, memory: int) -> None:
    graph = mf.generate.rmat(scale=6, edges=200, seed=2, directed=False)
    pattern, bounds = "(a)--(b)--(c)--(d)--(a)", Bounds(rows=300, work=1)
    one, other = lister_of(graph, pattern, memory), lister_of(graph, pattern, memory, shards=2, hot=9)
    assert one is not None
    assert other is not None
    for lister, _ in (one, other):
        lister.rows_of = PartsOnGpu(lister.search, device).rows
    left, shares = [roots(0, one[1])], []
    while left:
        shares.append(left)
        _, left, _ = one[0].rows(left, bounds)
    assert len(shares) > 2
    for share in reversed(shares):
        (found, rest, _), (expected, behind, _) = other[0].rows(share, bounds), one[0].rows(share, bounds)
        assert rest == behind
        assert np.array_equal(np.concatenate(found), np.concatenate(expected))


def test_kernels_list_ranges_and_the_cpu_root_arcs_with_many_rows(device: str) -> None:
    graph = mf.Graph.from_edges([(0, leaf) for leaf in range(1, 12)] + [(1, 2), (2, 3)])
    made = lister_of(graph, STAR, 1 << 20)
    assert made is not None
    lister, entries = made
    on_gpu = PartsOnGpu(lister.search, device)
    asked: list[int] = []

    def rows(part: Any, most: int) -> Any:
        asked.append(most)
        return on_gpu.rows(part, most)

    lister.rows_of = rows
    (every,) = listed(lister, [roots(0, entries)], Bounds(rows=10**6, work=10**9))[0]
    assert (asked, on_gpu.by_cpu) == ([10**6], 0)
    found, tasks = listed(lister, [roots(0, entries)], Bounds(rows=50, work=10**9))
    assert tasks > 2
    expected = mf.match(graph, STAR, device="cpu").to_numpy()
    for some in (every, np.concatenate(found)):
        assert np.array_equal(in_order(some, as_sets=False), in_order(expected, as_sets=False))


def test_rows_of_a_part_are_in_ascending_order(device: str) -> None:
    graph = mf.generate.rmat(scale=6, edges=200, seed=2, directed=False)
    made = lister_of(graph, HOUSE, 1 << 20)
    assert made is not None
    lister, entries = made
    on_gpu, seen = PartsOnGpu(lister.search, device), []

    def rows(part: Any, most: int) -> Any:
        seen.append(on_gpu.rows(part, most))
        return seen[-1]

    lister.rows_of = rows
    listed(lister, [roots(0, entries)], Bounds(rows=10**6, work=10**9))
    assert sum(map(len, seen)) > 100
    for block in seen:
        assert block.tolist() == sorted(block.tolist())


def image_counts(
    graph: mf.Graph, pattern: str, memory: int, cut: float, device: str, **options: Any
) -> tuple[NDArray[Any], int]:
    """Return the embeddings at each vertex and query vertex, and the number of parts that the CPU counted."""
    layout, parts = sharded(graph, 3)
    chosen: dict[str, Any] = {"semantics": "isomorphism", "symmetry": "embeddings"}
    request, deadline = make_request(threads=1, **chosen | options), Deadline.after(None)
    query = mf.Pattern.parse(pattern)
    asked = [((vertex,), None) for vertex in range(query.num_vertices)]
    plan = image_plan_of(graph, query, asked, request, deadline, on_gpu=True)
    size, by_cpu = layout.num_vertices, 0
    found = [np.zeros(size, object)] * len(plan.classes)
    for images in ranged_images(graph, query, plan, request, deadline):
        made = Rows(layout, parts, [True, False, False], None, memory // search.SHARE_OF_ROWS)
        number = len(images.classes)
        searched = RangeSearch(made, images.ranged, memory, 1, of_graph=8 * number, of_part=36)
        sums, counts = Sums(number * size), RangeImages(searched, images, size)
        on_gpu = PartsOnGpu(searched, device)
        counts.numbers_of = on_gpu.numbers
        for first, last in pairwise([0, int(cut * layout.entries), layout.entries]):
            searched.each(first, last, None, None, counts.add)
            sums.add(counts.take())
        by_cpu += on_gpu.by_cpu
        for place, at in enumerate(images.classes):
            own = sums.words[place * size : (place + 1) * size]
            found[at] = own.astype(object) * times_of(plan, plan.searches[at], at)
    order = np.argsort(ids_of(graph, layout).all())
    return np.stack([found[number][order] for number in plan.class_of], axis=1), by_cpu


@pytest.mark.turns(8, "emulated")
@settings(max_examples=12)
@given(
    seed=st.integers(0, 10**6),
    directed=st.booleans(),
    semantics=st.sampled_from(["isomorphism", "induced", "homomorphism"]),
    cut=st.floats(0, 1),
    memory=st.sampled_from([9_500, 12_000, 1 << 20]),
)
def test_counts_at_vertices_are_those_of_the_whole_graph(
    device: str, seed: int, directed: bool, semantics: str, cut: float, memory: int
) -> None:
    graph = random_graph(seed, directed=directed)
    pattern = random.Random(seed).choice(PATTERNS + DIRECTED if directed else PATTERNS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_LEAST", 0)
        found, _ = image_counts(graph, pattern, memory, cut, device, semantics=semantics)
    expected = mf.count_per_vertex(graph, pattern, semantics=semantics, device="cpu")
    order = np.argsort(np.asarray(graph.vertex_ids))
    assert np.array_equal(found, expected.counts[order])


@pytest.mark.parametrize("pattern", [TRIANGLE, PATTERNS[2], PATTERNS[3], HOUSE])
def test_kernels_count_at_vertices(device: str, pattern: str) -> None:
    graph = random_graph(5, directed=False)
    found, by_cpu = image_counts(graph, pattern, 1 << 20, 0.5, device)
    expected = mf.count_per_vertex(graph, pattern, device="cpu").counts
    order = np.argsort(np.asarray(graph.vertex_ids))
    assert found.any()
    assert np.array_equal(found, expected[order])
    assert by_cpu == 0


def test_numbers_beyond_those_of_kernels_are_counted_by_the_cpu(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_parts, "too_many", lambda found, places: True)
    graph = random_graph(5, directed=False)
    found, by_cpu = image_counts(graph, TRIANGLE, 1 << 20, 0.5, device)
    expected = mf.count_per_vertex(graph, TRIANGLE, device="cpu").counts
    assert np.array_equal(found, expected[np.argsort(np.asarray(graph.vertex_ids))])
    assert by_cpu > 0


@pytest.mark.turns(8, "emulated")
@settings(max_examples=12)
@given(
    seed=st.integers(0, 10**6),
    directed=st.booleans(),
    semantics=st.sampled_from(["isomorphism", "induced", "homomorphism"]),
    cut=st.floats(0, 1),
    memory=st.sampled_from([20_000, 60_000, 1 << 20]),
    tuning=st.sampled_from([{}, {"specialize": "off"}]),
)
def test_counts_at_edges_are_those_of_the_whole_graph(
    device: str, seed: int, directed: bool, semantics: str, cut: float, memory: int, tuning: dict[str, str]
) -> None:
    graph = random_graph(seed, directed=directed)
    query = mf.Pattern.parse(random.Random(seed).choice(PATTERNS + DIRECTED if directed else PATTERNS))
    assert_numbers_are_those_of_the_whole_graph(
        graph, query, memory, cut, semantics, on_gpu=lambda made: PartsOnGpu(made, device), tuning=tuning
    )


@pytest.mark.parametrize("pattern", [TRIANGLE, PATTERNS[2], PATTERNS[3], HOUSE, STAR, "(a)--(b)"])
def test_kernels_count_at_edges(device: str, pattern: str) -> None:
    graph, query = random_graph(5, directed=False), mf.Pattern.parse(pattern)
    by_cpu = assert_numbers_are_those_of_the_whole_graph(
        graph, query, 1 << 20, 0.5, on_gpu=lambda made: PartsOnGpu(made, device)
    )
    assert by_cpu == 0


@pytest.mark.parametrize("why", ["the range of kernels", "closed forms"])
def test_the_cpu_counts_at_edges_what_kernels_do_not(
    device: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why == "closed forms":  # they save time
        monkeypatch.setattr(planning, "DEVICE_IMAGE_SPEEDS", replace(DEVICE_IMAGE_SPEEDS, start=1e9))
    else:
        monkeypatch.setattr(gpu_parts, "too_many", lambda found, places: True)
    graph, query = random_graph(5, directed=False), mf.Pattern.parse("(a)--(b)--(c)--(d)--(e)")
    by_cpu = assert_numbers_are_those_of_the_whole_graph(
        graph, query, 1 << 20, 0.5, on_gpu=lambda made: PartsOnGpu(made, device)
    )
    assert by_cpu > 0


def with_little_memory(device: str, goal: str) -> None:
    graph, few = random_graph(5, directed=False), 1 << 10
    if goal == "numbers":
        image_counts(graph, TRIANGLE, 1 << 20, 0.5, device, gpu_memory=few)
        return
    made = lister_of(graph, TRIANGLE, 1 << 20, gpu_memory=few)
    assert made is not None
    on_gpu = PartsOnGpu(made[0].search, device)
    use: Any = on_gpu.counted if goal == "counted" else lambda part, *_: on_gpu.rows(part, 9)
    made[0].search.whole(0, made[1], use)


@pytest.mark.parametrize("goal", ["counted", "rows", "numbers"])
def test_too_little_memory_says_what_to_do(device: str, goal: str) -> None:
    with pytest.raises(mf.DeviceMemoryError, match="smaller memory="):
        with_little_memory(device, goal)


def test_native_searches_are_made_for_parts_that_kernels_leave(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [(u, v) for u in range(8) for v in range(8) if u != v and (u * v) % 3 < 2]
    graph = mf.Graph.from_edges(pairs, edge_labels=[(u + v) % 2 for u, v in pairs])
    made: list[Any] = []
    native = RangeSearch._native_search
    monkeypatch.setattr(RangeSearch, "_native_search", lambda *given: made.append(given) or native(*given))
    for pattern, natively in ((TRIANGLE, False), (NEGATED, True)):
        found = lister_of(graph, pattern, 1 << 20)
        assert found is not None
        lister, entries = found
        lister.rows_of = PartsOnGpu(lister.search, device).rows
        made.clear()
        listed(lister, [roots(0, entries)], Bounds(rows=10**6, work=10**9))
        assert bool(made) == natively


@pytest.fixture
def ray(device: str, monkeypatch: pytest.MonkeyPatch) -> InlineRay:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)  # GPUs have the names that it gives them
    return replace_ray(monkeypatch, gpus=len(devices_like(device)))


@pytest.fixture
def cluster(ray: InlineRay) -> Iterator[mf.Cluster]:
    with mf.Cluster() as made:
        yield made


def made_in(cluster: mf.Cluster, folder: Path, memory: str = "1MB") -> tuple[Any, mf.Graph]:
    graph = mf.generate.rmat(scale=6, edges=250, seed=3, directed=False)
    mf.write_graph(graph, folder / "edges.npz")
    return cluster.shard([folder / "edges.npz"], folder / "g", shards=2, memory=memory), graph


def sorted_rows(found: mf.Matches) -> list[list[int]]:
    rows: list[list[int]] = sorted(found.to_numpy().tolist())
    return rows


def of_files(folder: Path) -> list[list[int]]:
    tables = [pq.read_table(path) for path in sorted(folder.glob("*.parquet"))]
    return sorted(list(row.values()) for table in tables for row in table.to_pylist())


def test_a_cluster_lists_rows_of_sharded_graphs_on_gpus(
    ray: InlineRay, cluster: mf.Cluster, device: str, tmp_path: Path
) -> None:
    made, graph = made_in(cluster, tmp_path)
    ray.gpus_asked.clear()
    ray.loses = 0.1
    found = cluster.match(made, [TRIANGLE, HOUSE], device=device)
    assert list(map(sorted_rows, found)) == list(map(sorted_rows, mf.match(graph, [TRIANGLE, HOUSE])))
    assert found[0].device == f"{device}, {cluster._workers.gpus_told}"
    assert set(ray.gpus_asked) == {1}
    every = sorted_rows(mf.match(graph, TRIANGLE))
    for limit in (0, 7, len(every)):
        some = cluster.match(made, TRIANGLE, device=device, limit=limit)
        rows = sorted_rows(some)
        assert (len(rows), some.complete) == (min(limit, len(every)), len(every) <= limit)
        assert all(row in every for row in rows)


def test_queries_of_several_patterns_are_searched_on_gpus(
    ray: InlineRay, cluster: mf.Cluster, device: str, tmp_path: Path
) -> None:
    made, graph = made_in(cluster, tmp_path)
    ray.gpus_asked.clear()
    for query in ("(a)-[*2..3]-(a)", "(a)--(b) OPTIONAL (b)-[:1]-(c)", "(a)--(b), (c)--(d)"):
        found = cluster.count(made, query, device=device)
        assert (found, found.device) == (
            mf.count(graph, query),
            f"{device}, {cluster._workers.gpus_told}, 2 shards",
        )
    parts = "(a)--(b), (c)--(d) WHERE id(a) = 2"
    for query in ("(a)-[p*2..3]-(a)", parts, f"{parts} AND id(c) < id(b)"):
        rows = cluster.match(made, query, device=device, names=True).to_arrow().to_pylist()
        expected = mf.match(graph, query, names=True).to_arrow().to_pylist()
        assert rows
        assert Counter(map(str, rows)) == Counter(map(str, expected))
    assert set(ray.gpus_asked) == {1}


@pytest.mark.parametrize("query", ["(a)--(b)--(c) RETURN DISTINCT c, a", "(a)-[*1..2]-(b) RETURN DISTINCT b"])
def test_cpus_find_distinct_rows(
    ray: InlineRay, cluster: mf.Cluster, device: str, tmp_path: Path, query: str
) -> None:
    made, graph = made_in(cluster, tmp_path)
    ray.gpus_asked.clear()
    expected = sorted_rows(mf.match(graph, query))
    number = cluster.count(made, query, device=device)
    found = cluster.match(made, query, device=device)
    assert number == len(expected)
    assert sorted_rows(found) == expected
    for result in (number, found):
        assert (result.complete, result.device) == (True, "2 CPUs of 1 node, 2 shards")
        assert result.reason == f"the graph is sharded; all rows are listed, by CPUs, not {device!r}"
    cluster.match(made, query, device=device, output=tmp_path / "rows")
    assert of_files(tmp_path / "rows") == expected
    assert set(ray.gpus_asked) == {0}
    both = cluster.count(made, [TRIANGLE, query], device=device)
    assert [int(one) for one in both] == [mf.count(graph, TRIANGLE), len(expected)]
    assert both[0].device == f"{device}, {cluster._workers.gpus_told}, 2 shards"


def test_data_sets_have_each_row_once(
    ray: InlineRay, cluster: mf.Cluster, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (cluster_rows, jobs):
        monkeypatch.setattr(module, "ROWS_OF_TASK", 150)
    made, graph = made_in(cluster, tmp_path)
    expected = sorted_rows(mf.match(graph, TRIANGLE))
    for name, loses in (("one", 0.0), ("two", 0.3)):
        ray.loses = loses
        found = cluster.match(made, TRIANGLE, device=device, output=tmp_path / name, job="a job")
        assert (found.complete, found.rows) == (True, len(expected))
        assert of_files(tmp_path / name) == expected
        assert len(list((tmp_path / name).glob("*.parquet"))) > 1
    with pytest.raises(mf.MotifluxError, match="others: graph"):  # CPUs end tasks elsewhere
        cluster.match(made, TRIANGLE, output=tmp_path / "one", job="a job")


def test_a_cluster_counts_at_the_vertices_of_sharded_graphs_on_gpus(
    ray: InlineRay, cluster: mf.Cluster, device: str, tmp_path: Path
) -> None:
    made, graph = made_in(cluster, tmp_path)
    ray.gpus_asked.clear()
    ray.loses = 0.1
    for pattern in (TRIANGLE, HOUSE):
        found = cluster.count_per_vertex(made, pattern, device=device)
        expected = mf.count_per_vertex(graph, pattern)
        assert dict(zip(found.graph.vertex_ids, found.counts.tolist(), strict=True)) == dict(
            zip(expected.graph.vertex_ids, expected.counts.tolist(), strict=True)
        )
        assert found.device == f"{device}, {cluster._workers.gpus_told}, 2 shards"
    assert set(ray.gpus_asked) == {1}


@pytest.mark.long("emulated")
def test_orbits_of_sharded_graphs_are_counted_on_gpus(
    cluster: mf.Cluster, device: str, tmp_path: Path
) -> None:
    made, graph = made_in(cluster, tmp_path)
    found, expected = cluster.orbits(made, 4, device=device), mf.orbits(graph, 4)
    ordered = [one.counts[np.argsort(np.asarray(one.graph.vertex_ids))] for one in (found, expected)]
    assert np.array_equal(*ordered)


def test_estimates_are_those_of_cpus(
    ray: InlineRay, cluster: mf.Cluster, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "LEAST_ENTRIES", 2)
    monkeypatch.setattr(estimating, "expected_parts", lambda graph, planned: 1e12)
    made, graph = made_in(cluster, tmp_path)
    ray.loses = 0.05
    for samples in (64, None):
        options: dict[str, Any] = {"samples": samples, "seed": 3}
        one = cluster.estimate(made, TRIANGLE, device=device, **options)
        other = cluster.estimate(made, TRIANGLE, **options)
        for name in ("value", "low", "high", "samples", "complete", "estimator"):
            assert getattr(one, name) == getattr(other, name)
        assert one.device == f"{device}, {cluster._workers.gpus_told}"
    monkeypatch.setattr(estimating, "expected_parts", lambda graph, planned: 0.0)
    whole = cluster.estimate(made, TRIANGLE, device=device)
    assert (whole.value, whole.estimator) == (float(mf.count(graph, TRIANGLE)), "exact")


@pytest.mark.parametrize("size", [3, 4])
def test_a_census_of_a_sharded_graph_is_counted_on_gpus(
    ray: InlineRay, cluster: mf.Cluster, device: str, tmp_path: Path, size: int
) -> None:
    made, graph = made_in(cluster, tmp_path)
    ray.gpus_asked.clear()
    assert dict(cluster.census(made, size, device=device)) == dict(mf.census(graph, size))
    assert set(ray.gpus_asked) == {1}
    with pytest.raises(mf.ArgumentError, match="'auto' or 'cpu' for this call"):
        cluster.census(graph, size, device=device)
    with pytest.raises(mf.ArgumentError, match="takes CPUs"):
        cluster.census(graph, size, gpu_memory="1GB")


def test_memory_of_gpus_is_for_calls_on_gpus(cluster: mf.Cluster, device: str, tmp_path: Path) -> None:
    made, _ = made_in(cluster, tmp_path)
    for name in ("count", "match", "estimate", "count_per_vertex", "count_per_edge"):
        call: Any = getattr(cluster, name)
        more = {"output": tmp_path / "rows"} if name == "match" else {}
        with pytest.raises(mf.ArgumentError, match="but for device='cuda'"):
            call(made, TRIANGLE, gpu_memory="1GB")
        with pytest.raises(mf.DeviceMemoryError, match="smaller memory="):
            call(made, TRIANGLE, device=device, gpu_memory=100, **more)


def test_calls_without_gpus_say_so(
    ray: InlineRay, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_ray(monkeypatch)
    with mf.Cluster() as cluster:
        made, _ = made_in(cluster, tmp_path)
        for call in (cluster.match, cluster.estimate, cluster.count_per_vertex, cluster.count_per_edge):
            with pytest.raises(mf.DeviceError, match="none with a GPU"):
                call(made, TRIANGLE, device=device)  # type: ignore[operator]
        for other in (cluster.census, cluster.orbits, cluster.edge_orbits):
            with pytest.raises(mf.DeviceError, match="none with a GPU"):
                other(made, device=device)  # type: ignore[operator]


def test_results_say_who_searched(cluster: mf.Cluster, device: str, tmp_path: Path) -> None:
    made, graph = made_in(cluster, tmp_path)
    compared = "(a)--(b)--(c)--(a) WHERE id(a) < id(b)"
    why = "the graph is sharded; CPUs search its parts: it compares attributes"
    for pattern, reason in ((TRIANGLE, "the graph is sharded"), (compared, why)):
        found = cluster.count(made, pattern, device=device)
        assert (found.reason, found) == (reason, mf.count(graph, pattern))
        assert cluster.match(made, pattern, device=device).reason == reason
        assert cluster.estimate(made, pattern, device=device).reason.startswith(f"{reason}; all of it")
        assert cluster.count_per_vertex(made, pattern, device=device).reason.startswith(f"{reason}; ")


def test_a_task_that_runs_twice_writes_the_same_bytes(
    cluster: mf.Cluster, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (cluster_rows, jobs):
        monkeypatch.setattr(module, "ROWS_OF_TASK", 100)
    wrote: list[bool] = []
    write = row_tasks.write_range

    def twice(*given: Any) -> Any:
        done, path = write(*given), Path(given[3]) / given[4]
        first = path.read_bytes() if done.value[0] else b""
        again = write(*given)
        wrote.append((path.read_bytes() if again.value[0] else b"") == first and again.left == done.left)
        return again

    monkeypatch.setattr(row_tasks, "write_range", twice)
    made, _ = made_in(cluster, tmp_path)
    cluster.match(made, TRIANGLE, device=device, output=tmp_path / "rows")
    assert len(wrote) > 3
    assert all(wrote)


def test_a_job_goes_on_where_it_ended(
    ray: InlineRay, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (cluster_rows, jobs):
        monkeypatch.setattr(module, "ROWS_OF_TASK", 100)
    with mf.Cluster() as cluster:
        _, graph = made_in(cluster, tmp_path)
    calls = 0

    def interrupt() -> None:
        nonlocal calls
        calls += 1
        if calls == 6:
            raise KeyboardInterrupt

    with mf.Cluster() as cluster:
        ray.before = interrupt
        made = cluster.open_sharded(tmp_path / "g", memory="1MB")
        options: Any = {"device": device, "output": tmp_path / "rows", "job": "a job"}
        with pytest.raises(KeyboardInterrupt):
            cluster.match(made, TRIANGLE, **options)
        done = len(list((tmp_path / "rows").glob("*.parquet")))
        assert done > 0
        written = cluster.match(made, TRIANGLE, **options)
    assert written.complete
    assert of_files(tmp_path / "rows") == sorted_rows(mf.match(graph, TRIANGLE))
    assert written.files > done


def test_random_rows_are_those_of_cpus(
    ray: InlineRay, cluster: mf.Cluster, device: str, tmp_path: Path
) -> None:
    made, graph = made_in(cluster, tmp_path)
    every = {tuple(row) for row in sorted_rows(mf.match(graph, HOUSE))}
    ray.gpus_asked.clear()
    ray.loses = 0.05
    found = cluster.sample(made, HOUSE, 40, seed=3, device=device)
    rows = found.to_numpy().tolist()
    assert set(ray.gpus_asked) == {0, 1}  # those that count have one, those that list have none
    assert rows == cluster.sample(made, HOUSE, 40, seed=3).to_numpy().tolist()
    assert {tuple(row) for row in rows} <= every
    assert found.device == f"{device}, {cluster._workers.gpus_told}"
    query = "(a)-[*1..2]-(b) OPTIONAL (b)--(c)"
    of_query, by_cpus = (
        cluster.sample(made, query, 40, seed=3, device=one).to_arrow() for one in (device, "cpu")
    )
    assert of_query.to_pylist() == by_cpus.to_pylist()


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("directed", [False, True])
def test_conditions_on_edges_hold_on_gpus(
    ray: InlineRay, cluster: mf.Cluster, device: str, tmp_path: Path, directed: bool
) -> None:
    paths, vertices, graph = write_files(tmp_path, 1, directed=directed)
    shards = {"vertices": vertices, "shards": 3, "directed": directed, "attributes": None, **NAMES}
    made = cluster.shard(paths, tmp_path / "g", **shards)
    arrow = "->" if directed else "-"
    conditions = ("x.amount > 2", "x.tag IN ['x', 'z']", "x.amount > 2 AND y.tag = 'x'")
    patterns = [f"(a)-[x]{arrow}(b)-[y]{arrow}(c)--(a) WHERE {one}" for one in conditions]
    absent = f"(a)--(b)--(c) WHERE NOT (a)-[{{tag: 'x'}}]{arrow}(c)"
    found = cluster.count(made, [*patterns, absent], device=device)
    assert found == mf.count(graph, [*patterns, absent])
    assert sum(one > 0 for one in found) == 4
    assert [one.reason for one in found[:3]] == ["the graph is sharded"] * 3
    assert "CPUs search its parts: it looks for negated edges" in found[3].reason
    for pattern in (patterns[2], absent):
        rows, listed_here = mf.match(graph, pattern), cluster.match(made, pattern, device=device)
        assert sorted_rows(listed_here) == sorted_rows(rows)
        counts = cluster.count_per_vertex(made, pattern, device=device)
        expected = mf.count_per_vertex(graph, pattern)
        assert np.array_equal(counts.counts, expected.counts[expected.graph.vertex_index(counts.ids)])
        told = cluster.explain(made, pattern, device=device)
        assert ("kernels search their parts" in told) == (pattern != absent)
    compared = f"(a)-[x]{arrow}(b)-[y]-(c) WHERE x.amount < y.amount"
    at_compared = cluster.count_per_edge(made, compared, device=device)
    local = mf.count_per_edge(graph, compared)
    assert at_edges(at_compared.to_arrow(), directed) == at_edges(local.to_arrow(), directed)
    assert "CPUs search its parts: it compares attributes" in at_compared.reason


def test_plans_of_estimates_have_the_order_of_cpus(device: str) -> None:
    graph = mf.generate.rmat(scale=12, edges=60_000, seed=3)
    request, deadline = make_request(semantics="isomorphism", symmetry="embeddings"), Deadline.after(None)
    for text in (HOUSE, "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b), (c)--(f)--(d)", TRIANGLE):
        pattern = mf.Pattern.parse(text)
        on_cpus = planning.ranged(graph, pattern, request, deadline)
        found = planning.ranged(graph, pattern, request, deadline, on_gpu=True, as_on_cpus=True)
        assert on_cpus is not None
        assert found is not None
        plan, other = found.plan, on_cpus.plan
        assert (plan.order, plan.restrictions, plan.multiplier) == (
            other.order,
            other.restrictions,
            other.multiplier,
        )
        assert plan.tail is None or not plan.tail.nested
        if text == HOUSE:
            assert other.tail is not None
            assert other.tail.nested


def test_a_cluster_counts_at_the_edges_of_sharded_graphs_on_gpus(
    ray: InlineRay, cluster: mf.Cluster, device: str, tmp_path: Path
) -> None:
    made, graph = made_in(cluster, tmp_path)
    ray.loses = 0.1
    for pattern in (TRIANGLE, HOUSE):
        ray.gpus_asked.clear()
        found, expected = (
            cluster.count_per_edge(made, pattern, device=device),
            mf.count_per_edge(graph, pattern),
        )
        assert at_edges(found.to_arrow(), False) == at_edges(expected.to_arrow(), False)
        assert found.device == f"{device}, {cluster._workers.gpus_told}, 2 shards"
        assert set(ray.gpus_asked) == {0, 1}  # those that search have one, those that add have none
    assert "CPUs search" not in found.reason
    written = cluster.count_per_edge(made, TRIANGLE, device=device, output=tmp_path / "rows")
    expected = mf.count_per_edge(graph, TRIANGLE)
    assert at_edges(pq.read_table(tmp_path / "rows"), False) == at_edges(expected.to_arrow(), False)
    assert written.complete
    compared = "(a)--(b)--(c)--(a) WHERE id(a) < id(b)"
    by_cpus = cluster.count_per_edge(made, compared, device=device)
    assert "CPUs search its parts: it compares attributes" in by_cpus.reason
    assert at_edges(by_cpus.to_arrow(), False) == at_edges(
        mf.count_per_edge(graph, compared).to_arrow(), False
    )


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("size", [4, pytest.param(5, marks=pytest.mark.long("emulated"))])
def test_orbits_of_edges_of_sharded_graphs_on_gpus(
    ray: InlineRay, cluster: mf.Cluster, device: str, tmp_path: Path, size: int
) -> None:
    made, graph = made_in(cluster, tmp_path)
    found, expected = cluster.edge_orbits(made, size, device=device), mf.edge_orbits(graph, size)
    assert at_edges(found.to_arrow(), False) == at_edges(expected.to_arrow(), False)
    assert found.device == f"{device}, {cluster._workers.gpus_told}, 2 shards"


def test_counts_at_edges_of_whole_graphs_are_refused(
    cluster: mf.Cluster, device: str, tmp_path: Path
) -> None:
    _, graph = made_in(cluster, tmp_path)
    options: Any = {"device": device}
    with pytest.raises(mf.ArgumentError, match="'auto' or 'cpu' for this call"):
        cluster.count_per_edge(graph, TRIANGLE, **options)
