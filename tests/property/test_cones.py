"""Patterns with a vertex adjacent to all others, counted in bits, against the reference or the CPU engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.gpu import strategy
from motiflux.gpu.kernels import cliques, universal_vertex
from motiflux.plan.neighborhood import bits
from tests.strategies import Case, data_edges, label_columns, pattern_vertices

DEPTHS = ["default", pytest.param("long", marks=pytest.mark.long)]
MOST_FOR_REFERENCE = 5
WAYS = [
    ("isomorphism", "embeddings"),
    ("isomorphism", "subgraphs"),
    ("induced", "embeddings"),
    ("induced", "subgraphs"),
    ("homomorphism", "embeddings"),
]
SWITCHES = st.fixed_dictionaries(
    {"bitmaps": st.just("on"), "tables": st.just("off")},
    optional={"tail": st.just("off"), "multiply": st.just("off"), "parts": st.sampled_from(["on", "off"])},
).map(private_tuning)
CUTS = st.fixed_dictionaries(
    {
        "MOST_MEMBERS": st.sampled_from([4096, 5, 3]),
        "_LEAST_SLICE": st.sampled_from([2e4, 1.0]),
        "_SHORT_ROW": st.sampled_from([32, 3]),
        "_SHARED_BYTES": st.sampled_from([24 << 10, 500]),
    }
)
"""How many neighbours a root in bits may have, and how the others are cut up."""


@contextmanager
def cut_up(cuts: dict[str, Any]) -> Iterator[None]:
    """Have the work be cut up in another way for a while."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in cuts.items():
            modules = (
                (universal_vertex, cliques) if name.startswith("_") else (bits, strategy, universal_vertex)
            )
            for module in modules:
                if hasattr(module, name):
                    patch.setattr(module, name, value)
        patch.setattr(universal_vertex, "ROOT", 1e-3)
        patch.setattr(universal_vertex, "LOOK_UP", 1e-3)
        yield


@st.composite
def cone_cases(draw: st.DrawFn, semantics: str) -> Case:
    """Draw a pattern of 4 to 7 vertices, one of them adjacent to all, and a graph of up to 9."""
    most = 5 if semantics == "homomorphism" else 7
    size = draw(st.integers(4, most))
    num_vertices = draw(st.integers(3, 6 if most == 5 else 9))
    rim = list(combinations(range(1, size), 2))
    chosen = draw(st.lists(st.sampled_from(rim), min_size=1, max_size=len(rim), unique=True))
    names = draw(st.permutations(range(size)))
    pairs = [(names[u], names[v]) for u, v in [*((0, v) for v in range(1, size)), *chosen]]
    directed = draw(st.sampled_from([False, False, True]))
    edges = draw(data_edges(num_vertices))
    vertex_kind = draw(st.sampled_from([None, None, "int", "str"]))
    edge_kind = draw(st.sampled_from([None, None, None, "int"]))
    label = None if edge_kind is None or semantics == "induced" else draw(st.sampled_from([None, 0, 3]))
    return Case(
        directed=directed,
        ids=tuple(range(num_vertices)),
        universe="count",
        edges=edges,
        vertex_labels=draw(label_columns(vertex_kind, num_vertices)),
        edge_labels=draw(label_columns(edge_kind, len(edges))),
        pattern_vertex_labels=draw(pattern_vertices(size, vertex_kind)),
        pattern_edges=tuple((u, v, label, "either") for u, v in draw(st.permutations(pairs))),
    )


def expected_of(case: Case, graph: mf.Graph, pattern: mf.Pattern, semantics: str, symmetry: str) -> int:
    """Return what the reference finds; of larger patterns, for which that takes long, the CPU engine."""
    if pattern.num_vertices > MOST_FOR_REFERENCE:
        return int(mf.count(graph, pattern, semantics=semantics, symmetry=symmetry, device="cpu"))
    whole = symmetry == "embeddings"
    return len(case.embeddings(semantics) if whole else case.occurrences(semantics))


@pytest.mark.devices("emulated", "cuda", reason="the kernel is not the CPU's")
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(("semantics", "symmetry"), WAYS)
def test_cones_are_counted_as_level_by_level(semantics: str, symmetry: str, depth: str, device: str) -> None:
    @settings(settings.get_profile(depth), suppress_health_check=list(HealthCheck))
    @given(cone_cases(semantics), SWITCHES, CUTS, st.sampled_from([None, None, 2]), st.data())
    def holds(
        case: Case, switches: dict[str, str], cuts: dict[str, Any], devices: int | None, data: st.DataObject
    ) -> None:
        graph, pattern = case.graph(), case.pattern()
        expected = expected_of(case, graph, pattern, semantics, symmetry)
        options: dict[str, Any] = {
            "semantics": semantics,
            "symmetry": symmetry,
            "device": device,
            "devices": devices if device == "emulated" else None,
            "tuning": switches,
        }
        with cut_up(cuts):
            counted = mf.count(graph, pattern, **options)
            assert (counted, counted.complete) == (expected, True)
            limit = data.draw(st.integers(0, expected + 1), "limit")
            counted = mf.count(graph, pattern, limit=limit, **options)
            assert (counted, counted.complete) == (min(limit, expected), limit >= expected)

    holds()
