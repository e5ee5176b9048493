"""``motiflux count``: how many."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
from typing import TYPE_CHECKING

from motiflux.cli import options as opt
from motiflux.cli.exits import ExitCode
from motiflux.cli.output import outcome_fields, print_json, timing_text
from motiflux.types import Semantics, Symmetry
from motiflux.units import quantity

if TYPE_CHECKING:
    import motiflux as mf

HELP = "Count the occurrences of PATTERN in GRAPH."


def run(
    graph: opt.GraphArgument,
    pattern: opt.PatternArgument,
    semantics: opt.SemanticsOption = Semantics.ISOMORPHISM,
    symmetry: opt.SymmetryOption = Symmetry.EMBEDDINGS,
    directed: opt.DirectedOption = None,
    limit: opt.LimitOption = None,
    timeout: opt.TimeoutOption = None,
    threads: opt.ThreadsOption = None,
    device: opt.DeviceOption = "auto",
    engine: opt.EngineOption = opt.Engine.AUTO,
    gpu_memory: opt.GpuMemoryOption = None,
    settings: opt.TuningOption = None,
    as_json: opt.JsonOption = False,
    progress: opt.ProgressOption = None,
) -> ExitCode:
    """Count, print, and say whether the count is complete."""
    import motiflux as mf

    tuning = opt.tuning_of(settings)
    inputs = opt.read_inputs(graph, pattern, directed=directed, threads=threads, progress=progress)
    with opt.search_progress(progress, "counting") as shown:
        result = mf.count(
            inputs.graph,
            inputs.pattern,
            semantics=semantics.value,
            symmetry=symmetry.value,
            device=device,
            engine=engine.value,
            limit=limit,
            timeout=timeout,
            progress=shown,
            threads=threads,
            gpu_memory=gpu_memory,
            tuning=tuning,
        )
    at_limit = limit is not None and int(result) >= limit
    if as_json:
        print_json({"count": int(result), **outcome_fields(result, inputs.load_seconds)})
    else:
        print(count_text(result, symmetry, at_limit=at_limit))
        print(timing_text(result, inputs.load_seconds))
    return ExitCode.DONE if result.complete or at_limit else ExitCode.INCOMPLETE


def count_text(result: "mf.Count", symmetry: Symmetry, *, at_limit: bool) -> str:
    """Say the count, and when it is only a lower bound, that it is and why."""
    number = quantity(int(result), symmetry.value.removesuffix("s"))
    if result.complete:
        return number
    reason = "stopped at the limit" if at_limit else "stopped by the timeout"
    return f"at least {number} ({reason})"
