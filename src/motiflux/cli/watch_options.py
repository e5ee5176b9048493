"""The options of ``motiflux watch``."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from motiflux.cli import options as opt

SAVE_EVERY = "5min"
"""How often a run is saved if nothing is said."""


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
    """What a line does that is malformed, or refused."""

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
    list[str] | None,
    typer.Option(
        "--pattern",
        metavar="PATTERN",
        parser=opt.pattern_source,
        help="What to watch: text such as '(a)-->(b)', or a file: .pattern .cypher .graph. Repeatable.",
        show_default=False,
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
        help="Write the matches to .csv .tsv (also .gz, .zst) .arrow or .parquet: sign, update, time, "
        "pattern, v0 and so on, each batch as soon as it is done (.parquet at the end). - is stdout. Without "
        "it they go there, or with --json are only counted.",
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
    OnError,
    typer.Option(
        "--on-error",
        help="What to do about lines that are malformed, or refused (a vertex that changes its label, a time "
        "out of order): skip leaves them out, counts them and tells the first.",
    ),
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
    float | None,
    typer.Option(
        help="Stop after this many seconds; a batch that is not done by then is not applied.",
        show_default="none",
    ),
]
LimitOption = Annotated[
    int | None,
    typer.Option(min=0, help="Stop after this many matches in all, of both signs.", show_default="none"),
]
SaveOption = Annotated[
    Path | None,
    typer.Option(
        "--save",
        metavar="FILE",
        parser=opt.file_name,
        help="Save graph, patterns, window and place in STREAM now and then and at the end, for --resume.",
        show_default=False,
    ),
]
SaveEveryOption = Annotated[
    str | None,
    typer.Option(
        "--save-every",
        metavar="AMOUNT",
        help="How often: a number of updates, or a time such as 30s.",
        show_default=SAVE_EVERY,
    ),
]
ResumeOption = Annotated[
    Path | None,
    typer.Option(
        "--resume",
        metavar="FILE",
        parser=opt.file_name,
        help="Go on from what --save saved: GRAPH (say none), patterns and options come from there, STREAM "
        "goes on where it was, and the output after what was written by then.",
        show_default=False,
    ),
]
