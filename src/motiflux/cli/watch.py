"""``motiflux watch``: what appears and what vanishes while edges come and go."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from motiflux.cli import columns as col
from motiflux.cli import options as opt
from motiflux.cli.exits import ExitCode, Terminated, UsageError
from motiflux.cli.output import print_json
from motiflux.errors import ArgumentError
from motiflux.types import Semantics, Symmetry
from motiflux.units import quantity, seconds_text

if TYPE_CHECKING:
    import motiflux as mf
    from motiflux.stream import Sink, Source
    from motiflux.stream.run import Progress

HELP = "Play STREAM, insertions and deletions of edges, on GRAPH, and report the matches that come and go."

_NO_GRAPH = "none"
_ENGINE = _DEVICE = "cpu"


class Mode(StrEnum):
    """What is matched at once."""

    SEQUENCE = "sequence"
    BATCH = "batch"


class Duplicates(StrEnum):
    """What inserting an edge that is there does."""

    COUNT = "count"
    IGNORE = "ignore"


class TimeUnit(StrEnum):
    """What the times of updates count."""

    SECONDS = "s"
    MILLISECONDS = "ms"
    MICROSECONDS = "us"
    NANOSECONDS = "ns"


class Disorder(StrEnum):
    """What an update does that is older than one before."""

    ERROR = "error"
    CLAMP = "clamp"
    DROP = "drop"


class OnError(StrEnum):
    """What a malformed line does."""

    STOP = "stop"
    SKIP = "skip"


GraphArgument = Annotated[
    Path,
    typer.Argument(
        metavar="GRAPH",
        parser=opt.file_name,
        help="The graph at the start, a file as for the other commands; none: no vertex yet.",
    ),
]
StreamArgument = Annotated[
    str,
    typer.Argument(
        metavar="STREAM",
        help="Updates: .stream .csv .tsv (each also .gz or .zst), .parquet .arrow; - is standard input.",
    ),
]
PatternOption = Annotated[
    list[str],
    typer.Option(
        "--pattern",
        metavar="PATTERN",
        parser=opt.pattern_source,
        help="What to watch: text such as '(a)-->(b)', or a file: .pattern .cypher .graph. Repeatable.",
    ),
]
ModeOption = Annotated[Mode, typer.Option(help="Match every update on its own, or what each batch comes to.")]
BatchOption = Annotated[
    int | None,
    typer.Option("--batch-size", min=1, help="Updates applied at once.", show_default="1024"),
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        parser=opt.file_name,
        help="Write the matches to .csv .tsv (also .gz, .zst) .parquet or .arrow: sign, update, time, "
        "pattern, v0 and so on. Without it they go to stdout, or with --json are only counted.",
        show_default=False,
    ),
]
FollowOption = Annotated[
    bool, typer.Option("--follow", metavar=opt.FLAG, help="Wait at the end of STREAM for what is appended.")
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--stream-format",
        metavar="FORMAT",
        help="stream, csv or tsv, where the name of STREAM does not say so.",
        show_default=False,
    ),
]
StreamColumnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--stream-column",
        metavar="PART=COLUMN",
        help="Which column of STREAM is its op, src, dst, label, time, src_label or dst_label. Repeatable.",
        show_default=False,
    ),
]
DuplicatesOption = Annotated[
    Duplicates, typer.Option(help="Inserting an edge that is there adds a copy, or does nothing.")
]
StrictOption = Annotated[
    bool,
    typer.Option("--strict", metavar=opt.FLAG, help="Refuse insertions and deletions that change nothing."),
]
OnErrorOption = Annotated[
    OnError, typer.Option("--on-error", help="What to do about malformed lines: skip counts them.")
]
WindowOption = Annotated[
    str | None,
    typer.Option(
        metavar="LENGTH",
        help="How long inserted edges stay: a time such as 90s, 15min, 1h or 7d, or how many of them.",
        show_default="until they are deleted",
    ),
]
TimeUnitOption = Annotated[TimeUnit, typer.Option("--time-unit", help="The unit of times that are numbers.")]
DisorderOption = Annotated[
    Disorder | None,
    typer.Option(
        help="Updates older than one before: refuse them, give them its time, or leave them out.",
        show_default="error where the window is a time",
    ),
]
TimeoutOption = Annotated[
    float | None, typer.Option(help="Stop after this many seconds.", show_default="none")
]


def run(
    graph: GraphArgument,
    stream: StreamArgument,
    patterns: PatternOption,
    mode: ModeOption = Mode.SEQUENCE,
    batch_size: BatchOption = None,
    output: OutputOption = None,
    follow: FollowOption = False,
    stream_format: FormatOption = None,
    stream_columns: StreamColumnOption = None,
    on_error: OnErrorOption = OnError.STOP,
    duplicates: DuplicatesOption = Duplicates.COUNT,
    strict: StrictOption = False,
    window: WindowOption = None,
    time_unit: TimeUnitOption = TimeUnit.SECONDS,
    disorder: DisorderOption = None,
    semantics: opt.SemanticsOption = Semantics.ISOMORPHISM,
    symmetry: opt.SymmetryOption = Symmetry.EMBEDDINGS,
    directed: opt.DirectedOption = None,
    timeout: TimeoutOption = None,
    threads: opt.ThreadsOption = None,
    settings: opt.TuningOption = None,
    as_json: opt.JsonOption = False,
    progress: opt.ProgressOption = None,
) -> ExitCode:
    """Play the stream to its end, and print what it came to."""
    import motiflux as mf

    tuning = opt.tuning_of(settings)
    sink = _sink(output, as_json=as_json)
    source = mf.open_source(
        stream,
        columns=_columns_of(stream_columns),
        format=stream_format,
        follow=follow,
        on_error=on_error.value,
    )
    inputs = _read(graph, patterns, directed=directed, threads=threads, progress=progress)
    with mf.Monitor(
        inputs.graph,
        inputs.patterns,
        mode=mode.value,
        matches=sink.wants_matches,
        semantics=semantics.value,
        symmetry=symmetry.value,
        duplicates=duplicates.value,
        strict=strict,
        window=int(window) if window is not None and window.isdecimal() else window,
        time_unit=time_unit.value,
        disorder=None if disorder is None else disorder.value,
        threads=threads,
        tuning=tuning,
    ) as monitor:
        totals = _played(monitor, source, sink, batch_size, timeout, progress)
    if as_json:
        print_json(_fields(patterns, totals))
    else:
        _print(patterns, totals, symmetry, output)
    if isinstance(totals.stopped_by, Terminated):
        return ExitCode.TERMINATED
    return ExitCode.DONE if totals.complete else ExitCode.INCOMPLETE


@dataclass(frozen=True)
class _Inputs:
    """A graph and patterns, read."""

    graph: "mf.Graph"
    patterns: list["mf.Pattern"]


def _read(
    graph: Path, patterns: list[str], *, directed: bool | None, threads: int | None, progress: bool | None
) -> _Inputs:
    """Read the graph and the patterns; of no graph, only its direction is asked for."""
    import motiflux as mf

    if str(graph) != _NO_GRAPH:
        read = opt.read_several(graph, patterns, directed=directed, threads=threads, progress=progress)
        return _Inputs(read.graph, read.patterns)
    if col.said():
        raise UsageError(f"{', '.join(col.said())}: expected a graph that is a table, found none")
    return _Inputs(mf.Graph.from_edges([], directed=bool(directed)), opt.read_patterns(patterns))


def _sink(output: Path | None, *, as_json: bool) -> "Sink":
    from motiflux.stream import FileSink, Nowhere, StandardOutput

    if output is not None:
        return FileSink(output)
    return Nowhere() if as_json else StandardOutput()


def _columns_of(settings: list[str] | None) -> dict[str, str | int] | None:
    columns: dict[str, str | int] = {}
    for setting in settings or []:
        part, separator, name = setting.partition("=")
        if not separator or not name or part in columns:
            raise ArgumentError("--stream-column", "PART=COLUMN, each part once", setting)
        columns[part] = col.column(name)
    return columns or None


def _played(
    monitor: "mf.Monitor",
    source: "Source",
    sink: "Sink",
    batch_size: int | None,
    timeout: float | None,
    progress: bool | None,
) -> "mf.Totals":
    with _shown(progress) as shown:
        return monitor.run(source, sink, batch_size=batch_size, timeout=timeout, progress=shown)


@contextmanager
def _shown(flag: bool | None) -> Iterator["Progress"]:
    """Give what `Monitor.run` takes: ``--progress`` shows it anywhere, without it terminals do."""
    from motiflux.io.progress import is_shown, meter
    from motiflux.stream.run import progress_note

    if flag and not is_shown():
        with meter("watching") as update:
            yield lambda totals: update(0, 0, progress_note(totals))
    else:
        yield flag is not False


def _fields(patterns: list[str], totals: "mf.Totals") -> dict[str, Any]:
    latency = totals.latency
    return {
        "patterns": [
            {"pattern": source, "positive": one.positive, "negative": one.negative}
            for source, one in zip(patterns, totals.patterns, strict=True)
        ],
        "updates": totals.updates,
        "noops": totals.noops,
        "seconds": totals.seconds,
        "updates_per_second": totals.updates_per_second,
        "latency_us": {name: getattr(latency, name, None) for name in ("p50", "p90", "p99", "max")},
        "complete": totals.complete,
        "engine": _ENGINE,
        "device": _DEVICE,
    }


def _print(patterns: list[str], totals: "mf.Totals", symmetry: Symmetry, output: Path | None) -> None:
    """Say what the run came to: on stderr where the matches are on stdout."""
    import sys

    stream = sys.stdout if output else sys.stderr
    what = symmetry.value.removesuffix("s")
    for source, one in zip(patterns, totals.patterns, strict=True):
        text = f"{quantity(one.positive, what)} appeared, {one.negative:,} vanished"
        print(f"{' '.join(source.split())}: {text}" if len(patterns) > 1 else text, file=stream)
    stopped = "" if totals.complete else _reason(totals)
    print(
        f"{quantity(totals.updates, 'update')} ({totals.noops:,} without effect) in "
        f"{seconds_text(totals.seconds)}, {totals.updates_per_second:,.0f}/s{stopped}",
        file=stream,
    )
    if totals.latency is not None:
        p50, p90, p99, most = (f"{value:,.0f}" for value in totals.latency)
        print(f"latency p50 {p50} us, p90 {p90} us, p99 {p99} us, at most {most} us", file=stream)


def _reason(totals: "mf.Totals") -> str:
    return ", stopped by the timeout" if totals.stopped_by is None else ", interrupted"
