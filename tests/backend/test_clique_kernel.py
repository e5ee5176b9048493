"""Cliques counted in bits on a device: the same as by the search, however the work is cut up."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.gpu import strategy
from motiflux.gpu.kernels import cliques
from motiflux.gpu.kernels.cliques import bytes_of, cut
from motiflux.plan import make_plan
from motiflux.plan.neighborhood.bits import clique_key
from motiflux.request.request import make_request
from motiflux.types import Symmetry
from tests.backend.cases import clique


def random_edges(seed: int, vertices: int, density: float) -> list[tuple[int, int]]:
    random = np.random.default_rng(seed)
    return [pair for pair in combinations(range(vertices), 2) if random.random() < density]


def pattern(size: int, label: str | None = None) -> mf.Pattern:
    labels = None if label is None else [label] * size
    return mf.Pattern.from_edges(clique(size), vertex_labels=labels)


@pytest.mark.parametrize("size", [3, 4, 5, 6, 8])
@pytest.mark.parametrize(("vertices", "density"), [(12, 1.0), (45, 0.6), (110, 0.15)])
def test_cliques_are_counted_in_bits(device: str, size: int, vertices: int, density: float) -> None:
    graph = mf.Graph.from_edges(random_edges(size, vertices, density))
    expected = mf.count(graph, pattern(size), device="cpu")
    for bitmaps in ("auto", "cliques", "off"):
        assert mf.count(graph, pattern(size), device=device, tuning={"bitmaps": bitmaps}) == expected


@pytest.mark.parametrize("size", [3, 4, 5, 7])
@pytest.mark.parametrize(("shared", "least"), [(24 << 10, 1.0), (1500, 5e4), (1500, 1.0)])
def test_slices_and_long_rows_change_nothing(
    device: str, size: int, shared: int, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cliques, "_SHARED_BYTES", shared)
    monkeypatch.setattr(cliques, "_LEAST_SLICE", least)
    monkeypatch.setattr(cliques, "_CYCLES_PER_STRIP", least / 1000)
    monkeypatch.setattr(cliques, "_SHORT_ROW", 20)
    monkeypatch.setattr(strategy, "_LONG_ON_AVERAGE", 0)
    graph = mf.Graph.from_edges(random_edges(9, 70, 0.7))
    assert mf.count(graph, pattern(size), device=device) == mf.count(graph, pattern(size), device="cpu")


@pytest.mark.parametrize("average", [0, 1 << 20], ids=["by vertices", "by arcs"])
@pytest.mark.parametrize("seed", range(4))
def test_triangles_are_counted_either_way(
    device: str, seed: int, average: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a hub, rows of all lengths, and long stretches of vertices without any greater neighbour."""
    monkeypatch.setattr(strategy, "_LONG_ON_AVERAGE", average)
    random = np.random.default_rng(seed)
    pairs = np.minimum(random.integers(0, 300, (900, 2)), random.integers(0, 300, (900, 2)))
    spokes = np.column_stack([np.zeros(150, int), np.arange(400, 550)])
    graph = mf.Graph.from_edges(np.concatenate([pairs, spokes]), self_loops="drop", num_vertices=900)
    expected = mf.count(graph, pattern(3), device="cpu")
    assert mf.count(graph, pattern(3), device=device) == expected > 100
    limited = mf.count(graph, pattern(3), device=device, limit=100)
    assert (limited, limited.complete) == (100, False)


@pytest.mark.parametrize("members", [31, 32, 33, 64, 65, 200])
def test_rows_of_any_length_are_counted(device: str, members: int) -> None:
    graph = mf.Graph.from_edges(list(combinations(range(members), 2)))
    for size in (3, 4):
        assert mf.count(graph, pattern(size), symmetry="subgraphs", device=device) == comb(members, size)


def test_labelled_and_listed_cliques_agree(device: str) -> None:
    edges = random_edges(4, 40, 0.5)
    labels = ["a" if v % 3 else "b" for v in range(40)]
    graph = mf.Graph.from_edges(edges, vertex_labels=labels, edge_labels=[v % 2 for v, _ in edges])
    mixed = mf.Pattern.from_edges(clique(4), vertex_labels=["a", "a", "b", None])
    one_kind = mf.Pattern.from_edges(clique(4), edge_labels=[1] * 6)
    for wanted in (pattern(4), pattern(4, "a"), pattern(3, "b"), mixed, one_kind):
        rows = mf.match(graph, wanted, device=device).to_numpy()
        assert mf.count(graph, wanted, device=device) == len(rows) == mf.count(graph, wanted, device="cpu")
        assert len(rows) > 0


