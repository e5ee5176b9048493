"""Searches in phases on a device find what the definitions say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import PRIVATE, TUNING, private_tuning
from motiflux.device import devices_like
from tests.property.test_coinciding import Coinciding, coinciding_cases
from tests.property.test_conditions import Conditioned, conditioned_cases
from tests.property.test_phases import fringed
from tests.rotating import rotating
from tests.strategies import COMBINATIONS, Case, Combination, cases, other_patterns, rows_of

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it is about GPUs")

EMBEDDINGS = [cell for cell in COMBINATIONS if cell.symmetry == "embeddings"]
SUBGRAPHS = [cell for cell in COMBINATIONS if cell.symmetry == "subgraphs"]
_MOST_ROWS = 100_000
"""Rows of the largest case that is compared row by row."""

ALL = {**TUNING, **PRIVATE}
OURS = ("pvm", "tail", *(name for name in PRIVATE if name.startswith("pvm_")))
GSI = {"pvm": "sv", "pvm_rows": "hash", "pvm_filter": "on", "pvm_writes": "two_pass"}
"""What `motiflux bench pvm` compares with."""
DRAWN = st.one_of(
    st.just(GSI), st.fixed_dictionaries({name: st.sampled_from(ALL[name].values) for name in OURS})
)
SWITCHES = DRAWN.map(private_tuning)
IN_TILES = DRAWN.map(lambda drawn: {**drawn, "pvm_rows": drawn["pvm_rows"].replace("hash", "unrenamed")})
"""Switches of searches whose tables do not fit: hash tables are not divided."""


def found(graph: mf.Graph, pattern: mf.Pattern, **options: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a listing by phases, of which a count finds as many."""
    matches = mf.match(graph, pattern, engine="pvm", **options)
    rows = rows_of(matches)
    assert (matches.rows, matches.complete, matches.engine) == (len(rows), True, "pvm")
    counted = mf.count(graph, pattern, engine="pvm", **options)
    assert (counted, counted.complete, counted.engine) == (len(rows), True, "pvm")
    return rows


@pytest.mark.parametrize("combination", rotating(EMBEDDINGS), ids=str)
def test_matches_and_count_are_the_embeddings_of_the_reference(combination: Combination, device: str) -> None:
    @settings(deadline=None)
    @given(cases(combination.directed, combination.labels), SWITCHES)
    def holds(case: Case, tuning: Any) -> None:
        expected = case.embeddings(combination.semantics)
        rows = found(case.graph(), case.pattern(), tuning=tuning, **combination.options(device))
        assert set(rows) == expected
        assert len(rows) == len(expected), "a row came twice"

    holds()


@pytest.mark.parametrize("combination", rotating(SUBGRAPHS), ids=str)
def test_subgraphs_are_one_embedding_of_each_occurrence(combination: Combination, device: str) -> None:
    @settings(deadline=None)
    @given(cases(combination.directed, combination.labels), SWITCHES)
    def holds(case: Case, tuning: Any) -> None:
        expected = case.occurrences(combination.semantics)
        rows = found(case.graph(), case.pattern(), tuning=tuning, **combination.options(device))
        occurrence_of = {image: occurrence for occurrence in expected for image in occurrence}
        assert set(rows) <= set(occurrence_of), "a row is no embedding"
        assert {occurrence_of[row] for row in rows} == expected
        assert len(rows) == len(expected), "an occurrence came twice"

    holds()


@pytest.mark.turns(2, "emulated")
@pytest.mark.parametrize("combination", rotating(EMBEDDINGS, 4), ids=str)
def test_vertices_that_may_coincide_do(combination: Combination, device: str) -> None:
    @settings(deadline=None)
    @given(coinciding_cases(combination.directed, combination.labels), SWITCHES)
    def holds(drawn: Coinciding, tuning: Any) -> None:
        expected = drawn.embeddings(combination.semantics)
        rows = found(drawn.case.graph(), drawn.pattern(), tuning=tuning, **combination.options(device))
        assert set(rows) == expected
        assert len(rows) == len(expected), "a row came twice"

    holds()


