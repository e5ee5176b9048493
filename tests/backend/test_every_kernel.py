"""Kernels that only some patterns and switches lead to, each run briefly: they count what they should."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest

import motiflux as mf
from motiflux.codegen.kernels import WITHIN_BLOCK, all_sources
from motiflux.cpu import reference
from motiflux.gpu.engine import DfsEngine
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.jit import Source
from tests.backend.cases import cycle, path

ELSEWHERE = {
    "search-count", "search-list", "search-store", "search-tail", "search-stars", "search-nested",
    "search-passive", "cliques", "triangles", "ring", "rmat", "number", "space", "draw", "sample",
    "local-counts-order", "local-counts-triangles", "local-counts-wedge-total", "local-counts-wedge-arcs",
    "local-counts-merge", "local-counts-kinds", "local-counts-walks", "local-counts-sums",
    "local-counts-join",
}  # fmt: skip
"""Families of kernels that other tests run under the emulator whenever `make test` does."""


@dataclass(frozen=True)
class Way:
    """A pattern and switches that lead to a kernel. The graph's labels are 0, 1, 2, 0, 1, 2 and so on."""

    pattern: list[tuple[int, int]]
    tuning: dict[str, str]
    labels: list[int] | None = None


WAYS = {
    "universal": Way([*cycle(4), *((4, v) for v in range(4))], {"bitmaps": "on", "tables": "off"}),
    "local-counts-wedge-ends": Way([*cycle(4), (0, 4)], {"tables": "on"}),
    "search-overlaps": Way(
        [(0, 1), (0, 2), (2, 3), (0, 4), (4, 5)],
        {"tables": "off", "parts": "on", "order": "given", "stealing": "none"},
        labels=[1, 0, 0, 2, 0, 1],
    ),
    "search-active": Way(path(5), {"tables": "off", "stealing": "active", "lanes": "8", "tail": "off"}),
}


def family(unit: str) -> str:
    """Return what kind of kernel a unit is: its goal, or how groups of a block share."""
    words = unit.split("-")
    if words[0] == "search":
        return "-".join(["search", words[-1] if words[-1] in WITHIN_BLOCK else words[1]])
    return unit if words[0] == "local" else words[0]


@pytest.mark.devices("emulated", "cuda", reason="it has no kernels")
@pytest.mark.parametrize("name", WAYS)
def test_a_kernel_counts_what_the_definitions_say(
    device: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    way, random = WAYS[name], np.random.default_rng(1)
    vertices = 8
    edges = [pair for pair in combinations(range(vertices), 2) if random.random() < 0.7]
    labels = [v % 3 for v in range(vertices)]
    used = set()
    unit = Accelerator._unit

    def look(self: Accelerator, source: Source) -> object:
        used.add(family(source.name))
        return unit(self, source)

    monkeypatch.setattr(Accelerator, "_unit", look)
    monkeypatch.setattr(DfsEngine, "searchers", 1)  # else so small graphs are enumerated, to be busy
    graph = mf.Graph.from_edges(edges, vertex_labels=labels if way.labels else None)
    pattern = mf.Pattern.from_edges(way.pattern, vertex_labels=way.labels)
    expected = reference.embeddings(
        vertices,
        edges,
        way.labels or [None] * pattern.num_vertices,
        [(u, v, None, "follow") for u, v in way.pattern],
        vertex_labels=labels if way.labels else None,
    )
    assert mf.count(graph, pattern, device=device, tuning=way.tuning) == len(expected) > 0
    assert name in used


def test_no_kind_of_kernel_is_forgotten() -> None:
    assert {family(source.name) for source in all_sources()} == ELSEWHERE | set(WAYS)
