"""Patterns watched together: each gets what it gets alone, whatever the others share with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import private_tuning
from tests.update_streams import Stream

Given = dict[str, Any]


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    semantics = draw(st.sampled_from(("isomorphism", "isomorphism", "homomorphism")))
    sizes = st.sampled_from((2, 3, 3, 4, 4, 4, 5, 5, 6) if semantics == "isomorphism" else (3, 4, 4))
    return Stream(
        seed=draw(st.integers(0, 2**32)),
        vertices=draw(st.sampled_from((8, 12, 30))),
        directed=draw(st.booleans()),
        vertex_kinds=draw(st.sampled_from((1, 2, 3))),
        edge_kinds=draw(st.sampled_from((1, 1, 2))),
        sizes=tuple(draw(st.lists(sizes, min_size=3, max_size=8))),
        updates=draw(st.integers(5, 20)),
        symmetry="embeddings"
        if semantics == "homomorphism"
        else draw(st.sampled_from(("embeddings", "subgraphs"))),
        semantics=semantics,
        duplicates=draw(st.sampled_from(("count", "ignore"))),
    )


@st.composite
def ways(draw: st.DrawFn) -> Given:
    """Draw how both monitors work; matching at once splits searches between threads."""
    switches = {name: draw(st.sampled_from(("on", "off"))) for name in ("orbits", "tail", "reuse")}
    switches["at_once"] = draw(st.sampled_from(("on", "off")))
    switches["quotients"] = draw(st.sampled_from(("auto", "on", "off")))
    return {
        "mode": draw(st.sampled_from(("sequence", "batch"))),
        "threads": draw(st.sampled_from((1, 2))),
        "tuning": private_tuning(switches),
    }


def first_and_last(stream: Stream) -> tuple[mf.Graph, mf.Graph]:
    """The graph before and after all updates."""
    states = [+edges for edges in stream.states()]
    return stream.graph(states[0]), stream.graph(states[-1])


class Pair:
    """A pattern in the monitor of all, and in one of its own, which had the same updates before."""

    def __init__(self, together: mf.Monitor, alone: mf.Monitor, pattern: mf.Pattern, listed: bool) -> None:
        self.together, self.pattern, self.listed = together, pattern, listed
        self.alone = alone
        for monitor in (together, alone):
            monitor.add(pattern, matches=listed)

    def compare(self, delta: mf.Delta, updates: mf.Updates) -> None:
        found, expected = delta[self.pattern], self.alone.apply(updates)[self.pattern]
        assert (found.positive, found.negative) == (expected.positive, expected.negative)
        for name in ("updates", "signs", "matches"):
            assert np.array_equal(getattr(found, name), getattr(expected, name))
        if self.listed:
            assert rows(found) == rows(expected)

    def drop(self) -> None:
        self.together.drop(self.pattern)
        self.alone.close()


def rows(found: mf.PatternDelta) -> list[Any]:
    """The matches in their order, with the update and the sign of each."""
    return [
        (names.tolist(), piece.updates.tolist(), piece.positive.tolist()) for names, piece in found.batches()
    ]


@pytest.mark.turns(8)
@given(streams(), ways(), st.data())
def test_patterns_watched_together_get_what_each_gets_alone(stream: Stream, way: Given, data: Any) -> None:
    given: Given = {**way, **stream.options(), "duplicates": stream.duplicates}
    waiting = list(stream.patterns)
    watched: list[Pair] = []
    few = [pattern for pattern in waiting if pattern.num_vertices < 5]
    updates = stream.columns()
    ends = sorted(data.draw(st.sets(st.integers(1, stream.updates - 1), max_size=4)) | {stream.updates})
    graph = first_and_last(stream)[0]
    with mf.Monitor(graph, [], **given) as together:
        first = 0
        for end in ends:
            while waiting and (len(watched) < 3 or data.draw(st.booleans())):
                pattern = waiting.pop()
                alone = mf.Monitor(graph, [], **given)
                alone.apply(updates.rows(np.arange(first)))
                watched.append(Pair(together, alone, pattern, pattern in few and data.draw(st.booleans())))
            part = updates.rows(np.arange(first, end))
            delta = together.apply(part)
            for pair in watched:
                pair.compare(delta, part)
            if watched and data.draw(st.booleans()):
                watched.pop(data.draw(st.integers(0, len(watched) - 1))).drop()
            first = end


@pytest.mark.turns(8)
@given(streams(), st.sampled_from((1, 2)))
def test_patterns_watched_together_have_the_counts_of_the_graph(stream: Stream, threads: int) -> None:
    given: Given = {**stream.options(), "duplicates": stream.duplicates}
    with mf.Monitor(stream.graphs[0], stream.patterns, threads=threads, **given) as monitor:
        delta = monitor.apply(stream.columns())
        for pattern in stream.patterns:
            before, after = (int(mf.count(stream.graphs[at], pattern, **stream.options())) for at in (0, -1))
            assert delta[pattern].positive - delta[pattern].negative == after - before
