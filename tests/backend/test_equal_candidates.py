"""Query vertices with equal candidates on the CPU may have others on a device; answers are the same."""

from __future__ import annotations

import pytest

import motiflux as mf
from motiflux.engine.device_space import slot_keys
from motiflux.plan import make_plan
from tests.simt.image import unkind_by
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


@pytest.mark.parametrize("seed", range(6))
class TestWildcardsBesideLabels:
    def test_a_wildcard_lends_a_labelled_query_vertex_no_candidate(self, seed: int, device: str) -> None:
        with unkind_by(seed):
            counted = mf.count(LABELLED_EDGES, SQUARE, semantics="homomorphism", device=device)
            rows = rows_of(mf.match(LABELLED_EDGES, SQUARE, semantics="homomorphism", device=device))
        assert (counted, len(rows)) == (2, 2)

    @pytest.mark.parametrize("rounds", ["0", "1", "4"])
    def test_a_filter_that_stops_early_changes_no_count(self, seed: int, rounds: str, device: str) -> None:
        tuning = {"rounds": rounds, "tables": "off", "parts": "off"}
        with unkind_by(seed):
            assert mf.count(LABELLED_VERTICES, FAN, device=device, tuning=tuning) == 0


def test_only_query_vertices_that_require_the_same_share_candidates() -> None:
    plan = make_plan(LABELLED_EDGES, SQUARE, semantics="homomorphism", space=True)
    assert plan.space is not None
    required = plan.space.pattern.labels
    for keys in slot_keys(plan):
        for bits in (bits for key in keys for bits in (key.start, key.end)):
            assert len({required[vertex] for vertex in range(4) if bits >> vertex & 1}) == 1
