"""Cliques, whose last three levels are counted in bits, against lists of them made one vertex at a time."""

from __future__ import annotations

from itertools import combinations
from math import comb, factorial

import numpy as np
import pytest

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.cpu.engine import CpuEngine
from motiflux.plan import make_plan
from motiflux.plan.native_plan import simd_here
from motiflux.request.request import make_request
from motiflux.types import Symmetry
from tests.executing import count_by


def clique(size: int) -> mf.Pattern:
    return mf.Pattern.from_edges(list(combinations(range(size), 2)))


def random_edges(seed: int, vertices: int, density: float) -> list[tuple[int, int]]:
    random = np.random.default_rng(seed)
    return [pair for pair in combinations(range(vertices), 2) if random.random() < density]


def cliques_of(edges: list[tuple[int, int]], size: int) -> list[tuple[int, ...]]:
    """List the cliques, each ascending."""
    above: dict[int, set[int]] = {}
    for u, v in edges:
        above.setdefault(u, set()).add(v)
    found: list[tuple[int, ...]] = [(v,) for v in sorted({v for edge in edges for v in edge})]
    for _ in range(size - 1):
        found = [(*some, v) for some in found for v in set.intersection(*(above.get(u, set()) for u in some))]
    return found


@pytest.mark.parametrize("size", [5, 6, 7])
@pytest.mark.parametrize(("vertices", "density"), [(14, 0.9), (40, 0.5), (150, 0.25)])
def test_cliques_of_random_graphs_are_counted(size: int, vertices: int, density: float, device: str) -> None:
    edges = random_edges(size, vertices, density)
    graph, expected = mf.Graph.from_edges(edges), len(cliques_of(edges, size))
    assert mf.count(graph, clique(size), symmetry="subgraphs", device=device) == expected
    assert mf.count(graph, clique(size), device=device, threads=2) == expected * factorial(size)


@pytest.mark.parametrize(
    "switches", [{"multiply": "off"}, {"degrees": "off"}, {"reuse": "off"}, {"order": "given"}]
)
def test_options_change_nothing(switches: dict[str, str]) -> None:
    edges = random_edges(3, 30, 0.6)
    graph, expected = mf.Graph.from_edges(edges), len(cliques_of(edges, 5))
    for simd in simd_here():
        tuning = private_tuning({**switches, "simd": simd})
        assert mf.count(graph, clique(5), symmetry="subgraphs", tuning=tuning) == expected
        assert mf.count(graph, clique(5), tuning=tuning) == expected * 120


@pytest.mark.parametrize("size", [63, 64, 65, 130, 520])
def test_sets_of_any_size_are_counted(size: int) -> None:
    """Two vertices beside a complete bipartite core, whose common neighbours are 64 bits, fewer and more."""
    edges = [(0, 1), *((end, v) for end in (0, 1) for v in range(2, 2 + size))]
    inner = [(2 + u, 2 + v) for u in range(0, size, 3) for v in range(size) if v % 3 != 0]
    edges += inner + [(2 + u, 2 + u + 1) for u in range(1, size - 1, 3)]
    # The pairs of neighbours u, u + 1 within the second part close triangles with each of the first.
    triangles = len(range(0, size, 3)) * len(range(1, size - 1, 3))
    assert mf.count(mf.Graph.from_edges(edges), clique(5), symmetry="subgraphs") == triangles


def test_directed_and_labelled_cliques_agree_with_their_listing() -> None:
    edges = random_edges(9, 24, 0.7)
    labels = [v % 3 for v in range(24)]
    plain = mf.Graph.from_edges(edges, vertex_labels=labels)
    arcs = mf.Graph.from_edges(edges, directed=True)
    for labelling in ([None] * 5, [0, None, None, None, None], [0, 0, None, None, None], [1, 1, 1, 2, 2]):
        pattern = mf.Pattern.from_edges(list(combinations(range(5), 2)), vertex_labels=labelling)
        assert mf.count(plain, pattern) == len(mf.match(plain, pattern).to_numpy())
    for semantics in ("isomorphism", "induced", "homomorphism"):
        options = {"semantics": semantics}
        assert mf.count(arcs, clique(5), **options) == len(mf.match(arcs, clique(5), **options).to_numpy())


def test_cliques_counted_together_are_those_counted_alone() -> None:
    edges = random_edges(4, 40, 0.5)
    graph, patterns = mf.Graph.from_edges(edges), [clique(size) for size in (3, 4, 5, 6)]
    together = mf.count(graph, patterns, symmetry="subgraphs")
    assert together == [len(cliques_of(edges, size)) for size in (3, 4, 5, 6)]


def test_partial_embeddings_are_told_too() -> None:
    graph = mf.Graph.from_edges(list(combinations(range(12), 2)))
    request = make_request(semantics="isomorphism", symmetry="subgraphs", threads=1)
    # Without leaving levels that have too few candidates for those after them.
    plan = make_plan(graph, clique(5), symmetry=Symmetry.SUBGRAPHS, tuning=private_tuning({"room": "off"}))
    outcome = count_by(CpuEngine(), graph, plan, request)
    assert outcome.value == comb(12, 5)
    assert outcome.sizes == tuple(comb(12, level) for level in (1, 2, 3, 4))


def test_a_limit_ends_the_count() -> None:
    graph = mf.Graph.from_edges(list(combinations(range(40), 2)))
    counted = mf.count(graph, clique(5), symmetry="subgraphs", limit=1000)
    assert (counted, counted.complete) == (1000, False)
