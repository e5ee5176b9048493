"""``motiflux generate``: files of random graphs."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
import json
import os
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from motiflux.cli import options as opt
from motiflux.cli.exits import ExitCode, UsageError
from motiflux.cli.output import print_json
from motiflux.units import quantity, seconds_text

if TYPE_CHECKING:
    from motiflux.generate import Generator, Planted

HELP = "Generate a file of a random graph. The same seed gives the same graph on any number of threads."


class Duplicates(StrEnum):
    """Handling of repeated edges."""

    KEEP = "keep"
    DROP = "drop"


class LabelShares(StrEnum):
    """Distribution of labels."""

    ZIPF = "zipf"
    UNIFORM = "uniform"


OutputArgument = Annotated[
    Path,
    typer.Argument(
        metavar="OUTPUT",
        parser=opt.file_name,
        help="Output file: .npz .csv .txt .edges .el, or .mfg, which needs the whole graph in memory.",
    ),
]
SeedOption = Annotated[int, typer.Option(help="Random seed.")]
EdgesOption = Annotated[int, typer.Option(help="Number of edges.")]
VerticesOption = Annotated[int, typer.Option(help="Number of vertices.")]
DuplicatesOption = Annotated[
    Duplicates, typer.Option(help="Keep or drop repeated edges; drop needs all edges in memory.")
]
PermuteOption = Annotated[
    bool, typer.Option("--permute/--no-permute", metavar=opt.FLAG, help="Permute the ids randomly.")
]
ExponentOption = Annotated[float, typer.Option(help="Exponent of the power law of degrees, above 2.")]
UndirectedFirst = Annotated[
    bool,
    typer.Option(
        "--directed/--undirected", metavar=opt.FLAG, help="Generate a directed or an undirected graph."
    ),
]


def rmat(
    output: OutputArgument,
    scale: Annotated[int, typer.Option(help="The graph has 2^SCALE vertices.")],
    edges: EdgesOption,
    a: Annotated[float, typer.Option("-a", "--a", help="Probability of the top left quadrant.")] = 0.57,
    b: Annotated[float, typer.Option("-b", "--b", help="Of the top right quadrant.")] = 0.19,
    c: Annotated[float, typer.Option("-c", "--c", help="Of the bottom left quadrant.")] = 0.19,
    noise: Annotated[float, typer.Option(help="Variation between levels, 0 to 1.")] = 0.0,
    directed: UndirectedFirst = True,
    permute: PermuteOption = True,
    duplicates: DuplicatesOption = Duplicates.KEEP,
    max_degree: Annotated[
        int | None, typer.Option(help="Most edges of a vertex; later ones are left out.")
    ] = None,
    seed: SeedOption = 0,
    threads: opt.ThreadsOption = None,
    as_json: opt.JsonOption = False,
    progress: opt.ProgressOption = None,
) -> ExitCode:
    """Generate an R-MAT graph."""
    from motiflux.generate import Rmat

    return _draw(
        lambda: Rmat(
            scale=scale,
            edges=edges,
            a=a,
            b=b,
            c=c,
            noise=noise,
            directed=directed,
            permute=permute,
            duplicates=duplicates.value,
            max_degree=max_degree,
            seed=seed,
        ),
        *("rmat", output, threads, as_json, progress),
    )


def erdos_renyi(
    output: OutputArgument,
    vertices: VerticesOption,
    edges: Annotated[int | None, typer.Option(help="Number of distinct edges.")] = None,
    probability: Annotated[
        float | None, typer.Option(help="Probability of each edge, not with --edges.")
    ] = None,
    directed: UndirectedFirst = False,
    seed: SeedOption = 0,
    threads: opt.ThreadsOption = None,
    as_json: opt.JsonOption = False,
    progress: opt.ProgressOption = None,
) -> ExitCode:
    """Generate an Erdos-Renyi graph."""
    from motiflux.generate.uniform import make_uniform

    return _draw(
        lambda: make_uniform(vertices, edges, probability, directed=directed, seed=seed),
        *("erdos-renyi", output, threads, as_json, progress),
    )


def power_law(
    output: OutputArgument,
    vertices: VerticesOption,
    edges: EdgesOption,
    exponent: ExponentOption = 2.5,
    vertex_labels: Annotated[int, typer.Option(help="Number of vertex labels.")] = 1,
    edge_labels: Annotated[int, typer.Option(help="Number of edge labels.")] = 1,
    label_shares: Annotated[LabelShares, typer.Option(help="Distribution of labels.")] = LabelShares.ZIPF,
    directed: UndirectedFirst = False,
    permute: PermuteOption = True,
    duplicates: DuplicatesOption = Duplicates.KEEP,
    seed: SeedOption = 0,
    threads: opt.ThreadsOption = None,
    as_json: opt.JsonOption = False,
    progress: opt.ProgressOption = None,
) -> ExitCode:
    """Generate a graph with power-law degrees and labels."""
    from motiflux.generate import PowerLaw

    return _draw(
        lambda: PowerLaw(
            vertices=vertices,
            edges=edges,
            exponent=exponent,
            vertex_label_count=vertex_labels,
            edge_label_count=edge_labels,
            label_shares=label_shares.value,
            directed=directed,
            permute=permute,
            duplicates=duplicates.value,
            seed=seed,
        ),
        *("power-law", output, threads, as_json, progress),
    )


def flows(
    output: OutputArgument,
    flows: Annotated[int, typer.Option(help="Number of flows.")],
    hosts: Annotated[
        int | None, typer.Option(help="Number of hosts.", show_default="number of flows")
    ] = None,
    exponent: ExponentOption = 2.2,
    seconds: Annotated[int, typer.Option(help="Time span in seconds.")] = 86_400,
    seed: SeedOption = 0,
    threads: opt.ThreadsOption = None,
    as_json: opt.JsonOption = False,
    progress: opt.ProgressOption = None,
) -> ExitCode:
    """Generate flows between hosts, in the order of their times."""
    from motiflux.generate import Flows

    return _draw(
        lambda: Flows(flows=flows, hosts=hosts, exponent=exponent, seconds=seconds, seed=seed),
        *("flows", output, threads, as_json, progress),
    )


def transfers(
    output: OutputArgument,
    transfers: Annotated[int, typer.Option(help="Number of transfers.")],
    accounts: Annotated[
        int | None, typer.Option(help="Number of accounts.", show_default="a third of the transfers")
    ] = None,
    rings: Annotated[int, typer.Option(help="Number of planted rings.")] = 25,
    fan_ins: Annotated[int, typer.Option(help="Number of planted collectors.")] = 25,
    fan_outs: Annotated[int, typer.Option(help="Number of planted distributors.")] = 25,
    gather_scatters: Annotated[int, typer.Option(help="Number of collectors that also distribute.")] = 25,
    ring_size: Annotated[int, typer.Option(help="Number of accounts per ring.")] = 4,
    fan_size: Annotated[int, typer.Option(help="Number of payers or payees of other structures.")] = 5,
    copies: Annotated[float, typer.Option(help="Ordinary transfers per payer and payee.")] = 1,
    hubs: Annotated[int, typer.Option(help="Number of accounts with many transfers.")] = 0,
    hub_share: Annotated[float, typer.Option(help="Share of ordinary transfers that have a hub.")] = 0.25,
    ordered_rings: Annotated[
        int, typer.Option(help="Number of rings in order of time whose amounts fall.")
    ] = 0,
    ordered_decoys: Annotated[
        int, typer.Option(help="Number of rings that fail the order, the span or the amounts.")
    ] = 0,
    ordered_sizes: Annotated[
        tuple[int, int], typer.Option(metavar="LEAST MOST", help="Accounts of ordered rings.")
    ] = (3, 6),
    ordered_copies: Annotated[int, typer.Option(help="Transfers per edge of ordered rings.")] = 1,
    span: Annotated[int, typer.Option(help="Seconds within which an ordered ring lies.")] = 86_400 * 3,
    truth: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            parser=opt.file_name,
            help="Write the planted structures and decoys to this file, one line of JSON each.",
        ),
    ] = None,
    seed: SeedOption = 0,
    threads: opt.ThreadsOption = None,
    as_json: opt.JsonOption = False,
    progress: opt.ProgressOption = None,
) -> ExitCode:
    """Generate transfers between accounts, with planted structures."""
    from motiflux.generate import Transfers

    if truth is not None and os.path.realpath(truth) == os.path.realpath(output):
        raise UsageError(f"{truth}: expected different files for the planted structures and the graph")

    def make() -> "Transfers":
        made = Transfers(
            transfers=transfers,
            accounts=accounts,
            rings=rings,
            fan_ins=fan_ins,
            fan_outs=fan_outs,
            gather_scatters=gather_scatters,
            ring_size=ring_size,
            fan_size=fan_size,
            copies=copies,
            hubs=hubs,
            hub_share=hub_share,
            ordered_rings=ordered_rings,
            ordered_decoys=ordered_decoys,
            ordered_sizes=ordered_sizes,
            ordered_copies=ordered_copies,
            span=span,
            seed=seed,
        )
        if truth is not None:
            _write_truth((*made.planted, *made.decoys), truth)
        return made

    return _draw(make, "transfers", output, threads, as_json, progress)


COMMANDS: dict[str, Callable[..., ExitCode]] = {
    "rmat": rmat,
    "erdos-renyi": erdos_renyi,
    "power-law": power_law,
    "flows": flows,
    "transfers": transfers,
}
"""Commands by kind of graph."""


def _draw(
    make: "Callable[[], Generator]",
    kind: str,
    output: Path,
    threads: int | None,
    as_json: bool,
    progress: bool | None,
) -> ExitCode:
    """Check the output file, then generate and write the graph."""
    from motiflux.generate import check_output

    check_output(output)
    start = time.perf_counter()
    generator = make()
    edges = _write(generator, output, threads, progress)
    seconds = time.perf_counter() - start
    size = output.stat().st_size
    if as_json:
        print_json(
            {
                "kind": kind,
                "output": str(output),
                "vertices": generator.num_vertices,
                "edges": edges,
                "directed": generator.is_directed,
                "seed": generator.seed,
                "bytes": size,
                "seconds": seconds,
            }
        )
    else:
        what = f"{quantity(generator.num_vertices, 'vertex')}, {quantity(edges, 'edge')}"
        print(f"{output}: {what}, {quantity(size, 'byte')}")
        print(f"generated in {seconds_text(seconds)}")
    return ExitCode.DONE


def _write(generator: "Generator", output: Path, threads: int | None, progress: bool | None) -> int:
    """Write the graph: ``--progress`` always shows progress, the default only on a terminal."""
    from motiflux.io.files.progress import is_shown, meter

    if progress and not is_shown():
        rows = getattr(generator, "num_rows", 0)
        with meter(f"generating {output.name}") as update:
            return generator.write(
                output,
                threads=threads,
                progress=lambda done: update(done if rows else 0, rows, quantity(done, "edge")),
            )
    return generator.write(output, threads=threads, progress=progress is not False)


def _write_truth(planted: "tuple[Planted, ...]", path: Path) -> None:
    from motiflux.atomic import AtomicFile

    with AtomicFile(path) as file:
        for one in planted:
            entry = {
                "kind": one.kind,
                "vertices": one.vertices.tolist(),
                "rows": one.rows.tolist(),
                "pattern": one.pattern(),
            }
            if one.kind == "ordered_ring":
                entry |= {"fails": one.fails, "choices": one.choices, "other_rows": one.other_rows.tolist()}
            file.write(f"{json.dumps(entry)}\n".encode())
