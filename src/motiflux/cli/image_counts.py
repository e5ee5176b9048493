"""``motiflux count --per-vertex`` and ``--per-edge``: counts at each vertex or edge."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from motiflux.cli import options as opt
from motiflux.cli.exits import ExitCode, UsageError
from motiflux.cli.interrupts import exit_code
from motiflux.cli.output import outcome_fields, print_json, timing_text
from motiflux.cli.search import Search
from motiflux.units import quantity

if TYPE_CHECKING:
    import motiflux as mf

ALL = "*"

PerVertexOption = Annotated[
    list[str] | None,
    typer.Option(
        "--per-vertex",
        metavar="NAME",
        help=f"Count at each vertex the occurrences in which it is this query vertex; {ALL}: each of all. "
        "Repeatable.",
        show_default=False,
    ),
]
PerEdgeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--per-edge",
        metavar="NAME",
        help="Count at each edge the occurrences in which it is this query edge (e0, e1, ... by default).",
        show_default=False,
    ),
]
_TOP = 20
TopOption = Annotated[
    int | None,
    typer.Option(
        "--top",
        metavar="K",
        min=1,
        help="With --per-vertex or --per-edge: print the K greatest counts (of the first NAME); "
        f"{_TOP} by default.",
        show_default=False,
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        parser=opt.file_name,
        help="Write the counts of all to a .parquet, .arrow, .csv (also .csv.gz, .csv.zst) or .npy file.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Wanted:
    """The options of counts at each vertex or edge."""

    per_vertex: list[str] | None
    per_edge: list[str] | None
    top: int | None
    output: Path | None

    @property
    def shown(self) -> int:
        """How many counts are printed."""
        return _TOP if self.top is None else self.top

    @property
    def given(self) -> bool:
        """Whether such counts are wanted.

        Raises
        ------
        UsageError
            Options contradict each other.
        """
        if self.per_vertex and self.per_edge:
            raise UsageError("--per-vertex: expected no --per-edge beside it, found both")
        if not (self.per_vertex or self.per_edge):
            for option, value in (("-o", self.output), ("--top", self.top)):
                if value is not None:
                    raise UsageError(
                        f"{option}: expected --per-vertex or --per-edge beside it, found neither"
                    )
            return False
        return True

    @property
    def by(self) -> str | list[str] | None:
        """The argument ``by=`` of the library."""
        names = self.per_vertex or self.per_edge or []
        if ALL in names:
            return None
        return names[0] if len(names) == 1 else names


def run_image_counts(
    graph: Path, patterns: list[str], wanted: Wanted, search: Search, progress: bool | None, *, as_json: bool
) -> ExitCode:
    """Count at each vertex or edge, print the greatest counts and write all to a file."""
    import motiflux as mf
    from motiflux.io.writers import check_output

    if len(patterns) > 1:
        raise UsageError(f"--per-vertex and --per-edge: expected one PATTERN, found {len(patterns)}")
    if wanted.output is not None:
        opt.refuse_to_overwrite(wanted.output, graph, *patterns)
        check_output(wanted.output)
    keywords = search.keywords()
    inputs = opt.read_inputs(
        graph, patterns, directed=search.directed, threads=search.threads, progress=progress
    )
    call = mf.count_per_vertex if wanted.per_vertex else mf.count_per_edge
    pattern = inputs.one_pattern("--per-vertex and --per-edge")
    with opt.search_progress(progress, "counting") as shown:
        found = _named(lambda: call(inputs.graph, pattern, wanted.by, **keywords, progress=shown), wanted)
    if wanted.output is not None:
        found.save(wanted.output)
    greatest = found.top(wanted.shown, found.columns[0])
    if as_json:
        fields = outcome_fields(found, inputs.load_seconds)
        where = None if wanted.output is None else str(wanted.output)
        print_json(
            {"by": list(found.columns), "rows": len(found), "top": greatest, **fields, "output": where}
        )
    else:
        _print(found, greatest)
        if wanted.output is not None:
            print(f"{quantity(len(found), 'row')} written to {wanted.output}")
        print(timing_text(found, inputs.load_seconds))
    return exit_code(None, done=found.complete)


def _named(call: Any, wanted: Wanted) -> "mf.VertexCounts | mf.EdgeCounts":
    """Return the result of a call; an error of `by` is one of the option."""
    import motiflux as mf

    try:
        found: mf.VertexCounts | mf.EdgeCounts = call()
    except mf.ArgumentError as error:
        option = {"by": "--per-vertex" if wanted.per_vertex else "--per-edge", "limit": "--limit"}
        if error.argument not in option:
            raise
        raise UsageError(str(error).replace(f"{error.argument}:", f"{option[error.argument]}:", 1)) from None
    return found


def _print(found: "mf.VertexCounts | mf.EdgeCounts", greatest: list[Any]) -> None:
    """Print the greatest counts, aligned."""
    cut = "" if found.complete else " so far (stopped by the timeout)"
    print(f"greatest counts of {found.columns[0]}{cut}:" if greatest else f"no counts above 0{cut}")
    places = [" - ".join(map(str, at)) if isinstance(at, tuple) else str(at) for at, _ in greatest]
    counts = [f"{count:,}" for _, count in greatest]
    width, digits = max(map(len, places), default=0), max(map(len, counts), default=0)
    for place, count in zip(places, counts, strict=True):
        print(f"  {place:<{width}}  {count:>{digits}}")
