"""Query vertices with equal candidates on the CPU may have others on a device; answers are the same."""

from __future__ import annotations

import pytest

import motiflux as mf
from motiflux.gpu.storage.candidate_space import slot_keys
from motiflux.plan import Plan, make_plan
from motiflux.plan.candidates.space import candidate_space
from tests.simt.image import chances_by
from tests.strategies import rows_of

# A wildcard beside a labelled query vertex: the filter gives both the same candidates, if it gets that far.
LABELLED_EDGES = mf.Graph.from_edges(
    [
        *((0, 3), (0, 7), (1, 2), (1, 4), (1, 4), (1, 5), (1, 6), (2, 4)),
        *((2, 5), (2, 6), (2, 6), (2, 7), (3, 5), (3, 7), (5, 7)),
    ],
    vertex_labels=[0, 0, 1, 0, 1, 1, 1, 1],
    edge_labels=[1, 0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 1, 1, 1, 0],
)
SQUARE = mf.Pattern.from_edges(
    [(0, 1), (0, 2), (2, 3), (1, 3)], vertex_labels=[None, 1, 1, 0], edge_labels=[1, 0, None, 0]
)
LABELLED_VERTICES = mf.Graph.from_edges(
    [(0, 6), (0, 7), (1, 2), (1, 4), (2, 4), (2, 6), (3, 5), (3, 6), (4, 7), (5, 6)],
    vertex_labels=[1, 1, 0, 1, 1, 1, 0, 1],
)
FAN = mf.Pattern.from_edges([(0, 1), (0, 2), (0, 3), (0, 4), (3, 4)], vertex_labels=[0, 1, 1, None, None])


SQUARE_ROUNDS, FAN_ROUNDS = "16", "1"
"""Rounds after which the CPU gives a wildcard and a labelled query vertex the same candidates."""


def equal_on_the_cpu(graph: mf.Graph, plan: Plan, one: int, other: int) -> bool:
    """Whether two query vertices have the same candidates there, and require different labels."""
    assert plan.space is not None
    space = candidate_space(graph, plan.space, 1)
    assert space is not None
    assert plan.space.pattern.labels[one] != plan.space.pattern.labels[other]
    return space.native.classes[one] == space.native.classes[other]


@pytest.mark.parametrize("seed", range(8))
class TestWildcardsBesideLabels:
    def test_a_wildcard_lends_a_labelled_query_vertex_no_candidate(self, seed: int, device: str) -> None:
        tuning = {"rounds": SQUARE_ROUNDS}
        with chances_by(seed):
            counted = mf.count(LABELLED_EDGES, SQUARE, semantics="homomorphism", device=device, tuning=tuning)
            matches = mf.match(LABELLED_EDGES, SQUARE, semantics="homomorphism", device=device, tuning=tuning)
            rows = rows_of(matches)
        assert (counted, len(rows)) == (2, 2)

    def test_a_filter_that_stops_early_changes_no_count(self, seed: int, device: str) -> None:
        tuning = {"rounds": FAN_ROUNDS, "tables": "off", "parts": "off"}
        with chances_by(seed):
            assert mf.count(LABELLED_VERTICES, FAN, device=device, tuning=tuning) == 0


def test_candidates_are_equal_on_the_cpu_where_these_tests_take_them_to_be() -> None:
    square = make_plan(
        LABELLED_EDGES, SQUARE, semantics="homomorphism", space=True, tuning={"rounds": SQUARE_ROUNDS}
    )
    assert equal_on_the_cpu(LABELLED_EDGES, square, 0, 3)
    fan = make_plan(LABELLED_VERTICES, FAN, space=True, tuning={"rounds": FAN_ROUNDS})
    assert any(equal_on_the_cpu(LABELLED_VERTICES, fan, wild, 1) for wild in (3, 4)) or any(
        equal_on_the_cpu(LABELLED_VERTICES, fan, wild, 2) for wild in (3, 4)
    )


def test_only_query_vertices_that_require_the_same_share_candidates() -> None:
    tuning = {"rounds": SQUARE_ROUNDS}
    plan = make_plan(LABELLED_EDGES, SQUARE, semantics="homomorphism", space=True, tuning=tuning)
    assert plan.space is not None
    required = plan.space.pattern.labels
    for keys in slot_keys(plan):
        for bits in (bits for key in keys for bits in (key.start, key.end)):
            assert len({required[vertex] for vertex in range(4) if bits >> vertex & 1}) == 1
