"""Layouts and the SVG they become, whatever is drawn."""

from __future__ import annotations

import pickle
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from motiflux.draw import MAX_NODES, Link, Node, Panel, Picture, diagram, grid, place, slots_for
from motiflux.draw.layout import _place
from motiflux.draw.layout.stress import distances
from motiflux.draw.layout.untangle import Judge
from motiflux.draw.shape import Curve, Outline
from motiflux.draw.style import ROLES
from motiflux.draw.type import cut, width_of
from motiflux.errors import ArgumentError, OutputError
from tests.unit.svg_page import SVG, assert_all_in_view, overlaps, page_of

HOSTILE = "<script>alert('&')</script>]]>\"\n\x00\x1b\ud800"

Pairs = list[tuple[int, int]]
GRID = [(4 * r + c, 4 * r + c + 1) for r in range(3) for c in range(3)]
GRID += [(4 * r + c, 4 * r + c + 4) for r in range(2) for c in range(4)]
PLANAR: dict[str, tuple[int, Pairs]] = {
    "triangle": (3, [(0, 1), (1, 2), (2, 0)]),
    "ring": (6, [(v, (v + 1) % 6) for v in range(6)]),
    "k4": (4, list(combinations(range(4), 2))),
    "diamond": (4, [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]),
    "house": (5, [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4)]),
    "bowtie": (5, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)]),
    "wheel": (7, [(0, leaf) for leaf in range(1, 7)] + [(leaf, leaf % 6 + 1) for leaf in range(1, 7)]),
    "prism": (6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)]),
    "cube": (8, [(u, u ^ bit) for u in range(8) for bit in (1, 2, 4) if u < u ^ bit]),
    "octahedron": (6, [pair for pair in combinations(range(6), 2) if sum(pair) != 5]),
    "grid": (12, GRID),
    "tree": (6, [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5)]),
    "star": (9, [(0, leaf) for leaf in range(1, 9)]),
    "long path": (20, [(v, v + 1) for v in range(19)]),
}


def crossings(count: int, pairs: Pairs, at: np.ndarray) -> int:
    return Judge(count, pairs, distances(count, pairs)).flaws(at).crossings


class TestPlace:
    @pytest.mark.parametrize("name", PLANAR)
    def test_what_can_be_drawn_without_crossings_is(self, name: str) -> None:
        count, pairs = PLANAR[name]
        assert crossings(count, pairs, place(count, pairs)) == 0

    @pytest.mark.parametrize("name", PLANAR)
    def test_it_is_the_same_every_time(self, name: str) -> None:
        count, pairs = PLANAR[name]
        first = place(count, pairs)
        _place.cache_clear()
        assert (place(count, pairs) == first).all()

    @pytest.mark.turns(8)
    def test_k33_has_the_one_crossing_it_must_have(self) -> None:
        pairs = [(u, v) for u in range(3) for v in range(3, 6)]
        assert crossings(6, pairs, place(6, pairs)) == 1

    def test_a_ring_is_a_circle_of_lines_of_one_length(self) -> None:
        at = place(5, [(0, 2), (2, 4), (4, 1), (1, 3), (3, 0)])
        order = [0, 2, 4, 1, 3]
        lengths = np.linalg.norm(at[order] - at[[*order[1:], 0]], axis=1)
        assert lengths == pytest.approx(np.ones(5))

    def test_arcs_without_a_ring_lead_to_the_right(self) -> None:
        arcs = [(0, 1), (1, 3), (0, 2), (2, 3), (0, 3), (3, 4)]
        at = place(5, arcs, arcs=True)
        assert all(at[u, 0] < at[v, 0] for u, v in arcs)

    def test_sources_lie_beside_what_they_feed(self) -> None:
        arcs = [(0, 1), (1, 2), (2, 3), (4, 3), (3, 5)]
        at = place(6, arcs, arcs=True)
        assert at[4, 0] == at[2, 0]

    def test_a_tree_hangs_from_its_middle(self) -> None:
        count, pairs = PLANAR["tree"]
        at = place(count, pairs)
        assert at[0, 1] < at[1, 1] == at[2, 1] < at[3, 1] == at[4, 1] == at[5, 1]

    @pytest.mark.parametrize("count", [0, 1, 2, 7])
    def test_points_without_lines_have_places_too(self, count: int) -> None:
        at = place(count, [])
        assert at.shape == (count, 2)
        assert len({tuple(point) for point in at.tolist()}) == count

    def test_parts_that_nothing_joins_lie_apart(self) -> None:
        at = place(6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)])
        apart = np.linalg.norm(at[:, None] - at[None], axis=2)[np.triu_indices(6, 1)]
        assert apart.min() > 0.3

    @pytest.mark.timeout(120)  # it takes less than a second
    def test_the_largest_graphs_have_places(self) -> None:
        random = np.random.default_rng(1)
        pairs = [(v, int(random.integers(v))) for v in range(1, MAX_NODES)]
        pairs += [(int(u), int(v)) for u, v in random.integers(0, MAX_NODES, (128, 2)) if u != v]
        at = place(MAX_NODES, pairs)
        assert np.isfinite(at).all()


