"""The suite ``gpu`` beside counts: rows, what a call costs beyond its kernels, one GPU against two."""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import motiflux as mf
from motiflux.bench.measure import Timing
from motiflux.bench.results import BaselineTime, CaseResult
from motiflux.bench.run import check_count
from motiflux.bench.suite import Case, Settings, load_part
from motiflux.errors import DeviceError
from motiflux.gpu.runtime.kernel_times import taking_times

common = load_part(Path(__file__).resolve().parent / "common.py")

ROWS = {"device": 100_000_000, "NumPy": 100_000_000, "Arrow": 20_000_000}
"""Most rows that are listed, by where they go."""
BATCH_ROWS = 1 << 20
WARM_ROWS = 1000
TIMED_CALLS, CALLS = 50, 300
BOTH_SECONDS = 12.0


@dataclass(frozen=True)
class Listed:
    """Embeddings of a pattern of four vertices: as ids in device memory, or on the host."""

    case: Case
    where: str
    quick: bool = True

    @property
    def name(self) -> str:
        return f"rows {self.case.name}, {self.where}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        common.tell(self.name)
        graph, pattern = common.read(self.case.graph), self.case.pattern()
        if self.where == "Arrow" and not has_arrow():
            yield CaseResult(f"{self.name} (skipped: no pyarrow here)", common.ENGINE, None, None, None)
            return
        for _ in range(3):
            self._rows(graph, pattern, WARM_ROWS)
            common.accelerator().compiler.settle(common.COMPILE_SECONDS)
        rows = [0]

        def call() -> bool:
            rows[0] = self._rows(graph, pattern, ROWS[self.where])
            return True

        call()
        timing = common.several(call, settings.runs, 2.0)
        assert isinstance(self.case.expected, int)
        expected = min(self.case.expected, ROWS[self.where])
        checked = check_count(rows[0], True, expected, self.case.source)
        yield CaseResult(self.name, common.ENGINE, rows[0], checked.by, timing, disagrees=checked.disagrees)

    def _rows(self, graph: mf.Graph, pattern: mf.Pattern, limit: int) -> int:
        matches = mf.match(graph, pattern, device=common.DEVICE, limit=limit, batch_rows=BATCH_ROWS)
        if self.where == "device":
            return sum(len(batch) for batch in matches.device_batches())
        if self.where == "NumPy":
            return sum(len(batch) for batch in matches)
        import pyarrow as pa

        return sum(len(batch) for batch in pa.RecordBatchReader.from_stream(matches))


def has_arrow() -> bool:
    return find_spec("pyarrow") is not None


@dataclass(frozen=True)
class Again:
    """A query whose shape and candidate space are known: what the call costs beyond its kernels."""

    what: str
    case: Case
    tuning: Mapping[str, str] = field(default_factory=dict, hash=False)
    quick: bool = True

    @property
    def name(self) -> str:
        return f"again {self.what}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        common.tell(self.name)
        graph, pattern = common.read(self.case.graph), self.case.pattern()
        call = partial(mf.count, graph, pattern, device=common.DEVICE, tuning=self.tuning)
        for _ in range(3):
            call()
            common.accelerator().compiler.settle(common.COMPILE_SECONDS)
        kernels = []
        for _ in range(TIMED_CALLS):
            with taking_times() as times:
                call()
            kernels.append(times.total)
        inside = Timing.of(kernels)
        beyond = []
        for _ in range(CALLS):
            start = time.perf_counter()
            found = call()
            beyond.append(time.perf_counter() - start - inside.median)
        expected = self.case.expected
        assert isinstance(expected, int)
        checked = check_count(int(found), found.complete, expected, self.case.source)
        yield CaseResult(f"{self.name}, kernels", common.ENGINE, int(found), checked.by, inside)
        yield CaseResult(
            self.name, common.ENGINE, int(found), checked.by, Timing.of(beyond), disagrees=checked.disagrees
        )


@dataclass(frozen=True)
class TwoDevices:
    """A long count on one GPU and on two, by the wall clock; skipped where there are not two."""

    case: Case
    quick: bool = False

    @property
    def name(self) -> str:
        return f"two GPUs {self.case.name}"

    def run(self, settings: Settings) -> Iterator[CaseResult]:
        if (reason := lacking()) is not None:
            yield CaseResult(f"{self.name} (skipped: {reason})", common.ENGINE, None, None, None)
            return
        common.tell(self.name)
        graph, pattern = common.read(self.case.graph), self.case.pattern()
        one: BaselineTime | None = None
        for devices, name in ((1, f"{self.name}, one alone"), (2, self.name)):
            found, timing = self._timed(graph, pattern, devices, settings)
            checked = check_count(int(found), found.complete, self.case.expected, self.case.source)
            ratio = one.seconds / timing.min if one is not None and found.complete else None
            yield CaseResult(
                name,
                common.ENGINE,
                int(found) if found.complete else None,
                checked.by,
                timing,
                one,
                ratio,
                checked.disagrees,
            )
            one = BaselineTime("one GPU", timing.min, timeout=not found.complete)

    def _timed(
        self, graph: mf.Graph, pattern: mf.Pattern, devices: int, settings: Settings
    ) -> tuple[mf.Count, Timing]:
        most: dict[str, Any] = {"timeout": min(settings.timeout, BOTH_SECONDS)}
        found: list[mf.Count] = []

        def call() -> bool:
            found[:] = [mf.count(graph, pattern, device=common.DEVICE, devices=devices, **most)]
            return found[0].complete

        for _ in range(3):
            call()
            common.accelerator().compiler.settle(common.COMPILE_SECONDS)
        timing = common.several(call, settings.runs, 2.0)
        return found[0], timing


def lacking() -> str | None:
    """Return why two GPUs cannot be used here; None if they can."""
    if "devices" not in inspect.signature(mf.count).parameters:
        return "count takes no devices"
    try:
        mf.count(mf.Graph.from_edges([(0, 1)]), "(a)--(b)", device=common.DEVICE, devices=2)
    except DeviceError:
        return "no two GPUs here"
    return None


def listed(cases: Sequence[Case]) -> Iterator[Listed]:
    """Give each pattern to each place."""
    for where in ROWS:
        yield from (Listed(case, where) for case in cases)
