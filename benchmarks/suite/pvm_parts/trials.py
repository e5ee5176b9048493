"""One query asked in several ways: by engine and switches, counted or listed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import motiflux as mf
from motiflux.bench.measure import wall_clock
from motiflux.bench.suite import load_part
from motiflux.config import PRIVATE, TUNING, private_tuning
from motiflux.device import Mark
from motiflux.errors import MotifluxError
from motiflux.gpu.runtime.accelerator import open_accelerator
from motiflux.gpu.runtime.kernel_times import taking_times
from motiflux.gpu.storage.device_csr import resident
from motiflux.request.registry import ENGINES

runs = load_part(Path(__file__).resolve().parent / "runs.py")

DEVICE = os.environ.get("MOTIFLUX_DEVICE", "cuda")
LIMIT = float(os.environ.get("MOTIFLUX_LIMIT", "1.0"))
"""Seconds after which a query has not ended."""
STAND_INS: dict[str, str] = {}
"""Engines that run in place of others: for tests."""
ENUMERATE = {"tail": "off", "parts": "off", "tables": "off"}
"""Every embedding is found, one by one."""
ROWS = 20_000_000
"""Rows that a listing has at most."""
ON_HOST = os.environ.get("MOTIFLUX_LISTED") == "host"
"""Whether rows are listed as NumPy arrays instead."""
_BATCH_ROWS = 1 << 20
_COMPILE_SECONDS = 60.0
_FIRST_SECONDS = 10.0
_MOST_WARM = 4
_ALL = 1 << 60
CPU, FAILED = "cpu", "failed"


@dataclass(frozen=True)
class Way:
    """A way to ask a query.

    Parameters
    ----------
    engine
        The engine, by name.
    tuning
        Switches, private ones too.
    listed
        Whether embeddings are listed, as ids in device memory, at most `ROWS`, and not counted.
    gpu_memory
        Bytes that may be held on the device; None: all.
    """

    engine: str
    tuning: Mapping[str, str] = field(default_factory=dict)
    listed: bool = False
    gpu_memory: int | None = None


@dataclass(frozen=True)
class Answer:
    """What a call returned.

    Parameters
    ----------
    count
        Embeddings, or listed rows; None: it did not end in time, or failed.
    engine
        The engine that searched, by its own account.
    failure
        What it raised, in words; empty: nothing.
    """

    count: int | None
    engine: str
    failure: str = ""


@dataclass(frozen=True)
class Outcome:
    """The answer of one way, and the times of its runs; None if it did not end."""

    answer: Answer
    times: runs.Times | None


def lacking(ways: Iterable[Way]) -> str:
    """Return the first engine or switch that ways need and that does not exist, in words; else nothing."""
    for way in ways:
        engine = STAND_INS.get(way.engine, way.engine)
        if engine not in (*ENGINES, "auto"):
            return f"no engine {engine}"
        for name, value in way.tuning.items():
            option = TUNING.get(name) or PRIVATE.get(name)
            if option is None or value not in option.values:
                return f"no switch {name}={value}"
    return ""


def ask(
    graph: mf.Graph, pattern: mf.Pattern, way: Way, seconds: float | None = None, most: int | None = None
) -> Answer:
    """Ask once, within the limit or the seconds given; for at most so many embeddings, if asked."""
    engine = STAND_INS.get(way.engine, way.engine)
    options: dict[str, Any] = {
        "device": DEVICE,
        "engine": engine,
        "timeout": LIMIT if seconds is None else seconds,
        "tuning": private_tuning(way.tuning),
        "gpu_memory": way.gpu_memory,
        "limit": ROWS if way.listed and most is None else most,
    }
    try:
        return _listed(graph, pattern, options) if way.listed else _counted(graph, pattern, options)
    except MotifluxError as error:
        return Answer(None, engine, f"{type(error).__name__}: {error}")


def _counted(graph: mf.Graph, pattern: mf.Pattern, options: dict[str, Any]) -> Answer:
    found = mf.count(graph, pattern, **options)
    ended = found.complete or found == options["limit"]
    return Answer(int(found) if ended else None, found.engine)


def _listed(graph: mf.Graph, pattern: mf.Pattern, options: dict[str, Any]) -> Answer:
    with mf.match(graph, pattern, batch_rows=_BATCH_ROWS, **options) as matches:
        batches = iter(matches) if DEVICE == CPU or ON_HOST else matches.device_batches()
        rows = sum(len(batch) for batch in batches)
        ended = matches.complete or rows == options["limit"]
        return Answer(rows if ended else None, matches.engine)


def warm(graph: mf.Graph, pattern: mf.Pattern, way: Way) -> tuple[Answer, float]:
    """Have plans, tables and kernels made; return the answer, and the seconds that this took.

    A first call looks for one embedding, since tables and kernels may take longer than a search may.
    """
    begun = wall_clock()
    ask(graph, pattern, way, _FIRST_SECONDS, most=1)
    settle()
    waited = wall_clock() - begun
    for _ in range(_MOST_WARM):
        answer, compiled = ask(graph, pattern, way), settle()
        waited += compiled
        if compiled == 0.0:  # else it may have waited for its kernel, or begun one that the next call has
            break
    return answer, waited


def settle() -> float:
    """Wait until nothing is compiled; return the seconds, 0 if nothing was."""
    if DEVICE == CPU:
        return 0.0
    compiler = open_accelerator(DEVICE).compiler
    if compiler.settle(0.0):
        return 0.0
    begun = wall_clock()
    compiler.settle(_COMPILE_SECONDS)
    return wall_clock() - begun


def outcomes(
    graph: mf.Graph,
    pattern: mf.Pattern,
    ways: Mapping[str, Way],
    clock: runs.Clock,
    before: Callable[[], object] = lambda: None,
) -> dict[str, Outcome]:
    """Ask in all ways, in turns; ways that do not end are asked once or twice.

    Parameters
    ----------
    before
        Called before each timed call.
    """
    seconds = clock.share()
    answers: dict[str, Answer] = {}
    for name, way in ways.items():
        answers[name], prepared = warm(graph, pattern, way)
        clock.outside(prepared)
    seen: dict[str, list[Answer]] = {name: [] for name in ways}

    def call(name: str) -> Callable[[], None]:
        return lambda: seen[name].append(ask(graph, pattern, ways[name]))

    ended = {name: call(name) for name, answer in answers.items() if answer.count is not None}
    times = runs.in_turns(ended, seconds, before) if ended else {}
    if ended and (compiled := settle()):  # a kernel for the shape of a plan, after so many calls
        clock.outside(compiled)
        times = runs.in_turns(ended, seconds, before)
    return {name: _outcome(answers[name], seen[name], times.get(name)) for name in ways}


def _outcome(first: Answer, later: Iterable[Answer], times: runs.Times | None) -> Outcome:
    """Return the outcome of all calls: a later answer that differs, or did not end, is the answer."""
    answer = next((one for one in later if one.count != first.count), first)
    return Outcome(answer, None if answer.count is None else times)


def forget_tables(graph: mf.Graph) -> None:
    """Have the next call copy to the device what it reads there; plans and arrays of the host stay."""
    if DEVICE != CPU:
        resident(graph, open_accelerator(DEVICE).device).reclaim(_ALL)


@dataclass
class Copies:
    """Uploads in a `copies` context: bytes, and seconds by the device's clock."""

    nbytes: int = 0
    marks: list[tuple[Mark, Mark]] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Sum over the uploads, once the streams are done."""
        return sum(ended.milliseconds_since(began) for began, ended in self.marks) / 1000


@contextmanager
def copies() -> Iterator[Copies]:
    """Measure the uploads of all streams of the device."""
    found = Copies()
    if DEVICE == CPU:
        yield found
        return
    accelerator = open_accelerator(DEVICE)
    session = accelerator.session()
    kind: Any = type(session.main)
    accelerator.recycle(session)
    upload = kind.upload

    def measured(stream: Any, destination: Any, source: Any, offset: int = 0) -> None:
        began = stream.mark()
        upload(stream, destination, source, offset)
        found.marks.append((began, stream.mark()))
        found.nbytes += source.nbytes

    kind.upload = measured
    try:
        yield found
    finally:
        kind.upload = upload


def tables_copied(graph: mf.Graph, pattern: mf.Pattern, way: Way) -> int | None:
    """Return the bytes of tables that a call copies to the device; None if its engine does not count them."""
    forget_tables(graph)
    options: dict[str, Any] = {"device": DEVICE, "engine": STAND_INS.get(way.engine, way.engine)}
    told = mf.explain(
        graph,
        pattern,
        analyze=True,
        timeout=LIMIT,
        tuning=private_tuning(way.tuning),
        gpu_memory=way.gpu_memory,
        **options,
    )
    return None if told.report.actual is None else told.report.actual.copied


def device_ms(graph: mf.Graph, pattern: mf.Pattern, way: Way) -> float:
    """Return the milliseconds of kernels by the device's clock, the least of some calls."""
    found = []
    for _ in range(runs.LEAST):
        with taking_times() as times:
            ask(graph, pattern, way)
        found.append(1e3 * times.total)
    return min(found)


def breakdown(graph: mf.Graph, pattern: mf.Pattern, way: Way) -> dict[str, float]:
    """Return what a call takes that copies all tables (figure 7): milliseconds of copies and of kernels.

    ``copies_ms`` and the parts of `DeviceTimes` are by the device's clock, ``whole_ms`` is by the wall clock.
    """
    forget_tables(graph)
    with taking_times() as times, copies() as copied:
        begun = wall_clock()
        ask(graph, pattern, way)
        whole = wall_clock() - begun
    parts = {f"{name}_ms": 1e3 * seconds for name, seconds in asdict(times).items() if seconds}
    return {
        "whole_ms": 1e3 * whole,
        "copies_ms": 1e3 * copied.seconds,
        "copied_bytes": float(copied.nbytes),
        **parts,
    }