class TestDiagram:
    def test_every_node_and_link_is_there_once(self) -> None:
        links = [Link(0, 1, ("x",)), Link(1, 0, ("y",), arrow=True), Link(1, 2)]
        page = page_of(Picture(diagram([Node("a"), Node("b"), Node("c")], links), "three"))
        assert [page.named(node) for node in range(3)] == ["a", "b", "c"]
        assert sorted(page.links) == ["0 1", "1 0", "1 2"]
        assert page.labels == [0, 1]

    def test_links_between_two_nodes_are_bent_apart(self) -> None:
        links = [Link(0, 1), Link(1, 0), Link(0, 1)]
        page = page_of(Picture(diagram([Node("a"), Node("b")], links), "parallel"))
        paths = [path.get("d") for path in page.root.iter(f"{SVG}path")]
        assert len(set(paths)) == 3

    def test_a_line_makes_a_bow_around_a_node_in_its_way(self) -> None:
        at = np.array([[0.0, 0], [1, 0], [2, 0]])
        panel = diagram([Node("a"), Node("b"), Node("c")], [Link(0, 1), Link(1, 2), Link(0, 2)], at=at)
        assert panel.height > 50  # a row of circles alone is 36 high

    def test_arrowheads_touch_their_node(self) -> None:
        page = page_of(Picture(diagram([Node("a"), Node("b")], [Link(0, 1, arrow=True)]), "arc"))
        tip = next(path for path in page.root.iter(f"{SVG}path") if path.get("class") == "line-tip")
        source, target = (rect for rect in page.root.iter(f"{SVG}rect") if rect.get("class") == "node-open")
        reached = float(tip.attrib["d"][1:].split()[0])
        assert float(source.attrib["x"]) + 36 < reached <= float(target.attrib["x"])

    def test_long_texts_are_cut_and_told_whole(self) -> None:
        name = "a name that is far too long to be read at a glance"
        page = page_of(Picture(diagram([Node(name), Node("b")], [Link(0, 1, (name,))]), "long"))
        assert all(len(text) < len(name) for text in page.texts)
        assert name in [title.text for title in page.root.iter(f"{SVG}title")]

    def test_more_nodes_than_a_picture_takes_are_refused(self) -> None:
        with pytest.raises(ArgumentError, match="at most 64"):
            diagram([Node(str(name)) for name in range(MAX_NODES + 1)], [])

    @pytest.mark.parametrize("name", PLANAR)
    def test_nothing_overlaps_or_is_out_of_view(self, name: str) -> None:
        count, pairs = PLANAR[name]
        nodes = [Node(f"vertex {v}", ("label", "x > 1")[: v % 3], style=v % 8) for v in range(count)]
        page = page_of(Picture(diagram(nodes, [Link(u, v, ("wire",)) for u, v in pairs]), name))
        assert overlaps(page.nodes) == []
        assert_all_in_view(page)


