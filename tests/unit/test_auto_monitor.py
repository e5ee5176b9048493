"""Monitors with ``device="auto"`` on a machine with a GPU, which an engine in plain Python stands for."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import motiflux as mf
from motiflux.config import private_tuning, resolve_tuning
from motiflux.errors import DeviceError, DeviceMemoryError
from motiflux.stream.matching import auto, break_even, engine, run_limit
from tests import stream_engines
from tests.stream_engines import PlainEngine

TRIANGLE = "(a)--(b)--(c)--(a)"
PATTERNS = [TRIANGLE, "(a)--(b)--(c)--(d)--(a)", "(a)--(b)--(c)--(d)"]
EIGHT = private_tuning({"auto_updates": "8"})
"""Calls of eight updates or more go to the GPU."""


class PresentGpu:
    """A GPU that is here, though it may fail to open."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.openings = 0

    def why_not(self) -> str | None:
        return None

    def is_open(self) -> bool:
        return self.openings > 0

    def open(self) -> str:
        self.openings += 1
        if self.error is not None:
            raise self.error
        return "cuda"


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[PresentGpu]:
    here = PresentGpu()
    monkeypatch.setattr(auto, "GPU", here)
    monkeypatch.setitem(engine.ENGINES, "changing", stream_engines.__name__)
    PlainEngine.opened.clear()
    yield here
    PlainEngine.opened.clear()


def many(first: int, step: int = 1) -> list[tuple[str, int, int]]:
    return [("+", first + n, first + n + step) for n in range(9)]


def same(one: mf.Delta, other: mf.Delta) -> bool:
    return all((a.positive, a.negative) == (b.positive, b.negative) for a, b in zip(one, other, strict=True))


def monitors(**options: Any) -> tuple[mf.Monitor, mf.Monitor]:
    graph = mf.Graph.from_edges([(u, u + 1) for u in range(12)])
    options = {"tuning": EIGHT, **options}
    return mf.Monitor(graph, PATTERNS, device="cpu", **options), mf.Monitor(graph, PATTERNS, **options)


@pytest.mark.parametrize("mode", ["sequence", "batch"])
def test_each_call_goes_to_the_engine_that_suits_it_and_is_exact(mode: str) -> None:
    here, there = monitors(mode=mode)
    used = []
    for rows in (many(0, 2), [("+", 0, 3)], [("-", 0, 2)], many(2, 3), many(0, 4), [("+", 1, 7)], many(3, 2)):
        expected, found = here.apply(rows), there.apply(rows)
        assert same(expected, found)
        used.append(found.device)
    assert used == ["cuda", "cpu", "cpu", "cuda", "cuda", "cpu", "cuda"]
    (opened,) = PlainEngine.opened
    assert opened.loads == 3  # after calls that the CPU matched, rows are loaded again


def test_deltas_and_totals_give_the_reason() -> None:
    _, there = monitors()
    assert there.reason == "no updates were applied yet"
    delta = there.apply(many(0, 2))
    assert (delta.engine, delta.reason) == ("plain", "the call has at least 8 updates")
    assert there.apply([("+", 0, 3)]).reason == there.reason == "the call has fewer than 8 updates"
    listing = mf.Monitor(mf.Graph.from_edges([(0, 1)]), TRIANGLE, matches=True, tuning=EIGHT)
    assert listing.apply(many(0, 2)).reason == "matches are listed"


def test_totals_name_every_engine_that_matched(tmp_path: Path) -> None:
    path = tmp_path / "updates.stream"
    path.write_text("".join(f"e {n} {n + 2}\n" for n in range(12)))
    here, there = monitors()
    expected, found = (one.run(path, _nowhere(), batch_size=9) for one in (here, there))
    assert [(one.positive, one.negative) for one in found.patterns] == [
        (one.positive, one.negative) for one in expected.patterns
    ]
    assert (found.engine, found.device) == ("plain, cpu", "cuda, cpu")
    assert found.reason.startswith("9 updates on cuda, 3 updates on cpu; last: ")


def _nowhere() -> Any:
    from motiflux.stream import Nowhere

    return Nowhere()


