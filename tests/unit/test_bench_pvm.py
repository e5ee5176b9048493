"""The suite `pvm`: its queries, its runs, and what its bars make of results; engines are stood in for."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.bench.measure import Timing
from motiflux.bench.results import Bar, BaselineTime, CaseResult
from motiflux.bench.suite import Settings, load_part
from motiflux.pattern import Pattern

PARTS = Path(__file__).resolve().parents[2] / "benchmarks/suite/pvm_parts"
FORMATS, WORKLOAD, PLANS, RUNS, TRIALS, EXPERIMENTS, MEMORY, SEARCH_BARS = (
    load_part(PARTS / f"{name}.py")
    for name in ("formats", "workload", "plans", "runs", "trials", "experiments", "memory", "search_bars")
)


class Source:
    """A graph of 300 vertices, as files have them."""

    def __init__(self, *, directed: bool = False) -> None:
        self.directed = directed

    def read(self) -> mf.Graph:
        rng = np.random.default_rng(5)
        edges = rng.integers(0, 300, (1500, 2))
        labels = {"edge_labels": rng.integers(0, 4, 1500)} if self.directed else {}
        return mf.Graph.from_edges(edges, directed=self.directed, self_loops="drop", **labels)


GRAPH = FORMATS.Labelled("one", Source(), 3)
DIRECTED = FORMATS.Labelled("other", Source(directed=True))


@pytest.fixture(autouse=True)
def nothing_is_kept() -> Iterator[None]:
    yield
    FORMATS.read.cache_clear()
    WORKLOAD.read.cache_clear()


@pytest.fixture
def cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the CPU engine stand in for the engines, and switches that exist for those that do not."""
    monkeypatch.setattr(TRIALS, "DEVICE", "cpu")
    monkeypatch.setattr(TRIALS, "STAND_INS", {"pvm": "cpu", "dfs": "cpu"})
    monkeypatch.setattr(EXPERIMENTS, "SV", {"reuse": "off"})
    monkeypatch.setattr(EXPERIMENTS, "PUBLISHED", {"reuse": "off", "candidates": "off"})
    monkeypatch.setattr(EXPERIMENTS, "SECONDS", 100.0)
    monkeypatch.setattr(RUNS, "MOST", 2)
    monkeypatch.setattr(WORKLOAD, "QUERIES", 3)


def test_a_query_is_the_same_each_time_and_has_the_vertices_asked_for() -> None:
    graph = WORKLOAD.read(GRAPH)
    for vertices in WORKLOAD.SIZES:
        first, again = (WORKLOAD.drawn(graph, "one", vertices, 2) for _ in range(2))
        assert str(first) == str(again)
        assert first.num_vertices == vertices
        assert len(first.edges) >= vertices - 1
        assert str(first) != str(WORKLOAD.drawn(graph, "one", vertices, 3))


@pytest.mark.parametrize("source", [GRAPH, DIRECTED], ids=lambda source: source.name)
def test_a_query_is_found_in_its_graph_with_all_its_labels(source: Any) -> None:
    graph = WORKLOAD.read(source)
    for draw in range(20):
        pattern: Pattern = WORKLOAD.drawn(graph, source.case, 5, draw)
        assert all(edge.labels is not None for edge in pattern.edges)
        assert all((vertex.labels is None) == (source is DIRECTED) for vertex in pattern.vertices)
        assert mf.count(graph, pattern, device="cpu") > 0


def test_a_walk_follows_edges_of_both_directions() -> None:
    graph = WORKLOAD.read(DIRECTED)
    edges = [edge for draw in range(20) for edge in WORKLOAD.drawn(graph, "", 5, draw).edges]
    # Vertices are numbered as they are met: an edge followed against its direction begins at the later one.
    assert 0 < sum(edge.source > edge.target for edge in edges) < len(edges)


def test_a_walk_that_meets_too_few_vertices_begins_anew() -> None:
    pair, path = [(0, 1)], [(2, 3), (3, 4), (4, 5)]
    graph = mf.Graph.from_edges(pair + path)
    for draw in range(20):
        assert WORKLOAD.drawn(graph, "", 4, draw).num_vertices == 4


