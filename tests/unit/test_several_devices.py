"""Who does what, where several devices share a search, and which devices those are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motiflux.codegen import layout
from motiflux.errors import ArgumentError
from motiflux.gpu.runtime.work_partition import ArcPartition, CliquePartition
from motiflux.request.devices import check_devices


@given(st.integers(0, 400), st.integers(1, 9), st.integers(1, 50))
def test_each_arc_is_dealt_out_once(extent: int, devices: int, piece: int) -> None:
    """As kernels take them: a ticket names a piece of the device's own."""
    deal, found = ArcPartition(extent, lambda arcs: piece), []
    for first in range(devices):
        task = layout.Task()
        deal.give(task, first, devices, deal.piece_for(devices))
        for taken in range(0, task.arcs, task.chunk):
            size = min(task.chunk, task.arcs - taken)
            before = taken * task.stride + task.first * task.chunk
            found += range(before, before + size)
    assert sorted(found) == list(range(extent))


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 60), st.integers(1, 9))
def test_each_unit_of_cliques_is_dealt_out_once_to_those_who_can(
    a: int, b: int, c: int, devices: int
) -> None:
    """Spilled units first, then those for blocks, then those for warps: each device has all in this order."""
    kinds = ["spilled"] * a + ["block"] * b + ["warp"] * c
    deal, found = CliquePartition(len(kinds), a, a + b, 100), []
    for first in range(devices):
        task = layout.CliqueTask()
        deal.give(task, first, devices, deal.piece_for(devices))
        for at in range(task.unit_count):
            unit = task.first + at * task.stride
            found.append(unit)
            kind = "spilled" if at < task.spilled else "block" if at < task.blocks else "warp"
            assert kinds[unit] == kind
    assert sorted(found) == list(range(len(kinds)))


@pytest.mark.parametrize(
    ("given", "checked"),
    [
        (None, None),
        ("all", "all"),
        (3, 3),
        ("3", 3),
        ("0,2", (0, 2)),
        ("1,", (1,)),
        ([2, 0], (2, 0)),
        ((1,), (1,)),
    ],
)
def test_devices_may_be_said_in_several_ways(given: object, checked: object) -> None:
    assert check_devices(given, "auto") == checked  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given", [0, -1, True, 1.5, "", "some", "0,a", ",", [], [0, 0], [-1], [True], ["0"], {0}]
)
def test_other_things_are_refused(given: object) -> None:
    with pytest.raises(ArgumentError, match="devices: expected"):
        check_devices(given, "auto")  # type: ignore[arg-type]


@pytest.mark.parametrize("device", ["cpu", "cuda:1"])
def test_a_device_that_leaves_no_choice_is_refused_beside_devices(device: str) -> None:
    with pytest.raises(ArgumentError, match=f"devices: expected None beside device='{device}', found 'all'"):
        check_devices("all", device)
