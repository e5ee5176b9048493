"""Trawling on threads of this machine while a device draws the samples."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.cpu.trawling import CHUNK, Trawl
from motiflux.engine import trawler
from motiflux.engine.device_sampler import DeviceSampler, Drawing
from motiflux.errors import DeviceError
from tests.unit.sampling_cases import random_graph
from tests.unit.test_trawling import CUBIC, LARGE, LONG, MOST, cycle, distance

pytestmark = pytest.mark.devices("emulated", "cuda", reason="the samples are drawn on a device")

ON = {"trawling": "on", "trawl_whole": "off"}
CLOCK = {**ON, "trawl_budget": "clock"}
ENDLESS = {**CLOCK, "trawl_nodes": "1048576", "trawl_samples": "4096"}
SECONDS = 20.0
"""What never takes as long, but where a test fails."""


def trawling_threads() -> list[str]:
    names = [thread.name for thread in threading.enumerate()]
    return [name for name in names if name.startswith(("motiflux trawl", "motiflux count"))]


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    yield
    assert trawling_threads() == []


def numbers(found: mf.Estimate) -> tuple[Any, ...]:
    return (
        found.value,
        found.low,
        found.high,
        found.samples,
        found.valid_samples,
        found.sampled,
        found.trawled,
        found.complete,
        found.warning,
    )


class TestNumbers:
    """With a budget of nodes all of them are those of the CPU's sampler, to the last bit."""

    @pytest.mark.parametrize(
        ("estimator", "batches"),
        [("auto", "6"), ("wanderjoin", "6"), ("tree", "6"), ("alley", "1"), ("alley", "2"), ("alley", "16")],
    )
    def test_of_so_many_samples(self, estimator: str, batches: str, device: str) -> None:
        tuning = {**ON, "trawl_batches": batches}
        given: dict[str, Any] = {"samples": 4000, "estimator": estimator, "seed": 4, "tuning": tuning}
        ours, theirs = (mf.estimate(CUBIC, LONG, device=one, **given) for one in (device, "cpu"))
        assert numbers(ours) == numbers(theirs)
        assert ours.trawled is not None
        assert ours.trawled.searched > 0
        assert (ours.device, theirs.device) == (device, "cpu")

    @pytest.mark.parametrize("threads", [1, 3])
    def test_of_a_relative_error(self, threads: int, device: str) -> None:
        given: dict[str, Any] = {"rel_error": 0.3, "samples": 40_000, "estimator": "alley", "tuning": ON}
        graph, pattern = random_graph(5, 40, 90), mf.Pattern.parse("(a)--(b)--(c)--(d)--(a), (d)--(e)")
        ours = mf.estimate(graph, pattern, device=device, threads=threads, **given)
        theirs = mf.estimate(graph, pattern, device="cpu", threads=1, **given)
        assert numbers(ours) == numbers(theirs)

    @pytest.mark.parametrize("case", LARGE[::3], ids=str)
    def test_of_many_patterns(self, case: Any, device: str) -> None:
        given: dict[str, Any] = {"samples": 2000, "semantics": case.semantics, "tuning": ON, "seed": 9}
        ours, theirs = (mf.estimate(case.graph, case.pattern, device=one, **given) for one in (device, "cpu"))
        assert numbers(ours) == numbers(theirs)

    def test_where_trawling_is_up_to_the_pilot(self, device: str) -> None:
        given: dict[str, Any] = {"samples": 3000, "estimator": "wanderjoin", "seed": 2}
        ours, theirs = (mf.estimate(CUBIC, LONG, device=one, **given) for one in (device, "cpu"))
        assert numbers(ours) == numbers(theirs)
        assert ours.trawled is not None

    @pytest.mark.parametrize("every", [1, 40])
    def test_where_all_is_counted_or_too_much(self, every: int, device: str) -> None:
        """The count goes on beside the device, and before the CPU's samples."""
        labels = [0 if v % every else 1 for v in range(5000)]
        rows = CUBIC.to_edges()
        graph = mf.Graph.from_edges((rows.src, rows.dst), vertex_labels=labels)
        pattern = mf.Pattern.from_edges(
            [(v, (v + 1) % 12) for v in range(12)], vertex_labels=[1, *[None] * 5, 1, *[None] * 5]
        )
        given: dict[str, Any] = {"samples": 6000, "estimator": "alley", "tuning": {"trawling": "on"}}
        ours, theirs = (mf.estimate(graph, pattern, device=one, **given) for one in (device, "cpu"))
        assert numbers(ours) == numbers(theirs)
        assert ours.estimator == theirs.estimator == ("alley" if every == 1 else "exact")

    def test_where_nothing_is_found_before_all_is_counted(
        self, device: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = Trawl.count_all

        def slowly(trawl: Trawl, *given: Any) -> int | None:
            time.sleep(0.5)
            return real(trawl, *given)

        monkeypatch.setattr(Trawl, "count_all", slowly)
        ring = mf.Graph.from_edges([(v, (v + 1) % 6) for v in range(6)])
        given: dict[str, Any] = {"samples": 20_000, "estimator": "tree", "tuning": {"trawling": "on"}}
        ours, theirs = (mf.estimate(ring, cycle(5), device=one, **given) for one in (device, "cpu"))
        assert numbers(ours) == numbers(theirs)
        assert ours.estimator == theirs.estimator == "exact"


class TestByTheClock:
    @pytest.fixture(autouse=True)
    def _handed_over(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have the first search begin before the samples do, however busy the machine is."""
        monkeypatch.setattr(trawler, "_HANDED_OVER", SECONDS)

    @pytest.mark.parametrize("case", LARGE[1::6], ids=str)
    def test_it_is_fair(self, case: Any, device: str) -> None:
        tuning = {**CLOCK, "trawl_nodes": "64"}
        given: dict[str, Any] = {"samples": 256, "semantics": case.semantics, "tuning": tuning}
        values = [
            mf.estimate(case.graph, case.pattern, device=device, seed=seed, **given).value
            for seed in range(40)
        ]
        assert distance(np.array(values), case.count()) < MOST

    def test_the_end_of_a_batch_ends_its_searches(self, device: str) -> None:
        tuning = {**ENDLESS, "trawl_batches": "2"}
        found = mf.estimate(CUBIC, cycle(24), samples=20_000, estimator="alley", device=device, tuning=tuning)
        assert found.complete
        assert found.trawled is not None
        assert found.trawled.searched < found.trawled.slots

    def test_all_is_counted_beside_the_samples(self, device: str) -> None:
        labels = [0 if v % 40 else 1 for v in range(5000)]
        rows = CUBIC.to_edges()
        graph = mf.Graph.from_edges((rows.src, rows.dst), vertex_labels=labels)
        kinds = [1, *[None] * 5, 1, *[None] * 5]
        pattern = mf.Pattern.from_edges([(v, (v + 1) % 12) for v in range(12)], vertex_labels=kinds)
        tuning = {"trawling": "on", "trawl_budget": "clock"}
        found = mf.estimate(graph, pattern, samples=10**9, timeout=SECONDS, device=device, tuning=tuning)
        assert (found.estimator, found.value) == ("exact", int(mf.count(graph, pattern)))
        assert found.low == found.high == found.value

    def test_a_count_that_takes_too_much_work_leaves_the_estimate(self, device: str) -> None:
        tuning = {"trawling": "on", "trawl_budget": "clock"}
        found = mf.estimate(CUBIC, LONG, samples=2000, estimator="alley", device=device, tuning=tuning)
        assert found.estimator == "alley"
        assert found.samples == 2016

    def test_there_may_be_no_time_for_any_slot(self, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
        ended = threading.Event()
        real = Trawl.run

        def run(self: Trawl, *given: Any, **more: Any) -> Any:
            assert ended.wait(SECONDS)
            return real(self, *given, **more)

        drawn = DeviceSampler.draw

        def draw(self: DeviceSampler, estimator: Any, seed: int, first: int, count: int, *more: Any) -> Any:
            groups = drawn(self, estimator, seed, first, count, *more)
            if first + count == 63:  # the last of them
                ended.set()
            return groups

        monkeypatch.setattr(Trawl, "run", run)
        monkeypatch.setattr(DeviceSampler, "draw", draw)
        monkeypatch.setattr(DeviceSampler, "least_piece", 8)
        given: dict[str, Any] = {"samples": 2016, "estimator": "alley", "tuning": CLOCK}
        found = mf.estimate(CUBIC, LONG, device=device, **given)
        assert found.trawled is not None
        assert found.trawled.slots < 6 * CHUNK
        assert found.samples == 2016


class TestAtTheSameTime:
    def test_slots_are_searched_while_the_device_draws(
        self, device: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The drawing is not done before a search has begun, nor that search before the drawing is asked."""
        searching, asked = threading.Event(), threading.Event()
        real = Trawl.run
        done = Drawing.done

        def run(self: Trawl, *given: Any, **more: Any) -> Any:
            searching.set()
            assert asked.wait(SECONDS)
            return real(self, *given, **more)

        def is_done(self: Drawing) -> bool:
            if self.count <= 64:  # of the pilot, not of the estimate
                return done(self)
            asked.set()
            return searching.is_set() and done(self)

        monkeypatch.setattr(Trawl, "run", run)
        monkeypatch.setattr(Drawing, "done", is_done)
        given: dict[str, Any] = {"samples": 20_000, "estimator": "alley", "tuning": ON, "timeout": SECONDS}
        found = mf.estimate(CUBIC, LONG, device=device, **given)
        assert found.complete
        assert searching.is_set()
        assert found.trawled is not None


class TestEnds:
    @pytest.fixture(autouse=True)
    def _small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(DeviceSampler, "least_piece", 64)

    def test_an_interrupt_ends_both(self, device: str) -> None:
        given: dict[str, Any] = {"samples": 10**10, "estimator": "alley", "device": device}

        def press() -> None:
            while not trawling_threads():
                time.sleep(1e-3)
            signal.raise_signal(signal.SIGINT)

        presser = threading.Thread(target=press)
        presser.start()
        with pytest.raises(KeyboardInterrupt):
            mf.estimate(CUBIC, cycle(24), tuning=ENDLESS, timeout=SECONDS, **given)
        presser.join()
        assert trawling_threads() == []
        again = [mf.estimate(CUBIC, LONG, samples=64, device=one, seed=5).value for one in (device, "cpu")]
        assert again[0] == again[1]

    def test_what_goes_wrong_with_the_device_ends_the_trawl(
        self, device: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = DeviceSampler.finish

        def fail(self: DeviceSampler, drawing: Drawing, deadline: float | None = None) -> Any:
            found = real(self, drawing, deadline)
            if trawling_threads():
                raise DeviceError("it went away")
            return found

        monkeypatch.setattr(DeviceSampler, "finish", fail)
        with pytest.raises(DeviceError, match="went away"):
            mf.estimate(CUBIC, cycle(24), samples=10**9, estimator="alley", device=device, tuning=ENDLESS)
        assert trawling_threads() == []

    @pytest.mark.parametrize("tuning", [ON, CLOCK], ids=["nodes", "clock"])
    def test_what_goes_wrong_with_the_trawl_ends_the_samples(
        self, tuning: dict[str, str], device: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: Any, **__: Any) -> Any:
            raise MemoryError("no room for a search")

        monkeypatch.setattr(Trawl, "run", fail)
        given: dict[str, Any] = {"samples": 10**10, "estimator": "alley", "timeout": SECONDS}
        with pytest.raises(MemoryError, match="no room"):
            mf.estimate(CUBIC, LONG, device=device, tuning=tuning, **given)

    def test_time_that_is_up_ends_both(self, device: str) -> None:
        given: dict[str, Any] = {"samples": 10**10, "estimator": "alley", "timeout": 0.5}
        mf.estimate(CUBIC, cycle(24), samples=64, estimator="alley", device=device)  # compiled
        tuning = {**ON, "trawl_nodes": "1048576", "trawl_samples": "4096"}
        found = mf.estimate(CUBIC, cycle(24), device=device, tuning=tuning, **given)
        assert not found.complete
        assert found.samples < 10**10
        assert found.trawled is not None
