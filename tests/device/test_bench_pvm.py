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
    monkeypatch.setattr(found.workload, "SHARED", {})
    monkeypatch.setattr(found.workload, "OWN_LABELS", ())
    monkeypatch.setattr(found.workload, "RMAT", {})
    monkeypatch.setattr(found.memory, "probes", list)
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
    searched = [one for case, one in results.items() if case.startswith("search ")]
    assert len(suite.bars(searched)) == 2, "formats that were not measured have no bars"
    found = results["formats other"].figures
    assert found["partitions"] == 8
    assert found["interval"] < found["hash"]
    assert found["intervals"] < found["unrenamed_intervals"]
    assert results["formats one, 3 labels"].figures["vertex_partitions"] == 3


@pytest.mark.turns(8, "emulated")
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


@pytest.fixture
def stood_in(suite: ModuleType, device: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Have ``dfs`` stand in for the engine, switches that exist for its own, and ask few queries seldom."""
    experiments, memory, workload = suite.experiments, suite.memory, suite.workload
    monkeypatch.setattr(experiments.trials, "DEVICE", device)
    monkeypatch.setattr(experiments.trials, "STAND_INS", {"pvm": "dfs"})
    monkeypatch.setattr(experiments.trials, "LIMIT", 100.0)
    monkeypatch.setattr(experiments, "SECONDS", 100.0)
    monkeypatch.setattr(experiments.runs, "MOST", 2)
    monkeypatch.setattr(experiments, "SV", {"lanes": "8"})
    monkeypatch.setattr(experiments, "PUBLISHED", {"lanes": "8", "stealing": "none"})
    monkeypatch.setattr(memory, "SECONDS", 100.0)
    monkeypatch.setattr(memory, "SCALE", 9)
    monkeypatch.setattr(memory, "EDGES", 8)
    monkeypatch.setattr(memory, "VERTEX_LABELS", 5)
    monkeypatch.setattr(workload, "QUERIES", 1)
    return suite


@pytest.mark.turns(4, "emulated")
def test_searches_copy_their_tables_and_counts_agree(stood_in: ModuleType, tmp_path: Path) -> None:
    graph = stood_in.formats.Labelled("other", stood_in.GraphSource(tmp_path / "data/other.npz"))
    probes = stood_in.experiments.experiments(graph)
    results = {one.case: one for probe in probes for one in probe.run(Settings())}
    assert len(results) == len(probes) == 6
    for one in results.values():
        assert one.checked_against == "the CPU engine"
        assert not one.disagrees
        assert one.count
        assert one.seconds is not None
        assert one.ratio is not None
        assert "(" not in one.engine, "it failed, or another engine searched"
    figures = results["overall other, counting, Q4"].figures
    for engine in ("pvm", "dfs"):
        assert figures[f"{engine}: copied_bytes"] > 8 * 160
        assert 0 < figures[f"{engine}: copies_ms"] < figures[f"{engine}: whole_ms"]
        assert figures[f"{engine}: searches_ms"] > 0
    assert results["published other, Q4"].figures["resident_ratio"] > 0
    bars = {bar.bar: bar for bar in stood_in.search_bars.bars([*results.values()])}
    assert all(bar.holds for name, bar in bars.items() if "failed" in name)


@pytest.mark.turns(4, "emulated")
def test_a_search_within_little_memory_is_compared_with_one_that_copies_its_tables(
    stood_in: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = stood_in.memory
    memory.graph.cache_clear()
    monkeypatch.setattr(memory, "SHARES", (1e-3, 1e-4))  # `dfs` holds its tables, and more
    results = [one for share in memory.SHARES for one in memory.Bounded("cycle", share).run(Settings())]
    memory.graph.cache_clear()
    for one, over in zip(results, ("over_larger", "over_copied"), strict=True):
        assert one.engine == "pvm"
        assert one.checked_against == "engine dfs"
        assert one.ratio == pytest.approx(1 / one.figures[over], rel=0.5)
        assert one.figures["copied_over_tables"] == 1.0
        assert one.figures["gpu_memory"] > one.figures["table_bytes"] > 0
    bars = {bar.bar: bar.value for bar in stood_in.search_bars.bars(results)}
    assert None not in bars.values()


@pytest.mark.turns(4, "emulated")
def test_a_search_that_lacks_memory_has_failed(stood_in: ModuleType) -> None:
    memory = stood_in.memory
    memory.graph.cache_clear()
    (one,) = memory.Bounded("path", 8).run(Settings())
    memory.graph.cache_clear()
    assert one.engine.startswith("pvm (bounded failed: DeviceMemoryError")
    assert (one.count, one.seconds, one.ratio) == (None, None, None)
    assert not one.disagrees


def test_uploads_are_measured_only_while_asked_for(stood_in: ModuleType, device: str) -> None:
    trials = stood_in.experiments.trials
    accelerator = stood_in.open_accelerator(device)
    stream = accelerator.session().main
    buffer = accelerator.device.allocate(4000, "a test")
    array = np.arange(1000, dtype=np.uint32)
    with trials.copies() as copied:
        stream.upload(buffer, array)
        stream.upload(buffer, array[:100], 40)
    stream.upload(buffer, array)
    stream.wait()
    assert copied.nbytes == 4400
    assert copied.seconds >= 0
    back = np.zeros_like(array)
    stream.download(buffer, back)
    stream.wait()
    assert back.tolist() == array.tolist()