def test_fewer_queries_have_the_smallest_and_the_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    assert WORKLOAD.sizes() == list(range(4, 13))
    for queries, sizes in ((1, [4]), (2, [4, 12]), (3, [4, 8, 12]), (20, list(range(4, 13)))):
        monkeypatch.setattr(WORKLOAD, "QUERIES", queries)
        assert WORKLOAD.sizes() == sizes


def test_each_number_of_labels_of_the_paper_is_drawn_and_graphs_have_names_of_their_own() -> None:
    graphs = WORKLOAD.graphs(Path("shared"))
    assert len({graph.case for graph in graphs}) == len(graphs)
    assert {graph.labels for graph in graphs} == {None, 3, 5, 7, 12}
    assert {graph.labels for graph in graphs if graph.name == "email_enron"} == {3, 5, 7, 12}


def test_most_queries_have_a_known_count_of_at_most_a_billion() -> None:
    cases = {f"{graph.case} Q{size}" for graph in WORKLOAD.graphs(Path()) for size in WORKLOAD.SIZES}
    known = WORKLOAD.counts()
    assert known.keys() <= cases
    assert len(known) >= len(cases) - 1
    few = [one for one in known.values() if one["count"] <= WORKLOAD.MOST]
    assert len(few) >= 0.9 * len(cases)
    assert all(one["count"] > 0 for one in known.values())


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", ["ca_condmat", "wn18rr"])
def test_known_counts_are_those_of_the_queries(shared: Path, name: str) -> None:
    (graph,) = (one for one in WORKLOAD.graphs(shared) if one.name == name)
    queries = WORKLOAD.queries(graph)
    assert [query.name for query in queries] == [f"Q{size}" for size in range(4, 13)]
    for query in queries:
        assert query.count is not None, "the query is another one than the one that was counted"
        assert mf.count(WORKLOAD.read(graph), query.pattern, device="cpu") == query.count


def test_nothing_is_known_of_a_query_that_is_drawn_otherwise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    right = WORKLOAD.checksum(WORKLOAD.drawn(WORKLOAD.read(GRAPH), GRAPH.case, 4, 1))
    known = {
        f"{GRAPH.case} Q4": {"draw": 1, "crc": right, "count": 7},
        f"{GRAPH.case} Q5": {"draw": 1, "crc": right, "count": 7},
    }
    (tmp_path / "counts.json").write_text(json.dumps(known))
    monkeypatch.setattr(WORKLOAD, "COUNTS", tmp_path / "counts.json")
    WORKLOAD.counts.cache_clear()
    try:
        assert [query.count for query in WORKLOAD.queries(GRAPH)[:3]] == [7, None, None]
    finally:
        WORKLOAD.counts.cache_clear()


def test_the_interval_is_that_of_students_distribution() -> None:
    # mean 3, deviation sqrt(2.5), 4 degrees of freedom: 2.776 * sqrt(2.5 / 5) / 3
    assert RUNS.interval([1, 2, 3, 4, 5]) == pytest.approx(0.6543, abs=1e-4)
    assert RUNS.interval([2, 2, 2]) == 0
    assert RUNS.interval([2]) == math.inf
    many = [1.0, 3.0] * 100
    assert RUNS.interval(many) == pytest.approx(1.96 * np.std(many, ddof=1) / math.sqrt(200) / 2)


def clocked(monkeypatch: pytest.MonkeyPatch, *durations: float) -> Callable[[], None]:
    """Return a function that takes these durations, in turn, by a clock that nothing else moves."""
    now, taken = [0.0], itertools.cycle(durations)
    monkeypatch.setattr(RUNS, "wall_clock", lambda: now[0])

    def call() -> None:
        now[0] += next(taken)

    return call


def test_runs_end_once_all_intervals_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    call = clocked(monkeypatch, 1.0)
    found = RUNS.in_turns({"one": call, "other": call}, 1e9)
    assert {name: times.timing for name, times in found.items()} == dict.fromkeys(
        ("one", "other"), Timing(1.0, 1.0, RUNS.LEAST)
    )


