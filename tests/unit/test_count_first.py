"""The exact count before samples: its budgets, and estimates that it ends."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.config import resolve_tuning
from motiflux.cpu.sampling import sample_graph
from motiflux.cpu.trawling import Trawl, searches_of
from motiflux.request.request import make_request
from motiflux.result.sample_groups import Groups
from motiflux.sampling import count_first
from motiflux.sampling.call import EstimateCall
from motiflux.sampling.count_first import CountFirst, expected_work
from motiflux.sampling.pilot import Pilot
from motiflux.sampling.samplers import plan_samples
from motiflux.sampling.stopping import make_rules
from tests.unit.sampling_cases import random_graph
from tests.unit.test_estimate import numbers
from tests.unit.test_trawling import LARGE, trawl_of

GRAPH = random_graph(7, 60, 300, labels=3)
HOUSE = "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)"


class TestGoingOn:
    def test_what_is_done_stays_done(self) -> None:
        case = LARGE[0]
        trawl, nodes = trawl_of(case), 1
        while (found := trawl.count_all(nodes)) is None:
            nodes *= 2
        assert found == case.count()
        assert nodes > 1

    def test_whether_it_does_is_the_same_on_any_number_of_threads(self) -> None:
        """The least work that does, by halving: each count is begun anew, of nine pieces."""
        request = make_request(
            semantics="isomorphism",
            symmetry="embeddings",
            device="cpu",
            timeout=None,
            threads=1,
            gpu_memory=None,
            tuning=None,
        )
        plan = plan_samples(GRAPH, mf.Pattern.parse(HOUSE), request, None)
        candidates = sample_graph(GRAPH, plan, 1)
        searches = searches_of(GRAPH, plan, 1, request.tuning)
        count = int(mf.count(GRAPH, HOUSE))

        def counted(nodes: int, threads: int) -> int | None:
            return Trawl(candidates, searches, look_every=1).count_all(nodes, threads=threads)

        def least(threads: int) -> int:
            too_few, enough = 0, 1 << 30
            while enough - too_few > 1:
                middle = (too_few + enough) // 2
                found = counted(middle, threads)
                too_few, enough = (middle, enough) if found is None else (too_few, middle)
            assert counted(enough, threads) == count
            return enough

        alone = least(1)
        assert alone > 1000
        for threads in (2, 3, 8):
            assert counted(alone, threads) == count
            assert counted(alone - 1, threads) is None


def pilot_of(weights: list[float], work: int) -> Pilot:
    array = np.array(weights)
    return Pilot("tree", Groups(array, (array > 0).astype(np.uint32), np.full(len(array), work, np.uint32)))


class TestExpectedWork:
    EVEN = [1.0, 3.0] * 32
    """A relative variance of 1/4."""

    def test_is_that_of_all_samples_where_these_are_asked_for(self) -> None:
        assert expected_work(make_rules(None, 0.95, 3200), pilot_of(self.EVEN, 7)) == 700

    def test_grows_with_the_variance_and_the_square_of_the_error(self) -> None:
        pilot = pilot_of(self.EVEN, 10)
        found = [expected_work(make_rules(error, 0.95, None), pilot) for error in (0.01, 0.005)]
        assert found[0] == pytest.approx(10 * 0.25 * (1.959964 / 0.01) ** 2, rel=1e-6)
        assert found[1] == pytest.approx(4 * found[0])

    def test_is_within_the_first_look_and_all_samples(self) -> None:
        pilot = pilot_of(self.EVEN, 10)
        assert expected_work(make_rules(0.9, 0.95, None), pilot) == 10 * 256
        assert expected_work(make_rules(0.001, 0.95, 32_000), pilot) == 10 * 1000

    def test_of_a_pilot_without_an_embedding_is_as_if_one_group_had_one(self) -> None:
        rules = make_rules(0.05, 0.95, None)
        none, one = (expected_work(rules, pilot_of([last, *[0.0] * 63], 10)) for last in (0.0, 1.0))
        assert none == pytest.approx(one, rel=0.05)

    def test_without_a_pilot_is_unknown(self) -> None:
        assert expected_work(make_rules(0.05, 0.95, None), Pilot("tree")) == 0


class Counted:
    """Stands for a trawl: keeps its arguments."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, float | None, int]] = []

    def count_all(self, nodes: int, timeout: float | None, threads: int = 1) -> int | None:
        self.asked.append((nodes, timeout, threads))
        return 42


def count_of(
    monkeypatch: pytest.MonkeyPatch, *, timeout: float | None = None, **rules: Any
) -> tuple[CountFirst, Counted]:
    trawl = Counted()
    monkeypatch.setattr(count_first, "Trawl", lambda *_: trawl)
    monkeypatch.setattr(count_first, "searches_of", lambda *_: [])
    request: Any = SimpleNamespace(threads=3, tuning=resolve_tuning({}), timeout=timeout)
    nothing: Any = SimpleNamespace(candidates=None)
    made = make_rules(rules.get("rel_error"), 0.95, rules.get("samples"))
    call = EstimateCall(GRAPH, nothing, request, made, "auto", 0, time.perf_counter())
    return CountFirst(call, nothing, nothing), trawl


