"""Sums over the quotients of patterns are the numbers of matches that searches find."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.pattern import Pattern
from motiflux.plan.bind import bind
from motiflux.plan.passes.delta import delta_plans
from tests.update_streams import Stream


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    return Stream(
        seed=draw(st.integers(0, 2**32)),
        vertices=draw(st.sampled_from((6, 9, 20))),
        directed=draw(st.booleans()),
        vertex_kinds=draw(st.sampled_from((1, 2, 3))),
        edge_kinds=draw(st.sampled_from((1, 1, 2))),
        sizes=tuple(draw(st.lists(st.sampled_from((3, 4, 5, 5, 6)), min_size=1, max_size=8))),
        updates=draw(st.integers(5, 25)),
        symmetry=draw(st.sampled_from(("embeddings", "subgraphs"))),
        semantics="isomorphism",
        duplicates=draw(st.sampled_from(("count", "ignore"))),
    )


def changes(graph: mf.Graph, patterns: list[Pattern], updates: mf.Updates, **options: Any) -> list[Any]:
    """Return what each pattern gets from the updates: totals, and the matches of each update."""
    with mf.Monitor(graph, patterns, **options) as monitor:
        delta = monitor.apply(updates)
    return [
        (one.positive, one.negative, one.updates.tolist(), one.signs.tolist(), one.matches.tolist())
        for one in (delta[pattern] for pattern in patterns)
    ]


def both(graph: mf.Graph, patterns: list[Pattern], updates: mf.Updates, **options: Any) -> list[list[Any]]:
    """The changes that sums find, and those that searches find."""
    return [
        changes(graph, patterns, updates, tuning=private_tuning({"quotients": how}), **options)
        for how in ("on", "off")
    ]


@pytest.mark.turns(8)
@given(streams(), st.sampled_from(("sequence", "batch")), st.sampled_from((1, 2)))
def test_sums_are_what_searches_find(stream: Stream, mode: str, threads: int) -> None:
    sums, searches = both(
        stream.graphs[0],
        stream.patterns,
        stream.columns(),
        mode=mode,
        threads=threads,
        duplicates=stream.duplicates,
        **stream.options(),
    )
    assert sums == searches


def star(rays: int) -> mf.Graph:
    """A hub with rays, of which the ends are joined in a ring."""
    ring = [(ray, ray % rays + 1) for ray in range(1, rays + 1)]
    return mf.Graph.from_edges([(0, ray) for ray in range(1, rays + 1)] + ring, num_vertices=rays + 3)


SHAPES = (
    "(a)--(b)--(c)",
    "(a)--(b)--(c)--(a)",
    "(a)--(b)--(c)--(d)",
    "(a)--(b)--(c)--(d)--(a)",
    "(a)--(b)--(c)--(a)--(d)",
    "(a)--(b)--(c)--(d)--(a)--(c)",
    "(a)--(b)--(c)--(d)--(e)",
    "(a)--(b)--(c)--(d)--(e)--(a)",
    "(a)--(b), (a)--(c), (a)--(d), (a)--(e)",
)


@pytest.mark.parametrize("how", ["on", "auto"])
def test_sums_at_a_hub_are_what_searches_find(how: str) -> None:
    graph, patterns = star(3000), [Pattern.parse(shape) for shape in SHAPES]
    updates = mf.Updates.of([("+", 0, 3001), ("+", 3001, 7), ("+", 3001, 3002), ("-", 5, 6), ("-", 0, 3)])
    found, searched = (
        changes(graph, patterns, updates, threads=1, tuning=private_tuning({"quotients": switch}))
        for switch in (how, "off")
    )
    assert found == searched


def test_sums_without_a_table_are_what_searches_find() -> None:
    """Rows of the neighbours of both ends hold more vertices than a table may."""
    near, far = 1080, 520
    rows = [(2 + one, 2 + near + other) for one in range(near) for other in range(far) if (one + other) % 50]
    ends = [(one % 2, 2 + one) for one in range(near)]
    graph = mf.Graph.from_edges(ends + rows)
    patterns = [Pattern.parse("(a)--(b)--(c)--(d)--(e)--(a)")]
    sums, searches = both(graph, patterns, mf.Updates.of([("+", 0, 1)]), threads=1)
    assert sums == searches
    assert sums[0][0] > 0


@pytest.mark.parametrize("threads", [1, 2])
def test_a_call_whose_time_is_up_while_summing_changes_nothing(threads: int) -> None:
    size = 300
    graph = mf.Graph.from_edges([(u, v) for v in range(size) for u in range(v)])
    tuning = private_tuning({"quotients": "on", "at_once": "on"})
    updates = [("-", u, v) for v in range(size) for u in range(v)]
    with mf.Monitor(graph, "(a)--(b)--(c)--(d)--(e)--(a)", threads=threads, tuning=tuning) as monitor:
        delta = monitor.apply(updates, timeout=0.05)
        assert (delta.complete, delta.updates, delta[0].negative) == (False, 0, 0)
        assert monitor.snapshot().num_edges == graph.num_edges
        # The edge has 10 places, and the other three vertices are any others.
        assert monitor.apply(updates[:1])[0].negative == 10 * (size - 2) * (size - 3) * (size - 4)


def test_an_end_may_have_rows_of_many_edge_labels() -> None:
    kinds = 40
    edges = [(0, 1, 0), *((vertex, 2 + kind % 4, kind) for kind in range(kinds) for vertex in (0, 1))]
    sources, targets, labels = (list(column) for column in zip(*edges, strict=True))
    graph = mf.Graph.from_edges((sources, targets), edge_labels=labels, num_vertices=6)
    patterns = [Pattern.parse(f"(a)-[:0]-(b)-[:{kind}]-(c), (a)-[:{kind}]-(d)") for kind in range(kinds)]
    updates = mf.Updates(
        np.array([False, True, True]), np.array([0, 0, 0]), np.array([1, 1, 5]), np.array([0, 0, 3])
    )
    sums, searches = both(graph, patterns, updates, threads=1)
    assert sums == searches


def test_plans_that_break_symmetries_say_how_many() -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2)])
    pattern = Pattern.parse("(a)--(b), (a)--(c), (a)--(d)")
    bound = bind(pattern, graph)
    assert {plan.symmetries for plan in delta_plans(graph, pattern, bound)} == {2}
    assert {plan.symmetries for plan in delta_plans(graph, pattern, bound, merge=False)} == {1}
    for refused in (
        {"counting": False},
        {"quotients": False},
        {"semantics": mf.types.Semantics.HOMOMORPHISM},
    ):
        assert {plan.symmetries for plan in delta_plans(graph, pattern, bound, **refused)} == {0}
