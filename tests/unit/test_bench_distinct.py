"""The suite `distinct`: DuckDB finds the same rows, and its bars."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from motiflux.bench.measure import Timing
from motiflux.bench.results import BaselineTime, CaseResult
from motiflux.bench.suite import Settings, load_part
from tests.data_paths import REPOSITORY

SUITE = load_part(REPOSITORY / "benchmarks/suite/distinct.py")
PROBES = SUITE.probes
TEMPORAL = PROBES.temporal
SETTINGS = Settings(quick=True)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(TEMPORAL, "TRANSFERS", 20_000)
    monkeypatch.setattr(TEMPORAL, "FEWER", 4_000)
    TEMPORAL.loaded.cache_clear()
    TEMPORAL.judged.cache_clear()
    yield
    TEMPORAL.loaded.cache_clear()
    TEMPORAL.judged.cache_clear()


@pytest.mark.skipif(importlib.util.find_spec("duckdb") is None, reason="needs duckdb")
@pytest.mark.usefixtures("small")
@pytest.mark.turns(4)
def test_duckdb_finds_as_many_rows() -> None:
    found = 0
    for query in PROBES.queries.QUERIES:
        ours, theirs = PROBES.Beside(query).run(SETTINGS)
        assert not ours.disagrees, query
        assert ours.count == theirs.count
        found += ours.count
    assert len(PROBES.queries.QUERIES) >= 10
    assert found > 1000


@pytest.mark.usefixtures("small")
def test_thresholds_have_a_result_for_later_and_for_first_calls() -> None:
    results = list(PROBES.Threshold("five payers").run(SETTINGS))
    assert [one.case for one in results] == [
        "threshold five payers, again",
        "threshold five payers, first call",
    ]
    assert results[0].count == results[1].count
    assert results[0].figures["matches"] > results[0].count


def test_bars_hold_the_threshold_queries_and_duckdb() -> None:
    timing = Timing.of([0.1])
    results = [
        CaseResult("threshold five payers, again", "cpu", 1, None, timing),
        CaseResult("threshold five payers, first call", "cpu", 1, None, Timing.of([9.0])),
        CaseResult("duckdb a", "cpu", 1, None, timing, BaselineTime("duckdb.sql", 1.0), 10.0),
        CaseResult("duckdb b", "cpu", 1, None, timing, BaselineTime("duckdb.sql", 4.0), 40.0),
    ]
    bars = {bar.bar: bar.value for bar in SUITE.bars(results)}
    assert bars["threshold five payers, again, of 2,000,000 transfers, s"] == 0.1
    assert bars["times as fast as DuckDB: geometric mean"] == pytest.approx(20.0)
    assert bars["times as fast as DuckDB: least"] == 10.0
    assert len(bars) == 3
