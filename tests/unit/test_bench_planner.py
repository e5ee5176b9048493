"""The suite `planner`: what it draws, compares and holds against its targets."""

from __future__ import annotations

import random
import runpy
from itertools import combinations
from pathlib import Path

import pytest

import motiflux as mf
from motiflux.bench.measure import Timing
from motiflux.bench.results import Bar, CaseResult

SUITE = runpy.run_path(str(Path(__file__).resolve().parents[2] / "benchmarks/suite/planner.py"))
LABELS = ["a", "b", "c"]
GRID = [(x + 6 * y, x + 1 + 6 * y) for x in range(5) for y in range(6)]
GRID += [(x + 6 * y, x + 6 * (y + 1)) for x in range(6) for y in range(5)]


def grid() -> mf.Graph:
    return mf.Graph.from_edges(GRID, vertex_labels=[LABELS[vertex % 3] for vertex in range(36)])


def result(case: str, seconds: float, count: int | None = 0, *, disagrees: bool = False) -> CaseResult:
    return CaseResult(case, "cpu", count, None, Timing.of([seconds]), disagrees=disagrees)


def bars(results: list[CaseResult], ratios: list[float]) -> dict[str, Bar]:
    return {bar.bar: bar for bar in SUITE["bars"](results, ratios)}


@pytest.mark.parametrize("size", [2, 4, 8, 16])
def test_queries_are_connected_and_the_same_for_the_same_seed(size: int) -> None:
    first, again = (SUITE["Draw"](grid(), random.Random(1)).query(size, dense=False) for _ in range(2))
    assert first == again
    assert first.num_vertices == size


def test_a_query_is_part_of_the_graph_but_for_one_label() -> None:
    query = SUITE["Draw"](grid(), random.Random(3)).query(5, dense=True)
    edges = [(edge.source, edge.target) for edge in query.edges]
    labels = [vertex.labels for vertex in query.vertices]
    mended = (
        mf.Pattern.from_edges(edges, vertex_labels=[*labels[:at], other, *labels[at + 1 :]])
        for at in range(5)
        for other in LABELS
    )
    assert any(mf.count(grid(), pattern, limit=1) for pattern in mended)


def test_a_query_with_an_answer_is_seen_through() -> None:
    answered = mf.Pattern.from_edges([(0, 1)], vertex_labels=["a", "b"])
    without = mf.Pattern.from_edges(list(combinations(range(3), 2)))
    assert SUITE["contradicted"](grid(), answered)[0]
    assert SUITE["contradicted"](grid(), without) == (False, "search without candidate space")


def test_estimates_are_off_by_a_factor_of_at_least_one() -> None:
    square = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)])
    ratios = list(SUITE["step_ratios"](grid(), square, "embeddings", 10.0))
    assert ratios
    assert min(ratios) >= 1


def test_each_bar_looks_at_its_own_cases() -> None:
    results = [
        *(result(f"limit yeast 4 q{ms}", ms / 1e3) for ms in (0.1, 0.3, 0.9)),
        result("planning yeast 8 q", 0.003, 8),
        result("count yeast 16 slow", 9.0),
        result("count yeast 16 unfinished", 60.0, None),
        result("cold human 8 no 1", 0.002),
        result("warm human 8 no 1", 0.0001, disagrees=True),
    ]
    found = bars(results, [1.0, 3.0, 9.0])
    assert found["yeast, 4 vertices, limit 1e5: median ms"].value == pytest.approx(0.3)
    assert found["yeast, 8 vertices, planning: median ms"].value == pytest.approx(3.0)
    assert found["yeast: known counts not finished"].value == 1
    assert found["yeast: known counts that take over 8 s"].value == 2
    assert found["no answer, with planning and candidate space: median ms"].value == pytest.approx(2.0)
    assert found["no answer, search alone: longest s"].value == pytest.approx(0.0001)
    assert found["estimated against actual sizes of steps: median ratio"].value == 3.0
    assert found["counts that disagree"].value == 1


def test_a_bar_without_cases_does_not_hold() -> None:
    found = bars([], [])
    assert not found["yeast, 32 vertices, limit 1e5: median ms"].holds
    assert not found["estimated against actual sizes of steps: median ratio"].holds