def test_runs_that_differ_are_repeated_until_the_mean_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    found = RUNS.in_turns({"one": clocked(monkeypatch, 1.0, 1.2, 1.1)}, 1e9)["one"]
    assert RUNS.LEAST < found.timing.runs < RUNS.MOST
    assert found.figures["interval"] <= RUNS.WITHIN
    earlier = found.seconds[: found.timing.runs * 7 // 9]
    assert RUNS.interval(earlier) > RUNS.WITHIN, "it was small before"
    assert found.figures["geometric_mean_seconds"] == pytest.approx(1.0969, abs=2e-3)


def test_each_side_is_the_first_in_turn() -> None:
    calls: list[str] = []
    sides = {name: lambda name=name: calls.append(name) for name in "abc"}
    RUNS.in_turns(sides, 0.0)
    assert "".join(calls) == "abccba"


def test_runs_end_with_the_time_but_there_are_two(monkeypatch: pytest.MonkeyPatch) -> None:
    call = clocked(monkeypatch, 1.0, 2.0)
    assert RUNS.in_turns({"one": call}, 7.0)["one"].timing.runs == 5
    assert RUNS.in_turns({"one": call}, 0.0)["one"].timing.runs == 2


def test_what_is_done_before_a_run_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    call = clocked(monkeypatch, 5.0, 1.0)
    assert RUNS.in_turns({"one": call}, 1e9, before=call)["one"].timing.median == 1.0


def test_queries_share_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(RUNS.time, "perf_counter", lambda: now[0])
    clock = RUNS.Clock(9.0, 3)
    assert clock.share() == 3.0
    now[0] = 1.0
    assert clock.share() == 4.0
    clock.outside(2.0)
    now[0] = 10.0
    assert clock.share() == 1.0
    assert not clock.is_over
    now[0] = 11.0
    assert clock.is_over
    assert clock.share() == 0.0


def run(*experiments: Any) -> dict[str, CaseResult]:
    return {one.case: one for experiment in experiments for one in experiment.run(Settings())}


@pytest.mark.usefixtures("cpu")
def test_every_experiment_asks_every_query_and_checks_its_counts() -> None:
    results = run(*EXPERIMENTS.experiments(GRAPH))
    names = [
        "overall one, 3 labels, counting", "overall one, 3 labels, listing",
        "overall one, 3 labels, closed forms", "pv_sv one, 3 labels", "published one, 3 labels",
        "auto one, 3 labels",
    ]  # fmt: skip
    assert {*results} == {f"{name}, Q{size}" for name in names for size in (4, 8, 12)}
    graph = WORKLOAD.read(GRAPH)
    queries = {query.name: query for query in WORKLOAD.queries(GRAPH)}
    for case, result in results.items():
        query = queries[case.rpartition(", ")[2]]
        assert result.count == mf.count(graph, query.pattern, device="cpu")
        assert result.checked_against == "the CPU engine"
        assert not result.disagrees
        assert result.seconds is not None
        assert result.baseline is not None
        assert result.ratio == result.baseline.seconds / result.seconds.median
        assert result.figures["faster"] == (result.ratio > 1)
        assert result.figures["phases"] == PLANS.several(PLANS.plan_of(graph, query.pattern))
    assert results["overall one, 3 labels, counting, Q4"].figures["pvm: whole_ms"] > 0
    assert results["published one, 3 labels, Q4"].figures["resident_ratio"] > 0
    assert results["auto one, 3 labels, Q4"].baseline.name in ("pvm", "dfs")  # type: ignore[union-attr]
    assert all(
        bar.value is not None
        for bar in SEARCH_BARS.bars([*results.values()])
        if "such phases" not in bar.bar and "from 1 ms" not in bar.bar
    )


@pytest.mark.usefixtures("cpu")
@pytest.mark.parametrize("listed", [False, True])
def test_a_wrong_count_of_either_side_is_reported(monkeypatch: pytest.MonkeyPatch, listed: bool) -> None:
    ask = TRIALS.ask
    for wrong in ("dfs", "pvm"):

        def other(*args: Any, wrong: str = wrong, **options: Any) -> Any:
            found = ask(*args, **options)
            return TRIALS.Answer(found.count + (args[2].engine == wrong), found.engine)

        with monkeypatch.context() as patched:
            patched.setattr(TRIALS, "ask", other)
            results = run(EXPERIMENTS.experiments(GRAPH)[listed])
        assert all(one.disagrees for one in results.values())
        assert all(f"{wrong} has" in (one.checked_against or "") for one in results.values())


@pytest.mark.usefixtures("cpu")
def test_a_listing_has_as_many_rows_as_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TRIALS, "ROWS", 5)
    results = run(EXPERIMENTS.experiments(GRAPH)[1])
    assert {one.count for one in results.values()} == {5}
    assert not any(one.disagrees for one in results.values())


