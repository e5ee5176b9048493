"""The suite `monitor`: its streams, its way to run RapidFlow, and what it makes of both."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import motiflux as mf
from motiflux.bench.measure import Timing
from motiflux.bench.results import BaselineTime, CaseResult
from motiflux.bench.suite import Settings, load_part

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
PARTS = BENCHMARKS / "suite/monitor_parts"
SUITE: ModuleType = load_part(BENCHMARKS / "suite/monitor.py")
BESIDE, CASES, MODES, SEVERAL, STREAMS = (
    load_part(PARTS / f"{name}.py") for name in ("beside", "cases", "modes", "several", "streams")
)
RAPIDFLOW: ModuleType = CASES.rapidflow
SETTINGS = Settings(quick=True)
PRINTED = """Preprocessing time (seconds): 0.25
Execution Summary:
Preprocessing time (seconds): 0.25
Query time (seconds): 2.5
Result count: {count}
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with a graph that has cycles of four and labels."""
    rows, columns = 12, 12
    edges = [(x + columns * y, x + 1 + columns * y) for x in range(columns - 1) for y in range(rows)]
    edges += [(x + columns * y, x + columns * (y + 1)) for x in range(columns) for y in range(rows - 1)]
    edges += [
        (x + columns * y, x + 1 + columns * (y + 1)) for x in range(columns - 1) for y in range(rows - 1)
    ]
    labels = [vertex % 3 for vertex in range(rows * columns)]
    kinds = [source % 2 for source, _ in edges]
    np.savez(
        tmp_path / "grid.npz",
        edges=edges,
        vertex_labels=labels,
        edge_labels=kinds,
        num_vertices=rows * columns,
        directed=False,
    )
    return tmp_path


def grid_stream(shape: str = "cycle", size: int = 4, deletions: float = 0.4, **more: object) -> object:
    return STREAMS.Stream("grid", "grid", shape, size, 60, deletions, **{"vertex_labels": None, **more})


@pytest.mark.parametrize("deletions", [0.0, 0.4])
@pytest.mark.parametrize(("shape", "size"), [("tree", 6), ("sparse", 6), ("cycle", 4), ("dense", 6)])
def test_a_stream_changes_what_is_there_and_its_query_occurs(
    data: Path, shape: str, size: int, deletions: float
) -> None:
    stream = grid_stream(shape, size, deletions, edge_labels=None)
    drawn = STREAMS.draw(stream, data)
    there = set(map(tuple, drawn.edges.tolist()))
    assert len(there) == len(drawn.edges)
    everything = there | set(map(tuple, drawn.updates.tolist()))
    for inserts, row in zip(drawn.inserts.tolist(), map(tuple, drawn.updates.tolist()), strict=True):
        assert (row in there) is not inserts
        there ^= {row}
    assert there == set(map(tuple, CASES.edges_after(drawn).tolist()))
    assert bool((~drawn.inserts).any()) is bool(deletions)
    whole = CASES.graph_of(drawn, np.array(sorted(everything)), labelled=True)
    assert len(drawn.query_labels) == size
    joined = mf.Pattern.from_edges(
        [edge[:2] for edge in drawn.query_edges],
        vertex_labels=drawn.query_labels,
        edge_labels=[edge[2] for edge in drawn.query_edges],
    )
    assert mf.count(whole, joined, limit=1) == 1
    least, most = {"tree": (5, 5), "sparse": (7, 7), "cycle": (4, 4), "dense": (9, 15)}[shape]
    assert least <= len(drawn.query_edges) <= most


def test_a_stream_is_the_same_for_the_same_seed(data: Path) -> None:
    stream = grid_stream(vertex_labels=5)
    first, again = STREAMS.draw(stream, data), STREAMS.draw.__wrapped__(stream, data)
    other = STREAMS.draw(dataclasses.replace(stream, seed=2), data)
    for field in dataclasses.fields(STREAMS.Inputs):
        assert np.array_equal(getattr(first, field.name), getattr(again, field.name)), field.name
    assert not np.array_equal(first.updates, other.updates)


def test_the_streams_are_of_all_kinds() -> None:
    all_of_them = STREAMS.STREAMS
    assert len({stream.name for stream in all_of_them}) == len(all_of_them) >= 12
    assert {stream.shape for stream in all_of_them} == set(STREAMS.SHAPES)
    assert {stream.size for stream in all_of_them} >= {4, 5, 6, 7, 8}
    assert {stream.deletions > 0 for stream in all_of_them} == {False, True}
    assert {stream.edge_labels == 1 for stream in all_of_them} == {False, True}
    assert all(5_000 <= stream.updates <= 50_000 for stream in all_of_them)
    assert set(SUITE.LONG) <= {stream.name for stream in all_of_them}


def test_inputs_are_written_as_rapidflow_reads_them(data: Path, tmp_path: Path) -> None:
    case = CASES.Drawn(grid_stream(edge_labels=None), data)
    folder = tmp_path / "written"
    case.write(folder)
    loaded, drawn = case.load(), STREAMS.draw(case.stream, data)
    graph = mf.read_graph(folder / "data.graph")
    assert graph.num_edges == loaded.graph.num_edges
    assert mf.count(graph, mf.read_pattern(folder / "query.graph")) == mf.count(loaded.graph, loaded.pattern)
    lines = (folder / "updates").read_text().splitlines()
    expected = zip(drawn.inserts.tolist(), drawn.updates.tolist(), strict=True)
    assert lines == [f"{'e' if inserts else '-e'} {u} {v} {label}" for inserts, (u, v, label) in expected]


def test_what_rapidflow_prints_is_read() -> None:
    read = RAPIDFLOW.read_answer
    assert read(PRINTED.format(count=7), 0, 60) == RAPIDFLOW.Answer(7, 2.5, 0.25)
    stopped = read(PRINTED.format(count=7) + "Time out...\n", 0, 60)
    assert (stopped.count, stopped.timeout, stopped.seconds) == (None, True, 60)
    assert "status 255" in read("", 255, 60).failed
    assert "'Query time (seconds): NUMBER'" in read("Preprocessing time (seconds): 1\n", 0, 60).failed


def program(folder: Path, text: str) -> Path:
    path = folder / "rapidflow"
    path.write_text(f"#!{sys.executable}\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_crash_of_rapidflow_is_named(tmp_path: Path) -> None:
    crashing = program(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    answer = RAPIDFLOW.run(crashing, tmp_path, 5)
    assert (answer.count, answer.failed) == (None, "ended by SIGSEGV")


def test_a_program_under_our_clock_reads_cpu_time() -> None:
    library = RAPIDFLOW.cpu_clock()
    if library is None:
        pytest.skip("no C compiler")
    command = [sys.executable, "-c", "import time; print(time.time())"]
    done = subprocess.run(
        command, env={**os.environ, "LD_PRELOAD": str(library)}, capture_output=True, text=True, check=True
    )
    assert 0 < float(done.stdout) < 60


@dataclass(frozen=True)
class Given:
    """A stream of a few updates: an edge that closes triangles, comes, goes and comes again."""

    name: str = "given"
    deletes: bool = False
    net: int = 12

    def load(self) -> object:
        graph = mf.Graph.from_edges([(0, 2), (1, 2), (0, 3), (1, 3), (4, 5)])
        pattern = mf.Pattern.parse("(a)--(b)--(c)--(a)")
        updates = mf.Updates.of([("+", 0, 1), ("+", 3, 4), ("+", 2, 5)])
        return CASES.Loaded(graph, pattern, updates, self.net, "by hand")

    def write(self, folder: Path) -> None:
        (folder / "updates").write_text("")


@pytest.fixture
def no_rapidflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(RAPIDFLOW.VARIABLE, raising=False)


@pytest.fixture
def right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = program(tmp_path, f"print({PRINTED.format(count=12)!r})")
    monkeypatch.setenv(RAPIDFLOW.VARIABLE, str(path))
    return path


def run(probe: object) -> dict[str, CaseResult]:
    found: Iterator[CaseResult] = probe.run(SETTINGS)  # type: ignore[attr-defined]
    return {f"{one.case} {one.engine}": one for one in found}


@pytest.mark.usefixtures("no_rapidflow")
def test_without_rapidflow_our_times_stand_alone() -> None:
    before = os.sched_getaffinity(0)
    found = run(BESIDE.Beside(Given()))
    assert list(found) == ["count given cpu", "list given cpu"]
    assert [one.count for one in found.values()] == [12, 12]
    assert not any(one.baseline or one.disagrees for one in found.values())
    assert all(one.figures["total_seconds"] > one.figures["create_seconds"] > 0 for one in found.values())
    assert os.sched_getaffinity(0) == before
    assert not [bar for bar in SUITE.bars(list(found.values())) if "RapidFlow" in bar.bar]


@pytest.mark.usefixtures("right")
def test_rapidflows_time_is_the_baseline_where_it_is_right() -> None:
    found = run(BESIDE.Beside(Given()))
    peer = found.pop("count given RapidFlow")
    assert (peer.count, peer.seconds.min, peer.figures["total_seconds"]) == (12, 2.5, 2.75)
    for one in found.values():
        assert one.baseline == BaselineTime("RapidFlow", 2.5)
        assert one.ratio == pytest.approx(2.5 / one.seconds.min)


@pytest.mark.parametrize(
    ("text", "note", "count"),
    [
        (f"print({PRINTED.format(count=13)!r})", "a wrong count", 13),
        ("import os; os.abort()", "ended by SIGABRT", None),
    ],
)
def test_rapidflow_is_named_and_not_compared_where_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, note: str, count: int | None
) -> None:
    monkeypatch.setenv(RAPIDFLOW.VARIABLE, str(program(tmp_path, text)))
    found = run(BESIDE.Beside(Given()))
    assert found.pop(f"count given RapidFlow ({note})").count == count
    assert not any(one.baseline or one.ratio or one.disagrees for one in found.values())


@pytest.mark.usefixtures("no_rapidflow")
def test_a_wrong_count_of_ours_is_said() -> None:
    assert all(one.disagrees for one in run(BESIDE.Beside(Given(net=6))).values())
    assert all(one.disagrees for one in run(MODES.Modes(Given(net=6))).values())


def test_modes_agree_and_latency_has_percentiles() -> None:
    found = run(MODES.Modes(Given()))
    assert {one.count for one in found.values()} == {12}
    assert not any(one.disagrees for one in found.values())
    assert {"batch count given cpu", "batch list given, wall, 1 thread cpu"} <= set(found)
    (latency,) = run(MODES.Latency(Given())).values()
    assert latency.count == 3
    assert 0 < latency.figures["p50_microseconds"] <= latency.figures["p99_microseconds"]


def test_deletions_and_windows_change_what_their_counterparts_do(data: Path) -> None:
    for case in (Given(), CASES.Drawn(grid_stream(deletions=0.0, edge_labels=None), data)):
        for probe in (SEVERAL.Deleted(case), SEVERAL.Windowed(case)):
            (found,) = run(probe).values()
            assert not found.disagrees
            assert found.ratio is not None
    (found,) = run(SEVERAL.Deleted(Given())).values()
    assert found.count == 12


def test_patterns_that_differ_only_in_numbering_count_as_one() -> None:
    canonical = SEVERAL.canonical
    path = canonical((0, 1, 2), [(0, 1), (1, 2)])
    assert path == canonical((2, 0, 1), [(0, 2), (1, 2)])
    assert path != canonical((0, 2, 1), [(0, 1), (1, 2)])
    assert path != canonical((0, 1, 2), [(0, 1), (1, 2), (0, 2)])


def test_bars_are_of_the_streams_that_were_compared() -> None:
    def result(case: str, ratio: float | None) -> CaseResult:
        return CaseResult(case, "cpu", 1, None, Timing.of([1.0]), None, ratio)

    results = [result("count c01", 0.5), result("count c03", 2.0), result("list c01", 0.5)]
    results += [result("count yeast tree 8", None), result("list c04", None)]
    found = {bar.bar: bar.value for bar in SUITE.bars(results)}
    assert found["2 recorded streams, times RapidFlow's time: counted, geometric mean"] == pytest.approx(1)
    assert found["2 recorded streams, times RapidFlow's time: counted, the greatest"] == pytest.approx(2)
    assert found["2 recorded streams, times RapidFlow's time: listed, geometric mean"] == pytest.approx(2)
    assert not [bar for bar in found if bar.startswith("1 own") or "own streams" in bar]
