"""The options that several commands share."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from motiflux.cli.exits import UsageError
from motiflux.cli.values import BUNDLED, device_words, graph_words, starting_with, tuning_words
from motiflux.errors import ArgumentError
from motiflux.words import Semantics, Symmetry

if TYPE_CHECKING:
    import motiflux as mf
    from motiflux.pattern.projection import Projection
    from motiflux.request.reports import ProgressCallback

FLAG = ""
"""Metavar of an option that takes no value."""
MORE = "More options"
"""Section of the options that ``--help`` only names."""


class Engine(StrEnum):
    """What runs the search."""

    AUTO = "auto"
    CPU = "cpu"
    DFS = "dfs"
    OUT_OF_CORE = "outofcore"
    PHASES = "pvm"


def device_name(text: str) -> str:
    """Check the name of a device; whether the device is present is checked when it is opened."""
    from motiflux.device import is_device, known_devices

    names = ("auto", "cpu", *known_devices())
    if text not in names and not is_device(text):
        raise typer.BadParameter(f"expected one of {', '.join(names)}, found {text!r}")
    return text


def devices_asked(text: str) -> str:
    """Check the text of ``devices=``; whether the devices are present is checked when they are opened."""
    from motiflux.request.devices import check_devices

    try:
        check_devices(text, "auto")
    except ArgumentError as error:
        raise typer.BadParameter(str(error)) from None
    return text


def file_name(text: str) -> Path:
    """Take the name of a file (an empty one would silently mean the current folder)."""
    if not text:
        raise typer.BadParameter("expected a file name, found an empty one")
    return Path(text)


def pattern_source(text: str) -> str:
    """Take the name of a file, or the text of a pattern."""
    if not text:
        raise typer.BadParameter("expected a pattern or a file, found nothing")
    return text


GraphArgument = Annotated[
    Path,
    typer.Argument(
        metavar="GRAPH",
        parser=file_name,
        autocompletion=graph_words,
        help="Data graph file: .mfg .parquet .arrow .feather, or .npz .graph .mtx .csv .tsv .txt .edges .el, "
        "the latter also with .gz or .zst. Or the name of a bundled dataset: wordnet.",
    ),
]
PatternArgument = Annotated[
    str,
    typer.Argument(
        metavar="PATTERN",
        parser=pattern_source,
        help="Pattern text such as '(a)-->(b)', or a file: .pattern .cypher .graph, also with .gz or .zst.",
    ),
]
PatternsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="PATTERN...",
        parser=pattern_source,
        help="Pattern texts such as '(a)-->(b)', or files: .pattern .cypher .graph, also with .gz or .zst.",
    ),
]
SemanticsOption = Annotated[
    Semantics,
    typer.Option(
        help="Definition of an occurrence. isomorphism: other edges are allowed between its vertices; "
        "induced: no other edges; homomorphism: different query vertices may have the same image."
    ),
]
SymmetryOption = Annotated[
    Symmetry, typer.Option(help="embeddings: every embedding; subgraphs: each occurrence once.")
]
DirectedOption = Annotated[
    bool | None,
    typer.Option(
        "--directed/--undirected",
        metavar=FLAG,
        help="Read the graph as directed or undirected.",
        show_default="as stored in the file",
    ),
]
LimitOption = Annotated[
    int | None, typer.Option(help="Stop after this number of results.", show_default="none")
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(help="Stop after this number of seconds, excluding file reading.", show_default="none"),
]
ThreadsOption = Annotated[int | None, typer.Option(help="Number of CPU threads.", show_default="all cores")]
DeviceOption = Annotated[
    str,
    typer.Option(
        metavar="[auto|cpu|cuda|cuda:N]",
        parser=device_name,
        autocompletion=starting_with(device_words),
        help="Device of the search.",
    ),
]
DevicesOption = Annotated[
    str | None,
    typer.Option(
        metavar="all|N|0,1",
        parser=devices_asked,
        help="Search on several GPUs, each with a copy of the graph: all, a number of GPUs, or ordinals.",
        show_default="one",
        rich_help_panel=MORE,
    ),
]
DistinctOption = Annotated[
    str | None,
    typer.Option(
        metavar="A,C",
        help="Find distinct rows of these query vertices.",
        show_default=False,
    ),
]
HavingOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TEXT",
        help="With --distinct: a threshold on images of others, such as 'count(b) >= 5'. Repeatable.",
        show_default=False,
        rich_help_panel=MORE,
    ),
]
GpuMemoryOption = Annotated[
    str | None,
    typer.Option(
        metavar="BYTES",
        help="Maximum memory that motiflux uses on each GPU, such as 8GiB.",
        show_default="all free memory",
        rich_help_panel=MORE,
    ),
]
EngineOption = Annotated[Engine, typer.Option(help="Search engine.", rich_help_panel=MORE)]
TuningOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        autocompletion=starting_with(tuning_words),
        help="Set a tuning switch of `motiflux info --tuning`. Repeatable.",
        rich_help_panel=MORE,
    ),
]
CopiesOption = Annotated[
    bool,
    typer.Option("--copies", metavar=FLAG, help="Count choices of copies of edges, not maps of vertices."),
]

JsonOption = Annotated[
    bool, typer.Option("--json", metavar=FLAG, help="Print exactly one JSON object on stdout.")
]
ProgressOption = Annotated[
    bool | None,
    typer.Option(
        "--progress/--no-progress",
        metavar=FLAG,
        help="Show progress on stderr.",
        show_default="on if stderr is a terminal",
    ),
]


@contextmanager
def search_progress(
    flag: bool | None, what: str, *, prints_rows: bool = False
) -> Iterator["ProgressCallback"]:
    """Return a function for the library's `progress`.

    ``--progress`` always shows progress, the default only on a terminal. Rows that are printed on the same
    terminal are progress enough: between them, ``--progress`` prints lines and no bar.

    Parameters
    ----------
    prints_rows
        Whether the command prints rows during the search.
    """
    from motiflux.io.files.progress import is_shown, shares_terminal
    from motiflux.request.progress import search_meter

    rows_between = prints_rows and shares_terminal()
    if flag or (flag is None and is_shown() and not rows_between):
        with search_meter(what, in_lines=rows_between) as callback:
            yield callback
    else:
        yield lambda report: None


def read_graph(
    path: Path, *, directed: bool | None, threads: int | None = None, progress: bool | None = None
) -> "mf.Graph":
    """Read a graph with the column options of the command line; show progress as `search_progress` does.

    A bundled dataset is taken by its name, unless there is a file of this name.
    """
    import motiflux as mf
    from motiflux.cli import columns
    from motiflux.io.files.progress import is_shown, reading_meter

    if str(path) in BUNDLED and not path.exists():
        if directed is not None or columns.given():
            raise UsageError(f"{path}: expected no options for reading, because this is a bundled dataset")
        graph: mf.Graph = getattr(mf.datasets, str(path))(threads=threads)
        return graph
    if progress and not is_shown():
        with reading_meter(path):
            return mf.read_graph(path, directed=directed, threads=threads, **columns.given())
    shown = progress is not False
    return mf.read_graph(path, directed=directed, threads=threads, progress=shown, **columns.given())


def read_pattern(source: str) -> "mf.Pattern | mf.Query":
    """Return the pattern or query of a file, or of text.

    `source` is a file name if the file exists or if `source` ends with the suffix of a pattern file.
    Otherwise it is pattern text if it contains a parenthesis.

    Raises
    ------
    UsageError
        It is neither.
    """
    import motiflux as mf
    from motiflux.io.registry import is_pattern_file

    if is_pattern_file(source):
        return mf.read_query(source)
    if "(" in source:
        from motiflux.pattern import as_query

        return as_query(source)
    from motiflux.io.readers import PATTERN_READERS

    raise UsageError(
        f"{source}: expected pattern text such as '(a)--(b)', or a file: {', '.join(PATTERN_READERS)}"
    )


def tuning_of(settings: list[str] | None) -> dict[str, str] | None:
    """Return the ``key=value`` texts as a mapping; None if there are none.

    Raises
    ------
    ArgumentError
        If one has no ``=``, a key is repeated, or there is no such key or value.
    """
    from motiflux.config import REMOVED, TUNING

    tuning: dict[str, str] = {}
    for setting in settings or []:
        key, separator, value = setting.partition("=")
        if not separator or not key:
            raise ArgumentError("--set", "KEY=VALUE", setting)
        if key in tuning:
            raise ArgumentError("--set", f"each key once, {key} is repeated", setting)
        if key in REMOVED:
            raise ArgumentError(f"--set {setting}", f"no such switch ({REMOVED[key]})", key)
        if key not in TUNING:
            raise ArgumentError(f"--set {setting}", f"one of the keys {', '.join(TUNING)}", key)
        if value not in TUNING[key].values:
            raise ArgumentError(f"--set {setting}", f"one of {', '.join(TUNING[key].values)}", value)
        tuning[key] = value
    return tuning or None


def is_one_of(path: Path, others: Iterable[Path | str | None]) -> bool:
    """Return whether a file is one of others, also under different names."""
    return any(one is not None and os.path.realpath(path) == os.path.realpath(one) for one in others)


def refuse_to_overwrite(output: Path | None, *inputs: Path | str) -> None:
    """Raise an error if the output file is also an input file.

    Raises
    ------
    UsageError
        Names the file.
    """
    if output is not None and is_one_of(output, inputs):
        raise UsageError(f"{output}: expected an output file that is not an input file")


@dataclass(frozen=True)
class Inputs:
    """A graph and patterns, read."""

    graph: "mf.Graph"
    patterns: list["mf.Pattern | mf.Query"]
    load_seconds: float
    projections: list["Projection | None"]

    @property
    def pattern(self) -> "mf.Pattern | mf.Query":
        """The only pattern or query."""
        (pattern,) = self.patterns
        return pattern

    @property
    def rows(self) -> dict[str, Any]:
        """The keyword for distinct rows of the only pattern, if they are asked for."""
        asked = [one for one in self.projections if one is not None]
        if asked and len(self.projections) > 1:
            raise UsageError(
                "--distinct, RETURN DISTINCT: expected one pattern beside them, found"
                f" {len(self.projections)}"
            )
        return {"distinct": asked[0]} if asked else {}

    def one_pattern(self, option: str) -> "mf.Pattern":
        """Return the only pattern, for an option that takes no queries.

        Raises
        ------
        UsageError
            It is a query.
        """
        import motiflux as mf

        pattern = self.pattern
        if isinstance(pattern, mf.Query):
            found = f"a query of {len(pattern.patterns)} patterns"
            raise UsageError(f"{option}: expected one pattern, found {found}")
        return pattern


def read_patterns(patterns: list[str]) -> list["mf.Pattern | mf.Query"]:
    """Read patterns; with several patterns, an error names the position of the pattern."""
    from motiflux.api.pattern_list import naming_pattern

    queries = []
    for position, source in enumerate(patterns):
        with naming_pattern(position if len(patterns) > 1 else None):
            queries.append(read_pattern(source))
    return queries


def read_inputs(
    graph: Path,
    patterns: list[str],
    *,
    directed: bool | None,
    threads: int | None = None,
    progress: bool | None = None,
    distinct: Mapping[str, Any] | None = None,
) -> Inputs:
    """Read all, the patterns first, so that their errors show before the long read of the graph.

    Parameters
    ----------
    distinct
        Arguments ``distinct`` and ``having`` of the library; patterns may have RETURN DISTINCT behind them.
    """
    start = time.perf_counter()
    if distinct is None:
        queries = read_patterns(patterns)
        projections: list[Projection | None] = [None] * len(queries)
    else:
        queries, projections = read_queries(patterns, distinct)
    data = read_graph(graph, directed=directed, threads=threads, progress=progress)
    return Inputs(data, queries, time.perf_counter() - start, projections)


def read_queries(
    patterns: list[str], distinct: Mapping[str, Any]
) -> tuple[list["mf.Pattern | mf.Query"], list["Projection | None"]]:
    """Read patterns, and the projections that they or options ask for; `distinct` as for `read_inputs`."""
    import motiflux as mf
    from motiflux.api.pattern_list import naming_pattern
    from motiflux.io.registry import is_pattern_file
    from motiflux.pattern.asked import asked_of, has_return

    found: list[tuple[mf.Pattern | mf.Query, Projection | None]] = []
    asked = any(distinct.get(name) is not None for name in ("distinct", "having"))
    for position, source in enumerate(patterns):
        with naming_pattern(position if len(patterns) > 1 else None):
            text = has_return(source) and "(" in source and not is_pattern_file(source)
            if not (asked or text):
                found.append((read_pattern(source), None))
                continue
            query = source if text else read_pattern(source)
            try:
                found.append(asked_of(query, distinct.get("distinct"), distinct.get("having")))
            except ArgumentError as error:
                if error.argument not in ("distinct", "having"):
                    raise
                raise UsageError(f"--{error}") from None
    return [pattern for pattern, _ in found], [projection for _, projection in found]


def tell_why_none(
    patterns: Sequence["mf.Pattern | mf.Query"], graph: "mf.Graph", numbers: Sequence[float]
) -> None:
    """Print on stderr why a count is certainly 0, for example because no vertex has a required label.

    Also, which negated edges exclude nothing, for the same reason.
    """
    import motiflux as mf
    from motiflux.plan.bind import bind, bind_negated

    for pattern, number in zip(patterns, numbers, strict=True):
        parts = pattern.patterns if isinstance(pattern, mf.Query) else (pattern,)
        whys = [bind(one, graph).missing for one in parts]
        for text in dict.fromkeys(
            text for one in parts if one.negated for text in bind_negated(one, graph).idle
        ):
            print(f"note: {text}", file=sys.stderr)
        why = "the graph has no edges" if not graph.num_edges else whys[0] if None not in whys else None
        if not number and why is not None:
            name = f"{pattern}: " if len(patterns) > 1 else ""
            print(f"note: {name}nothing can match: {why}", file=sys.stderr)
