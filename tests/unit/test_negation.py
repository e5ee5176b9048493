"""Negated edges: how they are written, and what counts, rows, plans and explanations make of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.conditions import Comparison, Operator
from motiflux.cpu import subtracting
from motiflux.cpu.engine import CpuEngine
from motiflux.pattern import AnyVertex, NegatedEdge
from motiflux.pattern.subtracting import different_patterns, signed_patterns
from motiflux.request.deadline import Deadline
from motiflux.request.request import make_request
from tests.strategies import rows_of

LARGE = Comparison("amount", Operator.GREATER, 10)


def negated(text: str) -> tuple[NegatedEdge, ...]:
    """The negated edges of a text that also reads back."""
    pattern = mf.Pattern.parse(text)
    assert mf.Pattern.parse(str(pattern)) == pattern
    return pattern.negated


class TestText:
    @pytest.mark.parametrize(
        ("written", "expected"),
        [
            ("NOT (b)-->(a)", NegatedEdge(1, 0, None, True)),
            ("not (b)<--(a)", NegatedEdge(0, 1, None, True)),
            ("NOT (b)--(a)", NegatedEdge(0, 1, None, False)),
            ("NOT (b)~>(a)", NegatedEdge(1, 0, None, None)),
            ("NOT(b)-[:wire|cash]->(a)", NegatedEdge(1, 0, frozenset({"wire", "cash"}), True)),
            ("NOT (b)-[:wire WHERE amount > 10]->(a)", NegatedEdge(1, 0, frozenset({"wire"}), True, LARGE)),
            (
                "NOT (b)-[{amount: 1}]->()",
                NegatedEdge(1, AnyVertex(), None, True, Comparison("amount", Operator.EQUAL, 1)),
            ),
            ("NOT (b)-->()", NegatedEdge(1, AnyVertex(), None, True)),
            ("NOT ()-->(b)", NegatedEdge(AnyVertex(), 1, None, True)),
            ("NOT (b)<--()", NegatedEdge(AnyVertex(), 1, None, True)),
            ("NOT ()--(b)", NegatedEdge(1, AnyVertex(), None, False)),
            ("NOT (b)-->(:shop)", NegatedEdge(1, AnyVertex(frozenset({"shop"})), None, True)),
            (
                "NOT (b)-->({amount: 1})",
                NegatedEdge(1, AnyVertex(None, Comparison("amount", Operator.EQUAL, 1)), None, True),
            ),
        ],
    )
    def test_it_says_which_edges_are_not_there(self, written: str, expected: NegatedEdge) -> None:
        assert negated(f"(a)-->(b), {written}") == (expected,)
        assert negated(f"(a)-->(b) WHERE {written}") == (expected,)
        assert negated(f"{written}, (a)-->(b);") == (expected,)

    def test_parentheses_after_not_are_conditions(self) -> None:
        pattern = mf.Pattern.parse("(a)--(b) WHERE NOT (a.x = 1) AND NOT (a.y = 1 OR a.z < 2)")
        assert pattern.negated == ()

    def test_names_may_be_of_any_kind(self) -> None:
        assert negated("(0)-->(`x y`), NOT (`x y`)-->(0)") == (NegatedEdge(1, 0, None, True),)
        assert negated("(not)-->(b) WHERE NOT (not)<--(b)") == (NegatedEdge(1, 0, None, True),)

    def test_induced_is_short_for_the_edges_that_are_missing(self) -> None:
        written = mf.Pattern.parse("(a)-->(b)--(c)-->(d) WHERE induced(a, b, c)")
        assert written == mf.Pattern.parse("(a)-->(b)--(c)-->(d), NOT (b)-->(a), NOT (a)--(c)")

    def test_induced_may_be_about_some_labels(self) -> None:
        written = mf.Pattern.parse("(a)-[:wire]->(b)-->(c) WHERE induced(a, b, c :wire|cash)")
        assert written == mf.Pattern.parse(
            "(a)-[:wire]->(b)-->(c), NOT (a)-[:cash]-(b), NOT (b)-[:wire]->(a), NOT (c)-[:wire|cash]->(b),"
            "NOT (a)-[:wire|cash]-(c)"
        )


class TestPython:
    def test_edges_are_given_by_numbers(self) -> None:
        pattern = mf.Pattern.from_edges(
            [(0, 1), (1, 2)], negated=[(2, 0), (2, None), (None, 0)], directed=True
        )
        assert pattern == mf.Pattern.parse("(0)-->(1)-->(2), NOT (2)-->(0), NOT (2)-->(), NOT ()-->(0)")

    def test_edges_are_given_by_names(self) -> None:
        builder = mf.PatternBuilder().vertex("a").vertex("b").edge("a", "b", directed=True)
        builder.no_edge("b", "a", "wire", True, where=LARGE).no_edge(
            None, "a", directed=True, end_label={"shop"}
        )
        assert builder.build() == mf.Pattern.parse(
            "(a)-->(b), NOT (b)-[:wire WHERE amount > 10]->(a), NOT (:shop)-->(a)"
        )

    def test_order_and_repetition_do_not_matter(self) -> None:
        first = mf.Pattern.parse("(a)-->(b)-->(c), NOT (c)-->(a), NOT (b)--(a)")
        second = mf.Pattern.parse("(a)-->(b)-->(c), NOT (a)--(b), NOT (c)-->(a), NOT (b)--(a)")
        assert first == second
        assert hash(first) == hash(second)
        assert first != mf.Pattern.parse("(a)-->(b)-->(c), NOT (c)-->(a)")

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ([(0, 5)], "negated edge 0: expected vertices 0 to 1, found 5"),
            ([(0, 0)], "negated edge 0: expected two different vertices, found '0' twice"),
            ([(None, None)], "negated edge 0: expected a vertex of the pattern at one end, found none"),
            ([(0, 1), "x"], "negated edge 1: expected a NegatedEdge, found 'x'"),
            ([(0, "b")], "negated edge 0: expected vertices 0 to 1, found 'b'"),
            (3, "negated: expected pairs of vertex numbers or negated edges, found 3"),
        ],
    )
    def test_edges_that_are_none_are_refused(self, given: Any, message: str) -> None:
        with pytest.raises(mf.PatternError) as caught:
            mf.Pattern.from_edges([(0, 1)], negated=given)
        assert str(caught.value) == message

    def test_a_builder_refuses_ends_that_are_none(self) -> None:
        builder = mf.PatternBuilder().vertex("a").vertex("b").edge("a", "b")
        with pytest.raises(mf.PatternError, match="found None at both"):
            builder.no_edge(None, None)
        with pytest.raises(mf.PatternError, match="expected vertices added before"):
            builder.no_edge("z", None)
        with pytest.raises(mf.PatternError, match="for an end that is None"):
            builder.no_edge("a", "b", end_label="x")

    def test_induced_names_what_it_does_not_know(self) -> None:
        pattern = mf.Pattern.from_edges([(0, 1), (1, 2)])
        with pytest.raises(mf.PatternError, match="follows the data graph"):
            pattern.induced()
        assert len(pattern.induced(directed=False).negated) == 1
        assert len(pattern.induced(directed=True).negated) == 3
        with pytest.raises(mf.PatternError, match="found 'z'"):
            pattern.induced(["0", "z"], directed=True)
        with pytest.raises(mf.PatternError, match="two vertices or more, found 1"):
            pattern.induced([0], directed=True)


TRANSFERS = mf.Graph.from_edges(
    [("a", "b"), ("b", "c"), ("c", "a"), ("b", "f"), ("f", "b"), ("f", "e")],
    directed=True,
    edge_labels=["wire", "wire", "cash", "wire", "cash", "wire"],
    vertex_labels=["person", "person", "bank", "person", "shop"],
    edge_attributes={"amount": [5, 20, 30, 8, 9, 50]},
    vertex_ids=list("abcfe"),
)


class TestMeaning:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("(x)-->(y)-->(z), NOT (z)-->(x)", {"abf", "fbc", "bfe"}),
            ("(x)-->(y)-->(z), NOT (z)-[:wire]->(x)", {"abc", "abf", "fbc", "bfe"}),
            ("(x)-->(y)-->(z), NOT (z)-[WHERE amount > 25]->(x)", {"abf", "bca", "cab", "fbc", "bfe"}),
            ("(x)-->(y), NOT (y)-->()", {"fe"}),
            ("(x)-->(y), NOT (y)-[:cash]->()", {"ab", "ca", "fb", "fe"}),
            ("(x)-->(y), NOT (y)-->(:person)", {"fe"}),
            ("(x)-->(y), NOT ()-[:wire]->(x)", {"ab"}),
            ("(x)-->(y), NOT (x)-->(y)", set()),
            ("(x)-->(y), NOT (y)-[:gift]->(), NOT (x)-->(:church)", {"ab", "bc", "ca", "bf", "fb", "fe"}),
        ],
    )
    def test_matches_have_none_of_the_edges(self, text: str, expected: set[str]) -> None:
        rows = mf.match(TRANSFERS, text).to_numpy().tolist()
        assert sorted("".join(map(str, row)) for row in rows) == sorted(expected)
        assert mf.count(TRANSFERS, text) == len(expected)
        assert mf.count(TRANSFERS, text, tuning={"negation": "subtract"}) == len(expected)

    def test_there_is_no_edge_between_vertices_that_coincide(self) -> None:
        path = mf.Graph.from_edges([(0, 1), (1, 2)])
        assert mf.count(path, "(a)--(b)--(c), NOT (a)--(c)", semantics="homomorphism") == 6
        assert mf.count(path, "(a)--(b)--(c), NOT (a)--(c) WHERE may_equal(a, c)") == 6

    def test_a_condition_on_an_unknown_attribute_is_an_error(self) -> None:
        for edge in ("NOT (b)-[WHERE sum > 3]->(a)", "NOT (b)-->(WHERE sum > 3)"):
            with pytest.raises(mf.PatternError, match="'sum'"):
                mf.count(TRANSFERS, f"(a)-->(b), {edge}")

    def test_an_arc_cannot_be_negated_on_an_undirected_graph(self) -> None:
        graph = mf.Graph.from_edges([(0, 1)])
        for edge in ("NOT (b)-->(a)", "NOT (b)-->()"):
            with pytest.raises(mf.PatternError, match="undirected"):
                mf.count(graph, f"(a)--(b), {edge}")


def random_transfers(edges: int, seed: int = 7) -> mf.Graph:
    random = np.random.default_rng(seed)
    ends = random.zipf(1.6, (edges, 2)) % (edges // 10)
    ends = ends[ends[:, 0] != ends[:, 1]]
    return mf.Graph.from_edges(
        ends, directed=True, edge_labels=random.choice(["wire", "cash"], len(ends)).tolist()
    )


@pytest.mark.parametrize(
    "text",
    [
        "(a)-->(b)-->(c), NOT (c)-->(a)",
        "(a)-->(b)-->(c)-->(d), NOT (d)-[:wire]->(a), NOT (c)-->(a)",
        "(a)-[:wire]->(b)-[:cash]->(c), NOT (a)--(c), NOT (c)-[:cash]->()",
        "(a)-->(b)-->(c)-->(a), NOT (a)-->(c), NOT (b)-->(a), NOT (c)-->(b)",
    ],
)
def test_long_rows_with_repeated_neighbours_are_searched_and_subtracted_alike(text: str) -> None:
    graph = random_transfers(3000)
    counts = {
        (negation, threads, simd): int(
            mf.count(graph, text, threads=threads, tuning={"negation": negation, "simd": simd})
        )
        for negation in ("search", "subtract")
        for threads in (1, 3)
        for simd in ("scalar", "auto")
    }
    assert len(set(counts.values())) == 1, counts
    assert len(mf.match(graph, text).to_numpy()) == counts["search", 1, "auto"]


def test_signed_counts_add_up() -> None:
    pattern = mf.Pattern.parse("(a)-->(b)-->(c), NOT (c)-->(a), NOT (a)-->(c), NOT (b)-[:wire]->()")
    graph = random_transfers(500)
    terms = list(signed_patterns(pattern))
    assert [sign for sign, _ in terms] == [1, -1, -1, 1]
    assert all(len(one.negated) == 1 for _, one in terms)
    assert sum(sign * mf.count(graph, one) for sign, one in terms) == mf.count(graph, pattern)


@pytest.mark.parametrize(
    ("text", "factors"),
    [
        ("(a)-->(b)-->(c)-->(d)-->(a), NOT (a)--(c), NOT (b)--(d)", [1, -2, 1]),
        ("(a)-->(b)-->(c)-->(a), NOT (a)-->(c), NOT (c)-->(b), NOT (b)-->(a)", [1, -3, 3, -1]),
        ("(a)-->(b)<--(c), NOT (a)-->(c), NOT (c)-->(a), NOT (b)-->(a)", [1, -1, -1, -1, 1, 1, 1, -1]),
        ("(a)-[:wire]->(b)<-[:wire]-(c), NOT (a)-[:cash]->(b), NOT (c)-[:wire]->(b)", [1, -1, -1, 1]),
        ("(a:shop)-->(b)<--(c), NOT (b)-->(a), NOT (b)-->(c)", [1, -1, -1, 1]),
        ("(a)-->(b)<--(c), NOT (b)-->(a), NOT (b)-->(c)", [1, -2, 1]),
    ],
)
def test_counts_that_automorphisms_map_to_each_other_are_counted_once(text: str, factors: list[int]) -> None:
    pattern = mf.Pattern.parse(text)
    graph = random_transfers(700)
    terms = different_patterns(pattern, directed=True)
    assert [factor for factor, _ in terms] == factors
    assert sum(factor * mf.count(graph, one) for factor, one in terms) == mf.count(
        graph, pattern, tuning={"negation": "search"}
    )
    explained = mf.explain(graph, text, tuning={"negation": "subtract"})
    assert ("- 2 times" in str(explained)) == (-2 in factors)


class TestExplain:
    def test_it_shows_arcs_that_must_not_be_there(self) -> None:
        text = str(mf.explain(TRANSFERS, "(x)-->(y)-->(z), NOT (z)-[:cash]->(x), NOT (y)-[:wire]->(:shop)"))
        assert "no arc[cash] " in text
        assert "no (y)-[:wire]->(:shop)" in text
        assert "the CPU engine looks for negated edges" in text

    def test_it_shows_terms(self) -> None:
        explained = mf.explain(
            TRANSFERS, "(x)-->(y)-->(z), NOT (z)-->(x)", tuning={"negation": "subtract"}, analyze=True
        )
        assert "  + (x)-->(y), (y)-->(z)" in str(explained)
        assert "  - (x)-->(y), (y)-->(z), (z)-->(x)" in str(explained)
        assert "- (x)--&gt;(y), (y)--&gt;(z), (z)--&gt;(x)" in explained.to_html()
        assert [term["sign"] for term in explained.to_dict()["terms"]] == [1, -1]
        assert explained.to_dict()["actual"]["count"] == 3

    def test_inclusion_and_exclusion_is_chosen_where_it_is_faster(self) -> None:
        graph = random_transfers(60_000)
        explained = mf.explain(graph, "(a)-->(b)-->(c)-->(d), NOT (a)-->(c)", threads=1)
        assert explained.report.terms


def test_interrupted_terms_leave_no_wrong_count() -> None:
    graph = random_transfers(60_000)
    text = "(a)-->(b)-->(c)-->(d)-->(e)-->(f), NOT (f)-->(a), NOT (e)-->(b)"
    found = mf.count(graph, text, timeout=0.05, tuning={"negation": "subtract", "tables": "off"})
    assert not found.complete
    assert found == 0


def test_gpu_engines_hand_over_by_name() -> None:
    found = mf.count(TRANSFERS, "(x)-->(y), NOT (y)-->(x)", device="cuda", engine="dfs")
    assert (found.engine, found.device) == ("cpu", "cpu")
    assert found.reason == "the CPU engine looks for negated edges, not 'cuda' and 'dfs'"


def test_pictures_show_negated_edges() -> None:
    picture = str(mf.Pattern.parse("(a)-->(b), NOT (b)-[:wire]->(a), NOT (b)-->(:shop)").to_svg())
    assert "no wire" in picture
    assert "no (b)--&gt;(:shop)" in picture


def test_an_occurrence_with_a_negated_edge_is_refused() -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0), (2, 3)], directed=True)
    pattern = mf.Pattern.parse("(a)-->(b)-->(c), NOT (c)-->(a)")
    assert mf.draw_match(graph, pattern, [1, 2, 3])
    with pytest.raises(mf.ArgumentError, match="no edge"):
        mf.draw_match(graph, pattern, [0, 1, 2])
    with pytest.raises(mf.ArgumentError, match="no edge"):
        mf.draw_match(graph, "(a)-->(b), NOT (b)-->()", [0, 1])


@pytest.mark.parametrize("symmetry", ["embeddings", "subgraphs"])
@pytest.mark.parametrize(
    "text",
    [
        "(a)-->(b)-->(c), NOT (c)-[:wire]->(a), NOT (b)-[:cash]->(a)",
        "(a)-->(b)-->(c), NOT (c)-->(a), NOT (b)-[:cash]->(a), NOT (c)-->()",
        "(b)<--(a)-->(c), NOT (c)-[:wire]-(b), NOT (b)-->(a), NOT (c)-->(a)",
    ],
)
def test_estimates_subtract_negated_edges_of_other_kinds(text: str, symmetry: Any) -> None:
    graph = random_transfers(3000)
    whole = mf.count(graph, text, symmetry=symmetry)
    found = mf.estimate(graph, text, samples=400_000, seed=5, symmetry=symmetry, estimator="alley")
    assert found.low <= whole <= found.high
    assert found.value > 0


def test_what_estimates_cannot_subtract_is_refused() -> None:
    graph = random_transfers(300)
    text = "(a)-->(b)-->(c), NOT (c)-[:wire]->(a), NOT (b)-[:cash]->(a)"
    assert set(rows_of(mf.sample(graph, text, 10))) <= set(rows_of(mf.match(graph, text)))
    with pytest.raises(mf.ArgumentError, match="one choice of labels and one condition"):
        mf.estimate(graph, text, semantics="induced")
    edges = ", ".join(f"NOT (v{at})-[:cash]->(a), NOT (a)-[:wire]->(v{at})" for at in range(5))
    with pytest.raises(mf.ArgumentError, match=r"at most 4 negated edges of other kinds .* found 5"):
        mf.estimate(graph, f"{', '.join(f'(a)-->(v{at})' for at in range(5))}, {edges}")


def test_estimates_take_one_kind_of_negated_edges() -> None:
    graph = random_transfers(3000)
    pattern = mf.Pattern.parse("(a)-->(b)-->(c)-->(d), NOT (d)-[:wire]->(a), NOT (c)-[:wire]-(a)")
    whole = mf.count(graph, pattern)
    found = mf.estimate(graph, pattern, rel_error=0.05, seed=3, estimator="alley")
    assert found.low <= whole <= found.high
    rows = {tuple(row) for row in mf.sample(graph, pattern, 50, seed=1).to_numpy().tolist()}
    assert rows <= {tuple(row) for row in mf.match(graph, pattern).to_numpy().tolist()}


def test_a_search_in_a_candidate_space_is_expected_to_look_up_each_candidate() -> None:
    random = np.random.default_rng(7)
    ends = (3000 * random.random((2, 30_000)) ** 2.5).astype(int)
    ends = np.unique(ends[:, ends[0] != ends[1]], axis=1)
    values = {"x": random.integers(0, 10, 3000)}
    graph = mf.Graph.from_edges(tuple(ends), directed=True, num_vertices=3000, vertex_attributes=values)
    text = "(a)-->(b)-->(c), NOT (c)-->(a) WHERE a.x <> 1"
    assert "not searched but the sum" in str(mf.explain(graph, text, threads=1))
    assert mf.count(graph, text, threads=1) == mf.count(graph, text, tuning={"negation": "search"})


def test_a_short_search_that_comes_again_is_planned_again_as_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subtracting, "_SEARCHED", 1.0)
    hub, number = 0, 250
    edges = [(at, hub) for at in range(1, number)] + [(hub, at) for at in range(1, number)]
    graph = mf.Graph.from_edges([*edges, (1, 2), (3, 4)], directed=True)
    pattern = mf.Pattern.parse("(a)-->(f)-->(b), NOT (a)--(b)")
    expected = mf.count(graph, pattern, device="cpu", tuning={"negation": "search"})
    asked: dict[str, Any] = {"semantics": "isomorphism", "symmetry": "embeddings", "device": "cpu"}
    request = make_request(**asked, threads=1)
    engine = CpuEngine()
    first, again = (engine.plan(graph, pattern, request, Deadline.after(None)) for _ in range(2))
    assert first is not None
    assert again is not None
    assert first.seconds is not None
    assert first.seconds < first.expires == 2e-3
    assert not first.terms
    assert again.terms
    assert again.expires is None
    for physical in (first, again):
        found = engine.count(graph, physical, request, Deadline.after(None))
        assert (found.value, found.complete) == (expected, True)
    limited = make_request(**asked, threads=1, limit=5)
    for _ in range(2):
        physical = engine.plan(graph, pattern, limited, Deadline.after(None))
        assert physical is not None
        assert (physical.terms, physical.expires) == ((), None)
