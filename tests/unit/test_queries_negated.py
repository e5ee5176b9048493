"""Negated edges and degrees in queries of several patterns: rows, counts, copies, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import motiflux as mf

PATHS = mf.Graph.from_edges(
    [(0, 1), (1, 2), (2, 3), (4, 1), (2, 1)],
    directed=True,
    vertex_attributes={"kind": ["x", "x", "y", "y", "z"]},
)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("(a)-[*1..2]->(b), NOT (b)-->(a)", [(0, 1), (0, 2), (1, 3), (2, 3), (4, 1), (4, 2)]),
        ("(a)-[*1..2]->(b) WHERE NOT (a)-->(b)", [(0, 2), (1, 3), (4, 2)]),
        ("(a)-->(b) WHERE NOT ()-->(a) OPTIONAL (b)-->(c)", [(0, 1, 2), (4, 1, 2)]),
        ("(a)-->(b), NOT (b)-->() OPTIONAL (a)-->(c)", [(2, 3, 1)]),
        ("(a)-->(b), (c)-->(d) WHERE NOT (b)-->(c) AND NOT (b)--(d)", [(2, 3, 0, 1), (2, 3, 4, 1)]),
        ("(a)-->(b) WHERE a.kind = 'x' OR degree(b, out) = 0", [(0, 1), (1, 2), (2, 3)]),
        ("(a)-[*2]->(b) WHERE 1 <= degree(a) <= 1 AND NOT (a)-->(b)", [(0, 2), (4, 2)]),
        ("(a)-->(b) WHERE NOT (degree(a) < 3 OR b.kind = 'x')", [(1, 2), (2, 3)]),
        ("(a)-->(b) WHERE NOT (b)-->(a) OR a.kind = 'x'", [(0, 1), (1, 2), (2, 3), (4, 1)]),
        ("(a)-->(b) WHERE NOT (b)-->() OR NOT ()-->(a)", [(0, 1), (2, 3), (4, 1)]),
        ("(a)-->(b) WHERE (NOT (b)-->(a) AND a.kind = 'z') OR b.kind = 'y'", [(1, 2), (2, 3), (4, 1)]),
        ("(a)-[*2]->(b) WHERE NOT (b)-->(a) OR NOT (a)-->(b)", [(0, 2), (1, 3), (4, 2)]),
        (
            "(a)-->(b) WHERE degree(b) > 1 OPTIONAL (b)-->(c) WHERE degree(c, in) = 1",
            [(0, 1, 2), (1, 2, 3), (2, 1, None), (4, 1, 2)],
        ),
    ],
)
def test_rows_and_counts(text: str, rows: list[tuple[int | None, ...]]) -> None:
    found = mf.match(PATHS, text, names=True).to_arrow().to_pylist()
    ends = "abcd"[: len(rows[0])]
    assert sorted((tuple(row[end] for end in ends) for row in found), key=str) == sorted(rows, key=str)
    assert mf.count(PATHS, text) == len(rows)


@pytest.mark.parametrize(
    ("optional", "present"),
    [
        ("(b)-[y]->(a)", "(b)-->(a)"),
        ("(b)-[y]->(a) WHERE NOT (b)-->(a)", None),
        ("(a)-[y]->(b) WHERE NOT (b)-->(a)", "NOT (b)-->(a)"),
        ("(a)-[y]-(b) WHERE NOT (b)-->(a) AND NOT ()-->(a)", "NOT (b)-->(a), NOT ()-->(a)"),
    ],
)
@pytest.mark.parametrize("semantics", ["isomorphism", "homomorphism"])
def test_an_optional_edge_between_two_vertices_is_there_without_its_negated_edges(
    semantics: Any, optional: str, present: str | None
) -> None:
    path = "(a)-->(b)-->(c)"
    text = f"{path} OPTIONAL {optional}"
    found = mf.match(PATHS, text, edges=True, names=True, semantics=semantics).to_arrow().to_pylist()
    whole = mf.count(PATHS, path, semantics=semantics)
    assert len(found) == mf.count(PATHS, text, semantics=semantics) == whole
    there = 0 if present is None else mf.count(PATHS, f"{path}, {present}", semantics=semantics)
    assert sum(row["y"] is not None for row in found) == there


def test_ends_of_an_optional_edge_that_is_missing_are_exchanged() -> None:
    graph = mf.Graph.from_edges([(0, 1), (2, 1), (3, 1), (0, 3)], edge_labels=list("ppqp"))
    path = "(a)-[:p]-(b)-[:p]-(c)"
    for negated, exchanges in (("NOT (a)-[:p]-(c)", True), ("NOT (c)-[:q]-()", False)):
        text = f"{path} OPTIONAL (a)-[:q]-(c) WHERE {negated}"
        rows = len(mf.match(graph, text, symmetry="subgraphs").to_numpy())
        assert mf.count(graph, text, symmetry="subgraphs") == rows
        assert rows == mf.count(graph, path, symmetry="subgraphs" if exchanges else "embeddings")


def test_a_query_of_one_pattern_has_them_too() -> None:
    text = "(a)-->(b), NOT (b)-->(a), NOT (b)-->() WHERE degree(a) > 1"
    query = mf.Query.parse(text)
    assert query.patterns == (mf.Pattern.parse(text),)
    assert mf.count(PATHS, query) == mf.count(PATHS, text) == 1


def test_choices_of_copies_do_not_count_copies_of_edges_that_are_not_there() -> None:
    graph = mf.Graph.from_edges([(0, 1), (0, 1), (1, 2), (1, 2), (1, 2), (2, 3)], directed=True)
    text = "(a)-->(b), (c)-->(d), NOT (b)-->(c)"
    rows = mf.match(graph, text, edges="all").to_numpy()
    assert mf.count(graph, text, copies=True) == len(rows) == 2
    assert mf.count(graph, text) == 1


def test_parts_that_are_exchanged_are_one_occurrence() -> None:
    graph = mf.Graph.from_edges([(0, 1), (2, 3), (4, 5), (1, 2), (5, 4)], directed=True)
    both, one = "(a)-->(b), (c)-->(d), NOT (a)--(c), NOT (b)--(d)", "(a)-->(b), (c)-->(d), NOT (b)-->(c)"
    for text, group in ((both, 2), (one, 1)):
        number = int(mf.count(graph, text))
        assert number > 0
        assert mf.count(graph, text, symmetry="subgraphs") == number // group
        assert len(mf.match(graph, text, symmetry="subgraphs").to_numpy()) == number // group


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(a)-->(b) OPTIONAL (b)-->(c) WHERE NOT (c)-->(a)", "of the vertices after OPTIONAL, found 'a'"),
        ("(a)-->(b) OPTIONAL (b)-->(c) WHERE c.x = 1 OR NOT (c)-->()", "only AND joins negated edges"),
        ("(a)-->(b) WHERE NOT (a.x = 1 AND NOT (b)-->(a))", "AND and OR alone around a negated edge"),
        (
            "(a)-->(b)-->(c), (d)-->(e)-->(f), "
            + ", ".join(f"NOT (a)--({end})" for end in "def")
            + ", NOT (b)--(e), NOT (c)--(e)",
            "at most 4 negated edges between parts, found 5",
        ),
        ("(a)-[*2]->(b), NOT (a)-->(c)", "expected the name of a vertex or an edge, found 'c'"),
        ("(a)-[p*2]->(b) WHERE degree(p) > 2", "expected the name of a vertex or an edge, found 'p'"),
    ],
)
def test_an_error_says_what_is_expected(text: str, message: str) -> None:
    with pytest.raises(mf.PatternSyntaxError, match=message):
        mf.count(PATHS, text)


INDUCED = [
    ("(a)-[:p*1..3]->(b) WHERE induced(a, b)", None),
    ("(a)-[:p*1..2]->(b)-[:q]->(c) WHERE induced(a, b :p)", "p"),
    ("(a)-[:p*1..2]->(b)-[:q]->(c) WHERE induced(a, b) OPTIONAL (c)-[:p]->(d)", None),
]


@pytest.mark.parametrize("symmetry", ["embeddings", "subgraphs"])
@pytest.mark.parametrize(("text", "label"), INDUCED)
def test_some_vertices_of_a_query_are_induced_in_each_of_its_patterns(
    text: str, label: str | None, symmetry: Any
) -> None:
    rng = np.random.default_rng(7)
    pairs = sorted({(u, v) for u, v in rng.integers(0, 10, (60, 2)).tolist() if u != v})
    labels = rng.choice(["p", "q"], len(pairs)).tolist()
    graph = mf.Graph.from_edges(pairs, directed=True, num_vertices=10, edge_labels=labels)
    there = {pair for pair, one in zip(pairs, labels, strict=True) if label in (None, one)}

    def is_induced(row: dict[str, Any]) -> bool:
        a, b = row["a"], row["b"]
        return (b, a) not in there and (len(row["p0"]) == 2 or (a, b) not in there)

    before, _, rest = text.partition(" WHERE ")
    wide = before + rest.partition(")")[2]
    options: dict[str, Any] = {"names": True, "symmetry": symmetry}
    rows = mf.match(graph, wide, **options).to_arrow().to_pylist()
    expected = [row for row in rows if is_induced(row)]
    found = mf.match(graph, text, **options).to_arrow().to_pylist()
    assert 0 < len(expected) < len(rows)
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    assert int(mf.count(graph, text, symmetry=symmetry)) == len(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "(a)-->(b)-->(c) WHERE induced(a, b) OPTIONAL (b)-[*1..2]->(a)",
            "no OPTIONAL path between",
        ),
        ("(a)-->(b) WHERE induced(a, c) OPTIONAL (b)-->(c)", "'c'"),
        ("(a)-[*1..2]->(b) WHERE NOT induced(a, b)", "expected induced"),
    ],
)
def test_what_queries_cannot_induce_is_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(mf.PatternSyntaxError, match=message):
        mf.Query.parse(text)


def test_copies_and_negated_edges_that_or_joins() -> None:
    """Each embedding is listed once, by conditions of edges or because an edge is not there."""
    graph = mf.Graph.from_edges(
        [(0, 1), (0, 1), (1, 0), (1, 2), (2, 3)], directed=True, edge_attributes={"t": [1, 2, 3, 4, 5]}
    )
    text = "(a)-[x]->(b) WHERE x.t = 2 OR NOT (b)-->(a)"
    found = mf.match(graph, text, edges=True, attributes=["t"]).to_arrow().to_pylist()
    assert sorted((row["v0"], row["v1"], row["e0.t"]) for row in found) == [(0, 1, 2), (1, 2, 4), (2, 3, 5)]
    assert mf.count(graph, text) == 3
    with pytest.raises(mf.ArgumentError, match=r"^copies: "):
        mf.count(graph, text, copies=True)


def test_or_of_negated_edges_is_symmetric() -> None:
    graph = mf.Graph.from_edges(
        [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)], directed=False, edge_labels=list("pppqq")
    )
    text = "(a)--(b)--(c) WHERE NOT (a)-[:q]-() OR NOT (c)-[:q]-()"
    number = int(mf.count(graph, text))
    assert number > 0
    assert mf.count(graph, text, symmetry="subgraphs") == number // 2
    assert len(mf.match(graph, text, symmetry="subgraphs").to_numpy()) == number // 2


def test_a_monitor_refuses_or_of_edges_to_any_vertex() -> None:
    text = "(a)-->(b) WHERE NOT (b)-->() OR NOT ()-->(a)"
    with pytest.raises(mf.ArgumentError, match="no negated edges to any vertex beside OR"):
        mf.Monitor(PATHS, text)


TRIANGLE = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0), (3, 2)], directed=True)


@pytest.mark.parametrize(
    ("text", "semantics", "rows"),
    [
        # 2 is next to 0 and so no end of 0 -> 1; nothing but 1 is next to 2 -> 0 and 3 -> 2.
        (
            "(a)-->(b) OPTIONAL (b)-->(c)",
            "induced",
            [(0, 1, None), (1, 2, None), (2, 0, None), (3, 2, 0)],
        ),
        ("(a)-->(b)-->(c) OPTIONAL (c)-->(a)", "induced", [(0, 1, 2), (1, 2, 0), (2, 0, 1), (3, 2, 0)]),
        ("(a)-->(b)-->(c) WHERE induced(a, c) OPTIONAL (a)-->(c)", "isomorphism", [(3, 2, 0)]),
        (
            "(a)-->(b)-->(c) WHERE induced(a, c) OPTIONAL (c)-->(a)",
            "isomorphism",
            [(0, 1, 2), (1, 2, 0), (2, 0, 1), (3, 2, 0)],
        ),
        (
            "(a)-->(b) OPTIONAL (b)-[*2]->(c)",
            "induced",
            [(0, 1, None), (1, 2, None), (2, 0, None), (3, 2, None)],
        ),
    ],
)
def test_optional_edges_beside_induced_matching(text: str, semantics: Any, rows: list[Any]) -> None:
    options: dict[str, Any] = {"semantics": semantics}
    found = mf.match(TRIANGLE, text, names=True, **options).to_arrow().to_pylist()
    assert sorted((tuple(row[v] for v in "abc") for row in found), key=str) == rows
    assert mf.count(TRIANGLE, text, **options) == len(rows)
    mixed = mf.count(TRIANGLE, [text, "(a)-->(b)-->(c)"], **options)
    assert [int(one) for one in mixed] == [len(rows), mf.count(TRIANGLE, "(a)-->(b)-->(c)", **options)]
    drawn = mf.sample(TRIANGLE, text, 40, seed=1, **options).to_arrow().to_pylist()
    assert {tuple(list(row.values())[:3]) for row in drawn} == set(rows)


def test_a_monitor_refuses_induced_optional_edges() -> None:
    with pytest.raises(mf.ArgumentError, match="'isomorphism' or 'homomorphism' beside OPTIONAL"):
        mf.Monitor(TRIANGLE, "(a)-->(b) OPTIONAL (b)-->(c)", semantics="induced")
