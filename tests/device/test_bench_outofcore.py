"""The suite `outofcore`, run on small graphs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from motiflux.bench.suite import Settings, load_part

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it measures an engine on a device")

SUITE = Path(__file__).resolve().parents[2] / "benchmarks/suite/outofcore.py"


@pytest.fixture
def suite(device: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    found = load_part(SUITE)
    monkeypatch.setattr(found, "DEVICE", device)
    monkeypatch.setattr(found, "SCALE", 8)
    monkeypatch.setattr(found, "MAX_DEGREE", 60)
    monkeypatch.setattr(found, "BATCH", 100)
    monkeypatch.setattr(found, "SIZES", (50,))
    monkeypatch.setattr(found, "MOST_BATCHES", 3)
    monkeypatch.setattr(found, "QUERIES", {name: found.QUERIES[name] for name in ("Q1", "Q5", "Q6")})
    monkeypatch.setattr(found, "LARGE", 9)
    monkeypatch.setattr(found.judged, "TRUTH_SECONDS", 0.05)
    if device == "emulated":
        monkeypatch.setenv("MOTIFLUX_DEVICES", "tests.simt.register:register")
    for drawn in (found.worlds.skewed, found.worlds.lattice):
        drawn.cache_clear()
    yield found
    for drawn in (found.worlds.skewed, found.worlds.lattice):
        drawn.cache_clear()


@pytest.mark.turns(8, "emulated")
def test_every_experiment_agrees_and_has_its_figures(suite: ModuleType, tmp_path: Path) -> None:
    results = [result for probe in suite.build(tmp_path).probes for result in probe.run(Settings())]
    assert not any(one.disagrees for one in results)
    assert all(bar.value is not None for bar in suite.bars(results))
    assert sum(one.count or 0 for one in results) > 0
    by_name = {one.case: one.figures for one in results}
    assert by_name["policies Q1, batches of 100, zero-copy"]["cache_copied"] == 0
    assert by_name["policies Q1, batches of 100, degree"]["cache_wanted"] > 0
    assert by_name["road, batches of 100, khop"]["copy_seconds"] > 0


def test_updates_insert_and_delete_edges_of_graphs_of_bounded_degree(suite: ModuleType) -> None:
    for graph, updates in (suite.skewed(), suite.lattice()):
        assert 0 < updates.inserts.sum() < len(updates)
        assert np.diff(graph.forward.offsets).max() <= suite.MAX_DEGREE
        edges = graph.to_edges()
        there = {*zip(np.asarray(edges.src).tolist(), np.asarray(edges.dst).tolist(), strict=True)}
        for inserts, u, v in zip(
            updates.inserts.tolist(), updates.sources.tolist(), updates.targets.tolist(), strict=True
        ):
            assert inserts == ((u, v) not in there and (v, u) not in there)


def test_changes_of_a_graph_as_it_is_delete_what_is_there(suite: ModuleType) -> None:
    graph, _ = suite.skewed()
    updates = suite.worlds.changes(graph, 100)
    edges = graph.to_edges()
    there = {*zip(np.asarray(edges.src).tolist(), np.asarray(edges.dst).tolist(), strict=True)}
    pairs = zip(updates.sources.tolist(), updates.targets.tolist(), strict=True)
    gone = [pair for pair, inserts in zip(pairs, updates.inserts.tolist(), strict=True) if not inserts]
    assert len(gone) > 40
    assert all(pair in there or pair[::-1] in there for pair in gone)


def test_all_motifs_are_there_once(suite: ModuleType) -> None:
    assert [len(suite.worlds.motifs(size, size)) for size in (3, 4, 5)] == [2, 6, 21]
