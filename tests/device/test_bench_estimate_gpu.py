"""The rows of the suite `estimate` that need a GPU, run on small graphs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import motiflux as mf
from motiflux.bench.results import CaseResult
from motiflux.bench.suite import Settings, load_part
from tests.unit.test_trawling import CUBIC, LONG

pytestmark = pytest.mark.devices("emulated", "cuda", reason="they have no rows for it")

SUITES = Path(__file__).resolve().parents[2] / "benchmarks/suite"
QUERY = "trawl_cubic_ring_0"


@pytest.fixture
def suite(device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The suite with two small graphs, one query to trawl, and few samples."""
    found = load_part(SUITES / "estimate.py")
    common, gpu, trawls = found.common, found.gpu, found.gpu.trawls
    random = np.random.default_rng(3)
    edges = np.unique(random.integers(0, 60, (500, 2)), axis=0)
    edges = edges[edges[:, 0] < edges[:, 1]]
    graph = mf.Graph.from_edges(edges, num_vertices=60, vertex_labels=[vertex % 2 for vertex in range(60)])
    monkeypatch.setattr(gpu, "DEVICE", device)
    monkeypatch.setattr(gpu, "RUNS", 2)
    monkeypatch.setattr(trawls, "RUNS", 1)
    monkeypatch.setattr(trawls, "MILLIONS", {"wanderjoin": (1, 2), "alley": (1,)})
    monkeypatch.setattr(trawls, "SWEPT", 2)
    monkeypatch.setattr(trawls, "THREADS", (1, 2))
    monkeypatch.setattr(trawls, "WARM_SAMPLES", 64)
    monkeypatch.setattr(common, "SAMPLES", 640)
    monkeypatch.setattr(common, "GRAPHS", {"yeast": ("yeast", None)})
    monkeypatch.setattr(common, "SWEPT", (QUERY,))
    monkeypatch.setattr(common, "graph_of", lambda shared, name: graph)
    count = int(mf.count(CUBIC, LONG, device="cpu"))
    monkeypatch.setattr(common, "trawl_counts", lambda: {QUERY: count})
    monkeypatch.setattr(common, "trawl_query", lambda shared, name: (CUBIC, LONG))
    monkeypatch.setattr(common, "drawn_counts", dict)
    queries = tmp_path / "oracle/yeast/queries"
    queries.mkdir(parents=True)
    (queries / "query_dense_4_0.graph").write_text("t 3 3\nv 0 0\nv 1 1\nv 2 0\ne 0 1\ne 1 2\ne 0 2\n")
    (queries / "query_sparse_4_1.graph").write_text("t 3 2\nv 0 0\nv 1 1\nv 2 0\ne 0 1\ne 1 2\n")
    triangles = int(mf.count(graph, mf.read_pattern(queries / "query_dense_4_0.graph"), device="cpu"))
    counts = {"query_dense_4_0.graph": str(triangles), "query_sparse_4_1.graph": None}
    (tmp_path / "oracle/yeast/embeddings.json").write_text(json.dumps(counts))
    common.drawn.cache_clear()
    yield found
    common.drawn.cache_clear()


@pytest.mark.long("emulated")
def test_every_row_is_there_with_the_groups_of_the_cpu(suite: ModuleType, tmp_path: Path) -> None:
    found: list[CaseResult] = list(
        itertools.chain.from_iterable(probe.run(Settings()) for probe in suite.gpu.probes(tmp_path))
    )
    names = [one.case for one in found]
    assert not [name for name in names if "skipped" in name or not name.startswith("gpu ")]
    assert not [one.case for one in found if one.disagrees]
    compared = [one for one in found if one.checked_against == "groups of the CPU"]
    # Three estimators over candidates and two over rows, of two queries; of the ablations of Alley eight over
    # our candidates and five over the paper's, of WanderJoin four and two.
    assert len(compared) == 2 * 5 + 2 * (8 + 5 + 4 + 2)
    assert len(set(zip(names, [one.engine for one in found], strict=True))) == len(found)
    assert len([name for name in names if name.startswith("gpu yeast ")]) == 2
    assert len([name for name in names if name.startswith("gpu trawl ")]) == 3 * 2
    assert len([name for name in names if name.startswith("gpu sweep ")]) == 2
    trawled = [one for one in found if ", trawled, call" in one.case]
    wanted = {"slower", "sampling_ms", "trawl_set_up_ms", "trawl_waiting_ms", "planning_ms"}
    assert all(wanted <= set(one.figures) for one in trawled)
    bars = suite.gpu.bars(found)
    assert all(bar.value is not None for bar in bars)
    assert {"alley", "wanderjoin", "yeast", "hard"} <= {
        word.strip(":,") for bar in bars for word in bar.bar.split()
    }
    (differ,) = [bar for bar in bars if bar.bar.endswith("groups differ")]
    assert differ.holds