def answering(monkeypatch: pytest.MonkeyPatch, **answers: Any) -> None:
    """Have engines give these answers, by their names."""
    monkeypatch.setattr(TRIALS, "ask", lambda graph, pattern, way, *args, **options: answers[way.engine])


@pytest.mark.usefixtures("cpu")
def test_a_query_that_does_not_end_has_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    counting = EXPERIMENTS.experiments(GRAPH)[0]
    count = {query.name: query for query in WORKLOAD.queries(GRAPH)}["Q4"]
    known = int(mf.count(WORKLOAD.read(GRAPH), count.pattern, device="cpu"))
    ended, not_ended = TRIALS.Answer(known, "cpu"), TRIALS.Answer(None, "cpu")
    name = "overall one, 3 labels, counting, Q4"
    answering(monkeypatch, pvm=not_ended, dfs=ended)
    one = run(counting)[name]
    assert (one.count, one.seconds, one.ratio, one.figures["faster"]) == (None, None, None, 0.0)
    assert one.engine == "pvm (pvm not ended)"
    answering(monkeypatch, pvm=ended, dfs=not_ended)
    one = run(counting)[name]
    assert (one.count, one.baseline, one.ratio, one.figures["faster"]) == (known, None, None, 1.0)
    assert one.engine == "pvm (dfs not ended)"
    answering(monkeypatch, pvm=not_ended, dfs=not_ended)
    one = run(counting)[name]
    assert (one.count, one.checked_against, one.baseline) == (None, None, None)
    assert "faster" not in one.figures


@pytest.mark.usefixtures("cpu")
def test_a_query_that_ends_only_sometimes_has_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Counter[str]()

    def ask(graph: mf.Graph, pattern: Pattern, way: Any, *args: Any, **options: Any) -> Any:
        calls[way.engine] += 1
        late = way.engine == "pvm" and calls[way.engine] % 4 == 0
        return TRIALS.Answer(None if late else 3, "cpu")

    monkeypatch.setattr(TRIALS, "ask", ask)
    assert all(
        one.count is None and one.seconds is None for one in run(EXPERIMENTS.experiments(GRAPH)[0]).values()
    )


@pytest.mark.usefixtures("cpu")
def test_an_error_is_named_and_is_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    def count(*args: object, **options: Any) -> mf.Count:
        raise mf.errors.DeviceError("no such kernel")

    monkeypatch.setattr(TRIALS.mf, "count", count)
    monkeypatch.setattr(EXPERIMENTS, "expected", lambda *args, **options: (None, ""))
    results = run(EXPERIMENTS.experiments(GRAPH)[0])
    assert all("pvm failed: DeviceError: no such kernel" in one.engine for one in results.values())
    bars = {bar.bar: bar for bar in SEARCH_BARS.bars([*results.values()])}
    assert bars["overall: queries that failed"].value == 3
    assert not bars["overall: queries that failed"].holds


@pytest.mark.usefixtures("cpu")
def test_queries_with_few_embeddings_are_asked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    pattern = WORKLOAD.drawn(WORKLOAD.read(GRAPH), "", 4, 0)
    counts = {"Q4": 30, "Q5": None, "Q6": 2}
    queries = [WORKLOAD.Query(name, pattern, count) for name, count in counts.items()]
    monkeypatch.setattr(WORKLOAD, "queries", lambda graph: queries)
    asked = [case.rpartition(", ")[2] for case in run(EXPERIMENTS.experiments(GRAPH)[0])]
    assert asked == ["Q6", "Q4", "Q5"]


