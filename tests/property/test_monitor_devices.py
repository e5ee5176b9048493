"""Monitors whose updates are matched on the device under test, beside recounting and beside the CPU's."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.device import devices_like
from motiflux.stream.matching import auto
from tests.property.test_monitor import MonitorMachine
from tests.property.test_monitor_engines import compare, streams, told
from tests.update_streams import Stream

pytestmark = pytest.mark.devices("emulated", "cuda", reason="other tests are about the CPU's monitor")


def test_monitors_on_a_device_agree_with_recounting(device: str) -> None:
    class Machine(MonitorMachine):
        placement = {"device": device}

    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Machine, settings=settings(stateful_step_count=12, deadline=None)
    )


@pytest.mark.parametrize("devices", [None, 2])
@settings(deadline=None)
@given(
    stream=streams(),
    mode=st.sampled_from(("sequence", "batch")),
    size=st.sampled_from((1, 7, 150)),
    listed=st.booleans(),
    data=st.data(),
)
def test_a_device_gives_the_matches_of_the_cpu(
    device: str, devices: int | None, stream: Stream, mode: str, size: int, *, listed: bool, data: Any
) -> None:
    if devices is not None and len(devices_like(device)) < devices:
        pytest.skip(f"one {device} is no several")
    options: dict[str, Any] = {**stream.options(), "mode": mode, "duplicates": stream.duplicates}
    compare(stream, {**options, "matches": listed}, {"device": device, "devices": devices}, size, data)


@settings(deadline=None)
@given(stream=streams(), mode=st.sampled_from(("sequence", "batch")), data=st.data())
def test_calls_that_go_to_the_cpu_and_to_the_device_in_turn_agree_with_the_cpu(
    device: str, stream: Stream, mode: str, data: Any
) -> None:
    options: dict[str, Any] = {**stream.options(), "mode": mode, "duplicates": stream.duplicates}
    tuning = {**options.get("tuning", {}), "auto_updates": "8"}
    graph = stream.graph(stream.first)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(auto, "GPU", Present(device))
        here = mf.Monitor(graph, stream.patterns, device="cpu", **options)
        there = mf.Monitor(graph, stream.patterns, **{**options, "tuning": private_tuning(tuning)})
    for piece in stream.columns().slices(data.draw(st.sampled_from((8, 20)))):
        for part in piece.slices(data.draw(st.sampled_from((1, 3, 20)))):
            expected, found = here.apply(part), there.apply(part)
            for one, another in zip(expected, found, strict=True):
                assert told(one) == told(another)
            assert found.device == (device if len(part) >= 8 else "cpu")
    assert here.num_edges == there.num_edges


class Present:
    """The device under test, as the GPU that ``device="auto"`` may take."""

    def __init__(self, device: str) -> None:
        self._device = device

    def why_not(self) -> str | None:
        return None

    def is_open(self) -> bool:
        return True

    def open(self) -> str:
        return self._device
