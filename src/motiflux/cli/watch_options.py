"""The options of ``motiflux watch``."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from motiflux.cli import options as opt

SAVE_EVERY = "5min"
"""Default interval of saving."""


class Mode(StrEnum):
    """Matching mode."""

    SEQUENCE = "sequence"
    BATCH = "batch"


class Duplicates(StrEnum):
    """Effect of inserting an existing edge."""

    COUNT = "count"
    IGNORE = "ignore"


class TimeUnit(StrEnum):
    """Unit of numeric times."""

    SECONDS = "s"
    MILLISECONDS = "ms"
    MICROSECONDS = "us"
    NANOSECONDS = "ns"


class Disorder(StrEnum):
    """Handling of updates that are older than a previous update."""

    ERROR = "error"
    CLAMP = "clamp"
    DROP = "drop"


class OnError(StrEnum):
    """Handling of malformed lines and invalid updates."""

    STOP = "stop"
    SKIP = "skip"


class Engine(StrEnum):
    """What matches the updates."""

    AUTO = "auto"
    CPU = "cpu"
    CHANGING = "changing"
    BATCH = "batch"
    OUT_OF_CORE = "outofcore"
    STREAMING = "streaming"


GraphArgument = Annotated[
    Path,
    typer.Argument(
        metavar="GRAPH",
        parser=opt.file_name,
        help="Initial graph: a file as for other commands, or none for an empty graph.",
    ),
]
StreamArgument = Annotated[
    str,
    typer.Argument(
        metavar="STREAM",
        help="File of updates: .stream .csv .tsv (also .gz or .zst), .parquet .arrow; - is standard input.",
    ),
]
PatternOption = Annotated[
    list[str] | None,
    typer.Option(
        "--pattern",
        metavar="PATTERN",
        parser=opt.pattern_source,
        help="Pattern text such as '(a)-->(b)', or a file: .pattern .cypher .graph. Repeatable.",
        show_default=False,
    ),
]
ModeOption = Annotated[
    Mode, typer.Option(help="sequence: match each update; batch: match the net change of each batch.")
]
BatchOption = Annotated[
    int | None,
    typer.Option("--batch-size", min=1, help="Updates per batch.", show_default="1024"),
]
OutputOption = Annotated[
    list[Path] | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        parser=opt.file_name,
        help="Write the matches to a .csv .tsv .jsonl (also .gz, .zst) .arrow or .parquet file with the "
        "columns sign, update, time, pattern, v0, ... Each batch is written when it is done (.parquet at the "
        "end). - and -.jsonl are stdout; - is the default, but with --json the default is to count only. "
        "Repeatable.",
        show_default=False,
    ),
]
FollowOption = Annotated[
    bool, typer.Option("--follow", metavar=opt.FLAG, help="At the end of STREAM, wait for new updates.")
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--stream-format",
        metavar="FORMAT",
        help="Format of STREAM if its name has no suffix: stream, csv or tsv.",
        show_default=False,
    ),
]
StreamColumnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--stream-column",
        metavar="PART=COLUMN",
        help="Column of STREAM for op, src, dst, label, time, src_label or dst_label. Repeatable.",
        show_default=False,
    ),
]
DuplicatesOption = Annotated[
    Duplicates, typer.Option(help="Insertion of an existing edge. count: add a copy; ignore: no effect.")
]
StrictOption = Annotated[
    bool,
    typer.Option("--strict", metavar=opt.FLAG, help="Insertions and deletions without effect are errors."),
]
OnErrorOption = Annotated[
    OnError,
    typer.Option(
        "--on-error",
        help="Malformed lines and invalid updates (a vertex that changes its label, a time out of order). "
        "stop: end with an error; skip: skip and count them, and print the first.",
    ),
]
WindowOption = Annotated[
    str | None,
    typer.Option(
        metavar="LENGTH",
        help="Window of inserted edges: a duration such as 90s, 15min, 1h30m or 7d (units w, d, h, min or m, "
        "s, ms, us, ns), or a number of edges.",
        show_default="no window",
    ),
]
TimeUnitOption = Annotated[TimeUnit, typer.Option("--time-unit", help="Unit of numeric times.")]
DisorderOption = Annotated[
    Disorder | None,
    typer.Option(
        help="Updates older than a previous one. error: stop; clamp: use its time; drop: skip the update.",
        show_default="error, for a window of time",
    ),
]
EdgeTimesOption = Annotated[
    str | None,
    typer.Option(
        "--edge-times",
        metavar="NAME",
        help="Attribute of GRAPH's edges with their times: such edges are in the window from the start and "
        "leave it. Default: edges of GRAPH stay until they are deleted.",
        show_default=False,
    ),
]
EdgeAttributesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--edge-attribute",
        metavar="NAME",
        help="Attribute of edges, a column of STREAM or of GRAPH, that each copy of an edge keeps and .jsonl "
        "shows; may be repeated. Default: all if a pattern has conditions on such attributes, or "
        "comparisons, else none.",
        show_default=False,
    ),
]
PerVertexOption = Annotated[
    str | None,
    typer.Option(
        "--per-vertex",
        metavar="NAME",
        help="Count the matches at each vertex that is this query vertex; print the greatest at the end.",
        show_default=False,
        rich_help_panel=opt.MORE,
    ),
]
AlertOption = Annotated[
    int | None,
    typer.Option(
        "--alert",
        metavar="N",
        min=1,
        help="With --per-vertex: tell on stderr when the number of matches at a vertex reaches N.",
        show_default=False,
        rich_help_panel=opt.MORE,
    ),
]
AlertDownOption = Annotated[
    bool,
    typer.Option(
        "--alert-down",
        metavar=opt.FLAG,
        help="With --alert: tell also when it falls below N.",
        rich_help_panel=opt.MORE,
    ),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        help="Stop after this number of seconds; an unfinished batch is not applied.",
        show_default="none",
    ),
]
LimitOption = Annotated[
    int | None,
    typer.Option(min=0, help="Stop after this number of matches, both signs together.", show_default="none"),
]
SaveOption = Annotated[
    Path | None,
    typer.Option(
        "--save",
        metavar="FILE",
        parser=opt.file_name,
        help="Save graph, patterns, window and position in STREAM periodically and at the end, for --resume.",
        show_default=False,
    ),
]
SaveEveryOption = Annotated[
    str | None,
    typer.Option(
        "--save-every",
        metavar="AMOUNT",
        help="Interval of --save: a number of updates, or a duration such as 30s.",
        show_default=SAVE_EVERY,
    ),
]
ResumeOption = Annotated[
    Path | None,
    typer.Option(
        "--resume",
        metavar="FILE",
        parser=opt.file_name,
        help="Continue from a file of --save. GRAPH (give none), patterns and options come from the file; "
        "STREAM and the output continue from the saved positions.",
        show_default=False,
    ),
]
EngineOption = Annotated[
    Engine, typer.Option(help="Engine that matches the updates.", rich_help_panel=opt.MORE)
]