def test_patterns_may_come_and_go_between_engines() -> None:
    here, there = monitors()
    for rows, change in (
        (many(0, 2), None),
        ([("+", 0, 3)], "add"),
        (many(1, 3), "drop"),
        (many(0, 5), None),
        ([("-", 0, 2)], None),
    ):
        assert same(here.apply(rows), there.apply(rows))
        for monitor in (here, there):
            if change == "add":
                monitor.add("(a)--(b)--(c)")
            elif change == "drop":
                monitor.drop(TRIANGLE)


def test_a_gpu_that_cannot_be_opened_is_tried_and_told_once(
    gpu: PresentGpu, caplog: pytest.LogCaptureFixture
) -> None:
    gpu.error = DeviceError("the driver is too old")
    here, there = monitors()
    with caplog.at_level(logging.INFO, "motiflux.engine"):
        for rows in (many(0, 2), many(1, 3)):
            delta = there.apply(rows)
            assert same(here.apply(rows), delta)
            assert (delta.device, delta.reason) == ("cpu", "the GPU cannot do it: the driver is too old")
    assert gpu.openings == 1
    assert sum("the CPU takes over" in record.message for record in caplog.records) == 1


@pytest.mark.parametrize("stage", ["begin", "match"])
def test_a_gpu_that_fails_leaves_the_call_to_the_cpu(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = monitors()
    assert same(here.apply(many(0, 2)), there.apply(many(0, 2)))

    def fails(*args: Any) -> Any:
        raise DeviceMemoryError("a test", 2, 1, "wait")

    monkeypatch.setattr(PlainEngine, stage, fails)
    delta = there.apply(many(1, 3))
    assert same(here.apply(many(1, 3)), delta)
    assert delta.device == "cpu"
    assert delta.reason.startswith("the GPU cannot do it: a test")
    assert PlainEngine.opened[0].closed
    assert same(here.apply(many(0, 5)), there.apply(many(0, 5)))


def test_a_gpu_that_lacks_memory_for_a_call_matches_it_in_smaller_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_limit, "_LEAST_RUN", 2)
    monkeypatch.setattr(run_limit, "_SMALLER", 2)
    match, sizes, room = PlainEngine.match, list[int](), 4

    def limited(self: PlainEngine, run: Any, *meanwhile: Any) -> Any:
        if run.updates > room:
            raise DeviceMemoryError("a test", run.updates, room, "wait")
        sizes.append(run.updates)
        return match(self, run, *meanwhile)

    monkeypatch.setattr(PlainEngine, "match", limited)
    here, there = monitors(mode="batch")
    delta = there.apply(many(0, 2))
    assert same(here.apply(many(0, 2)), delta)
    assert delta.device == "cuda"
    assert sum(sizes) == 9
    room = 1  # not even the smallest run
    delta = there.apply(many(1, 3))
    assert same(here.apply(many(1, 3)), delta)
    assert delta.device == "cpu"
    assert delta.reason == "the GPU cannot do it: a test: expected 2 bytes of device memory, found 1; wait"


def test_errors_of_updates_are_those_of_the_call(gpu: PresentGpu) -> None:
    _, there = monitors(strict=True)
    there.apply(many(0, 2))
    with pytest.raises(mf.StreamError):
        there.apply([*many(20, 2), ("+", 0, 2)])
    assert there.apply([*many(20, 2)]).device == "cuda"


def test_an_interrupt_while_engines_change_leaves_results_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = monitors()
    steps = [many(0, 2), [("+", 0, 3)], many(1, 3), [("-", 0, 2)]]
    for at, rows in enumerate(steps):
        with monkeypatch.context() as patch:
            patch.setattr(mf.Monitor, "_planned", _interrupted_at(mf.Monitor._planned, at % 2))
            with pytest.raises(KeyboardInterrupt):
                there.apply(rows)
        assert same(here.apply(rows), there.apply(rows))


def _interrupted_at(call: Any, turn: int) -> Any:
    turns = iter(range(turn))

    def planned(*args: Any) -> Any:
        if next(turns, None) is None:
            raise KeyboardInterrupt
        return call(*args)

    return planned


