"""Monitors whose updates are matched on the device under test, beside recounting and beside the CPU's."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

from motiflux.gpu.changing import memory
from tests.property.test_monitor import MonitorMachine
from tests.property.test_monitor_engines import compare, streams
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
    compare(stream, {**options, "matches": listed}, {"device": device}, size, data)


@settings(deadline=None, max_examples=20)
@given(stream=streams(), mode=st.sampled_from(("sequence", "batch")), listed=st.booleans(), data=st.data())
def test_large_runs_give_the_matches_of_the_cpu(
    device: str, stream: Stream, mode: str, *, listed: bool, data: Any
) -> None:
    options: dict[str, Any] = {**stream.options(), "mode": mode, "duplicates": stream.duplicates}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "_FEW", 0)  # all uploads are large: in parts, through memory pinned meanwhile
        compare(stream, {**options, "matches": listed}, {"device": device}, 7, data)