def test_tables_and_kernels_are_made_by_a_call_for_one_embedding(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def ask(graph: object, pattern: object, way: object, seconds: object = None, most: object = None) -> Any:
        calls.append(most)
        return TRIALS.Answer(5, "cpu")

    monkeypatch.setattr(TRIALS, "ask", ask)
    monkeypatch.setattr(TRIALS, "settle", itertools.chain([1.0, 2.0, 3.0], itertools.repeat(0.0)).__next__)
    answer, seconds = TRIALS.warm(None, None, TRIALS.Way("pvm"))
    assert answer.count == 5
    assert calls == [1, None, None, None]  # until a call has nothing compiled
    assert seconds == pytest.approx(5.0, abs=0.5)


@pytest.mark.usefixtures("cpu")
def test_queries_for_which_no_time_is_left_are_skipped_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EXPERIMENTS, "SECONDS", 0.0)
    assert {*run(EXPERIMENTS.experiments(GRAPH)[3])} == {
        f"pv_sv one, 3 labels, Q{size} (skipped: no time left)" for size in (4, 8, 12)
    }


def test_experiments_that_need_a_switch_or_engine_that_does_not_exist_are_skipped_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(TRIALS, "STAND_INS", {"pvm": "cpu"})
    monkeypatch.setattr(EXPERIMENTS, "SV", {"no_such": "sv"})
    (skipped,) = run(EXPERIMENTS.experiments(GRAPH)[3])
    assert skipped == "pv_sv one, 3 labels (skipped: no switch no_such=sv)"
    monkeypatch.setattr(EXPERIMENTS, "SV", {"reuse": "sv"})
    (skipped,) = run(EXPERIMENTS.experiments(GRAPH)[3])
    assert skipped == "pv_sv one, 3 labels (skipped: no switch reuse=sv)"
    monkeypatch.setattr(TRIALS, "STAND_INS", {"pvm": "no_such"})
    for probe in (EXPERIMENTS.experiments(GRAPH)[0], *MEMORY.probes()):
        (skipped,) = run(probe)
        assert skipped == f"{probe.name} (skipped: no engine no_such)"


def test_phases_of_several_vertices_are_counted() -> None:
    graph = mf.Graph.from_edges([(0, 1), (0, 2), (0, 3), (3, 4), (3, 5), (1, 6)])
    for edges, number in (
        ([(0, 1)], 0),
        ([(0, 1), (0, 2)], 1),
        ([(0, 1), (0, 2), (1, 3), (1, 4)], 2),
    ):
        assert PLANS.several(PLANS.plan_of(graph, Pattern.from_edges(edges))) == number


def test_phases_of_queries_match_all_their_vertices() -> None:
    results = run(PLANS.Phases(GRAPH))
    assert [*results] == [f"phases one, 3 labels, Q{size}" for size in WORKLOAD.SIZES]
    for vertices, one in zip(WORKLOAD.SIZES, results.values(), strict=True):
        figures = one.figures
        by_pattern = {name: number for name, number in figures.items() if name.startswith("pattern_")}
        assert one.count == sum(by_pattern.values()) + figures["eliminations"]
        assert figures["several"] == sum(by_pattern.values()) - by_pattern.get("pattern_0", 0)
        assert 2 <= 1 + sum(by_pattern.values()) <= vertices
        assert by_pattern[f"pattern_{int(figures['first'])}"] >= 1


def result(case: str, ours: float, theirs: float | None, **figures: float) -> CaseResult:
    """Return a result in seconds beside a baseline."""
    baseline = None if theirs is None else BaselineTime("other", theirs)
    ratio = None if theirs is None else theirs / ours
    return CaseResult(case, "pvm", 1, None, Timing.of([ours]), baseline, ratio, figures=figures)


def bars(*results: CaseResult) -> dict[str, Bar]:
    return {bar.bar: bar for bar in SEARCH_BARS.bars(results)}


def test_experiments_that_were_not_run_have_no_bars() -> None:
    assert bars() == {}
    assert bars(result("formats one", 1.0, None)) == {}
    assert [*bars(result("published one (skipped: no switch)", 1.0, None))] == [
        "over the published switches, tables copied, geometric mean",
        "published: queries that failed",
    ]


def test_half_of_the_queries_have_to_be_faster_than_dfs() -> None:
    found = bars(
        result("overall a, counting, Q4", 1, 2, faster=1.0),
        result("overall a, counting, Q5", 1, None, faster=0.0),
        result("overall a, counting, Q6", 1, None),  # ended by neither
        result("overall a, listing, Q4", 2, 1, faster=0.0),
        result("overall a, closed forms, Q4", 1, 2, faster=1.0),
    )
    counting = found["overall, counting: faster than dfs, share of the queries"]
    listing = found["overall, listing: faster than dfs, share of the queries"]
    assert (counting.value, counting.holds) == (0.5, True)
    assert (listing.value, listing.holds) == (0.0, False)


