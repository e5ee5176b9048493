"""The stages of a streaming kernel compile for every architecture, as their tests put them together."""

from __future__ import annotations

from pathlib import Path

import pytest

from motiflux.jit import Source
from tests.nvrtc.accepted import Accepted
from tests.nvrtc.resources import parse_resources
from tests.nvrtc.results import Depth, Results
from tests.nvrtc.test_kernels_compile import ARCHITECTURES, BUDGETED

DEVICE_TESTS = Path(__file__).parents[1] / "device"
UNITS = {
    name: Source(name, (DEVICE_TESTS / f"{name}.cu").read_text()) for name in ("streaming_memory", "versions")
}


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", UNITS)
def test_the_stages_are_accepted(name: str, arch: str, results: Results, accepted: Accepted) -> None:
    what = (f"stages {name}", UNITS[name], arch, Depth.FRONT_END)
    if accepted.has(*what):
        return
    assert "warning" not in results.of(UNITS[name], arch, Depth.FRONT_END).log
    accepted.add(*what)


@pytest.mark.turns(8)
@pytest.mark.parametrize("name", UNITS)
def test_the_stages_compile(name: str, results: Results, accepted: Accepted) -> None:
    what = (f"stages {name}", UNITS[name], BUDGETED, Depth.CUBIN)
    if accepted.has(*what):
        return
    found = results.of(UNITS[name], BUDGETED)
    assert "warning" not in found.log
    assert all(resources.spill_stores == 0 for resources in parse_resources(found.log).values())
    accepted.add(*what)
