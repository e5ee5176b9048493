"""Estimators of a user's own compile for every architecture, as the guide writes them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from motiflux.codegen.sampling import STREAMING, DrawKernel, custom_estimator, draw_source
from motiflux.jit import Source
from tests.device.test_device_sampler import MOST_NEIGHBORS
from tests.device.test_own_estimator import OF_ITS_ARCS, blocks
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
@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_a_policy_is_accepted(source: Source, arch: str, results: Results) -> None:
    assert "warning" not in results.of(source, arch, Depth.FRONT_END).log


def cases() -> Iterator[Any]:
    """Give all policies with all switches; `make test` compiles each policy for one architecture."""
    for (name, source), arch in product(SOURCES.items(), (ARCHITECTURES[0], BUDGETED, ARCHITECTURES[-1])):
        marks = [] if name.endswith("-packed") and arch == BUDGETED else [pytest.mark.long]
        yield pytest.param(source, arch, marks=marks, id=f"{name}-{arch}")


@pytest.mark.parametrize(("source", "arch"), list(cases()))
def test_a_policy_compiles(source: Source, arch: str, results: Results) -> None:
    found = results.of(source, arch)
    assert found.is_image
    assert "warning" not in found.log
    assert set(parse_resources(found.log)) == set(DrawKernel)
