"""Calls with patterns that compare attributes: kinds of values, other engines, limits, and refusals."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.errors import ArgumentError, PatternError
from motiflux.plan import make_plan
from motiflux.plan.comparisons import order

RING = "(a)-[x]->(b)-[y]->(c)-[z]->(a)"
ORDERED = f"{RING} WHERE x.time < y.time < z.time"
HOURS = ["2024-03-01T05", "2024-03-01T01", "2024-03-01T06", "2024-03-01T07"]


@pytest.fixture
def graph() -> mf.Graph:
    """A ring with two copies of one edge, in order by the second copy only."""
    return mf.Graph.from_edges(
        [("a", "b"), ("b", "c"), ("b", "c"), ("c", "a")],
        directed=True,
        vertex_ids=["a", "b", "c"],
        edge_attributes={
            "time": np.array(HOURS, "M8[h]"),
            "amount": [100.0, 98.0, 90.0, 81.0],
            "fee": [1, 2, 3, 4],
            "kind": ["wire", "cash", "wire", "wire"],
        },
        vertex_attributes={
            "opened": np.array(["2024-03-01T05", "2020-01-01", "2024-01-01"], "M8[h]"),
            "kind": ["wire", "cash", "card"],
            "level": [1, None, 3],
        },
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x.time < y.time < z.time", 1),
        ("x.time < y.time AND y.time - x.time <= 1h AND y.amount >= 0.9 * x.amount", 2),
        ("x.time < y.time AND y.amount > 0.9 * x.amount", 0),
        ("y.time - x.time >= 2h", 1),
        ("x.amount > y.fee", 3),
        ("x.fee + y.fee = 4", 1),
        ("x.kind = y.kind", 3),
        ("x.kind <> y.kind", 2),
        ("x.kind = a.kind", 2),
        ("id(a) < id(b) AND id(b) < id(c)", 1),
        ("x.time > a.opened", 2),
        ("x.time >= a.opened", 3),
        ("a.level < b.level", 0),
        ("a.level <> c.level", 1),
    ],
)
def test_values_of_all_kinds_are_compared(graph: mf.Graph, text: str, expected: int) -> None:
    assert int(mf.count(graph, f"{RING} WHERE {text}")) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("WHERE x.tim < y.time", r"edge attribute 'tim': expected one of .*, perhaps 'time'"),
        ("WHERE a.time < y.time", "vertex attribute 'time': expected one of the graph's vertex attributes"),
        ("WHERE x.time < y.fee", "one kind to compare, found datetimes in x.time and integers in y.fee"),
        ("WHERE x.kind < y.fee", "one kind to compare, found strings in x.kind and integers in y.fee"),
        ("WHERE x.fee - y.fee < 1h", "whose unit is not known: write the difference as a number"),
        ("WHERE x.time - y.time < 5", "expected a duration such as 1h in a difference of datetimes"),
        ("WHERE 2 * x.time < y.time", "expected a duration such as 1h in a difference of datetimes"),
        ("WHERE 2 * x.kind < y.kind", "expected numbers or datetimes in arithmetic, found strings"),
        ("WHERE id(a) < b.kind", None),
        ("WHERE id(a) < b.level", "one kind to compare, found strings in id.a. and integers in b.level"),
        ("WITHIN 5", "WITHIN: expected a duration such as 3d, as 'time' holds datetimes"),
        ("WITHIN 5h OF fee", "WITHIN: expected a number, as 'fee' holds integers"),
        ("WITHIN 5 OF kind", "WITHIN: expected numbers or datetimes in 'kind', found strings"),
    ],
)
def test_attributes_that_cannot_be_compared_are_named(
    graph: mf.Graph, text: str, message: str | None
) -> None:
    if message is None:
        mf.count(graph, f"{RING} {text}")
        return
    with pytest.raises(PatternError, match=message):
        mf.count(graph, f"{RING} {text}")


def test_integers_of_64_bits_are_compared_exactly() -> None:
    large = 2**62
    graph = mf.Graph.from_edges([(0, 1), (1, 2)], directed=True, edge_attributes={"n": [large, large + 1]})
    path = "(a)-[x]->(b)-[y]->(c) WHERE"
    assert int(mf.count(graph, f"{path} y.n = x.n + 1")) == 1
    assert int(mf.count(graph, f"{path} y.n > x.n")) == 1
    assert int(mf.count(graph, f"{path} y.n <= 1.0000000000000001 * x.n")) == 1
    unsigned = np.array([2**63, 1], dtype=np.uint64)
    graph = mf.Graph.from_edges([(0, 1), (1, 2)], directed=True, edge_attributes={"n": unsigned})
    with pytest.raises(PatternError, match=r"expected integers below 2\*\*63"):
        mf.count(graph, f"{path} y.n > x.n")


def test_lists_of_patterns_that_differ_in_comparisons_alone() -> None:
    path = mf.Graph.from_edges([(0, 1), (1, 2)], directed=True, edge_attributes={"t": [1, 2]})
    pattern = "(a)-[x]->(b)-[y]->(c) WHERE x.t"
    patterns = [f"{pattern} < y.t", f"{pattern} > y.t", f"{pattern} <> y.t"]
    assert [*mf.count(path, patterns)] == [1, 0, 1]
    repeated = mf.Graph.from_edges([(0, 1)] * 3, directed=True)
    assert [*mf.count(repeated, ["(a)-[x]->(b), (a)-[y]->(b)", "(a)-->(b)"], copies=True)] == [9, 3]


@pytest.mark.parametrize("nothing", [[None, None], [np.nan, np.nan]])
def test_attributes_without_a_value_satisfy_no_comparison(nothing: list[Any]) -> None:
    path = mf.Graph.from_edges(
        [(0, 1), (1, 2)],
        directed=True,
        num_vertices=3,
        edge_attributes={"t": nothing, "u": [1, 2]},
        vertex_attributes={"w": [*nothing, None]},
    )
    for condition in ("WHERE x.t < y.t", "WHERE x.t < y.u", "WHERE a.w <> b.w", "WITHIN 3 OF t"):
        assert mf.count(path, f"(a)-[x]->(b)-[y]->(c) {condition}") == 0


def test_more_choices_than_counts_can_hold_are_an_error_of_counts() -> None:
    both = mf.Graph.from_edges([(0, 1)] * 1000 + [(1, 0)] * 1000, directed=True)
    path = ", ".join(f"(v{at})-[x{at}]->(v{at + 1})" for at in range(13))
    with pytest.raises(mf.CountOverflowError):
        mf.count(both, path, semantics="homomorphism", copies=True)


def test_integers_beyond_63_bits_have_no_span() -> None:
    path = mf.Graph.from_edges(
        [(0, 1), (1, 2)], directed=True, edge_attributes={"time": np.array([2**64 - 1, 3], "u8")}
    )
    with pytest.raises(mf.PatternError, match=r"WITHIN: 'time': expected integers below 2\*\*63"):
        mf.count(path, "(a)-->(b)-->(c) WITHIN 100")


def test_two_spans_of_one_edge_are_refused(graph: mf.Graph) -> None:
    with pytest.raises(mf.PatternError, match="expected one span for one edge, found 2"):
        mf.count(graph, "(a)-[x]->(b) WITHIN 3d OF t WITHIN 3 OF n")


def test_two_spans_hold_together(graph: mf.Graph) -> None:
    assert int(mf.count(graph, f"{RING} WITHIN 2h WITHIN 19 OF amount")) == 3
    assert int(mf.count(graph, f"{RING} WITHIN 2h WITHIN 18 OF amount")) == 0


def test_symmetry_and_semantics_go_with_comparisons(graph: mf.Graph) -> None:
    assert int(mf.count(graph, f"{RING} WITHIN 2h", symmetry="subgraphs")) == 1
    assert int(mf.count(graph, ORDERED, semantics="homomorphism")) == 1
    with pytest.raises(ArgumentError, match="symmetry"):
        mf.count(graph, ORDERED, semantics="homomorphism", symmetry="subgraphs")


def test_engines_that_compare_nothing_hand_comparisons_to_the_cpu(graph: mf.Graph) -> None:
    found = mf.count(graph, ORDERED, engine="outofcore")
    assert (int(found), found.engine, found.reason) == (
        1,
        "cpu",
        "the CPU engine compares attributes, not 'outofcore'",
    )
    rows = mf.match(graph, ORDERED, engine="pvm")
    assert rows.reason == "the CPU engine compares attributes, not 'pvm'"
    assert rows.to_numpy().tolist() == [["a", "b", "c"]]
    counts = mf.count(graph, [RING, ORDERED, f"{RING} WITHIN 1h"])
    assert [int(one) for one in counts] == [3, 1, 0]
    copies = mf.count(graph, RING, copies=True, engine="dfs")
    assert (int(copies), copies.reason) == (6, "the CPU engine counts and lists copies, not 'dfs'")


def test_estimates_and_samples_refuse_comparisons(graph: mf.Graph) -> None:
    with pytest.raises(ArgumentError, match="no comparisons between attributes"):
        mf.estimate(graph, ORDERED)
    with pytest.raises(ArgumentError, match="no comparisons between attributes"):
        mf.sample(graph, ORDERED, 3)


def test_the_plan_names_comparisons_where_they_are_judged(graph: mf.Graph) -> None:
    text = str(mf.explain(graph, f"{ORDERED} WITHIN 1d", device="cpu", analyze=True))
    assert "the CPU engine compares attributes" in text
    assert "x.time < y.time" in text
    assert "WITHIN 1d" in text
    assert "copies of edges are compared, which are found by vertices" in text


def test_witnesses_are_a_choice_that_satisfies_all_comparisons(graph: mf.Graph) -> None:
    found = mf.match(graph, ORDERED, edges=True, attributes=["fee"], names=True).to_arrow().to_pylist()
    assert [(row["x.fee"], row["y.fee"], row["z.fee"]) for row in found] == [(1, 3, 4)]
    drawn = mf.match(graph, ORDERED).to_networkx()
    assert sorted(fee for *_, fee in drawn.edges(data="fee")) == [1, 3, 4]
    (one,) = mf.match(graph, ORDERED).graphs()
    assert sorted(fee for *_, fee in one.edges(data="fee")) == [1, 3, 4]


def test_limits_cut_rows_of_choices(graph: mf.Graph) -> None:
    every = mf.match(graph, RING, edges="all")
    assert every.to_numpy().shape == (6,)
    cut = mf.match(graph, RING, edges="all", limit=4)
    assert (len(cut.to_numpy()), cut.complete) == (4, False)
    exact = mf.match(graph, RING, edges="all", limit=6)
    assert (len(exact.to_numpy()), exact.complete) == (6, True)
    counted = mf.count(graph, RING, copies=True, limit=5)
    assert (int(counted), counted.complete) == (5, False)
    with pytest.raises(ArgumentError, match="edges"):
        mf.match(graph, RING, edges="some")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="copies"):
        mf.count(graph, RING, copies="all")  # type: ignore[call-overload]


def test_patterns_without_attributes_count_copies_too() -> None:
    graph = mf.Graph.from_edges([(0, 1), (0, 1), (0, 1), (1, 2), (1, 2)], directed=True)
    assert int(mf.count(graph, "(a)-->(b)-->(c)", copies=True)) == 6
    undirected = mf.Graph.from_edges([(0, 1), (1, 0), (1, 2)])
    assert int(mf.count(undirected, "(a)--(b)", copies=True)) == 6


def test_durations_come_from_python(graph: mf.Graph) -> None:
    builder = mf.PatternBuilder().vertex("a").vertex("b").vertex("c")
    builder = builder.edge("a", "b", name="x", directed=True).edge("b", "c", name="y", directed=True)
    builder = builder.compare(("y", "time"), ">", ("x", "time"), offset=dt.timedelta(minutes=30))
    assert int(mf.count(graph, builder.build())) == 2


def test_choices_of_query_edges_between_the_same_vertices_are_counted_and_listed_by_one_rule() -> None:
    graph = mf.Graph.from_edges([(1, 0), (1, 0), (2, 0)], directed=True, edge_attributes={"time": [1, 2, 3]})
    pattern = "(a)-[x]->(b), (a)-[y]->(b), (c)-[z]->(b)"
    for symmetry in ("embeddings", "subgraphs"):
        assert mf.count(graph, pattern, copies=True, symmetry=symmetry) == 4 + 2
        assert len(mf.match(graph, pattern, edges="all", symmetry=symmetry).to_numpy()) == 4 + 2


def test_candidates_by_value_satisfy_the_conditions_of_their_vertices() -> None:
    payees = np.arange(1, 21)
    graph = mf.Graph.from_edges(
        (np.r_[30, np.zeros(20, int)], np.r_[0, payees]),
        directed=True,
        vertex_ids=np.arange(31),
        vertex_labels=["firm" if vertex % 2 else "person" for vertex in range(31)],
        edge_attributes={"time": np.r_[0, payees]},
    )
    path = "(a)-[x]->(b)-[y]->(c{})  WHERE x.time < y.time WITHIN 12"
    assert mf.count(graph, path.format("")) == 12
    assert mf.count(graph, path.format(":firm")) == 6
    assert sorted(mf.match(graph, path.format(":person")).to_numpy()[:, 2]) == [2, 4, 6, 8, 10, 12]


@pytest.mark.parametrize(
    "written", ["x.a - y.a < 0.1", "x.a < y.a + 0.1", "y.a > x.a - 0.1", "y.a - x.a > -0.1"]
)
def test_differences_of_floats_are_not_rounded(written: str) -> None:
    """The forms differ in which operation of floats would round."""
    for first, second in ((0.3, 0.2), (0.2, 0.1), (1.1, 1.0), (0.7, 0.6), (1e16, 1e16), (0.4, 0.3)):
        graph = mf.Graph.from_edges([(0, 1), (1, 2)], directed=True, edge_attributes={"a": [first, second]})
        expected = Fraction(first) - Fraction(second) < Fraction(0.1)
        assert mf.count(graph, f"(p)-[x]->(q)-[y]->(r) WHERE {written}") == expected


def test_explain_says_that_a_search_goes_from_copy_to_copy(graph: mf.Graph) -> None:
    by_copies, by_levels = (
        str(mf.explain(graph, ORDERED, tuning=private_tuning({"copy_walk": switch})))
        for switch in ("on", "off")
    )
    assert "from copy to copy: the edge with the fewest copies within bounds is next" in by_copies
    assert "from copy to copy" not in by_levels


def test_explain_tells_of_choices_of_copies(graph: mf.Graph) -> None:
    for pattern in (ORDERED, "(a)-[x]->(b)"):
        told = mf.explain(graph, pattern, copies=True, analyze=True)
        assert "isomorphism, embeddings, choices of copies" in told
        assert told.report.actual is not None
        assert told.report.actual.count == mf.count(graph, pattern, copies=True)
        assert told.to_dict()["copies"]
        assert f"{told.report.actual.count} choice" in told
    assert mf.count(graph, "(a)-[x]->(b)", copies=True) == 4
    assert "choices of copies" not in mf.explain(graph, ORDERED)
    with pytest.raises(ArgumentError, match="copies: expected False beside distinct rows"):
        mf.explain(graph, ORDERED, copies=True, distinct=["a"])
    with pytest.raises(ArgumentError, match="copies"):
        mf.explain(graph, ORDERED, copies="all")  # type: ignore[arg-type]


def test_large_graphs_are_searched_from_copy_to_copy_after_a_brief_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = np.random.default_rng(28)
    ends = random.integers(0, 60, (3000, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    graph = mf.Graph.from_edges(
        ends, directed=True, edge_attributes={"time": random.integers(0, 10**6, len(ends))}
    )
    pattern = f"{ORDERED} WITHIN 3000"
    expected = mf.count(graph, pattern, tuning=private_tuning({"copy_walk": "off", "pair_walk": "off"}))
    graph.forget()
    monkeypatch.setattr(order, "_MANY_EDGES", 0)
    monkeypatch.setattr(order, "_BRIEF", 0.0)
    monkeypatch.setattr(order, "_SORTING_SECONDS", 0.0)
    looks: list[int] = []
    by_levels = order._plan_by_levels
    monkeypatch.setattr(order, "_plan_by_levels", lambda *args: looks.append(args[2]) or by_levels(*args))
    brief = make_plan(graph, mf.Pattern.parse(pattern))
    assert looks == [order._SHORT // 8], "orders of levels were compared with care"
    assert brief.copy_walk is not None
    assert not brief.copy_walk.order
    assert mf.count(graph, pattern) == expected > 0


def test_explain_says_that_a_count_goes_from_pair_to_pair(graph: mf.Graph) -> None:
    by_pairs, by_levels = (
        str(mf.explain(graph, ORDERED, tuning=private_tuning({"pair_walk": switch, "copy_walk": "off"})))
        for switch in ("on", "off")
    )
    assert "from pair to pair of vertices, with all choices of copies" in by_pairs
    assert "from pair to pair" not in by_levels


def test_explain_says_that_wedges_are_gathered(graph: mf.Graph) -> None:
    by_wedges, by_levels = (
        str(mf.explain(graph, ORDERED, tuning=private_tuning({"wedge_walk": switch})))
        for switch in ("on", "off")
    )
    assert "once all paths over the last vertex are gathered" in by_wedges
    assert "gathered" not in by_levels
