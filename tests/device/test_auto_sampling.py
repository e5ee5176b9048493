"""``device="auto"`` with the sampler of a device behind it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

import motiflux as mf
from motiflux.dispatch import choose
from motiflux.gpu.kernels.sampler import DeviceSampler
from motiflux.plan import Plan
from motiflux.request.request import Request
from motiflux.request.sampler import Sampler
from tests.rotating import in_turn
from tests.unit.auto_sampler_cases import FakeGpu
from tests.unit.sampling_cases import CASES
from tests.unit.test_trawling import CUBIC, LONG

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it is about taking a device")


@dataclass
class Gpu(FakeGpu):
    """The device under test, which is expected to take no time."""

    name: str = ""
    memory: int | None = None

    def sampler(self, graph: mf.Graph, plan: Plan, request: Request, candidates: Any) -> Sampler:
        asked = replace(request, device=self.name, gpu_memory=self.memory)
        self.made.append(DeviceSampler(graph, plan, asked, candidates))
        return self.made[-1]


def numbers(found: mf.Estimate) -> tuple[Any, ...]:
    return found.value, found.low, found.high, found.samples, found.valid_samples, found.trawled


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("case", in_turn(4, CASES[::2], on=["emulated"]), ids=str)
def test_estimates_begun_on_the_cpu_go_on_there(
    case: Any, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {"samples": 3000, "semantics": case.semantics, "seed": 8}
    here = mf.estimate(case.graph, case.pattern, device="cpu", **given)
    monkeypatch.setattr(choose, "GPU", Gpu(name=device))
    there = mf.estimate(case.graph, case.pattern, **given)
    assert there.device == (here.device if here.estimator == "exact" else device)
    assert numbers(here) == numbers(there)


@pytest.mark.turns(4, "emulated")
def test_a_device_without_room_leaves_them_to_the_cpu(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {"samples": 3000, "estimator": "alley", "tuning": {"trawling": "off"}}
    here = mf.estimate(CUBIC, LONG, device="cpu", **given)
    monkeypatch.setattr(choose, "GPU", Gpu(name=device, memory=1))
    there = mf.estimate(CUBIC, LONG, **given)
    assert there.device == "cpu"
    assert there.reason.startswith("the GPU cannot do it: ")
    assert numbers(here) == numbers(there)
