"""Estimators of a user's own: the page of the guide from its text to its number, and what they may read."""

from __future__ import annotations

import math
import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.statistics import GROUP, UNIT_BITS
from tests.device.test_device_sampler import sampler_of
from tests.rotating import in_turn
from tests.unit.test_trawling import CUBIC, LONG

pytestmark = pytest.mark.devices("emulated", "cuda", reason="the CPU samples by policies of its own")

PAGE = Path(__file__).parents[2] / "docs/guide/own-estimator.md"
SAMPLES = 12_800

# Only vertices whose arcs, as the data graph has them, are so and so: it stands for any question about them.
OF_ITS_ARCS = """\
struct Custom : BASE {
  template <class State>
  MOTIFLUX_HOST_DEVICE static bool validate(const CandidateGraph& graph, const State& state,
                                            std::uint32_t level, const Row& row, std::uint32_t candidate) {
    const std::uint32_t vertex = vertex_of(graph.level[level], candidate);
    if (graph.out.degree(vertex) % 3 == 0 || graph.in.degree(vertex) % 4 == 0) return false;
    std::uint64_t beyond = 0;
    for (const std::uint32_t* at = graph.out.begin(vertex); at < graph.out.end(vertex); ++at)
      beyond += graph.in.degree(*at);
    if (beyond % 5 == 0) return false;
    return BASE::validate(graph, state, level, row, candidate);
  }
};
"""


def blocks(language: str) -> list[str]:
    text = PAGE.read_text(encoding="utf-8")
    return [part.partition("```")[0] for part in text.split(f"```{language}\n")[1:]]


def random_arcs(*, directed: bool) -> mf.Graph:
    random = np.random.default_rng(17)
    arcs = np.unique(random.integers(0, 40, (500, 2)), axis=0)
    arcs = arcs[arcs[:, 0] != arcs[:, 1]] if directed else arcs[arcs[:, 0] < arcs[:, 1]]
    labels = [vertex % 2 for vertex in range(40)]
    return mf.Graph.from_edges(arcs, num_vertices=40, directed=directed, vertex_labels=labels)


def expected(graph: mf.Graph, pattern: str) -> int:
    """Embeddings of vertices that pass the test of `OF_ITS_ARCS`."""
    arcs = graph.to_edges()
    pairs = np.stack([np.asarray(arcs.src), np.asarray(arcs.dst)], axis=1).astype(int)
    if not graph.directed:
        pairs = np.concatenate([pairs, pairs[:, ::-1]])
    into = np.bincount(pairs[:, 1], minlength=40)

    def passes(v: int) -> bool:
        out = pairs[pairs[:, 0] == v, 1]
        return len(out) % 3 != 0 and into[v] % 4 != 0 and into[out].sum() % 5 != 0

    rows = mf.match(graph, pattern, device="cpu").to_numpy()
    return sum(all(passes(int(v)) for v in row) for row in rows)


@pytest.mark.turns(8, "emulated")
def test_the_page_gives_what_it_says(device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The C++ goes into the file that the Python reads, and that is run as it stands, but for the device."""
    (text,), (code,) = blocks("cpp"), blocks("python")
    (tmp_path / "no_repeats.hpp").write_text(text)
    monkeypatch.chdir(tmp_path)
    graph = mf.Graph.from_edges([(u, v) for v in range(20) for u in range(v)])
    names: dict[str, Any] = {
        "mf": mf,
        "Path": Path,
        "graph": graph,
        "pattern": mf.Pattern.parse("(a)--(b)--(c)--(d)--(a)"),
    }
    lines = code.replace('device="cuda"', f'device="{device}"').strip().splitlines()
    lines[-1] = f"found = {lines[-1]}"
    exec("\n".join(lines), names)  # the text of our own page
    found = names["found"]
    assert isinstance(found, mf.Estimate)
    assert (found.estimator, found.device, found.complete) == ("no repeats", device, True)
    assert found.valid_samples == found.samples > 0
    assert found.value == pytest.approx(20 * 19 * 18 * 17)


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize(
    ("base", "candidates", "directed"),
    in_turn(3, list(product(["WanderJoin", "Alley"], ["on", "off"], [True, False])), on=["emulated"]),
)
def test_it_may_read_the_arcs_of_the_graph(base: str, candidates: str, directed: bool, device: str) -> None:
    graph = random_arcs(directed=directed)
    pattern = "(a:0)-->(b:1)-->(c:0), (a)-->(c)" if directed else "(a:0)--(b:1)--(c:0)--(a)"
    sampler = sampler_of(graph, device, mf.Pattern.parse(pattern), candidates=candidates)
    policy = mf.SamplingPolicy(OF_ITS_ARCS.replace("BASE", base))
    groups = sampler.draw(policy, 3, 0, SAMPLES // GROUP)
    means = np.ldexp(groups.weights, UNIT_BITS) / GROUP
    error = means.std(ddof=1) / math.sqrt(len(means))
    count = expected(graph, pattern)
    assert count > 0
    assert error > 0
    assert abs(means.mean() - count) < 4.3 * error


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("candidates", ["on", "off"])
def test_weights_by_degree_are_those_of_the_page(candidates: str, device: str) -> None:
    """A wedge ends in each candidate as often as its degree says."""
    (expression,) = re.findall("`(graph.out.degree[^`]*)`", PAGE.read_text())
    text = f"""
struct Custom : Alley {{
  static constexpr Pick kPick = Pick::kWeighted;
  MOTIFLUX_HOST_DEVICE static bool refines(const Level&) {{ return true; }}
  template <class State>
  MOTIFLUX_HOST_DEVICE static double sample(const CandidateGraph& graph, const State&, std::uint32_t level,
                                            const Row&, std::uint32_t candidate) {{
    return static_cast<double>({expression});
  }}
}};
"""
    graph = random_arcs(directed=False)
    pattern = "(a:0)--(b:1)--(c:0)"
    count = int(mf.count(graph, pattern, device="cpu"))
    given: dict[str, Any] = {
        "samples": SAMPLES,
        "seed": 5,
        "device": device,
        "tuning": {"candidates": candidates},
    }
    found = mf.estimate(graph, pattern, estimator=mf.SamplingPolicy(text, name="by degree"), **given)
    assert found.low <= count <= found.high
    assert found.relative_error < 0.1


@pytest.mark.turns(8, "emulated")
def test_it_is_not_trawled_beside(device: str) -> None:
    """The trawl draws its samples on the CPU, where the policy is not known."""
    policy = mf.SamplingPolicy("struct Custom : WanderJoin {};")
    given: dict[str, Any] = {"samples": 2000, "device": device, "tuning": {"trawling": "on"}}
    found = mf.estimate(CUBIC, LONG, estimator=policy, **given)
    assert found.trawled is None
    ours = mf.estimate(CUBIC, LONG, samples=2000, estimator="wanderjoin", tuning={"trawling": "off"})
    assert (found.value, found.samples) == (ours.value, ours.samples)


@pytest.mark.turns(8, "emulated")
def test_it_stops_at_an_error_and_at_a_timeout(device: str) -> None:
    policy = mf.SamplingPolicy("struct Custom : Alley {};")
    graph, pattern = random_arcs(directed=False), "(a:0)--(b:1)--(c:0)"
    near = mf.estimate(graph, pattern, estimator=policy, rel_error=0.2, device=device)
    assert near.complete
    assert near.relative_error <= 0.2
    cut = mf.estimate(graph, pattern, estimator=policy, samples=10**10, timeout=0.5, device=device)
    assert not cut.complete
    assert cut.samples < 10**10
