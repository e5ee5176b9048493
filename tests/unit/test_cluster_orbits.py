"""Orbits of sharded graphs and counts at edges on clusters; tasks run in this process (`inline_ray`)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.cluster.shards import orbits, search, sharded
from tests.inline_ray import InlineRay, replace_ray
from tests.unit.test_sharded_calls import PATTERNS, made_in


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> InlineRay:
    monkeypatch.setattr(search, "_FIRST", 64)
    monkeypatch.setattr(sharded, "_HOT", 200)
    return replace_ray(monkeypatch, nodes=2)


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("size", "directed"), [(3, False), (4, False), (4, True), pytest.param(5, False, marks=pytest.mark.long)]
)
def test_orbits_of_a_sharded_graph_are_those_of_the_whole_one(
    ray: InlineRay, tmp_path: Path, size: int, directed: bool
) -> None:
    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path, 7, directed=directed)
        ray.loses = 0.02
        found, expected = cluster.orbits(made, size), mf.orbits(graph, size)
        assert np.array_equal(found.counts, expected.counts[graph.vertex_index(found.ids)])
        assert (found.columns, found.complete) == (expected.columns, True)
        assert found.engine == "cluster"


def test_orbits_have_the_reasons_of_all_graphlets(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = iter(["the graph is sharded; by rooted searches", "the graph is sharded; by listing"] * 5)

    def count(*given: Any, **options: Any) -> mf.VertexCounts:
        return replace(mf.count_per_vertex(*given, **options), reason=next(told))

    monkeypatch.setattr(orbits, "count_per_vertex", count)
    with mf.Cluster() as cluster:
        made, _ = made_in(cluster, tmp_path, 7)
        assert cluster.orbits(made).reason == "the graph is sharded; by rooted searches; by listing"


def test_orbits_that_ended_early_are_zeros(ray: InlineRay, tmp_path: Path) -> None:
    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path, 7)
        found = cluster.orbits(made, timeout=0.0)
        assert (found.complete, found.counts.shape, int(found.counts.sum())) == (False, (30, 15), 0)
        wrong: Any = graph
        with pytest.raises(mf.ArgumentError, match=r"motiflux\.orbits takes others"):
            cluster.orbits(wrong)
        options: Any = {"directed": True}
        with pytest.raises(mf.ArgumentError, match="directed"):
            cluster.orbits(made, **options)
        with pytest.raises(mf.ArgumentError, match="size"):
            cluster.orbits(made, 6)


@pytest.mark.parametrize("directed", [False, True])
def test_counts_at_edges_are_those_of_one_machine(ray: InlineRay, tmp_path: Path, directed: bool) -> None:
    with mf.Cluster() as cluster:
        _, graph = made_in(cluster, tmp_path, 7, directed=directed)
        ray.loses = 0.05
        for pattern in PATTERNS:
            found, expected = cluster.count_per_edge(graph, pattern), mf.count_per_edge(graph, pattern)
            assert np.array_equal(found.counts, expected.counts)
            assert (found.engine, found.complete) == ("cluster", True)
