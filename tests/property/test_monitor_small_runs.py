"""Calls for which a device lacks memory are matched in smaller runs, with the same answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.device import devices_like
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.changing.engine import ChangingEngine
from motiflux.gpu.changing.memory import Room
from motiflux.stream import Nowhere
from motiflux.stream.matching import run_limit
from tests.overlaps import overlapping, with_pipeline
from tests.property.test_monitor_engines import compare, streams, told
from tests.property.test_monitor_overlap import outcomes
from tests.update_streams import Stream

pytestmark = pytest.mark.devices("emulated", "cuda", reason="runs are matched on a device")

SWITCHES: tuple[dict[str, str], ...] = (
    {},
    {"container": "gpma"},
    {"filter": "nlf"},
    {"filter": "nlf", "encode": "device"},
    {"pooling": "on"},
)
TRIANGLE = "(a)--(b)--(c)--(a)"


@contextmanager
def memory_for(updates: int, sizes: list[int] | None = None) -> Iterator[None]:
    """Have a device lack memory for runs of more updates; note the sizes of those that it matches."""
    match = ChangingEngine.match

    def limited(self: ChangingEngine, run: Any, *args: Any, **more: Any) -> Any:
        if run.updates > updates:
            raise DeviceMemoryError("a test", 2, 1, "wait")
        if sizes is not None:
            sizes.append(run.updates)
        return match(self, run, *args, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ChangingEngine, "match", limited)
        patch.setattr(run_limit, "_LEAST_RUN", 1)
        patch.setattr(run_limit, "_SMALLER", 2)
        yield


@pytest.mark.turns(8, "emulated")
@settings(deadline=None)
@given(
    stream=streams(),
    mode=st.sampled_from(("batch", "batch", "sequence")),
    updates=st.sampled_from((1, 3, 20)),
    listed=st.booleans(),
    switches=st.sampled_from(SWITCHES),
    data=st.data(),
)
def test_runs_of_any_size_give_the_matches_of_the_cpu(
    device: str,
    stream: Stream,
    mode: str,
    updates: int,
    switches: dict[str, str],
    *,
    listed: bool,
    data: Any,
) -> None:
    options: dict[str, Any] = {**stream.options(), "mode": mode, "duplicates": stream.duplicates}
    options["tuning"] = private_tuning(switches)
    with memory_for(updates):
        compare(stream, {**options, "matches": listed}, {"device": device}, 60, data)


def drawn(seed: int, size: int) -> mf.Updates:
    draw = np.random.default_rng(seed)
    ends = draw.integers(0, 60, (2, size))
    ends = ends[:, ends[0] != ends[1]]
    return mf.Updates(draw.random(ends.shape[1]) < 0.7, *ends)


def both(device: str, **options: Any) -> tuple[mf.Monitor, mf.Monitor]:
    graph = mf.Graph.from_edges([(u, u + 1) for u in range(59)])
    there = mf.Monitor(graph, TRIANGLE, device=device, **options)
    options.pop("devices", None)
    return mf.Monitor(graph, TRIANGLE, **options), there


def alike(here: mf.Monitor, there: mf.Monitor, updates: mf.Updates) -> bool:
    one, other = here.apply(updates), there.apply(updates)
    numbers = [(delta[0].positive, delta[0].negative) for delta in (one, other)]
    return numbers[0] == numbers[1] and list(map(told, one)) == list(map(told, other))


@pytest.mark.parametrize("mode", ["sequence", "batch"])
@pytest.mark.parametrize("matches", [False, True])
def test_a_call_larger_than_memory_is_matched_in_parts(device: str, mode: str, *, matches: bool) -> None:
    here, there = both(device, mode=mode, matches=matches)
    sizes: list[int] = []
    with memory_for(100, sizes):
        for seed in (1, 2):
            assert alike(here, there, drawn(seed, 400))
    assert max(sizes) <= 100
    assert len(sizes) > 4  # the second call begins with parts
    assert here.num_edges == there.num_edges


def test_longer_runs_are_tried_again_after_a_while(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_limit, "_FIRST_WAIT", 2)
    here, there = both(device, mode="batch")
    with memory_for(100):
        assert alike(here, there, drawn(1, 400))
    longest = []
    for seed in range(2, 9):
        sizes: list[int] = []
        with memory_for(1000, sizes):
            assert alike(here, there, drawn(seed, 400))
        longest.append(max(sizes))
    assert max(longest[:2]) <= 100
    assert longest[-1] > 100


def test_several_devices_match_a_call_in_parts(device: str) -> None:
    if len(devices_like(device)) < 2:
        pytest.skip(f"needs two devices of kind {device!r}, found one")
    here, there = both(device, mode="batch", devices=2)
    sizes: list[int] = []
    with memory_for(100, sizes):
        assert alike(here, there, drawn(1, 400))
    assert 0 < max(sizes) <= 100


def test_memory_that_an_upload_lacks_makes_runs_smaller(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_limit, "_LEAST_RUN", 1)
    new = Room._new
    refused: list[int] = []

    def refuses(room: Room, nbytes: int, **more: Any) -> Any:
        if room._what == "a run of updates" and nbytes > 8192:
            refused.append(nbytes)
            raise DeviceMemoryError("a test", nbytes, 8192, "wait")
        return new(room, nbytes, **more)

    monkeypatch.setattr(Room, "_new", refuses)
    here, there = both(device, mode="batch")
    for seed in (1, 2):
        assert alike(here, there, drawn(seed, 400))
    assert refused


@contextmanager
def memory_that_shrinks(first: int, later: int, runs: int) -> Iterator[list[int]]:
    """Have a device lack memory for runs of more updates than `later` once it has matched so many runs."""
    match, sizes = ChangingEngine.match, list[int]()

    def limited(self: ChangingEngine, run: Any, *args: Any, **more: Any) -> Any:
        if run.updates > (first if len(sizes) < runs else later):
            raise DeviceMemoryError("a test", 2, 1, "wait")
        found = match(self, run, *args, **more)
        sizes.append(run.updates)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ChangingEngine, "match", limited)
        patch.setattr(run_limit, "_LEAST_RUN", 1)
        patch.setattr(run_limit, "_SMALLER", 2)
        yield sizes


@pytest.mark.parametrize("pipeline", ["on", "off"])
@pytest.mark.parametrize("matches", [False, True])
@pytest.mark.parametrize("runs", [1, 4])
def test_parts_of_a_batch_of_a_file_become_smaller_again(
    device: str, tmp_path: Path, pipeline: str, runs: int, *, matches: bool
) -> None:
    updates = drawn(1, 400)
    ends = zip(updates.inserts.tolist(), updates.sources.tolist(), updates.targets.tolist(), strict=True)
    source = tmp_path / "updates.stream"
    source.write_text("".join(f"{'e' if comes else '-e'} {u} {v}\n" for comes, u, v in ends))
    found: list[Any] = []
    with overlapping(), memory_that_shrinks(100, 20, runs) as sizes:
        for number, monitor in enumerate(
            both(device, mode="batch", matches=matches, tuning=with_pipeline(pipeline))
        ):
            output = tmp_path / f"{number}.csv"
            totals = monitor.run(source, output if matches else Nowhere(), batch_size=200)
            rows = sorted(output.read_text().splitlines()) if matches else []
            found.append((totals.complete, [(of.positive, of.negative) for of in totals.patterns], rows))
    assert found[0] == found[1]
    assert found[0][0]
    assert len(sizes) > runs
    assert max(sizes[runs:]) <= 20 < sizes[runs - 1]


def test_edges_that_leave_a_window_are_matched_in_parts(device: str) -> None:
    here, there = both(device, mode="batch", window="10s")
    updates = drawn(1, 400)
    inserted = np.stack([updates.sources, updates.targets], axis=1)
    sizes: list[int] = []
    for monitor in (here, there):
        monitor.apply(inserts=inserted, times=1)
    with memory_for(100, sizes):
        expected, found = (monitor.advance(20) for monitor in (here, there))
    assert found[0].negative == expected[0].negative > 0
    assert found.expired == expected.expired == len(inserted)
    assert len(sizes) > 1
    assert max(sizes) <= 100


def test_runs_that_are_small_already_raise_the_error_and_leave_the_graph(device: str) -> None:
    here, there = both(device, mode="batch")
    with memory_for(0), pytest.raises(DeviceMemoryError):
        there.apply(drawn(1, 400))
    assert there.num_edges == here.num_edges
    sizes: list[int] = []
    with memory_for(1000, sizes):
        assert alike(here, there, drawn(2, 400))
    assert len(sizes) == 1  # smaller runs were of no use


@pytest.mark.turns(8, "emulated")
@settings(deadline=None)
@given(
    stream=streams(),
    updates=st.sampled_from((2, 9)),
    runs=st.sampled_from((None, 1, 2, 5)),
    size=st.sampled_from((7, 40)),
    listed=st.booleans(),
    waits=st.booleans(),
)
def test_batches_that_overlap_are_matched_in_parts_too(
    device: str, stream: Stream, updates: int, runs: int | None, size: int, *, listed: bool, waits: bool
) -> None:
    options: dict[str, Any] = {"mode": "batch", "matches": listed, "device": device, "size": size}
    expected = outcomes(stream, 3, "off", waits=True, **options)
    with memory_for(updates) if runs is None else memory_that_shrinks(9, 2, runs):
        found = outcomes(stream, 3, "on", waits=waits, **options)
    for one in (expected, found):
        one[-1].sort()  # the order of the matches of one update is free
    assert found == expected
