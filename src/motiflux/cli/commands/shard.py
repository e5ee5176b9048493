"""``motiflux shard``: a graph whose rows are sharded over the nodes of a cluster."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
import time
from pathlib import Path
from typing import Annotated

import typer

from motiflux.cli import clusters
from motiflux.cli import options as opt
from motiflux.cli.exits import ExitCode
from motiflux.cli.output import print_json
from motiflux.units import seconds_text

HELP = (
    "Build a graph from many files of edges in FOLDER, its rows sharded over the nodes of a Ray cluster. "
    "motiflux count --cluster takes FOLDER as GRAPH."
)


def run(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            parser=opt.file_name,
            help="Files of edges with integer ids: formats of GRAPH of other commands.",
        ),
    ],
    folder: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FOLDER", parser=opt.file_name, help="A folder that all nodes see."
        ),
    ],
    cluster: clusters.ClusterOption = None,
    memory: clusters.MemoryOption = None,
    shards: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", help="Number of shards. Default: one for each node, or more by memory."
        ),
    ] = None,
    src: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of sources. Default: as for count.")
    ] = None,
    dst: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of targets.")] = None,
    label: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of edge labels.")] = None,
    attributes: Annotated[
        list[str] | None,
        typer.Option(
            "--attribute",
            metavar="COLUMN",
            help="Attribute of edges, for conditions of patterns; may be given several times. Default: none.",
        ),
    ] = None,
    vertices: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", parser=opt.file_name, help="Table of vertices; may be given several times."
        ),
    ] = None,
    vertex_id: Annotated[str | None, typer.Option(metavar="COLUMN", help="Its column of ids.")] = None,
    vertex_label: Annotated[str | None, typer.Option(metavar="COLUMN", help="Its column of labels.")] = None,
    directed: opt.DirectedOption = None,
    as_json: opt.JsonOption = False,
) -> ExitCode:
    """Build a sharded graph, and print its sizes."""
    import motiflux as mf

    started = time.perf_counter()
    with mf.Cluster(clusters.address_of(cluster)) as opened:
        made = opened.shard(
            files,
            folder,
            directed=directed,
            src=src,
            dst=dst,
            label=label,
            attributes=attributes or (),
            vertices=vertices or (),
            vertex_id=vertex_id,
            vertex_label=vertex_label,
            memory=memory or clusters.DEFAULT_MEMORY,
            shards=shards,
        )
        seconds = time.perf_counter() - started
        if as_json:
            print_json(
                {
                    "output": str(folder),
                    "vertices": made.num_vertices,
                    "edges": made.num_edges,
                    "directed": made.directed,
                    "shards": made.num_shards,
                    "bytes": made.nbytes,
                    "self_loops_dropped": made.self_loops_dropped,
                    "duplicate_edges": made.duplicate_edges,
                    "seconds": seconds,
                }
            )
        else:
            print(f"{folder}: {made!r}")
            print(f"built in {seconds_text(seconds)}")
    return ExitCode.DONE
