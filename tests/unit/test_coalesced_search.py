"""Searches from query edges that are equivalent in a part of the pattern share their first levels."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.cpu import reference
from motiflux.pattern.automorphism import automorphisms
from motiflux.plan.bind import bind
from motiflux.plan.passes.coalesce import coalesced
from motiflux.plan.passes.places import orbits_of
from motiflux.plan.passes.places import places as places_of_edges
from motiflux.stream.matching import watching

PENDANT = "(a)--(b)--(c)--(a), (a)--(d:1), (a)--(e:2)"
"""A triangle without d and e; with one of them, it has no more automorphisms than with both."""
TWO_ENDS = "(a)--(b)--(c)--(a), (a)--(d:1), (b)--(e:2)"
"""Without d, two vertices of the triangle are equivalent; without d and e, all three."""
CLIQUE = "(a)--(b)--(c)--(d)--(a), (a)--(c), (b)--(d), (a)--(e)"
LABELLED_PATH = "(a:1)--(b)--(c)--(d)--(e:2)"


def groups_of(monkeypatch: pytest.MonkeyPatch, pattern: Any, **options: Any) -> dict[int, list[Any]]:
    """Return the plans that share levels, by their group."""
    groups: dict[int, list[Any]] = {}
    plans = watching.delta_plans

    def keep(*args: Any, **given: Any) -> Any:
        made = plans(*args, **given)
        for plan in made:
            if plan.shared is not None:
                groups.setdefault(plan.shared.group, []).append(plan)
        return made

    monkeypatch.setattr(watching, "delta_plans", keep)
    options = {"matches": True, "tuning": {"coalesce": "on"}} | options
    directed = options.pop("directed", False)
    pairs = list(itertools.combinations(range(8), 2))
    graph = mf.Graph.from_edges(pairs, vertex_labels=[0, 0, 0, 0, 0, 0, 1, 2], directed=directed)
    mf.Monitor(graph, pattern, **options)
    monkeypatch.undo()
    return groups


def places(groups: dict[int, list[Any]]) -> set[frozenset[tuple[int, int]]]:
    return {frozenset(plan.place for plan in plans) for plans in groups.values()}


def test_the_edges_of_a_triangle_are_one_group_without_the_vertices_that_hang_from_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ((group, plans),) = groups_of(monkeypatch, PENDANT).items()
    assert group == 0
    assert {plan.place for plan in plans} <= set(itertools.permutations(range(3), 2))
    assert len(plans) == 3  # one for each orbit
    assert {plan.shared.removed for plan in plans} == {(3, 4)}
    assert {len(plan.shared.steps) for plan in plans} == {1}


def test_the_orders_of_a_group_are_images_of_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    pattern = mf.Pattern.parse(PENDANT)
    edges = {frozenset((edge.source, edge.target)) for edge in pattern.edges}
    (plans,) = groups_of(monkeypatch, pattern).values()
    for plan in plans:
        kept = plan.order[: 2 + len(plan.shared.steps)]
        assert set(kept).isdisjoint(plan.shared.removed)
        for one, other in itertools.combinations(range(len(kept)), 2):
            assert (frozenset((kept[one], kept[other])) in edges) == (
                frozenset((plans[0].order[one], plans[0].order[other])) in edges
            )


def test_the_edge_whose_ends_are_restricted_most_comes_first() -> None:
    """The dominating edge (GAMMA section V-B): one of its ends has both removed neighbours."""
    (group,) = found_groups(mf.Pattern.parse("(b)--(c)--(a)--(b), (a)--(d:1), (a)--(e:1)"))
    assert [2 in member.place for member in group.members] == [True, True, False]


def found_groups(pattern: mf.Pattern, **options: Any) -> list[Any]:
    bound = bind(pattern, mf.Graph.from_edges([(0, 1)], vertex_labels=[0, 1]))
    generators = automorphisms(pattern).generators
    orbits = orbits_of(places_of_edges(bound), generators, bound.size)
    return coalesced(pattern, bound, orbits, lambda group: group, **options)


def test_an_edge_belongs_to_the_group_with_the_fewest_removed_vertices() -> None:
    """Rule 1: all edges of the triangle are equivalent without d and e, but pairs of them are without d."""
    groups = found_groups(mf.Pattern.parse(TWO_ENDS))
    assert {group.removed for group in groups} == {(3,)}
    members = [{member.place for member in group.members} for group in groups]
    assert sorted(map(sorted, members)) == [[(0, 1), (2, 1)], [(0, 2), (2, 0)], [(1, 0), (1, 2)]]


def test_of_groups_of_equal_size_the_one_with_more_edges_is_formed_first() -> None:
    """Rule 2: without e, three edges of the 4-clique are equivalent, and pairs of others."""
    pattern = mf.Pattern.parse("(a)--(b)--(c)--(d)--(a), (a)--(c), (b)--(d), (a)--(e:0), (b)--(f:1)")
    first, *others = found_groups(pattern)
    assert (first.removed, len(first.members)) == ((4,), 3)
    assert [len(group.members) for group in others] == [2, 2]


@pytest.mark.parametrize(
    "pattern",
    [
        "(a:0)--(b:1)--(c:2)--(a), (b)--(d:3)",
        "(a)-[:0]->(b)-[:1]->(c)-[:2]->(a), (b)-->(d)",
        "(a)--(b)--(c)",  # all that is equivalent is in one orbit
        "(a)--(b)",
    ],
)
def test_edges_that_differ_in_labels_or_directions_are_not_equivalent(
    monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    assert groups_of(monkeypatch, pattern, directed="->" in pattern) == {}


def test_an_anchored_vertex_is_equivalent_to_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    free = groups_of(monkeypatch, PENDANT)
    anchored = mf.Pattern.from_edges(
        [(0, 1), (1, 2), (0, 2), (0, 3), (0, 4)],
        vertex_labels=[None, None, None, 1, 2],
        vertex_ids=[None, None, 3, None, None],
    )
    assert len(free) == 1
    assert places(groups_of(monkeypatch, anchored)) == {
        frozenset({(0, 1), (1, 0)}),
        frozenset({(0, 2), (1, 2)}),
        frozenset({(2, 0), (2, 1)}),
    }


def test_any_vertices_may_be_removed_if_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    chord = "(a:1)--(b)--(c)--(d)--(a), (a)--(c)"
    assert groups_of(monkeypatch, chord) == {}
    tuning = private_tuning({"coalesce": "on", "coalesce_without": "any"})
    assert groups_of(monkeypatch, chord, tuning=tuning)


@pytest.mark.parametrize(
    "options",
    [
        {"semantics": "homomorphism"},
        {"tuning": {"coalesce": "off"}},
        {"tuning": {"coalesce": "on", "orbits": "off"}},
        {"tuning": {}, "matches": False},
    ],
)
def test_plans_share_nothing_under_homomorphism_or_if_switched_off_or_counting_by_default(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    assert groups_of(monkeypatch, PENDANT, **options) == {}


def test_vertices_that_may_coincide_keep_a_pattern_from_sharing(monkeypatch: pytest.MonkeyPatch) -> None:
    pattern = mf.Pattern.from_edges(
        [(0, 1), (1, 2), (0, 2), (0, 3)], vertex_labels=[0, 0, 0, 1], may_coincide=[(1, 3)]
    )
    assert groups_of(monkeypatch, pattern) == {}


def test_by_default_listings_share_levels_that_intersect_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert groups_of(monkeypatch, CLIQUE, tuning={})
    assert groups_of(monkeypatch, LABELLED_PATH, tuning={}) == {}
    assert groups_of(monkeypatch, LABELLED_PATH)


SHAPES = (
    [(0, 1), (1, 2), (0, 2), (0, 3)],
    [(0, 1), (1, 2), (0, 2), (0, 3), (1, 4)],
    [(0, 1), (1, 2), (2, 3), (3, 4)],
    [(0, 1), (1, 2), (2, 3), (0, 3), (0, 4)],
    [(0, 1), (1, 2), (2, 3), (0, 3), (0, 2), (1, 4)],
    [(0, 1), (0, 2), (0, 3), (1, 4)],
    [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (2, 4)],
)


@st.composite
def shared_streams(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a pattern with few labels, whose edges are often equivalent, a graph and updates."""
    edges = draw(st.sampled_from(SHAPES))
    vertices, size = draw(st.integers(4, 6)), 1 + max(map(max, edges))
    directed = draw(st.booleans())
    vertex_kinds, edge_kinds = draw(st.sampled_from((1, 2))), draw(st.sampled_from((1, 1, 2)))
    choice = st.sampled_from((0, 0, 0, None, *range(1, vertex_kinds)))
    arrow = st.sampled_from(("arc", "arc", "either") if directed else ("follow",))
    query = [
        (u, v, draw(st.sampled_from((0, 0, None, *range(1, edge_kinds)))), draw(arrow)) for u, v in edges
    ]
    seed = draw(st.integers(0, 2**32 - 1))
    ids = [None] * size
    if draw(st.integers(0, 3)) == 0:
        anchor = frozenset(draw(st.sets(st.integers(0, vertices - 1), min_size=1, max_size=5)))
        for vertex in draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=2)):
            ids[vertex] = anchor
    return {
        "labels": [draw(choice) for _ in range(size)],
        "query": query,
        "ids": ids,
        "vertices": vertices,
        "directed": directed,
        "kinds": (vertex_kinds, edge_kinds),
        "random": np.random.default_rng(seed),
    }


