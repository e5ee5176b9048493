"""How often a search is expected to open rows: against what it does open."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import motiflux as mf
from motiflux.gpu.engine import CAPABILITIES
from motiflux.gpu.storage.device_csr import RowsKey
from motiflux.gpu.storage.expected_opens import ArcNumbers, Arcs, ArcsKey, Opens, opens_of
from motiflux.plan import Plan
from motiflux.request.deadline import Deadline
from motiflux.request.planning import logical_plan
from motiflux.request.request import make_request


def plan_of(graph: mf.Graph, pattern: str, **options: str) -> Plan:
    request = make_request(**{"semantics": "isomorphism", "symmetry": "subgraphs", **options})
    capabilities = CAPABILITIES
    plan = logical_plan(graph, mf.Pattern.parse(pattern), request, capabilities, Deadline.after(None))
    assert plan is not None
    return plan


@pytest.fixture(scope="module")
def graph() -> mf.Graph:
    rng = np.random.default_rng(3)
    return mf.Graph.from_edges([pair for pair in combinations(range(60), 2) if rng.random() < 0.2])


def test_levels_of_a_triangle_are_reached_from_lesser_vertices(graph: mf.Graph) -> None:
    plan = plan_of(graph, "(a)--(b)--(c)--(a)")
    opens = {key.above: opens for key, opens in opens_of(plan).items() if isinstance(key, RowsKey)}
    assert [one.reached for one in opens[True]] == [(), (Arcs.FROM_LESSER,)]
    assert opens[True][1].times == pytest.approx(graph.num_edges, rel=0.3)
    assert [one.reached for one in opens[False]] == [()]


def test_degrees_alone_open_nothing_and_induced_matching_opens_all_arcs(graph: mf.Graph) -> None:
    plain = opens_of(plan_of(graph, "(a)--(b)--(c)--(a), (c)--(d)"))
    assert [list(opens) for key, opens in plain.items() if isinstance(key, ArcsKey)] in ([], [[]])
    induced = opens_of(plan_of(graph, "(a)--(b)--(c)--(d)--(a)", semantics="induced"))
    ((into, opens),) = ((key, opens) for key, opens in induced.items() if isinstance(key, ArcsKey))
    assert not into.into
    assert opens
    assert all(isinstance(one, Opens) for one in opens)


def test_ways_to_a_vertex_are_products_of_its_numbers_of_arcs(graph: mf.Graph) -> None:
    numbers = ArcNumbers(graph, 1)
    degrees = np.diff(graph.forward.offsets).astype(np.int64)
    sources = np.repeat(np.arange(graph.num_vertices), degrees)
    greater = np.bincount(sources[sources < graph.forward.neighbors], minlength=graph.num_vertices)
    every = 0, graph.num_vertices
    assert np.array_equal(numbers.product((), *every), np.ones(graph.num_vertices))
    assert np.array_equal(numbers.product((Arcs.ALL,), *every), degrees)
    assert np.array_equal(numbers.product((Arcs.FROM_GREATER,), *every), greater)
    assert np.array_equal(
        numbers.product((Arcs.FROM_LESSER, Arcs.ALL), *every), (degrees - greater) * degrees
    )
    assert np.array_equal(numbers.product((Arcs.ALL,), 7, 9), degrees[7:9])


def test_in_a_directed_graph_both_directions_count() -> None:
    graph = mf.Graph.from_edges([(0, 1), (0, 2), (1, 2)], directed=True)
    numbers = ArcNumbers(graph, 1)
    for arcs in Arcs:
        assert sorted(numbers.product((arcs,), 0, 3)) == [2, 2, 2]
