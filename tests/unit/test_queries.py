"""Queries of several patterns: their text, errors, rows in every form, and what calls make of them."""

from __future__ import annotations

import csv
import json
import pickle
import random
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.api.queries.counts import LocalCounter
from motiflux.pattern.queries.symmetry import automorphisms_of, distinct_shapes
from motiflux.result.partial import partial_result

HERE = "¦"


def wires() -> mf.Graph:
    return mf.Graph.from_edges(
        [(1, 2), (2, 3), (3, 1), (3, 4), (4, 1)],
        directed=True,
        vertex_ids=[1, 2, 3, 4],
        vertex_attributes={"x": [1, 2, None, 1]},
        edge_attributes={"t": [1, 2, 3, 5, 9]},
    )


def named() -> mf.Graph:
    return mf.Graph.from_edges([("ann", "bob"), ("bob", "cy, jr")], directed=True)


REFUSED = [
    ("(a)-[¦*]->(b)", "expected a greatest length, as in *1..4: paths of any length are not supported"),
    ("(a)-[¦*2..]->(b)", "expected a greatest length, as in *1..4: paths of any length are not supported"),
    ("(a)-[¦*0..2]->(b)", "expected a length of at least 1, found 0"),
    ("(a)-[¦*3..2]->(b)", "expected a greatest length of at least 3, found 2"),
    ("(a)-[¦*1..40]->(b)", "expected a length of at most 32, found 40: a pattern has at most 32 vertices"),
    ("(a)-[¦*1]->(a)", "expected a length of at least 2 from a vertex to itself"),
    (
        "(a)-->(b) OPTIONAL (b)-[¦*2..]->(c)",
        "expected a greatest length, as in *1..4: paths of any length are not supported",
    ),
    ("(a)-->(b) ¦OPTIONAL (c)-->(d)", "expected an edge at a vertex before OPTIONAL, found another"),
    ("(a)-->(b) ¦OPTIONAL (b)", "expected an edge or a path after OPTIONAL, found a vertex"),
    (
        "(a)-->(b) OPTIONAL (c)-->¦(b)-->(d)",
        "expected a path through new vertices after OPTIONAL, each once, found 'b' again",
    ),
    (
        "(a)-->(b) OPTIONAL (b)-->(c)-->(d)-->¦(c)",
        "expected a path through new vertices after OPTIONAL, each once, found 'c' again",
    ),
    ("(a)-->(b) OPTIONAL (b)-[¦*1]->(b)", "expected a length of at least 2 from a vertex to itself"),
    (
        "(a)-->(b) ¦OPTIONAL (b)-->(c)-->(d)-->(e) WHERE may_equal(c, e)",
        "expected different vertices after OPTIONAL, found may_equal",
    ),
    (
        "(a)-->(b) OPTIONAL ¦(b:B)-->(c)",
        "expected the name of 'b' alone: what it has to be is written before OPTIONAL",
    ),
    (
        "(a)-->(b) OPTIONAL (b)-->(c) WHERE ¦a.x = 1",
        "expected conditions of the edge and of its new vertex after OPTIONAL, found 'a'",
    ),
    (
        "(a)-[p*2]->(b) WHERE ¦increasing(p.t) OR a.x = 1",
        "expected increasing(...) by itself, joined by AND",
    ),
    (
        "¦(a)-[x]->(b)-[y]->(c) WHERE (x.t = 1 OR y.t = 2) AND x.t < y.t",
        ("expected no comparisons and one connected part beside OR across edges"),
    ),
    (
        "(a)-->(b) WHERE a.x = 1 OR ¦a.x > b.x",
        "expected conditions of one vertex or edge each beside OR and NOT, as in a.x = 1 OR b.y = 2",
    ),
    (
        "(a)-[*2]->(b) WHERE ¦size(a.x) = 3",
        (
            "the function 'size' is not supported in a query of several patterns: there are decreasing,"
            " degree, id, increasing, induced, may_equal, nondecreasing, nonincreasing"
        ),
    ),
    ("(a)-->(b), ¦(c)", "expected an edge at each vertex, found none at 'c'"),
]


