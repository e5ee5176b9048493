"""Directed graphs with labels, where no other system gives counts: against a plain search in Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from tests.data_paths import shared_path
from tests.oracle.graphs import data_graph
from tests.rotating import rotating

ANY = None
SLOW_GRAPH, SLOW_PATTERN = "amlsim_20k_fanin_cycle", "bi-fan"
NAMES = [
    pytest.param(SLOW_GRAPH, marks=pytest.mark.long),
    "bitcoin_otc",
    "celegans_cook2019_herm",
    "wn18rr",
    "yago_temporal",
]
MOST_EMBEDDINGS = 100_000
"""A pattern with more is counted up to here on both sides."""

QueryEdge = tuple[int, int, int | None, bool | None]
# Query edges (u, v, rank of the edge label by frequency or any, direction); every vertex but 0 has an
# earlier neighbour.
CYCLE: list[QueryEdge] = [(0, 1, ANY, None), (1, 2, ANY, None), (2, 0, ANY, None)]
PATTERNS: dict[str, list[QueryEdge]] = {
    "cycle": CYCLE,
    "labelled-cycle": [(u, v, 0, None) for u, v, _, _ in CYCLE],
    "feed-forward": [(0, 1, 0, None), (0, 2, 1, None), (1, 2, ANY, None)],
    "bi-fan": [(0, 1, 0, None), (2, 1, 0, None), (0, 3, 1, None), (2, 3, 1, None)],
    "either-triangle": [(0, 1, 0, False), (1, 2, 0, False), (0, 2, ANY, True)],
    "parallel": [(0, 1, 0, None), (0, 1, 1, None), (1, 2, ANY, False)],
    "mutual": [(0, 1, ANY, None), (1, 0, ANY, None), (1, 2, 0, None)],
}


SEMANTICS = ("isomorphism", "induced", "homomorphism")
QUICK = [name for name in NAMES if isinstance(name, str)], [name for name in PATTERNS if name != SLOW_PATTERN]


@pytest.mark.turns(8)
@pytest.mark.parametrize(
    ("name", "pattern", "semantics"),
    [
        *rotating(list(product(*QUICK, SEMANTICS))),
        *(
            pytest.param(name, pattern, semantics, marks=pytest.mark.long)
            for name, pattern, semantics in product([*QUICK[0], SLOW_GRAPH], PATTERNS, SEMANTICS)
            if name == SLOW_GRAPH or pattern == SLOW_PATTERN
        ),
    ],
)
def test_plain_search_finds_as_many(name: str, pattern: str, semantics: str, device: str) -> None:
    arcs = plain_arcs(name)
    query = [
        (u, v, ANY if rank is ANY else arcs.ranked[min(rank, len(arcs.ranked) - 1)], direction)
        for u, v, rank, direction in PATTERNS[pattern]
    ]
    search = PlainSearch(arcs, query, semantics)
    expected = sum(1 for _, _ in zip(range(MOST_EMBEDDINGS), search.embeddings((ANY,)), strict=False))
    counted = mf.count(
        data_graph(name), built(query), semantics=semantics, limit=MOST_EMBEDDINGS, device=device
    )
    assert counted == expected


def built(query: list[QueryEdge]) -> Any:
    builder = mf.PatternBuilder()
    for vertex in range(1 + max(max(u, v) for u, v, *_ in query)):
        builder = builder.vertex(str(vertex))
    for u, v, label, direction in query:
        builder = builder.edge(str(u), str(v), label, directed=direction)
    return builder.build()


class PlainArcs:
    """Neighbours out of and into every vertex, by edge label and by any."""

    def __init__(self, edges: list[list[int]], labels: list[int]) -> None:
        self.ranked = [label for label, _ in Counter(labels).most_common()]
        self.out: defaultdict[Any, set[int]] = defaultdict(set)
        self.into: defaultdict[Any, set[int]] = defaultdict(set)
        for (source, target), label in zip(edges, labels, strict=True):
            for key in (label, ANY):
                self.out[source, key].add(target)
                self.into[target, key].add(source)
        self.vertices = sorted({vertex for edge in edges for vertex in edge})


@lru_cache(maxsize=1)
def plain_arcs(name: str) -> PlainArcs:
    with np.load(shared_path("data", f"{name}.npz")) as file:
        edges = file["edges"].tolist()
        return PlainArcs(edges, file["edge_labels"].tolist() if "edge_labels" in file else [0] * len(edges))


class PlainSearch:
    """Extend maps vertex by vertex through sets of neighbours."""

    def __init__(self, arcs: PlainArcs, query: list[QueryEdge], semantics: str) -> None:
        self.semantics = semantics
        self.query = query
        self.size = 1 + max(max(u, v) for u, v, *_ in query)
        self.vertices, self.out, self.into = arcs.vertices, arcs.out, arcs.into
        self.allowed = {(u, v) for u, v, _, _ in query} | {(v, u) for u, v, _, way in query if way is False}

    def embeddings(self, image: tuple[Any, ...]) -> Iterator[tuple[int, ...]]:
        """Yield all embeddings that extend the map; ``(None,)`` is the empty one."""
        if image == (ANY,):
            for vertex in self.vertices:
                yield from self.embeddings((vertex,))
        elif len(image) == self.size:
            yield image
        else:
            for vertex in self.candidates(image):
                if self.keeps_semantics(image, vertex):
                    yield from self.embeddings((*image, vertex))

    def candidates(self, image: tuple[int, ...]) -> set[int]:
        at = len(image)
        sets = []
        for u, v, label, way in self.query:
            if v == at and u < at:
                sets.append(
                    self.out[image[u], label] | (self.into[image[u], label] if way is False else set())
                )
            elif u == at and v < at:
                sets.append(
                    self.into[image[v], label] | (self.out[image[v], label] if way is False else set())
                )
        return set.intersection(*sets)

    def keeps_semantics(self, image: tuple[int, ...], vertex: int) -> bool:
        if self.semantics == "homomorphism":
            return True
        if vertex in image:
            return False
        if self.semantics == "isomorphism":
            return True
        at = len(image)
        return all(
            ((u, at) in self.allowed or vertex not in self.out[other, ANY])
            and ((at, u) in self.allowed or other not in self.out[vertex, ANY])
            for u, other in enumerate(image)
        )
