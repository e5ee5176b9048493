"""Optional paths: rows, nulls in every form of output, comparisons, errors, streams; DuckDB as a judge."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux import _native
from motiflux.api.queries import absent_paths

LINE = mf.Graph.from_edges(
    [(0, 1), (1, 2), (2, 3), (1, 4), (4, 0)],
    directed=True,
    num_vertices=5,
    vertex_attributes={"x": [1, 2, 3, 4, 5]},
    edge_attributes={"t": [1, 5, 9, 3, 4], "u": [0, 6, 2, 3, 4]},
)


def rows_of(text: str, graph: mf.Graph = LINE, **options: Any) -> list[tuple[Any, ...]]:
    found = mf.match(graph, text, names=True, **options).to_arrow().to_pylist()
    assert mf.count(graph, text, **options) == len(found)
    return sorted((tuple(row.values()) for row in found), key=repr)


@pytest.mark.parametrize(
    ("optional", "rows"),
    [
        ("(b)-[p*1..2]->(c)", [(0, 1, 2, [1, 2]), (0, 1, 3, [1, 2, 3]), (0, 1, 4, [1, 4])]),
        ("(b)-[p*3]->(c)", [(0, 1, None, None)]),
        ("(b)-[p*1..3]->(c) WHERE c.x = 4", [(0, 1, 3, [1, 2, 3])]),
        ("(b)-[p*1..3]->(c) WHERE c.x = 9", [(0, 1, None, None)]),
        ("(b)-[p*1..3]->(c) WHERE id(c) = 4 AND p.t < 4", [(0, 1, 4, [1, 4])]),
        ("(b)-[p*2..3]->(c) WHERE increasing(p.t)", [(0, 1, 3, [1, 2, 3])]),
        ("(b)-[p*2..3]->(c) WHERE decreasing(p.t)", [(0, 1, None, None)]),
        ("(c)<-[p*2]-(b) WHERE NOT (c)-->()", [(0, 1, 3, [3, 2, 1])]),
        ("(b)-[p*2]->(c) WHERE NOT (b)-->(c) AND NOT (c)-->(b)", [(0, 1, 3, [1, 2, 3])]),
        ("(b)-[p*2]->(a)", [(0, 1, [1, 4, 0])]),
        ("(b)-[p*3..4]->(b)", [(0, 1, None)]),
        ("(b)-->(c)-[p*1..2]->(d)", [(0, 1, 2, 3, [2, 3])]),
        ("(b)-->(c:no)-->(d)", [(0, 1, None, None)]),
    ],
)
def test_a_row_for_each_path_or_one_without(optional: str, rows: list[Any]) -> None:
    assert rows_of(f"(a)-->(b) WHERE id(a) = 0 OPTIONAL {optional}") == rows


def test_homomorphisms_walk_back_to_vertices_of_the_row() -> None:
    text = "(a)-->(b) WHERE id(a) = 0 OPTIONAL (b)-[p*3]->(c) WHERE id(c) = 1"
    assert rows_of(text) == [(0, 1, None, None)]
    assert rows_of(text, semantics="homomorphism") == [(0, 1, 1, [1, 4, 0, 1])]


def test_comparisons_behind_optional_edges_decide_whether_they_are_there() -> None:
    text = "(a)-->(b) WHERE id(a) = 0 OPTIONAL (b)-[y]->(c) WHERE"
    assert rows_of(f"{text} y.t > y.u") == [(0, 1, None)]
    assert rows_of(f"{text} y.t >= y.u AND c.x > y.t") == [(0, 1, 4)]
    assert rows_of(f"{text} y.t > c.x + 5") == [(0, 1, None)]


def test_an_end_that_is_compared_is_not_the_end_of_a_shorter_path() -> None:
    graph = mf.Graph.from_edges(
        [(0, 1), (1, 2), (2, 3)],
        directed=True,
        vertex_attributes={"x": [0, 0, 1, 9]},
        edge_attributes={"t": [1, 5, 6]},
    )
    text = "(a)-->(b) WHERE id(a) = 0 OPTIONAL (b)-[p*1..2]->(c) WHERE p.t"
    assert rows_of(f"{text} < c.x", graph) == [(0, 1, 3, [1, 2, 3])]
    assert rows_of(f"{text} + 4 < c.x", graph) == [(0, 1, None, None)]
    with pytest.raises(mf.ArgumentError, match="without comparisons, on streams"):
        mf.Monitor(graph, f"{text} < c.x", attributes=["t"])


def test_an_optional_path_after_a_missing_vertex_is_missing() -> None:
    text = "(a)-->(b) WHERE id(b) = 3 OPTIONAL (b)-->(c) OPTIONAL (c)-[p*1..2]->(d)"
    assert rows_of(text) == [(2, 3, None, None, None)]


def test_edges_and_attributes_of_a_missing_path_are_missing() -> None:
    text = "(a)-->(b) WHERE id(a) IN [0, 2] OPTIONAL (b)-[p*2]->(c)-[y]->(d)"
    found = mf.match(LINE, text, names=True, edges=True, attributes=["t"])
    without = next(row for row in found.to_arrow().to_pylist() if row["a"] == 2)
    assert {name: without[name] for name in ("c", "d", "y", "p", "p.edges", "p.t", "y.t")} == dict.fromkeys(
        ("c", "d", "y", "p", "p.edges", "p.t", "y.t")
    )
    rows = mf.match(LINE, text, names=True).to_numpy()
    assert [row["p"] for row in rows if row["a"] == 2] == [None]


def test_files_have_nothing_where_there_is_no_list(tmp_path: Path) -> None:
    text = "(a)-->(b) WHERE id(a) IN [0, 2] OPTIONAL (b)-[p*2]->(c)"
    assert mf.match(LINE, text, names=True).save(tmp_path / "rows.csv") == 2
    with (tmp_path / "rows.csv").open(newline="") as file:
        assert sorted(row["p"] for row in csv.DictReader(file)) == ["", "[1, 2, 3]"]
    parquet = pytest.importorskip("pyarrow.parquet")
    mf.match(LINE, text, names=True).save(tmp_path / "rows.parquet")
    lists = parquet.read_table(tmp_path / "rows.parquet")["p"].to_pylist()
    assert lists.count(None) == 1


def test_limits_explanations_samples_and_distinct_rows() -> None:
    text = "(a)-->(b) OPTIONAL (b)-[p*2]->(c) WHERE c.x > 2"
    rows = rows_of(text)
    assert len(mf.match(LINE, text, limit=2).to_numpy()) == 2
    assert mf.exists(LINE, text)
    assert "without an optional edge or path: counted one by one" in mf.explain(LINE, text)
    drawn = mf.sample(LINE, text, 50, seed=3).to_arrow().to_pylist()
    assert {(row["v0"], row["v1"]) for row in drawn} == {row[:2] for row in rows}
    ends = mf.match(LINE, f"{text} RETURN DISTINCT c", names=True).to_arrow()["c"].to_pylist()
    assert sorted(ends, key=str) == sorted({row[2] for row in rows}, key=str)
    with pytest.raises(mf.ArgumentError, match="OPTIONAL paths to vertices with labels or conditions"):
        mf.estimate(LINE, text)
    free = "(a)-->(b) OPTIONAL (b)-[*1..2]->(c)"
    assert mf.estimate(LINE, free).value == len(rows_of(free))


def test_exchanged_ends_of_a_missing_path_are_one_occurrence() -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2), (3, 1)])
    for optional, group in (("(a)-[*3]-(c)", 2), ("(a)-[*2]-(d) WHERE d.x IS NULL", 1)):
        text = f"(a)--(b)--(c) OPTIONAL {optional}"
        if "IS NULL" in text:
            graph = mf.Graph.from_edges([(0, 1), (1, 2), (3, 1)], vertex_attributes={"x": [1, None, 1, 1]})
        number = int(mf.count(graph, text))
        assert mf.count(graph, text, symmetry="subgraphs") == number // group
        assert len(mf.match(graph, text, symmetry="subgraphs").to_numpy()) == number // group


def test_too_many_paths_with_comparisons_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(absent_paths, "MAX_PATHS", 1)
    text = "(a)-->(b) OPTIONAL (b)-[p*2]->(c) WHERE increasing(p.t)"
    with pytest.raises(mf.PatternError, match=r"expected at most 1 paths .* behind OPTIONAL, found more"):
        mf.count(LINE, text)


def test_a_timeout_drops_no_path() -> None:
    text = "(a)-->(b) OPTIONAL (b)-[p*2..3]->(c) WHERE increasing(p.t)"
    found = mf.count(LINE, text, timeout=0)
    assert not found.complete
    assert found <= mf.count(LINE, text)


def test_a_monitor_takes_paths_to_any_vertex() -> None:
    graph = mf.Graph.from_edges([(0, 1), (2, 3)], directed=True, num_vertices=5)
    text = "(a)-->(b) OPTIONAL (b)-[p*1..2]->(c)"
    with mf.Monitor(graph, text) as monitor:
        delta = monitor.apply(inserts=[(1, 2)])[text]
        assert delta.net == int(mf.count(monitor.snapshot(), text)) - 2
    for one in ("(b)-[*2]->(c)", "(b)-[*1..2]->(c:x)", "(b)-[*1..2]->(a)"):
        with pytest.raises(
            mf.ArgumentError, match="OPTIONAL edges, or paths of one edge or more to any vertex"
        ):
            mf.Monitor(graph, f"(a)-->(b) OPTIONAL {one}")


def test_native_paths_are_checked() -> None:
    """Columns, rows and vertices that are not there are errors, not reads."""
    block = np.array([[0, 1]], np.uint32)
    rows = (np.array([0, 1, 1], np.uint64), np.array([1], np.uint32))
    steps = [(rows, None, [])]
    assert _native.mark_extended(block, 0, None, [1], False, steps, 1).tolist() == [1]
    assert _native.mark_extended(block, 0, None, [1], True, steps, 1).tolist() == [0]
    for start, end, before in ((2, None, [0]), (0, 2, [0]), (0, None, [2])):
        with pytest.raises(ValueError, match="no such column"):
            _native.mark_extended(block, start, end, before, True, steps, 1)
    for wrong in ([], [(rows, np.zeros(3, np.uint8), [])], [(rows, None, [(True, 1, rows)])]):
        with pytest.raises(ValueError, match=r"expected|a path has an edge|no such vertex"):
            _native.mark_extended(block, 0, None, [0], True, wrong, 1)
    with pytest.raises(IndexError, match="a vertex that is not there"):
        _native.mark_extended(block + 7, 0, None, [0], True, steps, 1)
    with pytest.raises(ValueError, match="offsets do not end at the last path"):
        _native.mark_listed(block, 0, None, [0], True, rows[0], np.zeros((2, 1), np.uint32), 1)


PAIRS = "SELECT s a, t b FROM e"
TWO = "SELECT p.s f, p.t m, q.t l FROM e p JOIN e q ON p.t = q.s WHERE p.s <> q.t"
JUDGED = {
    "(a)-->(b) OPTIONAL (b)-[*2]->(c)": (
        f"FROM ({PAIRS}) r LEFT JOIN ({TWO}) w ON w.f = r.b AND w.m <> r.a AND w.l <> r.a"
    ),
    "(a)-->(b) OPTIONAL (b)-[*1..2]->(c)": (
        f"FROM ({PAIRS}) r LEFT JOIN (SELECT f, m, l FROM ({TWO}) UNION ALL SELECT s, -1, t FROM e) w"
        " ON w.f = r.b AND w.m <> r.a AND w.l <> r.a"
    ),
    "(a)-->(b) OPTIONAL (b)-[*1..2]->(c) WHERE c.x = 1": (
        f"FROM ({PAIRS}) r LEFT JOIN (SELECT f, m, l FROM ({TWO}) UNION ALL SELECT s, -1, t FROM e) w"
        " ON w.f = r.b AND w.m <> r.a AND w.l <> r.a AND (SELECT x FROM v WHERE id = w.l) = 1"
    ),
    "(a)-->(b) OPTIONAL (b)-[*2]->(a)": f"FROM ({PAIRS}) r LEFT JOIN ({TWO}) w ON w.f = r.b AND w.l = r.a",
    "(a)-->(b), NOT (b)-->(a) OPTIONAL (b)-->(c)-->(d)": (
        f"FROM ({PAIRS}) r LEFT JOIN ({TWO}) w ON w.f = r.b AND w.m <> r.a AND w.l <> r.a"
        " WHERE NOT EXISTS (FROM e n WHERE n.s = r.b AND n.t = r.a)"
    ),
    "(a)-->(b) OPTIONAL (b)-[*2]->(c) WHERE NOT (c)-->(b)": (
        f"FROM ({PAIRS}) r LEFT JOIN ({TWO}) w ON w.f = r.b AND w.m <> r.a AND w.l <> r.a"
        " AND NOT EXISTS (FROM e n WHERE n.s = w.l AND n.t = w.f)"
    ),
}


@cache
def judge() -> tuple[mf.Graph, Any]:
    duckdb = pytest.importorskip("duckdb")
    random = np.random.default_rng(8)
    arcs = random.integers(0, 40, (70, 2))
    arcs = np.unique(arcs[(arcs[:, 0] != arcs[:, 1])], axis=0)
    kinds = random.integers(0, 3, 40)
    connection = duckdb.connect(":memory:")
    connection.execute("CREATE TABLE e (s INTEGER, t INTEGER); CREATE TABLE v (id INTEGER, x INTEGER)")
    connection.executemany("INSERT INTO e VALUES (?, ?)", arcs.tolist())
    connection.executemany("INSERT INTO v VALUES (?, ?)", list(enumerate(kinds.tolist())))
    return mf.Graph.from_edges(
        arcs, directed=True, num_vertices=40, vertex_attributes={"x": kinds}
    ), connection


@pytest.mark.parametrize("text", JUDGED)
def test_duckdb_finds_as_many_rows(text: str) -> None:
    graph, connection = judge()
    asked = f"SELECT count(*), count(*) FILTER (w.f IS NULL) {JUDGED[text]}"
    expected, missing = connection.execute(asked).fetchone()
    assert 0 < missing < expected
    assert mf.count(graph, text) == expected
    assert len(mf.match(graph, text).to_numpy()) == expected
