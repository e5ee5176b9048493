"""Runs of files on a device, whose batches overlap: what is compared, and what tests look at."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.stream.matching.changing import Changing
from motiflux.stream.run import ahead
from tests.update_streams import Stream

READER = "motiflux-source"
"""The name of the thread that reads a source."""


@contextmanager
def overlapping() -> Iterator[None]:
    """Let batches of any size overlap; no thread is left afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ahead, "LEAST_UPDATES", 1)
        yield
    assert not [one.name for one in threading.enumerate() if one.name == READER]


@contextmanager
def all_read_before() -> Iterator[list[bool]]:
    """Have each batch wait until the next one is read; give a list of whether each could be prepared."""
    prepared: list[bool] = []
    following, prepare = ahead.ReadAhead.following, Changing._prepare

    def waits(self: ahead.ReadAhead) -> Any:
        if not self._seen:
            self._seen.append(self._read.get())
        return following(self)

    def notes(self: Changing, *given: Any) -> Any:
        found = prepare(self, *given)
        prepared.append(found is not None)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ahead.ReadAhead, "following", waits)
        patch.setattr(Changing, "_prepare", notes)
        yield prepared


def lines_of(stream: Stream, *, more: int = 0) -> list[str]:
    """Return a drawn stream as the lines of a file; some updates bring new vertices."""
    lines = []
    for number, (inserts, (u, v, label)) in enumerate(stream.changes):
        lines.append(f"{'e' if inserts else '-e'} {u} {v} {label}\n")
        if more and number % more == 0:
            lines.append(f"e {u} {1000 + number} {label}\n")
    return lines


def outcome(monitor: mf.Monitor, totals: mf.Totals, output: Path) -> tuple[Any, ...]:
    """Return what a run came to; rows in their order."""
    patterns = [(one.positive, one.negative) for one in totals.patterns]
    counts = (totals.updates, totals.noops, totals.self_loops, totals.batches, totals.complete)
    return patterns, counts, state(monitor), monitor.source_position, output.read_text().splitlines()


def state(monitor: mf.Monitor) -> tuple[Any, ...]:
    """Return all that can be seen of a monitor; an edge without a direction has its lesser end first."""
    graph = monitor.snapshot()
    edges = graph.to_edges()
    labels = [0] * len(edges.src) if edges.labels is None else edges.labels.tolist()
    pairs = zip(edges.src.tolist(), edges.dst.tolist(), strict=True)
    ends = [pair if graph.directed else tuple(sorted(pair, key=repr)) for pair in pairs]
    rows = [(*pair, *more) for pair, *more in zip(ends, labels, edges.multiplicity.tolist(), strict=True)]
    numbering = monitor._numbering
    return (
        sorted(rows),
        numbering.ids.all().tolist(),
        list(numbering.edge_labels.values),
        numbering.edge_labels.kind_in_use,
        (monitor.num_vertices, monitor.num_edges),
        (monitor.updates_applied, monitor.batches_applied),
    )


def with_pipeline(value: str, **more: str) -> Any:
    """Return the tuning with the pipeline on or off."""
    return private_tuning({"pipeline": value, **more})
