"""``motiflux count``: how many."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
import time
from typing import TYPE_CHECKING, Any

from motiflux.cli import options as opt
from motiflux.cli.exits import ExitCode
from motiflux.cli.output import outcome_fields, print_json, timing_text
from motiflux.types import Semantics, Symmetry
from motiflux.units import quantity, seconds_text

if TYPE_CHECKING:
    import motiflux as mf

HELP = "Count the occurrences of each PATTERN in GRAPH."


def run(
    graph: opt.GraphArgument,
    patterns: opt.PatternsArgument,
    semantics: opt.SemanticsOption = Semantics.ISOMORPHISM,
    symmetry: opt.SymmetryOption = Symmetry.EMBEDDINGS,
    directed: opt.DirectedOption = None,
    limit: opt.LimitOption = None,
    timeout: opt.TimeoutOption = None,
    threads: opt.ThreadsOption = None,
    device: opt.DeviceOption = "auto",
    devices: opt.DevicesOption = None,
    engine: opt.EngineOption = opt.Engine.AUTO,
    gpu_memory: opt.GpuMemoryOption = None,
    settings: opt.TuningOption = None,
    as_json: opt.JsonOption = False,
    progress: opt.ProgressOption = None,
) -> ExitCode:
    """Count, print, and say whether all counts are complete."""
    import motiflux as mf

    tuning = opt.tuning_of(settings)
    inputs = opt.read_several(graph, patterns, directed=directed, threads=threads, progress=progress)
    started = time.perf_counter()
    with opt.search_progress(progress, "counting") as shown:
        results = mf.count(
            inputs.graph,
            inputs.patterns,
            semantics=semantics.value,
            symmetry=symmetry.value,
            device=device,
            devices=devices,
            engine=engine.value,
            limit=limit,
            timeout=timeout,
            progress=shown,
            threads=threads,
            gpu_memory=gpu_memory,
            tuning=tuning,
        )
    seconds = time.perf_counter() - started
    if len(patterns) == 1:
        _print_one(results[0], symmetry, limit, inputs.load_seconds, as_json=as_json)
    elif as_json:
        print_json(_several_fields(patterns, results, seconds, inputs.load_seconds))
    else:
        for source, result in zip(patterns, results, strict=True):
            text = count_text(result, symmetry, at_limit=at_limit(result, limit))
            print(f"{' '.join(source.split())}: {text}")
        print(f"counted in {seconds_text(seconds)}, reading {seconds_text(inputs.load_seconds)}")
    done = all(result.complete or at_limit(result, limit) for result in results)
    return ExitCode.DONE if done else ExitCode.INCOMPLETE


def at_limit(result: "mf.Count", limit: int | None) -> bool:
    """Say whether a count is as large as was asked for."""
    return limit is not None and int(result) >= limit


def _print_one(
    result: "mf.Count", symmetry: Symmetry, limit: int | None, load_seconds: float, *, as_json: bool
) -> None:
    if as_json:
        print_json({"count": int(result), **outcome_fields(result, load_seconds)})
    else:
        print(count_text(result, symmetry, at_limit=at_limit(result, limit)))
        print(timing_text(result, load_seconds))


def _several_fields(
    patterns: list[str], results: list["mf.Count"], seconds: float, load_seconds: float
) -> dict[str, Any]:
    """Give the JSON fields of several counts; `seconds` is the time of the whole call, planning included."""
    counts = [
        {"pattern": source, "count": int(result), **outcome_fields(result, load_seconds)}
        for source, result in zip(patterns, results, strict=True)
    ]
    return {"counts": counts, "seconds": seconds, "load_seconds": load_seconds}


def count_text(result: "mf.Count", symmetry: Symmetry, *, at_limit: bool) -> str:
    """Say the count, and when it is only a lower bound, that it is and why."""
    number = quantity(int(result), symmetry.value.removesuffix("s"))
    if result.complete:
        return number
    reason = "stopped at the limit" if at_limit else "stopped by the timeout"
    return f"at least {number} ({reason})"
