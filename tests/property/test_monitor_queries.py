"""Queries that a monitor watches: rows that come and go, beside the reference after each update."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.cpu import reference_queries as reference
from tests.query_cases import LABELS, QueryCase, query_cases

FEATURES = (
    ("path",),
    ("ring", "path"),
    ("walk",),
    ("path", "labels"),
    ("ring", "negated"),
    ("walk", "negated"),
)
FEATURES += (("path", "negated"), ("labels", "negated", "path"))


def watched_rows(query: mf.Query, delta: Any, *, positive: bool) -> Counter[reference.Row]:
    """Return the rows that come or go, in the form of the reference."""
    found: Counter[reference.Row] = Counter()
    for shape, part in zip(query.shapes, delta[query].patterns, strict=True):
        for row in (part.appeared() if positive else part.vanished()).tolist():
            images = tuple(None if at is None else row[at] for at in shape.vertices)
            found[
                images, tuple(place and tuple(row[at] for at in place.vertices) for place in shape.paths)
            ] += 1
    return found


def after(case: QueryCase, edges: list[tuple[int, int, Any]]) -> QueryCase:
    """Return a case with other edges."""
    labels = [label for *_, label in edges] if case.data.edge_labels is not None else None
    data = replace(case.data, edges=[(u, v) for u, v, _ in edges], edge_labels=labels, edge_attributes=None)
    return replace(case, data=data)


@pytest.mark.parametrize("features", FEATURES, ids="-".join)
@settings(max_examples=8, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_rows_come_and_go_as_those_of_the_reference(features: tuple[str, ...], data: st.DataObject) -> None:
    directed = data.draw(st.booleans())
    case = data.draw(query_cases(features=frozenset(features), directed=directed, most_vertices=5))
    text = case.text()
    semantics = data.draw(st.sampled_from(("isomorphism", "isomorphism", "homomorphism")))
    query = mf.Query.parse(text)
    coinciding = semantics == "homomorphism" or "walk" in features
    joined = {frozenset((edge.source, edge.target)) for pattern in query.patterns for edge in pattern.edges}
    if coinciding and any(
        frozenset(one.ends) in joined for pattern in query.patterns for one in pattern.negated_pairs
    ):
        return  # refused by name
    labels = case.data.edge_labels or [None] * len(case.data.edges)
    edges = list(dict.fromkeys((*pair, label) for pair, label in zip(case.data.edges, labels, strict=True)))
    if not directed:
        edges = list(dict.fromkeys((min(u, v), max(u, v), label) for u, v, label in edges))
    start = after(case, edges)
    graph = start.graph()
    mode = data.draw(st.sampled_from(("sequence", "batch")))
    with mf.Monitor(graph, semantics=semantics, matches=True, mode=mode, device="cpu") as monitor:
        added = monitor.add(query)
        before = start.rows(semantics)
        for _ in range(data.draw(st.integers(1, 4))):
            u, v = data.draw(st.permutations(range(case.data.num_vertices)))[:2]
            label = data.draw(st.sampled_from(LABELS)) if case.data.edge_labels is not None else None
            edge = (u, v, label) if directed else (min(u, v), max(u, v), label)
            sign = "-" if edge in edges else "+"
            edges = [one for one in edges if one != edge] if sign == "-" else [*edges, edge]
            delta = monitor.apply([(sign, u, v) if label is None else (sign, u, v, label)])
            now = after(case, edges).rows(semantics)
            assert watched_rows(added, delta, positive=True) == Counter(now - before), text
            assert watched_rows(added, delta, positive=False) == Counter(before - now), text
            assert (delta[text].positive, delta[text].negative) == (len(now - before), len(before - now))
            before = now