@pytest.mark.turns(2, "emulated")
@pytest.mark.parametrize("combination", rotating(EMBEDDINGS, 4), ids=str)
def test_conditions_and_ids_hold(combination: Combination, device: str) -> None:
    @settings(deadline=None)
    @given(conditioned_cases(combination.directed, combination.labels), SWITCHES)
    def holds(drawn: Conditioned, tuning: Any) -> None:
        expected = drawn.embeddings(combination.semantics)
        rows = found(drawn.graph(), drawn.pattern(), tuning=tuning, **combination.options(device))
        assert set(rows) == expected
        assert len(rows) == len(expected), "a row came twice"

    holds()


def test_phases_of_many_vertices_find_the_rows_of_the_cpu(device: str) -> None:
    @settings(deadline=None)
    @given(fringed(), SWITCHES)
    def holds(drawn: tuple[mf.Graph, mf.Pattern, str, str], tuning: Any) -> None:
        graph, pattern, semantics, symmetry = drawn
        options: dict[str, Any] = {"semantics": semantics, "symmetry": symmetry}
        expected = mf.count(graph, pattern, device="cpu", **options)
        counted = mf.count(graph, pattern, device=device, engine="pvm", tuning=tuning, **options)
        assert (counted, counted.complete, counted.engine) == (expected, True, "pvm")
        if expected > _MOST_ROWS:
            return
        rows = rows_of(mf.match(graph, pattern, device=device, engine="pvm", tuning=tuning, **options))
        assert len(rows) == len(set(rows)) == expected
        if symmetry == "embeddings":
            assert set(rows) == set(rows_of(mf.match(graph, pattern, device="cpu", **options)))

    holds()


@pytest.mark.turns(2, "emulated")
@pytest.mark.parametrize("combination", rotating(COMBINATIONS, 4), ids=str)
def test_limits_hold_exactly(combination: Combination, device: str) -> None:
    @settings(deadline=None)
    @given(cases(combination.directed, combination.labels), st.data())
    def holds(case: Case, data: st.DataObject) -> None:
        graph, pattern, options = case.graph(), case.pattern(), combination.options(device)
        expected = set(rows_of(mf.match(graph, pattern, **{**options, "device": "cpu"})))
        limit = data.draw(st.integers(0, len(expected) + 1), "limit")
        at_most, complete = min(limit, len(expected)), limit >= len(expected)
        counted = mf.count(graph, pattern, engine="pvm", limit=limit, **options)
        assert (counted, counted.complete) == (at_most, complete)
        batch_rows = data.draw(st.sampled_from((1, 2, 7, 1000)), "batch_rows")
        matches = mf.match(graph, pattern, engine="pvm", limit=limit, batch_rows=batch_rows, **options)
        batches = list(matches)
        assert all(1 <= len(batch) <= batch_rows for batch in batches)
        rows = [tuple(row) for batch in batches for row in batch.tolist()]
        assert len(set(rows)) == len(rows) == at_most
        assert matches.complete is complete
        if combination.symmetry == "embeddings":
            assert set(rows) <= expected

    holds()


@pytest.mark.turns(2, "emulated")
@pytest.mark.parametrize("combination", rotating(COMBINATIONS, 4), ids=str)
def test_a_list_gives_what_single_calls_give(combination: Combination, device: str) -> None:
    @settings(deadline=None)
    @given(cases(combination.directed, combination.labels), st.data())
    def holds(case: Case, data: st.DataObject) -> None:
        graph, options = case.graph(), combination.options(device)
        others = data.draw(other_patterns(case), label="others")
        patterns = [case.pattern(), *(replace(case, **other).pattern() for other in others)]
        together = mf.count(graph, patterns, engine="pvm", **options)
        assert [*map(int, together)] == [
            int(mf.count(graph, pattern, **{**options, "device": "cpu"})) for pattern in patterns
        ]

    holds()


@pytest.mark.turns(4, "emulated")
@settings(deadline=None, max_examples=4)
@given(cases(True, "both"), st.sampled_from(("isomorphism", "induced", "homomorphism")))
def test_several_devices_find_all_together(device: str, case: Case, semantics: str) -> None:
    if len(devices_like(device)) < 2:
        pytest.skip(f"needs two devices of kind {device!r}, found one")
    options: dict[str, Any] = {"semantics": semantics, "device": device, "devices": 2}
    assert set(found(case.graph(), case.pattern(), **options)) == case.embeddings(semantics)
