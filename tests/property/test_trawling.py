"""Slots of a trawl against the reference: what is worth something is there, and all of it is found."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import resolve_tuning
from motiflux.cpu.sampling import sample_graph
from motiflux.cpu.trawling import CHUNK, LEAST_DEPTH, Trawl, searches_of
from motiflux.plan.sampling import sampling_plan
from motiflux.statistics import UNIT_BITS
from motiflux.types import Semantics, Symmetry
from tests.rotating import rotating
from tests.strategies import COMBINATIONS, Case, Combination, cases

PLENTY = 1 << 40
MOST = 6.0
"""Standard errors; slots of small cases are skewed, and there are thousands of cases."""
FEW = 8
"""Slots worth something, below which a mean and its error say nothing."""


def trawl_of(case: Case, combination: Combination, tuning: dict[str, str]) -> Trawl | None:
    graph = case.graph()
    plan = sampling_plan(
        graph,
        case.pattern(),
        semantics=Semantics(combination.semantics),
        symmetry=Symmetry.EMBEDDINGS,
        threads=1,
        deadline=None,
        switches=resolve_tuning(tuning),
    )
    if plan.impossible or len(plan.order) <= LEAST_DEPTH:
        return None
    searches = searches_of(graph, plan, 1, resolve_tuning(tuning))
    return Trawl(sample_graph(graph, plan, 1), searches, look_every=1)


@pytest.mark.parametrize("depth", ["default", pytest.param("long", marks=pytest.mark.long)])
@pytest.mark.parametrize("combination", rotating(COMBINATIONS), ids=str)
def test_slots_agree_with_the_reference(combination: Combination, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(
        cases(combination.directed, combination.labels),
        st.sampled_from(("auto", "on", "off")),
        st.sampled_from(("auto", "off")),
        st.sampled_from(("0", "3", "4")),
        st.sampled_from((0, 1, 3, 10, PLENTY)),
        st.sampled_from(("deepen", "sample")),
        st.integers(0, 2**64 - 1),
    )
    def holds(
        case: Case, candidates: str, backjump: str, cycles: str, nodes: int, unfinished: str, seed: int
    ) -> None:
        count = len(case.embeddings(combination.semantics))
        tuning = {"candidates": candidates, "backjump": backjump, "cycles": cycles}
        trawl = trawl_of(case, combination, tuning)
        if trawl is None:
            return
        assert trawl.count_all(PLENTY) == count
        found = trawl.run(seed, 0, 32 * CHUNK, nodes=nodes, unfinished=unfinished, threads=1)
        worth = np.ldexp(found.weights, UNIT_BITS)
        if count == 0:
            assert not worth.any()
        # Sizes of sets times numbers of embeddings.
        assert all(Fraction(value).denominator == 1 for value in worth)
        if np.count_nonzero(worth) >= FEW:
            error = worth.std(ddof=1) / len(worth) ** 0.5
            assert abs(worth.mean() - count) <= MOST * error + 1e-9 * count

    holds()


@pytest.mark.turns(8)
@settings(settings.get_profile("default"))
@given(cases(False, "none"), st.sampled_from((0, 1, 3, PLENTY)))
def test_a_count_that_is_given_up_is_none_or_right(case: Case, nodes: int) -> None:
    combination = COMBINATIONS[0]
    trawl = trawl_of(case, combination, {"candidates": "on"})
    if trawl is not None:
        assert trawl.count_all(nodes) in (None, len(case.embeddings(combination.semantics)))


@settings(settings.get_profile("default"))
@given(cases(False, "none"), st.sampled_from(("embeddings", "subgraphs")))
def test_estimates_that_are_exact_are_the_count(case: Case, symmetry: str) -> None:
    found = mf.estimate(
        case.graph(), case.pattern(), samples=10**6, symmetry=symmetry, threads=1, tuning={"trawling": "on"}
    )
    if found.estimator == "exact":
        images = (
            case.occurrences("isomorphism") if symmetry == "subgraphs" else case.embeddings("isomorphism")
        )
        assert found.value == found.low == found.high == len(images)
