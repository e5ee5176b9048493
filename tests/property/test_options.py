"""Options that say how to search, or how much of it, change nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import PRIVATE, TUNING, private_tuning
from motiflux.plan.native_plan import simd_here
from tests.rotating import rotating
from tests.strategies import COMBINATIONS, Case, Combination, cases, rows_of

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]


def tuning_choices() -> list[tuple[str, str]]:
    """Every value of every tuning switch, but for instructions that this processor lacks."""
    lacking = {*TUNING["simd"].values} - {"auto", *simd_here()}
    return [
        (name, value)
        for name, option in {**TUNING, **PRIVATE}.items()
        for value in option.values
        if name != "simd" or value not in lacking
    ]


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(COMBINATIONS), ids=str)
def test_limit_cuts_the_count_and_says_so(combination: Combination, depth: str, device: str) -> None:
    @settings(settings.get_profile(depth))
    @given(cases(combination.directed, combination.labels), st.data())
    def holds(case: Case, data: st.DataObject) -> None:
        options = combination.options(device)
        graph, pattern = case.graph(), case.pattern()
        all_rows = set(rows_of(mf.match(graph, pattern, **options)))
        true_count = len(all_rows)
        limit = data.draw(
            st.integers(1, true_count + 2) | st.sampled_from((max(true_count, 1), 10**6)), label="limit"
        )
        counted = mf.count(graph, pattern, limit=limit, **options)
        assert counted == min(true_count, limit)
        assert counted.complete == (true_count <= limit)
        matches = mf.match(graph, pattern, limit=limit, **options)
        rows = rows_of(matches)
        assert len(rows) == len(set(rows)) == min(true_count, limit)
        assert set(rows) <= all_rows or combination.symmetry == "subgraphs"
        assert matches.complete == (true_count <= limit)

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(COMBINATIONS, most=6), ids=str)
def test_threads_and_batch_size_change_no_result(combination: Combination, depth: str, device: str) -> None:
    @settings(settings.get_profile(depth))
    @given(cases(combination.directed, combination.labels), st.integers(1, 5))
    def holds(case: Case, batch_rows: int) -> None:
        options = combination.options(device)
        graph, pattern = case.graph(), case.pattern()
        one = rows_of(mf.match(graph, pattern, threads=1, **options))
        for matches in (
            mf.match(graph, pattern, threads=2, **options),
            mf.match(graph, pattern, batch_rows=batch_rows, **options),
        ):
            assert sorted(rows_of(matches)) == sorted(one)
        assert all(
            len(batch) <= batch_rows for batch in mf.match(graph, pattern, batch_rows=batch_rows, **options)
        )
        assert mf.count(graph, pattern, threads=1, **options) == len(one)
        assert mf.count(graph, pattern, threads=2, **options) == len(one)

    holds()


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(COMBINATIONS, most=8), ids=str)
def test_tuning_switches_change_no_result(combination: Combination, depth: str, device: str) -> None:
    choices = tuning_choices()
    if device != "cpu":  # a compilation for every pattern drawn: tests/backend/test_specialized.py has a few
        choices.remove(("specialize", "on"))

    @settings(settings.get_profile(depth))
    @given(cases(combination.directed, combination.labels), st.data())
    def holds(case: Case, data: st.DataObject) -> None:
        options = combination.options(device)
        graph, pattern = case.graph(), case.pattern()
        expected = (
            len(case.embeddings(combination.semantics))
            if combination.symmetry == "embeddings"
            else len(case.occurrences(combination.semantics))
        )
        together = data.draw(st.lists(st.sampled_from(choices), max_size=3), label="tuning")
        # Each of them about ten times in all cells of a commit, or thirty times in each cell.
        many = 6 if depth == "default" else 12
        some = data.draw(st.lists(st.sampled_from(choices), min_size=many, max_size=many), label="choices")
        for chosen in [*([choice] for choice in some), together]:
            tuning = private_tuning(dict(chosen))
            assert mf.count(graph, pattern, tuning=tuning, **options) == expected, tuning
            rows = rows_of(mf.match(graph, pattern, tuning=tuning, **options))
            assert len(set(rows)) == len(rows) == expected, tuning

    holds()
