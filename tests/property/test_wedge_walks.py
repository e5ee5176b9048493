"""Searches by wedges, against the reference."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import Tuning, private_tuning
from motiflux.plan import make_plan
from tests.compared_cases import ComparedCase, compared_cases
from tests.strategies import rows_of
from tests.wedge_cases import wedge_case

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]
BY_LEVELS = private_tuning({"copy_walk": "off", "pair_walk": "off", "wedge_walk": "off"})


def walking() -> Tuning:
    """Return switches by which a search goes by wedges wherever it can."""
    return private_tuning({"wedge_walk": "on"})


def check(case: ComparedCase, semantics: str, threads: int) -> None:
    """Compare counts and rows with the reference, if the pattern is searched by wedges."""
    graph, pattern = case.graph(), case.pattern()
    plan = make_plan(graph, pattern, semantics=semantics, tuning=walking())
    assume(plan.copy_walk is not None and plan.copy_walk.wedges)
    expected = case.embeddings(semantics)
    options = {"semantics": semantics, "device": "cpu", "threads": threads, "tuning": walking()}
    assert mf.count(graph, pattern, **options) == len(expected)
    rows = rows_of(mf.match(graph, pattern, **options))
    assert len(rows) == len(expected), "a row came twice, or is missing"
    assert set(rows) == expected


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("semantics", ["isomorphism", "homomorphism"])
def test_embeddings_are_those_of_the_reference(semantics: str, depth: str) -> None:
    @settings(settings.get_profile(depth))
    @given(st.integers(0, 2**63), st.sampled_from((1, 3)))
    def holds(seed: int, threads: int) -> None:
        check(wedge_case(Random(seed)), semantics, threads)

    holds()


@given(seed=st.integers(0, 2**63))
def test_each_occurrence_is_found_once(seed: int) -> None:
    case = wedge_case(Random(seed))
    expected = case.occurrences()
    options = {"symmetry": "subgraphs", "device": "cpu", "tuning": walking()}
    found = rows_of(mf.match(case.graph(), case.pattern(), **options))
    assert len(found) == len(expected)
    assert {occurrence for row in found for occurrence in expected if row in occurrence} == expected
    assert mf.count(case.graph(), case.pattern(), **options) == len(expected)


@given(case=compared_cases(all_edges=True), semantics=st.sampled_from(("isomorphism", "homomorphism")))
def test_other_patterns_are_searched_as_before(case: ComparedCase, semantics: str) -> None:
    options = {"semantics": semantics, "device": "cpu", "tuning": walking()}
    choices = case.choices(semantics)
    assert mf.count(case.graph(), case.pattern(), **options) == len(choices)
    assert mf.count(case.graph(), case.pattern(), copies=True, **options) == sum(map(len, choices.values()))


RING = "(a)-[x]->(b)-[y]->(c)-[z]->(d)-[w]"
PATTERNS = [
    "(a)-[x]->(b)-[y]->(c)-[z]->(a) WHERE x.time < y.time < z.time",
    f"{RING}->(a) WHERE x.time < y.time < z.time < w.time",
    f"{RING}->(a) WHERE x.time <= y.time <= z.time <= w.time",
    "(a)-[x]->(b)-[y]->(c)<-[z]-(d)<-[w]-(a) WHERE x.time > y.time AND z.time < w.time < x.time",
    f"{RING}->(e)-[v]->(a) WHERE x.sum <= 0.9 * y.sum AND z.sum > w.sum > v.sum AND y.sum < z.sum",
    f"{RING}->(a), (a)-[v]->(c) WHERE x.time < y.time < z.time < w.time AND v.time < w.time",
]


@pytest.mark.turns(4)
@pytest.mark.parametrize("pattern", PATTERNS)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**32), threads=st.sampled_from((1, 3)))
def test_many_copies_are_counted_as_by_levels(pattern: str, seed: int, threads: int) -> None:
    random = np.random.default_rng(seed)
    ends = np.minimum(random.integers(0, 20, (400, 2)), random.integers(0, 20, (400, 2)))
    ends = ends[ends[:, 0] != ends[:, 1]]
    graph = mf.Graph.from_edges(
        ends,
        directed=True,
        edge_attributes={
            "time": random.integers(0, 60, len(ends)),
            "sum": random.integers(1, 200, len(ends)) / 4,
        },
    )
    expected = rows_of(mf.match(graph, pattern, device="cpu", tuning=BY_LEVELS))
    options = {"device": "cpu", "threads": threads, "tuning": walking()}
    plan = make_plan(graph, mf.Pattern.parse(pattern), tuning=walking())
    assert plan.copy_walk is not None
    assert plan.copy_walk.wedges
    assert mf.count(graph, pattern, **options) == len(expected)
    assert sorted(rows_of(mf.match(graph, pattern, **options))) == sorted(expected)


@pytest.mark.turns(8)
@pytest.mark.parametrize("threads", [1, 3])
def test_more_wedges_of_a_vertex_than_are_gathered_at_a_time(threads: int) -> None:
    middles, ends = np.arange(1100), 1100 + np.arange(1000)
    start, last = 2100, 2101
    many = np.repeat(middles, len(ends))
    columns = [
        (np.full(len(middles), start), middles, np.where(middles % 2 == 0, 1, 5)),
        (many, np.tile(ends, len(middles)), 2 + many % 7),
        (ends, np.full(len(ends), last), 4 + ends % 6),
        (np.array([last]), np.array([start]), np.array([20])),
    ]
    sources, targets, times = map(np.concatenate, zip(*columns, strict=True))
    graph = mf.Graph.from_edges((sources, targets), directed=True, edge_attributes={"time": times})
    fits = np.where(middles % 2 == 0, 1, 5) < 2 + middles % 7
    expected = int((fits[:, None] & (2 + middles[:, None] % 7 < 4 + ends % 6)).sum())
    options = {"device": "cpu", "threads": threads, "tuning": walking()}
    pattern = f"{RING}->(a) WHERE x.time < y.time < z.time < w.time"
    assert mf.count(graph, pattern, **options) == expected
    assert sum(len(batch) for batch in mf.match(graph, pattern, **options)) == expected