@pytest.mark.parametrize(("members", "size"), [(40, 5), (150, 4), (150, 6)])
def test_a_limit_ends_the_count(device: str, members: int, size: int) -> None:
    graph = mf.Graph.from_edges(clique(members))
    counted = mf.count(graph, pattern(size), symmetry="subgraphs", limit=1000, device=device)
    assert (counted, counted.complete) == (1000, False)


def test_graphs_without_cliques_have_none(device: str) -> None:
    star = mf.Graph.from_edges([(0, v) for v in range(1, 50)])
    assert mf.count(star, pattern(3), device=device) == 0
    assert (
        mf.count(mf.Graph.from_edges(np.empty((0, 2), int), num_vertices=3), pattern(4), device=device) == 0
    )


@pytest.mark.devices("emulated", "cuda", reason="the kernel is not the CPU's")
def test_the_time_limit_of_a_long_count_is_kept(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With many thin slices: warps that have nothing to count in one are not told to stop with the others."""
    monkeypatch.setattr(cliques, "_BLOCKS_AT_ONCE", 10_000)
    graph = mf.Graph.from_edges(clique(130))
    counted = mf.count(graph, pattern(12), symmetry="subgraphs", device=device, timeout=0.3)
    assert not counted.complete
    assert counted < comb(130, 12)


def test_plans_of_other_patterns_are_not_taken_for_cliques() -> None:
    graph = mf.Graph.from_edges(random_edges(2, 30, 0.5), vertex_labels=[v % 2 for v in range(30)])
    arcs = mf.Graph.from_edges(random_edges(2, 30, 0.5), directed=True)
    subgraphs = {"symmetry": Symmetry.SUBGRAPHS, "tuning": {}}
    diamond = mf.Pattern.from_edges([*clique(3), (1, 3), (2, 3)])
    labelled = mf.Pattern.from_edges(clique(3), vertex_labels=[0, 0, 1])
    for other in (diamond, labelled, mf.Pattern.from_edges([(0, 1)])):
        assert clique_key(make_plan(graph, other, **subgraphs)) is None
    assert clique_key(make_plan(arcs, pattern(3), **subgraphs)) is None
    embeddings = make_plan(
        graph, pattern(4), symmetry=Symmetry.EMBEDDINGS, tuning=private_tuning({"multiply": "off"})
    )
    assert clique_key(embeddings) is None
    assert clique_key(make_plan(graph, pattern(4), **subgraphs)) is not None
    assert make_request(semantics="isomorphism", symmetry="subgraphs", threads=1).tuning["bitmaps"] == "auto"


def test_units_are_all_rows_long_enough_and_no_neighbour_is_in_two_slices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cliques, "_LEAST_SLICE", 1.0)
    monkeypatch.setattr(cliques, "_CYCLES_PER_STRIP", 0.01)
    monkeypatch.setattr(cliques, "_SHARED_BYTES", 4000)
    degrees = np.array([0, 2, 3, 90, 5, 300, 90, 4, 33, 32])
    units = cut(degrees, 5, teams=1 << 20)
    slices = units.units[:, 1] >> 16
    taken = sorted(
        (int(root), place)
        for root, word in units.units
        for place in range(int(word) & 0xFFFF, int(degrees[root]), int(word) >> 16)
    )
    wanted = np.flatnonzero(degrees >= 4)
    assert taken == [(int(root), place) for root in wanted for place in range(degrees[root])]
    assert slices.max() == cliques._MOST_SLICES
    assert (cut(degrees, 5, teams=1 << 20, most=7).units[:, 1] >> 16).max() == 7
    assert units.arcs == degrees[wanted].sum()
    assert {int(root) for root in units.units[: units.spilled, 0]} == {5}
    assert {int(root) for root in units.units[: units.blocks, 0]} == {3, 5, 6, 8}
    assert bytes_of(300, 5, warps=4) > 4000 > bytes_of(90, 5, warps=4) + 16
    assert units.longest == (90, 300)
    assert cut(np.array([1, 0]), 3, 1).units.shape == (0, 2)
