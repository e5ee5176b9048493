"""The suite `estimate`: what it draws, measures and holds against its targets."""

from __future__ import annotations

import json
import random
import runpy
from pathlib import Path

import numpy as np
import pytest

import motiflux as mf
from motiflux.bench.queries import dense_query, read_labelled, sparse_query

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
SUITE = runpy.run_path(str(BENCHMARKS / "suite/estimate.py"))


def grid() -> mf.Graph:
    edges = [(x + 6 * y, x + 1 + 6 * y) for x in range(5) for y in range(6)]
    edges += [(x + 6 * y, x + 6 * (y + 1)) for x in range(6) for y in range(5)]
    return mf.Graph.from_edges(edges, vertex_labels=[vertex % 3 for vertex in range(36)])


@pytest.mark.parametrize("draw", [dense_query, sparse_query])
@pytest.mark.parametrize("size", [4, 8, 16])
def test_queries_are_there_and_the_same_for_the_same_seed(draw: object, size: int) -> None:
    assert callable(draw)
    first, again = (draw(grid(), size, random.Random(5)) for _ in range(2))
    assert first == again
    assert first.num_vertices == size
    assert mf.count(grid(), first, limit=1) == 1
    if draw is sparse_query:
        assert 2 * first.num_edges < 3 * size


def test_labels_are_drawn_where_there_are_none(tmp_path: Path) -> None:
    file = tmp_path / "ring.txt"
    file.write_text("".join(f"{v} {(v + 1) % 50}\n" for v in range(50)))
    one, two, other = (read_labelled(file, 4, seed) for seed in (1, 1, 2))
    assert one.num_edges == 50
    assert np.array_equal(one.vertex_labels, two.vertex_labels)
    assert not np.array_equal(one.vertex_labels, other.vertex_labels)
    assert read_labelled(file, None, 0).vertex_labels is None


def test_q_errors_are_the_same_both_ways_and_floored() -> None:
    q_error = SUITE["q_error"]
    assert (q_error(50.0, 100), q_error(200.0, 100), q_error(0.0, 100)) == (2, 2, 100)
    assert (q_error(0.0, 0), q_error(0.25, 1)) == (1, 1)


def test_bars_are_of_what_was_measured() -> None:
    measured = SUITE["Measured"]()
    assert SUITE["bars"](measured, []) == []
    measured.errors += [1.0, 1.5]
    measured.covered += [True, False]
    measured.seconds += [0.01, 0.09]
    key = ("alley", "off", "trawled")
    measured.cuts[key] = [10.0, 1000.0]
    measured.slower[key] = [1.0, 1.21]
    measured.cuts["alley", "spread", "trawled"] = [1.0]
    found = {bar.bar: bar for bar in SUITE["bars"](measured, [])}
    assert [bar.holds for bar in found.values()] == [False, False, True, False, True, True, False]
    assert [bar.value for bar in found.values()] == pytest.approx([0.5, 1.25, 1.5, 90, 100, 1.1, 1.21])


def test_every_committed_query_has_a_count() -> None:
    counts = json.loads((BENCHMARKS / "queries/trawl_counts.json").read_text())
    files = {file.stem for file in (BENCHMARKS / "queries").glob("trawl_*.graph")}
    assert files == set(counts)
    for name in counts:
        assert mf.read_pattern(BENCHMARKS / f"queries/{name}.graph").num_vertices == 16
        assert name.split("_")[1] in SUITE["GRAPHS"]
