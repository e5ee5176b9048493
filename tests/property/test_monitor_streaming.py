"""Monitors whose updates a resident kernel answers, beside recounting and beside the CPU's.

Here the kernel is in plain Python (tests/plain_stream.py): what is above it is tested without a device.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from tests.plain_stream import PLACEMENT, PlainStream, plain_streams
from tests.property.test_monitor import MonitorMachine
from tests.property.test_monitor_engines import compare, streams
from tests.update_streams import Stream


@pytest.fixture(autouse=True, scope="module")
def opened() -> Iterator[list[PlainStream]]:
    with plain_streams() as streams_opened:
        yield streams_opened


class StreamingMachine(MonitorMachine):
    """The same world, answered update by update."""

    placement = PLACEMENT
    modes = ("sequence",)


TestStreamingMachine = StreamingMachine.TestCase
TestStreamingMachine.settings = settings(stateful_step_count=16, deadline=None)


@settings(deadline=None)
@given(stream=streams(), size=st.sampled_from((1, 7, 150)), data=st.data())
def test_each_update_is_answered_as_by_the_native_monitor(stream: Stream, size: int, data: Any) -> None:
    options: dict[str, Any] = {**stream.options(), "mode": "sequence", "duplicates": stream.duplicates}
    options["matches"] = data.draw(st.booleans())
    options["threads"] = data.draw(st.sampled_from((1, 2, 5)))
    compare(stream, options, PLACEMENT, size, data)


def test_parallel_edges_change_a_row_with_the_first_and_the_last() -> None:
    kinds = 3
    pairs = [(u, v) for u in range(6) for v in range(u)]
    rows = [(u, v, kind) for u, v in pairs for kind in range(kinds)]
    graph = mf.Graph.from_edges(
        ([u for u, _, _ in rows], [v for _, v, _ in rows]), edge_labels=[kind for *_, kind in rows]
    )
    patterns = ["(a)--(b)--(c)--(a)", "(a)-[:0]-(b)--(c)", "(a)-[:1|2]-(b)"]
    here, there = mf.Monitor(graph, patterns), mf.Monitor(graph, patterns, **PLACEMENT)
    for gone in (pairs[:1], pairs[3:9], pairs[10:]):
        updates = [("-", u, v, kind) for u, v in gone for kind in range(kinds)]
        expected, found = here.apply(updates), there.apply(updates)
        assert [one.matches.tolist() for one in found] == [one.matches.tolist() for one in expected]
    updates = [("+", u, v, kind) for u, v in pairs for kind in range(kinds)]
    expected, found = here.apply(updates), there.apply(updates)
    assert [one.matches.tolist() for one in found] == [one.matches.tolist() for one in expected]


def test_a_label_that_comes_later_makes_parallel_edges() -> None:
    graph = mf.Graph.from_edges([(0, 1), (1, 2)], edge_labels=[5, 5])
    here, there = mf.Monitor(graph, "(a)--(b)--(c)"), mf.Monitor(graph, "(a)--(b)--(c)", **PLACEMENT)
    for updates in (
        [("+", 0, 1, 6), ("+", 2, 3, 6), ("-", 0, 1, 5), ("+", 2, 3, 5)],
        [("+", 3, 4, 5)],
        [("-", 0, 1, 6), ("-", 2, 3, 6), ("-", 2, 3, 5)],
    ):
        expected, found = here.apply(updates)[0], there.apply(updates)[0]
        assert found.updates.tolist() == expected.updates.tolist()
        assert found.matches.tolist() == expected.matches.tolist()
