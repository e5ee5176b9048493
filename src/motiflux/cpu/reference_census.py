"""The oracle of the census: every set of vertices is looked at, and compared by all its permutations.

As `motiflux.cpu.reference`, it is obviously correct and slow, and imports nothing of motiflux.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations, permutations

Arc = tuple[int, int]


def canonical(vertices: Sequence[int], arcs: Iterable[Arc]) -> int:
    """Return the canonical code of a small graph: equal for isomorphic graphs, different for others.

    An arc from the i-th to the j-th of k vertices is bit ``k * i + j`` (from 0, the lowest); the code is the
    least number over all orders of the vertices: the number of Alon's motif dictionary.

    Examples
    --------
    >>> canonical("abc", [("a", "b"), ("b", "c"), ("a", "c")])
    38
    """
    size, among = len(vertices), list(arcs)
    codes = []
    for order in permutations(range(size)):
        place = dict(zip(vertices, order, strict=True))
        codes.append(sum(1 << (size * place[u] + place[v]) for u, v in among))
    return min(codes)


def census(num_vertices: int, edges: Iterable[Arc], size: int, *, directed: bool) -> Counter[int]:
    """Return the number of sets of `size` vertices by the canonical code of what they induce.

    Examples
    --------
    >>> census(4, [(0, 1), (1, 2), (0, 2)], 3, directed=True)
    Counter({2: 3, 38: 1})
    """
    arcs = _arcs(edges, directed=directed)
    return Counter(
        canonical(chosen, _within(arcs, chosen)) for chosen in combinations(range(num_vertices), size)
    )


def directed_orbit_counts(
    num_vertices: int, edges: Iterable[Arc], size: int
) -> list[Counter[tuple[int, tuple[int, int]]]]:
    """Return, for each vertex, the connected subgraphs that sets with it induce, by code and degrees in them.

    Examples
    --------
    >>> sorted(directed_orbit_counts(3, [(0, 1), (1, 2)], 3)[1].items())
    [((12, (1, 1)), 1)]
    """
    arcs = _arcs(edges, directed=True)
    found: list[Counter[tuple[int, tuple[int, int]]]] = [Counter() for _ in range(num_vertices)]
    for chosen in combinations(range(num_vertices), size):
        within = _within(arcs, chosen)
        if not _connected(chosen, within):
            continue
        code = canonical(chosen, within)
        for vertex in chosen:
            degrees = sum(u == vertex for u, _ in within), sum(v == vertex for _, v in within)
            found[vertex][code, degrees] += 1
    return found


def edge_orbit_counts(
    edges: Sequence[Arc], graphlets: Sequence[tuple[Sequence[Arc], Sequence[int]]]
) -> list[list[int]]:
    """Return the number of induced subgraphs in which each edge is in each orbit: a list for each edge.

    Parameters
    ----------
    edges
        Of an undirected graph, or arcs whose directions are ignored.
    graphlets
        For each graphlet its edges, and the orbit of each of them, numbered from 0.

    Examples
    --------
    >>> edge_orbit_counts([(0, 1), (1, 2), (2, 0), (2, 3)], [([(0, 1), (0, 2)], [0, 0])])
    [[0], [1], [1], [2]]
    """
    joined = {frozenset(edge) for edge in edges}
    vertices = sorted({vertex for edge in edges for vertex in edge})
    counts = {pair: [0] * (1 + max(max(orbits) for _, orbits in graphlets)) for pair in joined}
    for shape, orbits in graphlets:
        size = 1 + max(max(edge) for edge in shape)
        for chosen in combinations(vertices, size):
            within = {pair for pair in joined if pair <= set(chosen)}
            if len(within) != len(shape):
                continue
            for order in permutations(chosen):
                images = [frozenset((order[u], order[v])) for u, v in shape]
                if set(images) == within:
                    for pair, orbit in zip(images, orbits, strict=True):
                        counts[pair][orbit] += 1
                    break
    return [counts[frozenset(edge)] for edge in edges]


def _arcs(edges: Iterable[Arc], *, directed: bool) -> set[Arc]:
    arcs = {(u, v) for u, v in edges if u != v}
    return arcs if directed else arcs | {(v, u) for u, v in arcs}


def _within(arcs: set[Arc], chosen: Sequence[int]) -> list[Arc]:
    return [(u, v) for u in chosen for v in chosen if (u, v) in arcs]


def _connected(chosen: Sequence[int], arcs: Sequence[Arc]) -> bool:
    reached = {chosen[0]}
    for _ in chosen:
        reached |= {v for u, v in arcs if u in reached} | {u for u, v in arcs if v in reached}
    return len(reached) == len(chosen)
