"""Monitors whose rows stay in memory of the host, beside recounting and beside the CPU's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

from motiflux import _native
from motiflux.config import PRIVATE, TUNING, private_tuning
from motiflux.device import devices_like
from motiflux.gpu.outofcore import device_walks
from motiflux.gpu.outofcore.cache import RowCache
from motiflux.gpu.outofcore.engine import OutOfCoreEngine
from tests.access_counts import EXACT
from tests.property.test_monitor import MonitorMachine
from tests.property.test_monitor_engines import compare, streams
from tests.row_access import ROW_ACCESS
from tests.update_streams import Stream

pytestmark = pytest.mark.devices("emulated", "cuda", reason="other tests are about the CPU's monitor")

POLICIES = TUNING["cache"].values
walk = OutOfCoreEngine._walk
SWITCHES = {
    "cache": POLICIES,
    **{name: PRIVATE[name].values for name in ("access_walks", "carry", "cache_time", "cache_copies")},
    "filter": ("mask", "nlf"),
}


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("cache", POLICIES)
def test_monitors_agree_with_recounting(device: str, cache: str) -> None:
    class Machine(MonitorMachine):
        placement = {"device": device, "engine": "outofcore"}
        switches = {"cache": cache}

    run_state_machine_as_test(Machine, settings=settings(stateful_step_count=12, deadline=None))  # type: ignore[no-untyped-call]


def bringing_and_writing(*, waits: bool) -> Callable[[OutOfCoreEngine, Any, Any], None]:
    """Return a step that has the host write its rows, if they are not yet, before any search is launched.

    Searches must find the rows as they were. `waits`: as the engine does, until touched rows are merged.
    """
    bring = OutOfCoreEngine._bring_rows

    def and_write(engine: OutOfCoreEngine, stream: Any, run: Any, roots: Any) -> None:
        bring(engine, stream, run, roots)
        if waits:
            engine._before_writing(run)
        run.write_rows()

    return and_write


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("devices", [None, 2])
@settings(deadline=None)
@given(
    stream=streams(),
    mode=st.sampled_from(("sequence", "batch")),
    size=st.sampled_from((1, 7, 150)),
    listed=st.booleans(),
    room=st.sampled_from((0, 100, 400, 1 << 16)),
    written=st.sampled_from(("later", "merged", "at once")),
    data=st.data(),
)
def test_the_matches_are_those_of_the_cpu(
    device: str,
    devices: int | None,
    stream: Stream,
    mode: str,
    size: int,
    *,
    listed: bool,
    room: int,
    written: str,
    data: Any,
) -> None:
    if devices is not None and len(devices_like(device)) < devices:
        pytest.skip(f"needs two devices of kind {device!r}, found one")
    options: dict[str, Any] = {**stream.options(), "mode": mode, "duplicates": stream.duplicates}
    drawn = {name: data.draw(st.sampled_from(values), label=name) for name, values in SWITCHES.items()}
    access = data.draw(st.sampled_from(ROW_ACCESS), label="access")
    options["tuning"] = private_tuning({**drawn, **access})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RowCache, "_most", lambda cache: room)
        if written != "later":
            patch.setattr(OutOfCoreEngine, "_bring_rows", bringing_and_writing(waits=written == "merged"))
        there = {"device": device, "devices": devices, "engine": "outofcore"}
        compare(stream, {**options, "matches": listed}, there, size, data)


def compare_walks(engine: OutOfCoreEngine, stream: Any, run: _native.Run, roots: Any) -> bool:
    """Compare walks on the device with the true numbers, if they look at everything; return whether."""
    walks, native, table = engine._walks, engine._native, engine._table
    assert walks is not None
    assert native is not None
    assert table is not None
    walk(engine, stream, run, roots, 1e9)
    found = walks.last
    exact = native.estimate_accesses(_native.AccessEstimator(), run, table.names, EXACT, seconds=None)
    truth = dict(
        zip(
            zip(exact.names.tolist(), exact.vertices.tolist(), strict=True), exact.times.tolist(), strict=True
        )
    )
    walked = dict(
        zip(
            zip(found.rows.kinds.tolist(), found.rows.vertices.tolist(), strict=True),
            found.times.tolist(),
            strict=True,
        )
    )
    assert walked.keys() <= truth.keys()
    if found.is_exact:
        assert walked.keys() == truth.keys()
        assert [walked[row] for row in truth] == pytest.approx(list(truth.values()), rel=1e-6)
    return found.is_exact


@pytest.mark.turns(8, "emulated")
@settings(deadline=None)
@given(
    stream=streams(),
    mode=st.sampled_from(("sequence", "batch")),
    size=st.sampled_from((7, 150)),
    listed=st.booleans(),
    coalesce=st.sampled_from(("on", "off")),
    filter_by=st.sampled_from(("mask", "nlf")),
    access=st.sampled_from(ROW_ACCESS),
    data=st.data(),
)
def test_walks_on_the_device_find_the_true_numbers(
    device: str,
    stream: Stream,
    mode: str,
    size: int,
    *,
    listed: bool,
    coalesce: str,
    filter_by: str,
    access: dict[str, str],
    data: Any,
) -> None:
    switches = {"access_walks": "device", "cache_time": "free", "coalesce": coalesce, "filter": filter_by}
    options: dict[str, Any] = {**stream.options(), "mode": mode, "duplicates": stream.duplicates}
    options["tuning"] = private_tuning({**switches, **access})

    def beside(engine: OutOfCoreEngine, to: Any, run: Any, roots: Any, _: float) -> None:
        compare_walks(engine, to, run, roots)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OutOfCoreEngine, "_walk", beside)
        patch.setattr(device_walks, "MOST_LOOKS", 1 << 20)
        patch.setattr(device_walks, "MOST_WALKS", 1 << 13)
        compare(stream, {**options, "matches": listed}, {"device": device, "engine": "outofcore"}, size, data)
