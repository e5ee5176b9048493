"""Estimators of a user's own compile for every architecture, as the guide writes them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from motiflux.codegen.sampling import STREAMING, DrawKernel, custom_estimator, draw_source
from motiflux.jit import Compiler
from tests.device.test_device_sampler import MOST_NEIGHBORS
from tests.device.test_own_estimator import OF_ITS_ARCS, blocks
from tests.nvrtc.resources import parse_resources
from tests.nvrtc.test_kernels_compile import ARCHITECTURES

TEXTS = {
    "page": blocks("cpp")[0],
    "weighted": MOST_NEIGHBORS,
    "of its arcs": OF_ITS_ARCS.replace("BASE", "Alley"),
    "like WanderJoin": "struct Custom : WanderJoin {};",
}


@pytest.mark.parametrize("arch", [ARCHITECTURES[0], "sm_90", ARCHITECTURES[-1]])
@pytest.mark.parametrize("name", TEXTS)
def test_a_policy_compiles(name: str, arch: str, compiler_for: Callable[[str], Compiler]) -> None:
    for streaming in STREAMING:
        code = compiler_for(arch).compile(draw_source(custom_estimator(TEXTS[name]), streaming))
        assert code.image.startswith(b"\x7fELF")
        assert "warning" not in code.log
        assert set(parse_resources(code.log)) == set(DrawKernel)
