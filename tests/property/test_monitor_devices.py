"""Monitors whose updates are matched on the device under test, beside recounting and beside the CPU's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

import motiflux as mf
from motiflux.config import PRIVATE, TUNING, private_tuning
from motiflux.device import devices_like
from motiflux.gpu.changing import memory
from motiflux.stream.matching import auto
from tests.property.test_monitor import MonitorMachine
from tests.property.test_monitor_engines import compare, streams, told
from tests.update_streams import Stream

pytestmark = [
    pytest.mark.devices("emulated", "cuda", reason="other tests are about the CPU's monitor"),
    pytest.mark.parametrize("container", TUNING["container"].values),
]


FILTERS = {
    "filter": ("nlf", "nlf", "mask", "none"),
    **{name: PRIVATE[name].values for name in ("filter_bits", "encode")},
}


@pytest.mark.turns(8, "emulated")
def test_monitors_on_a_device_agree_with_recounting(device: str, container: str) -> None:
    class Machine(MonitorMachine):
        placement = {"device": device}
        switches = {"container": container}

    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Machine, settings=settings(stateful_step_count=12, deadline=None)
    )


@pytest.mark.turns(8, "emulated")
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
    device: str,
    container: str,
    devices: int | None,
    stream: Stream,
    mode: str,
    size: int,
    *,
    listed: bool,
    data: Any,
) -> None:
    if devices is not None and len(devices_like(device)) < devices:
        pytest.skip(f"needs two devices of kind {device!r}, found one")
    options: dict[str, Any] = {**stream.options(), "mode": mode, "duplicates": stream.duplicates}
    names = [name for name in PRIVATE if name.startswith(container)]
    drawn = {name: data.draw(st.sampled_from(PRIVATE[name].values)) for name in names}
    drawn |= {name: data.draw(st.sampled_from(given), label=name) for name, given in FILTERS.items()}
    drawn["bitmaps"] = data.draw(st.sampled_from(("on", "off")))
    options["tuning"] = private_tuning({"container": container, **drawn})
    compare(stream, {**options, "matches": listed}, {"device": device, "devices": devices}, size, data)


@pytest.mark.parametrize("mode", ["sequence", "batch"])
def test_levels_are_counted_by_the_sizes_of_rows_that_no_update_touches(
    device: str, container: str, mode: str
) -> None:
    rng = np.random.default_rng(4)
    ends = rng.integers(0, 30, (2, 200))
    graph = mf.Graph.from_edges(
        tuple(ends[:, ends[0] != ends[1]]), num_vertices=30, vertex_labels=np.arange(30) % 2
    )
    patterns = ["(a)--(b)--(c), (b)--(d)", "(a:0)--(b:1)--(c:0)--(d:1)", "(a)--(b)--(c)--(a), (c)--(d)"]
    updates = [("+", 0, 15), ("-", *graph.to_edges().src[:1].tolist(), *graph.to_edges().dst[:1].tolist())]
    options: dict[str, Any] = {"mode": mode, "tuning": {"container": container}}
    here, there = (mf.Monitor(graph, patterns, device=one, **options) for one in ("cpu", device))
    for part in (updates[:1], updates):
        assert list(map(told, here.apply(part))) == list(map(told, there.apply(part)))


@pytest.mark.parametrize("mode", ["sequence", "batch"])
def test_all_edges_between_two_vertices_may_go_in_one_call(device: str, container: str, mode: str) -> None:
    kinds = 3
    pairs = [(u, v) for u in range(8) for v in range(u)]
    rows = [(u, v, kind) for u, v in pairs for kind in range(kinds)]
    graph = mf.Graph.from_edges(
        ([u for u, _, _ in rows], [v for _, v, _ in rows]), edge_labels=[kind for *_, kind in rows]
    )
    options: dict[str, Any] = {"mode": mode, "tuning": {"container": container}}
    patterns = ["(a)--(b)--(c)--(a)", "(a)-[:0]-(b)--(c)"]
    here, there = (mf.Monitor(graph, patterns, device=one, **options) for one in ("cpu", device))
    for gone in (pairs[:1], pairs[3:9], pairs[10:]):
        updates = [("-", u, v, kind) for u, v in gone for kind in range(kinds)]
        assert list(map(told, here.apply(updates))) == list(map(told, there.apply(updates)))
    updates = [("+", u, v, kind) for u, v in pairs for kind in range(kinds)]
    assert list(map(told, here.apply(updates))) == list(map(told, there.apply(updates)))


@pytest.mark.turns(8, "emulated")
@settings(deadline=None)
@given(stream=streams(), mode=st.sampled_from(("sequence", "batch")), data=st.data())
def test_calls_that_go_to_the_cpu_and_to_the_device_in_turn_agree_with_the_cpu(
    device: str, container: str, stream: Stream, mode: str, data: Any
) -> None:
    options: dict[str, Any] = {**stream.options(), "mode": mode, "duplicates": stream.duplicates}
    tuning = {**options.get("tuning", {}), "auto_updates": "8", "container": container}
    tuning["filter"] = data.draw(st.sampled_from(FILTERS["filter"]))
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


@pytest.mark.turns(8, "emulated")
@settings(deadline=None, max_examples=20)
@given(stream=streams(), mode=st.sampled_from(("sequence", "batch")), listed=st.booleans(), data=st.data())
def test_large_runs_give_the_matches_of_the_cpu(
    device: str, container: str, stream: Stream, mode: str, *, listed: bool, data: Any
) -> None:
    options: dict[str, Any] = {**stream.options(), "mode": mode, "duplicates": stream.duplicates}
    options["tuning"] = {"container": container}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "_FEW", 0)  # all uploads are large: in parts, through memory pinned meanwhile
        compare(stream, {**options, "matches": listed}, {"device": device}, 7, data)
