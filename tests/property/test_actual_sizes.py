"""The actual sizes of steps are the numbers of partial embeddings, listed by the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.cpu import reference
from motiflux.plan import Plan, make_plan
from motiflux.request.request import make_request
from tests.rotating import rotating
from tests.strategies import COMBINATIONS, Case, Combination, cases

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]
PLAIN = private_tuning(
    {"tail": "off", "candidates": "off", "degrees": "off", "room": "off", "backjump": "off"}
)
"""No level in closed form, candidates that labels and edges alone decide, and nothing left out."""


def partial_embeddings(case: Case, plan: Plan, graph: mf.Graph, semantics: str, level: int) -> int:
    """Count the embeddings of what the first levels match, as far as their order restrictions hold."""
    matched = plan.order[: level + 1]
    place = {vertex: position for position, vertex in enumerate(matched)}
    found = reference.embeddings(
        len(case.ids),
        case.edges,
        [case.pattern_vertex_labels[vertex] for vertex in matched],
        [
            (place[u], place[v], labels, kind)
            for u, v, labels, kind in case.pattern_edges
            if u in place and v in place
        ],
        directed=case.directed,
        vertex_labels=case.vertex_labels,
        edge_labels=case.edge_labels,
        semantics=semantics,
    )
    internal = graph.vertex_index(list(case.ids)).tolist()
    kept = [(place[u], place[v]) for u, v in plan.restrictions if u in place and v in place]
    return sum(all(internal[image[u]] < internal[image[v]] for u, v in kept) for image in found)


def roots(case: Case, plan: Plan, graph: mf.Graph) -> int:
    """Count the vertices with an arc that the first query edge of the first two levels may use."""
    offsets, _ = graph.adjacency(plan.args.steps[1].adjacencies[0])
    return int(np.count_nonzero(np.diff(offsets)))


@pytest.mark.turns(2)
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(COMBINATIONS), ids=str)
def test_sizes_are_those_of_partial_embeddings(combination: Combination, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(cases(combination.directed, combination.labels), st.sampled_from((1, 2)))
    def holds(case: Case, threads: int) -> None:
        if not case.ids:
            return
        graph, pattern = case.graph(), case.pattern()
        options = {"semantics": combination.semantics, "symmetry": combination.symmetry}
        report = mf.explain(graph, pattern, analyze=True, threads=threads, tuning=PLAIN, **options).report
        if report.impossible is not None:
            return
        request = make_request(**options)
        plan = make_plan(
            graph,
            pattern,
            semantics=request.semantics,
            symmetry=request.symmetry,
            space=True,
            tail=True,
            tuning=PLAIN,
        )
        assert [step.vertex for step in report.steps] == [pattern.vertices[v].name for v in plan.order]
        assert report.steps[0].actual == roots(case, plan, graph)
        for level in range(1, len(plan.order)):
            expected = partial_embeddings(case, plan, graph, combination.semantics, level)
            assert report.steps[level].actual == expected

    holds()
