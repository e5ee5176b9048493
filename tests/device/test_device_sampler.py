"""Sampling on a device: what is kept, what is given up, what time and interrupts cut off."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.errors import CompileError, DeviceMemoryError
from motiflux.gpu.kernels import sampler as sampler_module
from motiflux.gpu.kernels.sampler import DeviceSampler
from motiflux.gpu.runtime.accelerator import open_accelerator
from motiflux.gpu.runtime.job import KernelJob
from motiflux.gpu.storage.device_csr import DeviceRows, resident
from motiflux.gpu.storage.sample_candidates import DeviceCandidates
from motiflux.plan.sampling import sampling_plan
from motiflux.request.deadline import Deadline
from motiflux.request.request import make_request
from motiflux.result.sample_groups import Groups
from motiflux.sampling.samplers import open_sampler
from motiflux.statistics import GROUP, UNIT_BITS
from tests.backend.cases import clique
from tests.device.test_device import emptied

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it has no memory or kernels of a device")

PAGE = Path(__file__).parents[2] / "docs/guide/own-estimator.md"
PATTERN = mf.Pattern.parse("(a:0)--(b:1)--(c:2)--(a), (c)--(d:1)")


@pytest.fixture
def graph() -> mf.Graph:
    """A clique of thirty vertices and three labels."""
    return mf.Graph.from_edges(clique(30), vertex_labels=[0, 1, 2] * 10)


EXPECTED = 10 * 10 * 10 * 9


def sampler_of(
    graph: mf.Graph,
    device: str,
    pattern: mf.Pattern = PATTERN,
    *,
    gpu_memory: int | None = None,
    **tuning: str,
) -> DeviceSampler:
    request = make_request(
        semantics="isomorphism", symmetry="embeddings", device=device, gpu_memory=gpu_memory, tuning=tuning
    )
    plan = sampling_plan(
        graph,
        pattern,
        semantics=request.semantics,
        symmetry=request.symmetry,
        threads=1,
        deadline=None,
        switches=request.tuning,
    )
    sampler = open_sampler(graph, plan, request)
    assert isinstance(sampler, DeviceSampler)
    return sampler


def kept(graph: mf.Graph, device: str) -> list[DeviceCandidates]:
    known = resident(graph, open_accelerator(device).device)
    return [one for one in known._kept.values() if isinstance(one, DeviceCandidates)]


def assert_same(ours: Groups, theirs: Groups) -> None:
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(mine, other)


class TestKeeping:
    def test_the_candidates_of_a_plan_are_copied_once(self, graph: mf.Graph, device: str) -> None:
        first = sampler_of(graph, device)
        groups = first.draw("alley", 1, 0, 4)
        (copied,) = kept(graph, device)
        first.close()
        assert_same(sampler_of(graph, device).draw("alley", 1, 0, 4), groups)
        assert kept(graph, device) == [copied]
        assert not copied.users

    def test_sums_of_trees_are_copied_when_trees_are_drawn(self, graph: mf.Graph, device: str) -> None:
        sampler = sampler_of(graph, device)
        sampler.draw("alley", 1, 0, 4)
        assert len(kept(graph, device)) == 1
        sampler.draw("tree", 1, 0, 4)
        assert len(kept(graph, device)) == 2

    def test_candidates_are_given_up_for_room_between_draws(self, graph: mf.Graph, device: str) -> None:
        sampler = sampler_of(graph, device)
        groups = sampler.draw("tree", 1, 0, 4)
        resident(graph, open_accelerator(device).device).reclaim(1 << 40)
        assert kept(graph, device) == []
        assert_same(sampler.draw("tree", 1, 0, 4), groups)

    def test_candidates_are_copied_anew_after_the_rows_they_point_into_were_given_up(
        self, graph: mf.Graph, device: str
    ) -> None:
        sampler = sampler_of(graph, device, candidates="off")
        groups = sampler.draw("alley", 1, 0, 4)
        (before,) = kept(graph, device)
        resident(graph, open_accelerator(device).device).forget(DeviceRows)
        gc.collect()
        assert_same(sampler.draw("alley", 1, 0, 4), groups)
        (after,) = kept(graph, device)
        assert after is not before

    def test_candidates_stay_while_they_are_drawn_from(self, graph: mf.Graph, device: str) -> None:
        sampler = sampler_of(graph, device)
        drawing = sampler.start("alley", 1, 0, 4, Deadline.after(None))
        resident(graph, open_accelerator(device).device).reclaim(1 << 40)
        assert len(kept(graph, device)) == 1
        assert len(sampler.finish(drawing, Deadline.after(None)).valid) == 4

    def test_memory_goes_back_with_the_sampler(self, graph: mf.Graph, device: str) -> None:
        accelerator = open_accelerator(device)
        sampler = sampler_of(graph, device)
        sampler.draw("alley", 1, 0, 4)
        candidates = sum(one.nbytes for one in kept(graph, device))
        with_sampler = accelerator.device.used_memory()
        sampler.close()
        del sampler
        gc.collect()
        resident(graph, accelerator.device).reclaim(1 << 40)
        assert accelerator.device.used_memory() <= with_sampler - candidates - 16 * 4


class TestMemory:
    def test_candidates_beyond_the_budget_are_refused(self, graph: mf.Graph, device: str) -> None:
        held = emptied(open_accelerator(device).device)
        sampler = sampler_of(graph, device, gpu_memory=held + 2000)
        with pytest.raises(DeviceMemoryError, match=r"gpu_memory is .*: raise it"):
            sampler.draw("alley", 1, 0, 4)
        assert not kept(graph, device)

    def test_what_was_refused_can_be_drawn_with_more(self, graph: mf.Graph, device: str) -> None:
        held = emptied(open_accelerator(device).device)
        with pytest.raises(DeviceMemoryError):
            sampler_of(graph, device, gpu_memory=held + 2000).draw("alley", 1, 0, 4)
        assert len(sampler_of(graph, device, gpu_memory=1 << 28).draw("alley", 1, 0, 4).valid) == 4


class TestManyLaunches:
    @pytest.fixture(autouse=True)
    def _small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sampler_module, "_BATCH", 3)

    def test_they_give_what_one_gives(
        self, graph: mf.Graph, device: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        several = sampler_of(graph, device).draw("alley", 1, 0, 20)
        monkeypatch.setattr(sampler_module, "_BATCH", 64)
        assert_same(several, sampler_of(graph, device).draw("alley", 1, 0, 20))

    def test_their_memory_is_used_again(self, graph: mf.Graph, device: str) -> None:
        sampler = sampler_of(graph, device)
        sampler.draw("alley", 1, 0, 20)
        assert len(sampler._kept_results) == 2

    def test_no_groups_are_no_launches(self, graph: mf.Graph, device: str) -> None:
        none = sampler_of(graph, device).draw("alley", 1, 0, 0)
        assert [len(part) for part in none] == [0, 0, 0]


class TestTime:
    @pytest.mark.turns(8, "emulated")
    @pytest.mark.parametrize("sync", ["sample", "iteration"])
    def test_what_is_cut_off_is_the_end(self, sync: str, graph: mf.Graph, device: str) -> None:
        sampler = sampler_of(graph, device, sync=sync)
        whole = sampler.draw("alley", 1, 0, 64)
        many = 1 << 23  # of 32, which take an H100 some ten milliseconds
        cut = sampler.draw("alley", 1, 0, many, timeout=0.001)
        assert len(cut.valid) < many
        for part, all_of_it in zip(cut, whole, strict=True):
            np.testing.assert_array_equal(part[:64], all_of_it[: len(part)])
        assert_same(sampler.draw("alley", 1, 0, 64), whole)

    def test_time_is_up_though_kernels_are_done_whenever_they_are_looked_at(
        self, graph: mf.Graph, device: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sampler = sampler_of(graph, device)
        whole = sampler.draw("alley", 1, 0, 64)
        moments = sampler_module.moments

        def late() -> Iterator[float]:
            time.sleep(0.005)
            return moments()

        monkeypatch.setattr(sampler_module, "moments", late)
        monkeypatch.setattr(sampler_module, "_BATCH", 8)
        cut = sampler.draw("alley", 1, 0, 1 << 13, timeout=0.05)
        assert len(cut.valid) < 1 << 13
        for part, all_of_it in zip(cut, whole, strict=True):
            np.testing.assert_array_equal(part[:64], all_of_it[: len(part)])

    def test_no_time_is_no_groups(self, graph: mf.Graph, device: str) -> None:
        sampler = sampler_of(graph, device)
        assert len(sampler.draw("alley", 1, 0, 100, timeout=0.0).valid) == 0
        assert len(sampler.draw("alley", 1, 0, 100).valid) == 100


class TestInterrupts:
    @pytest.mark.parametrize("when", [1, 2, 5])
    def test_what_is_under_way_is_stopped(
        self, when: int, graph: mf.Graph, device: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sampler = sampler_of(graph, device)
        whole = sampler.draw("alley", 1, 0, 16)
        asked = 0

        def moments() -> Iterator[float]:
            nonlocal asked
            while True:
                asked += 1
                if asked == when:
                    raise KeyboardInterrupt
                yield 0.0

        with monkeypatch.context() as patched:
            patched.setattr(sampler_module, "moments", moments)
            with pytest.raises(KeyboardInterrupt):
                sampler.draw("alley", 1, 0, 1 << 20)
        (copied,) = kept(graph, device)
        assert not copied.users
        assert_same(sampler.draw("alley", 1, 0, 16), whole)

    def test_a_drawing_that_fails_to_start_holds_nothing(
        self, graph: mf.Graph, device: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sampler = sampler_of(graph, device)

        def fail(*_: Any) -> None:
            raise MemoryError

        with monkeypatch.context() as patched:
            patched.setattr(KernelJob, "launch", fail)
            with pytest.raises(MemoryError):
                sampler.draw("alley", 1, 0, 16)
        (copied,) = kept(graph, device)
        assert not copied.users
        assert len(sampler.draw("alley", 1, 0, 16).valid) == 16


MOST_NEIGHBORS = """\
// Candidates of later vertices first, and of many neighbours.
struct Custom : Alley {
  static constexpr Pick kPick = Pick::kWeighted;
  MOTIFLUX_HOST_DEVICE static bool refines(const Level&) { return true; }
  template <class State>
  MOTIFLUX_HOST_DEVICE static double sample(const CandidateGraph& graph, const State&, std::uint32_t level,
                                            const Row&, std::uint32_t candidate) {
    const std::uint32_t vertex = vertex_of(graph.level[level], candidate);
    return static_cast<double>(graph.out.degree(vertex) + graph.in.degree(vertex)) * (1 + vertex % 4);
  }
};
"""


class TestCustom:
    @pytest.mark.turns(8, "emulated")
    @pytest.mark.parametrize("inheritance", ["spread", "one", "off"])
    def test_it_estimates_without_bias(self, inheritance: str, graph: mf.Graph, device: str) -> None:
        sampler = sampler_of(graph, device, inheritance=inheritance)
        groups = sampler.draw(mf.SamplingPolicy(MOST_NEIGHBORS), 1, 0, 400)
        means = np.ldexp(groups.weights, UNIT_BITS) / GROUP
        error = means.std(ddof=1) / math.sqrt(len(means))
        assert error > 0
        assert abs(means.mean() - EXPECTED) < 4.3 * error

    @pytest.mark.turns(8, "emulated")
    def test_the_policy_of_the_guide_loses_no_sample_to_repeated_vertices(
        self, graph: mf.Graph, device: str
    ) -> None:
        text = PAGE.read_text(encoding="utf-8").partition("```cpp\n")[2].partition("```")[0]
        policy = mf.SamplingPolicy(text, name="no repeats")
        pattern = mf.Pattern.parse("(a:0)--(b:0)--(c:0)--(d:0)--(a)")
        found = mf.estimate(graph, pattern, samples=3200, estimator=policy, device=device, seed=3)
        assert found.estimator == "no repeats"
        assert found.valid_samples == found.samples
        assert found.value == pytest.approx(10 * 9 * 8 * 7)
        alley = mf.estimate(graph, pattern, samples=3200, estimator="alley", device=device, seed=3)
        assert alley.valid_samples < alley.samples

    @pytest.mark.turns(8, "emulated")
    def test_text_that_does_not_compile_is_shown_with_what_the_compiler_says(
        self, graph: mf.Graph, device: str
    ) -> None:
        sampler = sampler_of(graph, device)
        with pytest.raises(CompileError, match=r"estimator.*nonsense") as told:
            sampler.draw(mf.SamplingPolicy("struct Custom : Alley { int x = nonsense; };"), 1, 0, 4)
        assert "nonsense" in str(told.value)
        assert len(sampler.draw("alley", 1, 0, 4).valid) == 4