@pytest.mark.parametrize(("marked", "message"), REFUSED, ids=[text[:60] for text, _ in REFUSED])
def test_an_error_says_what_is_expected_and_where(marked: str, message: str) -> None:
    text, place = marked.replace(HERE, ""), marked.index(HERE)
    with pytest.raises(mf.PatternSyntaxError) as caught:
        mf.count(wires(), text)
    assert (caught.value.message, caught.value.position) == (message, place)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "(a)-[*1..20]->(b)-[*1..20]->(c)-[*1..2]->(d)",
            "expected at most 512 patterns, found 800 (20 x 20 x 2 lengths)",
        ),
        (
            "(a)-[*20]->(b)-[*20]->(c)",
            "expected at most 32 query vertices, found 41 with the lengths 20, 20",
        ),
    ],
)
def test_a_query_of_too_many_patterns_is_refused_with_their_number(text: str, message: str) -> None:
    with pytest.raises(mf.PatternSyntaxError) as caught:
        mf.Query.parse(text)
    assert caught.value.message == message


def test_too_many_coincidences_are_refused_with_their_number() -> None:
    text = "(a)--(b)--(c)--(d)--(e), (f)--(g)--(h)--(i)--(j)--(k)"
    with pytest.raises(mf.PatternError, match=r"at most 2,048 ways to coincide, found up to 4,050"):
        mf.count(mf.Graph.from_edges([(0, 1)]), text)


@pytest.mark.parametrize(
    ("text", "semantics", "argument"),
    [
        ("(a)-->(b) OPTIONAL (b)-->(c) OPTIONAL (c)-->(a)", "induced", "semantics"),
        ("(a)-->(b) OPTIONAL (b)-[*1..2]->(a)", "induced", "semantics"),
        ("(a)-->(b) OPTIONAL (b)-[y]->(c) WHERE y.t > c.x", "induced", "semantics"),
        ("(a)-->(b), (c)-->(d) OPTIONAL (b)-->(e)", "induced", "semantics"),
        ("WALK (a)-[*2]->(b) OPTIONAL (b)-->(c)", "induced", "semantics"),
        ("WALK (a)-[*2..4]->(b)", "induced", "semantics"),
        ("WALK (a)-[*2]->(b), WALK (b)-[*1..2]->(a)", "induced", "semantics"),
        ("(a)-->(b), (c)-->(d)", "induced", "semantics"),
        ("(a)-->(b)-->(e), (c)-->(d) WHERE may_equal(a, e)", "isomorphism", "pattern"),
    ],
)
def test_what_has_no_meaning_is_refused(text: str, semantics: Any, argument: str) -> None:
    for call in (mf.count, mf.match):
        with pytest.raises(mf.ArgumentError) as caught:
            call(wires(), text, semantics=semantics)
        assert caught.value.argument == argument


def test_a_text_of_one_pattern_is_a_pattern() -> None:
    assert mf.count(wires(), "(a)-->(b) WHERE a.x = 1 AND b.x = 2") == 1
    assert isinstance(mf.Query.parse("(a)-->(b)"), mf.Query)
    with pytest.raises(mf.PatternSyntaxError, match="makes a query of several patterns"):
        mf.Pattern.parse("(a)-[*1..2]->(b)")
    with pytest.raises(mf.ArgumentError, match="one pattern"):
        mf.count_per_vertex(wires(), mf.Query.parse("(a)-[*1..2]->(b)"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("(a)-[:A]->{1,3}(b)", "(a)-[:A*1..3]->(b)"),
        ("(a)-->{2}(b)", "(a)-[*2]->(b)"),
        ("(a)~>{,2}(b)", "(a)~[*..2]~>(b)"),
        ("MATCH (a)-[*1..2]->(b);", "(a)-[*1..2]->(b)"),
        ("(a)-[p*2 {t: 1}]->(b)", "(a)-[p*2 WHERE t = 1]->(b)"),
        ("(a)-[p*2]->(b) WHERE p.t = 1", "(a)-[p*2 WHERE t = 1]->(b)"),
    ],
)
def test_lengths_have_several_spellings(text: str, same: str) -> None:
    assert mf.Query.parse(text).patterns == mf.Query.parse(same).patterns