class TestPicture:
    def panel(self, text: str = "a") -> Panel:
        panel = Panel()
        panel.text(0, 0, text)
        return panel

    def test_it_is_a_document_that_names_itself(self) -> None:
        root = page_of(Picture(self.panel(), "one", "more of it")).root
        assert (root.tag, root.get("role"), root.get("aria-label")) == (f"{SVG}svg", "img", "one")
        assert [root.findtext(f"{SVG}{tag}") for tag in ("title", "desc")] == ["one", "more of it"]

    def test_names_are_text_and_nothing_else(self) -> None:
        picture = Picture(diagram([Node(HOSTILE), Node(HOSTILE)], [Link(0, 1, (HOSTILE,))]), HOSTILE)
        page = page_of(picture)
        assert {element.tag for element in page.root.iter()}.isdisjoint({f"{SVG}script", "script"})
        assert picture.encode()

    def test_pictures_on_one_page_do_not_meet(self) -> None:
        first, second = (Picture(self.panel(text), "one") for text in "ab")
        assert page_of(first).root.get("id") != page_of(second).root.get("id")
        assert first == Picture(self.panel(), "one")

    def test_the_dark_sheet_reaches_no_further_than_the_picture(self) -> None:
        root = page_of(Picture(self.panel(), "one")).root
        sheet = root.findtext(f"{SVG}style") or ""
        rules = sheet.split("{", 1)[1].rstrip("}").split("}")
        assert sheet.startswith("@media (prefers-color-scheme:dark)")
        assert all(rule.startswith(f"#{root.get('id')} .") for rule in rules)

    def test_every_part_is_painted_without_the_sheet_too(self) -> None:
        for element in page_of(Picture(diagram([Node("a")], []), "one")).root.iter():
            if element.get("class"):
                assert element.get("fill")

    def test_it_is_saved_whole(self, tmp_path: Path) -> None:
        picture = Picture(self.panel(), "one")
        picture.save(tmp_path / "one.svg")
        assert (tmp_path / "one.svg").read_text() == picture + "\n"
        assert [path.name for path in tmp_path.iterdir()] == ["one.svg"]
        with pytest.raises(OutputError, match=r"absent/one\.svg"):
            picture.save(tmp_path / "absent" / "one.svg")

    @pytest.mark.parametrize("name", ["one.png", "one.pdf", "one.svg.gz"])
    def test_a_name_of_another_kind_of_picture_is_refused(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(OutputError, match=r"found suffix '\.\w+', expected \.svg: pictures are SVG"):
            Picture(self.panel(), "one").save(tmp_path / name)
        assert list(tmp_path.iterdir()) == []

    def test_it_survives_pickling(self) -> None:
        picture = Picture(self.panel(), "one")
        again = pickle.loads(pickle.dumps(picture))
        assert (again, again.name, again.width) == (picture, "one", picture.width)

    def test_a_grid_has_all_panels_apart(self) -> None:
        page = page_of(Picture(grid([diagram([Node(name)], []) for name in "abcde"], columns=2), "five"))
        assert len(page.nodes) == 5
        assert overlaps(page.nodes) == []
        assert_all_in_view(page)


class TestContrast:
    """Text can be read on what is behind it: WCAG asks for a contrast of 4.5 for text of this size."""

    @pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
    @pytest.mark.parametrize(
        ("text", "behind"),
        [("ink", "card"), ("dim", "card"), ("ink", "node-open"), ("dim", "node-faint"), ("ink", "plate")],
    )
    def test_text_on_what_is_light_or_dark(self, text: str, behind: str, scheme: int) -> None:
        assert contrast(ROLES[text].fill[scheme], ROLES[behind].fill[scheme]) >= 4.5

    @pytest.mark.parametrize("slot", [*range(8), "found"])
    def test_white_on_colours(self, slot: int | str) -> None:
        light, dark = ROLES[f"node-{slot}"].fill
        assert contrast("#ffffff", light) >= 4.5
        assert contrast("#ffffff", dark) >= 3.8


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_text_is_cut_to_the_width_it_has() -> None:
    for most in (20.0, 50.0, 200.0):
        assert width_of(cut("a word\nand 日本語 more", most, 12), 12) <= most
    assert cut("short", 200, 12) == "short"


def test_colours_do_not_depend_on_order() -> None:
    assert slots_for(["b", "a", "b"]) == slots_for(["a", "b"]) == {"a": 0, "b": 1}


def test_a_curve_ends_where_its_nodes_begin() -> None:
    curve = Curve.bent(np.array([0.0, 0]), np.array([100.0, 0]), 20)
    part = curve.between(Outline(20, 20, 10), Outline(40, 20, 4), 0.0)
    assert part is not None
    assert np.linalg.norm(part.start) == pytest.approx(10, abs=0.01)
    assert float(Outline(40, 20, 4).outside(part.end - curve.end)) == pytest.approx(0, abs=0.01)
    assert (
        Curve.bent(np.array([0.0, 0]), np.array([5.0, 0]), 0).between(
            Outline(20, 20, 10), Outline(20, 20, 10), 1
        )
        is None
    )
