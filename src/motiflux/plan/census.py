"""The classes of a census, and how their numbers follow from closed forms.

Native code counts the connected subgraphs of three and four vertices, induced or not, by the kinds of their
adjacent pairs (``csrc/census/bins.hpp``). An induced subgraph contains a known number of those with fewer
adjacent pairs, so subtracting from the densest down leaves the induced ones. Subgraphs that are not connected
have closed forms in the numbers of connected ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, permutations, product
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arc = tuple[int, int]

SIZES = (3, 4)
SHAPES: tuple[tuple[Arc, ...], ...] = (
    ((0, 1),),
    ((0, 1), (0, 2)),
    ((0, 1), (0, 2), (1, 2)),
    ((0, 1), (0, 2), (0, 3)),
    ((0, 1), (0, 2), (1, 3)),
    ((0, 1), (0, 2), (1, 2), (0, 3)),
    ((0, 1), (2, 1), (0, 3), (2, 3)),
    ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3)),
    ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)),
)
"""The shapes of the bins: the pairs to which the digits belong, each seen from its first vertex."""
_PAWS = 5
"""The shape that is counted twice."""
_OF_THREE = 3
"""The number of shapes of up to three vertices."""

_MAN = {
    0: "003",
    2: "012",
    10: "102",
    6: "021D",
    36: "021U",
    12: "021C",
    74: "111D",
    14: "111U",
    38: "030T",
    98: "030C",
    78: "201",
    108: "120D",
    46: "120U",
    102: "120C",
    110: "210",
    238: "300",
}
"""By canonical code, in the order of Holland and Leinhardt."""
_UNDIRECTED = {
    3: {0: "empty", 10: "edge", 78: "path", 238: "triangle"},
    4: {
        0: "empty",
        18: "edge",
        4680: "two edges",
        278: "path and vertex",
        854: "triangle and vertex",
        4698: "path",
        4382: "star",
        13260: "cycle",
        4958: "paw",
        13278: "diamond",
        31710: "clique",
    },
}


@dataclass(frozen=True, slots=True)
class CensusClass:
    """An isomorphism class of graphs of three or four vertices.

    Parameters
    ----------
    name
        Directed triads: M, A, N (numbers of mutual, asymmetric and absent pairs) and a letter; undirected
        graphs: a word; directed graphs of four vertices: ``id`` and the code.
    code
        The number in Alon's motif dictionary: arc i->j of k vertices is bit ``k * i + j``; the least over all
        orders of the vertices. An undirected edge is two arcs.
    arcs
        The arcs of a representative, with vertices from 0.
    connected
        Whether all vertices are connected, whatever the directions.
    """

    name: str
    code: int
    arcs: tuple[Arc, ...]
    connected: bool


@dataclass(frozen=True)
class Classes:
    """All classes of one size, and how to get their numbers from bins.

    Parameters
    ----------
    size, directed
        The number of vertices; whether arcs have directions.
    all
        The classes, in the order of the census.
    """

    size: int
    directed: bool
    all: tuple[CensusClass, ...]
    contained: NDArray[np.object_]
    """[classes, classes]: the subgraphs of the first class, induced or not, in a graph of the second."""
    place: NDArray[np.int64]
    """The class of each labelled graph: by the number of its arcs, see `_number`."""
    inverse: NDArray[np.object_]
    """[classes, classes]: induced numbers are this times the numbers of all."""

    def class_of(self, arcs: Sequence[Arc]) -> int:
        """Return the position of the class of a graph of `size` vertices."""
        return int(self.place[_number(self.size, arcs)])


def _positions(size: int) -> list[Arc]:
    return [(u, v) for u in range(size) for v in range(size) if u != v]


def _number(size: int, arcs: Sequence[Arc]) -> int:
    present = set(arcs)
    return sum((arc in present) << at for at, arc in enumerate(_positions(size)))


def _canonical_codes(size: int) -> NDArray[np.int64]:
    """Return the canonical code of each labelled graph, by its number."""
    positions = _positions(size)
    bits = (np.arange(1 << len(positions))[:, None] >> np.arange(len(positions))) & 1
    codes = [
        bits @ np.array([1 << (size * order[u] + order[v]) for u, v in positions], np.int64)
        for order in permutations(range(size))
    ]
    least: NDArray[np.int64] = np.minimum.reduce(codes)
    return least


def _arcs_of(size: int, code: int) -> tuple[Arc, ...]:
    return tuple(arc for arc in _positions(size) if code >> (size * arc[0] + arc[1]) & 1)


def is_connected(size: int, arcs: Sequence[Arc]) -> bool:
    """Return whether arcs, whatever their directions, connect all vertices."""
    reached = {0}
    for _ in range(size):
        reached |= {end for arc in arcs if reached & set(arc) for end in arc}
    return len(reached) == size


@lru_cache(maxsize=8)
def classes(size: int, directed: bool) -> Classes:
    """Return the classes of a census.

    Examples
    --------
    >>> [one.name for one in classes(3, True).all][:4], len(classes(4, True).all)
    (['003', '012', '102', '021D'], 218)
    >>> sum(one.connected for one in classes(4, True).all)
    199
    """
    codes = _canonical_codes(size)
    names = _MAN if directed and size == 3 else {} if directed else _UNDIRECTED[size]
    found = list(names) or sorted({int(code) for code in codes}, key=lambda code: _rank(size, code))
    every = tuple(
        CensusClass(
            names.get(code, f"id{code}"),
            code,
            _arcs_of(size, code),
            is_connected(size, _arcs_of(size, code)),
        )
        for code in found
    )
    at = {one.code: position for position, one in enumerate(every)}
    place = np.array([at.get(int(code), -1) for code in codes], np.int64)
    contained = _contained(size, every, place)
    return Classes(size, directed, every, contained, place, _inverse(every, contained))


def _rank(size: int, code: int) -> tuple[bool, int]:
    return is_connected(size, _arcs_of(size, code)), code


def _contained(size: int, every: Sequence[CensusClass], place: NDArray[np.int64]) -> NDArray[np.object_]:
    """Return the number of subgraphs of each class, induced or not, in a graph of each class."""
    contained = np.zeros((len(every), len(every)), object)
    for dense, one in enumerate(every):
        joined = _joined(one)
        for kept_pairs in range(len(joined) + 1):
            for kept in combinations(joined, kept_pairs):
                arcs = [arc for arc in one.arcs if (min(arc), max(arc)) in kept]
                contained[place[_number(size, arcs)], dense] += 1
    return contained


def _joined(one: CensusClass) -> list[Arc]:
    """Return the adjacent pairs of a class."""
    return sorted({(min(arc), max(arc)) for arc in one.arcs})


def _inverse(every: Sequence[CensusClass], contained: NDArray[np.object_]) -> NDArray[np.object_]:
    """Return what turns the numbers of all subgraphs into those of induced ones."""
    inverse = np.zeros((len(every), len(every)), object)
    for sparse in sorted(range(len(every)), key=lambda at: -len(_joined(every[at]))):
        row = np.zeros(len(every), object)
        row[sparse] = 1
        for dense in np.flatnonzero(contained[sparse]).tolist():
            if dense != sparse:
                row = row - contained[sparse, dense] * inverse[dense]
        inverse[sparse] = row
    return inverse


KINDS = ((0,), (1,), (0, 1))
"""The kinds of a pair, as the directions of its arcs: from its first vertex, to it, both."""


def arcs_of(pairs: Sequence[Arc], kinds: Sequence[tuple[int, ...]]) -> list[Arc]:
    """Return the arcs of pairs of these kinds."""
    return [(v, u) if way else (u, v) for (u, v), kind in zip(pairs, kinds, strict=True) for way in kind]


@lru_cache(maxsize=8)
def _bin_classes(size: int, directed: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return, for each bin, its number of vertices and the class among those of this many vertices.

    The bins of one arc have 2 vertices and the class 0 if one arc joins them, or 1 if both do.
    """
    kinds = KINDS if directed else KINDS[2:]
    sizes, places = [], []
    for shape in SHAPES if size == 4 else SHAPES[:_OF_THREE]:
        vertices = 1 + max(max(pair) for pair in shape)
        for digits in product(kinds, repeat=len(shape)):
            arcs = arcs_of(shape, digits)
            sizes.append(vertices)
            if vertices == 2:
                places.append(int(len(arcs) == 2))
            else:
                places.append(classes(vertices, directed).class_of(arcs))
    return tuple(sizes), tuple(places)


