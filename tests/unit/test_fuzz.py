"""The fuzzer: random calls give what the reference gives, and a planted defect is found and printed."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import motiflux as mf
from motiflux.config import PRIVATE, TUNING
from tests.fuzz import calls
from tests.fuzz import run as command
from tests.fuzz.compare import Case, Difference, first_difference, is_repeatable
from tests.fuzz.draw import draw_scenario
from tests.fuzz.draws import Draws
from tests.fuzz.program import program_of
from tests.fuzz.scenario import Call, DataGraph, EdgeChoice, Query, Scenario, VertexChoice
from tests.fuzz.stream import Job, Report, run_job

REPOSITORY = Path(__file__).resolve().parents[2]


def reports_of(job: Job) -> list[Report]:
    reports: list[Report] = []
    run_job(job, reports.append)
    return reports


def found_in(job: Job) -> tuple[str, str]:
    """Return the text of the first difference, and the program in it."""
    text = next(report.difference for report in reports_of(job) if report.difference is not None)
    return text, text.partition("\n# made smaller\n")[2]


def run(program: str) -> None:
    exec(compile(program, "<program>", "exec"), {})


def test_a_few_hundred_random_calls_give_what_the_reference_gives(device: str) -> None:
    cases = 300 if device == "cpu" else 100
    reports = reports_of(Job(device, seed=1, cases=cases))
    assert [report.difference for report in reports if report.difference] == []
    assert sum(report.cases for report in reports) == cases
    answered = {value for report in reports for aspect, value in report.tally if aspect == "answered"}
    assert all(f" on {device}" in one for one in answered - {"exact on cpu"}), answered


def test_a_wrong_count_is_found_made_small_and_printed_as_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(graph: mf.Graph, pattern: Any, **options: Any) -> Any:
        counted = right(graph, pattern, **options)
        if isinstance(pattern, list) or len({vertex.labels is None for vertex in pattern.vertices}) == 1:
            return counted
        return type(counted)(counted + 1, **vars(counted))

    right = mf.count
    monkeypatch.setattr(mf, "count", wrong)
    text, program = found_in(Job("cpu", seed=1, cases=1000))
    assert "--replay 1:0:" in text
    assert program.count(".vertex(") == 2
    assert program.count(".edge(") == 1
    assert "tuning" not in program
    with pytest.raises(AssertionError, match="True"):
        run(program)
    monkeypatch.undo()
    run(program)


class Repeated:
    """Matches of which the first row comes twice."""

    def __init__(self, matches: mf.Matches) -> None:
        self.matches = matches

    def __iter__(self) -> Iterator[Any]:
        for position, batch in enumerate(self.matches):
            if position == 0:
                yield batch[:1]
            yield batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self.matches, name)


def test_a_row_that_comes_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right: Callable[..., mf.Matches] = mf.match
    monkeypatch.setattr(mf, "match", lambda *given, **options: Repeated(right(*given, **options)))
    _, program = found_in(Job("cpu", seed=2, cases=1000))
    with pytest.raises(AssertionError):
        run(program)
    monkeypatch.undo()
    run(program)


WALKS = Call(
    "estimate",
    (0,),
    semantics="homomorphism",
    tuning={"count_first": "off", "trawling": "off"},
    options={"samples": 64, "seed": 3, "estimator": "tree"},
)
"""Of a tree: each sample is an embedding, so the interval is the count."""
PATHS = replace(WALKS, semantics="isomorphism")


def estimating(call: Call, device: str = "cpu") -> Scenario:
    """Return a scenario of one estimate: of paths of three vertices in a triangle."""
    triangle = DataGraph(False, (0, 1, 2), ((0, 1), (1, 2), (2, 0)))
    path = Query((VertexChoice(),) * 3, (EdgeChoice(0, 1), EdgeChoice(1, 2)))
    return Scenario(device, triangle, (path,), (call,))


def case_of(scenario: Scenario) -> Case:
    cases: list[Case] = []
    first_difference(scenario, lambda _, case: cases.append(case))
    return cases[0]


def plant(monkeypatch: pytest.MonkeyPatch, **wrong: Callable[[float], float]) -> None:
    """Have estimates be made on the CPU, and changed unless they are asked for there."""
    right: Callable[..., mf.Estimate] = mf.estimate

    def estimate(*given: Any, device: str, **options: Any) -> mf.Estimate:
        found = right(*given, device="cpu", **options)
        changed = {name: change(getattr(found, name)) for name, change in wrong.items()}
        return found if device == "cpu" else replace(found, **changed)

    monkeypatch.setattr(mf, "estimate", estimate)


def test_an_interval_without_width_has_to_be_the_count(monkeypatch: pytest.MonkeyPatch) -> None:
    case = case_of(estimating(WALKS))
    assert (case.found, case.answered) == ((12.0, 12.0, 12.0, True), ("tree on cpu",))
    plant(monkeypatch, low=lambda _: 13.0, value=lambda _: 13.0, high=lambda _: 13.0)
    assert case_of(estimating(WALKS, "cuda")).differs


@pytest.mark.parametrize(
    ("name", "wrong"), [("low", -1.0), ("low", math.nan), ("low", 1e9), ("high", 0.0), ("high", math.inf)]
)
def test_the_value_of_an_estimate_has_to_be_in_its_interval(
    monkeypatch: pytest.MonkeyPatch, name: str, wrong: float
) -> None:
    plant(monkeypatch, **{name: lambda _: wrong})
    assert case_of(estimating(PATHS, "cuda")).differs


def test_an_estimate_on_a_device_has_to_be_that_of_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not case_of(estimating(PATHS)).exact
    plant(monkeypatch)
    case = case_of(estimating(PATHS, "cuda"))
    assert case.exact
    assert not case.differs
    plant(monkeypatch, value=lambda value: math.nextafter(value, math.inf))
    assert case_of(estimating(PATHS, "cuda")).differs


@pytest.mark.parametrize(
    ("tuning", "options", "repeatable"),
    [
        ({}, {}, True),
        ({"trawling": "off"}, {}, True),
        ({}, {"timeout": 600.0}, False),
        ({}, {"rel_error": 0.5}, True),
    ],
)
def test_devices_are_compared_where_time_has_no_say(
    tuning: dict[str, str], options: dict[str, Any], repeatable: bool
) -> None:
    assert is_repeatable(Call("estimate", (0,), tuning=tuning, options=options)) == repeatable


def test_an_error_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    right = mf.count

    def failing(*given: Any, **options: Any) -> Any:
        if "limit" in options:
            raise mf.InternalError("planted")
        return right(*given, **options)

    monkeypatch.setattr(mf, "count", failing)
    text, program = found_in(Job("cpu", seed=3, cases=1000))
    assert "planted" in text
    assert "limit=" in program
    assert "# raises InternalError" in program


def test_a_pattern_that_cannot_be_built_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*given: Any) -> Any:
        raise mf.PatternError("planted")

    monkeypatch.setattr(mf.PatternBuilder, "may_coincide", failing)
    text, program = found_in(Job("cpu", seed=4, cases=1000))
    assert text.startswith("differs: building")
    assert program.count("mf.PatternBuilder()") == 1


@pytest.mark.parametrize("number", range(4))
def test_programs_assert_what_is_right(number: int) -> None:
    scenario = draw_scenario(Draws(f"programs:{number}"), "cpu")
    for call in scenario.calls:
        alone = replace(scenario, calls=(call,))
        cases: list[Case] = []
        assert first_difference(alone, lambda _, case, cases=cases: cases.append(case)) is None
        run(program_of(alone, Difference(0, cases[0])))


def test_the_same_seed_draws_the_same() -> None:
    first, second = (draw_scenario(Draws("7:0:3"), "emulated") for _ in range(2))
    assert first == second


def test_the_emulator_draws_chances_in_most_scenarios() -> None:
    seeds = [draw_scenario(Draws(f"chances:{number}"), "emulated").chances for number in range(60)]
    assert 0 < seeds.count(0) < 30
    assert max(seeds) > 2**20


def test_every_tuning_switch_is_drawn_or_left_out_by_name() -> None:
    drawn = {
        name
        for kind in calls.KINDS
        for on_device in (False, True)
        for name in calls.switches(kind, on_device=on_device)
    }
    assert drawn | calls.NOT_DRAWN.keys() == TUNING.keys() | PRIVATE.keys()
    assert not drawn & calls.NOT_DRAWN.keys()


@pytest.mark.turns(8)
def test_the_command_ends_with_a_summary(tmp_path: Path) -> None:
    file = tmp_path / "summary.json"
    arguments = ["--cases", "60", "--processes", "2", "--seed", "5", "--json", str(file)]
    done = subprocess.run(
        [sys.executable, REPOSITORY / "scripts" / "fuzz.py", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    last = done.stdout.splitlines()[-1]
    assert re.fullmatch(r"fuzz: device=cpu seed=5 60 cases in [\d,]+ s, 0 differ", last)
    summary = json.loads(file.read_text())
    assert summary["cases"] == sum(summary["by"]["kind"].values()) == 60
    assert summary["differing"] == 0


@pytest.mark.turns(8)
@pytest.mark.parametrize("nothing", ["--cases", "--seconds"])
def test_a_run_that_compared_nothing_fails(nothing: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([nothing, "0"]) == 1
    assert capsys.readouterr().err == "fuzz: nothing was compared\n"


def test_an_interrupt_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "wait", interrupted)
    file = tmp_path / "summary.json"
    assert command.main(["--seconds", "60", "--json", str(file)]) == 130
    assert capsys.readouterr().err == "fuzz: the run was cut by an interrupt\n"
    assert json.loads(file.read_text())["interrupted"] is True
