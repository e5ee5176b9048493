"""The suite `gpu`: its cases, the peers it compares with, and what its bars make of results."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import motiflux as mf
from motiflux.bench.measure import Timing
from motiflux.bench.results import Bar, BaselineTime, CaseResult
from motiflux.bench.suite import Case, Settings, load_part
from motiflux.gpu.runtime.kernel_times import DeviceTimes

SUITES = Path(__file__).resolve().parents[2] / "benchmarks/suite"
SUITE = load_part(SUITES / "gpu.py")
COMMON, COUNTS, CALLS, DISPATCH = (
    load_part(SUITES / "gpu_parts" / f"{name}.py") for name in ("common", "counts", "calls", "dispatch")
)
PEERS = """system,graph,query,embeddings,kernel_ms,total_ms
quick,a.graph,q.graph,12,1.0,4.0
slow,a.graph,q.graph,12,1.0,9.0
wrong,a.graph,q.graph,13,0.1,0.2
stmatch,a.graph,q.graph,13,0.1,0.1
stmatch,b.graph,q.graph,7,0.5,2.0
quick,b.graph,q.graph,7,1.0,3.0
refusing,b.graph,q.graph,unsupported,NA,NA
broken,b.graph,q.graph,timeout,0.1,0.1
"""


def result(
    case: str,
    seconds: list[float],
    peer: float | None = None,
    count: int | None = 1,
    checked: str | None = "oracle",
    *,
    disagrees: bool = False,
) -> CaseResult:
    timing, baseline = Timing.of(seconds), None if peer is None else BaselineTime("peer", peer)
    ratio = None if peer is None else peer / timing.min
    return CaseResult(case, "dfs", count, checked, timing, baseline, ratio, disagrees)


def bars(*results: CaseResult) -> dict[str, Bar]:
    return {bar.bar: bar for bar in SUITE.bars(results)}


def test_parts_are_loaded_once() -> None:
    assert load_part(SUITES / "gpu_parts/common.py") is COMMON is COUNTS.common is SUITE.common


def test_a_part_that_fails_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "part.py").write_text("raise KeyError('no')")
    for _ in range(2):
        with pytest.raises(KeyError):
            load_part(tmp_path / "part.py")
    (tmp_path / "part.py").write_text("value = 3")
    part: ModuleType = load_part(tmp_path / "part.py")
    assert part.value == 3


def test_the_best_peer_is_the_fastest_whose_count_is_right(tmp_path: Path) -> None:
    table = tmp_path / "peers.csv"
    table.write_text(PEERS.replace("wrong,a.graph,q.graph,13,0.1,0.2\n", ""))
    best = COUNTS.best_peers(table)
    assert best == {
        ("a", "q"): BaselineTime("quick", 0.004),
        ("b", "q"): BaselineTime("stmatch", 0.002),
    }


def test_peers_that_disagree_are_compared_with_by_none(tmp_path: Path) -> None:
    table = tmp_path / "peers.csv"
    table.write_text(PEERS)
    assert set(COUNTS.best_peers(table)) == {("b", "q")}


def test_every_case_of_the_bars_is_there(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MOTIFLUX_RMAT20", raising=False)
    suite = SUITE.build(shared)
    counted = {probe.name: probe for probe in suite.probes if isinstance(probe, COUNTS.Counted)}
    compared = [probe for probe in counted.values() if probe.peer is not None]
    assert len(counted) == 21 + 12 + 9 + 15
    assert len(compared) == 20 + 12  # no peer finished the house on the web graph
    assert all(probe.case.expected is not None for probe in counted.values())
    assert counted["email_enron triangle"].case.expected == 4_362_264
    assert counted["email_enron triangle"].peer == BaselineTime("g2miner", 0.087e-3)
    names = {bar.bar.partition(":")[0] for bar in suite.bars([])}
    assert {name for name in counted if name.startswith(COUNTS.GRAPHS)} <= names


def test_a_quick_run_does_not_draw_the_large_graph(shared: Path) -> None:
    suite = SUITE.build(shared)
    quick = [probe.name for probe in suite.probes if Settings(quick=True).includes(probe)]
    assert quick
    assert not any("rmat20" in name for name in quick)


def test_medians_are_held_against_the_peer() -> None:
    found = bars(
        result("email_enron triangle", [1e-4, 9e-5, 3e-4], 1e-4),
        result("email_enron diamond", [2e-4], 3e-4),
        result("email_enron 4cycle", [1e-4, 15e-5, 9e-4], 1e-3),
        result("email_enron house", [2e-3], 1e-1, None),
    )
    triangle = found["email_enron triangle: times the best peer"]
    assert (triangle.value, triangle.holds) == (pytest.approx(1.0), True)
    assert not found["email_enron diamond: times the best peer"].holds
    assert found["email_enron 4cycle: ms"].value == pytest.approx(0.15)
    assert found["email_enron house: ms"].value is None
    assert not found["soc_slashdot0902 triangle: times the best peer"].holds


def test_the_labelled_bars_need_all_twelve() -> None:
    queries = [result(f"enron_label20 q{number}", [1e-3], 2e-3) for number in range(11)]
    mean, most = (f"enron_label20: times the best peer, {what}" for what in ("geometric mean", "most"))
    assert bars(*queries)[mean].value is None
    slow = result("enron_label20 q11", [16e-3], 2e-3)
    parts = [result("enron_label20 q0, space", [1.0]), result("enron_label20 q0, call", [1.0])]
    found = bars(*queries, slow, *parts)
    assert found[mean].value == pytest.approx(0.5 * 16 ** (1 / 12))
    assert found[most].value == pytest.approx(8.0)
    assert bars(*queries, result("enron_label20 q11", [1.0], 1.0, None))[most].value is None


def test_labelled_queries_count_as_agreed_where_the_cpu_counted_in_the_same_run() -> None:
    names = list(COUNTS.RMAT_LABELLED)
    known = [result(f"rmat20 {name}", [0.5], checked=COUNTS.BY_CPU) for name in names[:-1]]
    by_list = result(f"rmat20 {names[-1]}", [2.0], checked="a list")
    found = bars(*known, by_list)
    assert found["rmat20 labelled queries that CPU and GPU agree on"].value == 7
    assert found["rmat20 labelled queries, longest: s"].value == pytest.approx(2.0)
    assert bars(*known)["rmat20 labelled queries, longest: s"].value is None


def test_rows_are_held_to_the_slowest_pattern() -> None:
    found = bars(
        result("rows email_enron 4clique, device", [0.02], count=50_000_000),
        result("rows email_enron diamond, device", [0.01], count=100_000_000),
        result("rows email_enron diamond, Arrow", [9.0], count=100_000_000),
    )
    assert found["million rows a second, device, slowest pattern"].value == pytest.approx(2500)
    assert found["million rows a second, NumPy, slowest pattern"].value is None


def test_two_devices_count_where_one_takes_long() -> None:
    name = "two GPUs over one, counts over 200 ms: least"
    short = result("two GPUs rmat20 4cycle", [0.15], 0.15)
    assert bars(short)[name].value is None
    long = result("two GPUs rmat20 house", [1.0], 1.9)
    assert bars(short, long)[name].value == pytest.approx(1.9)


def test_auto_is_held_to_shares_of_long_calls_and_to_what_short_ones_lose() -> None:
    most, lost = (f"auto: {what}" for what in ("times the better engine, most, from 1 ms",
                                                "us beyond the better engine, most, under 1 ms"))  # fmt: skip
    found = bars(
        result("auto a", [0.0115], 0.010),
        result("auto b", [0.0095], 0.010),
        result("auto c", [150e-6], 100e-6),
        result("auto c, cpu", [9.0]),
    )
    assert found[most].value == pytest.approx(1.15)
    assert found[lost].value == pytest.approx(50)


def test_counts_that_disagree_are_counted() -> None:
    found = bars(result("a", [1.0]), result("b", [1.0], disagrees=True))
    assert found["counts that disagree"].value == 1


def test_an_engine_is_named_with_what_it_counted_by() -> None:
    assert (
        COUNTS.engine_of([DeviceTimes(spaces=1, searches=2), DeviceTimes(searches=2)])
        == "dfs (space, search)"
    )
    assert COUNTS.engine_of([DeviceTimes(tables=1, host=1)]) == "dfs (tables, the host)"
    assert COUNTS.engine_of([DeviceTimes()]) == "dfs"


def test_repeating_ends_with_the_time_or_with_a_call_that_was_cut() -> None:
    calls: list[str] = []

    def call(finished: bool) -> Any:
        return lambda: (calls.append("call"), finished)[1]

    before = SimpleNamespace(run=lambda: calls.append("before"))
    assert COMMON.several(call(True), 3, 100.0, before.run).runs == 3
    assert calls == ["before", "call"] * 3
    assert COMMON.several(call(True), 9, 0.0).runs == COMMON.LEAST
    assert COMMON.several(call(False), 3, 100.0).runs == 1


def test_calls_that_take_long_are_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 2 * COMMON.LONG])
    monkeypatch.setattr(COMMON.time, "perf_counter", lambda: next(now))
    assert COMMON.several(lambda: True, 9, 0.0).runs == 1


def test_a_new_query_is_planned_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0)])
    monkeypatch.setattr(COMMON, "forget_spaces", lambda graph: None)
    monkeypatch.setattr(DISPATCH, "ENOUGH", float("inf"))  # however slow the machine is
    side = DISPATCH.measured(graph, mf.Pattern.parse("(a)--(b)--(c)--(a)"), "cpu", 10.0)
    assert (side.found, side.new.runs, side.again.runs) == (6, DISPATCH.RUNS, DISPATCH.RUNS)
    assert len(graph.memo._results) > 0
    graph.memo.forget_queries()
    assert len(graph.memo._results) == 0


def test_auto_is_compared_with_the_better_engine_that_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0)])
    timings = {"cuda": 0.2, "cpu": 0.1, "auto": 0.3}

    def measured(graph: mf.Graph, pattern: mf.Pattern, device: str, most: float) -> Any:
        found = mf.Count(6 if device != "cpu" else 2, complete=device != "cpu", seconds=0.0,
                         plan_seconds=0.0, engine=device, device=device)  # fmt: skip
        timing = Timing.of([timings[device]])
        return DISPATCH.Side(found, timing, timing)

    monkeypatch.setattr(DISPATCH, "measured", measured)
    monkeypatch.setattr(COMMON, "warm", lambda *_: None)
    source = SimpleNamespace(read=lambda: graph)
    case = Case("x", source, lambda: mf.Pattern.parse("(a)--(b)--(c)--(a)"), 6, "oracle")  # type: ignore[arg-type]
    monkeypatch.setattr(COMMON, "read", lambda source: source.read())
    results = {one.case: one for one in DISPATCH.Auto(case).run(Settings())}
    assert results["auto x"].baseline == BaselineTime("cuda", 0.2)
    assert results["auto x, cpu"].count is None
    assert results["auto x, new query"].ratio == pytest.approx(0.2 / 0.3)
    assert not any(one.disagrees for one in results.values())


def test_two_devices_are_skipped_by_name_where_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CALLS, "lacking", lambda: "no two GPUs here")
    case = Case("long", SimpleNamespace(), lambda: mf.Pattern.parse("(a)--(b)"), 2)  # type: ignore[arg-type]
    (skipped,) = CALLS.TwoDevices(case).run(Settings())
    assert skipped.case == "two GPUs long (skipped: no two GPUs here)"
    assert bars(skipped)["two GPUs over one, counts over 200 ms: least"].value is None
