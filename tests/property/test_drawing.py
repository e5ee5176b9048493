"""Random patterns have pictures that show all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import motiflux as mf
from motiflux.draw import place
from motiflux.draw.layout import _place
from motiflux.draw.xml import words
from tests.unit.svg_page import SVG, assert_all_in_view, overlaps, page_of

# All that a name can be: quotes, tags, controls, other scripts, halves of pairs.
ANY_TEXT = st.text(st.characters(codec=None), max_size=40) | st.sampled_from(
    ["<b>", "]]>", "&amp;", "\x00", '"']
)


@st.composite
def patterns(draw: st.DrawFn) -> mf.Pattern:
    size = draw(st.integers(2, 10))
    names = draw(st.lists(ANY_TEXT, min_size=size, max_size=size, unique=True))
    ends = [(draw(st.integers(0, v - 1)), v) for v in range(1, size)]
    pairs = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)).filter(
        lambda pair: pair[0] != pair[1]
    )
    ends += draw(st.lists(pairs, max_size=2 * size))
    labels = st.none() | ANY_TEXT | st.integers() | st.frozensets(ANY_TEXT, min_size=1, max_size=5)
    vertices = tuple(mf.QueryVertex(name, draw(labels)) for name in names)
    kinds = draw(st.sampled_from([(True,), (None,), (True, False, None)]))
    edges: list[Any] = [
        mf.QueryEdge(*draw(st.sampled_from([pair, pair[::-1]])), draw(labels), draw(st.sampled_from(kinds)))
        for pair in ends
    ]
    return mf.Pattern(vertices, tuple(edges), draw(ANY_TEXT))


@pytest.mark.turns(8)
@given(patterns())
def test_every_vertex_and_edge_is_in_view_once_and_apart(pattern: mf.Pattern) -> None:
    picture = pattern.to_svg()
    page = page_of(picture)
    assert len(page.nodes) == pattern.num_vertices
    assert sorted(page.links) == sorted(f"{edge.source} {edge.target}" for edge in pattern.edges)
    assert overlaps(page.nodes) == []
    assert_all_in_view(page)
    _place.cache_clear()
    assert pattern.to_svg() == picture
    allowed = {"svg", "title", "desc", "style", "rect", "g", "path", "text"}
    assert {element.tag.removeprefix(SVG) for element in page.root.iter()} <= allowed


@pytest.mark.turns(8)
@given(patterns())
def test_viewers_call_vertices_by_their_whole_names(pattern: mf.Pattern) -> None:
    page = page_of(pattern.to_svg())
    told = [group.findtext(f"{SVG}title") for group in page.root.iter(f"{SVG}g") if group.get("data-node")]
    for vertex, title in zip(pattern.vertices, told, strict=True):
        assert title is not None
        # XML reads line ends of all kinds as one kind.
        shown = words(vertex.name).replace("\r\n", "\n").replace("\r", "\n")
        assert words(title).startswith(shown)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]], bool]:
    size = draw(st.integers(1, 40))
    ends = st.integers(0, size - 1)
    return size, draw(st.lists(st.tuples(ends, ends), max_size=80)), draw(st.booleans())


@pytest.mark.turns(8)
@given(graphs())
def test_any_graph_has_a_layout_of_points_apart(graph: tuple[int, list[tuple[int, int]], bool]) -> None:
    size, pairs, arcs = graph
    at = place(size, pairs, arcs=arcs)
    assert at.shape == (size, 2)
    assert np.isfinite(at).all()
    apart = np.linalg.norm(at[:, None] - at[None], axis=2)[np.triu_indices(size, 1)]
    assert (apart > 1e-3).all()
    _place.cache_clear()
    assert (place(size, pairs, arcs=arcs) == at).all()