def test_a_condition_of_a_path_holds_for_each_edge() -> None:
    (pattern,) = mf.Query.parse("(a)-[x]->(b)-[p*2]->(c) WHERE increasing(x.t, p.t) AND p.t < 9").patterns
    assert str(pattern) == (
        "(a)-[x]->(b), (b)-[p_1]->(_1), (_1)-[p_2]->(c)"
        " WHERE p_1.t < 9 AND p_2.t < 9 AND x.t < p_1.t AND p_1.t < p_2.t"
    )


OVER_EDGES = {
    "e.t = 1 OR f.t = 2": lambda e, f, x: e["t"] == 1 or f["t"] == 2,
    "e.k = 2 AND (e.t = 1 OR f.t = 2 OR a.x = 1)": lambda e, f, x: (
        e["k"] == 2 and (e["t"] == 1 or f["t"] == 2 or x == 1)
    ),
    "NOT (e.t = 1 AND f.k = 1)": lambda e, f, x: (e["t"] is not None and e["t"] != 1) or f["k"] != 1,
    "(e.t = 1 OR f.t = 1) AND (e.k = 1 OR f.k = 2)": lambda e, f, x: (
        (e["t"] == 1 or f["t"] == 1) and (e["k"] == 1 or f["k"] == 2)
    ),
}


@pytest.mark.parametrize("where", OVER_EDGES)
@pytest.mark.parametrize("seed", range(4))
def test_or_across_edges_counts_nothing_twice(where: str, seed: int) -> None:
    rng = random.Random(seed)
    size, directed = 6, seed % 2 == 0
    edges = [tuple(rng.sample(range(size), 2)) for _ in range(14)]
    copies = [{"t": rng.choice([1, 2, 3, None]), "k": rng.choice([1, 2])} for _ in edges]
    x = [rng.choice([1, 2, None]) for _ in range(size)]
    graph = mf.Graph.from_edges(
        edges,
        directed=directed,
        num_vertices=size,
        vertex_attributes={"x": x},
        edge_attributes={name: [one[name] for one in copies] for name in ("t", "k")},
    )

    def between(u: int, v: int) -> list[dict[str, Any]]:
        ways = {(u, v)} if directed else {(u, v), (v, u)}
        return [copy for edge, copy in zip(edges, copies, strict=True) if edge in ways]

    head = ">" if directed else ""
    text = f"(a)-[e]-{head}(b)-[f]-{head}(c) WHERE {where}"
    holds = OVER_EDGES[where]
    expected = {
        (a, b, c)
        for a, b, c in permutations(range(size), 3)
        if any(holds(e, f, x[a]) for e in between(a, b) for f in between(b, c))
    }
    rows = [tuple(row) for row in mf.match(graph, text).to_numpy().tolist()]
    assert len(rows) == len(set(rows))
    assert set(rows) == expected
    assert mf.count(graph, text) == len(expected)
    found = mf.match(graph, text, symmetry="subgraphs").to_numpy()
    assert mf.count(graph, text, symmetry="subgraphs") == len(found)
    optional = f"{text} OPTIONAL (c)--(d)"
    assert mf.count(graph, optional) == mf.match(graph, optional).to_arrow().num_rows
    with pytest.raises(mf.ArgumentError, match=r"^copies: "):
        mf.count(graph, text, copies=True)
    with pytest.raises(mf.ArgumentError, match=r"^edges: "):
        mf.match(graph, text, edges="all")


def test_walks_may_come_back() -> None:
    assert mf.count(wires(), "(a)-[*4]->(b)") == 0
    walks = mf.match(wires(), "WALK (a)-[p*4]->(b) WHERE id(a) = 3 AND id(b) = 4", names=True)
    assert walks.to_arrow()["p"].to_pylist() == [[3, 1, 2, 3, 4]]


