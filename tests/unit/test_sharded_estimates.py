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
from motiflux.result.partial import partial_result
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
        with pytest.raises(mf.ArgumentError, match="for a sharded graph"):
            cluster.estimate(made, "(a)--(b) OPTIONAL (b)-[*1..2]-(a)")


PARTS = "(a)--(b), (c)--(d)"


@pytest.mark.turns(2)
@pytest.mark.parametrize("query", [PARTS, f"{PARTS} WHERE NOT (a)--(c)", "(a)-[*1..2]-(b), (c)--(d)"])
def test_products_of_estimates_hold_the_count(ray: InlineRay, tmp_path: Path, query: str) -> None:
    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path)
        for options in ({}, {"symmetry": "subgraphs"}, {"semantics": "homomorphism"}):
            exact = mf.count(graph, query, **options)
            given: dict[str, Any] = {"samples": 24 * GROUP, "confidence": 0.9999, **options}
            found, other = (cluster.estimate(made, query, seed=seed, **given) for seed in (1, 2))
            for one in (found, other):
                assert (one.estimator, one.complete, one.confidence) == ("ranges", True, 0.9999)
                assert one.low < one.value < one.high
                assert one.low <= exact <= one.high
                assert one.reason is not None
                assert "estimates that hold at once" in one.reason
            assert found.value != other.value
        ray.loses = 0.05
        again = cluster.estimate(made, query, seed=1, **given)
        assert (again.value, again.low, again.high) == (found.value, found.low, found.high)


@pytest.mark.turns(2)
def test_a_relative_error_holds_for_products(ray: InlineRay, tmp_path: Path) -> None:
    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path, 9_000)
        exact = mf.count(graph, PARTS)
        found = cluster.estimate(made, PARTS, rel_error=0.9, seed=1)
        assert (found.estimator, found.complete, found.confidence) == ("ranges", True, 0.95)
        assert found.relative_error <= 0.9
        assert found.low <= exact <= found.high


def test_samples_that_tell_too_little_of_parts_have_all_counted(ray: InlineRay, tmp_path: Path) -> None:
    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path)
        exact = mf.count(graph, PARTS)
        few = cluster.estimate(made, PARTS, samples=GROUP)
        assert (few.estimator, few.complete, few.samples) == ("ranges", True, 3 * GROUP)
        assert few.low <= exact <= few.high
        wanted = cluster.estimate(made, PARTS, samples=3 * GROUP, rel_error=0.1)
        assert (wanted.value, wanted.low, wanted.high, wanted.estimator) == (exact, exact, exact, "exact")
        assert wanted.reason is not None
        assert wanted.reason.endswith("samples told too little")
        precise = cluster.estimate(made, PARTS, rel_error=0.001)
        assert (precise.value, precise.low, precise.high, precise.estimator) == (exact, exact, exact, "exact")


def test_parts_that_are_not_connected_are_counted(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = PARTS
    monkeypatch.setattr(estimating, "expected_parts", lambda graph, planned: 1.0)
    every: list[mf.EstimateProgress] = []
    with mf.Cluster() as cluster:
        made, graph = made_in(cluster, tmp_path)
        for symmetry, semantics in (
            ("embeddings", "isomorphism"),
            ("subgraphs", "isomorphism"),
            ("embeddings", "homomorphism"),
        ):
            options: dict[str, Any] = {"symmetry": symmetry, "semantics": semantics}
            exact = int(mf.count(graph, query, **options))
            found = cluster.estimate(made, query, samples=GROUP, progress=every.append, **options)
            assert (found.value, found.low, found.high, found.confidence) == (exact, exact, exact, 1.0)
            assert (found.estimator, found.complete, found.samples) == ("exact", True, 0)
            assert found.device == cluster.estimate(made, TRIANGLE, samples=GROUP).device
            assert found.reason is not None
            assert found.reason.endswith("all of it was counted, which takes less time than samples")
        assert all(isinstance(one, mf.EstimateCounting) for one in every)
        assert every[-1].done == every[-1].total  # type: ignore[attr-defined]
        late = cluster.estimate(made, query, timeout=0.0)
        assert (late.low, late.high, late.complete, late.estimator) == (0.0, np.inf, False, "none")
        assert late.warning == "time was up before all patterns were counted"
        paths = "(a)-[*1..2]-(b), (c)--(d) WHERE NOT (a)--(c)"
        both = cluster.estimate(made, [paths, TRIANGLE], samples=10**9)
        assert [one.value for one in both] == mf.count(graph, [paths, TRIANGLE])
        with pytest.raises(mf.ArgumentError, match="semantics: expected 'isomorphism' or 'homomorphism'"):
            cluster.estimate(made, query, semantics="induced")
        with pytest.raises(mf.ArgumentError, match="one connected part beside OPTIONAL"):
            cluster.estimate(made, f"{query} OPTIONAL (b)--(e)")


def test_an_interrupted_count_of_parts_is_no_estimate(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(point: mf.EstimateProgress) -> None:
        raise KeyboardInterrupt

    with mf.Cluster() as cluster:
        made, _ = made_in(cluster, tmp_path, 300)
        for parts in (1e12, 1.0):  # drawn, and counted
            monkeypatch.setattr(estimating, "expected_parts", lambda graph, planned, parts=parts: parts)
            with pytest.raises(KeyboardInterrupt) as caught:
                cluster.estimate(made, PARTS, progress=interrupt)
            assert partial_result(caught.value) is None


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
