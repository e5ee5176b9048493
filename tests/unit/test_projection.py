"""Distinct rows, thresholds and existence: arguments, text, results, and refusals by name."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import motiflux as mf
from motiflux.pattern.asked import asked_of
from motiflux.pattern.projection import projection_text
from tests.unit.cli_run import motiflux

TRANSFERS = [
    ("ann", "hub"),
    ("bob", "hub"),
    ("cy", "hub"),
    ("hub", "dee"),
    ("dee", "eve"),
    ("hub", "eve"),
]
PATH = "(a)-->(b)-->(c)"
LONG = "(a)-->(b)-->(c)-->(d)-->(e)-->(f)"


@pytest.fixture
def bank() -> mf.Graph:
    return mf.Graph.from_edges(TRANSFERS, directed=True)


@pytest.fixture(scope="module")
def large() -> mf.Graph:
    """Hubs and many cycles."""
    random = np.random.default_rng(7)
    edges = random.integers(0, 400, (4000, 2))
    edges[:200, 1] = random.integers(0, 5, 200)
    edges = edges[edges[:, 0] != edges[:, 1]]
    return mf.Graph.from_edges(edges, directed=True, num_vertices=400)


def test_columns_are_in_the_order_of_the_argument(bank: mf.Graph) -> None:
    found = mf.match(bank, PATH, distinct=["c", "a"])
    assert found.columns == ["v2", "v0"]
    rows = {tuple(row) for row in found.to_numpy().tolist()}
    assert rows == {(c, a) for a in ("ann", "bob", "cy") for c in ("dee", "eve")} | {("eve", "hub")}


def test_tables_have_names_attributes_and_metadata() -> None:
    g = mf.Graph.from_edges(
        [(1, 2), (2, 3)],
        directed=True,
        vertex_ids=np.array([1, 2, 3]),
        vertex_attributes={"age": [10, 20, 30]},
    )
    found = mf.match(g, PATH, distinct=["c"], names=True, attributes=["age"])
    assert json.loads(found.metadata["motiflux.vertices"]) == ["c"]
    assert found.to_arrow().to_pylist() == [{"c": 3, "c.age": 30}]
    found = mf.match(g, PATH, distinct=["c", "b"], attributes=["b.age"])
    assert found.to_arrow().to_pylist() == [{"v2": 3, "v1": 2, "v1.age": 20}]


def test_text_asks_for_rows_behind_a_pattern(bank: mf.Graph) -> None:
    assert mf.count(bank, f"MATCH {PATH} RETURN DISTINCT a, c;") == 7
    assert mf.count(bank, f"{PATH} RETURN DISTINCT b HAVING count(a) >= 3") == 1
    assert mf.count(bank, f"{PATH} return distinct b having 1 <= count(a) <= 2 AND count(*) > 0") == 1
    assert [int(one) for one in mf.count(bank, [PATH, f"{PATH} RETURN DISTINCT b"])] == [7, 2]
    pattern, projection = asked_of(f"{PATH} RETURN DISTINCT b HAVING count(DISTINCT a) >= 3", None, None)
    assert projection is not None
    assert projection_text(pattern, projection) == "RETURN DISTINCT b HAVING count(a) >= 3"


def test_a_vertex_may_be_called_return(bank: mf.Graph) -> None:
    assert mf.count(bank, "(return)-->(having)-->(distinct)") == 7
    assert mf.count(bank, "(return)-->(having) RETURN DISTINCT return") == 5


def test_a_pattern_itself_has_no_return() -> None:
    with pytest.raises(mf.PatternSyntaxError, match="RETURN DISTINCT is no part of a pattern"):
        mf.Pattern.parse(f"{PATH} RETURN DISTINCT a")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("RETURN a", "expected RETURN DISTINCT: without"),
        ("RETURN DISTINCT q", "no vertex is called 'q'"),
        ("RETURN DISTINCT a, a", "found 'a' again"),
        ("RETURN DISTINCT a HAVING count(a) > 1", "counts of vertices that rows do not have"),
        ("RETURN DISTINCT a HAVING b > 1", "thresholds such as count"),
        ("RETURN DISTINCT a HAVING count(b) > 1 OR count(b) < 1", "thresholds such as count"),
        ("RETURN DISTINCT a HAVING count(b) > 1.5", "expected an integer"),
        ("RETURN DISTINCT a HAVING count(b) > -1", "from 0 to 2\\^63 - 1"),
        ("RETURN DISTINCT a HAVING count() > 1", "expected vertices"),
    ],
)
def test_errors_of_text_are_named(bank: mf.Graph, text: str, message: str) -> None:
    with pytest.raises(mf.PatternSyntaxError, match=message):
        mf.count(bank, f"{PATH} {text}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"distinct": []}, "distinct: .*at least one"),
        ({"distinct": "a"}, "distinct: expected a sequence"),
        ({"distinct": ["a", 0]}, "distinct: expected different"),
        ({"distinct": ["z"]}, "distinct: .*a, b, c"),
        ({"having": "count(b) > 1"}, "having: .*distinct="),
        ({"distinct": ["a"], "having": 5}, "having: expected text"),
        ({"distinct": ["a"], "having": "count(a) > 1"}, "having: .*rows do not have .*b, c"),
        ({"distinct": ["a"], "copies": True}, "copies: expected False"),
    ],
)
def test_arguments_are_checked(bank: mf.Graph, options: dict[str, object], message: str) -> None:
    with pytest.raises(mf.ArgumentError, match=message):
        mf.count(bank, PATH, **options)  # type: ignore[call-overload]


def test_what_rows_do_not_have_is_refused(bank: mf.Graph) -> None:
    with pytest.raises(mf.ArgumentError, match="edges: expected False"):
        mf.match(bank, PATH, distinct=["a"], edges=True)
    with pytest.raises(mf.ArgumentError, match="distinct: expected None"):
        mf.match(bank, f"{PATH} RETURN DISTINCT a", distinct=["a"])
    with pytest.raises(mf.MotifluxError, match="found distinct rows"):
        mf.match(bank, PATH, distinct=["a"]).to_networkx()
    with pytest.raises(mf.ArgumentError, match="symmetry"):
        mf.count(bank, PATH, distinct=["a"], semantics="homomorphism", symmetry="subgraphs")


def test_other_engines_hand_over_by_name(bank: mf.Graph) -> None:
    found = mf.count(bank, PATH, distinct=["a"], device="cuda", engine="dfs")
    assert (found, found.device) == (4, "cpu")
    assert found.reason == "the CPU engine finds distinct rows, not 'cuda' and 'dfs'"


def test_subgraphs_have_equivalent_rows_once() -> None:
    path = mf.Graph.from_edges([(0, 1), (1, 2), (2, 3)])
    wedge = "(a)--(b)--(c)"
    assert mf.count(path, wedge, distinct=["a", "c"]) == 4
    assert mf.count(path, wedge, distinct=["a", "c"], symmetry="subgraphs") == 2
    assert mf.count(path, wedge, distinct=["a"], symmetry="subgraphs") == 4


@pytest.mark.turns(8)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("returned", [["a"], ["b"], ["a", "c"], ["c", "b"]])
@pytest.mark.parametrize("pattern", [PATH, "(a)-->(b)-->(c)-->(a)", "(a)-->(b)<--(c)"])
def test_rows_of_large_searches_are_those_of_all_embeddings(
    large: mf.Graph, pattern: str, returned: list[str], threads: int
) -> None:
    every = mf.match(large, pattern).to_numpy()
    columns = ["abc".index(name) for name in returned]
    rows = np.unique(every[:, columns], axis=0)
    options = {"distinct": returned, "threads": threads}
    assert mf.count(large, pattern, **options) == len(rows)
    listed = mf.match(large, pattern, **options).to_numpy()
    assert np.array_equal(np.unique(listed, axis=0), rows)
    assert len(listed) == len(rows)
    other = next(at for at in range(3) if at not in columns)
    counted = np.unique(every[:, [*columns, other]], axis=0)[:, :-1]
    numbers = np.unique(counted, axis=0, return_counts=True)[1]
    for operator, kept in ((">= 3", numbers >= 3), ("< 3", numbers < 3), ("<> 2", numbers != 2)):
        having = f"count({'abc'[other]}) {operator}"
        assert mf.count(large, pattern, having=having, **options) == kept.sum()


def test_a_timeout_gives_a_lower_bound(large: mf.Graph) -> None:
    found = mf.count(large, LONG, distinct=["a", "f"], having="count(*) = 100000000", timeout=0.05)
    assert not found.complete
    assert found == 0
    with mf.match(large, LONG, distinct=["a", "f"], having="count(*) = 100000000", timeout=0.05) as matches:
        assert len(matches.to_numpy()) == 0
        assert matches.complete is False


def test_an_interrupt_stops_a_search(large: mf.Graph) -> None:
    began = time.perf_counter()
    timer = threading.Timer(0.2, lambda: __import__("_thread").interrupt_main())
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        mf.count(large, LONG, distinct=["a", "f"], having="count(*) = 100000000")
    assert time.perf_counter() - began < 5
    assert mf.count(large, PATH, distinct=["a"], limit=1) == 1


def test_existence_is_true_or_false(bank: mf.Graph, large: mf.Graph) -> None:
    assert mf.exists(bank, PATH)
    missing = mf.exists(bank, "(a)-->(b)-->(a)")
    assert not missing
    assert str(missing) == "no match exists"
    assert mf.exists(large, LONG, threads=2).complete
    impossible = mf.exists(bank, "(a:NOT)-->(b)")
    assert not impossible
    assert impossible.complete


def test_the_command_line_lists_distinct_rows(tmp_path: Path) -> None:
    path = tmp_path / "bank.txt"
    path.write_text("\n".join(" ".join(edge) for edge in TRANSFERS))
    graph = [str(path), PATH, "--directed"]
    assert motiflux("count", *graph, "--distinct", "a,c").stdout.startswith("7 rows\n")
    found = motiflux("match", *graph, "--distinct", "b", "--having", "count(a) >= 3", "--names")
    assert found.stdout == "b\nhub\n"
    told = motiflux("count", str(path), f"{PATH} RETURN DISTINCT b", "--directed", "--json")
    assert json.loads(told.stdout)["count"] == 2
    assert "expected --distinct" in motiflux("count", *graph, "--having", "count(a) > 1").stderr


def test_the_command_line_tells_whether_a_match_exists(tmp_path: Path) -> None:
    path = tmp_path / "bank.txt"
    path.write_text("\n".join(" ".join(edge) for edge in TRANSFERS))
    assert motiflux("exists", str(path), PATH, "--directed").stdout.startswith("a match exists\n")
    told = motiflux("exists", str(path), "(a)-->(b)-->(a)", "--directed", "--json")
    assert json.loads(told.stdout)["exists"] is False
