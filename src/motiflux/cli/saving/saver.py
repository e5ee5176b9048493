"""``motiflux watch --save``: a run that is saved periodically."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motiflux.cli.saving.checkpoints import VERSION, Task
from motiflux.cli.saving.resumed_outputs import facts_of
from motiflux.cli.saving.stream_content import StreamContent
from motiflux.errors import ArgumentError

if TYPE_CHECKING:
    import motiflux as mf
    from motiflux.stream import Sink
    from motiflux.stream.window import Span


class Saver:
    """Saves a monitor periodically, with the options that a later run needs.

    Parameters
    ----------
    monitor, path
        The monitor, and the file.
    every
        The interval: a duration, or a number of updates.
    sinks
        The sinks whose positions are saved, one for each output of the task.
    task
        The options of the command line.
    content
        Of the stream.
    """

    def __init__(
        self,
        monitor: "mf.Monitor",
        path: Path,
        every: "Span",
        sinks: "Sequence[Sink]",
        task: Task,
        content: StreamContent,
    ) -> None:
        self._monitor = monitor
        self._path = path
        self._every = every
        self._sinks = sinks
        self._task = task
        self._content = content
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
        from motiflux.stream.sources.source import BEGIN, Position

        outputs = [
            self._output(str(name), sink) for name, sink in zip(self._task.outputs, self._sinks, strict=True)
        ]
        reached = self._monitor.source_position
        if isinstance(reached, dict):  # as it was saved before
            reached = Position(reached["line"], reached["offset"])
        line, offset = reached or BEGIN
        facts = {
            "watch": VERSION,
            **self._task.facts(),
            "outputs": outputs,
            "stream_content": self._content.at(line, offset),
            "line": line,
            "offset": offset,
        }
        self._monitor.save(self._path, position=facts)
        self._updates, self._since, self._is_new = 0, time.monotonic_ns(), False

    def _output(self, name: str, sink: "Sink") -> dict[str, Any]:
        from motiflux.stream import FileSink

        return facts_of(self._path, name, sink.mark() if isinstance(sink, FileSink) else None)


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
