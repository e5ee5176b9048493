"""``motiflux orbits``: graphlet degree vectors."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
from pathlib import Path
from typing import Annotated

import typer

from motiflux.cli import options as opt
from motiflux.cli.exits import ExitCode, UsageError
from motiflux.cli.interrupts import exit_code
from motiflux.cli.output import outcome_fields, print_json, timing_text
from motiflux.units import quantity

HELP = (
    "Count for each vertex, or each edge, of GRAPH the connected induced subgraphs of up to five vertices in "
    "which it has each place: graphlet degree vectors, in ORCA's order. Labels are ignored, and directions "
    "too unless --triads is given."
)

SizeOption = Annotated[
    int | None,
    typer.Option(
        metavar="3|4|5",
        min=3,
        max=5,
        help="Largest number of vertices: 4, 15 or 73 orbits; with --edges 4 or 5: 12 or 68.",
        show_default="4; with --triads 3",
    ),
]
EdgesOption = Annotated[
    bool, typer.Option("--edges", metavar=opt.FLAG, help="Count for each edge instead of each vertex.")
]
TriadsOption = Annotated[
    bool,
    typer.Option("--triads", metavar=opt.FLAG, help="Orbits of directed pairs and triads: 33, of --size 3."),
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
    size: SizeOption = None,
    edges: EdgesOption = False,
    triads: TriadsOption = False,
    output: OutputOption = None,
    directed: opt.DirectedOption = None,
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
    """Count, print the sum of each orbit and write the counts of all vertices to a file."""
    import motiflux as mf
    from motiflux.io.writers import check_output

    tuning = opt.tuning_of(settings)
    if edges and triads:
        raise UsageError("--triads: expected no --edges beside it")
    size = size or (3 if triads else 4)
    if output is not None:
        opt.refuse_to_overwrite(output, graph)
        check_output(output)
    inputs = opt.read_inputs(graph, [], directed=directed, threads=threads, progress=progress)
    with opt.search_progress(progress, "counting orbits") as shown:
        found: mf.OrbitCounts | mf.EdgeOrbitCounts
        if edges:
            found = mf.edge_orbits(
                inputs.graph,
                size,
                device=device,
                devices=devices,
                engine=engine.value,
                timeout=timeout,
                threads=threads,
                gpu_memory=gpu_memory,
                tuning=tuning,
                progress=shown,
            )
        else:
            found = mf.orbits(
                inputs.graph,
                size,
                directed=triads,
                device=device,
                devices=devices,
                engine=engine.value,
                timeout=timeout,
                threads=threads,
                gpu_memory=gpu_memory,
                tuning=tuning,
                progress=shown,
            )
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
