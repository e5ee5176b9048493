"""The suite `batch`, run on a small graph, and the inputs that it draws."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import motiflux as mf
from motiflux.bench.suite import Settings, load_part
from motiflux.stream.run import ahead

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it measures an engine on a device")

SUITE = Path(__file__).resolve().parents[2] / "benchmarks/suite/batch.py"


@pytest.fixture
def suite(device: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    found = load_part(SUITE)
    monkeypatch.setattr(found.trials, "DEVICE", device)
    monkeypatch.setattr(found.trials, "LIMIT", 60.0)
    monkeypatch.setattr(found, "QUERIES", 1)
    monkeypatch.setattr(found.inputs, "SCALE", 7)
    found.inputs._read.cache_clear()
    yield found
    found.inputs._read.cache_clear()


@pytest.fixture
def graph(suite: ModuleType, tmp_path: Path) -> mf.Graph:
    found: mf.Graph = suite.inputs.Source(suite.inputs.RMAT, tmp_path).read()
    return found


# Each experiment has kernels of its own to compile.
@pytest.mark.long("emulated")
def test_every_experiment_agrees_and_has_its_figures(
    suite: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite, "GRAPHS", dict.fromkeys(suite.GRAPHS, (suite.LARGE,)))
    monkeypatch.setattr(suite, "SIZES", (4,))
    monkeypatch.setattr(suite, "RATES", (0.05,))
    probes = suite.build(tmp_path).probes
    assert [probe.name for probe in probes] == [f"{name} rmat" for name in suite.RUNS]
    results = [result for probe in probes for result in probe.run(Settings())]
    assert not any(one.disagrees for one in results)
    assert all(one.count is not None for one in results)
    assert all(bar.value is not None for bar in suite.bars(results))
    by_name = {one.case: one.figures for one in results}
    assert 0 < by_name["stealing rmat, tree, auto"]["utilisation"] <= 1
    assert by_name["table rmat, tree"]["over_one_thread"] > 0
    assert by_name["memory rmat, tree 0"]["depth_first_bytes"] > 0


def test_a_wrong_number_is_noticed(suite: ModuleType) -> None:
    right, wrong, late = (
        suite.trials.Outcome(changes, 1.0, 1.0) for changes in (((1, 0), (0, 1)), ((2, 0), (0, 2)), None)
    )
    assert not suite.trials.SetOutcome({"a": [right, right], "b": [right, late]}).disagrees()
    assert suite.trials.SetOutcome({"a": [right, right], "b": [right, wrong]}).disagrees()


def test_sets_have_the_density_of_their_kind(suite: ModuleType, graph: mf.Graph) -> None:
    for vertices in (5, 8):
        for kind in suite.inputs.KINDS:
            found = suite.inputs.queries(graph, kind, vertices, 4)
            assert len(set(found)) == len(found) > 0
            for query in found:
                mean = 2 * len(query.edges) / vertices
                assert len(query.vertices) == vertices
                assert mean >= 3 if kind == "dense" else mean < 3
                assert kind != "tree" or len(query.edges) == vertices - 1
                assert mf.count(graph, query, limit=1) == 1


def test_batches_are_shares_of_the_edges_and_restore_the_graph(suite: ModuleType, graph: mf.Graph) -> None:
    first, inserted = suite.inputs.split(graph, 0.1)
    assert len(inserted[0]) == round(0.1 * graph.num_edges)
    assert first.num_edges + len(inserted[0]) == graph.num_edges
    triangle = "(a)--(b)--(c)--(a)"
    with mf.Monitor(first, triangle, mode="batch") as monitor:
        monitor.apply(suite.trials.Batch(inserted).updates())
        assert monitor.count(triangle) == mf.count(graph, triangle)
    first, inserted, deleted = suite.inputs.mixed(graph, 0.1)
    assert len(inserted[0]) == pytest.approx(2 * len(deleted[0]), rel=0.1)


def test_updates_of_a_core_join_vertices_of_the_core(suite: ModuleType, graph: mf.Graph) -> None:
    core = 6
    _, inserted = suite.inputs.split(graph, 1.0, core)
    ends, degrees = np.unique(np.concatenate(inserted), return_counts=True)
    assert 0 < len(inserted[0]) < graph.num_edges
    assert degrees.min() >= core
    assert len(ends) < graph.num_vertices


def test_prefixes_are_connected_parts(suite: ModuleType) -> None:
    query = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0), (2, 3)], vertex_labels=[5, 6, 7, 8])
    found = suite.inputs.prefixes(query)
    assert [(len(part.vertices), len(part.edges)) for part in found] == [(2, 1), (3, 3)]
    assert [sorted(vertex.labels)[0] for vertex in found[1].vertices] == [5, 6, 7]


@pytest.mark.turns(8, "emulated")
def test_overlapping_batches_have_the_figures_of_their_stages(
    suite: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "LEAST_UPDATES", 1)
    monkeypatch.setattr(suite.inputs, "KINDS", {"tree": suite.inputs.KINDS["tree"]})
    source = suite.inputs.Source(suite.inputs.RMAT, tmp_path)
    results = list(suite.Experiment("pipeline", source).run(Settings()))
    assert [one.case for one in results] == [
        f"pipeline rmat, {case}"
        for case in ("triangle", "triangle, in memory", "labelled triangle, listed", "tree 0")
    ]
    for found in results:
        assert not found.disagrees
        figures = found.figures
        assert figures["updates"] == round(suite.BATCHES * suite.SHARE * source.read().num_edges)
        stages = [figures[f"{stage}_seconds"] for stage in ("read", "prepared", "matched", "given")]
        assert min(stages) > 0
        assert sum(stages) <= found.baseline.seconds  # they are parts of it
        assert figures["over_longest"] > 0


def test_the_longest_stage_is_that_of_each_batch(suite: ModuleType) -> None:
    stages = suite.pipelined.Stages([1.0, 0.0], [2.0, 0.5], [2.5, 4.0], [0.0, 1.0])
    assert stages.longest() == 3.0 + 4.0