def test_shapes_that_differ_by_names_are_one_occurrence() -> None:
    query = mf.Query.parse("(a)-[*1..2]-(b)-[*1..2]-(c)")
    assert [shape.lengths for shape in distinct_shapes(query.shapes, directed=False)] == [
        (1, 1),
        (1, 2),
        (2, 2),
    ]
    either = mf.Query.parse("(a)--(b) WHERE a.x = 1 OR b.x = 1").shapes[0]
    assert automorphisms_of(either.skeleton, directed=False).order == 2
    one = mf.Query.parse("(a)--(b) WHERE a.x = 1 OR b.x = 2").shapes[0]
    assert automorphisms_of(one.skeleton, directed=False).order == 1


def test_rows_have_vertices_and_edges_of_paths() -> None:
    matches = mf.match(wires(), "(a)-[p*1..2]->(b)-[y]->(a)", edges=True, attributes=["t", "a.x"], names=True)
    rows = matches.to_arrow().to_pylist()
    assert rows == sorted(rows, key=lambda row: len(row["p"]))
    row = next(row for row in rows if row["p"] == [1, 2, 3])
    assert row == {
        "a": 1, "a.x": 1, "b": 3, "p": [1, 2, 3], "y": row["y"], "y.t": 3,
        "p.edges": row["p.edges"], "p.t": [1, 2],
    }  # fmt: skip


def test_arrays_of_paths_have_fields() -> None:
    found = mf.match(wires(), "(a)-[p*3]->(a) WHERE id(a) = 1 OPTIONAL (a)-->(c) WHERE id(c) = 4", names=True)
    array = found.to_numpy()
    assert array.dtype.names == ("a", "c", "p")
    assert array.tolist() == [(1, None, (1, 2, 3, 1))]
    either = mf.match(wires(), "(a)-->(b) WHERE a.x = 1 OR b.x = 2")
    assert either.to_numpy().dtype == np.int64
    assert sorted(either.columns) == ["v0", "v1"]


def test_batches_of_any_size_have_all_rows() -> None:
    whole = mf.match(wires(), "(a)-[*1..3]->(b)").to_numpy().tolist()
    pieces = [row for batch in mf.match(wires(), "(a)-[*1..3]->(b)").batches(2) for row in batch.tolist()]
    assert sorted(pieces) == sorted(whole)


