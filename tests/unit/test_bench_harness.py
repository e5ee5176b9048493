"""The benchmark harness: times, bars, results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import motiflux as mf
from motiflux.bench import machine
from motiflux.bench.measure import RUNS, Timing, repeat
from motiflux.bench.results import Bar, BaselineTime, CaseResult, Report, write_report
from motiflux.bench.run import _best, check_count, run_suite
from motiflux.bench.suite import BaselineResult, Case, GraphSource, Settings, Suite, load_suite, shared_folder
from motiflux.errors import ArgumentError, OutputError


def ticking(*durations: float) -> Iterator[float]:
    now = 0.0
    for duration in durations:
        yield now
        now += duration
        yield now


def test_short_runs_are_repeated() -> None:
    clock = ticking(3, 1, 2, 5, 4)
    result, timing = repeat(lambda: "result", clock.__next__)
    assert (result, timing) == ("result", Timing(median=3, min=1, runs=RUNS))


def test_long_runs_are_not() -> None:
    clock = ticking(6, 1)
    assert repeat(lambda: None, clock.__next__)[1] == Timing(6, 6, 1)


@pytest.mark.parametrize(
    ("value", "target", "better", "holds"),
    [(10, 10, "higher", True), (9, 10, "higher", False), (0, 0, "lower", True), (1, 0, "lower", False)],
)
def test_a_bar_holds_on_its_better_side(value: float, target: float, better: str, holds: bool) -> None:
    assert Bar("bar", value, target, better).holds is holds  # type: ignore[arg-type]


def test_a_bar_without_a_value_does_not_hold() -> None:
    assert not Bar("bar", None, 0, "higher").holds


def test_a_partial_count_can_only_be_too_large() -> None:
    assert check_count(5, complete=True, expected=5, source="oracle").by == "oracle"
    assert check_count(6, complete=True, expected=5, source="oracle").disagrees
    assert check_count(4, complete=True, expected=5, source="oracle").disagrees
    assert check_count(6, complete=False, expected=5, source="oracle").disagrees
    assert not check_count(4, complete=False, expected=5, source="oracle").disagrees
    assert check_count(4, complete=True, expected=None, source="").by is None


def test_the_best_peer_is_one_that_finished() -> None:
    slow, fast = (BaselineResult(1, Timing.of([seconds])) for seconds in (9.0, 3.0))
    stopped = BaselineResult(None, Timing.of([2.0]), timeout=True)
    crashed = BaselineResult(None, None, note="failed")
    assert _best([("slow", slow), ("fast", fast), ("stopped", stopped)]) == BaselineTime("fast", 3.0)
    assert _best([("crashed", crashed), ("stopped", stopped)]) == BaselineTime("stopped", 2.0, timeout=True)
    assert _best([("crashed", crashed)]) is None


def test_a_report_is_written_under_its_device_and_day(tmp_path: Path) -> None:
    seconds = Timing(2.0, 1.0, 5)
    report = Report(
        suite="tiny",
        commit="abc",
        date="2025-01-31",
        device="Example CPU @ 2.5GHz",
        versions={"python": "3.11"},
        cases=[CaseResult("k4 triangle", "cpu", 4, "oracle", seconds, BaselineTime("other", 9.0), 9.0)],
        bars=[Bar("at least 5x other", 9.0, 5.0, "higher")],
    )
    path = write_report(report, tmp_path / "results")
    assert path.name == "tiny-example-cpu-2-5ghz-2025-01-31.json"
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert json.loads(path.read_text()) == {
        "schema": 1,
        "suite": "tiny",
        "commit": "abc",
        "date": "2025-01-31",
        "device": "Example CPU @ 2.5GHz",
        "versions": {"python": "3.11"},
        "cases": [
            {
                "case": "k4 triangle",
                "engine": "cpu",
                "count": 4,
                "checked_against": "oracle",
                "seconds": {"median": 2.0, "min": 1.0, "runs": 5},
                "baseline": {"name": "other", "seconds": 9.0, "timeout": False},
                "ratio": 9.0,
            }
        ],
        "bars": [
            {"bar": "at least 5x other", "value": 9.0, "target": 5.0, "better": "higher", "holds": True}
        ],
    }


def test_a_part_of_a_report_is_kept_until_the_whole_is_there(tmp_path: Path) -> None:
    report = Report("tiny", "abc", "today", "cpu", {})
    part = write_report(report, tmp_path, whole=False)
    assert part.name == "tiny-cpu-today.part.json"
    assert json.loads(part.read_text())["suite"] == "tiny"
    whole = write_report(report, tmp_path)
    assert list(tmp_path.iterdir()) == [whole]


def test_a_run_tells_of_all_results_so_far() -> None:
    class Probe:
        quick = True

        def __init__(self, name: str) -> None:
            self.name = name

        def run(self, settings: Settings) -> Iterator[CaseResult]:
            yield CaseResult(self.name, "cpu", 1, None, None)

    told: list[list[str]] = []
    suite = Suite("tiny", (), probes=[Probe("a"), Probe("b")])
    run_suite(
        suite, Settings(), lambda result: None, lambda part: told.append([one.case for one in part().cases])
    )
    assert told == [["a"], ["a", "b"]]


def test_a_report_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="tiny-cpu-today"):
        write_report(Report("tiny", "", "today", "cpu", {}), tmp_path / "file")


def test_an_unknown_suite_names_those_there_are(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("")
    with pytest.raises(ArgumentError, match="one of one"):
        load_suite("two", tmp_path)
    with pytest.raises(ArgumentError, match="build"):
        load_suite("one", tmp_path)
    with pytest.raises(ArgumentError, match=r"--suites: expected a folder .* found '.*nowhere'"):
        load_suite("one", tmp_path / "nowhere")


def test_missing_shared_data_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOTIFLUX_SHARED", str(tmp_path / "nowhere"))
    with pytest.raises(ArgumentError, match="nowhere"):
        shared_folder(tmp_path)
    monkeypatch.delenv("MOTIFLUX_SHARED")
    suites = tmp_path / "repository/benchmarks/suite"
    (tmp_path / "shared").mkdir()
    assert shared_folder(suites) == tmp_path / "shared"


def test_the_commit_of_no_repository_is_unknown(tmp_path: Path) -> None:
    assert machine.commit(tmp_path) == "unknown"


def test_versions_name_what_is_missing() -> None:
    found = machine.versions(["numpy", "no-such-package-here"])
    assert set(found) == {"python", "numpy", "no-such-package-here"}
    assert found["no-such-package-here"] == "not installed"


def test_a_part_of_a_suite_is_named_as_such() -> None:
    settings = Settings(quick=True, only="K4 tri")
    assert settings.label("tiny") == "tiny-k4-tri-quick"
    assert Settings().label("tiny") == "tiny"
    pattern = partial(mf.Pattern.from_edges, [(0, 1)])
    cases = [
        Case(name, GraphSource(Path("none")), pattern, quick=quick)
        for name, quick in (("K4 triangle", True), ("K4 triangle, slow", False), ("K5 triangle", True))
    ]
    assert [case.name for case in cases if settings.includes(case)] == ["K4 triangle"]
