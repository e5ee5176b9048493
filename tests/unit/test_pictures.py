"""Pictures of patterns, plans, occurrences and graphs: what they show, and that they search nothing."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.api.drawing import MAX_ROWS
from motiflux.config import private_tuning
from motiflux.errors import ArgumentError
from tests.unit.cli_run import complete_graph, motiflux, only_json
from tests.unit.svg_page import SVG, Page, assert_all_in_view, overlaps, page_of

HOSTILE = "a\"]; L9[<script>alert('&')</script>`|#\n"
RING = "(a)-[:wire]->(b)-[:wire]->(c)-[:wire]->(d)-[:wire]->(a)"


def transfers() -> mf.Graph:
    """Return a ring of wires with one of them given twice, and others around it."""
    edges = [
        ("ann", "bob"),
        ("ann", "bob"),
        ("bob", "cy"),
        ("cy", "dan"),
        ("dan", "ann"),
        ("eve", "ann"),
        ("bob", "eve"),
        ("fay", "cy"),
    ]
    return mf.Graph.from_edges(
        edges,
        directed=True,
        vertex_ids=["ann", "bob", "cy", "dan", "eve", "fay"],
        vertex_labels=["person", "firm", "person", "firm", "person", "person"],
        edge_labels=["wire"] * 5 + ["card"] * 3,
        edge_attributes={"amount": [50.0, 1200.5, 2, 3, None, 5, 6, 7]},
        vertex_attributes={"country": ["CH", None, "DE", "FR", "CH", "IT"]},
    )


def checked(picture: Any) -> Page:
    page = page_of(picture)
    assert overlaps(page.nodes) == []
    assert_all_in_view(page)
    return page


def classes(page: Page) -> list[str]:
    return [path.attrib["class"] for path in page.root.iter(f"{SVG}path")]


class TestPattern:
    def test_every_vertex_and_edge_is_there_once_with_what_it_asks_for(self) -> None:
        pattern = mf.Pattern.parse(
            "(a:person|firm)-[x:wire]->(b), (b)--(c:bank {country: 'CH'}) WHERE x.amount > 10 AND id(b) = 7",
            name="payment",
        )
        page = checked(pattern.to_svg())
        assert [page.named(node) for node in range(3)] == ["a", "b", "c"]
        assert page.links == ["0 1", "1 2"]
        assert {
            "payment",
            "firm | person",
            "x:wire",
            "amount > 10",
            "id 7",
            "bank",
            "country = 'CH'",
        } <= set(page.texts)
        assert classes(page).count("line-tip") == 1

    def test_vertices_of_one_label_have_one_colour(self) -> None:
        page = page_of(mf.Pattern.parse("(a:x)--(b:y)--(c:x)--(d)").to_svg())
        found = [box.attrib["class"] for box in page.root.iter(f"{SVG}rect")][1:]
        assert [one for one in found if one.startswith("node")] == ["node-0", "node-1", "node-0", "node-open"]

    def test_many_labels_and_ids_are_few_words(self) -> None:
        pattern = mf.Pattern.from_edges(
            [(0, 1)], vertex_labels=[range(50), None], vertex_ids=[None, range(50)]
        )
        assert {"0 | 1 | 2 | … (50)", "id 0, 1, 2, … (50)"} <= set(page_of(pattern.to_svg()).texts)

    def test_names_are_text_and_nothing_else(self) -> None:
        builder = mf.PatternBuilder().vertex(HOSTILE, HOSTILE).vertex("b").edge(HOSTILE, "b", HOSTILE)
        pattern = builder.build(HOSTILE)
        page = checked(pattern.to_svg())
        assert "script" not in str(pattern.to_svg()).replace("&lt;script", "").replace("&lt;/script", "")
        assert page.root.findtext(f"{SVG}desc") == str(pattern)

    def test_it_is_the_same_every_time_and_others_are_not(self) -> None:
        first, again, other = (mf.Pattern.parse(text).to_svg() for text in (RING, RING, "(a)--(b)"))
        assert first == again
        assert page_of(first).root.get("id") != page_of(other).root.get("id")

    def test_notebooks_show_it_with_its_text(self) -> None:
        pattern = mf.Pattern.parse(RING)
        assert pattern._repr_svg_() == pattern.to_svg()
        assert pattern._repr_html_().count("<svg ") == 1
        assert "(a)-[:wire]-&gt;(b)" in pattern._repr_html_()

    @pytest.mark.turns(8)
    def test_the_largest_pattern_has_a_picture(self) -> None:
        pattern = mf.Pattern.from_edges(list(combinations(range(32), 2)))
        page = checked(pattern.to_svg())
        assert (len(page.nodes), len(page.links)) == (32, 496)


class TestMatch:
    def test_a_row_lies_on_the_pattern_with_ids_labels_and_attributes(self) -> None:
        graph = transfers()
        row = mf.match(graph, RING).to_numpy()[0].tolist()
        page = checked(mf.draw_match(graph, RING, row, attributes=["amount", "country"]))
        assert [page.named(node) for node in range(4)] == row
        assert page.links == ["0 1", "1 2", "2 3", "3 0"]
        assert page.texts.count("wire") == 4
        assert {"amount 50 (+1)", "amount 2", "amount -", "country CH", "country -"} <= set(page.texts)
        assert any(text.endswith(": person") for text in page.texts)

    def test_the_copy_that_the_pattern_accepts_is_shown(self) -> None:
        page = page_of(
            mf.draw_match(
                transfers(), "(a)-[x]->(b) WHERE x.amount > 1000", ["ann", "bob"], attributes=["amount"]
            )
        )
        assert {"x: wire", "amount 1,200.5"} <= set(page.texts)

    @pytest.mark.parametrize("ids", [[0, 1, 2], ["ann", "bob", "cy"]])
    def test_rows_of_choices_show_one_choice_after_the_other(self, ids: list[Any]) -> None:
        graph = mf.Graph.from_edges(
            [(ids[u], ids[v]) for u, v in [(0, 1), (0, 1), (1, 2), (1, 2), (2, 0)]],
            directed=True,
            edge_attributes={"time": [5, 6, 1, 7, 9]},
        )
        pattern = "(a)-[x]->(b)-[y]->(c) WHERE x.time < y.time"
        for symmetry in ("embeddings", "subgraphs"):
            matches = mf.match(graph, pattern, edges="all", attributes=["time"], symmetry=symmetry)
            table = mf.match(graph, pattern, edges="all", attributes=["time"], symmetry=symmetry).to_arrow()
            rows = matches.to_numpy()
            page = checked(mf.draw_match(graph, pattern, rows, attributes=["time"]))
            drawn = [text for text in page.texts if text.startswith("time ")]
            told = zip(table["e0.time"].to_pylist(), table["e1.time"].to_pylist(), strict=True)
            assert sorted(zip(drawn[::2], drawn[1::2], strict=True)) == sorted(
                (f"time {first}", f"time {second}") for first, second in told
            )
            assert len(set(zip(drawn[::2], drawn[1::2], strict=True))) == len(rows) == 4

    def test_rows_with_edges_show_these_edges(self) -> None:
        graph = mf.Graph.from_edges([(0, 1), (0, 1), (1, 2)], edge_labels=["wire", "card", "cash"])
        for edges in (True, "all"):
            rows = mf.match(graph, "(a)--(b)--(c)", edges=edges).to_numpy()  # type: ignore[arg-type]
            labels = graph.to_edges().labels
            for row in rows:
                page = checked(mf.draw_match(graph, "(a)--(b)--(c)", row))
                assert {labels[row[3]], labels[row[4]]} <= set(page.texts)
        assert mf.draw_graph(graph, pattern="(a)--(b)--(c)", rows=rows).name.endswith("4 occurrences marked")
        with pytest.raises(ArgumentError, match=r"rows\[0\]: expected edges with the numbers 1, 1 that"):
            mf.draw_match(graph, "(a)--(b)--(c)", [0, 1, 2, 1, 1])
        with pytest.raises(ArgumentError, match="rows: expected rows of 2 ids"):
            mf.draw_match(graph, "(a)--(b)", ["0", "1", "first"])

    def test_an_edge_that_goes_the_other_way_is_drawn_as_it_goes(self) -> None:
        page = page_of(mf.draw_match(transfers(), "(a)--(b)", ["bob", "ann"]))
        assert page.links == ["1 0"]

    def test_vertices_lie_as_in_the_pattern_in_every_row(self) -> None:
        graph = mf.Graph.from_edges(list(combinations(range(5), 2)))
        rows = mf.match(graph, "(a)--(b)--(c)--(a)", limit=4).to_numpy()
        page = checked(mf.draw_match(graph, "(a)--(b)--(c)--(a)", rows))
        assert (len(page.nodes), len(page.links)) == (12, 12)

    def test_of_many_rows_the_first_are_drawn_and_the_picture_says_so(self) -> None:
        graph = mf.Graph.from_edges(list(combinations(range(6), 2)))
        picture = mf.draw_match(graph, "(a)--(b)", mf.match(graph, "(a)--(b)").to_numpy())
        page = checked(picture)
        assert len(page.nodes) == 2 * MAX_ROWS
        assert "12 occurrences of the pattern, the first of 30" in page.texts

    def test_an_occurrence_is_shown_among_its_neighbours(self) -> None:
        graph = transfers()
        page = checked(mf.draw_match(graph, RING, ["ann", "bob", "cy", "dan"], neighbors=10))
        assert [page.named(node) for node in range(4, 6)] == ["eve", "fay"]
        assert sorted(page.links) == ["0 1", "1 2", "1 4", "2 3", "3 0", "4 0", "5 2"]
        assert classes(page).count("found") == 4
        assert classes(page).count("faint") == 3

    def test_neighbours_are_capped_however_many_there_are(self) -> None:
        hub = mf.Graph.from_edges([(0, leaf) for leaf in range(1, 5000)])
        page = checked(mf.draw_match(hub, "(a)--(b)", [0, 1], neighbors=30))
        assert len(page.nodes) == 32
        with pytest.raises(ArgumentError, match="neighbors: expected an integer from 0 to 62"):
            mf.draw_match(hub, "(a)--(b)", [0, 1], neighbors=63)

    def test_vertices_that_coincide_are_drawn_apart(self) -> None:
        page = checked(
            mf.draw_match(transfers(), "(a)--(b)--(c)", ["bob", "ann", "bob"], semantics="homomorphism")
        )
        assert [page.named(node) for node in range(3)] == ["bob", "ann", "bob"]

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            (["ann", "cy"], r"rows\[0\]: expected an edge for each of the pattern's, found \('ann', 'cy'\)"),
            ([["ann", "bob"], ["ann", "zoe"]], r"rows\[1\]: expected ids of the graph, found 'zoe'"),
            (["ann", "bob", "cy"], "rows: expected rows of 2 ids"),
            ([["ann", "bob"], ["ann"]], "rows: expected rows of 2 ids"),
            (np.empty((0, 2), dtype=np.str_), "rows: expected at least one row"),
        ],
    )
    def test_what_is_no_occurrence_is_refused(self, rows: Any, message: str) -> None:
        with pytest.raises(ArgumentError, match=message):
            mf.draw_match(transfers(), "(a)-->(b)", rows)

    @pytest.mark.parametrize(
        ("pattern", "row", "message"),
        [
            ("(a:7)-->(b)", [2, 1], r"rows\[1\]: expected a vertex with the label 7 for 'a', found 2"),
            ("(a)-->(b {x: 10})", [2, 3], r"rows\[1\]: .* satisfies the conditions on 'b', found 3"),
            ("(a)-->(b) WHERE id(a) = 1", [2, 1], r"rows\[1\]: expected one of the ids .* 'a' .*, found 2"),
            ("(a)-->(b)", [1, 3], r"rows\[1\]: expected an edge for each"),
        ],
    )
    def test_vertices_that_the_pattern_does_not_take_are_refused(
        self, pattern: str, row: list[int], message: str
    ) -> None:
        graph = mf.Graph.from_edges(
            [(1, 2), (2, 1), (2, 3)],
            directed=True,
            vertex_labels=[0, 7, 8, 9],
            vertex_attributes={"x": [0, 5, 10, None]},
        )
        mf.draw_match(graph, pattern, [1, 2])
        for draw in (mf.draw_match, lambda *given: mf.draw_graph(given[0], pattern=given[1], rows=given[2])):
            with pytest.raises(ArgumentError, match=message):
                draw(graph, pattern, [[1, 2], row])

    def test_what_an_occurrence_is_is_as_in_the_search(self) -> None:
        graph = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0), (2, 3)])
        wedge = "(a)--(b)--(c)"
        with pytest.raises(ArgumentError, match="different vertices for 'a' and 'c', found 0"):
            mf.draw_match(graph, wedge, [0, 1, 0])
        mf.draw_match(graph, wedge + " WHERE may_equal(a, c)", [0, 1, 0])
        with pytest.raises(ArgumentError, match=r"no edge beside the pattern's, found \(0, 2\)"):
            mf.draw_match(graph, wedge, [0, 1, 2], semantics="induced")
        with pytest.raises(ArgumentError, match="semantics: expected one of isomorphism, induced, homo"):
            mf.draw_match(graph, wedge, [0, 1, 2], semantics="any")
        for semantics in ("isomorphism", "induced", "homomorphism"):
            rows = mf.match(graph, wedge, semantics=semantics).to_numpy()
            mf.draw_match(graph, wedge, rows, semantics=semantics)

    @pytest.mark.parametrize("zone", ["", "Z"])
    def test_midnight_is_a_day_with_a_time_zone_and_without_one(self, tmp_path: Path, zone: str) -> None:
        (tmp_path / "g.csv").write_text(f"src,dst,when\n1,2,2024-03-01T00:00:00{zone}\n")
        graph = mf.read_graph(tmp_path / "g.csv", directed=True)
        page = mf.draw_match(graph, "(a)-->(b)", [1, 2], attributes=["when"])
        assert "when 2024-03-01" in page
        assert "00:00" not in page

    def test_attributes_that_are_not_there_are_refused(self) -> None:
        with pytest.raises(ArgumentError, match="'amount', 'country'"):
            mf.draw_match(transfers(), "(a)-->(b)", ["ann", "bob"], attributes=["euro"])

    @pytest.mark.parametrize("directed", [False, True])
    def test_attributes_are_those_of_the_edge(self, directed: bool) -> None:
        random = np.random.default_rng(3)
        pairs = [(int(u), int(v)) for u, v in random.integers(0, 9, (60, 2)) if u != v]
        values = {pair: 1000 + number for number, pair in enumerate(pairs)}
        graph = mf.Graph.from_edges(
            pairs, directed=directed, edge_attributes={"x": [values[pair] for pair in pairs]}
        )
        for u, v in pairs:
            page = page_of(mf.draw_match(graph, "(a)~>(b)", [u, v], attributes=["x"]))
            either = {values.get((u, v)), None if directed else values.get((v, u))} - {None}
            (text,) = (text for text in page.texts if text.startswith("x "))
            assert int(text.split()[1]) in either


class TestGraph:
    def test_every_vertex_and_edge_is_there_once(self) -> None:
        page = checked(mf.draw_graph(transfers()))
        assert sorted(page.named(node) for node in range(6)) == ["ann", "bob", "cy", "dan", "eve", "fay"]
        assert len(page.links) == len(set(page.links)) == 7

    def test_occurrences_are_marked(self) -> None:
        graph = transfers()
        page = checked(mf.draw_graph(graph, pattern=RING, rows=["ann", "bob", "cy", "dan"]))
        assert (classes(page).count("found"), classes(page).count("faint")) == (4, 3)

    def test_large_ones_are_refused(self) -> None:
        graph = mf.Graph.from_edges([(v, v + 1) for v in range(64)])
        with pytest.raises(ArgumentError, match="at most 64 vertices to draw, found 65"):
            mf.draw_graph(graph)

    def test_rows_take_a_pattern(self) -> None:
        with pytest.raises(ArgumentError, match="both or neither"):
            mf.draw_graph(transfers(), rows=["ann"])


class TestPlan:
    GRAPH = mf.Graph.from_edges(
        [*combinations(range(5), 2), (0, 5)], vertex_labels=[HOSTILE] * 5 + ["b"], edge_labels=["x"] * 11
    )

    def explained(self, **options: Any) -> mf.Explanation:
        pattern = (
            mf.PatternBuilder()
            .vertex(HOSTILE, HOSTILE)
            .vertex("v")
            .vertex("w")
            .edge(HOSTILE, "v")
            .edge("v", "w")
        )
        return mf.explain(self.GRAPH, pattern.build(HOSTILE), **options)

    def test_every_level_is_a_row_with_its_sizes(self) -> None:
        told = self.explained(analyze=True, tuning={"tail": "off"})
        page = page_of(told.to_svg())
        assert_all_in_view(page)
        levels = [one.get("data-level") for one in page.root.iter(f"{SVG}g") if one.get("data-level")]
        assert levels == ["0", "1", "2"]
        assert {str(step.actual) for step in told.report.steps} <= set(page.texts)
        bars = [box.get("class") for box in page.root.iter(f"{SVG}rect")]
        assert (bars.count("estimated"), bars.count("actual")) == (4, 4)  # the legend has one of each

    def test_longer_bars_are_larger_sizes(self) -> None:
        told = self.explained(analyze=True, tuning={"tail": "off"})
        page = page_of(told.to_svg())
        bars = [box for box in page.root.iter(f"{SVG}rect") if box.get("class") == "actual"][1:]
        widths = [float(bar.attrib["width"]) for bar in bars]
        sizes = [step.actual or 0 for step in told.report.steps]
        assert sorted(range(3), key=widths.__getitem__) == sorted(range(3), key=sizes.__getitem__)

    def test_the_tail_is_framed_and_explained(self) -> None:
        wheel = [(0, leaf) for leaf in range(1, 50)] + [(leaf, leaf + 1) for leaf in range(1, 49)]
        star = mf.Pattern.from_edges([(0, 1), (0, 2), (0, 3)])
        told = mf.explain(mf.Graph.from_edges(wheel), star, tuning=private_tuning({"multiply": "off"}))
        assert told.report.tail
        page = page_of(told.to_svg())
        assert_all_in_view(page)
        assert "frame" in [box.get("class") for box in page.root.iter(f"{SVG}rect")]
        assert "The tail is counted in closed form, as the product of" in page.texts

    def test_no_match_is_said(self) -> None:
        pattern = mf.Pattern.from_edges([(0, 1)], vertex_labels=["none", None])
        page = page_of(mf.explain(self.GRAPH, pattern).to_svg())
        assert_all_in_view(page)
        assert any(text.startswith("no match: ") for text in page.texts)

    def test_large_plans_are_in_view(self) -> None:
        pattern = mf.Pattern.from_edges([(v, (v + 1) % 32) for v in range(32)])
        assert_all_in_view(page_of(mf.explain(self.GRAPH, pattern).to_svg()))


class TestCommandLine:
    def test_match_draws_an_occurrence(self, tmp_path: Path) -> None:
        graph, picture = complete_graph(tmp_path / "k4.txt", 4), tmp_path / "first.svg"
        done = motiflux("match", graph, "(a)--(b)--(c)", "--picture", picture, "--limit", 2)
        assert (done.exit_code, done.stdout.count("\n")) == (0, 3)
        assert f"picture in {picture}" in done.stderr
        assert len(checked(picture.read_text()).nodes) == 3
        fields = only_json(motiflux("match", graph, "(a)--(b)", "--picture", picture, "--json"))
        assert fields["picture"] == str(picture)

    def test_nothing_to_draw_makes_no_file(self, tmp_path: Path) -> None:
        graph, picture = complete_graph(tmp_path / "k4.txt", 4), tmp_path / "first.svg"
        done = motiflux("match", graph, "(a:x)--(b)", "--picture", picture)
        assert (done.exit_code, "no occurrence to draw" in done.stderr, picture.exists()) == (0, True, False)

    def test_a_picture_that_cannot_be_written_is_an_error(self, tmp_path: Path) -> None:
        graph = complete_graph(tmp_path / "k4.txt", 4)
        done = motiflux("match", graph, "(a)--(b)", "--picture", tmp_path)
        assert done.exit_code == 2
        assert "found a directory" in done.stderr

    @pytest.mark.parametrize(
        "arguments",
        [
            ["match", "--picture", "one.png"],
            ["explain", "--svg", "one.PNG"],
            ["explain", "--html", "one.pdf"],
            ["explain", "--svg", "absent/one.svg"],
        ],
    )
    def test_a_file_of_another_kind_is_refused_before_the_search(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
    ) -> None:
        monkeypatch.chdir(tmp_path)
        command, *more = arguments
        done = motiflux(command, "no-such-graph.txt", "(a)--(b)", *more)
        assert (done.exit_code, done.stdout) == (2, "")
        assert "no-such-graph" not in done.stderr
        assert more[1] in done.stderr
        assert list(tmp_path.iterdir()) == []

    def test_where_a_picture_cannot_be_is_said_before_the_search(self, tmp_path: Path) -> None:
        graph, rows = complete_graph(tmp_path / "k4.txt", 4), tmp_path / "rows.csv"
        done = motiflux("match", graph, "(a)--(b)", "--picture", tmp_path / "no" / "first.svg")
        assert (done.exit_code, done.stdout, "there is no folder" in done.stderr) == (2, "", True)
        done = motiflux("match", graph, "(a)--(b)", "-o", rows, "--picture", rows)
        assert (done.exit_code, rows.exists(), "expected different files" in done.stderr) == (2, False, True)
