"""Lines whose updates a monitor refuses, left out of their batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import StreamError
from motiflux.stream.sources.source import Batch
from motiflux.stream.updates import Updates, VertexLabels, attributes_at, zones_at

_TOLD = 8

Refusal = Callable[[Updates], StreamError | None]
"""Says why updates cannot be applied as one call; None if they can."""


def without_refused(batch: Batch, refusal: Refusal) -> Batch:
    """Leave out each line that cannot be applied after the lines before it that can.

    Raises
    ------
    StreamError
        Nothing can be applied, not even without updates.
    """
    lines = _Lines(batch)
    good: list[int] = []
    bad: list[tuple[int, str]] = []
    following = 0
    while (error := refusal(lines.updates([*good, *range(following, lines.count)]))) is not None:
        at, error = _first_refused(lines, good, following, error, refusal)
        good += range(following, at)
        number = int(lines.numbers[at])
        bad.append((number, lines.located(error, number)))
        following = at + 1
    good += range(following, lines.count)
    return lines.batch_of(good, bad)


def _first_refused(
    lines: _Lines, good: list[int], following: int, error: StreamError, refusal: Refusal
) -> tuple[int, StreamError]:
    """Return the first line from `following` on that is refused after the good ones, and why."""
    if following == lines.count or refusal(lines.updates(good)) is not None:
        raise error
    # The first `passes` of the following updates can be applied, the first `fails` cannot.
    passes, fails = 0, lines.count - following
    step = 1
    while fails - passes > 1:
        middle = min(passes + step, fails - 1)
        found = refusal(lines.updates([*good, *range(following, following + middle)]))
        if found is None:
            passes = middle
            step *= 2
        else:
            fails, error = middle, found
            step = max(1, (fails - passes) // 2)
    return following + fails - 1, error


class _Lines:
    """A batch by lines: the updates of each, and the labels of vertices."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        updates, named = batch.updates, batch.updates.vertex_labels
        of_updates = np.arange(1, len(updates) + 1) if batch.lines is None else batch.lines
        of_labels: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        if named is not None and batch.label_lines is not None:
            of_labels = batch.label_lines
        elif named is not None:
            of_labels = (
                of_updates[np.minimum(named.positions, len(updates) - 1)] if len(updates) else named.positions
            )
        self.numbers = np.union1d(of_updates, of_labels)
        self.count = len(self.numbers)
        self._of_updates = np.searchsorted(self.numbers, of_updates)
        self._of_labels = np.searchsorted(self.numbers, of_labels)

    def updates(self, kept: list[int]) -> Updates:
        """Return the updates of some lines."""
        return self._chosen(kept)[0]

    def _chosen(self, kept: list[int]) -> tuple[Updates, NDArray[np.bool_], NDArray[np.bool_]]:
        is_kept = np.zeros(self.count, dtype=bool)
        is_kept[kept] = True
        rows, labels = is_kept[self._of_updates], is_kept[self._of_labels]
        given, named = self._batch.updates, self._batch.updates.vertex_labels
        if named is not None:
            before = np.concatenate([[0], np.cumsum(rows)])
            named = VertexLabels(named.ids[labels], named.labels[labels], before[named.positions[labels]])
        chosen = Updates(
            given.inserts[rows],
            given.sources[rows],
            given.targets[rows],
            None if given.labels is None else given.labels[rows],
            None if given.times is None else given.times[rows],
            named if named is not None and len(named.ids) else None,
            zones_at(given.zoned, rows),
            attributes_at(given, rows),
        )
        return chosen, rows, labels

    def located(self, error: StreamError, line: int) -> str:
        """Return the error without its position."""
        message = error.message
        if error.row is not None and message.startswith("updates, "):
            message = message.partition(": ")[2]
        return message

    def batch_of(self, good: list[int], bad: list[tuple[int, str]]) -> Batch:
        """Return the batch with the good lines, and the bad ones as skipped."""
        batch = self._batch
        updates, rows, labels = self._chosen(good)
        return replace(
            batch,
            updates=updates,
            lines=None if batch.lines is None else batch.lines[rows],
            label_lines=None if batch.label_lines is None else batch.label_lines[labels],
            skips=batch.skips + len(bad),
            skipped=tuple(sorted([*batch.skipped, *bad[:_TOLD]])[:_TOLD]),
        )
