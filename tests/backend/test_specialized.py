"""Kernels compiled for the shape of one plan find what the general one finds."""

from __future__ import annotations

import numpy as np
import pytest

import motiflux as mf
from tests.backend.cases import clique, cycle, path
from tests.rotating import few_emulated

PATTERNS = {
    "edge": (path(2), False),
    "diamond": ([*cycle(4), (0, 2)], False),
    "5-clique": (clique(5), False),
    "directed square with a chord": ([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)], True),
}


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize(
    ("of", "semantics"), few_emulated(2, PATTERNS, {how: how for how in ("isomorphism", "induced")})
)
def test_a_special_kernel_finds_the_same(
    device: str, of: tuple[list[tuple[int, int]], bool], semantics: str
) -> None:
    edges, directed = of
    pairs = np.random.default_rng(3).integers(0, 14, (110, 2))
    graph = mf.Graph.from_edges(pairs, directed=directed, self_loops="drop")
    pattern = mf.Pattern.from_edges(edges)
    expected = mf.match(graph, pattern, semantics=semantics, device="cpu").to_numpy()
    tuning = {"specialize": "on", "lanes": "8"}
    options = {"semantics": semantics, "device": device, "tuning": tuning}
    assert mf.count(graph, pattern, **options) == len(expected)
    rows = mf.match(graph, pattern, **options).to_numpy()
    assert sorted(rows.tolist()) == sorted(expected.tolist())
    if semantics == "isomorphism":
        assert len(expected) > 0
