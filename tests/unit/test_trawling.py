"""Trawling: slots, what becomes of searches that are given up, and estimates made of samples and slots."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.config import resolve_tuning
from motiflux.cpu.sampling import sample_graph
from motiflux.cpu.trawling import (
    CHUNK,
    DEAD,
    DROPPED,
    LEAST_DEPTH,
    SAMPLED,
    SEARCHED,
    Slots,
    Trawl,
    searches_of,
)
from motiflux.plan.candidates.space import KEPT_SPACES
from motiflux.statistics import UNIT_BITS, Interval, blended_interval, share_by
from tests.interrupts import ctrl_c_in_native_code
from tests.unit.sampling_cases import CASES, SamplingCase, random_graph

LARGE = [case for case in CASES if len(case.plan().order) > LEAST_DEPTH]
MOST = 4.3
PLENTY = 1 << 40


def trawl_of(case: SamplingCase, *, look_every: int = 1, **tuning: str) -> Trawl:
    plan = case.plan(**tuning)
    searches = searches_of(case.graph, plan, 1, resolve_tuning(tuning))
    return Trawl(sample_graph(case.graph, plan, 1), searches, look_every=look_every)


def slots_of(case: SamplingCase, count: int = 64 * CHUNK, seed: int = 3, **more: Any) -> Slots:
    given = {"nodes": PLENTY, "unfinished": "deepen", "threads": 1} | more
    tuning = {name: given.pop(name) for name in ("candidates", "backjump") if name in given}
    return trawl_of(case, **tuning).run(seed, 0, count, **given)


def worth(found: Slots) -> Any:
    return np.ldexp(found.weights, UNIT_BITS)


def distance(values: Any, count: int) -> float:
    """How many standard errors the mean is from the count."""
    error = values.std(ddof=1) / len(values) ** 0.5
    difference = abs(float(values.mean()) - count)
    return 0.0 if difference <= 1e-9 * count else difference / error


def cubic(vertices: int, seed: int) -> mf.Graph:
    """Three random matchings: it looks like a tree nearly everywhere, so walks hardly ever close."""
    random = np.random.default_rng(seed)
    matchings = [random.permutation(vertices).reshape(-1, 2) for _ in range(3)]
    return mf.Graph.from_edges(np.unique(np.sort(np.concatenate(matchings), axis=1), axis=0))


def cycle(size: int) -> mf.Pattern:
    return mf.Pattern.from_edges([(v, (v + 1) % size) for v in range(size)])


CUBIC = cubic(5000, 8)
LONG = cycle(14)
HARD = SamplingCase("hard", CUBIC, LONG)


class TestSlots:
    @pytest.mark.parametrize("nodes", [0, 1, 4, PLENTY])
    @pytest.mark.parametrize("case", LARGE, ids=str)
    def test_have_the_count_for_their_mean(self, case: SamplingCase, nodes: int) -> None:
        for unfinished in ("deepen", "sample"):
            for candidates in ("on", "off"):
                found = slots_of(case, nodes=nodes, unfinished=unfinished, candidates=candidates)
                assert distance(worth(found), case.count()) < MOST, (unfinished, candidates)

    @pytest.mark.long
    @pytest.mark.parametrize("nodes", [1, PLENTY])
    @pytest.mark.parametrize("case", LARGE, ids=str)
    def test_have_it_over_a_thousand_seeds(self, case: SamplingCase, nodes: int) -> None:
        trawl = trawl_of(case)
        means = [
            worth(trawl.run(seed, 0, CHUNK, nodes=nodes, unfinished="deepen", threads=1)).mean()
            for seed in range(1000)
        ]
        assert distance(np.array(means), case.count()) < MOST

    def test_end_in_every_way(self) -> None:
        case = next(case for case in LARGE if case.name == "path")
        plenty, few, none = (slots_of(case, nodes=nodes) for nodes in (PLENTY, 4, 0))
        assert set(plenty.outcomes.tolist()) == {SEARCHED, DEAD, SAMPLED}
        assert (plenty.depths[plenty.outcomes == SAMPLED] == 5).all()
        assert set(few.outcomes.tolist()) == {SEARCHED, DEAD, SAMPLED}
        assert (few.outcomes == SAMPLED).sum() > (plenty.outcomes == SAMPLED).sum()
        assert set(none.outcomes.tolist()) == {DEAD, SAMPLED}
        assert none.work.sum() == 0 < few.work.sum() < plenty.work.sum()

    @pytest.mark.turns(8)
    def test_begin_to_search_at_depths_that_halve(self) -> None:
        clique = mf.Graph.from_edges([(u, v) for v in range(8) for u in range(v)])
        pattern = mf.Pattern.from_edges([(u, v) for v in range(6) for u in range(v)])
        count = 1000 * CHUNK
        found = slots_of(SamplingCase("clique of 6 in 8", clique, pattern), count)
        seen = np.bincount(found.depths, minlength=7)[3:] / count
        wanted = np.array([8, 4, 2, 1]) / 15
        assert (np.abs(seen - wanted) < 4.3 * np.sqrt(wanted * (1 - wanted) / count)).all()
        # There, whatever is sampled extends to as many: each slot is worth the count.
        assert worth(found) == pytest.approx(np.full(count, 20160.0))

    @pytest.mark.parametrize("least", [1, 2])
    def test_may_begin_to_search_sooner(self, least: int) -> None:
        for case in LARGE:
            for nodes in (1, 4, PLENTY):
                found = slots_of(case, nodes=nodes, least=least)
                assert distance(worth(found), case.count()) < MOST
                assert found.depths[found.outcomes == SEARCHED].min(initial=least) >= least
        sooner, later = (slots_of(LARGE[0], least=first).depths.mean() for first in (1, 3))
        assert sooner < later

    def test_are_the_same_on_any_threads_in_any_pieces(self) -> None:
        trawl = trawl_of(HARD, look_every=64)
        one = trawl.run(5, 0, 8 * CHUNK, nodes=2000, unfinished="deepen", threads=1)
        two = trawl.run(5, 0, 8 * CHUNK, nodes=2000, unfinished="deepen", threads=3)
        rest = trawl.run(5, 5 * CHUNK, 3 * CHUNK, nodes=2000, unfinished="deepen", threads=2)
        for mine, theirs, tail in zip(one, two, rest, strict=True):
            assert np.array_equal(mine, theirs)
            assert np.array_equal(mine[5 * CHUNK :], tail)
        assert (one.outcomes == SEARCHED).sum() > 100

    def test_keep_to_their_budget(self) -> None:
        found = trawl_of(HARD, look_every=64).run(5, 0, 8 * CHUNK, nodes=100, unfinished="deepen", threads=1)
        chunks = found.work.reshape(8, CHUNK).sum(axis=1)
        assert (chunks <= 100 * CHUNK).all()
        assert (chunks > 50 * CHUNK).any()

    def test_that_are_ended_before_they_begin_are_samples(self) -> None:
        case = next(case for case in LARGE if case.name == "bowtie")
        for cut in ("end", "timeout"):
            trawl = trawl_of(case)
            if cut == "end":
                trawl.end()
            found = trawl.run(
                1, 0, 64 * CHUNK, nodes=PLENTY, unfinished="deepen", threads=1,
                timeout=0 if cut == "timeout" else None,
            )  # fmt: skip
            assert found.work.sum() == 0
            assert distance(worth(found), case.count()) < MOST

    def test_left_out_make_estimates_too_low(self) -> None:
        """What the paper does: searches that take long are those that find much."""
        graph = random_graph(7, 60, 150)
        case = SamplingCase("paths around hubs", graph, mf.Pattern.parse("(a)--(b)--(c)--(d)--(e)--(f)"))
        count = case.count()
        fair = worth(slots_of(case, 200 * CHUNK, nodes=2, unfinished="deepen"))
        kept = slots_of(case, 200 * CHUNK, nodes=2, unfinished="drop")
        assert (kept.outcomes == DROPPED).any()
        assert distance(fair, count) < MOST
        assert worth(kept)[kept.outcomes != DROPPED].mean() < 0.8 * count

    @pytest.mark.parametrize("backjump", ["auto", "off"])
    def test_of_what_is_not_there_are_worth_nothing(self, backjump: str) -> None:
        tree = mf.Graph.from_edges([(v, (v - 1) // 2) for v in range(1, 127)])
        found = slots_of(
            SamplingCase("square in a tree", tree, cycle(4)), backjump=backjump, candidates="off"
        )
        assert not found.weights.any()

    def test_refuse_what_makes_no_sense(self) -> None:
        trawl = trawl_of(LARGE[0])
        with pytest.raises(ValueError, match="chunks of 64"):
            trawl.run(0, 1, CHUNK, nodes=1, unfinished="deepen", threads=1)
        with pytest.raises(ValueError, match="threads"):
            trawl.run(0, 0, CHUNK, nodes=1, unfinished="deepen", threads=0)
        with pytest.raises(ValueError, match="nodes"):
            trawl.run(0, 0, CHUNK, nodes=2**60, unfinished="deepen", threads=1)


ON = {"count_first": "off", "trawling": "on"}


class TestEstimates:
    @pytest.mark.turns(8)
    def test_that_no_sample_answers_are_answered(self) -> None:
        count = int(mf.count(CUBIC, LONG))
        given = {"samples": 512, "estimator": "wanderjoin"}
        more = {"trawl_nodes": "65536"}
        unanswered = 0
        for seed in range(4):
            alone = mf.estimate(CUBIC, LONG, seed=seed, tuning={"trawling": "off"}, **given)
            assert alone.trawled is None
            found = mf.estimate(CUBIC, LONG, seed=seed, tuning=more, **given)
            assert found.sampled == alone.value
            assert found.trawled is not None
            assert found.trawled.searched > 100
            assert count / 3 < found.trawled.value < 3 * count
            assert found.trawled.low < count < found.trawled.high
            if alone.valid_samples == 0:
                unanswered += 1
                assert found.low < count < found.high
                assert found.value == pytest.approx(found.trawled.value, rel=0.5)
        assert unanswered > 1

    def test_what_a_search_is_soon_done_with_is_counted(self) -> None:
        labels = [0 if v % 40 else 1 for v in range(5000)]
        rows = CUBIC.to_edges()
        graph = mf.Graph.from_edges((rows.src, rows.dst), vertex_labels=labels)
        pattern = mf.Pattern.from_edges(
            [(v, (v + 1) % 12) for v in range(12)], vertex_labels=[1, *[None] * 5, 1, *[None] * 5]
        )
        count = int(mf.count(graph, pattern))
        for symmetry, images in (("embeddings", 1), ("subgraphs", 4)):
            found = mf.estimate(graph, pattern, samples=10**6, symmetry=symmetry, tuning={"trawling": "on"})
            assert (found.estimator, found.samples, found.confidence) == ("exact", 0, 1.0)
            assert found.value == found.low == found.high == found.sampled == count // images

    def test_are_between_their_parts(self) -> None:
        found = mf.estimate(CUBIC, LONG, samples=40_000, estimator="alley", seed=1, tuning=ON)
        assert found.trawled is not None
        assert 0 < found.trawled.share < 1
        assert found.low <= found.value <= found.high
        assert min(found.sampled, found.trawled.value) / 2 < found.value
        assert found.value < 2 * max(found.sampled, found.trawled.value)

    def test_are_the_same_for_a_seed_on_any_threads(self) -> None:
        given = {"samples": 20_000, "estimator": "alley", "seed": 11, "tuning": ON}
        one, two = (mf.estimate(CUBIC, LONG, threads=threads, **given) for threads in (1, 3))
        assert one.value == two.value
        assert one.trawled == two.trawled
        other = mf.estimate(CUBIC, LONG, threads=1, **{**given, "seed": 12})
        assert other.trawled != one.trawled

    @pytest.mark.parametrize("seeds", [30, pytest.param(1000, marks=pytest.mark.long)])
    @pytest.mark.parametrize("case", LARGE, ids=str)
    def test_have_the_count_for_their_mean(self, case: SamplingCase, seeds: int) -> None:
        values = [
            mf.estimate(
                case.graph,
                case.pattern,
                semantics=case.semantics,
                samples=256,
                seed=seed,
                threads=1,
                tuning=ON,
            ).value
            for seed in range(seeds)
        ]
        assert distance(np.array(values), case.count()) < MOST

    def test_of_subgraphs_are_divided(self) -> None:
        given = {"samples": 4096, "estimator": "alley", "tuning": ON}
        whole = mf.estimate(CUBIC, LONG, **given)
        part = mf.estimate(CUBIC, LONG, symmetry="subgraphs", **given)
        assert whole.trawled is not None
        assert part.trawled is not None
        assert part.value == pytest.approx(whole.value / 28)
        assert part.trawled.value == pytest.approx(whole.trawled.value / 28)

    def test_small_patterns_are_counted(self) -> None:
        graph = random_graph(1, 14, 40)
        triangle = "(a)--(b)--(c)--(a)"
        found = mf.estimate(graph, triangle, tuning=ON)
        assert found.estimator == "exact"
        assert found.value == found.low == found.high == int(mf.count(graph, triangle))
        assert mf.estimate(graph, triangle).estimator != "exact"

    def test_are_not_trawled_where_samples_do(self) -> None:
        graph = random_graph(1, 14, 40)
        found = mf.estimate(graph, "(a)--(b)--(c)--(d)", samples=1000, tuning={"count_first": "off"})
        assert found.samples > 0
        assert found.trawled is None

    def test_stop_at_the_error_that_was_asked_for(self) -> None:
        case = next(case for case in LARGE if case.name == "bowtie")
        found = mf.estimate(case.graph, case.pattern, rel_error=0.05, tuning=ON)
        assert found.complete
        assert found.trawled is not None
        assert found.trawled.slots >= CHUNK
        assert abs(found.value - case.count()) < 0.1 * case.count()

    def test_keep_to_a_timeout(self) -> None:
        tuning = {**ON, "trawl_nodes": "1048576", "trawl_samples": "4096"}
        found = mf.estimate(CUBIC, cycle(24), samples=10**9, estimator="alley", timeout=0.5, tuning=tuning)
        assert not found.complete
        assert found.trawled is not None

    def test_an_interrupt_ends_them_soon(self) -> None:
        before = threading.active_count()
        tuning = {**ON, "trawl_nodes": "1048576", "trawl_samples": "4096"}
        with pytest.raises(KeyboardInterrupt), ctrl_c_in_native_code():
            mf.estimate(CUBIC, cycle(24), samples=10**10, estimator="alley", tuning=tuning)
        assert threading.active_count() == before
        assert int(mf.count(CUBIC, cycle(4))) >= 0


class TestBlends:
    def test_of_equal_intervals_are_narrower(self) -> None:
        found = blended_interval(10.0, 10.0, Interval(8.0, 13.0), Interval(8.0, 13.0), 0.5)
        assert found.low == pytest.approx(10 - 2**0.5)
        assert found.high == pytest.approx(10 + 3 / 2**0.5)

    def test_of_what_has_no_end_have_none(self) -> None:
        found = blended_interval(10.0, 20.0, Interval(8.0, float("inf")), Interval(19.0, 21.0), 0.9)
        assert found.high == float("inf")
        assert 0 < found.low < 19

    def test_have_more_of_what_has_seen_more(self) -> None:
        assert share_by((0.0, 0.0), (0.0, 0.0)) == 0.5
        assert share_by((0.0, 0.0), (7.0, 30.0)) == 1
        assert share_by((7.0, 30.0), (0.0, 0.0)) == 0
        assert share_by((10.0, 30.0), (10.0, 10.0)) == pytest.approx(0.25)
        assert share_by((1e308, 1e300), (1.0, 1.0)) == 0.5

    def test_believe_little_of_what_little_says(self) -> None:
        """One slot that found something is no reason to throw away what the other half's samples say."""
        assert share_by((0.0, 0.0), (7.0, 1.0)) == pytest.approx(0.55)
        assert share_by((7.0, 5.0), (0.0, 0.0)) == pytest.approx(0.25)


def test_searches_over_other_candidates_than_those_sampled_are_refused() -> None:
    path = mf.Graph.from_edges([(0, 1), (1, 2)], num_vertices=4, vertex_labels=[0, 1, 0, 0])
    case = SamplingCase("path", path, "(a:0)--(b:1)--(c:0)")
    sampled = sample_graph(path, case.plan(), 1)
    wider = case.plan(rounds="0", degrees="off", cycles="0")
    with pytest.raises(ValueError, match="other values"):
        Trawl(sampled, searches_of(path, wider, 1, resolve_tuning({})))


def test_searches_over_the_same_candidates_made_anew_are_taken() -> None:
    path = mf.Graph.from_edges([(0, 1), (1, 2), (2, 3)], vertex_labels=[0, 1, 0, 1])
    case = SamplingCase("path", path, "(a:0)--(b:1)--(c:0)")
    sampled = sample_graph(path, case.plan(), 1)
    path.memo.drop(KEPT_SPACES)
    found = Trawl(sampled, searches_of(path, case.plan(), 1, resolve_tuning({})))
    assert found.count_all(PLENTY, threads=1) == 2
