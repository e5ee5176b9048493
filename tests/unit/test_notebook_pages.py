"""What notebooks show of graphs and answers: in bounded size, and without searching."""

from __future__ import annotations

from html.parser import HTMLParser
from itertools import combinations

import numpy as np
import pytest

import motiflux as mf
from motiflux.generate import UniformEdges

HOSTILE = "<script>alert('&')</script>"
MOST_CHARACTERS = 20_000


def test_a_graph_is_a_table_of_what_is_known() -> None:
    graph = mf.Graph.from_edges(
        [(0, 1), (1, 2), (0, 1)],
        directed=True,
        num_vertices=4,
        vertex_labels=["bank", "person", "person", HOSTILE],
        edge_labels=["wire", "cash", "wire"],
        edge_attributes={"amount": [1.5, 2, 3]},
        vertex_attributes={"name": list("abcd")},
    )
    page = graph._repr_html_()
    for text in (
        "2, directed, given 3 times in all",
        "0 to 2, mean 1, 1 isolated",
        "person: 2, &lt;script&gt;",
        "cash, wire",
        "name (strings)",
        "amount (floats)",
    ):
        assert text in page
    assert "<script" not in page


@pytest.mark.turns(8)
def test_a_graph_of_many_labels_and_attributes_is_a_short_table() -> None:
    edges = [(v, v + 1) for v in range(5000)]
    columns = {f"{'x' * 500}{number}": [0] * 5000 for number in range(100)}
    graph = mf.Graph.from_edges(
        edges,
        vertex_labels=[f"{'y' * 500}{v}" for v in range(5001)],
        edge_labels=[str(v) for v in range(5000)],
        edge_attributes=columns,
    )
    page = graph._repr_html_()
    assert len(page) < MOST_CHARACTERS
    assert ", ... (5,001)" in page
    assert ", ... (100)" in page


def test_one_thing_is_no_plural() -> None:
    one = mf.Graph.from_edges([(0, 1)], vertex_attributes={"age": [3, 4]})
    assert repr(one) == "Graph(2 vertices, 1 edge, undirected)"
    assert repr(mf.Graph.from_edges([], num_vertices=1)) == "Graph(1 vertex, 0 edges, undirected)"
    assert repr(mf.Pattern.parse("(a)--(b)")) == "Pattern(2 vertices, 1 edge)"
    assert "Graph(2 vertices, 1 edge, undirected)" in str(mf.explain(one, "(a)--(b)"))
    assert repr(one.vertex_attributes["age"]) == "Column(2 integers, 0 missing)"
    assert repr(one.vertex_attributes["age"].take(np.array([0]))) == "Column(1 integer, 0 missing)"
    matches = mf.match(one, "(a)--(b)", symmetry="subgraphs")
    assert len(matches.to_numpy()) == 1
    assert repr(matches) == "Matches(2 columns, 1 row taken, complete)"


def test_one_thing_is_no_plural_in_errors() -> None:
    with pytest.raises(mf.GraphError, match=r"edge_labels: expected 1 label, found 2"):
        mf.Graph.from_edges([(0, 1)], edge_labels=["a", "b"])
    with pytest.raises(mf.ArgumentError, match=r"at most 0, as many as 1 vertex can have"):
        UniformEdges(vertices=1, edges=3)


def test_an_empty_graph_has_a_page_too() -> None:
    assert "<td" in mf.Graph.from_edges([], num_vertices=0)._repr_html_()


def test_showing_open_matches_takes_no_row_and_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    matches = mf.match(mf.Graph.from_edges(list(combinations(range(30), 2))), "(a)--(b)--(c)--(d)")

    def taken() -> None:
        raise AssertionError("a row was taken")

    monkeypatch.setattr(matches._source, "next", taken, raising=False)
    for shown in (matches._repr_html_(), repr(matches)):
        assert len(shown) < MOST_CHARACTERS
        assert "open" in shown
    assert (matches.rows, matches.complete, matches.seconds) == (0, None, 0.0)
    monkeypatch.undo()
    matches.close()


def test_a_page_tells_no_time_of_a_search_that_has_not_begun() -> None:
    matches = mf.match(mf.Graph.from_edges([(0, 1)]), "(a)--(b)", limit=1)
    assert ">search<" not in matches._repr_html_()
    assert ">planning<" in matches._repr_html_()
    matches.to_numpy()
    assert ">search<" in matches._repr_html_()
    assert repr(matches) == "Matches(2 columns, 1 row taken, stopped at the limit)"


