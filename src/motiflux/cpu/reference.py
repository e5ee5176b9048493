"""The oracle: exact matching by trying every map.

It has no plans and prunes by labels only: every map of query vertices to label-compatible data vertices is
built and compared with the definition in ``docs/reference/semantics.md``. It is meant for graphs of a dozen
vertices and patterns of at most five or six vertices; it has to be obviously correct, not fast. It reads
plain sequences and imports nothing of motiflux but the words for options, so that no defect of storage,
planning or search can affect both sides of a comparison.

A data graph consists of ``num_vertices`` (the vertices are ``0..num_vertices - 1``), ``edges`` as pairs, and
optionally one label per vertex and one per edge, and attributes. A pattern consists of one label choice per
query vertex, a sequence of `PatternEdge`, and comparisons between attributes. A label choice is ``None`` (any
label), one label, or a set of labels. Where a pattern has comparisons, each entry of ``edges`` is a copy of
its own.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import StrEnum
from fractions import Fraction
from itertools import combinations, permutations, product
from operator import eq, ge, gt, le, lt, ne
from typing import Any, NamedTuple, TypeAlias

from motiflux.types import DEFAULT_LABEL, Label, Semantics

LabelChoice: TypeAlias = Label | AbstractSet[Label] | None
"""The labels that a query vertex or edge accepts: any label, one label, or any of a set."""


class EdgeKind(StrEnum):
    """The directions of data edges that a query edge ``u, v`` accepts."""

    FOLLOW = "follow"
    """As in the graph: an arc u->v if the graph is directed, an edge if it is not."""
    EITHER = "either"
    """An arc u->v or an arc v->u if the graph is directed, an edge if it is not."""
    ARC = "arc"
    """An arc u->v; not allowed in an undirected graph."""


PatternEdge: TypeAlias = tuple[int, int, LabelChoice, EdgeKind | str]
"""Query edge: source, target, accepted labels, kind."""


class AnyVertex(NamedTuple):
    """An end of a negated edge: any data vertex with an accepted label."""

    labels: LabelChoice = None


NegatedEdge: TypeAlias = tuple[int | AnyVertex, int | AnyVertex, LabelChoice, EdgeKind | str]
"""An edge that must not be there, as a query edge; one of its ends may be any data vertex."""
Embedding: TypeAlias = tuple[int, ...]
"""The data vertex of query vertex 0, of query vertex 1, and so on."""
Arcs: TypeAlias = Mapping[tuple[int, int], AbstractSet[Label]]
"""Labels of all data edges from the first vertex to the second; an undirected edge has both directions."""
Operand: TypeAlias = tuple[str, int, str]
"""``"edge"`` or ``"vertex"``, its position in the pattern, and the name of the attribute."""
Comparison: TypeAlias = tuple[Any, ...]
"""``(left, operator, right, factor, offset)`` for ``left operator factor * right + offset``, or ``(attribute,
span)``: the largest value of the attribute on all query edges is at most the smallest plus the span.
"""
Attributes: TypeAlias = Mapping[str, Sequence[Any]]
"""By name, a value for each vertex or for each entry of ``edges``; None or NaN where it is missing."""

_OPERATORS = {"=": eq, "<>": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


def embeddings(
    num_vertices: int,
    edges: Sequence[tuple[int, int]],
    pattern_vertex_labels: Sequence[LabelChoice],
    pattern_edges: Sequence[PatternEdge],
    *,
    directed: bool = False,
    vertex_labels: Sequence[Label] | None = None,
    edge_labels: Sequence[Label] | None = None,
    semantics: Semantics | str = Semantics.ISOMORPHISM,
    may_coincide: Collection[tuple[int, int]] = (),
    negated: Sequence[NegatedEdge] = (),
    comparisons: Sequence[Comparison] = (),
    vertex_attributes: Attributes | None = None,
    edge_attributes: Attributes | None = None,
) -> set[Embedding]:
    """All embeddings of the pattern.

    Parameters
    ----------
    num_vertices, edges
        The data graph; an edge repeated with the same label, or (undirected) reversed, changes nothing.
    pattern_vertex_labels, pattern_edges
        The query graph; its vertices are the positions of ``pattern_vertex_labels``.
    directed
        Whether ``edges`` are arcs.
    vertex_labels, edge_labels
        One label per vertex, one per edge; None: all labels are `DEFAULT_LABEL`.
    semantics
        The kind of embeddings.
    may_coincide
        Pairs of query vertices that may share a data vertex under any semantics.
    negated
        Edges that must not be there. Between query vertices that share a data vertex there is none.
    comparisons, vertex_attributes, edge_attributes
        An embedding counts if some choice of copies satisfies all comparisons; see `choices`.

    Raises
    ------
    ValueError
        The graph has a self-loop, or an undirected graph is searched for an arc.

    Notes
    -----
    Time grows as ``num_vertices ** len(pattern_vertex_labels)``.

    Examples
    --------
    >>> square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    >>> path = [(0, 1, None, "follow"), (1, 2, None, "follow")]
    >>> len(embeddings(4, square, [None] * 3, path))
    8
    """
    semantics = Semantics(semantics)
    arcs = _arcs(edges, edge_labels, directed=directed)
    query = [(u, v, labels, _resolved(kind, directed=directed)) for u, v, labels, kind in pattern_edges]
    labels_of_vertices = [DEFAULT_LABEL] * num_vertices if vertex_labels is None else vertex_labels
    candidates = [
        [vertex for vertex in range(num_vertices) if _accepts(choice, labels_of_vertices[vertex])]
        for choice in pattern_vertex_labels
    ]
    free = {frozenset(pair) for pair in may_coincide}
    found = {image for image in product(*candidates) if _is_embedding(image, query, arcs, semantics, free)}
    absent = [(u, v, labels, _resolved(kind, directed=directed)) for u, v, labels, kind in negated]
    found = {
        image
        for image in found
        if not any(_is_there(image, *one, arcs, labels_of_vertices) for one in absent)
    }
    if not comparisons:
        return found
    copies = _Copies(edges, edge_labels, query)
    judge = _Judge(comparisons, vertex_attributes or {}, edge_attributes or {})
    return {image for image in found if any(judge.holds(image, choice) for choice in copies.choices(image))}


def choices(
    num_vertices: int,
    edges: Sequence[tuple[int, int]],
    pattern_vertex_labels: Sequence[LabelChoice],
    pattern_edges: Sequence[PatternEdge],
    *,
    comparisons: Sequence[Comparison] = (),
    vertex_attributes: Attributes | None = None,
    edge_attributes: Attributes | None = None,
    **options: Any,
) -> dict[Embedding, set[tuple[int, ...]]]:
    """All choices of copies of each embedding.

    A choice has a copy for each query edge, given by its position in ``edges``: between the images of the
    ends of the query edge, with a label and a direction that it accepts. All comparisons hold for the
    attributes of the chosen copies and of the images. Two query edges may have the same copy. A comparison
    with a missing value is false. Numbers are compared exactly, unless one of the two is a float: then the
    other side is computed in floats.

    Parameters as in `embeddings`.

    Examples
    --------
    >>> ring = [(0, 1, None, "follow"), (1, 2, None, "follow"), (2, 0, None, "follow")]
    >>> x, y, z = (("edge", position, "time") for position in range(3))
    >>> choices(
    ...     3, [(0, 1), (1, 2), (1, 2), (2, 0)], [None] * 3, ring, directed=True,
    ...     comparisons=[(x, "<", y, 1, 0), (y, "<", z, 1, 0)], edge_attributes={"time": [5, 1, 6, 7]},
    ... )
    {(0, 1, 2): {(0, 2, 3)}}
    """
    found = embeddings(num_vertices, edges, pattern_vertex_labels, pattern_edges, **options)
    directed = bool(options.get("directed", False))
    query = [(u, v, labels, _resolved(kind, directed=directed)) for u, v, labels, kind in pattern_edges]
    copies = _Copies(edges, options.get("edge_labels"), query)
    judge = _Judge(comparisons, vertex_attributes or {}, edge_attributes or {})
    chosen = {
        image: {choice for choice in copies.choices(image) if judge.holds(image, choice)} for image in found
    }
    return {image: choices for image, choices in chosen.items() if choices}


def occurrences(
    num_vertices: int,
    edges: Sequence[tuple[int, int]],
    pattern_vertex_labels: Sequence[LabelChoice],
    pattern_edges: Sequence[PatternEdge],
    *,
    directed: bool = False,
    vertex_labels: Sequence[Label] | None = None,
    edge_labels: Sequence[Label] | None = None,
    semantics: Semantics | str = Semantics.ISOMORPHISM,
    negated: Sequence[NegatedEdge] = (),
    comparisons: Sequence[Comparison] = (),
    vertex_attributes: Attributes | None = None,
    edge_attributes: Attributes | None = None,
) -> set[frozenset[Embedding]]:
    """All occurrences: the embeddings, grouped by the automorphisms of the pattern.

    Each occurrence is the set of its embeddings. Parameters as in `embeddings`.

    Raises
    ------
    ValueError
        The semantics are homomorphism, where the groups have different sizes; and as `embeddings`.

    Examples
    --------
    >>> square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    >>> path = [(0, 1, None, "follow"), (1, 2, None, "follow")]
    >>> len(occurrences(4, square, [None] * 3, path))
    4
    """
    if Semantics(semantics) is Semantics.HOMOMORPHISM:
        raise ValueError("occurrences are not defined for homomorphisms")
    found = embeddings(
        num_vertices,
        edges,
        pattern_vertex_labels,
        pattern_edges,
        directed=directed,
        vertex_labels=vertex_labels,
        edge_labels=edge_labels,
        semantics=semantics,
        negated=negated,
        comparisons=comparisons,
        vertex_attributes=vertex_attributes,
        edge_attributes=edge_attributes,
    )
    group = automorphisms(
        pattern_vertex_labels, pattern_edges, directed=directed, negated=negated, comparisons=comparisons
    )
    return {frozenset(tuple(image[u] for u in permutation) for permutation in group) for image in found}


def counts_of_images(
    results: Collection[Embedding | frozenset[Embedding]], query_vertex: int, num_vertices: int
) -> list[int]:
    """Return the number of results at each data vertex.

    A result of `embeddings` is at the image of the query vertex. A result of `occurrences` is at each image
    that the query vertex has in one of its embeddings: once there, whatever the number of these embeddings.

    Examples
    --------
    >>> square = [(0, 1), (1, 2), (2, 3), (3, 0)]
    >>> path = [(0, 1, None, "follow"), (1, 2, None, "follow")]
    >>> counts_of_images(embeddings(4, square, [None] * 3, path), 1, 4)
    [2, 2, 2, 2]
    >>> counts_of_images(occurrences(4, square, [None] * 3, path), 0, 4)
    [2, 2, 2, 2]
    """
    counts = [0] * num_vertices
    for result in results:
        for vertex in {image[query_vertex] for image in _embeddings_of(result)}:
            counts[vertex] += 1
    return counts


def counts_of_witnesses(
    results: Collection[Embedding | frozenset[Embedding]],
    query_edge: PatternEdge,
    edges: Sequence[tuple[int, int]],
    *,
    directed: bool = False,
    edge_labels: Sequence[Label] | None = None,
) -> list[int]:
    """Return the number of results at each data edge: those in which it is a witness of the query edge.

    A result of `occurrences` is at each edge that is a witness in one of its embeddings, once.

    Parameters
    ----------
    edges, edge_labels
        The distinct data edges, each with its label.

    Examples
    --------
    >>> triangle = [(0, 1), (1, 2), (2, 0), (2, 3)]
    >>> pattern = [(0, 1, None, "follow"), (1, 2, None, "follow"), (2, 0, None, "follow")]
    >>> counts_of_witnesses(embeddings(4, triangle, [None] * 3, pattern), pattern[0], triangle)
    [2, 2, 2, 0]
    """
    u, v, choice, kind = query_edge
    labels = [DEFAULT_LABEL] * len(edges) if edge_labels is None else edge_labels
    ways = {_resolved(kind, directed=directed)}
    counts = [0] * len(edges)
    for at, ((source, target), label) in enumerate(zip(edges, labels, strict=True)):
        if not _accepts(choice, label):
            continue
        images = {(source, target)} | ({(target, source)} if EdgeKind.EITHER in ways else set())
        for result in results:
            counts[at] += any((image[u], image[v]) in images for image in _embeddings_of(result))
    return counts


def counts_of_chosen(
    results: Collection[Embedding | frozenset[Embedding]],
    chosen: Mapping[Embedding, Collection[tuple[int, ...]]],
    query_edge: int,
    copies: Sequence[int],
    num_edges: int,
) -> list[int]:
    """Return the number of results at each data edge that has a chosen copy of a query edge, once each.

    Parameters
    ----------
    chosen
        The choices of copies of each embedding, as `choices` returns them.
    query_edge
        The position of the query edge.
    copies
        The data edge of each copy.

    Examples
    --------
    >>> counts_of_chosen({(0, 1), (1, 2)}, {(0, 1): [(0,), (1,)], (1, 2): [(2,)]}, 0, [0, 0, 1], 2)
    [1, 1]
    """
    counts = [0] * num_edges
    for result in results:
        served = {
            copies[one[query_edge]] for image in _embeddings_of(result) for one in chosen.get(image, ())
        }
        for edge in served:
            counts[edge] += 1
    return counts


def degrees(
    num_vertices: int,
    edges: Sequence[tuple[int, int]],
    *,
    directed: bool = False,
    edge_labels: Sequence[Label] | None = None,
    direction: str | None = None,
    labels: LabelChoice = None,
) -> list[int]:
    """Return the number of edges at each vertex: each pair of ends with a label once.

    Parameters
    ----------
    direction
        ``"in"`` or ``"out"``: arcs that lead to the vertex, or from it; None: both.
    labels
        The labels that count.

    Examples
    --------
    >>> degrees(3, [(0, 1), (0, 1), (2, 1)], directed=True, direction="in")
    [0, 2, 0]
    """
    given = [DEFAULT_LABEL] * len(edges) if edge_labels is None else edge_labels
    found = {
        ((u, v) if directed else (min(u, v), max(u, v)), label)
        for (u, v), label in zip(edges, given, strict=True)
        if _accepts(labels, label)
    }
    numbers = [0] * num_vertices
    for (u, v), _ in found:
        numbers[u] += direction != "in"
        numbers[v] += direction != "out"
    return numbers


Threshold: TypeAlias = tuple[Sequence[int], str, int]
"""Query vertices, an operator and a number."""


def projected_rows(
    found: Collection[Embedding], returned: Sequence[int], thresholds: Sequence[Threshold] = ()
) -> set[Embedding]:
    """Return the rows of a projection of embeddings: their images of the query vertices `returned`.

    Each threshold ``(counted, operator, number)`` compares the number of different images of the vertices
    `counted`, together, in the embeddings of a row.

    Examples
    --------
    >>> star = embeddings(4, [(0, 1), (0, 2), (0, 3)], [None] * 2, [(0, 1, None, "follow")])
    >>> projected_rows(star, [0], [([1], ">=", 2)])
    {(0,)}
    """
    of_row: dict[Embedding, list[Embedding]] = defaultdict(list)
    for image in found:
        of_row[tuple(image[v] for v in returned)].append(image)
    return {
        row
        for row, images in of_row.items()
        if all(
            _OPERATORS[operator](len({tuple(image[v] for v in counted) for image in images}), number)
            for counted, operator, number in thresholds
        )
    }


def row_classes(
    rows: Collection[Embedding],
    returned: Sequence[int],
    group: Collection[Sequence[int]],
    thresholds: Sequence[Threshold] = (),
) -> set[frozenset[Embedding]]:
    """Return the classes of rows that are one where subgraphs are asked for.

    Two rows are one if an automorphism of `group` turns an embedding of one into an embedding of the other,
    maps the returned vertices to each other, and turns the thresholds into themselves.

    Examples
    --------
    >>> path = [(0, 1, None, "follow"), (1, 2, None, "follow")]
    >>> len(row_classes({(0, 2), (2, 0)}, [0, 2], automorphisms([None] * 3, path)))
    1
    """
    asked = {(frozenset(counted), operator, number) for counted, operator, number in thresholds}
    keeping = [
        to
        for to in group
        if {to[v] for v in returned} == set(returned)
        and {(frozenset(to[v] for v in counted), operator, number) for counted, operator, number in asked}
        == asked
    ]
    place = {vertex: at for at, vertex in enumerate(returned)}
    return {frozenset(tuple(row[place[to[v]]] for v in returned) for to in keeping) for row in rows}


def orbit_counts(
    num_vertices: int,
    edges: Sequence[tuple[int, int]],
    graphlets: Sequence[tuple[Sequence[tuple[int, int]], Sequence[int]]],
) -> list[list[int]]:
    """Return the number of induced subgraphs in which each vertex is in each orbit: a list for each vertex.

    Parameters
    ----------
    edges
        Of an undirected graph, or arcs whose directions are ignored.
    graphlets
        For each graphlet its edges, and the orbit of each of its vertices. Orbits are numbered from 0.

    Examples
    --------
    >>> edge, wedge = ([(0, 1)], [0, 0]), ([(0, 1), (0, 2)], [2, 1, 1])
    >>> orbit_counts(4, [(0, 1), (1, 2), (2, 0), (2, 3)], [edge, wedge])
    [[2, 1, 0], [2, 1, 0], [3, 0, 2], [1, 2, 0]]
    """
    joined = {frozenset(edge) for edge in edges}
    counts = [[0] * (1 + max(max(orbits) for _, orbits in graphlets)) for _ in range(num_vertices)]
    for shape, orbits in graphlets:
        size = len(orbits)
        for chosen in combinations(range(num_vertices), size):
            within = {pair for pair in joined if pair <= set(chosen)}
            if len(within) != len(shape):
                continue
            for order in permutations(chosen):
                if {frozenset((order[u], order[v])) for u, v in shape} == within:
                    for vertex, orbit in zip(order, orbits, strict=True):
                        counts[vertex][orbit] += 1
                    break
    return counts


def _embeddings_of(result: Embedding | frozenset[Embedding]) -> Collection[Embedding]:
    return result if isinstance(result, frozenset) else (result,)


def automorphisms(
    pattern_vertex_labels: Sequence[LabelChoice],
    pattern_edges: Sequence[PatternEdge],
    *,
    directed: bool = False,
    may_coincide: Collection[tuple[int, int]] = (),
    negated: Sequence[NegatedEdge] = (),
    comparisons: Sequence[Comparison] = (),
) -> set[tuple[int, ...]]:
    """All permutations of the query vertices that map the pattern to itself.

    A permutation sends vertex ``u`` to the entry at position ``u``. It must keep the label choice of every
    vertex, the set of query edges with their label choices and directions, the set of negated edges, and the
    set of pairs of vertices that may coincide. Label choices are compared as written: ``{1}`` and ``1`` are
    the same, ``{1, 2}`` and ``1`` are not, even on a graph without label 2. A query edge written twice is one
    query edge, unless a comparison of two elements names it. With such comparisons, some permutation of the
    query edges that they name, which goes with that of the vertices, must turn them into themselves. A span
    over all edges names none.

    Examples
    --------
    >>> sorted(automorphisms([None] * 3, [(0, 1, None, "follow"), (1, 2, None, "follow")]))
    [(0, 1, 2), (2, 1, 0)]
    """
    vertices = [_label_set(choice) for choice in pattern_vertex_labels]
    query = {
        (u, v, _label_set(choice), _resolved(kind, directed=directed)) for u, v, choice, kind in pattern_edges
    }
    whole = {_canonical(*edge) for edge in query}
    free = {frozenset(pair) for pair in may_coincide}
    absent = {_renamed_negated(one, range(len(vertices)), directed) for one in negated}
    listed = [
        (u, v, _label_set(choice), _resolved(kind, directed=directed)) for u, v, choice, kind in pattern_edges
    ]
    return {
        to
        for to in permutations(range(len(vertices)))
        if all(vertices[to[u]] == vertices[u] for u in range(len(vertices)))
        and {_canonical(to[u], to[v], labels, kind) for u, v, labels, kind in query} == whole
        and {frozenset((to[u], to[v])) for u, v in may_coincide} == free
        and {_renamed_negated(one, to, directed) for one in negated} == absent
        and _keeps_comparisons(to, listed, comparisons)
    }


def _renamed_negated(one: NegatedEdge, to: Sequence[int], directed: bool) -> frozenset[Any]:
    """Return a negated edge after a permutation: its ends in each order in which it can be written."""
    u, v, labels, kind = one
    ends = [
        ("any", _label_set(end.labels)) if isinstance(end, AnyVertex) else ("vertex", to[end])
        for end in (u, v)
    ]
    resolved = _resolved(kind, directed=directed)
    orders = [ends, ends[::-1]] if resolved is EdgeKind.EITHER else [ends]
    return frozenset((*order, _label_set(labels), resolved) for order in orders)


def _keeps_comparisons(
    to: tuple[int, ...],
    query: Sequence[tuple[int, int, frozenset[Label] | None, EdgeKind]],
    comparisons: Sequence[Comparison],
) -> bool:
    named = sorted(
        {
            position
            for one in comparisons
            if len(one) != 2
            for element, position, _ in (one[0], one[2])
            if element == "edge"
        }
    )
    places = [
        [edge for edge in named if _canonical(*query[edge]) == _canonical(to[u], to[v], labels, kind)]
        for u, v, labels, kind in (query[edge] for edge in named)
    ]
    whole = {_same_comparison(one) for one in comparisons}
    return any(
        {_same_comparison(_renamed(one, to, dict(zip(named, edges, strict=True)))) for one in comparisons}
        == whole
        for edges in product(*places)
        if len(set(edges)) == len(edges)
    )


def _renamed(one: Comparison, vertices: Sequence[int], edges: Mapping[int, int]) -> Comparison:
    if len(one) == 2:
        return one

    def of(operand: Operand) -> Operand:
        element, position, attribute = operand
        return element, (edges if element == "edge" else vertices)[position], attribute

    left, operator, right, factor, offset = one
    return of(left), operator, of(right), factor, offset


def _same_comparison(one: Comparison) -> Comparison:
    """Return a comparison in one of the two ways in which it can be written, if its factor is 1 or -1."""
    if len(one) == 2 or abs(one[3]) != 1:
        return one
    left, operator, right, factor, offset = one
    mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
    other = (
        (right, mirrored, left, factor, -offset) if factor == 1 else (right, operator, left, factor, offset)
    )
    return min(one, other)


class _Copies:
    """The copies that query edges may fall on."""

    def __init__(
        self,
        edges: Sequence[tuple[int, int]],
        labels: Sequence[Label] | None,
        query: Sequence[tuple[int, int, LabelChoice, EdgeKind]],
    ) -> None:
        # An undirected edge was resolved to either direction.
        self._edges = [tuple(ends) for ends in edges]
        self._labels = [DEFAULT_LABEL] * len(edges) if labels is None else labels
        self._query = query

    def choices(self, image: Embedding) -> product[tuple[int, ...]]:
        """Return all choices of a copy for each query edge."""
        return product(
            *(
                [
                    copy
                    for copy, ends in enumerate(self._edges)
                    if _accepts(labels, self._labels[copy])
                    and (
                        ends == (image[u], image[v])
                        or (kind is EdgeKind.EITHER and ends == (image[v], image[u]))
                    )
                ]
                for u, v, labels, kind in self._query
            )
        )


class _Judge:
    """The comparisons of a pattern with the attributes of a graph."""

    def __init__(self, comparisons: Sequence[Comparison], vertices: Attributes, edges: Attributes) -> None:
        self._comparisons = comparisons
        self._vertices = vertices
        self._edges = edges

    def holds(self, image: Embedding, choice: Sequence[int]) -> bool:
        """Whether all comparisons hold for a choice of copies."""
        return all(self._one_holds(one, image, choice) for one in self._comparisons)

    def _one_holds(self, one: Comparison, image: Embedding, choice: Sequence[int]) -> bool:
        if len(one) == 2:
            attribute, span = one
            values = [self._edges[attribute][copy] for copy in choice]
            if any(map(_is_missing, values)):
                return False
            return all(_compared(b, "<=", a, 1, span) for a in values for b in values)
        left, operator, right, factor, offset = one
        a, b = self._value(left, image, choice), self._value(right, image, choice)
        return not (_is_missing(a) or _is_missing(b)) and _compared(a, operator, b, factor, offset)

    def _value(self, operand: Operand, image: Embedding, choice: Sequence[int]) -> Any:
        element, position, attribute = operand
        if element == "edge":
            return self._edges[attribute][choice[position]]
        return self._vertices[attribute][image[position]]


def _compared(left: Any, operator: str, right: Any, factor: Any, offset: Any) -> bool:
    if not isinstance(left, (int, float)):
        return bool(_OPERATORS[operator](left, right))
    if isinstance(left, float) or isinstance(right, float):
        left, right, offset = float(left), float(right), float(Fraction(offset))
        if factor in (1, -1) and math.isfinite(left) and math.isfinite(right):
            return bool(_OPERATORS[operator](Fraction(left), factor * Fraction(right) + Fraction(offset)))
        return bool(
            _OPERATORS[operator](
                float(left), float(Fraction(factor)) * float(right) + float(Fraction(offset))
            )
        )
    return bool(_OPERATORS[operator](left, Fraction(factor) * right + Fraction(offset)))


def _is_missing(value: Any) -> bool:
    return value is None or value != value


def _is_embedding(
    image: Embedding,
    query: Sequence[tuple[int, int, LabelChoice, EdgeKind]],
    arcs: Arcs,
    semantics: Semantics,
    free: AbstractSet[frozenset[int]],
) -> bool:
    if semantics is not Semantics.HOMOMORPHISM and not _is_injective(image, free):
        return False
    if not all(_has_witness(image[u], image[v], labels, kind, arcs) for u, v, labels, kind in query):
        return False
    return semantics is not Semantics.INDUCED or _is_induced(image, query, arcs)


def _is_there(
    image: Embedding,
    source: int | AnyVertex,
    target: int | AnyVertex,
    labels: LabelChoice,
    kind: EdgeKind,
    arcs: Arcs,
    labels_of_vertices: Sequence[Label],
) -> bool:
    """Return whether a negated edge has a witness."""
    sources, targets = (
        [vertex for vertex, label in enumerate(labels_of_vertices) if _accepts(end.labels, label)]
        if isinstance(end, AnyVertex)
        else [image[end]]
        for end in (source, target)
    )
    return any(_has_witness(u, v, labels, kind, arcs) for u in sources for v in targets)


def _is_injective(image: Embedding, free: AbstractSet[frozenset[int]]) -> bool:
    """Return whether all pairs of query vertices but the free ones have different data vertices."""
    return all(image[u] != image[v] or {u, v} in free for u, v in combinations(range(len(image)), 2))


def _has_witness(source: int, target: int, labels: LabelChoice, kind: EdgeKind, arcs: Arcs) -> bool:
    witnesses = set(arcs.get((source, target), ()))
    if kind is EdgeKind.EITHER:
        witnesses |= arcs.get((target, source), frozenset())
    return any(_accepts(labels, label) for label in witnesses)


def _is_induced(
    image: Embedding, query: Sequence[tuple[int, int, LabelChoice, EdgeKind]], arcs: Arcs
) -> bool:
    """Return whether data arcs between images exist only where the pattern has an edge, of any label."""
    allowed = {(u, v) for u, v, _, _ in query}
    allowed |= {(v, u) for u, v, _, kind in query if kind is EdgeKind.EITHER}
    positions = range(len(image))
    return all(
        (u, v) in allowed or (image[u], image[v]) not in arcs for u in positions for v in positions if u != v
    )


def _arcs(
    edges: Sequence[tuple[int, int]], edge_labels: Sequence[Label] | None, *, directed: bool
) -> dict[tuple[int, int], set[Label]]:
    arcs: defaultdict[tuple[int, int], set[Label]] = defaultdict(set)
    labels = [DEFAULT_LABEL] * len(edges) if edge_labels is None else edge_labels
    for (source, target), label in zip(edges, labels, strict=True):
        if source == target:
            raise ValueError(f"self-loop at vertex {source}")
        arcs[source, target].add(label)
        if not directed:
            arcs[target, source].add(label)
    return dict(arcs)


def _resolved(kind: EdgeKind | str, *, directed: bool) -> EdgeKind:
    """Return the kind on this graph: an arc, or either direction (always the latter if undirected)."""
    kind = EdgeKind(kind)
    if directed:
        return EdgeKind.ARC if kind is EdgeKind.FOLLOW else kind
    if kind is EdgeKind.ARC:
        raise ValueError("an arc cannot be asked of an undirected graph")
    return EdgeKind.EITHER


def _canonical(
    u: int, v: int, labels: frozenset[Label] | None, kind: EdgeKind
) -> tuple[int, int, frozenset[Label] | None, EdgeKind]:
    """Return a query edge with sorted ends if its direction does not matter."""
    return (min(u, v), max(u, v), labels, kind) if kind is EdgeKind.EITHER else (u, v, labels, kind)


def _accepts(choice: LabelChoice, label: Label) -> bool:
    accepted = _label_set(choice)
    return accepted is None or label in accepted


def _label_set(choice: LabelChoice) -> frozenset[Label] | None:
    if choice is None:
        return None
    return frozenset(choice) if isinstance(choice, AbstractSet) else frozenset({choice})
