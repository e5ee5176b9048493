"""``motiflux bench`` on tiny suites."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli_run import complete_graph, motiflux, only_json

SUITE = """
import motiflux as mf
from motiflux.bench.measure import Timing
from motiflux.bench.results import Bar
from motiflux.bench.suite import BaselineResult, Case, GraphSource, Suite

class Peer:
    name = "peer"
    compared = True

    def run(self, settings):
        return BaselineResult({peer}, Timing.of([1000.0]))

def triangle():
    return mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0)])

def build(shared):
    graph = GraphSource(shared / "k4.txt")
    cases = [
        Case("k4 triangle", graph, triangle, {oracle}, "closed form", symmetry="subgraphs", scaling=(1, 2),
             quick=True, baselines=[Peer()]),
        Case("k4 triangle embeddings", graph, triangle, lambda: 24, "closed form"),
        Case("k4 triangle unlabelled", GraphSource(shared / "k4.txt", labelled=False), triangle),
    ]
    def bars(results):
        return [Bar("faster than the peer", results[0].ratio, 1, "higher")]
    return Suite("tiny", cases, bars)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    complete_graph(tmp_path / "k4.txt", 4)
    monkeypatch.setenv("MOTIFLUX_SHARED", str(tmp_path))
    return tmp_path


def bench(folder: Path, *options: str, oracle: int = 4, peer: int = 4):  # type: ignore[no-untyped-def]
    (folder / "tiny.py").write_text(SUITE.format(oracle=oracle, peer=peer))
    return motiflux("bench", "tiny", "--suites", folder, "--out", folder / "out", *options)


def test_a_suite_is_run_and_its_result_written(folder: Path) -> None:
    result = bench(folder, "--json")
    assert result.exit_code == 0, result.stderr
    fields = only_json(result)
    (written,) = (folder / "out").iterdir()
    assert fields["output"] == str(written)
    report = json.loads(written.read_text())
    assert {key: fields[key] for key in report} == report
    assert set(report) == {"schema", "suite", "commit", "date", "device", "versions", "cases", "bars"}
    assert report["schema"] == 1
    shown = ("case", "engine", "count", "checked_against")
    assert [tuple(case[field] for field in shown) for case in report["cases"]] == [
        ("k4 triangle", "cpu", 4, "closed form"),
        ("k4 triangle", "peer", 4, "motiflux"),
        ("k4 triangle, wall, 1 thread", "cpu", 4, "closed form"),
        ("k4 triangle, wall, 2 threads", "cpu", 4, "closed form"),
        ("k4 triangle embeddings", "cpu", 24, "closed form"),
        ("k4 triangle unlabelled", "cpu", 24, None),
    ]
    ours = report["cases"][0]
    assert set(ours["seconds"]) == {"median", "min", "runs"}
    assert ours["seconds"]["runs"] == 5
    assert ours["baseline"] == {"name": "peer", "seconds": 1000.0, "timeout": False}
    assert ours["ratio"] > 1
    assert report["cases"][3]["baseline"]["name"] == "motiflux, 1 thread"
    assert report["bars"][0]["holds"] is True


def test_quick_runs_only_the_quick_cases(folder: Path) -> None:
    report = only_json(bench(folder, "--quick", "--json"))
    assert {case["case"].split(",")[0] for case in report["cases"]} == {"k4 triangle"}
    assert report["cases"][0]["seconds"]["runs"] == 2


def test_people_get_the_bars(folder: Path) -> None:
    result = bench(folder)
    assert result.exit_code == 0
    assert "holds" in result.stdout
    assert "faster than the peer" in result.stdout


def test_a_count_that_disagrees_with_the_oracle_fails_after_writing(folder: Path) -> None:
    result = bench(folder, "--quick", "--json", oracle=5)
    assert result.exit_code == 4
    assert "k4 triangle" in only_json(result)["disagreements"]
    assert "wrong count: k4 triangle" in result.stderr
    (written,) = (folder / "out").iterdir()
    assert "closed form, DISAGREES: 5" in written.read_text()


def test_a_peer_that_disagrees_fails_too(folder: Path) -> None:
    result = bench(folder, "--quick", peer=7)
    assert result.exit_code == 4


def test_outside_a_clone_the_suites_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MOTIFLUX_SHARED", raising=False)
    result = motiflux("bench", "skeleton")
    assert result.exit_code == 2
    expected = "error: --suites: expected a folder (benchmarks/suite in a clone), found 'benchmarks/suite'\n"
    assert result.stderr == expected


@pytest.mark.turns(8)
def test_the_suites_of_the_repository_can_be_built(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from motiflux.bench.suite import load_suite

    monkeypatch.setenv("MOTIFLUX_SHARED", str(shared))

    suites = Path(__file__).resolve().parents[2] / "benchmarks/suite"
    for path in suites.glob("*.py"):
        suite = load_suite(path.stem, suites)
        cases = [*suite.cases, *suite.probes]
        names = [case.name for case in cases]
        assert 0 < len(names) == len(set(names))
        assert any(case.quick for case in cases)


def test_two_paths_are_counted_from_degrees(tmp_path: Path) -> None:
    """The closed form that judges every graph agrees with counting by hand."""
    import runpy

    import numpy as np

    suite = runpy.run_path(str(Path(__file__).resolve().parents[2] / "benchmarks/suite/skeleton.py"))
    edges = [[0, 1], [1, 0], [1, 2], [2, 3], [0, 1]]
    np.savez(tmp_path / "arcs.npz", edges=np.array(edges, np.int32), directed=np.array(True))
    assert suite["two_paths"](tmp_path / "arcs.npz") == 2  # 0-1-2 and 1-2-3
    np.savez(tmp_path / "edges.npz", edges=np.array(edges, np.int32), directed=np.array(False))
    assert suite["two_paths"](tmp_path / "edges.npz") == 2
