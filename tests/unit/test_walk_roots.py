"""The vertices from which walks are tried: drawn half by degree, half uniformly."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import motiflux as mf
from motiflux.plan.local_counts.estimate_costs import CostEstimator


def roots_of(graph: mf.Graph) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
    estimator: Any = SimpleNamespace(_graph=graph)
    return CostEstimator._sampled_roots(estimator)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("edges", [0, 1, 30, 5000])
def test_they_are_where_the_chances_add_up_to_the_points(directed: bool, edges: int) -> None:
    ends = (np.random.default_rng(edges).random((2, edges)) ** 2 * 300).astype(np.int64)
    graph = mf.Graph.from_edges((ends[0], ends[1]), num_vertices=400, directed=directed, self_loops="drop")
    degrees = graph.forward.degrees().astype(np.float64)
    if directed:
        degrees += graph.reverse.degrees()
    chances = (degrees / max(degrees.sum(), 1.0) + 1 / 400) / 2
    chances /= chances.sum()
    points = (np.arange(64) * 0.6180339887498949 + 0.5) % 1.0
    roots, found = roots_of(graph)
    assert roots.dtype == np.uint32
    np.testing.assert_allclose(found, chances[roots], rtol=1e-12)
    # Up to the rounding of a sum of 400 numbers.
    assert (chances.cumsum()[roots] >= points - 1e-12).all()
    assert (chances.cumsum()[roots] - chances[roots] <= points + 1e-12).all()


def test_a_single_vertex_is_the_root_of_all_walks() -> None:
    graph = mf.Graph.from_edges(np.empty((0, 2), np.int64), num_vertices=1)
    roots, chances = roots_of(graph)
    assert set(roots.tolist()) == {0}
    assert set(chances.tolist()) == {1.0}
