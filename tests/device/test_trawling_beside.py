"""Trawling on threads of this machine while a device draws the samples."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import motiflux as mf
from motiflux.cpu.trawling import Trawl
from motiflux.errors import DeviceError
from motiflux.gpu.kernels.sampler import DeviceSampler, DrawingJob
from motiflux.gpu.runtime.job import KernelJob
from motiflux.request.deadline import Deadline
from tests.unit.sampling_cases import random_graph
from tests.unit.test_trawling import CUBIC, LARGE, LONG, cycle

pytestmark = pytest.mark.devices("emulated", "cuda", reason="the samples are drawn on a device")

ON = {"trawling": "on"}
ENDLESS = {**ON, "trawl_nodes": "1048576", "trawl_samples": "4096"}
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
    """All of them are those of the CPU's sampler, to the last bit."""

    @pytest.mark.turns(8, "emulated")
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

    @pytest.mark.turns(8, "emulated")
    @pytest.mark.parametrize("every", [1, 40])
    def test_where_all_is_counted_or_too_much(self, every: int, device: str) -> None:
        labels = [0 if v % every else 1 for v in range(5000)]
        rows = CUBIC.to_edges()
        graph = mf.Graph.from_edges((rows.src, rows.dst), vertex_labels=labels)
        pattern = mf.Pattern.from_edges(
            [(v, (v + 1) % 12) for v in range(12)], vertex_labels=[1, *[None] * 5, 1, *[None] * 5]
        )
        given: dict[str, Any] = {"samples": 6000, "tuning": ON}
        ours, theirs = (mf.estimate(graph, pattern, device=one, **given) for one in (device, "cpu"))
        assert numbers(ours) == numbers(theirs)
        assert ours.estimator == theirs.estimator
        assert (ours.estimator == "exact") == (every == 40)


class TestAtTheSameTime:
    @pytest.mark.turns(8, "emulated")
    def test_slots_are_searched_while_the_device_draws(
        self, device: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The drawing is not done before a search has begun, nor that search before the drawing is asked."""
        searching, asked = threading.Event(), threading.Event()
        real = Trawl.run
        done = KernelJob.done

        def run(self: Trawl, *given: Any, **more: Any) -> Any:
            searching.set()
            assert asked.wait(SECONDS)
            return real(self, *given, **more)

        def is_done(self: DrawingJob) -> bool:
            if self.reader.units <= 64:  # of the pilot, not of the estimate
                return done(self)
            asked.set()
            return searching.is_set() and done(self)

        monkeypatch.setattr(Trawl, "run", run)
        monkeypatch.setattr(KernelJob, "done", is_done)
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
        run = Trawl.run

        def hear(trawl: Trawl, *more: Any, **named: Any) -> Any:
            searching.set()
            return run(trawl, *more, **named)

        monkeypatch.setattr(Trawl, "run", hear)

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

    @pytest.mark.turns(8, "emulated")
    @pytest.mark.parametrize("tuning", [ON, ENDLESS], ids=["few nodes", "many nodes"])
    def test_what_goes_wrong_with_the_device_ends_the_trawl(
        self, tuning: dict[str, str], device: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = DeviceSampler.finish

        def fail(self: DeviceSampler, job: DrawingJob, deadline: Deadline) -> Any:
            found = real(self, job, deadline)
            if job.reader.units > 64:  # not of the pilot
                raise DeviceError("it went away")
            return found

        monkeypatch.setattr(DeviceSampler, "finish", fail)
        with pytest.raises(DeviceError, match="went away"):
            mf.estimate(CUBIC, cycle(24), samples=10**9, estimator="alley", device=device, tuning=tuning)
        assert trawling_threads() == []

    def test_what_goes_wrong_with_the_trawl_ends_the_samples(
        self, device: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: Any, **__: Any) -> Any:
            raise MemoryError("no room for a search")

        monkeypatch.setattr(Trawl, "run", fail)
        given: dict[str, Any] = {"samples": 10**10, "estimator": "alley", "timeout": SECONDS}
        with pytest.raises(MemoryError, match="no room"):
            mf.estimate(CUBIC, LONG, device=device, tuning=ON, **given)

    @pytest.mark.turns(8, "emulated")
    def test_time_that_is_up_ends_both(self, device: str) -> None:
        given: dict[str, Any] = {"samples": 10**10, "estimator": "alley", "timeout": 0.5}
        mf.estimate(CUBIC, cycle(24), samples=64, estimator="alley", device=device)  # compiled
        found = mf.estimate(CUBIC, cycle(24), device=device, tuning=ENDLESS, **given)
        assert not found.complete
        assert found.samples < 10**10
        assert found.trawled is not None
