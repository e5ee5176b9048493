"""Matches written to several places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from motiflux.pattern import Pattern
from motiflux.stream.sinks.sink import FoundMatches, Sink


class SeveralSinks(Sink):
    """Hands all matches to several sinks, in their order; a batch that one of them refuses is in none.

    Parameters
    ----------
    sinks
        The sinks.
    """

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self.sinks = list(sinks)
        self._reading = [sink for sink in self.sinks if sink.wants_matches]
        self.wants_matches = bool(self._reading)
        self.wants_changes = any(sink.wants_changes for sink in self.sinks)
        self.wants_edges = any(sink.wants_edges for sink in self.sinks)
        self.prints = any(sink.prints for sink in self.sinks)
        self.uninterrupted = any(sink.uninterrupted for sink in self.sinks)

    @property
    def wants_empty_batches(self) -> bool:
        """Whether any that reads matches does."""
        return any(sink.wants_empty_batches for sink in self._reading)

    def check(self, patterns: tuple[Pattern, ...]) -> None:
        """Check all."""
        for sink in self.sinks:
            sink.check(patterns)

    def open(self, patterns: tuple[Pattern, ...]) -> None:
        """Open all, if all can be opened."""
        self.check(patterns)
        for sink in self.sinks:
            sink.open(patterns)

    def write(self, found: FoundMatches) -> None:
        """Write to all that read matches."""
        for sink in self._reading:
            sink.write(found)

    def flush(self) -> None:
        """Flush all that read matches."""
        for sink in self._reading:
            sink.flush()

    def acknowledged(self, interrupted: Callable[[], bool]) -> None:
        """Acknowledge all; then raise the first error."""
        _each([partial(sink.acknowledged, interrupted) for sink in self._reading])

    def close(self) -> None:
        """Close all; then raise the first error."""
        _each([sink.close for sink in self.sinks])

    def abandon(self) -> None:
        """Abandon all; then raise the first error."""
        _each([sink.abandon for sink in self.sinks])


def _each(calls: Iterable[Callable[[], None]]) -> None:
    first: BaseException | None = None
    for call in calls:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - raised below
            first = first or error
    if first is not None:
        raise first
