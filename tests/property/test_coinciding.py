"""Vertices that may coincide: sets of embeddings against the oracle, for every meaning and direction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.cpu import reference
from motiflux.pattern.automorphism import automorphisms
from tests.rotating import rotating
from tests.strategies import EMBEDDINGS, Case, Combination, cases, rows_of

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]


@dataclass(frozen=True)
class Coinciding:
    """A case, and the pairs of its query vertices that may coincide."""

    case: Case
    pairs: tuple[tuple[int, int], ...]

    def pattern(self) -> mf.Pattern:
        return replace(self.case.pattern(), may_coincide=self.pairs)

    def embeddings(self, semantics: str) -> set[tuple[Any, ...]]:
        case = self.case
        found = reference.embeddings(
            len(case.ids),
            case.edges,
            case.pattern_vertex_labels,
            case.pattern_edges,
            directed=case.directed,
            vertex_labels=case.vertex_labels,
            edge_labels=case.edge_labels,
            semantics=semantics,
            may_coincide=self.pairs,
        )
        return {case.to_ids(image) for image in found}


@st.composite
def coinciding_cases(draw: st.DrawFn, directed: bool, labels: str) -> Coinciding:
    """Draw a case; nearly any of the pairs that no query edge joins may coincide."""
    case = draw(cases(directed, labels))
    joined = {frozenset((u, v)) for u, v, _, _ in case.pattern_edges}
    apart = [
        pair
        for pair in combinations(range(len(case.pattern_vertex_labels)), 2)
        if frozenset(pair) not in joined
    ]
    pairs = draw(st.sets(st.sampled_from(apart)) | st.just(set(apart))) if apart else set()
    return Coinciding(case, tuple(sorted(pairs)))


def check(combination: Combination, depth: str, device: str, **options: Any) -> None:
    @settings(settings.get_profile(depth))
    @given(coinciding_cases(combination.directed, combination.labels))
    def holds(drawn: Coinciding) -> None:
        expected = drawn.embeddings(combination.semantics)
        graph, pattern = drawn.case.graph(), drawn.pattern()
        given_options: dict[str, Any] = {"semantics": combination.semantics, "device": device, **options}
        rows = rows_of(mf.match(graph, pattern, **given_options))
        assert set(rows) == expected
        assert len(rows) == len(expected), "a row came twice"
        assert mf.count(graph, pattern, **given_options) == len(expected)

    holds()


@pytest.mark.turns(2, "cpu", "emulated")
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(EMBEDDINGS), ids=str)
def test_matches_and_count_are_the_embeddings_of_the_reference(
    combination: Combination, depth: str, device: str
) -> None:
    check(combination, depth, device)


@pytest.mark.turns(2, "cpu", "emulated")
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(
    "tuning",
    [{"order": "given"}, {"degrees": "off"}, {"reuse": "off"}],
    ids=lambda tuning: "-".join(*tuning.items()),
)
@pytest.mark.parametrize("combination", rotating(EMBEDDINGS, most=5), ids=str)
def test_the_passes_of_a_plan_change_nothing(
    combination: Combination, tuning: dict[str, str], depth: str, device: str
) -> None:
    check(combination, depth, device, tuning=private_tuning(tuning))


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("directed", [False, True])
def test_automorphisms_keep_the_pairs_that_may_coincide(directed: bool, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(coinciding_cases(directed, "none"))
    def holds(drawn: Coinciding) -> None:
        expected = reference.automorphisms(
            drawn.case.pattern_vertex_labels,
            drawn.case.pattern_edges,
            directed=directed,
            may_coincide=drawn.pairs,
        )
        assert automorphisms(drawn.pattern(), directed=directed).order == len(expected)

    holds()


def star(leaves: int) -> mf.Graph:
    return mf.Graph.from_edges([(0, leaf) for leaf in range(1, leaves + 1)])


def test_a_vertex_at_two_matched_levels_is_taken_off_the_last_level_once(device: str) -> None:
    """Leaves a and b may coincide; c differs from both: n maps with a = b, n(n - 1) others."""
    fork = mf.Pattern.from_edges([(0, 1), (0, 2), (0, 3)], may_coincide=[(1, 2)])
    order: dict[str, Any] = {"tuning": {"order": "given"}, "device": device}
    expected = sum(1 for a in range(5) for b in range(5) for c in range(5) if c not in (a, b))
    assert mf.count(star(5), fork, **order) == expected
    assert len(rows_of(mf.match(star(5), fork, **order))) == expected


def test_a_degree_is_bounded_by_the_neighbours_that_must_differ(device: str) -> None:
    """With all leaves in one place a hub of degree one will do."""
    leaves = [(0, 1), (0, 2), (0, 3)]
    free = mf.Pattern.from_edges(leaves, may_coincide=[(1, 2), (1, 3), (2, 3)])
    assert mf.count(star(1), free, device=device) == 2
    partly = mf.Pattern.from_edges(leaves, may_coincide=[(1, 2)])
    assert mf.count(star(1), partly, device=device) == 0
    assert mf.count(star(2), partly, device=device) == 2


@pytest.mark.parametrize("search", [mf.count, mf.match, mf.explain])
def test_subgraphs_are_refused_by_name(search: Callable[..., object]) -> None:
    pattern = mf.Pattern.from_edges([(0, 1), (1, 2)], may_coincide=[(0, 2)])
    with pytest.raises(
        mf.ArgumentError, match="symmetry: expected 'embeddings' for a pattern with vertices that"
    ):
        search(star(2), pattern, symmetry="subgraphs")
