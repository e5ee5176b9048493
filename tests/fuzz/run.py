"""The command line of the fuzzer: options, processes, and the summary."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from motiflux.bench.machine import commit, cpu_model
from motiflux.config import private_tuning
from motiflux.device import open_device
from motiflux.errors import MotifluxError
from tests.fuzz.program import EMULATOR
from tests.fuzz.stream import Job, Report, Tally, run_job

REPOSITORY = Path(__file__).resolve().parents[2]
DEVICES = ("cpu", "emulated", "cuda")
SECONDS = 60.0
"""How long it runs unless told."""
STATUS_SECONDS = 60.0
"""How often it says how far it is."""
INTERRUPTED = 130
"""The exit code after an interrupt: 128 and its number, as shells have it."""
PATIENCE_SECONDS = 300.0
"""A process that says nothing for so long hangs. The emulator's kernels take a minute to compile."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the fuzzer and return its exit code, as `scripts/fuzz.py` says."""
    options = _options(arguments)
    if options.device == "emulated":
        known = os.environ.get("MOTIFLUX_DEVICES")
        os.environ["MOTIFLUX_DEVICES"] = f"{known},{EMULATOR}" if known else EMULATOR
    try:
        model = cpu_model() if options.device == "cpu" else open_device(options.device).model
    except MotifluxError as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 1
    print(f"fuzz: device={options.device} ({model}) seed={options.seed}", flush=True)
    result, started = Result(), time.monotonic()
    try:
        if options.replay is not None:
            run_job(_replayed(options), result.take)
        else:
            _run_processes(options, result)
    except KeyboardInterrupt:
        result.interrupted = True
    _finish(options, model, result, time.monotonic() - started)
    if result.interrupted:
        print("fuzz: the run was cut by an interrupt", file=sys.stderr)
        return INTERRUPTED
    if not (result.differing or result.cases()):
        print("fuzz: nothing was compared", file=sys.stderr)
        return 1
    return 1 if result.differing else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="fuzz.py", description="Compare random calls of motiflux with motiflux.cpu.reference."
    )
    parser.add_argument("--device", choices=DEVICES, default="cpu", help="where motiflux searches")
    parser.add_argument("--seed", type=int, default=None, help="of what is drawn; default: from the clock")
    parser.add_argument("--cases", type=int, help="end after so many cases: calls that were compared")
    parser.add_argument(
        "--seconds", type=float, help=f"end after so long; default without --cases: {SECONDS}"
    )
    parser.add_argument("--processes", type=int, default=1, help="how many draw and compare, each its own")
    parser.add_argument("--keep-going", action="store_true", help="do not end at the first difference")
    parser.add_argument(
        "--replay", type=place, metavar="SEED:PROCESS:SCENARIO", help="run one scenario of a run again"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the summary there too")
    parser.add_argument(
        "--set",
        type=switch,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a tuning switch of every call",
    )
    options = parser.parse_args(arguments)
    if options.processes < 1:
        parser.error("--processes: expected at least 1")
    try:
        options.fixed = dict(options.set)
        private_tuning(options.fixed)
    except MotifluxError as error:
        parser.error(f"--set: {error}")
    if options.replay is not None:
        options.seed = options.replay[0]
    if options.seed is None:
        options.seed = int(time.time())
    if options.cases is None and options.seconds is None:
        options.seconds = SECONDS
    return options


def place(text: str) -> tuple[int, int, int]:
    """Return the numbers that name a scenario."""
    seed, process, scenario = (int(part) for part in text.split(":"))
    return seed, process, scenario


def switch(text: str) -> tuple[str, str]:
    """Return the name and the value of a tuning switch."""
    name, value = text.split("=")
    return name, value


def _replayed(options: argparse.Namespace) -> Job:
    seed, process, number = options.replay
    return Job(options.device, seed, process, only=number, fixed=options.fixed)


# --- processes ---


@dataclass
class Result:
    """What all processes did."""

    tally: Tally = field(default_factory=Counter)
    differing: int = 0
    interrupted: bool = False

    def take(self, report: Report) -> None:
        """Add a report, and print its differences."""
        self.tally.update(report.tally)
        if report.difference is not None:
            self.add(report.difference)

    def add(self, difference: str) -> None:
        """Count a difference and print it."""
        self.differing += 1
        print(f"\n{difference}", flush=True)

    def cases(self, aspect: str = "kind") -> dict[str, int]:
        """Return the number of cases by the values of an aspect, the most frequent first."""
        found = {value: number for (one, value), number in self.tally.items() if one == aspect}
        return dict(sorted(found.items(), key=lambda item: -item[1]))


@dataclass
class Worker:
    """A process, the end of its pipe that is read here, and what was last heard of it."""

    job: Job
    process: BaseProcess
    reports: Connection
    heard: float
    scenario: int = 0


def _work(job: Job, reports: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    run_job(job, reports.send)
    reports.send(None)


def _run_processes(options: argparse.Namespace, result: Result) -> None:
    workers = [_start(_job(options, number)) for number in range(options.processes)]
    started = said = time.monotonic()
    try:
        while workers and (options.keep_going or not result.differing):
            ready = wait([worker.reports for worker in workers], timeout=1.0)
            workers = [
                worker
                for worker in workers
                if (_hear(worker, result) if worker.reports in ready else _is_heard_of(worker, result))
            ]
            if time.monotonic() - said >= STATUS_SECONDS:
                said = time.monotonic()
                cases = sum(result.cases().values())
                print(f"{said - started:,.0f} s: {cases:,} cases, {result.differing} differ", flush=True)
    finally:
        for worker in workers:
            worker.process.kill()


def _job(options: argparse.Namespace, number: int) -> Job:
    """Return the share of a process; cases are dealt out evenly."""
    cases = options.cases
    if cases is not None:
        cases = cases // options.processes + (number < cases % options.processes)
    return Job(
        options.device,
        options.seed,
        number,
        cases,
        options.seconds,
        options.keep_going,
        fixed=options.fixed,
    )


def _start(job: Job) -> Worker:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(job, there), daemon=True)
    process.start()
    there.close()
    return Worker(job, process, here, time.monotonic())


def _hear(worker: Worker, result: Result) -> bool:
    """Take a report; return whether more may come."""
    try:
        report = worker.reports.recv()
    except EOFError:
        worker.process.join()
        result.add(_broken(worker, f"the process ended with exit code {worker.process.exitcode}"))
        return False
    if report is None:
        worker.process.join()
        return False
    worker.heard, worker.scenario = time.monotonic(), report.number
    result.take(report)
    return True


def _is_heard_of(worker: Worker, result: Result) -> bool:
    """Return whether a process has reported lately; end it if not."""
    if time.monotonic() - worker.heard < PATIENCE_SECONDS:
        return True
    worker.process.kill()
    result.add(_broken(worker, f"the process has not ended a call in {PATIENCE_SECONDS:.0f} s"))
    return False


def _broken(worker: Worker, what: str) -> str:
    return f"differs: {what} in {worker.job.command(worker.scenario)}"


# --- the summary ---


def _finish(options: argparse.Namespace, model: str, result: Result, seconds: float) -> None:
    """Print the summary, and write it where it is asked for."""
    for aspect in ("kind", "semantics", "symmetry", "limit", "tuning", "compared", "answered"):
        parts = [f"{value} {number:,}" for value, number in result.cases(aspect).items()]
        print(f"{aspect + ':':<11}{'; '.join(parts)}")
    cases = sum(result.cases().values())
    if options.json is not None:
        known = commit(REPOSITORY)
        summary = {
            "device": options.device,
            "model": model,
            "seed": options.seed,
            "processes": options.processes,
            "cases": cases,
            "differing": result.differing,
            "interrupted": result.interrupted,
            "seconds": round(seconds, 3),
            "by": {aspect: result.cases(aspect) for aspect in sorted({one for one, _ in result.tally})},
            "commit": None if known == "unknown" else known,
        }
        options.json.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    print(
        f"{cases / seconds:,.0f} cases a second\n"
        f"fuzz: device={options.device} seed={options.seed} {cases:,} cases in {seconds:,.0f} s,"
        f" {result.differing} differ",
        flush=True,
    )
