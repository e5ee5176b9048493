"""Estimators of a user's own compile for every architecture, as the guide writes them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from motiflux.codegen.sampling import STREAMING, DrawKernel, custom_estimator, draw_source
from tests.device.test_device_sampler import MOST_NEIGHBORS
from tests.device.test_own_estimator import OF_ITS_ARCS, blocks
from tests.nvrtc.accepted import Accepted
from tests.nvrtc.resources import parse_resources
from tests.nvrtc.results import Depth, Results
from tests.nvrtc.test_kernels_compile import ARCHITECTURES, BUDGETED

TEXTS = {
    "page": blocks("cpp")[0],
    "weighted": MOST_NEIGHBORS,
    "of its arcs": OF_ITS_ARCS.replace("BASE", "Alley"),
    "like WanderJoin": "struct Custom : WanderJoin {};",
}


SOURCES = {
    f"{name}-{streaming}": draw_source(custom_estimator(text), streaming)
    for name, text in TEXTS.items()
    for streaming in STREAMING
}


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", SOURCES)
def test_a_policy_is_accepted(name: str, arch: str, results: Results, accepted: Accepted) -> None:
    what = (f"policy {name}", SOURCES[name], arch, Depth.FRONT_END)
    if accepted.has(*what):
        return
    assert "warning" not in results.of(SOURCES[name], arch, Depth.FRONT_END).log
    accepted.add(*what)


def cases() -> Iterator[Any]:
    """Give all policies with all switches; `make test` compiles each policy for one architecture."""
    for name, arch in product(SOURCES, (ARCHITECTURES[0], BUDGETED, ARCHITECTURES[-1])):
        marks = [] if name.endswith("-packed") and arch == BUDGETED else [pytest.mark.long]
        yield pytest.param(name, arch, marks=marks, id=f"{name}-{arch}")


@pytest.mark.parametrize(("name", "arch"), list(cases()))
def test_a_policy_compiles(name: str, arch: str, results: Results, accepted: Accepted) -> None:
    what = (f"policy {name}", SOURCES[name], arch, Depth.CUBIN)
    if accepted.has(*what):
        return
    found = results.of(SOURCES[name], arch)
    assert found.is_image
    assert "warning" not in found.log
    assert set(parse_resources(found.log)) == set(DrawKernel)
    accepted.add(*what)
