"""The mean of estimates is the count."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from tests.rotating import rotating
from tests.strategies import COMBINATIONS, Case, Combination, cases
from tests.unit.sampling_cases import CASES, ESTIMATORS, INHERITANCE, SamplingCase, means

MOST = 4.3
"""Standard errors that a mean may be off: of some hundred tests one in a hundred would fail by chance."""

WAYS = list(product(ESTIMATORS, INHERITANCE))


def distance(values: np.ndarray, count: int) -> float:
    """How many standard errors the mean is from the count."""
    error = values.std(ddof=1) / len(values) ** 0.5
    difference = abs(float(values.mean()) - count)
    if difference <= 1e-9 * max(count, 1):
        return 0.0
    return difference / error if error > 0 else float("inf")


@pytest.mark.parametrize("groups", [300, pytest.param(20_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_groups_have_the_count_for_their_mean(case: SamplingCase, groups: int) -> None:
    count = case.count()
    assert count > 0
    for estimator, inheritance in WAYS:
        for candidates in ("on", "off"):
            drawn = case.groups(estimator, inheritance, 5, groups, candidates=candidates)
            assert distance(means(drawn), count) < MOST, (estimator, inheritance, candidates)


@pytest.mark.parametrize("order", ["quicksi", "plan", "cost"])
@pytest.mark.parametrize("case", CASES[::4], ids=str)
def test_whatever_the_order(case: SamplingCase, order: str) -> None:
    drawn = case.groups("alley", "spread", 9, 300, sample_order=order)
    assert distance(means(drawn), case.count()) < MOST


@pytest.mark.parametrize("seeds", [40, pytest.param(1000, marks=pytest.mark.long)])
@pytest.mark.parametrize("estimator", [*ESTIMATORS, "auto"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_estimates_of_many_seeds_have_the_count_for_their_mean(
    case: SamplingCase, estimator: str, seeds: int
) -> None:
    found = [
        mf.estimate(
            case.graph,
            case.pattern,
            semantics=case.semantics,
            estimator=estimator,
            samples=256,
            seed=seed,
            threads=1,
            tuning={"count_first": "off"},
        ).value
        for seed in range(seeds)
    ]
    assert distance(np.array(found), case.count()) < MOST


@pytest.mark.parametrize("depth", ["default", pytest.param("long", marks=pytest.mark.long)])
@pytest.mark.parametrize("combination", rotating(COMBINATIONS), ids=str)
def test_estimates_agree_with_the_reference(combination: Combination, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(
        cases(combination.directed, combination.labels),
        st.sampled_from(ESTIMATORS),
        st.sampled_from(INHERITANCE),
        st.sampled_from(("auto", "on", "off")),
        st.integers(0, 2**64 - 1),
    )
    def holds(case: Case, estimator: str, inheritance: str, candidates: str, seed: int) -> None:
        subgraphs = combination.symmetry == "subgraphs"
        images = case.embeddings(combination.semantics)
        count = len(case.occurrences(combination.semantics)) if subgraphs else len(images)
        found = mf.estimate(
            case.graph(),
            case.pattern(),
            semantics=combination.semantics,
            symmetry=combination.symmetry,
            estimator=estimator,
            confidence=1 - 1e-7,
            samples=8192,
            seed=seed,
            threads=1,
            tuning={"inheritance": inheritance, "candidates": candidates},
        )
        assert found.low <= count * (1 + 1e-9)
        assert count <= found.high * (1 + 1e-9)
        assert found.complete
        if found.valid_samples > 0:
            assert count > 0, "a sample that is no embedding counted as one"

    holds()