class Beside:
    """A graph that changes, and the matches of a pattern in it by the reference."""

    def __init__(self, drawn: dict[str, Any]) -> None:
        self.drawn, random = drawn, drawn["random"]
        vertices, directed, (vertex_kinds, edge_kinds) = drawn["vertices"], drawn["directed"], drawn["kinds"]
        self.labels = random.integers(0, vertex_kinds, vertices).tolist()
        pairs = itertools.permutations if directed else itertools.combinations
        possible = [(u, v, k) for u, v in pairs(range(vertices), 2) for k in range(edge_kinds)]
        self.edges = {edge for edge in possible if random.random() < 0.5}
        self.graph = mf.Graph.from_edges(
            [edge[:2] for edge in sorted(self.edges)],
            num_vertices=vertices,
            vertex_labels=self.labels,
            edge_labels=[edge[2] for edge in sorted(self.edges)],
            directed=directed,
        )
        self.updates = [
            (random.random() < 0.6, possible[place]) for place in random.integers(len(possible), size=8)
        ]

    @property
    def pattern(self) -> mf.Pattern:
        kinds = {"arc": True, "either": False, "follow": None}
        vertices = [
            mf.QueryVertex(f"v{at}", None if label is None else frozenset((label,)), ids)
            for at, (label, ids) in enumerate(zip(self.drawn["labels"], self.drawn["ids"], strict=True))
        ]
        edges = [
            mf.QueryEdge(u, v, None if label is None else frozenset((label,)), kinds[kind])
            for u, v, label, kind in self.drawn["query"]
        ]
        return mf.Pattern(tuple(vertices), tuple(edges))

    def change(self, update: tuple[bool, tuple[int, int, int]]) -> None:
        inserts, edge = update
        (self.edges.add if inserts else self.edges.discard)(edge)

    def matches(self) -> set[tuple[int, ...]]:
        edges = sorted(self.edges)
        found = reference.embeddings(
            self.drawn["vertices"],
            [edge[:2] for edge in edges],
            self.drawn["labels"],
            self.drawn["query"],
            directed=self.drawn["directed"],
            vertex_labels=self.labels,
            edge_labels=[edge[2] for edge in edges],
        )
        lists = self.drawn["ids"]
        return {
            image
            for image in found
            if all(ids is None or vertex in ids for vertex, ids in zip(image, lists, strict=True))
        }


