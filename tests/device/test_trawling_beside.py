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
from motiflux.cpu.trawling import Haul, Stream, Trawl
from motiflux.errors import DeviceError
from motiflux.gpu.kernels.sampler import DeviceSampler, Drawing
from motiflux.request.deadline import Deadline
from motiflux.sampling import clock_trawler
from tests.unit.sampling_cases import random_graph
from tests.unit.test_trawling import CUBIC, LARGE, LONG, MOST, cycle, distance

pytestmark = pytest.mark.devices("emulated", "cuda", reason="the samples are drawn on a device")

NODES = {"trawling": "on", "trawl_budget": "nodes"}
ON = {**NODES, "trawl_whole": "off"}
CLOCK = {"trawling": "on", "trawl_whole": "off"}
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
        given["tuning"] = {"trawl_budget": "nodes"}
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
        given: dict[str, Any] = {"samples": 6000, "estimator": "alley", "tuning": NODES}
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
        given: dict[str, Any] = {"samples": 20_000, "estimator": "tree", "tuning": NODES}
        ours, theirs = (mf.estimate(ring, cycle(5), device=one, **given) for one in (device, "cpu"))
        assert numbers(ours) == numbers(theirs)
        assert ours.estimator == theirs.estimator == "exact"


class TestByTheClock:
    """The default where a device is named."""

    @pytest.fixture(autouse=True)
    def _begins_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(clock_trawler, "_FIXED_SECONDS", 0.0)

    @pytest.fixture
    def slow(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have drawings take so long that there is time for searches, however busy the machine is."""
        real = DeviceSampler.finish

        def finish(self: DeviceSampler, drawing: Drawing, deadline: Deadline) -> Any:
            time.sleep(0.1)
            return real(self, drawing, deadline)

        monkeypatch.setattr(DeviceSampler, "finish", finish)

    @pytest.mark.parametrize("threads", [1, 4])
    @pytest.mark.parametrize("case", LARGE[1::6], ids=str)
    def test_it_is_fair(self, case: Any, threads: int, device: str) -> None:
        tuning = {**CLOCK, "trawl_nodes": "64"}
        given: dict[str, Any] = {"samples": 256, "semantics": case.semantics, "tuning": tuning}
        values = [
            mf.estimate(case.graph, case.pattern, device=device, threads=threads, seed=seed, **given).value
            for seed in range(40)
        ]
        assert distance(np.array(values), case.count()) < MOST

    @pytest.mark.usefixtures("slow")
    def test_the_end_of_the_samples_ends_searches(self, device: str) -> None:
        given: dict[str, Any] = {"samples": 20_000, "estimator": "alley", "device": device, "threads": 3}
        found = mf.estimate(CUBIC, cycle(24), tuning=ENDLESS, **given)
        assert found.complete
        assert found.trawled is not None
        assert found.trawled.slots > 0
        assert found.trawled.searched < found.trawled.slots
        assert found.parts["trawl waiting"] < 0.5 * SECONDS

    @pytest.mark.usefixtures("slow")
    def test_all_is_counted_beside_the_samples(self, device: str) -> None:
        labels = [0 if v % 40 else 1 for v in range(5000)]
        rows = CUBIC.to_edges()
        graph = mf.Graph.from_edges((rows.src, rows.dst), vertex_labels=labels)
        kinds = [1, *[None] * 5, 1, *[None] * 5]
        pattern = mf.Pattern.from_edges([(v, (v + 1) % 12) for v in range(12)], vertex_labels=kinds)
        tuning = {"trawling": "on"}
        found = mf.estimate(graph, pattern, samples=10**9, timeout=SECONDS, device=device, tuning=tuning)
        assert (found.estimator, found.value) == ("exact", int(mf.count(graph, pattern, device="cpu")))
        assert found.low == found.high == found.value

    def test_a_count_that_is_not_done_in_time_leaves_the_estimate(self, device: str) -> None:
        tuning = {"trawling": "on"}
        found = mf.estimate(CUBIC, cycle(24), samples=64, estimator="alley", device=device, tuning=tuning)
        assert (found.estimator, found.samples) == ("alley", 64)

    @pytest.mark.parametrize("fixed", [0.0, 100.0])
    def test_samples_that_are_drawn_too_soon_are_not_trawled_beside(
        self, fixed: float, device: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What would add too much to the time of the samples is not begun, and the estimate says so."""
        monkeypatch.setattr(clock_trawler, "_FIXED_SECONDS", fixed)
        monkeypatch.setattr(DeviceSampler, "least_piece", 8)
        begun: list[int] = []
        begin = Trawl.begin
        monkeypatch.setattr(Trawl, "begin", lambda *more, **named: (begun.append(1), begin(*more, **named)))
        given: dict[str, Any] = {"samples": 2016, "estimator": "alley", "device": device}
        found = mf.estimate(CUBIC, LONG, tuning=CLOCK, **given)
        alone = mf.estimate(CUBIC, LONG, tuning={"trawling": "off"}, **given)
        assert begun == ([1] if fixed == 0 else [])
        assert "nothing was trawled" not in (alone.warning or "")
        if fixed > 0:
            assert found.trawled is None
            assert found.value == alone.value
            assert "nothing was trawled" in (found.warning or "")
            assert found.parts["trawl set-up"] == found.parts["trawl waiting"] == 0

    def test_slots_that_did_not_begin_leave_the_samples(
        self, device: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def finish(trawl: Trawl) -> Any:
            real = trawl._native.finish()
            return tuple(Stream(Haul(*(column[:0] for column in one[:4])), 0) for one in real)

        monkeypatch.setattr(Trawl, "finish", finish)
        given: dict[str, Any] = {"samples": 2016, "estimator": "alley", "device": device}
        found = mf.estimate(CUBIC, LONG, tuning=CLOCK, **given)
        alone = mf.estimate(CUBIC, LONG, tuning={"trawling": "off"}, **given)
        assert found.trawled is None
        assert found.value == alone.value

    def test_the_cpu_keeps_to_a_budget_of_work(self) -> None:
        given: dict[str, Any] = {"samples": 4000, "estimator": "alley", "tuning": {"trawling": "on"}}
        one, two = (mf.estimate(CUBIC, LONG, device="cpu", threads=threads, **given) for threads in (1, 3))
        assert numbers(one) == numbers(two)


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

    def test_an_interrupt_ends_both(self, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
        given: dict[str, Any] = {"samples": 10**10, "estimator": "alley", "device": device}
        searching = threading.Event()
        begin = Trawl.begin

        def hear(trawl: Trawl, *more: Any, **named: Any) -> None:
            begin(trawl, *more, **named)
            searching.set()

        monkeypatch.setattr(Trawl, "begin", hear)

        def press() -> None:
            searching.wait(SECONDS)
            time.sleep(0.01)
            signal.raise_signal(signal.SIGINT)

        presser = threading.Thread(target=press)
        presser.start()
        with pytest.raises(KeyboardInterrupt):
            mf.estimate(CUBIC, cycle(24), tuning=ENDLESS, timeout=SECONDS, **given)
        presser.join()
        assert trawling_threads() == []
        given = {"samples": 64, "seed": 5, "tuning": {"trawling": "off"}}
        again = [mf.estimate(CUBIC, LONG, device=one, **given).value for one in (device, "cpu")]
        assert again[0] == again[1]

    @pytest.mark.parametrize("tuning", [ON, ENDLESS], ids=["nodes", "clock"])
    def test_what_goes_wrong_with_the_device_ends_the_trawl(
        self, tuning: dict[str, str], device: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = DeviceSampler.finish

        def fail(self: DeviceSampler, drawing: Drawing, deadline: Deadline) -> Any:
            found = real(self, drawing, deadline)
            if drawing.count > 64:  # not of the pilot
                raise DeviceError("it went away")
            return found

        monkeypatch.setattr(DeviceSampler, "finish", fail)
        with pytest.raises(DeviceError, match="went away"):
            mf.estimate(CUBIC, cycle(24), samples=10**9, estimator="alley", device=device, tuning=tuning)
        assert trawling_threads() == []

    @pytest.mark.parametrize("tuning", [ON, CLOCK], ids=["nodes", "clock"])
    def test_what_goes_wrong_with_the_trawl_ends_the_samples(
        self, tuning: dict[str, str], device: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: Any, **__: Any) -> Any:
            raise MemoryError("no room for a search")

        monkeypatch.setattr(Trawl, "run", fail)
        monkeypatch.setattr(Trawl, "begin", fail)
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
