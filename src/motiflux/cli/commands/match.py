"""``motiflux match``: the list of occurrences."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from motiflux.cli import options as opt
from motiflux.cli.exits import ExitCode, UsageError
from motiflux.cli.output import outcome_fields, print_json, timing_text
from motiflux.cli.picture import PictureOption, check_picture, draw_first
from motiflux.cli.search import Search
from motiflux.units import quantity

if TYPE_CHECKING:
    import motiflux as mf

HELP = "List the occurrences of PATTERN in GRAPH, one row of ids each, in the order of its vertices."

OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        parser=opt.file_name,
        help="Write the rows to a .parquet, .arrow, .csv (also .csv.gz, .csv.zst) or .npy file. Default: "
        "write them to stdout; with --json, only count them.",
        show_default=False,
    ),
]
EdgesOption = Annotated[
    bool,
    typer.Option(
        "--edges", metavar=opt.FLAG, help="Add columns e0, e1, ...: the witness of each query edge."
    ),
]
ColumnsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME",
        help="Add an attribute column: country, or v0.country for one vertex; label is the label. Edge "
        "attributes need --edges. Repeatable.",
        show_default=False,
    ),
]
NamesOption = Annotated[
    bool, typer.Option("--names", metavar=opt.FLAG, help="Name columns after the pattern, not v0 and e0.")
]


def run(
    graph: opt.GraphArgument,
    pattern: opt.PatternArgument,
    *,
    output: OutputOption = None,
    edges: EdgesOption = False,
    columns: ColumnsOption = None,
    names: NamesOption = False,
    picture: PictureOption = None,
    search: Search,
    as_json: opt.JsonOption = False,
    progress: opt.ProgressOption = None,
) -> ExitCode:
    """Write the rows to the file or stdout, and return whether they are complete."""
    import motiflux as mf
    from motiflux.io.writers import check_output

    keywords = search.keywords()
    for written in (output, picture):
        opt.refuse_to_overwrite(written, graph, pattern)
    if output is not None:
        check_output(output)
        if names and output.suffix.lower() == ".npy":
            raise UsageError(
                f"{output}: found --names, expected a .parquet, .arrow or .csv file with it: "
                ".npy holds no column names"
            )
    if picture is not None:
        check_picture(picture, output)
    inputs = search.read(graph, pattern, progress)
    with (
        opt.search_progress(progress, "matching") as shown,
        mf.match(
            inputs.graph,
            inputs.pattern,
            progress=shown,
            edges=edges,
            attributes=columns or (),
            names=names,
            **keywords,
        ) as matches,
    ):
        try:
            rows = deliver(matches, output, as_json=as_json)
        except KeyboardInterrupt as stop:
            where = f"{output} was not written" if output else "the rows are incomplete"
            raise type(stop)(f"stopped after {quantity(matches.rows, 'row')}, {where}") from None
    drawn = picture is not None and draw_first(inputs, picture, search)
    opt.tell_why_none([inputs.pattern], inputs.graph, [rows])
    at_limit = search.reached(rows)
    if as_json:
        fields = outcome_fields(matches, inputs.load_seconds)
        if picture is not None:
            fields["picture"] = str(picture) if drawn else None
        print_json({"count": rows, **fields, "rows": rows, "output": str(output) if output else None})
    else:
        # Where the rows are on stdout, the summary is not.
        stream = sys.stdout if output else sys.stderr
        print(rows_text(matches, output, at_limit=at_limit), file=stream)
        print(timing_text(matches, inputs.load_seconds), file=stream)
        if picture is not None:
            print(f"picture in {picture}" if drawn else "no occurrence to draw", file=stream)
    return ExitCode.DONE if matches.complete or at_limit else ExitCode.INCOMPLETE


def deliver(matches: "mf.Matches", output: Path | None, *, as_json: bool) -> int:
    """Write the rows to the file or stdout, or (JSON without a file) only count them; return their number."""
    from motiflux.io.text import csv_writer
    from motiflux.io.writers import write_matches

    if output is not None:
        return write_matches(matches, output)
    if as_json:
        return sum(len(batch) for batch in matches)
    rows = csv_writer.write_to(sys.stdout.buffer, matches, name="standard output")
    sys.stdout.buffer.flush()
    return rows


def rows_text(matches: "mf.Matches", output: Path | None, *, at_limit: bool) -> str:
    """Return the number of rows, the output file and, for incomplete rows, the reason as text."""
    text = quantity(matches.rows, "row") + (f" written to {output}" if output else "")
    if matches.complete:
        return text
    return f"{text}, incomplete ({'stopped at the limit' if at_limit else 'stopped by the timeout'})"
