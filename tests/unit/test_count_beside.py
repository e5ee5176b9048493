"""Counting on beside the samples, where an estimate to a relative error takes long."""

from __future__ import annotations

import threading
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

import motiflux as mf
from motiflux.config import private_tuning, resolve_tuning
from motiflux.cpu.sampling import sample_graph
from motiflux.cpu.trawling import Trawl, searches_of
from motiflux.request.request import make_request
from motiflux.sampling import count_beside
from motiflux.sampling.count_beside import CountBeside
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


class Counted:
    """Stands for a trawl: keeps what it was asked for."""

    def __init__(self, needed: int) -> None:
        self.needed = needed
        self.asked: list[int] = []
        self.may_end = threading.Event()
        self.may_end.set()

    def count_all(self, nodes: int, timeout: float | None, threads: int = 1) -> int | None:
        self.may_end.wait(10)
        self.asked.append(nodes)
        return 42 if nodes >= self.needed else None

    def end(self) -> None:
        self.may_end.set()


def beside(
    monkeypatch: pytest.MonkeyPatch, trawl: Counted, *, device: str = "cpu", rel_error: float | None = 0.01
) -> CountBeside:
    monkeypatch.setattr(count_beside, "Trawl", lambda *_: trawl)
    monkeypatch.setattr(count_beside, "searches_of", lambda *_: [])
    request: Any = SimpleNamespace(threads=1, tuning=resolve_tuning({}))
    sampler: Any = SimpleNamespace(candidates=None, device=device)
    rules = make_rules(rel_error, 0.95, None if rel_error else 10**6)
    nothing: Any = None
    return CountBeside(sampler, nothing, nothing, request, rules)


class TestBudgets:
    def test_grow_with_the_work_of_the_samples(self, monkeypatch: pytest.MonkeyPatch) -> None:
        trawl = Counted(10**9)
        count = beside(monkeypatch, trawl)
        assert count.begin(None) is None
        of_group = 10**5
        for groups in range(1, 20_000, 100):
            count.go_on(groups, groups * of_group, None)
            if count.whole is not None:
                break
        assert count.whole == 42
        assert groups * of_group <= 2 * 10**9 / count_beside._NODES_OF_WORK
        first, *others = trawl.asked
        assert first == count_beside._NODES_FIRST
        assert all(2 * before <= after for before, after in pairwise(others))
        assert others[-1] == count_beside._NODES_OF_WORK * groups * of_group

    def test_are_not_less_than_what_was_tried(self, monkeypatch: pytest.MonkeyPatch) -> None:
        trawl = Counted(10**9)
        count = beside(monkeypatch, trawl)
        count.begin(None)
        count.go_on(10**4, 1, None)
        assert len(trawl.asked) == 1

    def test_there_are_none_where_samples_are_all_that_was_asked_for(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        trawl = Counted(10**9)
        count = beside(monkeypatch, trawl, rel_error=None)
        count.begin(None)
        count.go_on(10**6, 10**9, None)
        assert (len(trawl.asked), count.next_at) == (1, None)

    def test_nobody_waits_where_a_device_draws(self, monkeypatch: pytest.MonkeyPatch) -> None:
        trawl = Counted(10**6)
        count = beside(monkeypatch, trawl, device="cuda:0")
        count.begin(None)
        trawl.may_end.clear()
        try:
            count.go_on(10**4, 10**7, None)
            assert count.whole is None
            count.go_on(10**5, 10**8, None)  # one at a time
            trawl.may_end.set()
            running = count._running
            assert running is not None
            assert running.result(10) == count.whole == 42
        finally:
            count.close()
        assert len(trawl.asked) == 2


class TestEstimates:
    @pytest.fixture(autouse=True)
    def _hardly_any_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What takes more in a test would take long."""
        monkeypatch.setattr(count_beside, "_NODES_FIRST", 64)

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
        sampled = mf.estimate(GRAPH, HOUSE, tuning=private_tuning({"count_on": "off"}), **given)
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
        alone = mf.estimate(
            GRAPH, HOUSE, rel_error=0.3, device="cpu", tuning=private_tuning({"count_on": "off"})
        )
        assert found.samples > 0
        assert numbers(found) == numbers(alone)

    def test_go_on_beside_trawling(self) -> None:
        tuning = private_tuning({"trawling": "on", "trawl_whole": "off"})
        found = mf.estimate(GRAPH, HOUSE, rel_error=0.001, device="cpu", tuning=tuning)
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
