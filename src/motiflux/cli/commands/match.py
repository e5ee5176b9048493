"""``motiflux match``: the list of occurrences."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from motiflux.atomic import file_identity
from motiflux.cli import options as opt
from motiflux.cli.exits import ExitCode, UsageError
from motiflux.cli.interrupts import INTERRUPTED, SoftStop, exit_code
from motiflux.cli.output import outcome_fields, print_json, timing_text
from motiflux.cli.picture import PictureOption, check_picture, draw_first
from motiflux.cli.search import Search
from motiflux.units import quantity

if TYPE_CHECKING:
    import motiflux as mf
    from motiflux.result.several import SeveralMatches

    Listed = mf.Matches | SeveralMatches

HELP = "List the occurrences of each PATTERN in GRAPH, one row of ids each, in the order of its vertices."

_STDOUT = Path("-")

OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        parser=opt.file_name,
        help="Write the rows to a .parquet, .arrow, .csv (also .csv.gz, .csv.zst) or .npy file. Default, "
        "and with -: write them to stdout; with --json, only count them.",
        show_default=False,
    ),
]
EdgesOption = Annotated[
    bool,
    typer.Option(
        "--edges", metavar=opt.FLAG, help="Add columns e0, e1, ...: the witness of each query edge."
    ),
]
AllEdgesOption = Annotated[
    bool,
    typer.Option(
        "--all-edges",
        metavar=opt.FLAG,
        help="The same, with a row for each choice of copies of edges that satisfies all conditions.",
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


KeepPartialOption = Annotated[
    bool,
    typer.Option(
        "--keep-partial",
        metavar=opt.FLAG,
        help="After Ctrl-C or SIGTERM, write the rows found until then to the file of -o. Default: no file.",
    ),
]


def run(
    graph: opt.GraphArgument,
    patterns: opt.PatternsArgument,
    *,
    output: OutputOption = None,
    edges: EdgesOption = False,
    all_edges: AllEdgesOption = False,
    columns: ColumnsOption = None,
    names: NamesOption = False,
    keep_partial: KeepPartialOption = False,
    picture: PictureOption = None,
    search: Search,
    as_json: opt.JsonOption = False,
    progress: opt.ProgressOption = None,
) -> ExitCode:
    """Write the rows to the file or stdout, and return whether they are complete."""
    keywords = {
        **search.keywords(),
        "edges": "all" if all_edges else edges,
        "attributes": columns or (),
        "names": names,
    }
    output = _file_of(output, as_json=as_json)
    _check_files(graph, patterns, output, picture, keep_partial=keep_partial, names=names)
    inputs = opt.read_inputs(
        graph,
        patterns,
        directed=search.directed,
        threads=search.threads,
        progress=progress,
        distinct=search.rows,
    )
    if picture is not None:
        _check_picture_of(inputs)
    # Where the rows are only counted, there is nothing that part of them could be taken for.
    softly = keep_partial or (as_json and output is None)
    keywords |= inputs.rows
    if inputs.rows and picture is not None:
        raise UsageError("--picture: expected embeddings to draw, found --distinct or RETURN DISTINCT")
    matches, cut = _listed(inputs, output, keywords, progress, as_json=as_json, softly=softly)
    each = _each(matches)
    at_limit = all(bool(one.complete) or search.reached(one.rows) for one in each) and not matches.complete
    done = bool(matches.complete) or at_limit
    drawn, stop = False, cut
    if picture is not None and stop is None:
        drawn, stop = _drawn(inputs, picture, search)
    elif picture is None and done:
        stop = None  # it came too late to end anything
    opt.tell_why_none(inputs.patterns, inputs.graph, [one.rows for one in each])
    if as_json:
        fields = outcome_fields(matches, inputs.load_seconds)
        if picture is not None:
            fields["picture"] = str(picture) if drawn else None
        where = str(output) if output else None
        if len(each) > 1:
            fields["patterns"] = [
                {"pattern": source, "rows": one.rows, "complete": bool(one.complete)}
                for source, one in zip(patterns, each, strict=True)
            ]
        print_json({"count": matches.rows, **fields, "rows": matches.rows, "output": where})
    else:
        # Where the rows are on stdout, the summary is not.
        stream = sys.stdout if output else sys.stderr
        print(rows_text(matches, output, cut, at_limit=at_limit), file=stream)
        print(timing_text(matches, inputs.load_seconds), file=stream)
        if drawn:
            print(f"picture in {picture}", file=stream)
        elif picture is not None:
            print("no occurrence to draw" if stop is None else "picture not drawn", file=stream)
    return exit_code(stop, done=done, state=f"{picture} was not drawn" if done else INTERRUPTED)


def _check_picture_of(inputs: opt.Inputs) -> None:
    """Refuse to draw an occurrence of several patterns or of a query."""
    if len(inputs.patterns) > 1:
        raise UsageError(f"--picture: expected one PATTERN, found {len(inputs.patterns)}")
    inputs.one_pattern("--picture")


def _each(matches: "Listed") -> "Sequence[mf.Matches]":
    """Return the matches of each pattern."""
    return getattr(matches, "each", None) or [matches]


def _file_of(output: Path | None, *, as_json: bool) -> Path | None:
    """Return the file of ``-o``; None for standard output, which ``-`` is too.

    Raises
    ------
    UsageError
        Standard output is wanted for the rows and for a JSON object.
    """
    if output != _STDOUT:
        return output
    if as_json:
        raise UsageError("-o -: found --json, which prints an object on standard output, expected -o FILE")
    return None


def _check_files(
    graph: Path,
    patterns: list[str],
    output: Path | None,
    picture: Path | None,
    *,
    keep_partial: bool,
    names: bool,
) -> None:
    """Raise an error early for files that cannot be written."""
    from motiflux.io.binary.npy_writer import no_names
    from motiflux.io.writers import check_output

    for written in (output, picture):
        opt.refuse_to_overwrite(written, graph, *patterns)
    if output is not None:
        check_output(output)
        if names and output.suffix.lower() == ".npy":
            raise no_names(output)
    elif keep_partial:
        raise UsageError("--keep-partial: expected -o with a file")
    if picture is not None:
        check_picture(picture, output)


def _listed(
    inputs: opt.Inputs,
    output: Path | None,
    keywords: dict[str, Any],
    progress: bool | None,
    *,
    as_json: bool,
    softly: bool,
) -> "tuple[Listed, KeyboardInterrupt | None]":
    """Deliver the rows; return the matches, and the interrupt that arrived before the end.

    Raises
    ------
    KeyboardInterrupt
        The rows were not delivered; if `softly`, two interrupts arrived.
    """
    stop = SoftStop()
    before = None if output is None else file_identity(output)
    matches: Listed | None = None
    try:
        with opt.search_progress(progress, "matching", prints_rows=output is None and not as_json) as shown:
            keywords["progress"] = stop.watching(shown)
            with _started(inputs, keywords) as matches:
                for one in _each(matches) if softly else ():
                    stop.end(one)
                with stop if softly else nullcontext():
                    deliver(matches, output, as_json=as_json)
        return matches, stop.arrived
    except KeyboardInterrupt as interrupt:
        if matches is None:
            raise
        if output is not None and file_identity(output) != before:  # all rows are written
            return matches, interrupt
        where = f"{output} was not written" if output else "the rows are incomplete"
        raise type(interrupt)(f"stopped after {quantity(matches.rows, 'row')}, {where}") from None


def _drawn(inputs: opt.Inputs, picture: Path, search: Search) -> tuple[bool, KeyboardInterrupt | None]:
    """Draw the picture; return whether it is there, and the interrupt that stopped it."""
    before = file_identity(picture)
    try:
        return draw_first(inputs, picture, search), None
    except KeyboardInterrupt as interrupt:
        drawn = file_identity(picture) != before
        return drawn, None if drawn else interrupt


def _started(inputs: opt.Inputs, keywords: dict[str, Any]) -> "Listed":
    """Return the matches; an error of their columns is one of --column, not of --attributes."""
    import motiflux as mf

    try:
        if len(inputs.patterns) == 1:
            return mf.match(inputs.graph, inputs.pattern, **keywords)
        from motiflux.result.several import SeveralMatches

        return SeveralMatches(mf.match(inputs.graph, inputs.patterns, **keywords))
    except mf.ArgumentError as error:
        if error.argument != "attributes":
            raise
        raise UsageError(str(error).replace("attributes:", "--column:", 1)) from None


def deliver(matches: "Listed", output: Path | None, *, as_json: bool) -> None:
    """Write the rows to the file or stdout, or (JSON without a file) only count them."""
    from motiflux.io.text import csv_writer
    from motiflux.io.writers import write_matches

    if output is not None:
        write_matches(matches, output)
    elif as_json:
        for one in _each(matches):
            for _ in one:
                pass
    else:
        csv_writer.write_to(_Output(), matches, name="standard output")


class _Output:
    """Standard output; each piece is printed at once, so that nothing comes between the parts of a row."""

    def write(self, data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def rows_text(
    matches: "Listed", output: Path | None, stop: KeyboardInterrupt | None, *, at_limit: bool
) -> str:
    """Return the number of rows, the output file and, for incomplete rows, the reason as text."""
    text = quantity(matches.rows, "row") + (f" written to {output}" if output else "")
    if matches.complete:
        return text
    reason = "stopped by the timeout" if stop is None else "interrupted"
    return f"{text}, incomplete ({'stopped at the limit' if at_limit else reason})"
