"""Walks as arguments of the native code."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from motiflux.graph import Adjacency, Graph
from motiflux.plan.ir import Table, Walks
from motiflux.plan.passes.steps import adjacency_of
from motiflux.plan.rooted import Kinds

_NativeStep: TypeAlias = tuple[int, int, int, Adjacency | None, NDArray[np.uint64] | None, int, bool]
NativeWalk: TypeAlias = tuple[list[_NativeStep], bool, int, Adjacency | None]


def native_walk(
    graph: Graph,
    kinds: Kinds,
    walks: Walks,
    threads: int,
    weights: Callable[[Table], NDArray[np.uint64]] | None = None,
) -> NativeWalk:
    """Return the argument of ``_native.walk_counts``; without `weights`, all weights are 1."""
    bound = kinds.bound(walks.pattern)

    def rows(ends: tuple[int, int] | None) -> Adjacency | None:
        return None if ends is None else graph.adjacency(adjacency_of(bound, *ends), threads)

    steps: list[_NativeStep] = []
    for step in walks.steps:
        if weights is None and step.move is step.move.SCALE:
            continue
        by = None if weights is None or step.weights is None else weights(step.weights)
        steps.append((int(step.move), step.into, step.source, rows(step.ends), by, step.power, step.below))
    return steps, walks.apart, int(walks.finish), rows(walks.ends)
