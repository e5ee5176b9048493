"""Runs whose batches overlap, beside runs whose batches follow one another, over drawn streams."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import TUNING
from motiflux.device import devices_like
from motiflux.errors import InternalError, OutputError
from motiflux.stream import FileSink, Nowhere
from motiflux.stream.matching.changing import Changing
from tests.overlaps import all_read_before, lines_of, outcome, overlapping, state, with_pipeline
from tests.property.test_monitor_engines import streams
from tests.stream_engines import PLACEMENT, PlainEngine, registered
from tests.update_streams import Stream

FAULTS: dict[str, tuple[type, str, Exception]] = {
    "device": (PlainEngine, "match", OSError("the device is gone")),
    "sink": (FileSink, "flush", OutputError("the disk is full")),
    "preparing": (Changing, "_prepare", TypeError("while it is prepared")),
    "before final": (Changing, "_settle", MemoryError()),
    "after final": (Changing, "_settle", MemoryError()),
    "rows": (Changing, "_rows_lost", InternalError("the batch was taken back")),
}
"""What fails: a method, and its error."""


@pytest.mark.turns(8)
@settings(deadline=None)
@given(
    stream=streams(),
    size=st.sampled_from((1, 7, 40)),
    listed=st.booleans(),
    mode=st.sampled_from(("batch", "batch", "sequence")),
    threads=st.sampled_from((1, 2, 5)),
    more=st.sampled_from((0, 3)),
    waits=st.booleans(),
)
def test_batches_that_overlap_give_the_same(
    stream: Stream, size: int, mode: str, threads: int, more: int, *, listed: bool, waits: bool
) -> None:
    options: dict[str, Any] = {"mode": mode, "threads": threads, "matches": listed, "size": size}
    with registered():
        found = [
            outcomes(stream, more, value, waits=waits, **options, **PLACEMENT) for value in ("on", "off")
        ]
    assert found[0] == found[1]


@pytest.mark.turns(8, "cpu", "emulated")
@pytest.mark.devices("emulated", "cuda", reason="its monitor has no engine on a device")
@pytest.mark.parametrize("container", ["slack", "gpma"])
@pytest.mark.parametrize("devices", [None, 2])
@settings(deadline=None)
@given(
    stream=streams(),
    size=st.sampled_from((7, 40)),
    listed=st.booleans(),
    filters=st.sampled_from(("mask", "mask", "nlf")),
)
def test_batches_that_overlap_on_a_device_give_the_same(
    device: str, container: str, devices: int | None, stream: Stream, size: int, filters: str, *, listed: bool
) -> None:
    if devices is not None and len(devices_like(device)) < devices:
        pytest.skip(f"needs two devices of kind {device!r}, found one")
    options: dict[str, Any] = {"mode": "batch", "matches": listed, "device": device, "size": size}
    options["devices"] = devices
    switches = {"container": container, "filter": filters}
    found = [outcomes(stream, 3, value, waits=True, switches=switches, **options) for value in ("on", "off")]
    for one in found:
        one[-1].sort()  # the order of the matches of one update is free
    assert found[0] == found[1]


@pytest.mark.devices("emulated", "cuda", reason="its monitor has no engine on a device")
@settings(deadline=None)
@given(
    stream=streams(),
    more=st.sampled_from((0, 3)),
    size=st.sampled_from((3, 11)),
    listed=st.booleans(),
    waits=st.booleans(),
    cache=st.sampled_from(TUNING["cache"].values),
    room=st.sampled_from((0, 1000, 1 << 16)),
)
def test_batches_that_overlap_with_rows_on_the_host_give_those_of_the_cpu(
    device: str, stream: Stream, more: int, size: int, cache: str, room: int, *, listed: bool, waits: bool
) -> None:
    options: dict[str, Any] = {"size": size, "matches": listed, "mode": "batch"}
    there = {"device": device, "engine": "outofcore", "switches": {"cache": cache}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("motiflux.gpu.outofcore.cache.RowCache._most", lambda one: room)
        expected = outcomes(stream, more, "off", waits=False, device="cpu", **options)
        found = outcomes(stream, more, "on", waits=waits, **there, **options)
    for one in (expected, found):
        one[-1].sort()  # the order of the matches of one update is free
    assert found == expected


@settings(deadline=None)
@given(
    stream=streams(),
    size=st.sampled_from((3, 7, 20)),
    listed=st.booleans(),
    fault=st.sampled_from(sorted(FAULTS)),
    at=st.integers(0, 4),
    more=st.sampled_from((0, 3)),
)
def test_batches_that_overlap_and_fail_leave_whole_batches(
    stream: Stream, size: int, fault: str, at: int, more: int, *, listed: bool
) -> None:
    of, name, error = FAULTS[fault]
    method, called = getattr(of, name), 0

    def fails(*given: Any, **options: Any) -> Any:
        nonlocal called
        called += 1
        if called == at + 1 and fault == "before final":
            raise error
        found = method(*given, **options)
        if called == at + 1 and fault == "rows":
            return "no memory"
        if called == at + 1:
            raise error
        return found

    lines = lines_of(stream, more=more)
    options: dict[str, Any] = {**stream.options(), "duplicates": stream.duplicates, "matches": listed}
    options |= {"mode": "batch", **PLACEMENT}
    with tempfile.TemporaryDirectory() as folder, overlapping(), registered():
        source, output, expected = (Path(folder, name) for name in ("updates.stream", "on.csv", "off.csv"))
        source.write_text("".join(lines))
        graph = stream.graph(stream.first)
        with mf.Monitor(graph, stream.patterns, tuning=with_pipeline("on"), **options) as monitor:
            before = [monitor.count(pattern) for pattern in monitor.patterns]
            with pytest.MonkeyPatch.context() as patch, all_read_before():
                patch.setattr(of, name, fails)
                try:
                    monitor.run(source, output if listed else Nowhere(), batch_size=size)
                except type(error):
                    assert called > at
            done = monitor.source_position.line if monitor.source_position else 0
            source.write_text("".join(lines[:done]))
            with mf.Monitor(graph, stream.patterns, tuning=with_pipeline("off"), **options) as other:
                totals = other.run(source, expected if listed else Nowhere(), batch_size=size)
                assert state(monitor) == state(other)
            if listed:
                rows = [
                    path.read_text().splitlines()[1:] if path.exists() else [] for path in (output, expected)
                ]
                assert rows[0] == rows[1]
            for pattern, first, total in zip(monitor.patterns, before, totals.patterns, strict=True):
                assert int(monitor.count(pattern)) == int(first) + total.positive - total.negative


def outcomes(
    stream: Stream,
    more: int,
    pipeline: str,
    *,
    waits: bool,
    size: int,
    matches: bool,
    switches: dict[str, str] | None = None,
    **options: Any,
) -> list[Any]:
    """Return what a run of a stream came to; the rows are last."""
    tuning = with_pipeline(pipeline, **(switches or {}))
    options |= {**stream.options(), "duplicates": stream.duplicates, "matches": matches, "tuning": tuning}
    with tempfile.TemporaryDirectory() as folder, overlapping():
        source, output = Path(folder, "updates.stream"), Path(folder, "matches.csv")
        source.write_text("".join(lines_of(stream, more=more)))
        output.touch()
        sink: Any = output if matches else Nowhere()
        with mf.Monitor(stream.graph(stream.first), stream.patterns, **options) as monitor:
            if waits and pipeline == "on":
                with all_read_before():
                    totals = monitor.run(source, sink, batch_size=size)
            else:
                totals = monitor.run(source, sink, batch_size=size)
            return list(outcome(monitor, totals, output))
