"""Parts of sharded graphs that a GPU counts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.cluster.shards.gpu_parts import PartsOnGpu
from motiflux.errors import DeviceMemoryError
from tests.unit.test_sharded_search import DIRECTED, PATTERNS, random_graph, search_of

pytestmark = pytest.mark.devices("emulated", "cuda", reason="these count on a GPU")

STARS = ["(a)--(b), (a)--(c), (a)--(d)", "(a)--(b), (a)--(c), (a)--(d), (d)--(e)"]


@pytest.mark.turns(8, "emulated")
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10**6),
    directed=st.booleans(),
    semantics=st.sampled_from(["isomorphism", "induced", "homomorphism"]),
    symmetry=st.sampled_from(["embeddings", "subgraphs"]),
    cut=st.floats(0, 1),
    memory=st.sampled_from([9_500, 12_000, 1 << 20]),
    tuning=st.sampled_from([{}, {"tail": "off"}, {"specialize": "off"}]),
)
def test_counts_are_those_of_the_whole_graph(
    device: str,
    seed: int,
    directed: bool,
    semantics: str,
    symmetry: str,
    cut: float,
    memory: int,
    tuning: dict[str, str],
) -> None:
    if (semantics, symmetry) == ("homomorphism", "subgraphs"):
        symmetry = "embeddings"
    graph = random_graph(seed, directed=directed)
    patterns = [*(DIRECTED if directed else PATTERNS), *STARS]
    pattern = patterns[seed % len(patterns)]
    options: dict[str, Any] = {"semantics": semantics, "symmetry": symmetry, "tuning": tuning}
    search, layout, multiplier = search_of(graph, pattern, memory, **options)
    found = 0
    if search is not None:
        there, middle = PartsOnGpu(search, device), int(cut * layout.entries)
        for first, last in ((middle, layout.entries), (0, middle)):
            found += search.each(first, last, None, None, there.counted).total
    assert multiplier * found == mf.count(graph, pattern, device="cpu", **options)


@pytest.mark.parametrize("pattern", [PATTERNS[1], PATTERNS[3], PATTERNS[4], PATTERNS[5], STARS[0]])
def test_kernels_count_them(device: str, pattern: str) -> None:
    graph = mf.generate.rmat(scale=6, edges=200, seed=1)
    search, layout, multiplier = search_of(graph, pattern, 11_500)
    assert search is not None
    there, cut = PartsOnGpu(search, device), layout.entries // 3
    found = [search.each(*ends, None, None, there.counted) for ends in ((0, cut), (cut, layout.entries))]
    total = sum(one.total for one in found)
    assert multiplier * total == mf.count(graph, pattern, device="cpu", symmetry="embeddings")
    assert sum(one.parts for one in found) > 1
    assert there.by_cpu == 0


def test_too_little_memory_says_what_to_do(device: str) -> None:
    graph = mf.generate.rmat(scale=6, edges=200, seed=1)
    search, layout, _ = search_of(graph, PATTERNS[1], 1 << 20, gpu_memory=1 << 10)
    assert search is not None
    with pytest.raises(DeviceMemoryError, match="smaller memory="):
        search.each(0, layout.entries, None, None, PartsOnGpu(search, device).counted)
