"""Queries of several patterns: sets of rows and counts against the reference, for each pair of features."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.cpu import reference_queries as reference
from tests.query_cases import QueryCase, query_cases

FEATURES = (
    "path",
    "ring",
    "walk",
    "or",
    "optional",
    "optpath",
    "parts",
    "labels",
    "increasing",
    "negated",
    "degree",
)
APART = ({"walk", "parts"}, {"parts", "optional"}, {"walk", "increasing"}, {"optional", "optpath"})
"""Pairs that calls refuse, or that are one."""
PAIRS = [pair for pair in combinations(FEATURES, 2) if set(pair) not in APART]


def pair_cases(pair: tuple[str, ...]) -> st.SearchStrategy[QueryCase]:
    return st.booleans().flatmap(
        lambda directed: query_cases(features=frozenset(pair), directed=directed, most_vertices=5)
    )


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_rows_and_counts_are_those_of_the_reference(pair: tuple[str, ...], data: st.DataObject) -> None:
    case = data.draw(pair_cases(pair))
    graph, text = case.graph(), case.text()
    semantics = data.draw(st.sampled_from(("isomorphism", "homomorphism")))
    expected = case.rows(semantics)
    options: dict[str, Any] = {"semantics": semantics, "device": "cpu", "threads": 1}
    found = case.listed(mf.match(graph, text, names=True, **options))
    assert len(found) == len(set(found)), text
    assert set(found) == expected, text
    assert mf.count(graph, text, **options) == len(expected), text


def is_induced(case: QueryCase) -> bool:
    """Whether a query with optional edges can be induced: else it is refused by name."""
    named = {end for link in case.links for end in (link.source, link.target)}
    known = set(named)
    for link in case.optional:
        ends = {link.source, link.target}
        if ends <= known and (link.lengths not in (None, (1, 1)) or not ends <= named):
            return False
        if link.increasing is not None:
            return False
        known |= ends
    return True


INDUCED = ("path", "ring", "or", "optional", "optpath", "labels", "negated", "degree")


@pytest.mark.parametrize("feature", INDUCED)
@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_induced_rows_are_those_of_the_reference(feature: str, data: st.DataObject) -> None:
    others = [one for one in INDUCED if one != feature and {one, feature} not in APART]
    case = data.draw(pair_cases((feature, data.draw(st.sampled_from(others)))))
    graph, text = case.graph(), case.text()
    options: dict[str, Any] = {"semantics": "induced", "device": "cpu", "threads": 1}
    if not is_induced(case):
        with pytest.raises(mf.ArgumentError, match=r"^semantics: "):
            mf.count(graph, text, **options)
        return
    expected = case.rows("induced")
    found = case.listed(mf.match(graph, text, names=True, **options))
    assert len(found) == len(set(found)), text
    assert set(found) == expected, text
    assert mf.count(graph, text, **options) == len(expected), text
    last = len(case.vertices) - 1
    rows = mf.match(graph, text, distinct=[f"v{last}"], **options).to_numpy()
    assert len(rows) == len({row[last] for row, _ in expected}), text


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if "walk" not in pair], ids="-".join)
@settings(max_examples=8, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_each_occurrence_is_found_once(pair: tuple[str, ...], data: st.DataObject) -> None:
    case = data.draw(pair_cases(pair))
    links = (*case.links, *case.optional)
    if len(case.vertices) + sum(one.lengths[1] - 1 for one in links if one.lengths) > 7:
        return
    graph, text = case.graph(), case.text()
    rows = case.listed(mf.match(graph, text, symmetry="subgraphs", names=True, device="cpu"))
    assert set(rows) <= case.rows("isomorphism"), text
    assert len(rows) == len(set(rows)) == case.occurrences(), text
    assert mf.count(graph, text, symmetry="subgraphs", device="cpu") == len(rows), text


@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_limit_gives_so_many_rows(data: st.DataObject) -> None:
    case = data.draw(pair_cases(data.draw(st.sampled_from(PAIRS))))
    graph, text = case.graph(), case.text()
    expected = case.rows("isomorphism")
    limit = data.draw(st.integers(0, len(expected) + 1))
    matches = mf.match(graph, text, limit=limit, names=True, device="cpu")
    rows = case.listed(matches)
    assert set(rows) <= expected
    assert len(rows) == len(set(rows)) == min(limit, len(expected))
    assert matches.complete is (limit >= len(expected))
    count = mf.count(graph, text, limit=limit, device="cpu")
    assert (count, count.complete) == (min(limit, len(expected)), limit >= len(expected))


@pytest.mark.parametrize("feature", FEATURES)
@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_distinct_rows_and_thresholds_are_those_of_the_reference(feature: str, data: st.DataObject) -> None:
    others = [one for one in FEATURES if one != feature and {one, feature} not in APART]
    case = data.draw(pair_cases((feature, data.draw(st.sampled_from(others)))))
    semantics = data.draw(st.sampled_from(("isomorphism", "homomorphism")))
    names = range(len(case.vertices))
    order = data.draw(st.permutations(names))
    size = data.draw(st.integers(1, len(order)))
    returned, left = order[:size], order[size:]
    thresholds = []
    for _ in range(data.draw(st.integers(0, 2)) if left else 0):
        counted = data.draw(st.lists(st.sampled_from(left), min_size=1, max_size=2, unique=True))
        operator = data.draw(st.sampled_from(("=", "<>", "<", "<=", ">", ">=")))
        thresholds.append((counted, operator, data.draw(st.integers(0, 3))))
    having = [
        f"count({', '.join(f'v{at}' for at in counted)}) {operator} {number}"
        for counted, operator, number in thresholds
    ]
    graph, text = case.graph(), case.text()
    expected = reference.distinct_rows(case.rows(semantics), returned, thresholds)
    options: dict[str, Any] = {"semantics": semantics, "device": "cpu", "threads": 1}
    if data.draw(st.booleans()):
        text += f" RETURN DISTINCT {', '.join(f'v{at}' for at in returned)}"
        text += f" HAVING {' AND '.join(having)}" if having else ""
    else:
        options |= {"distinct": [f"v{at}" for at in returned], "having": having or None}
    rows = mf.match(graph, text, names=True, **options).to_arrow().to_pylist()
    found = [tuple(row[f"v{at}"] for at in returned) for row in rows]
    assert len(found) == len(set(found)), text
    assert set(found) == expected, text
    assert mf.count(graph, text, **options) == len(expected), text
    limit = data.draw(st.integers(0, len(expected) + 1))
    matches = mf.match(graph, text, limit=limit, **options)
    assert len(matches.to_numpy()) == min(limit, len(expected)), text
    assert matches.complete is (limit >= len(expected)), text
    count = mf.count(graph, text, limit=limit, **options)
    assert (count, count.complete) == (min(limit, len(expected)), limit >= len(expected)), text


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_query_exists_where_the_reference_has_a_row(data: st.DataObject) -> None:
    case = data.draw(pair_cases(data.draw(st.sampled_from(PAIRS))))
    found = mf.exists(case.graph(), case.text())
    assert bool(found) is bool(case.rows("isomorphism"))
    assert found.complete