def once_each(rows: set[tuple[int, ...]], pattern: mf.Pattern, *, directed: bool) -> set[frozenset[Any]]:
    """Return each occurrence as the set of its images."""
    group = automorphisms(pattern, directed=directed).elements()
    return {frozenset(tuple(row[v] for v in one) for one in group) for row in rows}


@pytest.mark.turns(8)
@given(
    drawn=shared_streams(),
    symmetry=st.sampled_from(("embeddings", "subgraphs")),
    without=st.sampled_from(("leaves", "any")),
    mode=st.sampled_from(("sequence", "batch")),
    threads=st.sampled_from((1, 2)),
)
def test_matches_of_shared_searches_are_those_of_the_reference(
    drawn: dict[str, Any], symmetry: str, without: str, mode: str, threads: int
) -> None:
    beside = Beside(drawn)
    pattern, directed = beside.pattern, drawn["directed"]
    tuning = private_tuning({"coalesce": "on", "coalesce_without": without, "at_once": "on"})
    options: dict[str, Any] = {"symmetry": symmetry, "mode": mode, "threads": threads, "tuning": tuning}
    options["duplicates"] = "ignore"
    pieces = [beside.updates] if mode == "batch" else [[update] for update in beside.updates]
    listing = mf.Monitor(beside.graph, pattern, matches=True, **options)
    counting = mf.Monitor(beside.graph, pattern, **options)
    before = beside.matches()
    for piece in pieces:
        for update in piece:
            beside.change(update)
        after = beside.matches()
        rows = [("+" if inserts else "-", *edge) for inserts, edge in piece]
        delta, counted = listing.apply(rows)[0], counting.apply(rows)[0]
        came = [tuple(row) for row in delta.appeared().tolist()]
        went = [tuple(row) for row in delta.vanished().tolist()]
        expected: Any = (after - before, before - after)
        if symmetry == "subgraphs":
            expected = [once_each(some, pattern, directed=directed) for some in expected]
            found: Any = [once_each({row}, pattern, directed=directed) for row in came]
            assert Counter(itertools.chain(*found)) == Counter(expected[0])
            found = [once_each({row}, pattern, directed=directed) for row in went]
            assert Counter(itertools.chain(*found)) == Counter(expected[1])
        else:
            assert Counter(came) == Counter(expected[0])
            assert Counter(went) == Counter(expected[1])
        assert (counted.positive, counted.negative) == (len(expected[0]), len(expected[1]))
        before = after


