"""The oracle: exact matching by trying every map.

It has no plans and prunes by labels only: every map of query vertices to label-compatible data vertices is
built and compared with the definition in ``docs/reference/semantics.md``. It is meant for graphs of a dozen
vertices and patterns of at most five or six vertices; it has to be obviously correct, not fast. It reads
plain sequences and imports nothing of motiflux but the words for options, so that no defect of storage,
planning or search can affect both sides of a comparison.

A data graph consists of ``num_vertices`` (the vertices are ``0..num_vertices - 1``), ``edges`` as pairs, and
optionally one label per vertex and one per edge. A pattern consists of one label choice per query vertex and
a sequence of `PatternEdge`. A label choice is ``None`` (any label), one label, or a set of labels.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import StrEnum
from itertools import combinations, permutations, product
from typing import TypeAlias

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
Embedding: TypeAlias = tuple[int, ...]
"""The data vertex of query vertex 0, of query vertex 1, and so on."""
Arcs: TypeAlias = Mapping[tuple[int, int], AbstractSet[Label]]
"""Labels of all data edges from the first vertex to the second; an undirected edge has both directions."""


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
    return {image for image in product(*candidates) if _is_embedding(image, query, arcs, semantics, free)}


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
    )
    group = automorphisms(pattern_vertex_labels, pattern_edges, directed=directed)
    return {frozenset(tuple(image[u] for u in permutation) for permutation in group) for image in found}


def automorphisms(
    pattern_vertex_labels: Sequence[LabelChoice],
    pattern_edges: Sequence[PatternEdge],
    *,
    directed: bool = False,
    may_coincide: Collection[tuple[int, int]] = (),
) -> set[tuple[int, ...]]:
    """All permutations of the query vertices that map the pattern to itself.

    A permutation sends vertex ``u`` to the entry at position ``u``. It must keep the label choice of
    every vertex, the set of query edges with their label choices and directions, and the set of pairs
    of vertices that may coincide. Label choices are compared as written: ``{1}`` and ``1`` are the
    same, ``{1, 2}`` and ``1`` are not, even on a graph without label 2. A query edge written twice is
    one query edge.

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
    return {
        to
        for to in permutations(range(len(vertices)))
        if all(vertices[to[u]] == vertices[u] for u in range(len(vertices)))
        and {_canonical(to[u], to[v], labels, kind) for u, v, labels, kind in query} == whole
        and {frozenset((to[u], to[v])) for u, v in may_coincide} == free
    }


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
