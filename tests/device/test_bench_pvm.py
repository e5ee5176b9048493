"""The suite `pvm`, run on small graphs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import motiflux as mf
from motiflux.bench.results import CaseResult
from motiflux.bench.suite import Settings, load_part

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it measures a search on a device")

SUITE = Path(__file__).resolve().parents[2] / "benchmarks/suite/pvm.py"


@pytest.fixture
def suite(device: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ModuleType]:
    found = load_part(SUITE)
    monkeypatch.setattr(found, "DEVICE", device)
    monkeypatch.setattr(found, "GRAPHS", ("one",))
    monkeypatch.setattr(found, "OWN_LABELS", ("other",))
    monkeypatch.setattr(found, "LABELS", (3, 5))
    rng = np.random.default_rng(2)
    (tmp_path / "data").mkdir()
    for name in ("one", "other"):
        labels = {} if name == "one" else {"edge_labels": rng.integers(0, 4, 400)}
        edges = rng.integers(0, 150, (400, 2))
        graph = mf.Graph.from_edges(
            edges, directed=name == "other", num_vertices=160, self_loops="drop", **labels
        )
        mf.write_graph(graph, tmp_path / f"data/{name}.npz")
    yield found
    found.formats.read.cache_clear()


def run(suite: ModuleType, folder: Path) -> dict[str, CaseResult]:
    probes = suite.build(folder).probes
    return {one.case: one for probe in probes for one in probe.run(Settings(quick=True))}


@pytest.mark.turns(8, "emulated")
def test_sizes_and_search_times_are_measured_and_rows_compared(suite: ModuleType, tmp_path: Path) -> None:
    results = run(suite, tmp_path)
    graphs = ["one, 3 labels", "one, 5 labels", "other"]
    assert [*results] == [*(f"formats {name}" for name in graphs), *(f"search {name}" for name in graphs)]
    assert not any(one.disagrees for one in results.values())
    bars = suite.bars(list(results.values()))
    assert all(bar.value is not None for bar in bars)
    assert bars[0].value == 0
    found = results["formats other"].figures
    assert found["partitions"] == 8
    assert found["interval"] < found["hash"]
    assert found["intervals"] < found["unrenamed_intervals"]
    assert results["formats one, 3 labels"].figures["vertex_partitions"] == 3


def test_rows_that_differ_are_reported(
    suite: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests, calls = suite.search.digests, []

    def wrong(*args: object) -> object:
        found = digests(*args)
        calls.append(found)
        return found + (len(calls) == 3)  # of one way and partition

    monkeypatch.setattr(suite.search, "digests", wrong)
    monkeypatch.setattr(suite, "LABELS", (3,))
    monkeypatch.setattr(suite, "OWN_LABELS", ())
    results = run(suite, tmp_path)
    assert results["search one, 3 labels"].disagrees
    assert results["search one, 3 labels"].count == 160
