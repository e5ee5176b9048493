"""``motiflux bench``: run a benchmark suite and store its result."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from motiflux.cli import options as opt
from motiflux.cli.exits import ExitCode
from motiflux.cli.output import print_json, print_table
from motiflux.cli.values import starting_with
from motiflux.units import grouped, quantity, seconds_text

if TYPE_CHECKING:
    from motiflux.bench.results import CaseResult, Report

KEEP_SECONDS = 1.0
SUITES = Path("benchmarks/suite")

HELP = (
    "Run the benchmark SUITE and write its result. If a count differs from its oracle or from a peer, the "
    "exit code is 4."
)


def suite_words() -> list[str]:
    """Return the names of the suites in the default folder."""
    return sorted(path.stem for path in SUITES.glob("*.py") if not path.stem.startswith("_"))


def run(
    suite: Annotated[
        str,
        typer.Argument(
            metavar="SUITE",
            autocompletion=starting_with(suite_words),
            help="Suite name: a file in the folder of suites.",
        ),
    ],
    suites: Annotated[Path, typer.Option(help="Folder of the suites.")] = SUITES,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("benchmarks/results"),
    quick: Annotated[
        bool, typer.Option("--quick", metavar=opt.FLAG, help="Run only the quick cases, two runs each.")
    ] = False,
    only: Annotated[str, typer.Option(metavar="TEXT", help="Run only cases with TEXT in their name.")] = "",
    timeout: Annotated[float, typer.Option(help="Maximum seconds per count.")] = 60.0,
    as_json: opt.JsonOption = False,
) -> ExitCode:
    """Run it, write it, print it."""
    from motiflux.bench.results import write_report
    from motiflux.bench.run import run_suite
    from motiflux.bench.suite import Settings, load_suite

    settings = Settings(timeout=timeout, quick=quick, only=only)
    loaded = load_suite(suite, suites)
    last = time.monotonic()

    def keep(report: "Callable[[], Report]") -> None:
        """Write the result so far, about every second, so that an interrupted run keeps it."""
        nonlocal last
        if time.monotonic() - last >= KEEP_SECONDS:
            write_report(report(), out, whole=False)
            last = time.monotonic()

    report = run_suite(loaded, settings, _print_result, keep)
    path = write_report(report, out)
    disagreements = [case.case for case in report.cases if case.disagrees]
    if as_json:
        print_json({"output": str(path), "disagreements": disagreements, **report.as_json()})
    else:
        _print_report(report)
        print(f"written to {path}")
    for case in disagreements:
        print(f"error: wrong count: {case}", file=sys.stderr)
    return ExitCode.INTERNAL if disagreements else ExitCode.DONE


def _print_result(case: "CaseResult") -> None:
    """Print the result of one case on stderr while the suite runs."""
    count = "not finished" if case.count is None else grouped(case.count)
    time = "" if case.seconds is None else seconds_text(case.seconds.min)
    print(f"{case.case:<44} {count:>22} {time:>9}  {case.engine}", file=sys.stderr, flush=True)


def _print_report(report: "Report") -> None:
    unfinished = sum(case.count is None for case in report.cases)
    print(
        f"{report.suite} on {report.device}: {quantity(len(report.cases), 'case')}, {unfinished} not finished"
    )
    if report.bars:
        rows = [
            [
                "holds" if bar.holds else "MISSED",
                bar.bar,
                "-" if bar.value is None else f"{bar.value:,.3g}",
                f"{'<=' if bar.better == 'lower' else '>='} {bar.target:,.3g}",
            ]
            for bar in report.bars
        ]
        print_table("bars", ["", "bar", "value", "target"], rows, right=("value", "target"))
