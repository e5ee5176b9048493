"""Monitors whose updates an engine matches elsewhere, beside recounting and beside monitors without it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from tests.property.test_monitor import MonitorMachine
from tests.stream_engines import PLACEMENT, registered
from tests.update_streams import Stream


@pytest.fixture(autouse=True, scope="module")
def engines() -> Iterator[None]:
    with registered():
        yield


class EngineMachine(MonitorMachine):
    """The same world, where an engine with rows of its own finds the matches."""

    placement = PLACEMENT


TestEngineMachine = EngineMachine.TestCase
TestEngineMachine.settings = settings(stateful_step_count=16, deadline=None)


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    semantics = draw(st.sampled_from(("isomorphism", "isomorphism", "homomorphism")))
    symmetries = ("embeddings",) if semantics == "homomorphism" else ("embeddings", "subgraphs")
    return Stream(
        seed=draw(st.integers(0, 1 << 30)),
        vertices=draw(st.integers(4, 14)),
        directed=draw(st.booleans()),
        vertex_kinds=draw(st.integers(1, 3)),
        edge_kinds=draw(st.integers(1, 3)),
        sizes=tuple(draw(st.lists(st.integers(2, 4), min_size=1, max_size=3))),
        updates=draw(st.sampled_from((3, 40, 150))),
        symmetry=draw(st.sampled_from(symmetries)),
        semantics=semantics,
        duplicates=draw(st.sampled_from(("count", "ignore"))),
    )


@settings(deadline=None)
@given(
    stream=streams(),
    mode=st.sampled_from(("sequence", "batch")),
    size=st.sampled_from((1, 7, 150)),
    data=st.data(),
)
def test_an_engine_gives_the_matches_of_the_native_monitor(
    stream: Stream, mode: str, size: int, data: Any
) -> None:
    options: dict[str, Any] = {**stream.options(), "mode": mode, "duplicates": stream.duplicates}
    options["matches"] = data.draw(st.booleans())
    options["threads"] = data.draw(st.sampled_from((1, 2, 5)))
    compare(stream, options, PLACEMENT, size, data)


def compare(stream: Stream, options: dict[str, Any], placement: dict[str, Any], size: int, data: Any) -> None:
    """Apply a stream, `size` updates a call, to a monitor on the CPU and to one that matches elsewhere."""
    graph, patterns = stream.graph(stream.first), stream.patterns
    plain, other = mf.Monitor(graph, patterns, **options), mf.Monitor(graph, patterns, **options, **placement)
    for part in stream.columns().slices(size):
        if len(patterns) > 1 and data.draw(st.integers(0, 5)) == 0:  # drop one and add it again later
            moved = data.draw(st.sampled_from(plain.patterns))
            for monitor in (plain, other):
                monitor.drop(moved)
                monitor.apply([("+", 0, 1)])
                monitor.add(moved)
        expected, found = plain.apply(part), other.apply(part)
        assert found.noops == expected.noops
        for one, another in zip(expected, found, strict=True):
            assert (one.positive, one.negative) == (another.positive, another.negative)
            assert told(one) == told(another)
    assert plain.num_edges == other.num_edges


def told(delta: mf.PatternDelta) -> tuple[Any, ...]:
    """What a delta says of each update; the order of the rows of one update is free."""
    numbers = (delta.updates.tolist(), delta.matches.tolist(), delta.signs.tolist())
    if delta.rows is None:
        return numbers
    rows = np.column_stack([delta.rows.updates, delta.rows.positive, delta.rows.vertices])
    return (
        *numbers,
        sorted(map(tuple, rows.tolist())),
        delta.rows.updates.tolist(),
        delta.rows.positive.tolist(),
    )