@pytest.mark.parametrize("matches", [False, True], ids=["counting", "listing"])
def test_each_plan_of_a_group_keeps_its_own_order_restrictions(
    monkeypatch: pytest.MonkeyPatch, matches: bool
) -> None:
    """If the edge is at a, the other two vertices of the clique may be exchanged; if it is not, none may."""
    options: dict[str, Any] = {"symmetry": "subgraphs", "tuning": {"coalesce": "on"}}
    (plans,) = groups_of(monkeypatch, CLIQUE, matches=matches, **options).values()
    restrictions = {tuple(step.after for step in plan.shape.steps[:4]) for plan in plans}
    assert len(restrictions) > 1
    assert all(not step.after for plan in plans for step in plan.shared.steps)
    random = np.random.default_rng(5)
    edges = [pair for pair in itertools.combinations(range(12), 2) if random.random() < 0.6]
    graph = mf.Graph.from_edges(edges, num_vertices=12)
    monitor = mf.Monitor(graph, CLIQUE, matches=matches, **options)
    before = mf.count(graph, CLIQUE, symmetry="subgraphs")
    for edge in edges[::5]:
        negative = monitor.apply([("-", *edge)])[0].negative
        after = mf.count(monitor.snapshot(), CLIQUE, symmetry="subgraphs")
        assert negative == before - after
        before = after


@pytest.mark.parametrize("matches", [False, True], ids=["counting", "listing"])
@pytest.mark.parametrize(
    "pattern", ["(a:1)--(b:0)--(c:0)--(d:0)--(e:2)", "(a:0)--(b:0)--(c:0)--(a), (a)--(d:1)"]
)
def test_vertices_that_one_plan_of_a_group_leaves_out_stay_for_the_others(
    pattern: str, matches: bool
) -> None:
    """Rows are so long that searches remember which of their vertices have neighbours of a label."""
    random = np.random.default_rng(6)
    edges = [pair for pair in itertools.combinations(range(60), 2) if random.random() < 0.3]
    labels = [0] * 50 + [1] * 5 + [2] * 5
    graph = mf.Graph.from_edges(edges, num_vertices=60, vertex_labels=labels)
    dropped = edges[::40]
    sparse = mf.Graph.from_edges(
        [edge for edge in edges if max(edge) < 50 or edge[0] % 3 == 0], num_vertices=60, vertex_labels=labels
    )
    for one in (graph, sparse):
        monitor = mf.Monitor(one, pattern, matches=matches, tuning={"coalesce": "on"})
        negative = monitor.apply([("-", *edge) for edge in dropped])[0].negative
        assert negative == mf.count(one, pattern) - mf.count(monitor.snapshot(), pattern)


@pytest.mark.parametrize("symmetry", ["embeddings", "subgraphs"])
def test_long_searches_of_a_group_are_divided_among_threads(symmetry: str) -> None:
    """The rows of two hubs are so long that threads share the search; rows keep the order of one thread."""
    random = np.random.default_rng(3)
    hubs = [(hub, leaf) for hub in (0, 1) for leaf in range(2, 330)]
    others = [
        tuple(sorted(pair)) for pair in random.integers(2, 330, (300, 2)).tolist() if pair[0] != pair[1]
    ]
    labels = [0] * 328 + [1, 1]
    graph = mf.Graph.from_edges(sorted({*hubs, *others}), vertex_labels=labels)
    pattern = "(a:0)--(b:0)--(c:0)--(a), (b)--(d:0)--(c), (a)--(e:1)"
    found = []
    for threads, coalesce in ((1, "on"), (3, "on"), (1, "off")):
        for matches in (True, False):
            tuning = private_tuning({"coalesce": coalesce, "at_once": "on"})
            monitor = mf.Monitor(
                graph, pattern, symmetry=symmetry, matches=matches, threads=threads, tuning=tuning
            )
            delta = monitor.apply([("+", 0, 1), ("-", 0, 5)])[0]
            rows = delta.rows.vertices if matches else np.empty((0, 5))
            found.append((delta.positive, delta.negative, rows))
    one, _, several, _, alone, _ = (rows for *_, rows in found)
    assert len(one) > 1000
    assert np.array_equal(one, several)
    assert np.array_equal(one[np.lexsort(one.T)], alone[np.lexsort(alone.T)])
    assert len({(positive, negative) for positive, negative, _ in found}) == 1
