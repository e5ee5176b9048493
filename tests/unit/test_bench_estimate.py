"""The suite `estimate`: what it draws, measures and holds against its targets."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

import motiflux as mf
from motiflux.bench.measure import Timing
from motiflux.bench.results import Bar, CaseResult
from motiflux.bench.suite import Settings, load_part

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
SUITE = load_part(BENCHMARKS / "suite/estimate.py")
COMMON, QUERIES, GPU, GPU_TRAWLS = (
    load_part(BENCHMARKS / f"suite/estimate_parts/{name}.py")
    for name in ("common", "random_queries", "gpu", "gpu_trawls")
)


def grid() -> mf.Graph:
    edges = [(x + 6 * y, x + 1 + 6 * y) for x in range(5) for y in range(6)]
    edges += [(x + 6 * y, x + 6 * (y + 1)) for x in range(6) for y in range(5)]
    return mf.Graph.from_edges(edges, vertex_labels=[vertex % 3 for vertex in range(36)])


@pytest.mark.parametrize("draw", [QUERIES.dense_query, QUERIES.sparse_query])
@pytest.mark.parametrize("size", [4, 8, 16])
def test_queries_are_there_and_the_same_for_the_same_seed(draw: object, size: int) -> None:
    assert callable(draw)
    first, again = (draw(grid(), size, random.Random(5)) for _ in range(2))
    assert first == again
    assert first.num_vertices == size
    assert mf.count(grid(), first, limit=1) == 1
    if draw is QUERIES.sparse_query:
        assert 2 * first.num_edges < 3 * size


def test_labels_are_drawn_where_there_are_none(tmp_path: Path) -> None:
    file = tmp_path / "ring.txt"
    file.write_text("".join(f"{v} {(v + 1) % 50}\n" for v in range(50)))
    one, two, other = (QUERIES.read_labelled(file, 4, seed) for seed in (1, 1, 2))
    assert one.num_edges == 50
    assert np.array_equal(one.vertex_labels, two.vertex_labels)
    assert not np.array_equal(one.vertex_labels, other.vertex_labels)
    assert QUERIES.read_labelled(file, None, 0).vertex_labels is None


def test_q_errors_are_the_same_both_ways_and_floored() -> None:
    q_error = COMMON.q_error
    assert (q_error(50.0, 100), q_error(200.0, 100), q_error(0.0, 100)) == (2, 2, 100)
    assert (q_error(0.0, 0), q_error(0.25, 1)) == (1, 1)


def test_bars_are_of_what_was_measured() -> None:
    measured = COMMON.Measured()
    assert SUITE.bars(measured) == []
    measured.errors += [1.0, 1.5]
    measured.covered += [True, False]
    measured.seconds += [0.01, 0.09]
    key = ("alley", "off", "trawled")
    measured.cuts[key] = [10.0, 1000.0]
    measured.slower[key] = [1.0, 1.21]
    measured.cuts["alley", "spread", "trawled"] = [1.0]
    found = {bar.bar: bar for bar in SUITE.bars(measured)}
    assert [bar.holds for bar in found.values()] == [False, False, True, False, True, True, False]
    assert [bar.value for bar in found.values()] == pytest.approx([0.5, 1.25, 1.5, 90, 100, 1.1, 1.21])


def test_every_committed_query_has_a_count() -> None:
    counts = json.loads((BENCHMARKS / "queries/trawl_counts.json").read_text())
    files = {file.stem for file in (BENCHMARKS / "queries").glob("trawl_*.graph")}
    assert files == set(counts)
    for name in counts:
        assert mf.read_pattern(BENCHMARKS / f"queries/{name}.graph").num_vertices == 16
        assert name.split("_")[1] in COMMON.GRAPHS


def test_counts_are_of_queries_that_are_drawn() -> None:
    cells = {
        f"{name} {size} {kind}"
        for name in COMMON.GRAPHS
        for size, kinds in COMMON.SIZES.items()
        for kind in kinds
    }
    assert set(COMMON.drawn_counts()) <= cells
    assert all(count > 0 for count in COMMON.drawn_counts().values())


def timed(case: str, engine: str, ms: float = 1.0, *, wrong: bool = False, **figures: float) -> CaseResult:
    taken = Timing.of([ms / 1000])
    return CaseResult(case, f"cuda {engine}", 1, "x", taken, disagrees=wrong, figures=figures)


def gpu_bars(*results: CaseResult) -> dict[str, Bar]:
    return {bar.bar: bar for bar in GPU.bars(results)}


class TestBarsOfTheGpu:
    def test_are_of_what_was_run(self) -> None:
        assert gpu_bars() == {}
        skipped = CaseResult("gpu time hprd dense (skipped: no time is left)", "cuda", None, None, None)
        assert gpu_bars(skipped) == {}

    def test_of_time_are_of_the_slowest(self) -> None:
        found = gpu_bars(
            timed("gpu time hprd dense", "alley", ms_per_million=7.0),
            timed("gpu time human dense", "alley", ms_per_million=31.0),
            timed("gpu time human dense, no candidate graph", "alley", ms_per_million=99.0),
            timed("gpu time human dense", "wanderjoin", ms_per_million=9.0, wrong=True),
        )
        assert [(bar.value, bar.holds) for bar in found.values()] == [(9.0, True), (31.0, False), (1, False)]

    def test_of_ablations_are_gains_for_each_valid_sample(self) -> None:
        rows = {
            "no inheritance, no streaming (O0)": 40.0,
            "no streaming (O1)": 10.0,
            "both (O2)": 2.0,
            "adaptive streaming": 1.0,
        }
        found = gpu_bars(
            *(
                timed(
                    f"gpu ablation {graph}, {candidates}, {what}",
                    "alley",
                    ns_per_valid=scale * value ** (1 if candidates == GPU.OURS else 0.5),
                    ms_per_million=1.0,
                )
                for graph, scale in (("hprd dense", 1.0), ("human dense", 3.0))
                for candidates in (GPU.OURS, GPU.PAPERS)
                for what, value in rows.items()
            )
        )
        ours = {name: bar for name, bar in found.items() if GPU.OURS in name}
        papers = {name: bar for name, bar in found.items() if GPU.PAPERS in name}
        assert [bar.value for bar in ours.values()] == pytest.approx([4.0, 5.0, 10.0])
        assert [bar.target for bar in ours.values()] == [2.5, 3.0, 3.0]
        assert [bar.value for bar in papers.values()] == pytest.approx([2.0, 5**0.5, 10**0.5])
        assert [bar.holds for bar in papers.values()] == [False, False, True]

    def test_without_valid_samples_are_left_out(self) -> None:
        found = gpu_bars(
            timed(f"gpu ablation hprd dense, {GPU.OURS}, {GPU.O0}", "alley", ms_per_million=1.0),
            timed(f"gpu ablation hprd dense, {GPU.OURS}, {GPU.O1}", "alley", ns_per_valid=1.0),
        )
        assert list(found) == ["gpu: cases whose groups differ"]

    def test_of_yeast_are_of_all_calls(self) -> None:
        found = gpu_bars(
            timed("gpu yeast a, first call", "tree", 10.0, q_error=1.0),
            timed("gpu yeast b, first call", "tree", 50.0, q_error=1.2),
            timed("gpu yeast c, first call", "tree", 20.0),
        )
        assert [bar.value for bar in found.values()] == pytest.approx([50, 1.1, 1.2, 0])

    def test_of_trawls_are_wall_times_and_errors_over_those_without(self) -> None:
        rows = [
            timed(f"gpu trawl {query}, {millions} million, trawled, call", "alley", slower=slower, cut=cut)
            for query, millions, slower, cut in (
                ("a", 1, 1.0, 10.0),
                ("b", 1, 1.21, 1000.0),
                ("a", 16, 1.05, 50.0),
            )
        ]
        found = gpu_bars(timed("gpu trawl a, 1 million, not trawled, call", "alley"), *rows)
        assert [bar.value for bar in found.values()] == pytest.approx([1.1, 1.21, 100, 1.05, 1.05, 50, 0])
        assert [bar.holds for bar in found.values()] == [True, False, True, True, True, False, True]


def test_probes_whose_turn_comes_too_late_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    class Probe:
        name, quick = "gpu x", True

        def run(self, settings: Settings) -> list[CaseResult]:
            return [timed("gpu x", "alley")]

    begun: list[float] = []
    one, two = GPU.Limited(Probe(), begun), GPU.Limited(Probe(), begun)
    assert [found.case for found in one.run(Settings())] == ["gpu x"]
    monkeypatch.setattr(GPU, "GPU_SECONDS", -1.0)
    (found,) = two.run(Settings())
    assert (found.case, found.seconds) == ("gpu x (skipped: no time is left)", None)
