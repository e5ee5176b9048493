"""``motiflux census``: the small induced subgraphs of a graph, and how they compare with random graphs."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
from collections.abc import Iterator
from enum import StrEnum
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from motiflux.cli import options as opt
from motiflux.cli.exits import ExitCode
from motiflux.cli.interrupts import exit_code
from motiflux.cli.output import print_json, print_table
from motiflux.units import quantity, seconds_text

if TYPE_CHECKING:
    import motiflux as mf

HELP = (
    "Count the sets of three or four vertices of GRAPH by the subgraph that they induce: the triad census, "
    "graphlets. With --nulls, compare the counts with those of random graphs of the same degrees. Labels are "
    "ignored."
)


class Alternative(StrEnum):
    """Which counts are extreme."""

    TWO_SIDED = "two-sided"
    MORE = "more"
    LESS = "less"


class Correction(StrEnum):
    """How p-values are corrected for the number of tests."""

    BENJAMINI_HOCHBERG = "benjamini-hochberg"
    HOLM = "holm"
    BONFERRONI = "bonferroni"
    NONE = "none"


SizeOption = Annotated[int, typer.Option(metavar="3|4", min=3, max=4, help="Number of vertices of a set.")]
ConnectedOption = Annotated[
    bool | None,
    typer.Option(
        "--connected/--all",
        metavar=opt.FLAG,
        help="Leave out, or include, subgraphs that are not connected.",
        show_default="all; with --nulls, connected",
    ),
]
ZerosOption = Annotated[
    bool, typer.Option("--zeros", metavar=opt.FLAG, help="Print the subgraphs that do not occur, too.")
]
NullsOption = Annotated[
    int,
    typer.Option(
        metavar="NUMBER",
        min=0,
        help="Number of random graphs: they have the degrees of GRAPH, in and out.",
        show_default="none",
    ),
]
ReciprocalOption = Annotated[
    bool,
    typer.Option(
        "--reciprocal", metavar=opt.FLAG, help="Random graphs keep pairs of opposite arcs, and get no others."
    ),
]
KeepLabelsOption = Annotated[
    bool,
    typer.Option(
        "--keep-labels",
        metavar=opt.FLAG,
        help="Random graphs keep the number of edges between each two labels.",
    ),
]
SwapsOption = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER",
        min=0,
        help="Swaps proposed for each edge of a random graph.",
        show_default="until they are mixed",
    ),
]
AlternativeOption = Annotated[Alternative, typer.Option(help="Counts that are extreme.")]
CorrectionOption = Annotated[Correction, typer.Option(help="Correction of p-values for the number of tests.")]
SeedOption = Annotated[int, typer.Option(help="Random seed. Equal seeds give equal random graphs.")]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        parser=opt.file_name,
        help="Write the table to a .parquet, .arrow or .csv (also .csv.gz, .csv.zst) file.",
        show_default=False,
    ),
]
PlotOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        parser=opt.file_name,
        help="Draw the counts, or with --nulls the z-scores, to an .svg file.",
        show_default=False,
    ),
]


def run(
    graph: opt.GraphArgument,
    *,
    size: SizeOption = 3,
    connected: ConnectedOption = None,
    zeros: ZerosOption = False,
    nulls: NullsOption = 0,
    reciprocal: ReciprocalOption = False,
    keep_labels: KeepLabelsOption = False,
    swaps: SwapsOption = None,
    alternative: AlternativeOption = Alternative.TWO_SIDED,
    correction: CorrectionOption = Correction.BENJAMINI_HOCHBERG,
    output: OutputOption = None,
    plot: PlotOption = None,
    directed: opt.DirectedOption = None,
    timeout: opt.TimeoutOption = None,
    threads: opt.ThreadsOption = None,
    seed: SeedOption = 0,
    as_json: opt.JsonOption = False,
    progress: opt.ProgressOption = None,
) -> ExitCode:
    """Count, print a table, and write it to a file."""
    import motiflux as mf
    from motiflux.atomic import check_place
    from motiflux.draw.picture import check_svg_name
    from motiflux.io.writers import check_table_output

    opt.refuse_to_overwrite(output, graph)
    if output is not None:
        check_table_output(output)
    if plot is not None:
        opt.refuse_to_overwrite(plot, graph)
        check_place(plot)
        check_svg_name(plot)
    inputs = opt.read_inputs(graph, [], directed=directed, threads=threads, progress=progress)
    with opt.search_progress(progress, "counting subgraphs") as shown:
        found: mf.Census | mf.Significance
        if nulls == 0:
            found = mf.census(
                inputs.graph,
                size,
                connected=connected is True,
                timeout=timeout,
                threads=threads,
                progress=shown,
            )
        else:
            found = mf.significance(
                inputs.graph,
                size,
                nulls=nulls,
                reciprocal=reciprocal,
                keep_labels=keep_labels,
                swaps=swaps,
                alternative=alternative.value,
                correction=correction.value,
                connected=connected is not False,
                seed=seed,
                timeout=timeout,
                threads=threads,
                progress=shown,
            )
    some = found.complete if isinstance(found, mf.Census) else len(found.null_counts) > 0
    written = output if some else None
    if written is not None:
        found.save(written)
    if plot is not None and some:
        found.to_svg().save(plot)
    if as_json:
        print_json({**_fields(found), "load_seconds": inputs.load_seconds, "output": _name(written)})
    elif not some:
        print("no counts (stopped by the timeout)")
    else:
        _print(found, zeros=zeros)
        if written is not None:
            print(f"{quantity(len(found), 'row')} written to {written}")
        print(f"counting {seconds_text(found.seconds)}, reading {seconds_text(inputs.load_seconds)}")
    return exit_code(None, done=found.complete)


def _name(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _fields(found: "mf.Census | mf.Significance") -> dict[str, Any]:
    """Give the JSON fields; numbers that are not finite are null."""
    import motiflux as mf

    common = {"complete": found.complete, "seconds": found.seconds}
    if isinstance(found, mf.Census):
        return {"size": found.size, "directed": found.directed, "counts": dict(found), **common}
    tests = {
        name: {
            "observed": found.observed[at],
            **{
                key: value if isfinite(value) else None
                for key, value in (
                    ("mean", float(found.mean[at])),
                    ("deviation", float(found.deviation[at])),
                    ("z", float(found.z[at])),
                    ("p", float(found.p[at])),
                    ("adjusted", float(found.adjusted[at])),
                )
            },
        }
        for at, name in enumerate(found.names)
    }
    about = {"nulls": len(found.null_counts), "proposals": found.proposals, "swaps": found.swaps}
    return {"directed": found.directed, "tests": tests, **about, "mixed": found.mixed, **common}


def _print(found: "mf.Census | mf.Significance", *, zeros: bool) -> None:
    import motiflux as mf

    if isinstance(found, mf.Census):
        rows = [(name, f"{count:,}") for name, count in found.items() if count or zeros]
        print_table("", ["class", "count"], rows, right=["count"])
        return
    title = f"{quantity(len(found.null_counts), 'random graph')}, {found.swaps:.1f} swaps for each edge"
    if found.mixed is False:
        title += ", not mixed: few swaps are possible"
    if not found.complete:
        title += " (stopped by the timeout)"
    columns = ["class", "count", "mean", "deviation", "z", "p", "adjusted p"]
    print_table(title, columns, _rows(found, zeros=zeros), right=columns[1:])


def _rows(found: "mf.Significance", *, zeros: bool) -> Iterator[list[str]]:
    for at, name in enumerate(found.names):
        if not (zeros or found.observed[at] or found.mean[at]):
            continue
        numbers = (found.mean, found.deviation, found.z, found.p, found.adjusted)
        formats = (",.1f", ",.1f", ".2f", ".3g", ".3g")
        texts = [format(float(column[at]), how) for column, how in zip(numbers, formats, strict=True)]
        yield [name, f"{found.observed[at]:,}", *texts]
