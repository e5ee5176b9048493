"""Counts at each vertex of a monitor are those of its graph after every call; alerts tell each passing."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]
PATTERNS = [
    "(a)--(c)--(b)",
    "(a)--(c)--(b)--(a)",
    "(a:0)--(c)--(b:1)",
    "(a)--(b)--(c)--(d)",
    "(a)--(c), (c)--(b), (c)--(d)",
]
MOST = 6


def changes(draw: st.DrawFn) -> list[tuple[str, int, int]]:
    """Draw updates of a small graph: insertions and deletions, also without effect."""
    ends = st.integers(0, MOST)
    row = st.tuples(st.sampled_from("++-"), ends, ends)
    return draw(st.lists(row, min_size=1, max_size=8))


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[tuple[int, int]], list[list[tuple[str, int, int]]]]:
    """Draw the edges of a graph, and calls."""
    pair = st.tuples(st.integers(0, MOST), st.integers(0, MOST)).filter(lambda pair: pair[0] != pair[1])
    return draw(st.lists(pair, max_size=12)), [changes(draw) for _ in range(draw(st.integers(1, 4)))]


def expected(monitor: mf.Monitor, pattern: mf.Pattern, options: dict[str, Any]) -> dict[int, int]:
    """Count in the monitor's graph."""
    found = mf.count_per_vertex(monitor.snapshot(), pattern, "c", **options)
    return dict(zip(found.ids.tolist(), found.counts.tolist(), strict=True))


def kept(monitor: mf.Monitor, pattern: mf.Pattern) -> dict[int, int]:
    """Read the counts of the monitor."""
    found = monitor.per_vertex(pattern)
    return dict(zip(found.ids.tolist(), found.counts.tolist(), strict=True))


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("mode", ["sequence", "batch"])
@pytest.mark.parametrize(
    ("semantics", "symmetry"),
    [("isomorphism", "embeddings"), ("isomorphism", "subgraphs"), ("homomorphism", "embeddings")],
)
def test_they_are_those_of_the_graph_after_every_call(
    mode: Any, semantics: Any, symmetry: Any, depth: str
) -> None:
    @settings(settings.get_profile(depth))
    @given(
        streams(),
        st.booleans(),
        st.sampled_from([None, 5]),
        st.sampled_from(PATTERNS),
        st.sampled_from(PATTERNS[:3]),
        st.booleans(),
        st.sampled_from([None, 1, 3]),
    )
    def holds(
        stream: Any,
        directed: bool,
        window: int | None,
        text: str,
        other: str,
        matches: bool,
        alert: int | None,
    ) -> None:
        edges, calls = stream
        graph = mf.Graph.from_edges(
            edges, num_vertices=MOST + 1, vertex_labels=[v % 2 for v in range(MOST + 1)], directed=directed
        )
        options = {"semantics": semantics, "symmetry": symmetry}
        pattern = mf.Pattern.parse(text)
        monitor = mf.Monitor(
            graph,
            [pattern],
            mode=mode,
            window=window,
            matches=matches,
            per_vertex="c",
            alert=alert,
            alert_down=alert is not None,
            device="cpu",
            **options,
        )
        for number, updates in enumerate(calls):
            before = kept(monitor, pattern)
            assert before == expected(monitor, pattern, options)
            delta = monitor.apply(updates)
            after = kept(monitor, pattern)
            assert after == expected(monitor, pattern, options)
            assert (delta[pattern].rows is not None) is matches
            if alert is not None:
                check_alerts(delta, pattern, before, after, alert)
            if number == 0 and other != text:
                second = monitor.add(other)
                assert kept(monitor, second) == expected(monitor, second, options)
            if number == 1 and other != text:
                assert kept(monitor, second) == expected(monitor, second, options)
                monitor.drop(second)
        with tempfile.TemporaryDirectory() as folder:
            monitor.save(Path(folder, "monitor.mfg"))
            again = mf.Monitor.load(Path(folder, "monitor.mfg"), device="cpu")
        assert kept(again, pattern) == kept(monitor, pattern)
        for one in (monitor, again):
            one.apply(calls[0])
        assert kept(again, pattern) == kept(monitor, pattern)

    holds()


def check_alerts(
    delta: mf.Delta, pattern: mf.Pattern, before: dict[int, int], after: dict[int, int], alert: int
) -> None:
    """Hold alerts against the counts before and after a call: each passing turns the side of the vertex."""
    side = {vertex: count >= alert for vertex, count in before.items()}
    for one in (one for one in delta.alerts if one.pattern == pattern):
        assert (one.before >= alert) == side.get(one.vertex, False)
        assert (one.count >= alert) != (one.before >= alert)
        assert one.up == (one.count >= alert)
        side[one.vertex] = one.count >= alert
    assert all(side.get(vertex, False) == (count >= alert) for vertex, count in after.items())
