"""Distinct rows of queries of several patterns: columns, thresholds, refusals by name, the command line."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest

import motiflux as mf
from motiflux.result.partial import partial_result
from tests.unit.cli_run import motiflux

BANK = mf.Graph.from_edges(
    [("ann", "hub"), ("bob", "hub"), ("hub", "dee"), ("dee", "eve"), ("hub", "eve")],
    directed=True,
    vertex_ids=["ann", "bob", "hub", "dee", "eve"],
    vertex_attributes={"age": [1, 2, 3, 4, 5]},
)
OPTIONAL = "(a)-->(b) OPTIONAL (b)-->(c)"
LONG = "(a)-[*4..6]->(b)"


@pytest.fixture(scope="module")
def large() -> mf.Graph:
    random = np.random.default_rng(7)
    edges = random.integers(0, 400, (4000, 2))
    return mf.Graph.from_edges(edges[edges[:, 0] != edges[:, 1]], directed=True, num_vertices=400)


def test_columns_are_in_the_order_of_the_argument() -> None:
    found = mf.match(BANK, OPTIONAL, distinct=["c", "a"])
    assert found.columns == ["v2", "v0"]
    assert sorted(found.to_numpy().tolist(), key=str) == [
        ("dee", "ann"),
        ("dee", "bob"),
        ("eve", "ann"),
        ("eve", "bob"),
        ("eve", "hub"),
        (None, "dee"),
        (None, "hub"),
    ]
    table = mf.match(BANK, f"{OPTIONAL} RETURN DISTINCT c", names=True, attributes=["age"]).to_arrow()
    assert sorted(table.to_pylist(), key=str) == [
        {"c": "dee", "c.age": 4},
        {"c": "eve", "c.age": 5},
        {"c": None, "c.age": None},
    ]
    paths = mf.match(BANK, "(a)-[*2..3]->(b)", distinct=["a", "b"])
    assert paths.to_numpy().shape == (5, 2)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("(a)-[*1..2]->(b) RETURN DISTINCT b HAVING count(a) >= 3", [("dee",), ("eve",)]),
        (f"{OPTIONAL} RETURN DISTINCT b HAVING count(c) = 0", [("eve",)]),
        (
            "(a)-->(b), (c)-->(d) RETURN DISTINCT a, c HAVING count(*) = 1 AND count(b) < 2",
            [("ann", "dee"), ("bob", "dee"), ("dee", "ann"), ("dee", "bob")],
        ),
        ("(a)-->(b), NOT (b)-->() OPTIONAL (a)-->(c) RETURN DISTINCT c", [("dee",), (None,)]),
        ("(a)-->(b) WHERE a.age = 1 OR degree(b) = 2 RETURN DISTINCT b", [("dee",), ("eve",), ("hub",)]),
    ],
)
def test_thresholds_count_images_of_all_patterns(text: str, rows: list[tuple[str | None, ...]]) -> None:
    found = mf.match(BANK, text, names=True).to_arrow().to_pylist()
    assert sorted((tuple(row.values()) for row in found), key=str) == sorted(rows, key=str)
    assert mf.count(BANK, text) == len(rows)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(a)-[*1..2]->(b) RETURN DISTINCT a HAVING count(*) > 1", "expected names in count"),
        (f"{OPTIONAL} RETURN DISTINCT a HAVING count(*) > 1", "expected names in count"),
        ("(a)-[p*1..2]->(b) RETURN DISTINCT p", "no vertex is called 'p'"),
        (
            "(a)-[*1..2]->(b) RETURN DISTINCT a HAVING count(a) > 1",
            "vertices that rows do not have",
        ),
    ],
)
def test_errors_of_text_are_named(text: str, message: str) -> None:
    with pytest.raises(mf.PatternSyntaxError, match=message):
        mf.count(BANK, text)


def test_what_rows_do_not_have_is_refused() -> None:
    text = "(a)-[*1..2]->(b)"
    with pytest.raises(mf.ArgumentError, match="having: expected names in count"):
        mf.count(BANK, text, distinct=["a"], having="count(*) > 1")
    with pytest.raises(mf.ArgumentError, match="symmetry: expected 'embeddings' beside distinct rows"):
        mf.count(BANK, text, distinct=["a"], symmetry="subgraphs")
    with pytest.raises(mf.ArgumentError, match="copies: expected False"):
        mf.count(BANK, text, distinct=["a"], copies=True)
    with pytest.raises(mf.ArgumentError, match="edges: expected False"):
        mf.match(BANK, text, distinct=["a"], edges=True)
    with pytest.raises(mf.ArgumentError, match="semantics"):
        mf.count(BANK, f"{OPTIONAL} OPTIONAL (c)-->(a)", distinct=["a"], semantics="induced")
    with pytest.raises(mf.MotifluxError, match="found distinct rows"):
        mf.match(BANK, text, distinct=["a"]).to_networkx()


def test_a_query_is_explained_by_its_searches() -> None:
    told = str(mf.explain(BANK, f"{OPTIONAL} RETURN DISTINCT a HAVING count(c) > 1"))
    assert "the different rows of 2 patterns" in told
    assert "RETURN DISTINCT a, c" in told
    assert "all rows are listed" in told


def test_a_list_has_distinct_rows_of_queries() -> None:
    texts = ["(a)-[*1..2]->(b) RETURN DISTINCT a", "(a)-->(b)", "(a)-[*1..2]->(b)"]
    assert [int(one) for one in mf.count(BANK, texts)] == [4, 5, 10]
    assert [len(one.to_numpy()) for one in mf.match(BANK, texts)] == [4, 5, 10]


@pytest.mark.parametrize("seconds", [0.0, 0.02])
def test_a_timeout_while_parts_are_put_together_is_no_error(large: mf.Graph, seconds: float) -> None:
    query = "(a)-->(b), (c)-->(d)"
    assert not mf.count(large, query, distinct=["a", "c"], timeout=seconds).complete
    with mf.match(large, query, distinct=["a", "c"], timeout=seconds) as matches:
        matches.to_numpy()
    assert not matches.complete


def test_a_timeout_gives_a_lower_bound(large: mf.Graph) -> None:
    for having in ("count(b) = 399", "count(b) >= 2", None):
        found = mf.count(large, LONG, distinct=["a"], having=having, timeout=1e-6)
        assert not found.complete
        assert 0 <= found <= 400
    with mf.match(large, LONG, distinct=["a"], having="count(b) < 9", timeout=1e-6) as matches:
        assert len(matches.to_numpy()) == 0
        assert matches.complete is False


def test_an_interrupt_keeps_what_was_found(large: mf.Graph) -> None:
    timer = threading.Timer(0.2, lambda: __import__("_thread").interrupt_main())
    timer.start()
    with pytest.raises(KeyboardInterrupt) as stopped:
        mf.count(large, "(a)-[*5..7]->(b)-->(c)", distinct=["a", "b", "c"])
    (count,) = partial_result(stopped.value)
    assert not count.complete
    assert mf.count(large, "(a)-[*1..2]->(b)", distinct=["a"], limit=1) == 1


def test_existence_is_asked_of_queries(large: mf.Graph) -> None:
    assert mf.exists(BANK, "(a)-[*2..3]->(b)")
    missing = mf.exists(BANK, "(a)-[*2..4]->(a)")
    assert not missing
    assert missing.complete
    assert mf.exists(large, "(a)-[*6..7]->(a)").complete


def test_the_command_line_lists_distinct_rows_of_queries(tmp_path: Path) -> None:
    path = tmp_path / "bank.txt"
    path.write_text("ann hub\nbob hub\nhub dee\ndee eve\nhub eve\n")
    graph = [str(path), "--directed"]
    assert motiflux("count", *graph, "(a)-[*1..2]->(b)", "--distinct", "b").stdout.startswith("3 rows\n")
    found = motiflux("match", *graph, f"{OPTIONAL} RETURN DISTINCT b HAVING count(c) = 0", "--names")
    assert found.stdout == "b\neve\n"
    told = motiflux("exists", *graph, "(a)-[*3..4]->(a)", "--json")
    assert json.loads(told.stdout)["exists"] is False
