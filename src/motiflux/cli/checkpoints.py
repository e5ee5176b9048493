"""``motiflux watch --save`` and ``--resume``: runs that continue a saved run."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motiflux.cli import options as opt
from motiflux.cli.exits import UsageError
from motiflux.errors import ArgumentError
from motiflux.units import quantity

if TYPE_CHECKING:
    import motiflux as mf
    from motiflux.stream import Sink, Source
    from motiflux.stream.sources.source import Position
    from motiflux.stream.window import Span

_VERSION = 1
STDOUT = "-"
"""The name of standard output."""

NO_GRAPH = "none"
"""The name of a graph without vertices."""

_SAME_OPTIONS = ("mode", "semantics", "symmetry", "duplicates", "strict", "time_unit")
_SAME_FACTS = ("batch_size", "stream_format", "columns")


@dataclass(frozen=True)
class Task:
    """Inputs and output of a run."""

    graph: Path
    stream: str
    patterns: list[str]
    batch_size: int | None
    output: Path | None
    format: str | None
    columns: dict[str, str | int] | None

    def facts(self) -> dict[str, Any]:
        """Return it for a checkpoint."""
        return {
            "graph": absolute(str(self.graph)),
            "stream": absolute(self.stream),
            "patterns": self.patterns,
            "batch_size": self.batch_size,
            "output": None if self.output is None else absolute(str(self.output)),
            "stream_format": self.format,
            "columns": self.columns,
        }

    def going_on(self, earlier: "Earlier") -> "Task":
        """Return the task with the options of a saved run as defaults."""
        facts, given = earlier.facts, self.facts()
        output = given["output"] or facts.get("output")
        return Task(
            self.graph,
            self.stream,
            self.patterns or facts.get("patterns") or [str(one) for one in earlier.monitor.patterns],
            self.batch_size or facts.get("batch_size"),
            None if output is None else Path(output),
            self.format or facts.get("stream_format"),
            self.columns or facts.get("columns"),
        )

    def check_places(self, *more: Path | None) -> None:
        """Raise an error if the output file is also an input file or the save file.

        Raises
        ------
        UsageError
            Names the file.
        """
        if self.output is None or str(self.output) == STDOUT:
            return
        others = [self.graph, Path(self.stream), *more]
        if opt.is_one_of(self.output, others):
            raise UsageError(f"-o {self.output}: expected a file that is neither read nor saved")

    def source(self, earlier: "Earlier | None", *, follow: bool, on_error: str) -> "Source":
        """Open the stream."""
        import warnings

        import motiflux as mf
        from motiflux.stream.sources.source import BEGIN

        start = BEGIN if earlier is None else earlier.start
        if self.stream == STDOUT and start.offset:
            text = f"skipping the first {quantity(start.offset, 'byte')}, which the saved run has read"
            warnings.warn(f"standard input: {text}", mf.MotifluxWarning, stacklevel=2)
        return mf.open_source(
            self.stream,
            columns=self.columns,
            format=self.format,
            follow=follow,
            on_error=on_error,
            start=start,
        )


class Saver:
    """Saves a monitor periodically, with the options that a later run needs.

    Parameters
    ----------
    monitor, path
        The monitor, and the file.
    every
        The interval: a duration, or a number of updates.
    sink
        The sink whose output position is saved.
    facts
        The options of the command line.
    """

    def __init__(
        self, monitor: "mf.Monitor", path: Path, every: "Span", sink: "Sink", facts: Mapping[str, Any]
    ) -> None:
        self._monitor = monitor
        self._path = path
        self._every = every
        self._sink = sink
        self._facts = facts
        self._updates = 0
        self._since = time.monotonic_ns()
        self._is_new = False

    def after(self, updates: int) -> None:
        """Save if it is time."""
        self._updates += updates
        self._is_new = True
        self.idle()

    def idle(self) -> None:
        """Save if the interval is over and there were new updates."""
        done = time.monotonic_ns() - self._since if self._every.timed else self._updates
        if self._is_new and done >= self._every.length:
            self._save()

    def end(self, *, failed: bool) -> None:
        """Save at the end, after the sink is closed; after an error, only if there were new updates."""
        if self._is_new or not failed:
            self._save()

    def _save(self) -> None:
        from motiflux.stream import FileSink
        from motiflux.stream.sources.source import BEGIN, Position

        kept = self._sink.mark() if isinstance(self._sink, FileSink) else None
        reached = self._monitor.source_position
        if isinstance(reached, dict):  # as it was saved before
            reached = Position(reached["line"], reached["offset"])
        line, offset = reached or BEGIN
        facts = {"watch": _VERSION, **self._facts, "kept": kept, "line": line, "offset": offset}
        self._monitor.save(self._path, position=facts)
        self._updates, self._since, self._is_new = 0, time.monotonic_ns(), False


def absolute(name: str) -> str:
    """Return the absolute name of a file; ``-`` and ``none`` stay as they are."""
    return name if name in (STDOUT, NO_GRAPH) else str(Path(name).absolute())


def read_every(text: str) -> "Span":
    """Return how often to save: a number of updates, or a time.

    Raises
    ------
    ArgumentError
        It is neither.
    """
    from motiflux.stream.window import parse_window

    try:
        return parse_window(text)
    except ArgumentError:
        raise ArgumentError(
            "--save-every", "a number of updates, or a duration such as 30s or 5min", text
        ) from None


class Earlier:
    """The run that a checkpoint is of.

    Parameters
    ----------
    path
        The checkpoint.
    threads
        For the monitor.

    Raises
    ------
    FormatError
        It is none, or damaged.
    UsageError
        It has no position in a stream.
    """

    def __init__(self, path: Path, threads: int | None) -> None:
        import motiflux as mf

        self._path = path
        self.monitor = mf.Monitor.load(path, threads=threads)
        position = self.monitor.source_position
        if isinstance(position, list) and len(position) == 2:
            position = {"line": position[0], "offset": position[1]}
        if position is None:
            position = {"line": 0, "offset": 0}
        if not isinstance(position, dict) or {"line", "offset"} - position.keys():
            raise UsageError(f"--resume {path}: expected a position in a stream, found {position!r}")
        if position.get("watch", _VERSION) != _VERSION:
            raise UsageError(f"--resume {path}: found a checkpoint of another version of motiflux")
        self.facts: dict[str, Any] = position

    @property
    def start(self) -> "Position":
        """The position at which the stream continues."""
        from motiflux.stream.sources.source import Position

        return Position(self.facts["line"], self.facts["offset"])

    def check(self, given: Mapping[str, Any]) -> None:
        """Raise an error for an option that contradicts the checkpoint.

        Parameters
        ----------
        given
            Parameters of the command that were given, by name.

        Raises
        ------
        UsageError
            Names the first.
        """
        options = self.monitor._options.arguments()
        self._check_names(given)
        for name in _SAME_OPTIONS:
            if name in given and str(given[name]) != str(options[name]):
                self._refuse(name, options[name], given[name])
        for name in _SAME_FACTS:
            if given.get(name) is not None and name in self.facts and given[name] != self.facts[name]:
                self._refuse("stream_column" if name == "columns" else name, self.facts[name], given[name])
        disorder = options["disorder"] or "error"
        if "disorder" in given and given["disorder"] != disorder:
            self._refuse("disorder", disorder, str(given["disorder"]))
        self._check_parsed(given, options)

    def _check_names(self, given: Mapping[str, Any]) -> None:
        """Compare names of files; a checkpoint saved by a program has none."""
        graph = self.facts.get("graph", NO_GRAPH)
        if str(given["graph"]) != NO_GRAPH and absolute(str(given["graph"])) != graph:
            self._refuse("GRAPH", graph, str(given["graph"]))
        for name, what in (("stream", "STREAM"), ("output", "output")):
            if name in given and name in self.facts and absolute(str(given[name])) != self.facts[name]:
                self._refuse(what, self.facts[name], str(given[name]))

    def _check_parsed(self, given: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        """Compare options that have several equivalent texts."""
        from motiflux.config import resolve_tuning
        from motiflux.stream.window import parse_window

        if "window" in given:
            window = None if options["window"] is None else parse_window(options["window"])
            if parse_window(given["window"]) != window:
                self._refuse("window", None if window is None else str(window), given["window"])
        if "directed" in given and given["directed"] != self.monitor._base.directed:
            self._refuse("directed", self.monitor._base.directed, given["directed"])
        if (
            "settings" in given
            and dict(resolve_tuning(opt.tuning_of(given["settings"]))) != options["tuning"]
        ):
            self._refuse("set", "the switches of the saved run", given["settings"])
        if "patterns" in given and tuple(opt.read_patterns(given["patterns"])) != self.monitor.patterns:
            self._refuse("pattern", [str(one) for one in self.monitor.patterns], given["patterns"])

    def _refuse(self, name: str, expected: object, found: object) -> None:
        option = name if name.isupper() else "--" + name.replace("_", "-")
        before = "none" if expected is None else str(expected)
        raise UsageError(f"{option}: expected {before} as in {self._path}, found {found}")
