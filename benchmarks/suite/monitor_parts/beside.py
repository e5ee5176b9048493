"""Streams counted and listed on one thread, in turns with RapidFlow on the same core.

RapidFlow is run where `MOTIFLUX_RAPIDFLOW` names its program (`benchmarks/peer/by_rapidflow.py`). Its query
time leaves out the making of its index, as ours leaves out the making of the Monitor; ``total_seconds`` has
both. All times are process CPU time, the least of the runs, which take the cores of the machine in turns.
RapidFlow stores no matches: for a listing, too, its time is that of counting.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import motiflux as mf
from motiflux.bench.measure import LONG_RUN_SECONDS, Timing
from motiflux.bench.results import BaselineTime, CaseResult
from motiflux.bench.suite import Settings, load_part

PARTS = Path(__file__).resolve().parent
cases = load_part(PARTS / "cases.py")
rapidflow = cases.rapidflow
ENGINE = "cpu"


@contextmanager
def on_core(turn: int) -> Iterator[None]:
    """Keep this process, and those it starts, on one core: another one in each turn."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(allowed)[turn % len(allowed)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


@dataclass
class Turns:
    """Seconds by what was timed, and the last results."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    found: dict[bool, mf.PatternDelta] = field(default_factory=dict)
    answer: rapidflow.Answer | None = None

    def timing(self, name: str) -> Timing:
        return Timing.of(self.seconds[name])


@dataclass(frozen=True)
class Beside:
    """One stream, counted and listed."""

    case: cases.StreamCase
    quick: bool = False

    @property
    def name(self) -> str:
        return f"count {self.case.name}, list {self.case.name}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        loaded = self.case.load()
        turns = in_turns(self.case, loaded, settings)
        answer, found = turns.answer, turns.found[False]
        agrees = answer is not None and answer.count == found.positive + found.negative
        for listed, kind in ((False, "count"), (True, "list")):
            result = turns.found[listed]
            baseline = ratio = None
            if agrees:
                baseline = BaselineTime("RapidFlow", min(turns.seconds["RapidFlow"]))
                ratio = baseline.seconds / min(turns.seconds[kind])
            yield CaseResult(
                f"{kind} {self.case.name}",
                ENGINE,
                result.positive + result.negative,
                loaded.source,
                turns.timing(kind),
                baseline,
                ratio,
                loaded.disagrees(result),
                totals(turns, kind, f"create, {kind}"),
            )
        if answer is not None:
            yield peer_result(self.case.name, turns, agrees=agrees)


def in_turns(case: cases.StreamCase, loaded: cases.Loaded, settings: Settings) -> Turns:
    """Count, run RapidFlow, list; and again, until a run is long."""
    turns = Turns()
    program = rapidflow.program()
    with tempfile.TemporaryDirectory(prefix="motiflux-streams-") as folder:
        if program is not None:
            case.write(Path(folder))
        for turn in range(settings.runs):
            with on_core(turn):
                apply(loaded, turns, listed=False)
                if program is not None and (turns.answer is None or turns.answer.count is not None):
                    ask(program, Path(folder), turns, settings.timeout)
                apply(loaded, turns, listed=True)
            if max(times[-1] for times in turns.seconds.values()) > LONG_RUN_SECONDS:
                break
    return turns


def apply(loaded: cases.Loaded, turns: Turns, *, listed: bool) -> None:
    """Make a Monitor and apply the stream; keep what it counted, not the rows."""
    kind = "list" if listed else "count"
    begun = time.process_time()
    with mf.Monitor(loaded.graph, loaded.pattern, matches=listed, threads=1, device="cpu") as monitor:
        made = time.process_time()
        turns.found[listed] = monitor.apply(loaded.updates)[loaded.pattern]
        turns.seconds[kind].append(time.process_time() - made)
        turns.seconds[f"create, {kind}"].append(made - begun)


def ask(program: Path, folder: Path, turns: Turns, limit: float) -> None:
    """Run RapidFlow once."""
    answer = turns.answer = rapidflow.run(program, folder, limit)
    if answer.count is not None:
        turns.seconds["RapidFlow"].append(answer.seconds)
        turns.seconds["create, RapidFlow"].append(answer.preparing)


def totals(turns: Turns, kind: str, creation: str) -> dict[str, float]:
    """Return the seconds of making a Monitor or an index, and with those of the stream."""
    made = min(turns.seconds[creation])
    return {"create_seconds": made, "total_seconds": made + min(turns.seconds[kind])}


def peer_result(name: str, turns: Turns, *, agrees: bool) -> CaseResult:
    """Return RapidFlow's result. One that is wrong or missing is named, and compared with nothing."""
    answer = turns.answer
    assert answer is not None
    note = (
        ""
        if agrees
        else f" ({answer.failed or ('stopped by the limit' if answer.timeout else 'a wrong count')})"
    )
    if answer.count is None:
        return CaseResult(f"count {name}", f"RapidFlow{note}", None, None, None)
    return CaseResult(
        f"count {name}",
        f"RapidFlow{note}",
        answer.count,
        "motiflux" if agrees else None,
        turns.timing("RapidFlow"),
        figures=totals(turns, "RapidFlow", "create, RapidFlow"),
    )
