"""Parts of sharded graphs that a GPU counts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.cluster.shards import gpu_parts
from motiflux.cluster.shards.gpu_parts import PartsOnGpu
from motiflux.device import devices_like
from motiflux.gpu.runtime.launches import Result
from tests.inline_ray import InlineRay, replace_ray
from tests.unit.test_sharded_edge_conditions import NAMES, write_files
from tests.unit.test_sharded_search import DIRECTED, PATTERNS, random_graph, search_of

pytestmark = pytest.mark.devices("emulated", "cuda", reason="these count on a GPU")

STARS = ["(a)--(b), (a)--(c), (a)--(d)", "(a)--(b), (a)--(c), (a)--(d), (d)--(e)"]


@pytest.mark.turns(8, "emulated")
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10**6),
    directed=st.booleans(),
    semantics=st.sampled_from(["isomorphism", "induced", "homomorphism"]),
    symmetry=st.sampled_from(["embeddings", "subgraphs"]),
    cut=st.floats(0, 1),
    memory=st.sampled_from([9_500, 12_000, 1 << 20]),
    tuning=st.sampled_from([{}, {"tail": "off"}, {"specialize": "off"}]),
)
def test_counts_are_those_of_the_whole_graph(
    device: str,
    seed: int,
    directed: bool,
    semantics: str,
    symmetry: str,
    cut: float,
    memory: int,
    tuning: dict[str, str],
) -> None:
    if (semantics, symmetry) == ("homomorphism", "subgraphs"):
        symmetry = "embeddings"
    graph = random_graph(seed, directed=directed)
    patterns = [*(DIRECTED if directed else PATTERNS), *STARS]
    pattern = patterns[seed % len(patterns)]
    options: dict[str, Any] = {"semantics": semantics, "symmetry": symmetry, "tuning": tuning}
    search, layout, multiplier = search_of(graph, pattern, memory, **options)
    found = 0
    if search is not None:
        there, middle = PartsOnGpu(search, device), int(cut * layout.entries)
        for first, last in ((middle, layout.entries), (0, middle)):
            found += search.each(first, last, None, None, there.counted).total
    assert multiplier * found == mf.count(graph, pattern, device="cpu", **options)


@pytest.mark.parametrize("pattern", [PATTERNS[1], PATTERNS[3], PATTERNS[4], PATTERNS[5], STARS[0]])
def test_kernels_count_them(device: str, pattern: str) -> None:
    graph = mf.generate.rmat(scale=6, edges=200, seed=1)
    search, layout, multiplier = search_of(graph, pattern, 11_500)
    assert search is not None
    there, cut = PartsOnGpu(search, device), layout.entries // 3
    found = [search.each(*ends, None, None, there.counted) for ends in ((0, cut), (cut, layout.entries))]
    total = sum(one.total for one in found)
    assert multiplier * total == mf.count(graph, pattern, device="cpu", symmetry="embeddings")
    assert sum(one.parts for one in found) > 1
    assert there.by_cpu == 0


def test_absent_edges_are_looked_for_by_kernels(device: str) -> None:
    graph = random_graph(3, directed=False)
    for pattern, semantics in ((PATTERNS[10], "isomorphism"), (PATTERNS[6], "induced")):
        search, layout, multiplier = search_of(graph, pattern, 1 << 20, semantics=semantics)
        assert search is not None
        there = PartsOnGpu(search, device)
        found = search.each(0, layout.entries, None, None, there.counted)
        options: Any = {"semantics": semantics, "symmetry": "embeddings"}
        assert multiplier * found.total == mf.count(graph, pattern, device="cpu", **options)


def test_a_number_beyond_the_range_of_kernels_is_counted_by_the_cpu(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, run = mf.generate.rmat(scale=6, edges=200, seed=1), gpu_parts.run_job

    def overflow(*given: Any) -> tuple[bool, Result]:
        run(*given)
        return True, Result(3, overflow=True)

    monkeypatch.setattr(gpu_parts, "run_job", overflow)
    search, layout, multiplier = search_of(graph, PATTERNS[1], 1 << 20)
    assert search is not None
    there = PartsOnGpu(search, device)
    found = search.each(0, layout.entries, None, None, there.counted)
    assert multiplier * found.total == mf.count(graph, PATTERNS[1], device="cpu", symmetry="embeddings")
    assert there.by_cpu == found.parts == 1


def test_too_little_memory_says_what_to_do(device: str) -> None:
    graph = mf.generate.rmat(scale=6, edges=200, seed=1)
    search, layout, _ = search_of(graph, PATTERNS[1], 1 << 20, gpu_memory=1 << 10)
    assert search is not None
    with pytest.raises(mf.DeviceMemoryError, match="smaller memory="):
        search.each(0, layout.entries, None, None, PartsOnGpu(search, device).counted)


@pytest.fixture
def ray(device: str, monkeypatch: pytest.MonkeyPatch) -> InlineRay:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)  # GPUs have the names that it gives them
    return replace_ray(monkeypatch, gpus=len(devices_like(device)))


def made_in(cluster: mf.Cluster, folder: Path) -> tuple[Any, mf.Graph]:
    graph = mf.generate.rmat(scale=7, edges=600, seed=3)
    mf.write_graph(graph, folder / "edges.npz")
    return cluster.shard([folder / "edges.npz"], folder / "g", shards=2, memory="1MB"), graph


def test_a_cluster_counts_sharded_graphs_on_gpus(ray: InlineRay, device: str, tmp_path: Path) -> None:
    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path)
        ray.gpus_asked.clear()
        ray.loses = 0.1
        patterns = [PATTERNS[1], PATTERNS[5]]
        found = cluster.count(made, patterns, device=device)
        assert found == mf.count(graph, patterns, device="cpu")
        assert found[0].device == f"{device}, {cluster._workers.gpus_told}, 2 shards"
        assert set(ray.gpus_asked) == {1}
        total = int(found[0])
        for limit in (5, total, total + 1):
            limited = cluster.count(made, PATTERNS[1], device=device, limit=limit)
            assert (limited, limited.complete) == (min(limit, total), total <= limit)
        with pytest.raises(mf.DeviceMemoryError, match="smaller memory="):
            cluster.count(made, PATTERNS[1], device=device, gpu_memory=100)


def test_gpus_count_with_conditions_on_edges(ray: InlineRay, device: str, tmp_path: Path) -> None:
    paths, vertices, graph = write_files(tmp_path, 1, directed=False)
    with mf.Cluster() as cluster:
        made = cluster.shard(
            paths, tmp_path / "g", attributes=None, vertices=vertices, shards=2, memory="1MB", **NAMES
        )
        for pattern in (
            "(a)-[x]-(b)-[y]-(c)--(a) WHERE x.amount > 2 AND y.tag = 'x'",
            "(a:0)-[x]-(b), (a)-[y]-(c), (a)--(d) WHERE x.amount = 3 AND y.amount = 3",
        ):
            expected = mf.count(graph, pattern, device="cpu")
            assert cluster.count(made, pattern, device=device) == expected > 0


def test_cpus_compare_edges_where_tasks_have_gpus(ray: InlineRay, device: str, tmp_path: Path) -> None:
    paths, vertices, graph = write_files(tmp_path, 1, directed=False)
    pattern = "(a)-[x]-(b)-[y]-(c) WHERE x.amount < y.amount"
    with mf.Cluster() as cluster:
        made = cluster.shard(
            paths, tmp_path / "g", attributes=None, vertices=vertices, shards=2, memory="4MB", **NAMES
        )
        found = cluster.count(made, pattern, device=device)
        assert found == mf.count(graph, pattern, device="cpu") > 0
        assert found.reason == "the graph is sharded; CPUs search its parts: it compares attributes"
        rows = cluster.match(made, pattern, device=device).to_numpy().tolist()
        expected_rows = mf.match(graph, pattern, device="cpu").to_numpy().tolist()
        assert Counter(map(tuple, rows)) == Counter(map(tuple, expected_rows))
        at_vertices = cluster.count_per_vertex(made, pattern, device=device)
        expected = mf.count_per_vertex(graph, pattern, device="cpu").counts
        assert np.array_equal(at_vertices.counts, expected[graph.vertex_index(at_vertices.ids)])
        choices = cluster.count(made, pattern, device=device, copies=True)
        assert choices == mf.count(graph, pattern, device="cpu", copies=True) > found
        assert choices.reason == "the graph is sharded; CPUs search its parts: it counts choices of copies"


def test_a_cluster_without_gpus_says_so(
    ray: InlineRay, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_ray(monkeypatch)
    with mf.Cluster() as cluster:
        made, _ = made_in(cluster, tmp_path)
        with pytest.raises(mf.DeviceError, match="none with a GPU"):
            cluster.count(made, PATTERNS[1], device=device)