def test_strings_and_lists_of_strings(tmp_path: Path) -> None:
    text = "(a)-[p*1..2]->(b) OPTIONAL (b)-->(c)"
    assert mf.match(named(), text, names=True).to_arrow().to_pylist() == [
        {"a": "ann", "b": "bob", "c": "cy, jr", "p": ["ann", "bob"]},
        {"a": "bob", "b": "cy, jr", "c": None, "p": ["bob", "cy, jr"]},
        {"a": "ann", "b": "cy, jr", "c": None, "p": ["ann", "bob", "cy, jr"]},
    ]
    assert mf.match(named(), text, names=True).save(tmp_path / "rows.csv") == 3
    with (tmp_path / "rows.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [json.loads(row["p"]) for row in rows] == [
        ["ann", "bob"],
        ["bob", "cy, jr"],
        ["ann", "bob", "cy, jr"],
    ]
    assert [row["c"] for row in rows] == ["cy, jr", "", ""]


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_files_hold_lists(suffix: str, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    path = tmp_path / f"rows{suffix}"
    assert mf.match(wires(), "(a)-[p*3]->(a)", symmetry="subgraphs", names=True).save(path) == 1
    if suffix == ".parquet":
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(path)
    else:
        table = pyarrow.ipc.open_file(path).read_all()
    assert sorted(table["p"].to_pylist()[0][:3]) == [1, 2, 3]


def test_npy_holds_no_lists(tmp_path: Path) -> None:
    with pytest.raises(mf.OutputError, match="holds no lists, found p0"):
        mf.match(wires(), "(a)-[*1..2]->(b)").save(tmp_path / "rows.npy")


def test_rows_as_networkx_graphs() -> None:
    pytest.importorskip("networkx")
    drawn = mf.match(wires(), "(a)-[*3..4]->(a)", symmetry="subgraphs").to_networkx()
    assert (drawn.number_of_nodes(), drawn.number_of_edges()) == (4, 5)
    sizes = [
        one.number_of_nodes() for one in mf.match(wires(), "(a)-[*3..4]->(a)", symmetry="subgraphs").graphs()
    ]
    assert sorted(sizes) == [3, 4]


def test_every_choice_of_copies_is_listed_and_counted() -> None:
    graph = mf.Graph.from_edges([(1, 2), (1, 2), (2, 3)], directed=True, edge_attributes={"t": [1, 2, 3]})
    text = "(a)-[p*1..2]->(b)"
    assert mf.count(graph, text, copies=True) == 5
    assert len(mf.match(graph, text, edges="all").to_numpy()) == 5
    optional = "(a)-->(b) OPTIONAL (b)-->(c)"
    assert mf.count(graph, optional, copies=True) == 3
    assert len(mf.match(graph, optional, edges="all").to_numpy()) == 3


def test_optional_edges_between_known_vertices() -> None:
    found = mf.match(wires(), "(a)-->(b)-->(c) OPTIONAL (c)-[y]->(a)", edges=True, names=True).to_arrow()
    assert found.num_rows == mf.count(wires(), "(a)-->(b)-->(c)")
    assert found["y"].null_count == found.num_rows - mf.count(wires(), "(a)-->(b)-->(c)-->(a)")


def test_several_queries_are_counted_listed_and_estimated_in_order() -> None:
    texts = ["(a)-->(b)", "(a)-[*3..4]->(a)", "(a)-->(b) WHERE a.x = 1 OR b.x = 2"]
    counts = mf.count(wires(), texts)
    assert [int(one) for one in counts] == [mf.count(wires(), one) for one in texts]
    assert [len(one.to_numpy()) for one in mf.match(wires(), texts)] == [int(one) for one in counts]
    for one, count in zip(mf.estimate(wires(), texts), counts, strict=True):
        assert one.low <= count <= one.high
    with pytest.raises(mf.PatternSyntaxError, match=r"^pattern\[1\]: "):
        mf.count(wires(), ["(a)-->(b)", "(a)-[*]->(b)"])


def test_an_estimate_of_a_query_is_a_sum() -> None:
    rng = np.random.default_rng(5)
    graph = mf.Graph.from_edges(rng.integers(0, 300, (4000, 2)), directed=True, self_loops="drop")
    for text in ("(a)-[*3..4]->(a)", "(a)-->(b)-->(c) OPTIONAL (c)-->(d)"):
        count = mf.count(graph, text)
        found = mf.estimate(graph, text, estimator="alley", samples=20_000, tuning={"trawling": "off"})
        assert found.low * 0.97 <= count <= found.high * 1.03
        assert found == mf.estimate(
            graph, text, estimator="alley", samples=20_000, tuning={"trawling": "off"}
        ) or (
            found.value
            == mf.estimate(graph, text, estimator="alley", samples=20_000, tuning={"trawling": "off"}).value
        )
    with pytest.raises(mf.ArgumentError, match="connected patterns"):
        mf.estimate(graph, "(a)-->(b), (c)-->(d)")


def test_explain_shows_every_pattern() -> None:
    told = mf.explain(wires(), "(a)-[*3..4]->(a)", analyze=True)
    assert isinstance(told, mf.QueryExplanation)
    assert told.startswith("query     (a)-[*3..4]->(a): the sum of 2 counts\n")
    assert [part.report.actual.count for part in told.parts if part.report.actual] == [3, 4]
    assert [one["pattern"]["vertices"] for one in told.to_dict()["patterns"]] or told.to_json()
    assert pickle.loads(pickle.dumps(told)) == told
    apart = mf.explain(wires(), "(a)-->(b), (c)-->(d)", symmetry="subgraphs")
    assert "[(a)-->(b)] times [(c)-->(d)]; divided by 2 automorphisms" in apart


def test_a_monitor_watches_the_patterns_of_a_query() -> None:
    query = mf.Query.parse("(a)-[*1..2]->(b)", name="near")
    with mf.Monitor(
        mf.Graph.from_edges([(1, 2)], directed=True), [query, "(a)-->(b)"], matches=True
    ) as monitor:
        delta = monitor.apply(inserts=[(2, 3)])
        assert [pattern.name for pattern in monitor.patterns] == ["near", "near", ""]
        assert (delta[query].positive, delta[query].negative, delta[query].net) == (2, 0, 2)
        assert [one.appeared().tolist() for one in delta[query].patterns] == [[[2, 3]], [[1, 2, 3]]]


def test_a_monitor_adds_and_drops_queries() -> None:
    graph = mf.Graph.from_edges([(1, 2), (2, 3), (3, 4)], directed=True)
    with mf.Monitor(graph, "(a)-->(b)-->(c)", matches=True) as monitor:
        text = "(a)-[*2..3]->(b), NOT (b)-->(a)"
        query = monitor.add(text)
        assert isinstance(query, mf.Query)
        assert len(monitor.patterns) == 3
        delta = monitor.apply(inserts=[(4, 1)])
        assert (delta[query].positive, delta[query].negative, delta[text].net) == (2, 1, 1)
        with pytest.raises(mf.ArgumentError, match="not watched yet"):
            monitor.add(query)
        assert len(monitor.patterns) == 3
        monitor.drop(text)
        assert len(monitor.patterns) == 1
        with pytest.raises(mf.ArgumentError, match="a query that is watched"):
            monitor.drop(query)
        with pytest.raises(mf.ArgumentError, match="a query that is watched"):
            monitor.apply()[query]


def test_a_query_that_cannot_be_watched_whole_leaves_a_monitor_as_it_was() -> None:
    graph = mf.Graph.from_edges([(1, 2), (2, 3)], directed=True)
    query = mf.Query.parse("(a)-[*1..3]->(b)", name="near")
    middle = replace(query.patterns[1], name="near")
    with mf.Monitor(graph, [middle]) as monitor:
        with pytest.raises(mf.ArgumentError, match="not watched yet"):
            monitor.add(query)
        assert monitor.patterns == (middle,)
        assert monitor.apply(inserts=[(3, 1)])[middle].positive == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "(a)-[x]->(b)-[y]->(c), (d)-->(e) WHERE x.t < y.t",
            "no comparisons beside several parts on streams",
        ),
        ("(a)-->(b) WHERE degree(a) > 2 OR degree(b) > 2", "no conditions on degrees on streams"),
        ("(a)-->(b) WHERE degree(a) > 2", "no conditions on degrees on streams"),
    ],
)
def test_what_streams_do_not_have_is_refused_by_name(text: str, message: str) -> None:
    graph = wires()
    with pytest.raises(mf.ArgumentError, match=message):
        mf.Monitor(graph, text)
    with mf.Monitor(graph) as monitor:
        with pytest.raises(mf.ArgumentError, match=message):
            monitor.add(text)
        assert monitor.patterns == ()


