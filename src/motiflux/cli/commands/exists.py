"""``motiflux exists``: whether there is an occurrence."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
from motiflux.cli import options as opt
from motiflux.cli.exits import ExitCode
from motiflux.cli.interrupts import exit_code
from motiflux.cli.output import outcome_fields, print_json, timing_text
from motiflux.words import Semantics

HELP = "Tell whether PATTERN occurs in GRAPH; the search ends at the first occurrence."


def run(
    graph: opt.GraphArgument,
    pattern: opt.PatternArgument,
    *,
    semantics: opt.SemanticsOption = Semantics.ISOMORPHISM,
    directed: opt.DirectedOption = None,
    timeout: opt.TimeoutOption = None,
    threads: opt.ThreadsOption = None,
    settings: opt.TuningOption = None,
    as_json: opt.JsonOption = False,
    progress: opt.ProgressOption = None,
) -> ExitCode:
    """Search and print; incomplete if time was up before an occurrence was found."""
    import motiflux as mf

    tuning = opt.tuning_of(settings)
    inputs = opt.read_inputs(graph, [pattern], directed=directed, threads=threads, progress=progress)
    with opt.search_progress(progress, "searching") as shown:
        found = mf.exists(
            inputs.graph,
            inputs.pattern,
            semantics=semantics.value,
            timeout=timeout,
            threads=threads,
            tuning=tuning,
            progress=shown,
        )
    if as_json:
        print_json({"exists": bool(found), **outcome_fields(found, inputs.load_seconds)})
    else:
        print(found)
        print(timing_text(found, inputs.load_seconds))
    opt.tell_why_none([inputs.pattern], inputs.graph, [int(bool(found))])
    return exit_code(None, done=found.complete)
