"""The options that several commands share."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from motiflux.cli.exits import UsageError
from motiflux.errors import ArgumentError
from motiflux.types import Semantics, Symmetry

if TYPE_CHECKING:
    import motiflux as mf
    from motiflux.engine.progress import Progress

FLAG = ""
"""Metavar of an option that takes no value."""


class Engine(StrEnum):
    """What runs the search."""

    AUTO = "auto"
    CPU = "cpu"
    DFS = "dfs"


def device_name(text: str) -> str:
    """Take the name of a device there is a way to open; whether it is here shows when it is used."""
    from motiflux.device import is_device, known_devices

    names = ("auto", "cpu", *known_devices())
    if text not in names and not is_device(text):
        raise typer.BadParameter(f"expected one of {', '.join(names)}, found {text!r}")
    return text


def devices_asked(text: str) -> str:
    """Take what ``devices=`` takes, as text; whether they are here shows when they are used."""
    from motiflux.engine.device_names import check_devices

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
        help="Data graph: .mfg .parquet .arrow .feather, or .npz .graph .mtx .csv .tsv .txt .edges .el, "
        "each also .gz or .zst.",
    ),
]
PatternArgument = Annotated[
    str,
    typer.Argument(
        metavar="PATTERN",
        parser=pattern_source,
        help="Pattern: text such as '(a)-->(b)', or a file: .pattern .cypher .graph, each also .gz.",
    ),
]
PatternsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="PATTERN...",
        parser=pattern_source,
        help="Patterns: text such as '(a)-->(b)', or files: .pattern .cypher .graph, each also .gz.",
    ),
]
SemanticsOption = Annotated[
    Semantics,
    typer.Option(
        help="What counts as an occurrence. isomorphism: other edges allowed between its vertices; "
        "induced: no other edges; homomorphism: vertices may coincide."
    ),
]
SymmetryOption = Annotated[
    Symmetry, typer.Option(help="Every embedding, or each subgraph once (automorphic images folded).")
]
DirectedOption = Annotated[
    bool | None,
    typer.Option(
        "--directed/--undirected",
        metavar=FLAG,
        help="How to read the graph.",
        show_default="as the file says",
    ),
]
LimitOption = Annotated[int | None, typer.Option(help="Stop after this many.", show_default="none")]
TimeoutOption = Annotated[
    float | None, typer.Option(help="Stop after this many seconds of search.", show_default="none")
]
ThreadsOption = Annotated[int | None, typer.Option(help="CPU threads.", show_default="all cores")]
DeviceOption = Annotated[
    str, typer.Option(metavar="[auto|cpu|cuda|cuda:N]", parser=device_name, help="Where to run.")
]
DevicesOption = Annotated[
    str | None,
    typer.Option(
        metavar="all|N|0,1",
        parser=devices_asked,
        help="Several GPUs of this machine, each with the graph: all, so many, or by ordinals.",
        show_default="one",
    ),
]
GpuMemoryOption = Annotated[
    str | None,
    typer.Option(
        metavar="BYTES",
        help="Most memory to hold on the GPU (on each), such as 8GiB.",
        show_default="what is free",
    ),
]
EngineOption = Annotated[Engine, typer.Option(help="What runs the search.")]
TuningOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Tuning; see `motiflux info --tuning`. Repeatable."),
]
JsonOption = Annotated[
    bool, typer.Option("--json", metavar=FLAG, help="One JSON object on stdout, nothing else there.")
]
ProgressOption = Annotated[
    bool | None,
    typer.Option(
        "--progress/--no-progress",
        metavar=FLAG,
        help="Progress on stderr.",
        show_default="on when it is a terminal",
    ),
]


@contextmanager
def search_progress(flag: bool | None, what: str) -> Iterator["Progress"]:
    """Give what the library's `progress` takes: ``--progress`` shows it anywhere, without it terminals do."""
    from motiflux.engine.progress import search_meter
    from motiflux.io.progress import is_shown

    if flag and not is_shown():
        with search_meter(what) as callback:
            yield callback
    else:
        yield flag is not False


def read_graph(
    path: Path, *, directed: bool | None, threads: int | None = None, progress: bool | None = None
) -> "mf.Graph":
    """Read a graph, its columns as the command line says, with progress as `search_progress` shows it."""
    import motiflux as mf
    from motiflux.cli import columns
    from motiflux.io.progress import is_shown, reading_meter

    if progress and not is_shown():
        with reading_meter(path):
            return mf.read_graph(path, directed=directed, threads=threads, **columns.said())
    shown = progress is not False
    return mf.read_graph(path, directed=directed, threads=threads, progress=shown, **columns.said())