def test_phases_of_several_vertices_are_held_by_class_and_at_the_slowest_query() -> None:
    found = bars(
        result("pv_sv a, Q4", 1.0, 0.97, phases=0.0),
        result("pv_sv a, Q5", 1.0, 1.0, phases=1.0),
        result("pv_sv a, Q6", 1.0, 4.0, phases=2.0),
        result("pv_sv a, Q7", 1.1, 1.0, phases=5.0),
        result("pv_sv a, Q8", 1.0, None, phases=1.0),
    )
    mean = found["pv over sv, queries with phases of several vertices, geometric mean"]
    assert mean.value == pytest.approx((4 / 1.1) ** (1 / 3))
    assert mean.holds
    by_class = [bar for name, bar in found.items() if "such phases" in name]
    assert [bar.value for bar in by_class] == [
        pytest.approx(0.97), pytest.approx(1.0), pytest.approx(4.0), pytest.approx(1 / 1.1)
    ]  # fmt: skip
    assert [bar.holds for bar in by_class] == [True, True, True, False]
    slowest = found["pv over sv: times of sv, most"]
    assert (slowest.value, slowest.holds) == (pytest.approx(1.1), False)
    equal = found["pv over sv: ratio of equal plans, most"]
    assert (equal.value, equal.holds) == (pytest.approx(1 / 0.97), True)


def test_kernels_of_phases_are_held_apart_from_the_host() -> None:
    found = bars(
        result("pv_sv a, Q4", 1.0, 1.0, phases=1.0, kernels_ratio=4.0),
        result("pv_sv a, Q5", 1.0, 1.0, phases=2.0, kernels_ratio=1.0),
        result("pv_sv a, Q6", 1.0, 1.0, phases=0.0, kernels_ratio=0.1),
    )
    assert found["pv over sv, kernels alone, geometric mean"].value == pytest.approx(2)


def test_the_published_switches_are_held_at_the_mean() -> None:
    name = "over the published switches, tables copied, geometric mean"
    found = bars(
        result("published a, Q4", 1, 2), result("published a, Q5", 1, 8), result("published a, Q6", 1, None)
    )
    assert found[name].value == pytest.approx(4)
    assert found[name].holds


def test_auto_is_held_from_a_millisecond_on() -> None:
    found = bars(
        result("auto a, Q4", 9e-3, 9e-4), result("auto a, Q5", 1.05e-3, 1e-3), result("auto a, Q6", 2, 2)
    )
    auto = found["auto: times the better engine, most, from 1 ms"]
    assert (auto.value, auto.holds) == (pytest.approx(1.05), True)


def test_memory_is_held_against_copy_and_computation_or_a_resident_graph() -> None:
    found = bars(
        result(
            "memory path, tables of 8 times the memory",
            1,
            1,
            over_larger=1.3,
            over_copied=9.0,
            copied_over_tables=1.0,
        ),
        result(
            "memory path, tables of 2 times the memory",
            1,
            1,
            over_larger=9.0,
            over_copied=1.4,
            copied_over_tables=2.1,
        ),
    )
    assert [(bar.value, bar.holds) for bar in found.values()] == [
        (1.3, False), (1.4, True), (2.1, False), (0, True)
    ]  # fmt: skip


def test_patterns_of_the_memory_cases_read_every_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MEMORY, "SCALE", 8)
    MEMORY.graph.cache_clear()
    graph = MEMORY.graph()
    MEMORY.graph.cache_clear()
    assert len(graph.edge_label_table) == MEMORY.EDGE_LABELS
    for name in MEMORY.PATTERNS:
        read = [label for edge in MEMORY.pattern(name).edges for label in edge.labels or ()]
        assert sorted(read) == [*graph.edge_label_table.values]


def modules() -> list[ModuleType]:
    return [EXPERIMENTS.trials, MEMORY.trials, SEARCH_BARS.trials]


def test_parts_share_one_module() -> None:
    assert all(one is TRIALS for one in modules())
