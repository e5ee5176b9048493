"""Plans on a sketch of a graph: they are those that suit the graph."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest

import motiflux as mf
from motiflux.cluster.shards import build, store
from motiflux.cluster.shards.layout import Layout
from motiflux.cluster.shards.rows import Piece
from motiflux.cluster.shards.sketch import sketch_of
from motiflux.graph.arrays import Shares
from motiflux.plan.bind import bind
from motiflux.plan.estimate.predict import expected_seconds
from motiflux.plan.estimate.sampled import Estimate, plan_in_whole
from motiflux.plan.estimate.whole import edges_of_reads, in_whole
from motiflux.plan.passes.order import CostModel, frequencies, ordered
from motiflux.plan.planner import make_plan
from tests.inline_ray import InlineRay, replace_ray

DIAMOND = "(a)--(b)--(c)--(d)--(a), (a)--(c)"
HOUSE = "(a)--(b)--(c)--(d)--(a), (a)--(e)--(b)"
BOOK = "(a)--(b), (a)--(c)--(b), (a)--(d)--(b), (a)--(e)--(b)"
FIXED = {"order": "given", "tables": "off"}


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> InlineRay:
    return replace_ray(monkeypatch)


def small_graph() -> mf.Graph:
    return mf.generate.rmat(scale=6, edges=300, seed=1)


def test_sizes_grow_with_the_edges_among_vertices() -> None:
    pattern = bind(mf.Pattern.parse("(a)--(b)--(c)--(a), (c)--(d)"), small_graph())
    estimate = Estimate((10.0, 20.0, 30.0, 40.0), (1.0, 2.0, 3.0, 4.0), 4, (0.0,) * 4)
    whole = estimate.in_whole(Shares(0.5, 0.25), (0, 1, 2, 3), pattern)
    assert whole.sizes == (40.0, 40.0, 30.0 * 8, 40.0 * 16)
    assert whole.scanned == (1.0, 4.0, 12.0, 4.0 * 16)
    tail = replace(estimate, enumerated=2).in_whole(Shares(0.5, 0.25), (0, 1, 2, 3), pattern)
    assert tail.scanned == (1.0, 4.0, 12.0, 16.0), "sets of a tail are read once for what is enumerated"
    assert estimate.in_whole(None, (0, 1, 2, 3), pattern) is estimate
    assert estimate.in_whole(Shares(1.0, 1.0), (0, 1, 2, 3), pattern) is estimate


def test_sizes_beyond_the_range_of_floats_are_infinite() -> None:
    pattern = bind(mf.Pattern.parse("(a)--(b)--(c)--(a)"), small_graph())
    estimate = Estimate((1e300, 1e300, 1e300), (0.0, 1.0, 0.0), 3, (0.0,) * 3)
    whole = estimate.in_whole(Shares(1e-9, 0.5), (0, 1, 2), pattern)
    assert whole.sizes == (2e300, inf, inf)
    assert whole.scanned == (0.0, pytest.approx(1e9), 0.0)
    whole = estimate.in_whole(Shares(1e-200, 0.5), (0, 1, 2), pattern)  # the square is too small for a float
    assert whole.sizes == (2e300, inf, inf)
    assert whole.scanned == (0.0, 1e200, 0.0)
    plan = make_plan(small_graph(), mf.Pattern.parse(DIAMOND))
    assert in_whole(1.0, 1e-200, 2) == inf
    assert expected_seconds(replace(plan, probed=inf), 1, None) is None


@pytest.mark.parametrize("share", [1e-9, 4e-7])
@pytest.mark.parametrize("parts", ["auto", "on"])
def test_cliques_of_a_huge_graph_are_planned_and_explained(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float, parts: str
) -> None:
    def sketched(layout: Layout, piece: Piece) -> mf.Graph:
        return replace(sketch_of(layout, piece), sketched=Shares(share, share))

    monkeypatch.setattr(store, "sketch_of", sketched)
    mf.write_graph(small_graph(), tmp_path / "edges.npz")
    with mf.Cluster() as cluster:
        made = cluster.shard([tmp_path / "edges.npz"], tmp_path / "g")
        assert made.sketch.sketched == Shares(share, share)
        for size in (5, 12):
            clique = ", ".join(f"(v{u})--(v{v})" for u in range(size) for v in range(u))
            assert "inf" not in str(cluster.explain(made, clique, tuning={"parts": parts})).split()
            assert cluster.count(made, clique, tuning={"parts": parts}) == mf.count(small_graph(), clique)


def test_frequencies_are_those_of_the_whole_graph() -> None:
    graph = small_graph()
    pattern = bind(mf.Pattern.parse("(a)--(b)"), graph)
    (vertices, _), (arcs,) = frequencies(pattern, graph)
    whole = frequencies(pattern, replace(graph, sketched=Shares(0.25, 0.5)))
    assert whole == ([2 * vertices] * 2, [4 * arcs])


@pytest.mark.parametrize(
    ("pattern", "tuning", "edges"),
    [
        ("(a)--(b)--(c)--(a)", {}, 2),
        ("(a)--(b)--(c)--(a), (a)--(d), (b)--(d), (c)--(d)", {}, 4),
        (BOOK, {"parts": "off"}, 2),  # three from the common neighbours of one edge
        (DIAMOND, {"tail": "off"}, 4),
        ("(a)--(b)--(c)--(d)--(e)", {"tail": "off", "parts": "off"}, 4),
        ("(a)--(b)--(c)--(d)--(e)", {"parts": "on", "order": "sampled"}, 3),  # a list of its ends
        (HOUSE, {"parts": "on", "order": "sampled"}, 3),  # two vertices beside one edge and a third vertex
    ],
)
def test_what_is_read_depends_on_the_edges_before(pattern: str, tuning: dict[str, str], edges: int) -> None:
    graph = small_graph()
    parsed = mf.Pattern.parse(pattern)
    plan = make_plan(graph, parsed, tail=True, parts=True, tuning={**FIXED, **tuning})
    assert edges_of_reads(plan, bind(parsed, graph)) == edges


@pytest.mark.parametrize("pattern", [DIAMOND, HOUSE, BOOK])
def test_sizes_of_plans_are_those_of_the_sketch(pattern: str) -> None:
    graph, shares, parsed = small_graph(), Shares(0.25, 0.5), mf.Pattern.parse(pattern)
    bound, sketch = bind(parsed, graph), replace(graph, sketched=shares)
    plan = make_plan(sketch, parsed, tuning=FIXED)
    assert plan.scanned == (), "nothing was sampled"
    order = ordered(bound, CostModel(bound, *frequencies(bound, sketch)), plan.order)
    assert plan.estimates[:2] == pytest.approx((graph.num_vertices, 2 * graph.num_edges), rel=0.02)
    assert plan_in_whole(plan, shares, bound).estimates == pytest.approx(order.estimates)


def test_what_samples_do_not_reach_is_as_much_as_the_order_says() -> None:
    shares, parsed = Shares(0.001, 0.5), mf.Pattern.parse("(a)--(b)--(c)--(a), (c)--(d)--(e)--(c)")
    path = replace(mf.Graph.from_edges([(u, u + 1) for u in range(40)]), sketched=shares)
    plan = make_plan(path, parsed, tail=False, tuning={"tail": "off", "tables": "off", "order": "sampled"})
    assert plan.scanned
    assert plan.estimates[-1] < 1


def test_times_of_compared_plans_are_those_of_the_whole_graph() -> None:
    pairs = np.random.default_rng(1).integers(0, 40, (300, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    graph = mf.Graph.from_edges(pairs, edge_attributes={"t": np.arange(len(pairs))})
    pattern = mf.Pattern.parse("(a)-[e]-(b)-[f]-(c)-[g]-(a) WHERE e.t < f.t AND f.t < g.t")
    here = make_plan(graph, pattern, copy_walks=False)
    whole = make_plan(replace(graph, sketched=Shares(0.1, 0.5)), pattern, copy_walks=False)
    assert here.probed is not None
    assert whole.order == here.order
    assert whole.probed == pytest.approx(100 * here.probed)


def test_plans_without_a_search_stay_as_they_are() -> None:
    graph = small_graph()
    pattern = mf.Pattern.parse("(a:x)--(b)")
    plan = make_plan(graph, pattern)
    assert plan.impossible is not None
    assert plan_in_whole(plan, Shares(0.5, 0.5), bind(pattern, graph)) is plan


@pytest.mark.parametrize("pattern", [DIAMOND, HOUSE, BOOK])
def test_closed_forms_are_taken_where_a_sketch_has_few_triangles(
    ray: InlineRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    monkeypatch.setattr(build, "_SKETCH_ENTRIES", 3_000)
    graph = mf.generate.rmat(scale=11, edges=30_000, seed=1)
    mf.write_graph(graph, tmp_path / "edges.npz")
    with mf.Cluster() as cluster:
        made = cluster.shard([tmp_path / "edges.npz"], tmp_path / "g", shards=2)
        assert made.sketch.sketched is not None
        assert made.sketch.sketched.edges < 0.1
        explained = str(cluster.explain(made, pattern, tuning={"tables": "off"}))
        levels = [line.split()[:2] for line in explained.splitlines() if line[:1].isdigit()]
        assert [level[0] for level in levels[:2]] == ["0", "1"]
        assert all(level[1] == "tail" for level in levels[2:])
        if pattern != HOUSE:
            assert cluster.count(made, pattern) == mf.count(graph, pattern)


def test_a_sketch_of_all_edges_is_the_graph(ray: InlineRay, tmp_path: Path) -> None:
    mf.write_graph(small_graph(), tmp_path / "edges.npz")
    with mf.Cluster() as cluster:
        assert cluster.shard([tmp_path / "edges.npz"], tmp_path / "g").sketch.sketched is None
