"""Patterns, queries and distinct rows in one call, and texts that look like another kind."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import motiflux as mf
from motiflux.cli.app import app

PATHS = mf.Graph.from_edges(
    [(0, 1), (1, 2), (2, 3), (4, 1)],
    directed=True,
    num_vertices=5,
    vertex_attributes={"kind": ["return", "x", "return", "y", "z"]},
)


def test_a_list_holds_distinct_rows_queries_and_patterns() -> None:
    texts = ["(a)-->(b) RETURN DISTINCT b", "(a)-[*1..2]->(b)", "(a)-->(b)"]
    assert [int(count) for count in mf.count(PATHS, texts)] == [3, 7, 4]
    assert [len(rows.to_numpy()) for rows in mf.match(PATHS, texts)] == [3, 7, 4]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("(a)-[*1..2]->(b) WHERE a.kind = 'return'", 3),
        ("(a)-->(b) WHERE a.kind = 'return' OR b.kind = 'return'", 3),
        ("(a)-->(b) WHERE a.kind = 'return' RETURN DISTINCT a", 2),
    ],
)
def test_a_value_may_be_called_return(text: str, number: int) -> None:
    assert int(mf.count(PATHS, text)) == number
    assert len(mf.match(PATHS, text).to_numpy()) == number
    assert mf.explain(PATHS, text)


def test_samples_and_estimates_take_negated_edges_of_which_one_lets_all_arcs_through() -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0)], edge_labels=["wire", "cash", "wire"])
    text = "(a)--(b)--(c), NOT (a)--(b), NOT (a)-[:cash]-(c)"
    assert int(mf.count(graph, text)) == 0
    assert mf.estimate(graph, text, samples=100).low == 0
    assert len(mf.sample(graph, text, 10).to_numpy()) == 0
    open_ended = "(a)--(b)--(c), NOT (a)-[:wire]-(b), NOT (a)-[:cash]-(c)"
    rows = mf.match(graph, open_ended).to_numpy().tolist()
    drawn = mf.sample(graph, open_ended, 20, seed=1).to_numpy().tolist()
    assert len(drawn) == 20
    assert sorted(map(tuple, rows)) == sorted({tuple(row) for row in drawn})


def test_a_match_with_a_condition_on_a_degree_is_drawn() -> None:
    assert "<svg" in str(mf.draw_match(PATHS, "(a)-->(b) WHERE degree(b) > 2", [0, 1]))
    with pytest.raises(mf.ArgumentError, match="satisfies the conditions on 'b'"):
        mf.draw_match(PATHS, "(a)-->(b) WHERE degree(b) > 3", [0, 1])


def test_the_command_line_takes_text_queries_and_distinct_rows(tmp_path: Path) -> None:
    edges = tmp_path / "edges.txt"
    edges.write_text("0 1\n1 2\n2 3\n4 1\n")

    def output(*words: str) -> str:
        result = CliRunner().invoke(app, [words[0], str(edges), *words[1:], "--directed"])
        assert result.exit_code == 0, result.output
        return result.stdout

    assert output("count", "(a)-->(b)").startswith("4 embeddings")
    assert output("count", "(a)-[*1..2]->(b)").startswith("7 embeddings")
    assert output("count", "(a)-->(b) RETURN DISTINCT b").startswith("3 ")
    assert output("match", "(a)-->(b)", "--distinct", "b", "--having", "count(a) >= 2").split() == ["v1", "1"]
    assert output("match", "(a)-->(b)", "(a)-->(b)-->(c)").startswith("pattern,v0,v1")
    assert "search" in output("explain", "(a)-->(b)-->(c)")
    refused = CliRunner().invoke(app, ["match", str(edges), "(a)-->(b)", "(a)-->(c)", "--distinct", "a"])
    assert refused.exit_code == 2
    assert "expected one pattern beside them, found 2" in refused.output


def test_negation_goes_before_one_edge_of_one_length() -> None:
    with pytest.raises(mf.PatternSyntaxError, match="negated paths of variable length"):
        mf.count(PATHS, "(a)-->(b), NOT (b)-[*1..2]->(a)")
