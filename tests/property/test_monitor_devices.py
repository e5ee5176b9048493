"""Monitors whose updates are matched on the device under test, beside recounting and beside the CPU's."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

from motiflux.config import PRIVATE, TUNING, private_tuning
from tests.property.test_monitor import MonitorMachine
from tests.property.test_monitor_engines import compare, streams
from tests.update_streams import Stream

pytestmark = [
    pytest.mark.devices("emulated", "cuda", reason="other tests are about the CPU's monitor"),
    pytest.mark.parametrize("container", TUNING["container"].values),
]


def test_monitors_on_a_device_agree_with_recounting(device: str, container: str) -> None:
    class Machine(MonitorMachine):
        placement = {"device": device}
        switches = {"container": container}

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
    device: str, container: str, stream: Stream, mode: str, size: int, *, listed: bool, data: Any
) -> None:
    options: dict[str, Any] = {**stream.options(), "mode": mode, "duplicates": stream.duplicates}
    names = [name for name in PRIVATE if name.startswith(container)]
    drawn = {name: data.draw(st.sampled_from(PRIVATE[name].values)) for name in names}
    options["tuning"] = private_tuning({"container": container, **drawn})
    compare(stream, {**options, "matches": listed}, {"device": device}, size, data)
