"""``motiflux watch --resume``: runs that continue a saved run."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motiflux.cli import options as opt
from motiflux.cli.exits import UsageError
from motiflux.cli.saving.moved_files import NO_GRAPH, STDOUT, absolute, is_standard
from motiflux.cli.saving.resumed_outputs import continued
from motiflux.cli.saving.stream_content import StreamContent
from motiflux.units import grouped, quantity

if TYPE_CHECKING:
    from motiflux.stream import Source
    from motiflux.stream.sources.source import Position

VERSION = 2
"""The version of the facts that a checkpoint of the command line has."""


_SAME_OPTIONS = ("mode", "semantics", "symmetry", "duplicates", "strict", "time_unit")
_SAME_FACTS = ("batch_size", "stream_format", "columns", "missing")


@dataclass(frozen=True)
class Task:
    """Inputs and outputs of a run."""

    graph: Path
    stream: str
    patterns: list[str]
    batch_size: int | None
    outputs: list[Path]
    format: str | None
    columns: dict[str, str | int] | None
    missing: str = "error"

    def facts(self) -> dict[str, Any]:
        """Return it for a checkpoint."""
        return {
            "graph": absolute(str(self.graph)),
            "stream": absolute(self.stream),
            "patterns": self.patterns,
            "batch_size": self.batch_size,
            "stream_format": self.format,
            "columns": self.columns,
            "missing": self.missing,
        }

    def going_on(self, earlier: "Earlier") -> "Task":
        """Return the task with the options of a saved run as defaults.

        Raises
        ------
        UsageError
            An output has other content than the saved run had written.
        """
        facts = earlier.facts
        return Task(
            self.graph,
            self.stream,
            self.patterns or facts.get("patterns") or [str(one) for one in earlier.monitor.patterns],
            self.batch_size or facts.get("batch_size"),
            continued(earlier.path, earlier.outputs, self.outputs),
            self.format or facts.get("stream_format"),
            self.columns or facts.get("columns"),
            facts.get("missing", self.missing),
        )

    def check_places(self, *more: Path | None) -> None:
        """Raise an error if an output file is also an input file, the save file or another output.

        Raises
        ------
        UsageError
            Names the file.
        """
        others = [self.graph, Path(self.stream), *more]
        standard = [output for output in self.outputs if is_standard(str(output))]
        if len(standard) > 1:
            raise UsageError(f"-o {standard[1]}: expected one output on stdout, found -o {standard[0]} too")
        for at, output in enumerate(self.outputs):
            if opt.is_one_of(output, self.outputs[:at]):
                raise UsageError(f"-o {output}: expected each output once")
            if not is_standard(str(output)) and opt.is_one_of(output, others):
                raise UsageError(f"-o {output}: expected a file that is neither read nor saved")

    def open_options(self) -> dict[str, Any]:
        """Return the keywords of `motiflux.open_source` that determine how the stream is read."""
        return {"columns": self.columns, "format": self.format, "missing": self.missing}

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
            **self.open_options(),
            follow=follow,
            on_error=on_error,
            start=start,
        )


class Earlier:
    """The run that a checkpoint is of.

    Parameters
    ----------
    path
        The checkpoint.
    threads, placement
        For the monitor; the latter are `device`, `engine` and `gpu_memory`.

    Raises
    ------
    FormatError
        It is none, or damaged.
    UsageError
        It has no position in a stream.
    """

    def __init__(self, path: Path, threads: int | None, placement: dict[str, Any]) -> None:
        import motiflux as mf

        self.path = path
        self.monitor = mf.Monitor.load(path, threads=threads, **placement)
        position = self.monitor.source_position
        if isinstance(position, list) and len(position) == 2:
            position = {"line": position[0], "offset": position[1]}
        if position is None:
            position = {"line": 0, "offset": 0}
        if not isinstance(position, dict) or {"line", "offset"} - position.keys():
            raise UsageError(f"--resume {path}: expected a position in a stream, found {position!r}")
        if position.get("watch", VERSION) != VERSION:
            raise UsageError(f"--resume {path}: found a checkpoint of another version of motiflux")
        self.facts: dict[str, Any] = position
        self.content: StreamContent | None = None
        """Of the stream, once it was compared."""

    @property
    def outputs(self) -> list[dict[str, Any]]:
        """The facts of the outputs: ``name``, ``relative``, ``kept`` and ``content``."""
        saved: list[dict[str, Any]] = self.facts.get("outputs", [])
        return saved

    def kept(self, at: int) -> int | None:
        """Return how much of an output stays; None of standard output, and of a new output."""
        return self.outputs[at]["kept"] if self.outputs else None

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
        options = self.monitor.options
        self._check_graph(given)
        for name in _SAME_OPTIONS:
            if name in given and str(given[name]) != str(options[name]):
                found = "this option" if given[name] is True else given[name]
                self._refuse(name, options[name] or "none", found)
        for name in ("per_vertex", "alert", "alert_down"):
            if name in given and str(given[name]) != str(options.get(name)):
                self._refuse(name, options.get(name) or "none", given[name])
        kept = given.get("edge_attributes")
        if kept is not None and list(kept) != options["attributes"]:
            saved = options["attributes"]
            words = ("all" if saved else "none") if isinstance(saved, bool) else ", ".join(saved)
            self._refuse("edge_attribute", words, ", ".join(kept))
        for name in _SAME_FACTS:
            if given.get(name) is not None and name in self.facts and given[name] != self.facts[name]:
                self._refuse("stream_column" if name == "columns" else name, self.facts[name], given[name])
        disorder = options["disorder"] or "error"
        if "disorder" in given and given["disorder"] != disorder:
            self._refuse("disorder", disorder, str(given["disorder"]))
        self._check_parsed(given, options)
        self._check_stream(given)

    def _check_graph(self, given: Mapping[str, Any]) -> None:
        """Compare the name of the graph; a checkpoint saved by a program has none."""
        graph, found = self.facts.get("graph", NO_GRAPH), str(given["graph"])
        if found != NO_GRAPH and Path(found).name != Path(graph).name:
            self._refuse("GRAPH", graph, found)

    def _check_stream(self, given: Mapping[str, Any]) -> None:
        """Compare the content of the stream; of standard input, and where none was saved, the name."""
        if "stream" not in self.facts:
            return
        from motiflux.io.files.source import open_source

        name, saved, line, offset = given["stream"], self.facts["stream"], *self.start
        content = self.facts["stream_content"]
        if content is None or name == STDOUT:
            if absolute(name) != saved:
                self._refuse("STREAM", saved, name)
            return
        columns = given["columns"] or self.facts["columns"]
        options = {
            "columns": columns,
            "format": given.get("stream_format") or self.facts["stream_format"],
            "missing": self.facts.get("missing", "error"),
        }
        if not Path(name).exists():
            open_source(Path(name)).close()  # which says why it cannot be opened
        self.content = StreamContent(name, options)
        if not self.content.agrees(content, line, offset):
            place = f"byte {grouped(offset)}" if offset else f"row {grouped(line)}"
            self._refuse("STREAM", f"the content of {saved} up to {place}", f"{name} without it")

    def _check_parsed(self, given: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        """Compare options that have several equivalent texts."""
        from motiflux.config import resolve_tuning
        from motiflux.stream.window import parse_window

        if "window" in given:
            window = None if options["window"] is None else parse_window(options["window"])
            if parse_window(given["window"]) != window:
                self._refuse("window", None if window is None else str(window), given["window"])
        if "directed" in given and given["directed"] != self.monitor.directed:
            options_of = {True: "--directed", False: "--undirected"}
            self._refuse("directed", options_of[self.monitor.directed], options_of[given["directed"]])
        if (
            "settings" in given
            and dict(resolve_tuning(opt.tuning_of(given["settings"]))) != options["tuning"]
        ):
            self._refuse("set", "the switches of the saved run", given["settings"])
        if "patterns" in given and tuple(opt.read_patterns(given["patterns"])) != self.monitor.patterns:
            self._refuse("pattern", [str(one) for one in self.monitor.patterns], given["patterns"])

    def _refuse(self, name: str, expected: object, found: object) -> None:
        option = name if name.isupper() else "--" + name.replace("_", "-")
        raise UsageError(f"{option}: expected {_shown(expected)} as in {self.path}, found {_shown(found)}")


def _shown(value: object) -> str:
    """Return the value of an option as the shell gives it."""
    if value is None:
        return "none"
    if isinstance(value, Mapping):
        return " ".join(f"{key}={one}" for key, one in value.items())
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
