"""The suite `streaming`, run on small graphs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from motiflux.bench.results import CaseResult
from motiflux.bench.suite import Settings, load_part
from tests.device.small_streams import small_streams

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it measures an engine on a device")

SUITE = Path(__file__).resolve().parents[2] / "benchmarks/suite/streaming.py"


@pytest.fixture
def suite(device: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    found = load_part(SUITE)
    for name, value in {
        "DEVICE": device,
        "FLOWS": 6,
        "SCALE": 6,
        "MOST_DEGREE": 20,
        "LEAST_UPDATES": 8,
        "LOAD_SECONDS": 0.01,
        "MOST_UPDATES": 24,
        "RATES": (1_000, 100_000),
        "SIZES": (4, 16),
        "FIXED_UPDATES": 24,
        "HUB": 30,
        "SOAK": 64,
        "SOAK_CALL": 16,
        "SOAK_PARTS": 2,
    }.items():
        monkeypatch.setattr(found, name, value)
    drawn = (found.worlds.flows, found.worlds.power_law, found.worlds.hubs, found.known)
    for one in drawn:
        one.cache_clear()
    with small_streams():
        yield found
    for one in drawn:
        one.cache_clear()


@pytest.mark.turns(4, "emulated")
def test_every_way_finds_the_changes_of_the_cpu_and_has_its_figures(
    suite: ModuleType, tmp_path: Path
) -> None:
    results = [result for probe in suite.build(tmp_path).probes for result in probe.run(Settings())]
    assert not any(one.disagrees for one in results)
    by_name = {one.case: one for one in results}
    for load in ("flows path", "power law diamond"):
        for way in ("ring", "python", "feed", "streaming", "changing", "outofcore of 4"):
            figures = by_name[f"{load}, rate 1000, {way}"].figures
            assert 0 <= figures["answer_p50_us"] <= figures["answer_p99_us"] <= figures["answer_max_us"]
            assert figures["utilisation"] > 0
    soak = by_name["soak"].figures
    assert soak["bytes_in_use_1"] > 0
    assert soak["recounts_that_differ"] == 0
    assert soak["stalls_of_the_updater"] <= soak["stalls"]
    bars = {bar.bar: bar.value for bar in suite.bars(results)}
    assert bars.pop("cases that differ from the CPU Monitor") == 0
    assert any(value is not None for value in bars.values())
    check_chart(suite, results, tmp_path)


def check_chart(suite: ModuleType, results: list[CaseResult], folder: Path) -> None:
    chart = load_part(suite.PARTS / "chart.py")
    path = folder / "results.json"
    path.write_text(json.dumps({"cases": [one.as_json() for one in results]}))
    assert chart.main([str(path)]) == 0
    drawn = path.with_suffix(".svg").read_text()
    assert drawn.count("<polyline") == len(
        {one.case.split(", ")[0] + one.case.split(", ", 2)[2] for one in results if ", rate " in one.case}
    )


def test_waits_for_fixed_batches_follow_from_arrivals_and_times_of_batches(suite: ModuleType) -> None:
    times = suite.load.of_fixed_batches(np.array([1.0, 3.0]), 2, np.array([0.0, 0.5, 0.6, 0.7, 9.0, 9.5]))
    assert times.begun.tolist() == [0.5, 0.5, 1.5, 1.5, 9.5, 9.5]
    assert times.answered.tolist() == [1.5, 1.5, 4.5, 4.5, 10.5, 10.5]


def test_hubs_have_long_rows_and_all_updates_change_them(suite: ModuleType) -> None:
    world = suite.worlds.hubs(6, 100, 30)
    assert 24 <= world.largest_degree <= 60
    assert len(world.updates) == 100
    assert (np.minimum(world.updates.sources, world.updates.targets) < 8).all()


def test_flows_have_bounded_degrees_and_updates_have_effects(suite: ModuleType) -> None:
    world = suite.worlds.flows(6, 2000, 20)
    assert world.largest_degree <= 20
    edges = world.graph.to_edges()
    there = set(zip(np.asarray(edges.src).tolist(), np.asarray(edges.dst).tolist(), strict=True))
    assert 0 < world.updates.inserts.sum() < len(world.updates) == 2000
    for inserts, u, v in zip(
        world.updates.inserts.tolist(),
        world.updates.sources.tolist(),
        world.updates.targets.tolist(),
        strict=True,
    ):
        assert inserts == ((u, v) not in there)
        there ^= {(u, v)}