class TestBudgets:
    LITTLE = [1.0, *[0.0] * 63]

    def test_are_small_before_the_pilot_and_smaller_for_few_samples(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for samples, nodes in ((10**6, 1 << 19), (320, 8 * 320)):
            count, trawl = count_of(monkeypatch, samples=samples)
            assert count.count_briefly() == 42
            assert trawl.asked == [(nodes, None, 1)]

    def test_are_the_work_of_the_samples_after_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        count, trawl = count_of(monkeypatch, rel_error=0.01)
        pilot = pilot_of(TestExpectedWork.EVEN, 1000)
        assert count.count_longer(pilot) == 42
        work = expected_work(make_rules(0.01, 0.95, None), pilot)
        assert trawl.asked == [(int(work), None, 3)]

    def test_end_with_a_share_of_the_time_and_at_a_maximum(self, monkeypatch: pytest.MonkeyPatch) -> None:
        count, trawl = count_of(monkeypatch, rel_error=0.001, timeout=100.0)
        count.count_longer(pilot_of(self.LITTLE, 10**6))
        ((nodes, timeout, _),) = trawl.asked
        assert nodes == count_first._MOST_NODES
        assert timeout == pytest.approx(25, abs=1)

    def test_there_is_none_where_samples_are_soon_drawn(self, monkeypatch: pytest.MonkeyPatch) -> None:
        count, trawl = count_of(monkeypatch, rel_error=0.3)
        assert count.count_longer(pilot_of(TestExpectedWork.EVEN, 100)) is None
        assert trawl.asked == []

    def test_there_is_none_where_samples_were_asked_for_and_find_something(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        count, trawl = count_of(monkeypatch, samples=10**9)
        assert count.count_longer(pilot_of(TestExpectedWork.EVEN, 1000)) is None
        assert trawl.asked == []
        assert count.count_longer(pilot_of(self.LITTLE, 1000)) == 42


class TestEstimates:
    @pytest.fixture(autouse=True)
    def _hardly_any_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Counts that take more in a test would take long."""
        monkeypatch.setattr(count_first, "_BRIEF_NODES", 64)
        monkeypatch.setattr(count_first, "_LEAST_WORK", 1 << 12)

    def test_are_counts_where_samples_take_longer(self) -> None:
        exact = int(mf.count(GRAPH, HOUSE))
        given: dict[str, Any] = {"rel_error": 0.001, "samples": 10**6, "device": "cpu"}
        found = mf.estimate(GRAPH, HOUSE, **given)
        assert (found.estimator, found.value, found.low, found.high) == ("exact", exact, exact, exact)
        assert found.complete
        folded = mf.estimate(GRAPH, HOUSE, symmetry="subgraphs", **given)
        assert (folded.estimator, folded.value) == (
            "exact",
            int(mf.count(GRAPH, HOUSE, symmetry="subgraphs")),
        )
        sampled = mf.estimate(GRAPH, HOUSE, tuning={"count_first": "off"}, **given)
        assert sampled.samples == 10**6
        assert not sampled.complete

    @pytest.mark.parametrize("rel_error", [0.3, 0.03, 0.01])
    def test_are_the_same_on_any_number_of_threads(self, rel_error: float) -> None:
        ours, theirs = (
            mf.estimate(GRAPH, HOUSE, rel_error=rel_error, threads=threads, device="cpu")
            for threads in (1, 3)
        )
        assert numbers(ours) == numbers(theirs)
        assert ours.estimator == theirs.estimator

    def test_are_the_samples_where_these_are_sooner_done(self) -> None:
        found = mf.estimate(GRAPH, HOUSE, rel_error=0.3, device="cpu")
        alone = mf.estimate(GRAPH, HOUSE, rel_error=0.3, device="cpu", tuning={"count_first": "off"})
        assert found.samples > 0
        assert numbers(found) == numbers(alone)

    def test_are_counts_before_trawling(self) -> None:
        found = mf.estimate(GRAPH, HOUSE, rel_error=0.001, device="cpu", tuning={"trawling": "on"})
        assert (found.estimator, found.value) == ("exact", int(mf.count(GRAPH, HOUSE)))

    @pytest.mark.parametrize(
        "given",
        [{"samples": 32_000}, {"rel_error": 0.05, "estimator": "tree"}],
        ids=["samples", "estimator"],
    )
    def test_are_not_counted_where_samples_were_asked_for(self, given: dict[str, Any]) -> None:
        assert mf.estimate(GRAPH, HOUSE, device="cpu", **given).samples > 0

    def test_leave_no_thread_behind(self) -> None:
        before = threading.active_count()
        mf.estimate(GRAPH, HOUSE, rel_error=0.01, device="cpu")
        assert threading.active_count() == before
