"""The fuzzer: random calls give what the reference gives, and a planted defect is found and printed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import motiflux as mf
from motiflux.config import TUNING
from tests.fuzz import calls
from tests.fuzz.compare import Case, Difference, first_difference
from tests.fuzz.draw import draw_scenario
from tests.fuzz.draws import Draws
from tests.fuzz.program import program_of
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


def test_a_few_hundred_random_calls_give_what_the_reference_gives() -> None:
    reports = reports_of(Job("cpu", seed=1, cases=300))
    assert [report.difference for report in reports if report.difference] == []
    assert sum(report.cases for report in reports) == 300


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

    @property
    def complete(self) -> bool | None:
        return self.matches.complete


def test_a_row_that_comes_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right: Callable[..., mf.Matches] = mf.match
    monkeypatch.setattr(mf, "match", lambda *given, **options: Repeated(right(*given, **options)))
    _, program = found_in(Job("cpu", seed=2, cases=1000))
    with pytest.raises(AssertionError):
        run(program)
    monkeypatch.undo()
    run(program)


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
        if cases[0].exact:
            run(program_of(alone, Difference(0, cases[0])))


def test_the_same_seed_draws_the_same() -> None:
    first, second = (draw_scenario(Draws("7:0:3"), "emulated") for _ in range(2))
    assert first == second


def test_every_tuning_switch_is_drawn_or_left_out_by_name() -> None:
    drawn = {
        name
        for kind in calls.KINDS
        for on_device in (False, True)
        for name in calls.switches(kind, on_device=on_device)
    }
    assert drawn | calls.NOT_DRAWN.keys() == TUNING.keys()
    assert not drawn & calls.NOT_DRAWN.keys()


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
