"""Charts: what is on the axes, without a screen."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux import plot
from motiflux.errors import ArgumentError, MotifluxError

STAR = [(0, leaf) for leaf in range(1, 10)]


@pytest.fixture
def pyplot() -> Iterator[Any]:
    matplotlib = pytest.importorskip("matplotlib", reason="the package matplotlib is not installed")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    yield plt
    plt.close("all")


@pytest.mark.parametrize("direction", ["both", "out", "in"])
def test_shares_are_those_of_vertices_of_at_least_a_degree(direction: Any) -> None:
    random = np.random.default_rng(4)
    pairs = [(int(u), int(v)) for u, v in random.integers(0, 30, (90, 2)) if u != v]
    graph = mf.Graph.from_edges(pairs, directed=True, num_vertices=40)
    found = [0] * 40
    for u, v in set(pairs):
        found[u] += direction != "in"
        found[v] += direction != "out"
    degrees, shares = plot.tail_shares(graph, direction=direction)
    assert degrees.tolist() == sorted(set(found) - {0})
    for degree, share in zip(degrees.tolist(), shares.tolist(), strict=True):
        assert share == pytest.approx(sum(one >= degree for one in found) / 40)


def test_an_undirected_edge_counts_once_at_each_end() -> None:
    degrees, shares = plot.tail_shares(mf.Graph.from_edges(STAR))
    assert (degrees.tolist(), shares.tolist()) == ([1, 9], [1.0, 0.1])


def test_degrees_are_drawn_on_logarithmic_scales(pyplot: Any) -> None:
    ax = plot.degree_distribution(mf.Graph.from_edges(STAR), label="a star")
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    (line,) = ax.get_lines()
    assert (line.get_xdata().tolist(), line.get_ydata().tolist()) == ([1, 9], [1.0, 0.1])
    assert ax.get_legend() is not None
    assert plot.degree_distribution(mf.Graph.from_edges(STAR), ax=ax) is ax
    ax.figure.canvas.draw()


def test_a_graph_without_edges_has_an_empty_chart(pyplot: Any) -> None:
    ax = plot.degree_distribution(mf.Graph.from_edges([], num_vertices=3))
    assert ax.get_lines()[0].get_xdata().tolist() == []
    ax.figure.canvas.draw()


def test_counts_are_bars_in_their_order(pyplot: Any) -> None:
    graph = mf.Graph.from_edges(STAR)
    ax = plot.counts({"wedges": mf.count(graph, "(a)--(b)--(c)"), "triangles": 0})
    assert [bar.get_width() for bar in ax.patches] == [72.0, 0.0]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["wedges", "triangles"]
    assert [text.get_text() for text in ax.texts] == ["72", "0"]
    ax.figure.canvas.draw()


def test_counts_of_two_graphs_stand_side_by_side(pyplot: Any) -> None:
    ax = plot.counts({"x": 1, "y": 10**30}, other={"y": 5, "x": 2}, labels=("one", "two"))
    assert [bar.get_width() for bar in ax.patches] == [1.0, 1e30, 2.0, 5.0]
    assert ax.get_xscale() == "log"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "two"]
    ax.figure.canvas.draw()


def test_a_count_that_was_cut_says_so(pyplot: Any) -> None:
    cut = mf.count(mf.Graph.from_edges(STAR), "(a)--(b)", limit=2)
    assert [text.get_text() for text in plot.counts({"edges": cut}).texts] == ["> 2"]


@pytest.mark.parametrize(
    ("given", "other", "message"),
    [
        ({}, None, "expected 1 to 64 counts"),
        ({"x": -1}, None, r"counts\['x'\]: expected an integer from 0 to 2\*\*128, found -1"),
        ({"x": 1}, {"x": 10**400}, r"other\['x'\]: expected an integer from 0 to 2\*\*128"),
        ({"a": "x"}, None, r"counts\['a'\]: expected an integer from 0 to 2\*\*128, found 'x'"),
        ([("a", 1), ("a", 2)], None, "counts: expected each name once, found 'a'"),
        ([1, 2], None, "counts: expected counts by name, or pairs of a name and a count"),
        ({1: 2}, None, "counts: expected names that are strings, found 1"),
        ({"x": 1}, {"y": 1}, "other: expected counts of x"),
    ],
)
def test_what_is_no_count_is_refused(given: Any, other: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        plot.counts(given, other=other)


def test_directions_have_names() -> None:
    with pytest.raises(ArgumentError, match="direction: expected 'both', 'out' or 'in'"):
        plot.tail_shares(mf.Graph.from_edges(STAR), direction="up")  # type: ignore[arg-type]


def test_without_matplotlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for draw in (lambda: plot.degree_distribution(mf.Graph.from_edges(STAR)), lambda: plot.counts({"x": 1})):
        with pytest.raises(MotifluxError, match="the extra 'plot'"):
            draw()


def test_an_estimate_is_drawn_with_its_interval_and_the_true_count(pyplot: Any) -> None:
    graph = mf.Graph.from_edges([(u, v) for u in range(9) for v in range(u)])
    found = mf.estimate(graph, "(a)--(b)--(c)--(a)", samples=50_000)
    ax = plot.estimate(found, true=504)
    line = ax.get_lines()[0]
    assert list(line.get_xdata()) == [point.samples for point in found.trace]
    assert list(line.get_ydata()) == [point.value for point in found.trace]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "estimate",
        "95 % interval",
        "true count",
    ]
    with pytest.raises(ArgumentError, match="result: expected an estimate with a trace"):
        plot.estimate(mf.estimate(graph, "(a:9)--(b)"))


def test_z_scores_are_bars_with_p_values(pyplot: Any) -> None:
    ring = mf.Graph.from_edges([(v, (v + d) % 30) for v in range(30) for d in (1, 2)], directed=True)
    found = mf.significance(ring, {"fan": "(a)-->(b)<--(c)", "chain": "(a)-->(b)-->(c)"}, nulls=20)
    loop = mf.significance(ring, {"loop": "(a)-->(b)-->(c), (a)-->(c)"}, nulls=20)
    ax = plot.significance(loop)
    assert [bar.get_width() for bar in ax.patches] == loop.z.tolist()
    assert [text.get_text() for text in ax.get_yticklabels()] == ["loop"]
    # All graphs of these degrees have as many fans: their z-score is 0.
    assert found["fan"].z == 0
    empty = mf.significance(ring, {"loop": "(a)-->(b)-->(c), (a)-->(c)"}, nulls=1)
    with pytest.raises(ArgumentError, match="a finite z-score"):
        plot.significance(empty)
