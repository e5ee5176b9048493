"""``motiflux orbits``: graphlet degree vectors."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
from pathlib import Path
from typing import Annotated

import typer

from motiflux.cli import options as opt
from motiflux.cli.exits import ExitCode
from motiflux.cli.interrupts import exit_code
from motiflux.cli.output import outcome_fields, print_json, timing_text
from motiflux.units import quantity

HELP = (
    "Count for each vertex of GRAPH the connected induced subgraphs of up to four or five vertices in which "
    "it has each place: graphlet degree vectors, in ORCA's order. Directions and labels are ignored."
)

SizeOption = Annotated[
    int, typer.Option(metavar="4|5", min=4, max=5, help="Largest number of vertices: 15 or 73 orbits.")
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        parser=opt.file_name,
        help="Write the counts to a .parquet, .arrow, .csv (also .csv.gz, .csv.zst) or .npy file.",
        show_default=False,
    ),
]


def run(
    graph: opt.GraphArgument,
    *,
    size: SizeOption = 4,
    output: OutputOption = None,
    directed: opt.DirectedOption = None,
    timeout: opt.TimeoutOption = None,
    threads: opt.ThreadsOption = None,
    settings: opt.TuningOption = None,
    as_json: opt.JsonOption = False,
    progress: opt.ProgressOption = None,
) -> ExitCode:
    """Count, print the sum of each orbit and write the counts of all vertices to a file."""
    import motiflux as mf
    from motiflux.io.writers import check_output

    tuning = opt.tuning_of(settings)
    if output is not None:
        opt.refuse_to_overwrite(output, graph)
        check_output(output)
    inputs = opt.read_inputs(graph, [], directed=directed, threads=threads, progress=progress)
    with opt.search_progress(progress, "counting orbits") as shown:
        found = mf.orbits(inputs.graph, size, timeout=timeout, threads=threads, tuning=tuning, progress=shown)
    if output is not None and found.complete:
        found.save(output)
    sums = [int(found.column(name).sum(dtype=object)) for name in found.columns]
    if as_json:
        where = str(output) if output is not None and found.complete else None
        fields = outcome_fields(found, inputs.load_seconds)
        print_json({"size": size, "rows": len(found), "sums": sums, **fields, "output": where})
    elif not found.complete:
        print("no counts (stopped by the timeout)")
    else:
        digits = max(len(f"{number:,}") for number in sums)
        for name, number in zip(found.columns, sums, strict=True):
            print(f"{name:<3}  {number:>{digits},}")
        if output is not None:
            print(f"{quantity(len(found), 'row')} written to {output}")
        print(timing_text(found, inputs.load_seconds))
    return exit_code(None, done=found.complete)
