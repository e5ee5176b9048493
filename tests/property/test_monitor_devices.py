"""Monitors whose updates are matched on the device under test, beside recounting and beside the CPU's."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

import motiflux as mf
from tests.property.test_monitor import MonitorMachine
from tests.property.test_monitor_engines import streams, told
from tests.update_streams import Stream

pytestmark = pytest.mark.devices("emulated", "cuda", reason="other tests are about the CPU's monitor")


def test_monitors_on_a_device_agree_with_recounting(device: str) -> None:
    class Machine(MonitorMachine):
        placement = {"device": device}

    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Machine, settings=settings(stateful_step_count=12, deadline=None)
    )


@settings(deadline=None)
@given(
    stream=streams(),
    mode=st.sampled_from(("sequence", "batch")),
    size=st.sampled_from((1, 7, 150)),
    listed=st.booleans(),
    data=st.data(),
)
def test_a_device_gives_the_matches_of_the_cpu(
    device: str, stream: Stream, mode: str, size: int, *, listed: bool, data: Any
) -> None:
    options: dict[str, Any] = {**stream.options(), "mode": mode, "duplicates": stream.duplicates}
    graph, patterns = stream.graph(stream.first), stream.patterns
    here = mf.Monitor(graph, patterns, matches=listed, **options)
    there = mf.Monitor(graph, patterns, matches=listed, device=device, **options)
    for part in stream.columns().slices(size):
        if len(patterns) > 1 and data.draw(st.integers(0, 5)) == 0:  # drop one and add it again later
            moved = data.draw(st.sampled_from(here.patterns))
            for monitor in (here, there):
                monitor.drop(moved)
                monitor.apply([("+", 0, 1)])
                monitor.add(moved)
        expected, found = here.apply(part), there.apply(part)
        assert found.noops == expected.noops
        for one, another in zip(expected, found, strict=True):
            assert (one.positive, one.negative) == (another.positive, another.negative)
            assert told(one) == told(another)
    assert here.num_edges == there.num_edges