def induced_counts(
    bins: Sequence[Sequence[int]], size: int, directed: bool, num_vertices: int
) -> NDArray[np.object_]:
    """Return the numbers of induced subgraphs of each class: [graphs, classes], Python integers.

    Parameters
    ----------
    bins
        For each graph of `num_vertices` vertices, its bins.
    """
    table = classes(size, directed)
    all_of = [_all_subgraphs(one, table, num_vertices) for one in bins]
    greatest = max((max(map(abs, row)) for row in all_of), default=0)
    weight = max(sum(map(abs, row)) for row in table.inverse.tolist())
    if greatest * weight < 2**62:
        numbers = np.array(all_of, np.int64).reshape(-1, len(table.all))
        return (numbers @ table.inverse.astype(np.int64).T).astype(object)
    numbers = np.array(all_of, object).reshape(-1, len(table.all))
    product_of: NDArray[np.object_] = numbers @ table.inverse.T
    return product_of


def counts_from_connected(
    size: int, directed: bool, pairs: Sequence[int], induced: Mapping[int, Sequence[int]], num_vertices: int
) -> tuple[int, ...]:
    """Return the numbers of induced subgraphs of all classes, from those of connected ones.

    Parameters
    ----------
    pairs
        Pairs of vertices that one arc joins, and pairs that both do; edges are the latter.
    induced
        For 3 and for `size` vertices: the number of each connected class, in the order of `classes`.

    Examples
    --------
    >>> counts_from_connected(3, False, (0, 2), {3: (1, 0)}, 4)  # a path and a vertex
    (1, 2, 1, 0)
    """
    found = {}
    for vertices, given in induced.items():
        of_size = classes(vertices, directed)
        numbers = np.zeros(len(of_size.all), object)
        numbers[[at for at, one in enumerate(of_size.all) if one.connected]] = list(given)
        found[vertices] = (of_size.contained @ numbers).tolist()
    table = classes(size, directed)
    every = _with_unconnected(found, pairs, table, num_vertices)
    return as_counts(table.inverse @ np.array(every, object))