@pytest.mark.parametrize("mode", ["sequence", "batch"])
def test_a_row_that_comes_and_goes_in_one_update_is_told_in_a_sequence_alone(mode: Any) -> None:
    paid = "(a)-[:cash]->(b) OPTIONAL (b)-[:wire]->(c)"
    graph = mf.Graph.from_edges([(1, 2)], edge_labels=["cash"], num_vertices=4, directed=True)
    with mf.Monitor(graph, paid, matches=True, mode=mode, window=1) as monitor:
        monitor.apply([("+", 2, 3, "wire")])
        there, missing = monitor.apply([("+", 2, 0, "wire")])[paid].patterns
        assert (there.appeared().tolist(), there.vanished().tolist()) == ([[1, 2, 0]], [[1, 2, 3]])
        told = [[1, 2]] if mode == "sequence" else []
        assert (missing.appeared().tolist(), missing.vanished().tolist()) == (told, told)


def test_a_file_may_hold_a_query(tmp_path: Path) -> None:
    path = tmp_path / "rings.pattern"
    path.write_text("(a)-[*3..4]->(a)")
    found = mf.read_query(path)
    assert isinstance(found, mf.Query)
    assert (found.name, len(found.patterns)) == ("rings", 2)
    with pytest.raises(mf.FormatError, match="found a query of 2 patterns, expected one pattern"):
        mf.read_pattern(path)


