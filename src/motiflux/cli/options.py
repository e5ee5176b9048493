"""The options that several commands share."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from motiflux.errors import ArgumentError
from motiflux.types import Semantics, Symmetry

if TYPE_CHECKING:
    import motiflux as mf


class Device(StrEnum):
    """Where to run."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


class Engine(StrEnum):
    """What runs the search."""

    AUTO = "auto"
    CPU = "cpu"


GraphArgument = Annotated[
    Path, typer.Argument(help="Data graph: .npz .graph .txt .edges .el, each also .gz.")
]
PatternArgument = Annotated[Path, typer.Argument(help="Pattern: .graph, also .gz.")]
SemanticsOption = Annotated[
    Semantics, typer.Option(help="What counts as an occurrence: edges kept, and more, or less.")
]
SymmetryOption = Annotated[
    Symmetry, typer.Option(help="Every embedding, or each subgraph once (automorphic images folded).")
]
DirectedOption = Annotated[
    bool | None,
    typer.Option("--directed/--undirected", help="How to read the graph.", show_default="as the file says"),
]
LimitOption = Annotated[int | None, typer.Option(help="Stop after this many.", show_default="none")]
TimeoutOption = Annotated[
    float | None, typer.Option(help="Stop after this many seconds of search.", show_default="none")
]
ThreadsOption = Annotated[int | None, typer.Option(help="CPU threads.", show_default="all cores")]
DeviceOption = Annotated[Device, typer.Option(help="Where to run.")]
EngineOption = Annotated[Engine, typer.Option(help="What runs the search.")]
TuningOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Tuning; see `motiflux info --tuning`. Repeatable."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, nothing else there.")]
ProgressOption = Annotated[
    bool | None,
    typer.Option("--progress/--no-progress", help="Bar on stderr.", show_default="on when it is a terminal"),
]


def tuning_of(settings: list[str] | None) -> dict[str, str] | None:
    """Give the ``key=value`` texts as a mapping; None when there are none.

    Raises
    ------
    ArgumentError
        If one has no ``=``, or a key comes twice. Whether key and value exist is for the library to say.
    """
    tuning: dict[str, str] = {}
    for setting in settings or []:
        key, separator, value = setting.partition("=")
        if not separator or not key:
            raise ArgumentError("--set", "KEY=VALUE", setting)
        if key in tuning:
            raise ArgumentError("--set", f"each key once, {key} is repeated", setting)
        tuning[key] = value
    return tuning or None


@dataclass(frozen=True)
class Inputs:
    """A graph and a pattern, read."""

    graph: "mf.Graph"
    pattern: "mf.Pattern"
    load_seconds: float


def read_inputs(graph: Path, pattern: Path, *, directed: bool | None, threads: int | None = None) -> Inputs:
    """Read both files, the pattern first: it is small, and a mistake in it shows before the long read."""
    import motiflux as mf

    start = time.perf_counter()
    query = mf.read_pattern(pattern)
    data = mf.read_graph(graph, directed=directed, threads=threads)
    return Inputs(data, query, time.perf_counter() - start)
