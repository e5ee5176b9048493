"""The suite `temporal`: its inputs, DuckDB beside it, and what its bars make of results."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count as steps
from pathlib import Path
from typing import Any

import pytest

import motiflux as mf
from motiflux.bench.measure import Timing, cpu_clock
from motiflux.bench.results import BaselineTime, CaseResult
from motiflux.bench.run import run_suite
from motiflux.bench.suite import Settings, load_part
from tests.data_paths import REPOSITORY

SUITE = load_part(REPOSITORY / "benchmarks/suite/temporal.py")
PROBES = SUITE.probes
JUDGE = PROBES.judge
SETTINGS = Settings(quick=True)
TRANSFERS = 20_000


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(PROBES, "TRANSFERS", TRANSFERS)
    monkeypatch.setattr(PROBES, "FEWER", TRANSFERS // 10)
    PROBES.loaded.cache_clear()
    PROBES.judged.cache_clear()
    yield
    PROBES.loaded.cache_clear()
    PROBES.judged.cache_clear()


def counted(count: int, *, complete: bool = True) -> Any:
    return PROBES.Counted(count, complete, "cpu", Timing.of([0.5]))


def result(case: str, seconds: float, ratio: float | None = None, **figures: float) -> CaseResult:
    baseline = None if ratio is None else BaselineTime("other", seconds * ratio)
    return CaseResult(case, "cpu", 1, None, Timing.of([seconds]), baseline, ratio, figures=figures)


def bars(results: list[CaseResult]) -> dict[str, float | None]:
    return {bar.bar: bar.value for bar in SUITE.bars(results)}


def test_transfers_repeat_as_often_as_the_suite_says() -> None:
    graph = PROBES.loaded(PROBES.repeated(20_000))[1]
    assert 70 < graph.num_edge_copies / graph.num_edges < 130
    graph = PROBES.loaded(PROBES.generator(20_000))[1]
    assert 2.5 < graph.num_edge_copies / graph.num_edges < 6


def test_every_size_of_rings_and_every_kind_of_decoy_is_planted_in_any_number_of_transfers() -> None:
    for transfers in (2000, 2_000_000):
        made = PROBES.generator(transfers)
        assert {len(one.vertices) for one in made.planted} == set(PROBES.SIZES)
        assert {one.fails for one in made.decoys} == {"order", "span", "amount"}


def test_a_pattern_without_the_order_is_the_same_but_for_it() -> None:
    for ordered, plain in PROBES.ORDERED.values():
        with_order, without = mf.Pattern.parse(ordered), mf.Pattern.parse(plain)
        assert with_order.comparisons
        assert not without.comparisons
        ends = [[(edge.source, edge.target) for edge in one.edges] for one in (with_order, without)]
        assert ends[0] == ends[1]


@pytest.mark.usefixtures("small")
def test_rings_on_a_live_stream_are_those_of_all_transfers() -> None:
    (found,) = SUITE.live.LiveRings().run(SETTINGS)
    assert not found.disagrees
    assert found.count is not None
    assert found.count >= sum(map(PROBES.known, PROBES.SIZES))
    assert found.figures["transfers_per_second"] > 0
    few = bars([found])
    assert few == {}, "bars are for as many transfers as they were set for"


def test_names_of_probes_are_different() -> None:
    suite = SUITE.build(Path())
    names = [probe.name for probe in suite.probes]
    assert len(set(names)) == len(names)
    assert sum(name.startswith("duckdb ") for name in names) >= 30


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("wrong", "disagrees"), [(0, False), (1, True)])
def test_duckdb_checks_counts(wrong: int, disagrees: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("duckdb")
    query = "passed on within an hour"
    judge = PROBES.judged(PROBES.generator(TRANSFERS // 10))
    pattern = mf.Pattern.parse(PROBES.queries.QUERIES[query])
    known = judge.run(pattern, "embeddings", cpu_clock, SETTINGS).count
    assert known > 10
    monkeypatch.setattr(PROBES, "count", lambda *given, **options: counted(known + wrong))
    ours, theirs = PROBES.Beside(query).run(SETTINGS)
    assert (ours.count, theirs.count) == (known + wrong, known)
    assert ours.disagrees is disagrees
    assert ours.ratio == ours.baseline.seconds / 0.5


@pytest.mark.usefixtures("small")
def test_duckdb_is_stopped_by_the_limit_and_the_ratio_is_a_lower_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("duckdb")
    monkeypatch.setattr(PROBES, "count", lambda *given, **options: counted(7))
    queries = {"all": "(a)-[v]->(b)-[w]->(c)-[x]->(d)-[y]->(e)-[z]->(f) WITHIN 30d"}
    monkeypatch.setattr(PROBES.queries, "QUERIES", queries)
    monkeypatch.setattr(PROBES, "CLOCK", steps(step=0.03).__next__)  # slower than the limit's
    ours, theirs = PROBES.Beside("all").run(Settings(timeout=0.2))
    assert theirs.count is None
    assert "stopped by the limit" in theirs.engine
    assert (ours.count, ours.checked_against, ours.disagrees) == (7, None, False)
    assert ours.baseline == BaselineTime("duckdb.sql", pytest.approx(0.03), timeout=True)
    assert ours.ratio == pytest.approx(0.06)


@pytest.mark.usefixtures("small")
def test_rings_that_are_missing_are_a_wrong_count(monkeypatch: pytest.MonkeyPatch) -> None:
    planted = {size: PROBES.known(size) for size in PROBES.SIZES}
    assert min(planted.values()) > 0
    monkeypatch.setattr(PROBES, "count", lambda *given, **options: counted(1))
    results = list(PROBES.Rings(first=False).run(SETTINGS))
    assert [one.disagrees for one in results] == [n > 1 for n in planted.values()] + [False]
    assert results[-1].count == len(planted)
    monkeypatch.setattr(PROBES, "count", lambda *given, **options: counted(1, complete=False))
    results = list(PROBES.Rings(first=True).run(SETTINGS))
    assert not any(one.disagrees or one.count for one in results)
    monkeypatch.setattr(PROBES, "count", lambda *given, **options: counted(10**6))
    assert all(one.disagrees for one in PROBES.PlantedRings().run(SETTINGS))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("listed", "name"), [(True, "listing"), (False, "count")])
def test_more_matches_in_order_than_without_are_a_wrong_count(
    listed: bool, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = iter([counted(5), counted(6), counted(5), counted(4)])
    monkeypatch.setattr(PROBES, name, lambda *given, **options: next(found))
    probe = PROBES.Unordered("ring of 3", listed)
    assert [next(probe.run(SETTINGS)).disagrees for _ in range(2)] == [True, False]


def test_bars_take_the_worst_and_the_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PROBES, "TRANSFERS", 2_000_000)
    found = bars(
        [
            result("rings of 3 to 6: 3", 0.5),
            result("rings of 3 to 6", 1.5),
            result("rings of 3 to 6, first call", 2.5),
            result("unordered ring of 3, listed", 1.0, times_the_time=2.0),
            result("unordered path of 3, listed", 1.0, times_the_time=4.0),
            result("unordered ring of 3, counted", 1.0, times_the_time=2.5),
            result("unordered path of 3, counted", 1.0, times_the_time=50.0),
            result("duckdb ring of 3", 1.0, 4.0),
            result("duckdb ring of 4", 1.0, 100.0),
        ]
    )
    assert found == {
        "rings of 3 to 6 of 2,000,000 transfers, s": 1.5,
        "rings of 3 to 6, first call of 2,000,000 transfers, s": 2.5,
        "order of time over none, patterns listed: worst": 4.0,
        "order of time over none, rings counted: worst": 2.5,
        "times as fast as DuckDB: geometric mean": pytest.approx(20.0),
        "times as fast as DuckDB: least": 4.0,
    }
    assert bars([]) == {}


def test_bars_of_what_did_not_finish_have_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PROBES, "TRANSFERS", 2_000_000)
    stopped = CaseResult("rings of 3 to 6", "cpu", None, None, Timing.of([60.0]))
    late = CaseResult(
        "duckdb ring of 3", "cpu", None, None, Timing.of([60.0]), BaselineTime("duckdb.sql", 1.0)
    )
    order = CaseResult("unordered ring of 3, listed", "cpu", None, None, Timing.of([60.0]))
    assert set(bars([stopped, late, order]).values()) == {None}


@pytest.mark.turns(4)
@pytest.mark.usefixtures("small")
def test_a_small_run_of_all_cases_agrees(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    seen: list[CaseResult] = []
    report = run_suite(SUITE.build(tmp_path), Settings(quick=True, timeout=20), seen.append)
    assert not [one.case for one in seen if one.disagrees]
    assert all(one.count is not None for one in seen)
    assert {one.case.split(":")[0] for one in seen} == {probe.name for probe in SUITE.build(tmp_path).probes}
    assert len(report.bars) == 4
