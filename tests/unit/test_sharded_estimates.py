"""Estimates of sharded graphs: exact counts of ranges that are drawn, with intervals."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.cluster.shards import estimating, ranges
from motiflux.cluster.shards.ranges import Ranges
from motiflux.statistics import GROUP, Tally, confidence_interval
from tests.inline_ray import InlineRay, replace_ray

TRIANGLE = "(a)--(b)--(c)--(a)"


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> InlineRay:
    monkeypatch.setattr(ranges, "LEAST_ENTRIES", 4)
    monkeypatch.setattr(estimating, "expected_parts", lambda graph, planned: 1e12)
    return replace_ray(monkeypatch, nodes=2)


def made_in(cluster: mf.Cluster, folder: Path, edges: int = 3_000) -> tuple[Any, mf.Graph]:
    graph = mf.generate.rmat(scale=9, edges=edges, seed=3, directed=False)
    mf.write_graph(graph, folder / "edges.npz")
    return cluster.shard([folder / "edges.npz"], folder / "g", shards=3, memory="1MB"), graph


@pytest.mark.parametrize("entries", [1, 31, 1_000, 123_457])
@pytest.mark.parametrize("each", [1, 8, 100])
def test_each_entry_is_in_one_range(entries: int, each: int) -> None:
    made = Ranges(entries, each)
    bounds = [made.bounds(number) for number in range(GROUP * each)]
    assert (bounds[0][0], bounds[-1][1]) == (0, entries)
    assert all(one[1] == other[0] for one, other in pairwise(bounds))
    for number, (first, last) in enumerate(bounds):
        assert all(made.number_of(entry) == number for entry in {first, last - 1} if first < last)


def test_a_graph_that_has_few_parts_is_counted() -> None:
    made = Ranges.of(1 << 30)
    assert (made.each, Ranges.of(100).each) == (1024, 1)
    assert made.most_groups(2.0) == 0
    assert made.most_groups(200.0) == 6
    assert made.most_groups(2e6) == 1024


def test_groups_have_the_count_as_their_mean() -> None:
    made, draws = Ranges(10_000, 16), np.random.default_rng(1)
    counts = dict(enumerate(draws.integers(0, 1_000, GROUP * 16).tolist()))
    total, tally = sum(counts.values()), Tally()
    seen: set[int] = set()
    for group in range(2_000):
        numbers = made.draw(7, group)
        seen.update(numbers.tolist())
        assert (numbers // 16 == np.arange(GROUP)).all()
        nothing = np.zeros(1, np.uint32)
        tally.add(np.array([made.weight(numbers, counts)]), nothing, nothing)
    assert seen == set(range(GROUP * 16))
    fraction, exponent = tally.mean()
    assert np.ldexp(fraction, exponent) == pytest.approx(total, rel=0.01)
    interval = confidence_interval(tally.moments(), 1 - 1e-9)
    assert interval.low < total < interval.high


@pytest.mark.turns(4)
def test_an_estimate_is_the_same_for_a_seed_and_holds_the_count(ray: InlineRay, tmp_path: Path) -> None:
    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path)
        exact = mf.count(graph, TRIANGLE)
        found = cluster.estimate(made, TRIANGLE, samples=10 * GROUP, seed=5, confidence=0.9999)
        assert (found.samples, found.estimator, found.complete) == (10 * GROUP, "ranges", True)
        assert found.low <= exact <= found.high < 3 * exact
        assert found.low < found.value < found.high
        ray.loses = 0.05
        again = cluster.open_sharded(tmp_path / "g", memory="200KB")
        same = cluster.estimate(again, TRIANGLE, samples=10 * GROUP, seed=5, confidence=0.9999)
        assert (same.value, same.low, same.high) == (found.value, found.low, found.high)
        other = cluster.estimate(again, TRIANGLE, samples=10 * GROUP, seed=6)
        assert other.value != found.value
        halved = cluster.estimate(again, TRIANGLE, samples=10 * GROUP, seed=5, symmetry="subgraphs")
        assert halved.value == pytest.approx(found.value / 6)


@pytest.mark.turns(4)
def test_all_entries_are_counted_where_that_is_less_work(ray: InlineRay, tmp_path: Path) -> None:
    every: list[mf.EstimateProgress] = []
    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path)
        exact = mf.count(graph, TRIANGLE)
        found = cluster.estimate(made, TRIANGLE, rel_error=0.001, progress=every.append)
        points = [one for one in every if not isinstance(one, mf.EstimateCounting)]
        counted = [one for one in every if isinstance(one, mf.EstimateCounting)]
        assert every == [*points, *counted]
        assert [one.done for one in counted] == sorted(one.done for one in counted)
        assert counted[-1].done == counted[-1].total == made.layout.entries
        assert (counted[-1].value, counted[-1].low, counted[-1].high) == (exact, exact, np.inf)
        assert (found.value, found.low, found.high, found.confidence) == (exact, exact, exact, 1.0)
        assert (found.estimator, found.complete) == ("exact", True)
        assert len(points) == len(found.trace) >= 1
        rough = cluster.estimate(made, TRIANGLE, rel_error=0.9, seed=1)
        assert (rough.estimator, rough.complete) == ("ranges", True)
        assert rough.relative_error <= 0.9
        both = cluster.estimate(made, [TRIANGLE, "(a:nothing)--(b)"], samples=10**9)
        assert [one.value for one in both] == [exact, 0]
        late = cluster.estimate(made, TRIANGLE, timeout=0.0)
        assert not late.complete
        assert late.low <= exact <= late.high


def test_ranges_are_drawn_only_if_a_count_is_expected_to_have_more_parts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    replace_ray(monkeypatch, nodes=2)
    monkeypatch.setattr(ranges, "LEAST_ENTRIES", 4)
    house = "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)"
    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path)
        assert made.nbytes < made.memory
        assert cluster.estimate(made, house, samples=GROUP).estimator == "exact"
        made.close()
        small = cluster.open_sharded(tmp_path / "g", memory=made.nbytes // 2)
        told = cluster.explain(small, house).report.predicted
        assert told is not None
        assert told.tasks is not None
        assert told.tasks.shards is not None
        assert told.tasks.shards.parts > 2 * GROUP
        drawn = cluster.estimate(small, house, samples=GROUP)
        assert drawn.estimator == "ranges"
        assert drawn.low <= mf.count(graph, house) <= drawn.high


def test_an_estimate_of_a_query_adds_up_those_of_its_patterns(ray: InlineRay, tmp_path: Path) -> None:
    query = "(a)-[*3..4]-(a)"
    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path)
        exact = mf.count(graph, query)
        found = cluster.estimate(made, query, samples=10 * GROUP, seed=5, confidence=0.9999)
        assert (found.samples, found.estimator, found.complete) == (10 * GROUP, "ranges", True)
        assert found.low <= exact <= found.high
        assert found.low < found.value < found.high
        whole, one = cluster.estimate(made, [query, TRIANGLE], samples=10**9)
        assert (whole.estimator, whole.value, one.value) == ("exact", exact, mf.count(graph, TRIANGLE))
        with pytest.raises(mf.ArgumentError, match="connected patterns"):
            cluster.estimate(made, "(a)--(b), (c)--(d)")
        with pytest.raises(mf.ArgumentError, match="for a sharded graph"):
            cluster.estimate(made, "(a)--(b) OPTIONAL (b)-[*1..2]-(a)")


def test_an_estimate_that_nothing_matches_names_the_device(ray: InlineRay, tmp_path: Path) -> None:
    with mf.Cluster() as cluster:
        made, _ = made_in(cluster, tmp_path, 30)
        none, some = (cluster.estimate(made, one) for one in ("(a:z)--(b)", TRIANGLE))
        assert (none.value, none.device) == (0.0, some.device)


def test_what_an_estimate_of_a_sharded_graph_does_not_have_is_refused(ray: InlineRay, tmp_path: Path) -> None:
    with mf.Cluster() as cluster:
        made, _ = made_in(cluster, tmp_path, 300)
        with pytest.raises(mf.ArgumentError, match=r"estimator: expected 'auto'"):
            cluster.estimate(made, TRIANGLE, estimator="tree")
        with pytest.raises(mf.ArgumentError, match="seed"):
            cluster.estimate(made, TRIANGLE, seed=-1)
        with pytest.raises(mf.ArgumentError, match="rel_error"):
            cluster.estimate(made, TRIANGLE, rel_error=2.0)
        with pytest.raises(mf.PatternError, match=r"vertex attribute .x.: expected one of"):
            cluster.estimate(made, "(a {x: 1})--(b)")
