"""Monitors with ``engine="streaming"`` on the device under test, beside the CPU's."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

import motiflux as mf
from motiflux.gpu.streaming.engine import StreamingEngine
from tests.device.small_streams import small_streams
from tests.property.test_feeds import check as check_feed
from tests.property.test_feeds import written
from tests.property.test_monitor import MonitorMachine
from tests.property.test_monitor_engines import compare, streams, told
from tests.update_streams import Stream

pytestmark = pytest.mark.devices("emulated", "cuda", reason="other tests are about the CPU's monitor")

TRIANGLE = "(a)--(b)--(c)--(a)"


@pytest.fixture(autouse=True)
def small_kernels() -> Iterator[None]:
    with small_streams():
        yield


def placement(device: str) -> dict[str, Any]:
    return {"device": device, "engine": "streaming"}


@pytest.mark.turns(8, "emulated")
@settings(deadline=None, max_examples=20)
@given(stream=streams(), size=st.sampled_from((1, 7, 150)), listed=st.booleans(), data=st.data())
def test_each_update_is_answered_as_on_the_cpu(
    device: str, stream: Stream, size: int, *, listed: bool, data: Any
) -> None:
    options: dict[str, Any] = {**stream.options(), "mode": "sequence", "duplicates": stream.duplicates}
    options["matches"] = listed
    tuning = {"stream_updaters": data.draw(st.sampled_from(("1", "2", "4", "8", "16")))}
    tuning["stream_batches"] = data.draw(st.sampled_from(("flush", "paper")))
    options["tuning"] = {**(options.get("tuning") or {}), **tuning}
    compare(stream, options, placement(device), size, data)


@pytest.mark.turns(8, "emulated")
def test_monitors_agree_with_recounting(device: str) -> None:
    class Machine(MonitorMachine):
        modes = ("sequence",)

    Machine.placement = placement(device)
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Machine, settings=settings(stateful_step_count=8, max_examples=15, deadline=None)
    )


def test_calls_patterns_and_a_checkpoint_follow_each_other(device: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    ends = rng.integers(0, 12, (2, 40))
    graph = mf.Graph.from_edges(tuple(ends[:, ends[0] != ends[1]]), num_vertices=12)
    here, there = (mf.Monitor(graph, TRIANGLE, **one) for one in ({"device": "cpu"}, placement(device)))
    for step in range(4):
        rows = [("+" if rng.random() < 0.6 else "-", *map(int, rng.choice(12, 2, False))) for _ in range(12)]
        if step == 1:
            for monitor in (here, there):
                monitor.add("(a)--(b)--(c)")
        if step == 2:
            there.save(tmp_path / "monitor.mfg")
            there.close()
            there = mf.Monitor.load(tmp_path / "monitor.mfg", **placement(device))
        assert list(map(told, here.apply(rows))) == list(map(told, there.apply(rows)))
    there.close()


def test_labels_that_come_later_are_in_rows(device: str) -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2)], edge_labels=[5, 5])
    here, there = (
        mf.Monitor(graph, "(a)--(b)--(c)", **one) for one in ({"device": "cpu"}, placement(device))
    )
    rows = [("+", 0, 1, 6), ("+", 2, 3, 6), ("-", 0, 1, 5), ("+", 2, 3, 5), ("+", 3, 4, 7), ("+", 4, 5, 7)]
    with there:
        assert list(map(told, here.apply(rows))) == list(map(told, there.apply(rows)))


@pytest.mark.turns(8, "emulated")
@settings(deadline=None, max_examples=15)
@given(stream=streams(), most=st.sampled_from((1, 40)), seed=st.integers(0, 1 << 20), listed=st.booleans())
def test_a_feed_gives_what_calls_of_the_cpu_give(
    device: str, stream: Stream, most: int, seed: int, *, listed: bool
) -> None:
    options: dict[str, Any] = {**stream.options(), "mode": "sequence", "duplicates": stream.duplicates}
    options["matches"] = listed
    check_feed(stream, written(stream, 7, seed), most, options, placement(device))


def test_a_feed_is_answered_in_order(device: str) -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2)])
    rows = [("+", 0, number) for number in range(2, 20)] + [("-", 0, 1)]
    expected = mf.Monitor(graph, TRIANGLE).apply([*rows, ("+", 0, 1)])
    monitor = mf.Monitor(graph, TRIANGLE, **placement(device))
    found = []
    with monitor, monitor.feed() as feed:
        for row in (*rows, ("+", 0, 1)):
            feed.write([row])
        taken = 0
        while taken < len(rows) + 1:
            answer = feed.take(60)
            assert answer is not None
            taken += answer.updates
            changes = answer.delta[0]
            found += zip(
                (changes.updates + np.uint64(answer.first)).tolist(), changes.matches.tolist(), strict=True
            )
    assert found == list(zip(expected[0].updates.tolist(), expected[0].matches.tolist(), strict=True))


def test_a_feed_needs_python_for_few_of_its_updates(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    match = StreamingEngine.match

    def counted(engine: StreamingEngine, *given: Any) -> Any:
        calls.append(engine)
        return match(engine, *given)

    monkeypatch.setattr(StreamingEngine, "match", counted)
    random = np.random.default_rng(3)
    edges = random.integers(0, 12, (60, 2))
    rows = [("+" if random.random() < 0.7 else "-", *edge) for edge in edges.tolist()]
    graph = mf.Graph.from_edges([(0, 1), (1, 2)])
    with (
        mf.Monitor(graph, [TRIANGLE, "(a)--(b)"], matches=True, device="cpu") as plain,
        mf.Monitor(graph, [TRIANGLE, "(a)--(b)"], matches=True, **placement(device)) as monitor,
        monitor.feed(most=1) as feed,
    ):
        for row in rows:
            feed.write([row])
        for row in rows:
            answer = feed.take(60)
            assert answer is not None
            assert list(map(told, answer.delta)) == list(map(told, plain.apply([row])))
    # The kernel starts anew each second, new vertices have new rows, and the emulator may be slow.
    assert len(calls) < len(rows)


def test_any_thread_closes_a_monitor(device: str) -> None:
    monitor = mf.Monitor(mf.Graph.from_edges([(0, 1), (1, 2)]), TRIANGLE, **placement(device))
    assert monitor.apply([("+", 0, 2)])[0].positive == 6
    with ThreadPoolExecutor(1) as pool:
        pool.submit(monitor.close).result()


def test_a_call_that_is_undone_leaves_a_monitor_that_goes_on(device: str) -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2)])
    with mf.Monitor(graph, TRIANGLE, **placement(device)) as monitor:
        assert monitor.apply([("+", 0, 2)])[0].positive == 6
        assert not monitor.apply([("+", 0, number) for number in range(3, 300)], timeout=0).complete
        assert monitor.apply([("-", 0, 2)])[0].negative == 6


def test_a_hub_that_memory_does_not_suffice_for_is_an_error_that_leaves_the_graph(device: str) -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2)])
    with small_streams(versions=64 * 120), mf.Monitor(graph, TRIANGLE, **placement(device)) as monitor:
        assert monitor.apply([("+", 0, 2)])[0].positive == 6
        with pytest.raises(mf.DeviceMemoryError, match="versions"):
            monitor.apply([("+", 0, number) for number in range(3, 1200)])
        assert monitor.num_edges == 3
        assert monitor.apply([("-", 0, 2)])[0].negative == 6
        feed = monitor.feed(most=200)
        for first in range(3, 1203, 200):
            feed.write([("+", 0, number) for number in range(first, first + 200)])
        with pytest.raises(mf.DeviceMemoryError, match="versions"):
            feed.finish(60)
        feed.close()
        assert monitor.unapplied is not None
        assert monitor.num_edges + len(monitor.unapplied) == 2 + 1200