def _all_subgraphs(bins: Sequence[int], table: Classes, num_vertices: int) -> list[int]:
    """Return the numbers of subgraphs of each class, induced or not."""
    size, directed = table.size, table.directed
    sizes, places = _bin_classes(size, directed)
    shapes = _shape_of_bins(size, directed)
    pairs = [0, 0]
    found = {
        3: [0] * len(classes(3, directed).all),
        4: [0] * len(classes(4, directed).all) if size == 4 else [],
    }
    for number, vertices, place, shape in zip(bins, sizes, places, shapes, strict=True):
        if number == 0:
            continue
        if vertices == 2:
            pairs[place] += number
        else:
            # Each paw is in two bins, of the same class.
            found[vertices][place] += number if shape == _PAWS else 2 * number
    found = {vertices: [number // 2 for number in numbers] for vertices, numbers in found.items()}
    return _with_unconnected(found, pairs, table, num_vertices)


def _with_unconnected(
    found: dict[int, list[int]], pairs: Sequence[int], table: Classes, num_vertices: int
) -> list[int]:
    """Return the numbers of subgraphs of each class, induced or not, from those of connected ones."""
    size, directed, n = table.size, table.directed, num_vertices
    result, triads = found[size], classes(3, directed).all
    result[table.class_of(())] = comb(n, size)
    arc, both = [(0, 1)], [(0, 1), (1, 0)]
    dyads = [(at, one) for at, one in enumerate((arc, both)) if directed or one is both]
    for at, one in dyads:
        result[table.class_of(one)] = pairs[at] * comb(max(0, n - 2), size - 2)
    if size == 3:
        return result
    for triad, number in zip(triads, found[3], strict=True):
        if triad.connected:
            result[table.class_of(triad.arcs)] = number * max(0, n - 3)
    meeting = {(0, 0): 0, (0, 1): 0, (1, 1): 0}
    for triad, number in zip(triads, found[3], strict=True):
        joined = {(min(arc), max(arc)) for arc in triad.arcs}
        if len(joined) == 2:
            mutual = len(triad.arcs) - 2
            meeting[((0, 0), (0, 1), (1, 1))[mutual]] += number
    for first, one in dyads:
        for second, other in dyads:
            if first > second:
                continue
            together = comb(pairs[first], 2) if first == second else pairs[first] * pairs[second]
            arcs = [*one, *((u + 2, v + 2) for u, v in other)]
            result[table.class_of(arcs)] = together - meeting[first, second]
    return result


@lru_cache(maxsize=8)
def _shape_of_bins(size: int, directed: bool) -> tuple[int, ...]:
    kinds = 3 if directed else 1
    shapes = SHAPES if size == 4 else SHAPES[:_OF_THREE]
    return tuple(at for at, shape in enumerate(shapes) for _ in range(kinds ** len(shape)))


def as_counts(row: Sequence[Any]) -> tuple[int, ...]:
    """Return the numbers of one graph as Python integers."""
    return tuple(int(number) for number in row)
