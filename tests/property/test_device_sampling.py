"""Samples drawn on a device are those of the CPU, group by group and to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.gpu.kernels import sampler as sampler_module
from motiflux.plan.sampling import sampling_plan
from motiflux.request.request import make_request
from motiflux.result.sample_groups import Groups
from motiflux.sampling.samplers import open_sampler
from tests.rotating import rotating
from tests.strategies import COMBINATIONS, Case, Combination, cases

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it has no kernels")

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]
ESTIMATORS = ("wanderjoin", "alley", "tree")

# Alley as a user would write it, and a policy that would rather have candidates of many neighbours.
ALLEY = """\
struct Custom : Alley {};
"""
WEIGHTED = """\
struct Custom : Alley {
  static constexpr Pick kPick = Pick::kWeighted;
  MOTIFLUX_HOST_DEVICE static bool refines(const Level&) { return true; }
  template <class State>
  MOTIFLUX_HOST_DEVICE static double sample(const CandidateGraph&, const State&, std::uint32_t, const Row&,
                                            std::uint32_t candidate) {
    return candidate % 3;
  }
};
"""


def drawn(
    device: str,
    graph: mf.Graph,
    pattern: mf.Pattern,
    estimator: str | mf.SamplingPolicy,
    *,
    semantics: str = "isomorphism",
    symmetry: str = "embeddings",
    seed: int = 5,
    first: int = 3,
    count: int = 5,
    **tuning: str,
) -> Groups | None:
    """Return groups that `device` draws; None where there is nothing to draw."""
    request = make_request(
        semantics=semantics, symmetry=symmetry, device=device, tuning=private_tuning(tuning), threads=1
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
    if plan.impossible is not None:
        return None
    sampler = open_sampler(graph, plan, request)
    try:
        return sampler.draw(estimator, seed, first, count)
    finally:
        sampler.close()


def assert_same(ours: Groups | None, theirs: Groups | None) -> None:
    if ours is None or theirs is None:
        assert ours is theirs
        return
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.dtype == other.dtype
        np.testing.assert_array_equal(mine, other)


@pytest.fixture(params=[1, 3])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Launch so many blocks, for so many groups at a time that several launches are under way."""
    monkeypatch.setattr(sampler_module, "_blocks", lambda *_: request.param)
    monkeypatch.setattr(sampler_module, "_BATCH", 1 + request.param)
    return int(request.param)


SWITCHES = st.fixed_dictionaries(
    {
        "inheritance": st.sampled_from(("spread", "one", "off")),
        "streaming": st.sampled_from(("packed", "adaptive", "leader", "off")),
        "candidates": st.sampled_from(("auto", "on", "off")),
        "edge_bits": st.sampled_from(("on", "off")),
        "sync": st.sampled_from(("sample", "sample", "iteration")),
    }
)


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("combination", rotating(COMBINATIONS), ids=str)
def test_groups_are_those_of_the_cpu(combination: Combination, depth: str, device: str) -> None:
    @settings(
        settings.get_profile(depth),
        max_examples=3 if depth == "default" else 60,
        suppress_health_check=list(HealthCheck),
    )
    @given(
        case=cases(combination.directed, combination.labels),
        switches=SWITCHES,
        estimator=st.sampled_from(ESTIMATORS),
        seed=st.integers(0, 2**64 - 1),
        first=st.sampled_from((0, 1, 2**40)),
    )
    def check(case: Case, switches: dict[str, str], estimator: str, seed: int, first: int) -> None:
        options: dict[str, Any] = {
            "semantics": combination.semantics,
            "symmetry": combination.symmetry,
            "seed": seed,
            "first": first,
            **switches,
        }
        graph, pattern = case.graph(), case.pattern()
        ours = drawn(device, graph, pattern, estimator, **options)
        assert_same(ours, drawn("cpu", graph, pattern, estimator, **options))

    check()


def hubs() -> mf.Graph:
    """A graph whose rows have none to a hundred neighbours: blocks that are full, and that are not."""
    randomness = np.random.default_rng(11)
    size = 120
    chance = np.linspace(0.02, 1.0, size)
    edges = [(u, v) for u in range(size) for v in range(u) if randomness.random() < chance[u] * chance[v]]
    return mf.Graph.from_edges(edges, num_vertices=size, vertex_labels=[v % 2 for v in range(size)])


PATTERNS = (
    "(a)--(b)--(c)--(a), (c)--(d)--(b)",
    "(a:0)--(b:1)--(c:0)--(d:1)--(a), (a)--(c)",
)


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("pattern", PATTERNS, ids=["unlabelled", "labelled"])
@pytest.mark.parametrize("streaming", ["packed", "adaptive", "leader", "off"])
@pytest.mark.parametrize("sync", ["sample", "iteration"])
def test_long_rows_are_refined_like_on_the_cpu(
    pattern: str, streaming: str, sync: str, blocks: int, device: str
) -> None:
    graph, parsed = hubs(), mf.Pattern.parse(pattern)
    for semantics in ("isomorphism", "induced", "homomorphism"):
        options: dict[str, Any] = {"semantics": semantics, "streaming": streaming, "sync": sync}
        ours = drawn(device, graph, parsed, "alley", **options)
        assert_same(ours, drawn("cpu", graph, parsed, "alley", **options))


@pytest.mark.parametrize("estimator", ["wanderjoin", "tree"])
@pytest.mark.parametrize("candidates", ["on", "off"])
def test_any_grid_gives_the_groups_of_the_cpu(
    estimator: str, candidates: str, blocks: int, device: str
) -> None:
    graph, pattern = hubs(), mf.Pattern.parse(PATTERNS[1])
    ours = drawn(device, graph, pattern, estimator, candidates=candidates, count=23)
    assert_same(ours, drawn("cpu", graph, pattern, estimator, candidates=candidates, count=23))


@pytest.mark.turns(8, "emulated")
def test_a_policy_of_the_users_draws_what_the_same_one_of_ours_draws(blocks: int, device: str) -> None:
    graph, pattern = hubs(), mf.Pattern.parse(PATTERNS[0])
    assert_same(
        drawn(device, graph, pattern, mf.SamplingPolicy(ALLEY)),
        drawn("cpu", graph, pattern, "alley"),
    )


@pytest.mark.turns(8, "emulated")
def test_weighted_candidates_are_chosen_alike_however_they_are_streamed(device: str) -> None:
    graph, pattern = hubs(), mf.Pattern.parse(PATTERNS[0])
    weighted = mf.SamplingPolicy(WEIGHTED)
    packed, adaptive, leader, off = (
        drawn(device, graph, pattern, weighted, streaming=how, candidates="off")
        for how in ("packed", "adaptive", "leader", "off")
    )
    assert packed is not None
    assert packed.valid.any()
    assert_same(packed, adaptive)
    assert_same(packed, leader)
    assert_same(packed, off)