def read_pattern(source: str) -> "mf.Pattern":
    """Give the pattern that `source` is, or that lies in the file it names.

    What exists, or ends like a pattern file, is a file; of the rest, text with a parenthesis is a pattern.

    Raises
    ------
    UsageError
        It is neither.
    """
    import motiflux as mf
    from motiflux.io.registry import is_pattern_file

    if is_pattern_file(source):
        return mf.read_pattern(source)
    if "(" in source:
        return mf.Pattern.parse(source)
    from motiflux.io.registry import PATTERN_READERS

    raise UsageError(
        f"{source}: expected a pattern: text such as '(a)--(b)', or a file in {', '.join(PATTERN_READERS)}"
    )


def tuning_of(settings: list[str] | None) -> dict[str, str] | None:
    """Give the ``key=value`` texts as a mapping; None when there are none.

    Raises
    ------
    ArgumentError
        If one has no ``=``, a key comes twice, or there is no such key or value.
    """
    from motiflux.config import TUNING

    tuning: dict[str, str] = {}
    for setting in settings or []:
        key, separator, value = setting.partition("=")
        if not separator or not key:
            raise ArgumentError("--set", "KEY=VALUE", setting)
        if key in tuning:
            raise ArgumentError("--set", f"each key once, {key} is repeated", setting)
        if key not in TUNING:
            raise ArgumentError(f"--set {setting}", f"a key out of {', '.join(TUNING)}", key)
        if value not in TUNING[key].values:
            raise ArgumentError(f"--set {setting}", f"one of {', '.join(TUNING[key].values)}", value)
        tuning[key] = value
    return tuning or None


def is_one_of(path: Path, others: Iterable[Path | str | None]) -> bool:
    """Say whether a file is one of others, by whatever names."""
    return any(one is not None and os.path.realpath(path) == os.path.realpath(one) for one in others)


def refuse_to_overwrite(output: Path | None, *inputs: Path | str) -> None:
    """Refuse to write over what is read.

    Raises
    ------
    UsageError
        Names the file.
    """
    if output is not None and is_one_of(output, inputs):
        raise UsageError(f"{output}: expected another file for the output than those that are read")


@dataclass(frozen=True)
class Inputs:
    """A graph and a pattern, read."""

    graph: "mf.Graph"
    pattern: "mf.Pattern"
    load_seconds: float


@dataclass(frozen=True)
class SeveralInputs:
    """A graph and patterns, read."""

    graph: "mf.Graph"
    patterns: list["mf.Pattern"]
    load_seconds: float


def read_inputs(
    graph: Path,
    pattern: str,
    *,
    directed: bool | None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Inputs:
    """Read both, the pattern first: it is small, and a mistake in it shows before the long read."""
    start = time.perf_counter()
    query = read_pattern(pattern)
    data = read_graph(graph, directed=directed, threads=threads, progress=progress)
    return Inputs(data, query, time.perf_counter() - start)


def read_patterns(patterns: list[str]) -> list["mf.Pattern"]:
    """Read patterns; of several, a mistake in one names its position as the library does."""
    from motiflux.engine.several import naming_pattern

    queries = []
    for position, source in enumerate(patterns):
        with naming_pattern(position if len(patterns) > 1 else None):
            queries.append(read_pattern(source))
    return queries


def read_several(
    graph: Path,
    patterns: list[str],
    *,
    directed: bool | None,
    threads: int | None = None,
    progress: bool | None = None,
) -> SeveralInputs:
    """Read all, the patterns first."""
    start = time.perf_counter()
    queries = read_patterns(patterns)
    data = read_graph(graph, directed=directed, threads=threads, progress=progress)
    return SeveralInputs(data, queries, time.perf_counter() - start)


def tell_why_none(patterns: Sequence["mf.Pattern"], graph: "mf.Graph", numbers: Sequence[float]) -> None:
    """Say on stderr why there is nothing where there cannot be anything: a label that no vertex has, say."""
    from motiflux.plan.bind import bind

    for pattern, number in zip(patterns, numbers, strict=True):
        why = "the graph has no edges" if not graph.num_edges else bind(pattern, graph).missing
        if not number and why is not None:
            name = f"{pattern}: " if len(patterns) > 1 else ""
            print(f"note: {name}nothing can match: {why}", file=sys.stderr)