def test_matches_and_counts_say_how_they_came_about() -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0)])
    matches = mf.match(graph, "(a)--(b)")
    matches.to_numpy()
    page = matches._repr_html_()
    assert ">v0, v1<" in page
    assert ">6 rows<" in page
    assert ">complete<" in page
    assert page.count("<svg") == 1
    assert page.count("<tr><td") == 6  # five rows, and how many more there are
    assert "and 1 more row<" in page
    assert ">6<" in mf.count(graph, "(a)--(b)")._repr_html_()
    assert ">at least 2<" in mf.count(graph, "(a)--(b)", limit=2)._repr_html_()


def test_the_first_rows_are_shown_as_text() -> None:
    graph = mf.Graph.from_edges([(HOSTILE, "b")], directed=True)
    matches = mf.match(graph, "(a)-->(b)", names=True, edges=True)
    assert "alert" not in matches._repr_html_()
    assert len(matches.to_numpy()) == 1
    page = matches._repr_html_()
    assert ">&lt;script&gt;alert" in page
    assert "<script" not in page


def test_a_page_while_rows_are_taken_takes_none() -> None:
    matches = mf.match(mf.Graph.from_edges(list(combinations(range(5), 2))), "(a)--(b)", batch_rows=4)
    next(matches)
    page = matches._repr_html_()
    assert page.count("<tr><td") == 4
    assert ">open<" in page
    assert sum(map(len, matches)) == 16


def test_a_monitor_is_a_table_with_its_pattern() -> None:
    graph = mf.Graph.from_edges([("a", "b"), ("b", "c")], directed=True)
    monitor = mf.Monitor(graph, "(x)-->(y)", window="1h")
    assert monitor.apply([("+", "c", "a")], times=0).updates == 1
    page = monitor._repr_html_()
    for text in (">3, directed<", ">sequence<", ">1<", "1h"):
        assert text in page
    assert page.count("<svg") == 1
    monitor.add(f"(x:`{HOSTILE}`)-->(y)")
    assert "(x)--&gt;(y)" in (page := monitor._repr_html_())
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    monitor.close()
    assert ">closed<" in monitor._repr_html_()


def test_a_change_shows_its_first_matches() -> None:
    graph = mf.Graph.from_edges([(HOSTILE, "b")], directed=True)
    monitor = mf.Monitor(graph, ["(x)-->(y)", "(x)-->(y)-->(z)"], matches=True)
    delta = monitor.apply([("+", "b", f"c{number}") for number in range(7)] + [("-", HOSTILE, "b")])
    page = delta._repr_html_()
    assert '>(x)--&gt;(y), (y)--&gt;(z)</td><td style="text-align: left">7<' in page
    assert "and 3 more matches<" in page
    assert "and 9 more matches<" in page
    assert ">&lt;script&gt;" in page
    assert "<script" not in page
    assert len(delta[0].appeared()) == 7


def test_a_change_without_matches_has_a_page() -> None:
    monitor = mf.Monitor(mf.Graph.from_edges([(0, 1)]), "(x)--(y)")
    delta = monitor.apply([("+", 0, 1), ("-", 0, 2)])
    page = delta._repr_html_()
    assert ">2, 2 without effect<" in page
    assert ">1, 1 without effect, 1 self-loop<" in monitor.apply([("+", 0, 0), ("+", 0, 1)])._repr_html_()
    assert "more match" not in page


def test_an_estimate_is_a_table_with_its_interval() -> None:
    estimate = mf.estimate(mf.Graph.from_edges([(0, 1), (1, 2), (2, 0)]), "(a)--(b)")
    assert f">{estimate.low:.6g} to {estimate.high:.6g}<" in estimate._repr_html_()


@pytest.mark.turns(8)
def test_a_pattern_that_names_very_many_ids_has_a_short_page() -> None:
    pattern = mf.Pattern.from_edges([(0, 1)], vertex_ids=[range(100_000), None])
    assert len(pattern._repr_html_()) < MOST_CHARACTERS
    assert "id 0, 1, 2, … (100000)" in pattern._repr_html_()


def test_pages_are_balanced() -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0)])
    taken = mf.match(graph, "(a)--(b)")
    taken.to_numpy()
    monitor = mf.Monitor(graph, "(a)--(b)", matches=True)
    for shown in (
        graph,
        mf.Pattern.parse("(a)--(b)"),
        mf.count(graph, "(a)--(b)"),
        mf.explain(graph, "(a)--(b)"),
        mf.match(graph, "(a)--(b)"),
        taken,
        mf.estimate(graph, "(a)--(b)"),
        monitor,
        monitor.apply(deletes=[(0, 1)]),
    ):
        page = _Balance()
        page.feed(shown._repr_html_())
        assert page.open == [], type(shown)


class _Balance(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
