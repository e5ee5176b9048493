"""Expected embeddings after each phase."""

from __future__ import annotations

from itertools import combinations

import pytest

import motiflux as mf
from motiflux.plan.bind import bind
from motiflux.plan.phases.data import PhasePlan
from motiflux.plan.phases.decompose import decompose
from motiflux.plan.phases.estimates import phase_estimates
from motiflux.plan.phases.statistics import phase_statistics
from motiflux.types import Semantics
from tests.phases_reference import Executor
from tests.unit.phase_cases import phases_of, star


def estimates(graph: mf.Graph, text: str, semantics: str = "homomorphism", **options: bool) -> list[float]:
    pattern = mf.Pattern.parse(text)
    bound = bind(pattern, graph)
    plan = phases_of(graph, pattern, semantics, **options)
    return list(phase_estimates(plan, bound, phase_statistics(bound, graph)))


def regular() -> mf.Graph:
    """Return a cycle of ten vertices: each has two neighbours."""
    return mf.Graph.from_edges([(v, (v + 1) % 10) for v in range(10)])


def test_are_exact_for_trees_in_regular_graphs() -> None:
    assert estimates(regular(), "(a)--(b)") == [20]
    assert estimates(regular(), "(a)--(b), (a)--(c), (a)--(d)")[-1] == pytest.approx(80)


def test_fall_by_the_share_of_pairs_with_an_edge() -> None:
    first, closed = estimates(regular(), "(a)--(b)--(c)--(a)")
    assert first == pytest.approx(40)
    assert closed == pytest.approx(40 * 20 / 100)


@pytest.mark.parametrize("leaves", [2, 3, 4])
def test_are_divided_by_the_orders_of_interchangeable_vertices(leaves: int) -> None:
    graph, pattern = regular(), mf.Pattern.from_edges(star(leaves))
    bound = bind(pattern, graph)
    sizes = []
    for once_each in (False, True):
        statistics = phase_statistics(bound, graph)
        plan = decompose(pattern, bound, statistics, Semantics.ISOMORPHISM, once_each=once_each)
        assert isinstance(plan, PhasePlan)
        sizes.append((phase_estimates(plan, bound, statistics)[-1], plan.automorphisms))
    (all_images, order), (one_image, _) = sizes
    assert one_image * order == pytest.approx(all_images)


def test_follow_each_direction_by_its_arcs() -> None:
    """Arcs of both directions between the same query vertices are told apart."""
    graph = mf.Graph.from_edges(
        [(0, 1), (0, 2), (0, 3), (3, 4)], vertex_labels=["s", "t", "t", "t", "u"], directed=True
    )
    assert estimates(graph, "(a:s)-->(b:t)") == [3]
    assert estimates(graph, "(a:t)-->(b:u)") == [1]
    both = mf.Graph.from_edges([(0, 1), (1, 0), (0, 2), (2, 3)], directed=True)
    sizes = estimates(both, "(a)-->(b), (b)-->(a)")
    assert len(sizes) == 2
    assert sizes[0] == pytest.approx(4)


def test_have_the_labels_of_edges() -> None:
    pairs = list(combinations(range(6), 2))
    graph = mf.Graph.from_edges(pairs, edge_labels=["x" if v < 3 else "y" for _, v in pairs])
    assert estimates(graph, "(a)-[:x]-(b)") == [6]
    assert estimates(graph, "(a)-[:y]-(b)") == [24]
    assert estimates(graph, "(a)-[:x|y]-(b)") == [30]


def test_are_about_as_large_as_the_sizes_of_a_run() -> None:
    graph, pattern = regular(), mf.Pattern.parse("(a)--(b)--(c)--(d)")
    bound = bind(pattern, graph)
    plan = phases_of(graph, pattern, "homomorphism")
    run = Executor(graph, plan, chunk=1000)
    run.rows()
    assert list(phase_estimates(plan, bound, phase_statistics(bound, graph))) == pytest.approx(run.sizes)
