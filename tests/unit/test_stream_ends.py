"""Runs whose time is up or whose limit is reached, and what they do while nothing comes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import motiflux as mf
from motiflux.stream import Batch, FoundMatches, Nowhere, Request, as_source
from motiflux.stream.run.loop import Run
from motiflux.stream.sources.reading import PipeReader
from motiflux.stream.sources.text import TextSource

FLIP = mf.Updates(
    [True, True, True], [1, 3, 2], [2, 4, 3], vertex_labels=mf.stream.VertexLabels([1, 1], [5, 6], [0, 1])
)
"""The second update comes with a label that vertex 1 cannot take."""


@pytest.mark.parametrize("on_time", [True, False])
def test_nothing_is_left_out_of_a_batch_that_time_cuts_short(
    on_time: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitor = mf.Monitor(mf.Graph.from_edges([]), "(a)--(b)")
    run = Run(monitor, as_source(FLIP), skips=True, timeout=600)
    refusal = mf.Monitor._refusal

    def slow(monitor: mf.Monitor, updates: mf.Updates) -> Any:
        found = refusal(monitor, updates)
        if not on_time:
            run._deadline = 0.0
        return found

    monkeypatch.setattr(mf.Monitor, "_refusal", slow)
    if on_time:
        with pytest.warns(mf.MotifluxWarning, match="label it has, 5, found 6"):
            totals = run.into(Nowhere())
        assert (totals.updates, totals.skipped, totals.complete, monitor.unapplied) == (2, 1, True, None)
        return
    totals = run.into(Nowhere())  # without a warning: nothing was left out
    assert (totals.updates, totals.skipped, totals.complete) == (0, 0, False)
    assert monitor.unapplied is not None
    assert (monitor.num_vertices, monitor.unapplied.sources.tolist()) == (0, [1, 3, 2])


class Dropping:
    """Rows, before the second of which the first pattern goes."""

    def __init__(self, monitor: mf.Monitor) -> None:
        self._monitor = monitor

    def batches(self, request: Request) -> Iterator[Batch]:
        rows = [("+", 0, at) for at in range(1, 9)]
        for number, batch in enumerate(as_source(rows).batches(request)):
            if number == 1:
                self._monitor.drop(0)
            yield batch


def test_the_limit_knows_patterns_by_number() -> None:
    found: list[FoundMatches] = []
    with mf.Monitor(mf.Graph.from_edges([]), ["(a)--(b)", "(a)--(b)--(c)"], matches=True) as monitor:
        totals = monitor.run(Dropping(monitor), found.append, batch_size=2, limit=11)
    # Four and two of the first batch; then five of those ten that the second would bring.
    assert [one.positive for one in totals.patterns] == [4, 7]
    assert [sum(len(one) for one in found if one.number == number) for number in (0, 1)] == [4, 7]
    assert totals.complete


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize("limit", [1, 4, 7, 20, 1000])
def test_a_limit_keeps_the_earliest_of_all_patterns(size: int, limit: int) -> None:
    rows = [("+", at, at + 1) for at in range(8)] + [("-", at, at + 1) for at in range(0, 8, 3)]
    patterns = ["(a)--(b)--(c)", "(a)--(b)", "(a)--(b)--(c)--(d)"]

    def played(limit: int | None, sink: Any) -> Any:
        with mf.Monitor(mf.Graph.from_edges([]), patterns, matches=True, window=6) as monitor:
            return monitor.run(rows, sink, batch_size=size, limit=limit)

    def numbered(found: list[FoundMatches]) -> list[tuple[int, int]]:
        return sorted((update, one.number) for one in found for update in one.updates.tolist())

    whole: list[FoundMatches] = []
    told: list[FoundMatches] = []
    played(None, whole.append)
    totals = [played(limit, sink) for sink in (told.append, Nowhere())]
    assert numbered(told) == numbered(whole)[:limit]
    by_pattern = [[(one.positive, one.negative) for one in each.patterns] for each in totals]
    assert by_pattern[0] == by_pattern[1]


class Ticking:
    """Ends a run when it is told that nothing comes after the updates."""

    def __init__(self) -> None:
        self.updates = 0
        self.ticks = 0

    def after(self, updates: int) -> None:
        self.updates += updates

    def idle(self) -> None:
        if self.updates:
            self.ticks += 1
            raise KeyboardInterrupt

    def end(self, *, failed: bool) -> None:
        assert not failed


@pytest.mark.parametrize("form", ["file", "pipe", "pipe, later"])
def test_the_saver_is_asked_while_nothing_comes(tmp_path: Path, form: str) -> None:
    text = b"e 1 2\ne 2 3\n"
    saver = Ticking()
    monitor = mf.Monitor(mf.Graph.from_edges([]), "(a)--(b)")
    if form == "file":
        (tmp_path / "a.stream").write_bytes(text)
        source: Any = mf.open_source(tmp_path / "a.stream", follow=True)
        totals = Run(monitor, source, saver=saver, timeout=600).into(Nowhere())
    else:
        start = mf.stream.Position(1, 6) if form == "pipe, later" else mf.stream.Position()
        reading, writing = os.pipe()
        with os.fdopen(reading, "rb") as stream, os.fdopen(writing, "wb", buffering=0) as file:
            file.write(text)
            source = TextSource(PipeReader(stream, "a pipe"), ".stream", start=start)
            totals = Run(monitor, source, saver=saver, timeout=600).into(Nowhere())
    assert (totals.updates, saver.ticks, totals.complete) == (1 if form == "pipe, later" else 2, 1, False)
