"""``engine="streaming"`` above its kernel, which is in plain Python here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.gpu.streaming import engine as engine_module
from motiflux.gpu.streaming.engine import open_update_engine
from motiflux.stream.feed import feed as feed_module
from tests.plain_stream import PLACEMENT, PlainStream, plain_streams
from tests.waiting import wait_until

TRIANGLE = "(a)--(b)--(c)--(a)"
PATH = "(a)--(b)--(c)"


@pytest.fixture(autouse=True)
def opened() -> Iterator[list[PlainStream]]:
    with plain_streams() as streams:
        yield streams


def graph(**options: Any) -> mf.Graph:
    return mf.Graph.from_edges([(0, 1), (1, 2)], **options)


class TestChoice:
    """What it is given, and what it refuses."""

    def test_it_names_itself_in_results(self) -> None:
        monitor = mf.Monitor(graph(), TRIANGLE, **PLACEMENT)
        delta = monitor.apply([("+", 0, 2)])
        assert (delta.engine, delta.device, delta[0].positive) == ("streaming", "cuda", 6)
        assert "engine='streaming'" in delta.reason
        assert "1 updates submitted" in monitor.explain()

    def test_batch_mode_is_refused_with_the_engines_that_have_it(self, tmp_path: Path) -> None:
        expected = "mode: expected 'sequence' with engine='streaming', .*engine='changing' and engine='batch'"
        with pytest.raises(mf.ArgumentError, match=expected):
            mf.Monitor(graph(), TRIANGLE, mode="batch", **PLACEMENT)
        mf.Monitor(graph(), TRIANGLE, mode="batch").save(tmp_path / "monitor.mfg")
        with pytest.raises(mf.ArgumentError, match=expected):
            mf.Monitor.load(tmp_path / "monitor.mfg", **PLACEMENT)

    def test_several_devices_are_refused(self) -> None:
        with pytest.raises(mf.DeviceError, match=r"expected one device, .*found 2: cuda:0, cuda:1"):
            open_update_engine(("cuda:0", "cuda:1"))

    def test_the_cpu_is_refused(self) -> None:
        with pytest.raises(mf.DeviceError, match="engine='streaming' runs on a GPU"):
            mf.Monitor(graph(), TRIANGLE, device="cpu", engine="streaming")

    def test_attributes_of_edges_leave_it_to_the_cpu_and_say_so(self) -> None:
        with pytest.warns(mf.MotifluxWarning, match="a GPU was asked for by"):
            monitor = mf.Monitor(graph(), "(a)-[x WHERE x.amount > 1]-(b)", **PLACEMENT)
        assert monitor.engine == "cpu"
        assert "attributes are matched on the CPU" in monitor.reason


class TestChanges:
    """The kernel follows plans, lists and vertices."""

    def test_it_is_loaded_once_and_then_only_for_other_plans(self, opened: list[PlainStream]) -> None:
        monitor = mf.Monitor(graph(), TRIANGLE, **PLACEMENT)
        for edge in ((0, 2), (0, 3), (1, 3)):
            monitor.apply([("+", *edge)])
        assert opened[0].loads == 1
        monitor.add(PATH)
        assert [one.positive for one in monitor.apply([("+", 2, 3)])] == [12, 8]
        assert opened[0].loads == 2

    def test_new_vertices_get_rows(self, opened: list[PlainStream]) -> None:
        monitor = mf.Monitor(graph(), PATH, **PLACEMENT)
        monitor.apply([])
        assert opened[0].vertices == 3
        assert monitor.apply([("+", 2, 50), ("+", 50, 51)])[0].matches.tolist() == [2, 2]
        assert opened[0].vertices >= 5

    def test_new_vertices_may_have_ids_that_a_pattern_names(self, opened: list[PlainStream]) -> None:
        named = mf.Pattern.from_edges([(0, 1), (1, 2)], vertex_ids=[None, None, 9])
        monitor = mf.Monitor(graph(), named, **PLACEMENT)
        assert monitor.apply([("+", 2, 9)])[0].positive == 1
        assert monitor.apply([("+", 0, 2)])[0].positive == 1
        assert (opened[0].loads, opened[0].replaced) == (1, 1)

    def test_a_checkpoint_goes_on_elsewhere(self, tmp_path: Path) -> None:
        monitor = mf.Monitor(graph(), TRIANGLE, window=3, **PLACEMENT)
        monitor.apply([("+", 0, 2), ("+", 0, 3)])
        monitor.save(tmp_path / "monitor.mfg")
        again = mf.Monitor.load(tmp_path / "monitor.mfg", **PLACEMENT)
        rows = [("+", 2, 3), ("+", 5, 6), ("+", 6, 7)]
        expected, found = monitor.apply(rows)[0], again.apply(rows)[0]
        assert (found.positive, found.negative) == (expected.positive, expected.negative) == (6, 12)


class TestFeeds:
    """The kernel stays while updates come."""

    def test_it_stays_between_calls_of_a_feed_and_ends_with_it(self, opened: list[PlainStream]) -> None:
        monitor = mf.Monitor(graph(), TRIANGLE, **PLACEMENT)
        monitor.apply([("+", 0, 3)])
        assert not opened[0].is_running
        with monitor.feed() as feed:
            for number in range(4, 8):
                feed.write([("+", 0, number)])
                assert feed.take(10) is not None
                assert opened[0].is_running
        assert not opened[0].is_running
        assert opened[0].starts == 2

    def test_it_ends_for_a_pause_in_which_others_may_need_the_device(self, opened: list[PlainStream]) -> None:
        monitor = mf.Monitor(graph(), TRIANGLE, **PLACEMENT)
        with monitor.feed() as feed:
            feed.write([("+", 0, 2)])
            assert feed.take(10) is not None
            with feed.paused():
                assert not opened[0].is_running
                monitor.add(PATH)
            feed.write([("-", 0, 2)])
            answer = feed.take(10)
            assert answer is not None
            assert [one.negative for one in answer.delta] == [6, 4]

    def test_it_ends_when_no_updates_come(
        self, opened: list[PlainStream], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(feed_module, "_SECONDS_OF_REST", 0.001)
        monitor = mf.Monitor(graph(), TRIANGLE, **PLACEMENT)
        with monitor.feed() as feed:
            feed.write([("+", 0, 2)])
            assert feed.take(10) is not None
            wait_until(lambda: not opened[0].is_running, "the end of the kernel", seconds=10)
            feed.write([("-", 0, 2)])
            answer = feed.take(10)
            assert answer is not None
            assert answer.delta[0].negative == 6

    def test_it_ends_for_a_moment_now_and_then(
        self, opened: list[PlainStream], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(engine_module, "_SECONDS_OF_STAY", 0.0)
        monitor = mf.Monitor(graph(), TRIANGLE, **PLACEMENT)
        with monitor.feed() as feed:
            for number in range(3, 6):
                feed.write([("+", 0, number)])
                assert feed.take(10) is not None
        assert opened[0].starts == 3


class TestFaults:
    """A call that fails leaves the graph, and the next one loads it anew."""

    def test_an_error_of_the_device_undoes_the_call(self, opened: list[PlainStream]) -> None:
        monitor = mf.Monitor(graph(), TRIANGLE, **PLACEMENT)
        monitor.apply([("+", 0, 3)])
        opened[0].fails_in = 1
        with pytest.raises(OSError, match="the device is gone"):
            monitor.apply([("+", 0, 2), ("+", 1, 3), ("+", 2, 3)])
        assert monitor.num_edges == 3
        opened[0].fails_in = None
        assert monitor.apply([("+", 0, 2), ("+", 1, 3)])[0].matches.tolist() == [6, 6]
        assert opened[0].loads == 2

    def test_a_call_that_takes_too_long_stops_the_kernel(self, opened: list[PlainStream]) -> None:
        monitor = mf.Monitor(graph(), TRIANGLE, **PLACEMENT)
        rows = [("+", 0, number) for number in range(3, 2000)]
        assert not monitor.apply(rows, timeout=0).complete
        assert monitor.num_edges == 2
        assert monitor.apply([("+", 0, 2)])[0].positive == 6

    def test_closing_the_monitor_closes_the_kernel(self, opened: list[PlainStream]) -> None:
        with mf.Monitor(graph(), TRIANGLE, **PLACEMENT) as monitor:
            monitor.apply([("+", 0, 2)])
        assert opened[0].is_closed
        assert not opened[0].is_running

    def test_a_child_of_a_fork_refuses_calls(self) -> None:
        monitor = mf.Monitor(graph(), TRIANGLE, **PLACEMENT)
        monitor.apply([("+", 0, 2)])
        engine: Any = monitor._engine
        engine._process += 1
        with pytest.raises(mf.DeviceError, match="a child of a fork"):
            monitor.apply([("-", 0, 2)])


def test_results_come_in_any_order_and_in_pieces() -> None:
    """Counts of many updates at a hub; the stream gives five records at a time, the last ones first."""
    here, there = mf.Monitor(graph(), PATH), mf.Monitor(graph(), PATH, **PLACEMENT)
    rows = [("+", 0, number) for number in range(3, 40)]
    expected, found = here.apply(rows)[0], there.apply(rows)[0]
    assert np.array_equal(found.updates, expected.updates)
    assert np.array_equal(found.matches, expected.matches)
