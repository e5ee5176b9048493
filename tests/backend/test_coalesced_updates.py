"""Plans that share levels on a device: the rows that the CPU lists, in whatever order a root gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import TUNING, private_tuning
from motiflux.device import devices_like
from motiflux.gpu.changing.searches import run as search
from tests.property.test_monitor_engines import compare, streams, told
from tests.update_streams import Stream

pytestmark = pytest.mark.devices("emulated", "cuda", reason="other tests are about the CPU's monitor")

PATTERNS = [
    "(a)--(b)--(c)--(a), (a)--(d)",
    "(a)--(b)--(c)--(d)--(a), (a)--(e), (b)--(f)",
    "(a:0)--(b:0)--(c:1)--(a), (a)--(d:1)--(e:0)",
    "(a)--(b)--(c)--(a), (a)--(d)--(b), (c)--(e)",
]
"""Their edges are equivalent without one or two vertices."""
SHARED = {"coalesce": "on", "coalesce_without": "any"}


def graph_and_updates(vertices: int = 14, seed: int = 3) -> tuple[mf.Graph, list[tuple[str, int, int]]]:
    rng = np.random.default_rng(seed)
    pairs = np.array([(u, v) for u in range(vertices) for v in range(u)])
    rng.shuffle(pairs)
    first, late = pairs[:30], pairs[30:45]
    graph = mf.Graph.from_edges(first, num_vertices=vertices, vertex_labels=np.arange(vertices) % 2)
    inserts = [("+", int(u), int(v)) for u, v in late]
    return graph, [*inserts[:9], *(("-", int(u), int(v)) for u, v in first[:5]), *inserts[9:]]


def changes(device: str, pattern: Any, tuning: dict[str, str], **options: Any) -> list[Any]:
    graph, updates = graph_and_updates()
    with mf.Monitor(
        graph, pattern, device=device, matches=True, tuning=private_tuning(tuning), **options
    ) as monitor:
        if device != "cpu" and tuning.get("coalesce") == "on":
            assert "together" in monitor.explain()
            monitor.apply([])
            assert monitor._engine._table.shared is not None
        return [told(one) for part in (updates[:1], updates[1:]) for one in monitor.apply(part)]


@pytest.mark.parametrize("symmetry", ["embeddings", "subgraphs"])
@pytest.mark.parametrize("mode", ["sequence", "batch"])
@pytest.mark.parametrize("more", [{}, {"handover": "off"}, {"stealing": "passive"}], ids=str)
def test_rows_are_those_of_the_cpu(device: str, mode: str, symmetry: str, more: dict[str, str]) -> None:
    for pattern in PATTERNS:
        options = {"mode": mode, "symmetry": symmetry}
        expected = changes("cpu", pattern, {"coalesce": "off"}, **options)
        assert changes(device, pattern, {**SHARED, **more}, **options) == expected
    assert any(told_of for told_of in expected)


def test_a_search_that_waits_for_room_goes_on_in_the_plan_that_it_was_in(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_FIRST_ROWS", 256)
    monkeypatch.setattr(search, "_MOST_ROWS", 512)
    for pattern in PATTERNS:
        expected = changes("cpu", pattern, {"coalesce": "off"}, mode="batch")
        assert changes(device, pattern, SHARED, mode="batch") == expected


def test_several_patterns_of_which_some_are_counted_share_levels(device: str) -> None:
    graph, updates = graph_and_updates()
    found = []
    for options in ({"device": "cpu"}, {"device": device, "tuning": {"coalesce": "on"}}):
        with mf.Monitor(graph, PATTERNS[:1], mode="batch", matches=True, **options) as monitor:
            monitor.add(PATTERNS[1], matches=False)
            monitor.add(PATTERNS[2])
            found.append([told(one) for one in monitor.apply(updates)])
    assert found[0] == found[1]


@settings(deadline=None)
@given(
    stream=streams(),
    mode=st.sampled_from(("sequence", "batch")),
    size=st.sampled_from((1, 7, 150)),
    stealing=st.sampled_from(("none", "passive")),
    container=st.sampled_from(TUNING["container"].values),
    devices=st.sampled_from((None, 2)),
    data=st.data(),
)
def test_a_device_lists_the_matches_of_the_cpu(
    device: str,
    stream: Stream,
    mode: str,
    size: int,
    stealing: str,
    container: str,
    devices: int | None,
    data: Any,
) -> None:
    if devices is not None and len(devices_like(device)) < devices:
        devices = None
    options: dict[str, Any] = {**stream.options(), "mode": mode, "duplicates": stream.duplicates}
    options["tuning"] = private_tuning({**SHARED, "stealing": stealing, "container": container})
    placement = {"device": device, "devices": devices}
    compare(stream, {**options, "matches": True}, placement, size, data)
