"""What notebooks show of graphs and answers: in bounded size, and without searching."""

from __future__ import annotations

from html.parser import HTMLParser
from itertools import combinations

import pytest

import motiflux as mf

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


def test_a_pattern_that_names_very_many_ids_has_a_short_page() -> None:
    pattern = mf.Pattern.from_edges([(0, 1)], vertex_ids=[range(100_000), None])
    assert len(pattern._repr_html_()) < MOST_CHARACTERS
    assert "id 0, 1, 2, … (100000)" in pattern._repr_html_()


def test_pages_are_balanced() -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0)])
    taken = mf.match(graph, "(a)--(b)")
    taken.to_numpy()
    for shown in (
        graph,
        mf.Pattern.parse("(a)--(b)"),
        mf.count(graph, "(a)--(b)"),
        mf.explain(graph, "(a)--(b)"),
        mf.match(graph, "(a)--(b)"),
        taken,
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
