"""Where ``device="auto"`` draws samples: whoever draws, they are the same."""

from __future__ import annotations

from typing import Any

import pytest

import motiflux as mf
from motiflux.dispatch import choose
from motiflux.errors import CompileError, DeviceError, DeviceMemoryError
from motiflux.request.costs import GpuCosts, seconds_alone
from tests.unit.auto_sampler_cases import FakeGpu, FakeSampler
from tests.unit.sampling_cases import CASES, random_graph

GRAPH = random_graph(3, 60, 400)
PATTERN = "(a)--(b)--(c)--(d)--(a), (a)--(c)"
NEVER = 1e9
SAMPLED = {"count_first": "off"}
"""The pattern is soon counted, and there would be nothing to draw."""
NO_MEMORY = DeviceMemoryError("candidates to sample", 100, 10, "free some")
NO_KERNEL = CompileError("draw", "it does not compile", None, "estimator alley")


def estimate(gpu: FakeGpu, monkeypatch: pytest.MonkeyPatch, **given: Any) -> mf.Estimate:
    monkeypatch.setattr(choose, "GPU", gpu)
    return mf.estimate(GRAPH, PATTERN, **{"samples": 20_000, "seed": 4, "tuning": SAMPLED, **given})


def alone(**given: Any) -> mf.Estimate:
    return mf.estimate(
        GRAPH, PATTERN, device="cpu", **{"samples": 20_000, "seed": 4, "tuning": SAMPLED, **given}
    )


def numbers(found: mf.Estimate) -> tuple[Any, ...]:
    return found.value, found.low, found.high, found.samples, found.valid_samples, found.trawled


class TestTheChoice:
    def test_is_the_cpu_where_there_is_no_gpu(self, monkeypatch: pytest.MonkeyPatch) -> None:
        gpu = FakeGpu(absent="no GPU was found")
        found = estimate(gpu, monkeypatch)
        assert (found.device, found.reason, gpu.asked) == ("cpu", "no GPU was found", [])

    def test_is_the_cpu_where_that_is_expected_to_be_done_first(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        gpu = FakeGpu(ready=NEVER)
        found = estimate(gpu, monkeypatch)
        assert (found.device, gpu.made) == ("cpu", [])
        assert "expected" in found.reason
        assert "on the GPU" in found.reason

    def test_is_the_gpu_where_that_is(self, monkeypatch: pytest.MonkeyPatch) -> None:
        gpu = FakeGpu()
        found = estimate(gpu, monkeypatch)
        assert found.device == "fake"
        assert "on the CPU" in found.reason
        assert numbers(found) == numbers(alone())

    def test_is_what_was_asked_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        gpu = FakeGpu()
        found = estimate(gpu, monkeypatch, device="cpu")
        assert (found.device, found.reason, gpu.made) == ("cpu", "asked for by device='cpu'", [])

    def test_is_of_more_groups_the_longer_it_goes_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An error is looked at after 256 groups first: nothing a GPU is opened for."""
        seconds: list[float] = []

        class Growing(FakeGpu):
            def sampling_seconds(self, seconds_alone: float, *given: Any) -> tuple[float, float]:
                seconds.append(seconds_alone)
                ready, there = super().sampling_seconds(seconds_alone, *given)
                return (ready if len(seconds) < 6 else 0.0), there

        gpu = Growing(ready=NEVER)
        given: dict[str, Any] = {"samples": None, "rel_error": 0.01, "estimator": "wanderjoin"}
        found = estimate(gpu, monkeypatch, **given)
        assert found.device == "fake"
        assert "after" in found.reason
        assert numbers(found) == numbers(alone(**given))
        (sampler,) = gpu.made
        assert isinstance(sampler, FakeSampler)
        assert sampler.drawn[0][0] > 0
        assert sampler.closed

    @pytest.mark.turns(8)
    def test_leaves_no_time_for_a_gpu_that_opens_too_late(self, monkeypatch: pytest.MonkeyPatch) -> None:
        gpu = FakeGpu(ready=0.6)
        given: dict[str, Any] = {"samples": 10**9, "estimator": "alley", "timeout": 0.5}
        assert estimate(gpu, monkeypatch, **given).device == "cpu"
        assert gpu.made == []
        assert estimate(FakeGpu(ready=1e-6), monkeypatch, **given).device == "fake"


class TestRefusals:
    @pytest.mark.parametrize("error", [DeviceError("no driver"), NO_MEMORY])
    def test_to_open_leave_it_to_the_cpu(self, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
        gpu = FakeGpu(error=error)
        found = estimate(gpu, monkeypatch)
        assert found.device == "cpu"
        assert found.reason.startswith("the GPU cannot do it: ")
        assert numbers(found) == numbers(alone())
        assert len(gpu.asked) == 1  # not asked again

    @pytest.mark.parametrize("error", [NO_MEMORY, NO_KERNEL], ids=["memory", "kernel"])
    @pytest.mark.parametrize("when", [0, 1, 2])
    @pytest.mark.parametrize("estimator", ["auto", "alley"])
    def test_to_draw_are_drawn_by_the_cpu(
        self, error: Exception, when: int, estimator: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        gpu = FakeGpu(fails=[*[None] * when, error])
        found = estimate(gpu, monkeypatch, estimator=estimator)
        assert numbers(found) == numbers(alone(estimator=estimator))
        assert (found.device, gpu.fails) == ("cpu", [])
        assert found.reason.startswith("the GPU cannot do it: ")
        (sampler,) = gpu.made
        assert isinstance(sampler, FakeSampler)
        assert sampler.closed

    @pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
    def test_that_are_none_of_the_gpus_are_raised(
        self, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        gpu = FakeGpu(fails=[None, error()])  # type: ignore[list-item]
        with pytest.raises(error):
            estimate(gpu, monkeypatch)
        (sampler,) = gpu.made
        assert isinstance(sampler, FakeSampler)
        assert sampler.closed


@pytest.mark.parametrize("case", CASES[::3], ids=str)
def test_trawled_estimates_are_the_same_there(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {
        "samples": 4000,
        "semantics": case.semantics,
        "seed": 6,
        "tuning": {"trawling": "on"},
    }
    here = mf.estimate(case.graph, case.pattern, device="cpu", **given)
    monkeypatch.setattr(choose, "GPU", FakeGpu())
    there = mf.estimate(case.graph, case.pattern, **given)
    assert numbers(here) == numbers(there)


def test_long_estimates_pay_for_a_gpu_and_short_ones_do_not() -> None:
    costs = GpuCosts()
    assert costs.sampling(0.01, 10**6) > 0.005
    assert costs.open + costs.sampling(10.0, 10**6) < 1.0
    assert costs.sampling(1.0, 0, speed=costs.speed / 2) > costs.sampling(1.0, 0)
    assert costs.sampling(1.0, 10**9) > costs.sampling(1.0, 10**6)
    assert seconds_alone(1.0, 1) == 1.0
    assert seconds_alone(1.0, 16) == pytest.approx(7.2)
