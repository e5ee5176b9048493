"""The suite `variable`: DuckDB judges every query, and what its bars make of results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from motiflux.bench.measure import Timing
from motiflux.bench.results import BaselineTime, CaseResult
from motiflux.bench.suite import Settings, load_part
from tests.data_paths import REPOSITORY

SUITE = load_part(REPOSITORY / "benchmarks/suite/variable.py")
SETTINGS = Settings(quick=True)
ARCS = 1_500


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    kept = (SUITE.columns, SUITE.graph, SUITE.database)
    monkeypatch.setattr(SUITE, "ARCS", ARCS)
    for one in kept:
        one.cache_clear()
    yield
    for one in kept:
        one.cache_clear()


@pytest.mark.turns(8)
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("probe", SUITE.build(REPOSITORY).probes, ids=lambda probe: probe.name)
def test_duckdb_finds_the_same(probe: Any) -> None:
    pytest.importorskip("duckdb")
    (result,) = probe.run(SETTINGS)
    assert result.count
    assert result.checked_against in ("DuckDB", "four counts")
    assert not result.disagrees


def result(case: str, ratio: float, **figures: float) -> CaseResult:
    time = Timing.of([1.0])
    return CaseResult(case, "cpu", 1, None, time, BaselineTime("x", ratio), ratio, figures=figures)


def test_bars_are_of_all_queries_beside_duckdb() -> None:
    found = SUITE.bars([result("duckdb a", 10.0), result("duckdb b", 1000.0)])
    assert [round(bar.value, 6) for bar in found] == [100.0, 10.0]
    assert [bar.holds for bar in found] == [True, True]
    (together,) = SUITE.bars([result("rings in one query", 1.0, times_the_sum=1.2)])
    assert (together.value, together.holds) == (1.2, False)
    assert SUITE.bars([]) == []
