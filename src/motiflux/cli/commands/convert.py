"""``motiflux convert``: a graph from one format to another."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
import time
from pathlib import Path
from typing import Annotated

import typer

from motiflux.cli import options as opt
from motiflux.cli.exits import ExitCode
from motiflux.cli.output import print_json
from motiflux.units import quantity, seconds_text

HELP = (
    "Convert GRAPH to the format of OUTPUT, given by its suffix. An .mfg file of any size opens in "
    "milliseconds."
)


def run(
    graph: opt.GraphArgument,
    output: Annotated[
        Path,
        typer.Argument(
            metavar="OUTPUT",
            parser=opt.file_name,
            help="Output file: .mfg .npz .csv .tsv .parquet .arrow .graph .txt .mtx (.gz .zst).",
        ),
    ],
    vertices_output: Annotated[
        Path | None,
        typer.Option(
            "--vertices-output",
            metavar="FILE",
            parser=opt.file_name,
            help="For a table of edges: also write a vertex table with labels and attributes.",
            show_default=False,
        ),
    ] = None,
    class_order: Annotated[
        bool,
        typer.Option(
            "--class-order",
            help="For .mfg: also write rows sorted by labels, which a Monitor may leave in the file.",
        ),
    ] = False,
    directed: opt.DirectedOption = None,
    threads: opt.ThreadsOption = None,
    as_json: opt.JsonOption = False,
    progress: opt.ProgressOption = None,
) -> ExitCode:
    """Convert a graph; check the output file before the long read."""
    import motiflux as mf
    from motiflux.io import check_graph_output

    for written in (output, vertices_output):
        opt.refuse_to_overwrite(written, graph)
    check_graph_output(output, vertices_output, class_order=class_order)
    start = time.perf_counter()
    data = opt.read_graph(graph, directed=directed, threads=threads, progress=progress)
    loaded = time.perf_counter()
    size = mf.write_graph(data, output, vertices=vertices_output, class_order=class_order)
    seconds = {"load_seconds": loaded - start, "write_seconds": time.perf_counter() - loaded}
    if as_json:
        print_json(
            {
                "graph": str(graph),
                "output": str(output),
                "vertices": data.num_vertices,
                "edges": data.num_edges,
                "directed": data.directed,
                "bytes": size,
                **seconds,
            }
        )
    else:
        print(f"{output}: {data!r}, {quantity(size, 'byte')}")
        print(", ".join(f"{name.split('_')[0]} {seconds_text(value)}" for name, value in seconds.items()))
    return ExitCode.DONE