def test_without_tuning_expected_times_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (auto, break_even):
        monkeypatch.setattr(module, "LEAST_UPDATES", 8)
    assert monitors(tuning=None)[1].apply(many(0, 2)).reason.endswith("on the GPU")
    slow = break_even.Costs(call=1e-6, update=0.0, host_update=1.0, open=0.0, entry=0.0, compile=9e9)
    monkeypatch.setattr(auto, "H200", slow)
    here, there = monitors(tuning=None)
    with monkeypatch.context() as patch:
        patch.setattr(PlainEngine, "is_ready", lambda self: False)
        delta = there.apply(many(0, 2))
        assert (delta.device, delta.reason) == ("cpu", "the GPU's kernels are being compiled")
    assert same(here.apply(many(0, 2)), delta)
    for rows, device in ((many(1, 2), "cuda"), (many(1, 3), "cuda")):
        delta = there.apply(rows)
        assert same(here.apply(rows), delta)
        assert delta.device == device


def test_what_calls_lose_on_an_engine_adds_up_until_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []
    decide = break_even.decide

    def noted(facts: break_even.Facts, costs: break_even.Costs) -> break_even.Choice:
        seen.append(facts.lost)
        return decide(facts, costs)

    monkeypatch.setattr(auto, "decide", noted)
    choosing = auto.AutoMatching(PresentGpu(), None, resolve_tuning(EIGHT), threads=1)
    for seconds in (5.0, 7.0, 0.0):
        choosing.choose(9, row_cost=0.0, typical_row=lambda: 1.0, arcs=24, lists=False)
        choosing.note(9, seconds)
    choosing.use(on_gpu=True)
    choosing.choose(9, row_cost=0.0, typical_row=lambda: 1.0, arcs=24, lists=False)
    assert seen == [0.0, pytest.approx(5.0, abs=1.0), pytest.approx(12.0, abs=2.0), 0.0]


def choosing(calls: list[tuple[int, float, float]], typical: float = 10.0) -> list[bool]:
    """Return which calls go to the GPU, given their updates and their seconds on the CPU and on the GPU."""
    found, chooses = [], auto.AutoMatching(PresentGpu(), None, resolve_tuning(None), threads=16)
    chooses._gpu.open()
    for updates, host, gpu in calls:
        on_gpu = chooses._on_gpu or not chooses.leaves_to_cpu(updates)
        if on_gpu:
            given = {"row_cost": 1.0, "typical_row": lambda: typical, "arcs": 400_000, "lists": False}
            on_gpu = chooses.choose(updates, **given).on_gpu
            chooses.use(on_gpu=on_gpu)
        chooses.note(updates, gpu if on_gpu else host)
        found.append(on_gpu)
    return found


def test_calls_of_few_updates_that_take_long_go_to_the_gpu() -> None:
    assert choosing([(256, 0.02, 0.004)] * 4) == [False, False, True, True]


def test_calls_of_few_updates_that_take_no_time_stay_on_the_cpu() -> None:
    assert not any(choosing([(256, 1e-4, 1e-5)] * 100))
    assert not any(choosing([*[(1000, 0.08, 0.01)] * 2, *[(2, 1e-4, 1e-3)] * 5]))


def test_calls_of_few_updates_leave_a_gpu_that_takes_longer_than_expected() -> None:
    assert choosing([(256, 0.02, 0.7)] * 9) == [False, False, True, True, *[False] * 5]


def test_one_call_of_few_updates_that_takes_long_says_nothing() -> None:
    assert not any(choosing([(1, 0.006, 1.0), *[(2000, 0.001, 1.0)] * 9]))


def test_the_first_large_call_is_on_the_cpu_unless_far_more_is_expected() -> None:
    assert not any(choosing([(50_000, 0.004, 0.03)] * 5, typical=100.0))
    assert all(choosing([(50_000, 9.0, 0.5)] * 5, typical=1e5))


def test_a_gpu_that_takes_longer_than_expected_is_left_and_seldom_tried_again() -> None:
    used = choosing([(100_000, 0.037, 0.08)] * 100)
    assert used[:4] == [False, True, True, False]
    assert sum(used) <= 12


def test_one_slow_call_on_the_gpu_says_nothing() -> None:
    calls = [(100_000, 0.2, 0.015)] * 9
    calls[4] = (100_000, 0.2, 0.9)
    assert choosing(calls) == [False, *[True] * 8]
