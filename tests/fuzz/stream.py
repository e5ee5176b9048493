"""What one process of the fuzzer does: scenario after scenario, and a report of each that differs."""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any, TypeAlias

from tests.fuzz.compare import Case, Difference, first_difference
from tests.fuzz.draw import draw_scenario
from tests.fuzz.draws import Draws
from tests.fuzz.program import program_of
from tests.fuzz.scenario import Call, Scenario
from tests.fuzz.shrink import shrink

Tally: TypeAlias = "Counter[tuple[str, str]]"
"""Numbers of cases by an aspect and its value: ``("kind", "match")``."""

SHRINK_SECONDS = 60.0
TRIES = 5
"""How often a scenario that differed is run again before it is reported as it is."""


@dataclass(frozen=True)
class Job:
    """What a process is to do: to end after so many cases, or seconds; None for no bound."""

    device: str
    seed: int
    process: int = 0
    cases: int | None = None
    seconds: float | None = None
    keep_going: bool = False
    only: int | None = None
    """The number of the one scenario to run; None for all, from 0 on."""
    fixed: Mapping[str, str] = field(default_factory=dict)
    """Tuning switches of every call."""

    def place(self, number: int) -> str:
        """Return the name of a scenario."""
        return f"{self.seed}:{self.process}:{number}"

    def command(self, number: int) -> str:
        """Return the command that runs a scenario again."""
        fixed = [f"--set {name}={value}" for name, value in self.fixed.items()]
        return " ".join(["scripts/fuzz.py", "--device", self.device, *fixed, "--replay", self.place(number)])


@dataclass
class Report:
    """How many cases of a scenario there were, and the text of a difference; nothing while it still runs."""

    number: int
    tally: Tally = field(default_factory=Counter)
    difference: str | None = None

    @property
    def cases(self) -> int:
        """Number of calls that were compared."""
        return sum(number for (aspect, _), number in self.tally.items() if aspect == "kind")


def run_job(job: Job, send: Callable[[Report], None]) -> None:
    """Run scenarios; send a report before each of them, now and then in it, and after it."""
    started, cases = time.monotonic(), 0
    numbers: Iterable[int] = count() if job.only is None else (job.only,)
    for number in numbers:
        left = None if job.cases is None else job.cases - cases
        if left == 0 or (job.seconds is not None and time.monotonic() - started >= job.seconds):
            return
        alive = partial(send, Report(number))
        alive()
        report = _run(job, number, left, alive)
        send(report)
        cases += report.cases
        if report.difference is not None and not job.keep_going:
            return


def _run(job: Job, number: int, most: int | None, alive: Callable[[], None]) -> Report:
    """Draw and run one scenario, of at most so many calls."""
    report = Report(number)
    scenario = draw_scenario(Draws(job.place(number)), job.device, job.fixed)
    if most is not None:
        scenario = replace(scenario, calls=scenario.calls[:most])
    difference = first_difference(scenario, partial(_add_to, report.tally))
    if difference is not None:
        report.difference = described(scenario, difference, job.command(number), alive)
    return report


def _add_to(tally: Tally, call: Call, case: Case) -> None:
    tally["kind", call.kind] += 1
    tally["semantics", call.semantics] += 1
    tally["symmetry", call.symmetry] += 1
    tally["limit", "limited" if "limit" in call.options else "unlimited"] += 1
    tally["tuning", "switched" if call.tuning.keys() - {"specialize"} else "default"] += 1
    tally["compared", _compared(case)] += 1
    for answer in set(case.answered):
        tally["answered", answer] += 1


def _compared(case: Case) -> str:
    if not case.exact:
        return "the order of an interval and its value alone"
    return "with something to find" if _has_some(case.expected) else "with nothing to find"


def _has_some(expected: Any) -> bool:
    """Return whether a count, a number of rows or one of several counts is above zero."""
    if isinstance(expected, list):
        return any(_has_some(one) for one in expected)
    return bool(expected[0] if isinstance(expected, tuple) else expected)


def described(scenario: Scenario, difference: Difference, command: str, alive: Callable[[], None]) -> str:
    """Return a report of a difference: the command that runs it again, and a small program that shows it."""
    scenario = replace(scenario, calls=scenario.calls[: difference.position + 1])
    what = "building" if difference.position < 0 else f"call {difference.position}"
    title = f"differs: {what}, of {command}"
    differs = partial(_differs_as, difference.signature, alive)
    if any(differs(scenario) for _ in range(TRIES)):
        scenario = shrink(scenario, differs, SHRINK_SECONDS)
        difference = first_difference(scenario) or difference
        note = "# made smaller"
    else:
        note = f"# as it was drawn: it differed once, and not in {TRIES} more runs"
    return "\n".join([title, *_values(difference.case), note, program_of(scenario, difference)])


def _differs_as(signature: str, alive: Callable[[], None], scenario: Scenario) -> bool:
    """Return whether the last call of a scenario differs, and in the same way."""
    alive()
    found = first_difference(scenario)
    return found is not None and found.signature == signature and found.position == len(scenario.calls) - 1


def _values(case: Case) -> list[str]:
    if case.error is None:
        found = repr(case.found)
    else:
        found = "".join(traceback.format_exception(case.error)).rstrip()
    return [f"expected: {case.expected!r}", f"found:    {found}"]
