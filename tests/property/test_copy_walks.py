"""Searches from copy to copy of compared edges, against the reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import Tuning, private_tuning
from motiflux.plan import make_plan
from tests.compared_cases import ComparedCase, compared_cases, long_row_cases
from tests.strategies import rows_of

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]
ORDERS = st.sampled_from(("given", "sampled"))
BATCHES = st.sampled_from(("64", "16", "1"))


def walking(order: str = "sampled", batch: str = "64") -> Tuning:
    """Return switches by which a search goes from copy to copy wherever it can."""
    return private_tuning({"copy_walk": "on", "order": order, "copy_batch": batch})


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("semantics", ["isomorphism", "homomorphism"])
def test_embeddings_are_those_of_the_reference(semantics: str, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(compared_cases(all_edges=True), st.sampled_from((1, 3)), ORDERS, BATCHES)
    def holds(case: ComparedCase, threads: int, order: str, batch: str) -> None:
        expected = case.embeddings(semantics)
        graph, pattern, tuning = case.graph(), case.pattern(), walking(order, batch)
        plan = make_plan(graph, pattern, semantics=semantics, tuning=tuning)
        assume(plan.copy_walk is not None)
        options = {"semantics": semantics, "device": "cpu", "threads": threads, "tuning": tuning}
        rows = rows_of(mf.match(graph, pattern, **options))
        assert set(rows) == expected
        assert len(rows) == len(expected), "a row came twice"
        assert mf.count(graph, pattern, **options) == len(expected)

    holds()


@given(case=compared_cases(all_edges=True))
def test_each_occurrence_is_found_once(case: ComparedCase) -> None:
    expected = case.occurrences()
    options = {"symmetry": "subgraphs", "device": "cpu", "tuning": walking()}
    found = rows_of(mf.match(case.graph(), case.pattern(), **options))
    assert len(found) == len(expected)
    assert {occurrence for row in found for occurrence in expected if row in occurrence} == expected
    assert mf.count(case.graph(), case.pattern(), **options) == len(expected)


@pytest.mark.turns(8)
@pytest.mark.parametrize("depth", DEPTHS)
def test_windows_of_long_rows_leave_nothing_out(depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(long_row_cases(), st.sampled_from((1, 3)), BATCHES)
    def holds(case: ComparedCase, threads: int, batch: str) -> None:
        expected = case.embeddings()
        options = {"device": "cpu", "threads": threads, "tuning": walking(batch=batch)}
        rows = rows_of(mf.match(case.graph(), case.pattern(), **options))
        assert len(rows) == len(expected)
        assert set(rows) == expected

    holds()


@pytest.mark.parametrize("semantics", ["isomorphism", "homomorphism"])
@given(case=compared_cases(most_copies=7, all_edges=True), batch=BATCHES)
def test_choices_are_counted(semantics: str, case: ComparedCase, batch: str) -> None:
    options = {"semantics": semantics, "device": "cpu", "tuning": walking(batch=batch)}
    choices = case.choices(semantics)
    assert mf.count(case.graph(), case.pattern(), copies=True, **options) == sum(map(len, choices.values()))


HUB_PATTERNS = [
    "(a)-[x]->(b)-[y]->(c) WHERE x.time < y.time WITHIN 60",
    "(a)-[x]->(b)-[y]->(c) WHERE x.amount = y.amount AND x.time <= y.time",
    "(a)-[x]->(b)-[y]->(a) WHERE x.time < y.time AND y.amount >= 0.9 * x.amount",
    "(a)-[x]->(b)-[y]->(c)-[z]->(a) WHERE x.time < y.time < z.time WITHIN 150",
    "(a)-[x]->(b)-[y]->(c)-[z]->(a) WHERE x.time < y.time < z.time AND y.amount <= x.amount <= 2 * y.amount",
    "(p)-[x]->(h)-[z]->(s), (q)-[y]->(h) WHERE x.time < y.time < z.time WITHIN 25",
]


@pytest.mark.turns(8)
@pytest.mark.parametrize("pattern", HUB_PATTERNS)
@settings(max_examples=5)
@given(seed=st.integers(0, 2**32), threads=st.sampled_from((1, 3)), batch=BATCHES)
def test_rows_of_hubs_are_read_in_windows(pattern: str, seed: int, threads: int, batch: str) -> None:
    random = np.random.default_rng(seed)
    size = 1500  # rows of hundreds of copies: bisections read samples of them first
    ends = np.minimum(random.integers(0, 40, (size, 2)), random.integers(0, 40, (size, 2)))
    ends = ends[ends[:, 0] != ends[:, 1]]
    graph = mf.Graph.from_edges(
        ends,
        directed=True,
        edge_attributes={
            "time": random.integers(0, 2000, len(ends)),
            "amount": random.integers(1, 200, len(ends)) / 4,
        },
    )
    by_levels = {"device": "cpu", "tuning": private_tuning({"copy_walk": "off"})}
    by_copies = {"device": "cpu", "threads": threads, "tuning": walking(batch=batch)}
    expected = rows_of(mf.match(graph, pattern, **by_levels))
    found = rows_of(mf.match(graph, pattern, **by_copies))
    assert sorted(found) == sorted(expected)
    assert mf.count(graph, pattern, copies=True, **by_copies) == mf.count(
        graph, pattern, copies=True, **by_levels
    )
