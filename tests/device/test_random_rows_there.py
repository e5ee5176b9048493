"""Embeddings at random where a device tells which trees are any: the rows of the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.errors import DeviceMemoryError
from motiflux.gpu.kernels import sampler as sampler_module
from motiflux.gpu.kernels.sampler import DeviceSampler
from tests.rotating import in_turn, rotating
from tests.strategies import COMBINATIONS, Case, Combination, cases
from tests.unit.test_trawling import CUBIC, cubic, cycle

pytestmark = pytest.mark.devices("emulated", "cuda", reason="no device draws trees")


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DeviceSampler, "least_piece", 32)
    monkeypatch.setattr(sampler_module, "_BATCH", 7)


@pytest.mark.parametrize("depth", ["default", pytest.param("long", marks=pytest.mark.long)])
@pytest.mark.parametrize("combination", rotating(COMBINATIONS), ids=str)
def test_rows_are_those_of_the_cpu(combination: Combination, depth: str, device: str) -> None:
    @settings(
        settings.get_profile(depth),
        max_examples=3 if depth == "default" else 40,
        suppress_health_check=list(HealthCheck),
    )
    @given(
        case=cases(combination.directed, combination.labels),
        rows=st.sampled_from((1, 5, 300)),
        candidates=st.sampled_from(("auto", "on", "off")),
        seed=st.integers(0, 2**64 - 1),
    )
    def check(case: Case, rows: int, candidates: str, seed: int) -> None:
        graph, pattern = case.graph(), case.pattern()
        options: dict[str, Any] = {
            "semantics": combination.semantics,
            "symmetry": combination.symmetry,
            "seed": seed,
            "tuning": {"candidates": candidates},
        }
        if mf.count(graph, pattern, semantics=combination.semantics, device="cpu") == 0:
            return
        ours = mf.sample(graph, pattern, rows, device=device, **options)
        theirs = mf.sample(graph, pattern, rows, device="cpu", **options)
        np.testing.assert_array_equal(ours.to_numpy(), theirs.to_numpy())
        assert (ours.device, theirs.device) == (device, "cpu")
        assert ours.complete

    check()


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("threads", in_turn(1, [1, 3], on=["emulated"]))
def test_rare_embeddings_are_found_there(threads: int, device: str) -> None:
    """Of a hundred trees hardly one closes."""
    graph, pattern = cubic(600, 8), cycle(8)
    ours = mf.sample(graph, pattern, 40, device=device, threads=threads, seed=2)
    theirs = mf.sample(graph, pattern, 40, device="cpu", seed=2)
    np.testing.assert_array_equal(ours.to_numpy(), theirs.to_numpy())


def test_time_that_is_up_gives_the_rows_there_are(device: str) -> None:
    found = mf.sample(CUBIC, cycle(12), 10**9, device=device, timeout=0.3)
    rows = found.to_numpy()
    assert not found.complete
    whole = mf.sample(CUBIC, cycle(12), max(1, len(rows)), device="cpu").to_numpy()
    np.testing.assert_array_equal(rows, whole[: len(rows)])


def test_a_device_without_room_refuses(device: str) -> None:
    with pytest.raises(DeviceMemoryError):
        mf.sample(CUBIC, cycle(8), 10, device=device, gpu_memory=1).to_numpy()
