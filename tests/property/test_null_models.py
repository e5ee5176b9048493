"""Random graphs keep what they promise, are uniform, and do not depend on threads."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import motiflux as mf
from motiflux import _native

Arcs = list[tuple[int, int]]


@st.composite
def arc_lists(draw: st.DrawFn) -> tuple[int, Arcs, list[str], list[str]]:
    vertices = draw(st.integers(2, 12))
    pairs = list(permutations(range(vertices), 2))
    arcs = sorted(draw(st.sets(st.sampled_from(pairs), min_size=1, max_size=40)))
    labels = [draw(st.sampled_from("xy")) for _ in arcs]
    return vertices, arcs, labels, [draw(st.sampled_from("ab")) for _ in range(vertices)]


def graph_of(given: tuple[int, Arcs, list[str], list[str]], *, directed: bool) -> mf.Graph:
    vertices, arcs, labels, of_vertices = given
    if not directed:
        keep = [at for at, (u, v) in enumerate(arcs) if u < v or (v, u) not in arcs]
        arcs, labels = [arcs[at] for at in keep], [labels[at] for at in keep]
    ends = np.array(arcs).reshape(-1, 2)
    return mf.Graph.from_edges(
        (ends[:, 0], ends[:, 1]),
        num_vertices=vertices,
        edge_labels=labels,
        vertex_labels=of_vertices,
        directed=directed,
    )


def edges_of(graph: mf.Graph) -> list[tuple[int, int, Any]]:
    table = graph.to_edges()
    only = graph.edge_label_table.values[0] if table.labels is None else None
    labels = [only] * len(table.src) if table.labels is None else table.labels.tolist()
    return list(zip(table.src.tolist(), table.dst.tolist(), labels, strict=True))


def labels_of(graph: mf.Graph) -> dict[int, Any]:
    names = graph.vertex_label_table.values
    codes = [0] * graph.num_vertices if graph.vertex_labels is None else graph.vertex_labels.tolist()
    return {int(v): names[code] for v, code in zip(graph.vertex_ids, codes, strict=True)}


def degrees_of(edges: list[tuple[int, int, Any]], directed: bool) -> Counter[Any]:
    into = "in" if directed else "out"
    return Counter(end for u, v, label in edges for end in ((u, label, "out"), (v, label, into)))


@pytest.mark.parametrize("directed", [True, False])
@given(arc_lists(), st.integers(0, 3))
def test_degrees_among_edges_of_each_label_stay(
    directed: bool, given: tuple[int, Arcs, list[str], list[str]], number: int
) -> None:
    graph = graph_of(given, directed=directed)
    other = mf.null_graph(graph, number=number)
    assert labels_of(other) == labels_of(graph)
    before, after = edges_of(graph), edges_of(other)
    assert len(set(after)) == len(after) == len(before)
    assert all(u != v for u, v, _ in after)
    assert degrees_of(before, directed) == degrees_of(after, directed)


@given(arc_lists(), st.integers(0, 3))
def test_mutual_pairs_stay_mutual_if_asked(
    given: tuple[int, Arcs, list[str], list[str]], number: int
) -> None:
    vertices, arcs, labels, names = given
    graph = graph_of((vertices, arcs, ["x"] * len(labels), names), directed=True)
    other = mf.null_graph(graph, number=number, reciprocal=True)

    def kinds(graph: mf.Graph) -> Counter[tuple[int, str]]:
        found = {(u, v) for u, v, _ in edges_of(graph)}
        return Counter(
            end for u, v in found for end in
            ([(u, "mutual")] if (v, u) in found else [(u, "out"), (v, "in")])
        )  # fmt: skip

    assert kinds(other) == kinds(graph)


@pytest.mark.parametrize("directed", [True, False])
@given(arc_lists(), st.integers(0, 3))
def test_edges_between_labels_stay_if_asked(
    directed: bool, given: tuple[int, Arcs, list[str], list[str]], number: int
) -> None:
    graph = graph_of(given, directed=directed)
    other = mf.null_graph(graph, number=number, keep_labels=True)

    def between(graph: mf.Graph) -> Counter[Any]:
        names = labels_of(graph)
        pairs = [((names[u], names[v]), label) for u, v, label in edges_of(graph)]
        return Counter(pairs if directed else [(tuple(sorted(pair)), label) for pair, label in pairs])

    assert between(other) == between(graph)


@given(arc_lists())
def test_shuffled_labels_leave_edges_alone(given: tuple[int, Arcs, list[str], list[str]]) -> None:
    graph = graph_of(given, directed=True)
    shuffles = [mf.null_graph(graph, "labels", number=number) for number in range(3)]
    for other in shuffles:
        assert sorted(edges_of(other)) == sorted(edges_of(graph))
        assert Counter(labels_of(other).values()) == Counter(labels_of(graph).values())


@pytest.mark.turns(8)
@pytest.mark.parametrize(
    ("arcs", "directed"),
    [
        ([(0, 1), (1, 2), (2, 0)], True),
        ([(0, 1), (1, 2), (2, 0), (0, 3)], True),
        ([(0, 1), (1, 0), (1, 2), (2, 3), (3, 0)], True),
        ([(0, 1), (1, 2), (2, 3), (3, 0), (0, 4)], False),
        ([(0, 1), (0, 2), (0, 3), (1, 2), (3, 4), (4, 5)], False),
    ],
)
def test_all_graphs_of_these_degrees_are_equally_likely(arcs: Arcs, directed: bool) -> None:
    vertices = 1 + max(map(max, arcs))
    possible = all_of_these_degrees(vertices, arcs, directed=directed)
    samples = 400 * len(possible)
    wiring = (
        vertices,
        directed,
        False,
        *(np.array(side, np.uint32) for side in zip(*sorted(arcs), strict=True)),
        np.array([len(arcs)], np.uint64),
        None,
    )
    found: Counter[frozenset[tuple[int, int]]] = Counter()
    for number in range(samples):
        sources, targets, _ = _native.rewired(wiring, 64.0, 5, number, None)
        pairs = zip(sources.tolist(), targets.tolist(), strict=True)
        found[frozenset(pairs if directed else (tuple(sorted(pair)) for pair in pairs))] += 1
    assert set(found) == possible
    # The statistic has as many degrees of freedom: six standard deviations above its mean.
    freedom = len(possible) - 1
    statistic = sum((number - 400) ** 2 / 400 for number in found.values())
    assert statistic < freedom + 6 * max(1.0, (2 * freedom) ** 0.5)


def all_of_these_degrees(vertices: int, arcs: Arcs, *, directed: bool) -> set[frozenset[tuple[int, int]]]:
    pairs = list(permutations(range(vertices), 2) if directed else combinations(range(vertices), 2))

    def degrees(chosen: Any) -> Counter[Any]:
        return Counter(end for u, v in chosen for end in ((u, 0), (v, 1 if directed else 0)))

    wanted = degrees(arcs)
    return {frozenset(chosen) for chosen in combinations(pairs, len(arcs)) if degrees(chosen) == wanted}


def test_a_larger_graph_has_its_pairs_in_a_table() -> None:
    graph = mf.generate.erdos_renyi(vertices=20_000, edges=60_000, seed=3, directed=True)
    other = mf.null_graph(graph, swaps=4)
    arcs = [{(u, v) for u, v, _ in edges_of(one)} for one in (graph, other)]
    assert len(arcs[1]) == 60_000
    assert len(arcs[0] & arcs[1]) < 500
    for side in (0, 1):
        assert Counter(arc[side] for arc in arcs[0]) == Counter(arc[side] for arc in arcs[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "edges"}, "model: expected one of degrees, labels"),
        ({"swaps": -1}, "swaps: expected a number"),
        ({"swaps": True}, "swaps: expected a number"),
        ({"seed": -1}, "seed"),
        ({"number": -1}, "number"),
    ],
)
def test_what_makes_no_graph_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(mf.ArgumentError, match=message):
        mf.null_graph(mf.Graph.from_edges([(0, 1)]), **arguments)
