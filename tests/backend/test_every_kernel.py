"""Kernels that only some patterns and switches lead to, each run briefly: they count what they should."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pytest

import motiflux as mf
from motiflux.codegen.all_kernels import all_sources
from motiflux.codegen.kernels import WITHIN_BLOCK
from motiflux.cpu import reference
from motiflux.gpu.engine import DfsEngine
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.jit import Source
from tests.backend.cases import cycle, path

ELSEWHERE = {
    "search-count", "search-store", "search-tail", "search-stars", "search-images", "cliques", "triangles",
    "ring", "rmat", "number", "space", "draw", "sample", "local-counts-order", "local-counts-triangles",
    "local-counts-wedge-total", "local-counts-wedge-arcs", "local-counts-merge", "local-counts-kinds",
    "local-counts-sums", "local-counts-diamonds", "local-counts-orbits", "local-counts-five-lists",
    "local-counts-five-hubs", "local-counts-five-hubs-at-edges", "local-counts-five-opposites",
    "local-counts-five-opposites-at-edges", "local-counts-five-pairs", "local-counts-five-pairs-at-edges",
    "local-counts-five-walks", "local-counts-five-walks-at-edges", "local-counts-five-rows",
    "local-counts-five-edges", "local-counts-five-solve", "changing", "gpma", "pcsr", "pvm", "streaming",
}  # fmt: skip
"""Families of kernels that other tests run under the emulator whenever `make test` does."""


@dataclass(frozen=True)
class Way:
    """A pattern and switches that lead to a kernel."""

    pattern: list[tuple[int, int]]
    tuning: dict[str, str]


WAYS = {
    "universal": Way([*cycle(4), *((4, v) for v in range(4))], {"bitmaps": "on", "tables": "off"}),
    "local-counts-wedge-ends": Way([*cycle(4), (0, 4)], {"tables": "on"}),
    "local-counts-ranks": Way([*cycle(4), (0, 4)], {"tables": "on"}),
    "local-counts-walks": Way(cycle(5), {"tables": "on"}),
    "local-counts-join": Way([*cycle(3), (0, 3)], {"tables": "on"}),
    "search-nested": Way([*cycle(3), (0, 3), (3, 4), (1, 5)], {"tables": "off", "parts": "on"}),
    "search-passive": Way(path(5), {"tables": "off", "stealing": "passive", "lanes": "8", "tail": "off"}),
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
    vertices = 7 if len({v for edge in way.pattern for v in edge}) > 5 else 8
    edges = [pair for pair in combinations(range(vertices), 2) if random.random() < 0.7]
    used = set()
    unit = Accelerator._unit

    def look(self: Accelerator, source: Source) -> object:
        used.add(family(source.name))
        return unit(self, source)

    monkeypatch.setattr(Accelerator, "_unit", look)
    # Else so small graphs are enumerated, to be busy.
    monkeypatch.setattr(DfsEngine, "capabilities", replace(DfsEngine.capabilities, searchers=1))
    graph = mf.Graph.from_edges(edges)
    pattern = mf.Pattern.from_edges(way.pattern)
    expected = reference.embeddings(
        vertices,
        edges,
        [None] * pattern.num_vertices,
        [(u, v, None, "follow") for u, v in way.pattern],
    )
    assert mf.count(graph, pattern, device=device, tuning=way.tuning) == len(expected) > 0
    assert name in used


def test_no_kind_of_kernel_is_forgotten() -> None:
    assert {family(source.name) for source in all_sources()} == ELSEWHERE | set(WAYS)
