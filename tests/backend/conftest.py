"""Graphs that the tests of running searches share."""

from __future__ import annotations

import numpy as np
import pytest

import motiflux as mf
from tests.backend.cases import clique


@pytest.fixture(scope="module")
def dense() -> mf.Graph:
    """A graph with some 10**19 paths of eight vertices: counting them does not end."""
    return mf.Graph.from_edges(clique(300))


@pytest.fixture(scope="module")
def bipartite() -> mf.Graph:
    """A graph without odd cycles: looking for one goes on for ever and finds nothing."""
    pairs = np.random.default_rng(7).integers(0, 1000, (60_000, 2))
    return mf.Graph.from_edges(pairs + np.array([0, 1000]))


@pytest.fixture(scope="module")
def small() -> mf.Graph:
    """A clique of thirty: 24,360 triangles, each edge and vertex like every other."""
    return mf.Graph.from_edges(clique(30))