def test_calls_of_several_searches_are_equal_parts_of_the_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = mf.Graph.from_edges([(u, v) for u in range(5) for v in range(u)])
    reports: list[mf.ProgressReport] = []
    stored: list[list[int]] = []
    counts = LocalCounter.counts

    def telling(self: Any, given: Any, patterns: Any, request: Any, deadline: Any) -> Any:
        found = []
        for done in range(3):
            found.append(request.progress.found)
            request.progress(mf.ProgressReport(done, 2, 7, 0.0))
        stored.append(found)
        return counts(self, given, patterns, request, deadline)

    monkeypatch.setattr(LocalCounter, "counts", telling)
    queries = ["(a)--(b)", "(a)-[*1..2]-(b)", "(a)--(b), (c)--(d)"]
    mf.count(graph, queries, symmetry="subgraphs", progress=reports.append)
    assert [(one.done, one.total) for one in reports] == [(at, 1000) for at in (0, 250, 500, 500, 750, 1000)]
    assert stored == [[0, 7, 7], [0, 7, 7]]  # what one call found is no lower bound for the other


def test_an_interrupted_count_keeps_a_lower_bound() -> None:
    graph = mf.Graph.from_edges([(u, v) for u in range(120) for v in range(120) if u != v], directed=True)

    def interrupt(report: mf.ProgressReport) -> None:
        if report.found > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        mf.count(graph, "(a)-[*7..9]->(b), (a)-->(c)-->(b), (c)-->(a)", progress=interrupt)
    (found,) = partial_result(stopped.value)
    assert not found.complete
    assert found >= 0


def test_a_timeout_leaves_a_lower_bound() -> None:
    rng = np.random.default_rng(5)
    graph = mf.Graph.from_edges(rng.integers(0, 2000, (200_000, 2)), directed=True, self_loops="drop")
    found = mf.count(graph, "(a)-[*6..8]->(a)", timeout=0.2)
    assert not found.complete
    matches = mf.match(graph, "(a)-[*6..8]->(a)", timeout=0.2)
    assert len(matches.to_numpy()) >= 0
    assert matches.complete is False


@pytest.mark.parametrize(
    "where",
    [
        "b.x = 2 OR (b.x = 2 AND c.x = 1)",
        "b.x = 2 AND (b.x = 2 OR c.x = 1)",
        "(b.x = 2 OR c.x = 1) AND b.x = 2 AND (d.x = 1 OR b.x = 2)",
    ],
)
@pytest.mark.parametrize("rest", [", (c)--(d)", ", (b)-->(c)--(d)", ", (b)-->(c)--(d) OPTIONAL (a)-->(e)"])
def test_a_condition_that_is_a_conjunction_tells_no_vertices_apart(where: str, rest: str) -> None:
    ends = [(u, v) for u in range(6) for v in range(6) if u != v and (u * v + u) % 3]
    values = {"x": [1, 2, 2, 1, 2, 1]}
    graph = mf.Graph.from_edges(ends, directed=True, num_vertices=6, vertex_attributes=values)
    first, _, optional = f"(a)-->(b){rest}".partition(" OPTIONAL ")
    texts = [f"{first} WHERE {one}{' OPTIONAL ' * bool(optional)}{optional}" for one in (where, "b.x = 2")]
    found, simple = (mf.count(graph, text, symmetry="subgraphs", device="cpu") for text in texts)
    assert found == simple > 0
    assert [len(mf.match(graph, text, symmetry="subgraphs", device="cpu").to_arrow()) for text in texts] == [
        found,
        found,
    ]
