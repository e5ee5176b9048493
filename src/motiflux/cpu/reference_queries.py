"""The oracle of queries: paths of variable length, optional edges, OR, and disconnected parts, by trying all.

It makes no patterns of a query: it tries every map of the vertices that the query names, follows all paths
between their images, evaluates the condition on the row, and adds optional edges row by row. Its only imports
are words for options and the helpers of `motiflux.cpu.reference`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations, product
from typing import Any, TypeAlias

from motiflux.cpu.reference import (
    _OPERATORS,
    Arcs,
    EdgeKind,
    LabelChoice,
    NegatedEdge,
    Threshold,
    _accepts,
    _arcs,
    _is_there,
    _renamed_negated,
    _resolved,
    degrees,
)
from motiflux.types import DEFAULT_LABEL, Label, Semantics


@dataclass(frozen=True)
class Link:
    """An edge between two named vertices, or a path if it has lengths.

    Parameters
    ----------
    lengths
        The least and the greatest number of edges of a path; None for an edge.
    walks
        Whether the inner vertices of the path may be any vertices.
    increasing
        The name of an attribute of edges that increases along the path: a copy of each edge has to be chosen
        so that it does.
    without
        Of an optional edge: edges that must not be there, of its two vertices.
    """

    source: int
    target: int
    labels: LabelChoice = None
    kind: EdgeKind | str = EdgeKind.FOLLOW
    lengths: tuple[int, int] | None = None
    walks: bool = False
    increasing: str | None = None
    without: tuple[NegatedEdge, ...] = ()


Formula: TypeAlias = "tuple[str, Any]"
"""``("and", formulas)``, ``("or", formulas)``, ``("not", formula)``, ``("atom", (vertex, name, value))``.

An atom says that the attribute of the vertex equals the value, which is unknown where it is missing;
``("degree", (vertex, direction, labels, number))`` that the vertex has so many edges or more;
``("absent", negated_edge)`` that an edge is not there.
"""
Row: TypeAlias = "tuple[tuple[int | None, ...], tuple[tuple[int, ...] | None, ...]]"
"""The images of named vertices, and the vertices of each path; None where an optional one is missing."""


@dataclass(frozen=True)
class Data:
    """A data graph, as `motiflux.cpu.reference` takes it."""

    num_vertices: int
    edges: Sequence[tuple[int, int]]
    directed: bool = False
    vertex_labels: Sequence[Label] | None = None
    edge_labels: Sequence[Label] | None = None
    vertex_attributes: Mapping[str, Sequence[Any]] | None = None
    edge_attributes: Mapping[str, Sequence[Any]] | None = None


def rows(
    data: Data,
    vertices: Sequence[LabelChoice],
    links: Sequence[Link],
    *,
    optional: Sequence[Link] = (),
    negated: Sequence[NegatedEdge] = (),
    formula: Formula | None = None,
    semantics: Semantics | str = Semantics.ISOMORPHISM,
) -> set[Row]:
    """Return all rows of a query.

    Parameters
    ----------
    vertices
        The labels that each named vertex accepts. Those that only optional edges name are optional.
    optional
        Edges and paths that need not be there, in order. An edge to a new vertex gives a row for each vertex
        that it can be, and if there is none, one in which it is missing; so is an edge whose end is missing.
        A path gives a row for each path, also between known vertices, and one without if there is none.
    negated
        Edges that must not be there, between vertices that are not optional, or to any vertex.
    formula
        A condition on the named vertices.
    semantics
        ``"isomorphism"``: all vertices of a row are different, but those of walks. ``"homomorphism"``: none
        need be. ``"induced"``: as isomorphism, and there are arcs between vertices only where the row has an
        edge in that direction, or where an optional edge between two vertices that are not optional could be.

    Examples
    --------
    >>> ring = Data(4, [(0, 1), (1, 2), (2, 3), (3, 0)], directed=True)
    >>> sorted(rows(ring, [None, None], [Link(0, 1, lengths=(1, 2))]))[:2]
    [((0, 1), ((0, 1),)), ((0, 2), ((0, 1, 2),))]
    >>> chain = Data(3, [(0, 1), (1, 2)], directed=True)
    >>> sorted(rows(chain, [None] * 3, [Link(0, 1)], optional=[Link(1, 2)]))
    [((0, 1, 2), ()), ((1, 2, None), ())]
    """
    differ = Semantics(semantics) is not Semantics.HOMOMORPHISM
    induced = Semantics(semantics) is Semantics.INDUCED
    arcs = _arcs(data.edges, data.edge_labels, directed=data.directed)
    named = sorted({end for link in links for end in (link.source, link.target)})
    labels = [DEFAULT_LABEL] * data.num_vertices if data.vertex_labels is None else data.vertex_labels
    fits = [
        [vertex for vertex in range(data.num_vertices) if _accepts(choice, labels[vertex])]
        for choice in vertices
    ]
    absent = [_kind(one, data) for one in negated]
    counted = {} if formula is None else _degrees_in(formula, data)
    found: set[Row] = set()
    for images in product(*(fits[vertex] for vertex in named)):
        row: list[int | None] = [None] * len(vertices)
        for vertex, image in zip(named, images, strict=True):
            row[vertex] = image
        if differ and len(set(images)) < len(images):
            continue
        if any(_is_there(tuple(row), *one, arcs, labels) for one in absent):  # type: ignore[arg-type]
            continue
        paths = [list(_paths(data, arcs, link, row)) for link in links]
        for chosen in product(*paths):
            inner = [
                v for link, path in zip(links, chosen, strict=True) if not link.walks for v in path[1:-1]
            ]
            if differ and len({*inner, *images}) < len(inner) + len(images):
                continue
            listed = tuple(path for link, path in zip(links, chosen, strict=True) if link.lengths)
            if induced:
                free = [(link, tuple(row[end] for end in (link.source, link.target))) for link in optional]
                walked = [*zip(links, chosen, strict=True), *(one for one in free if None not in one[1])]
                if not _is_induced(data, arcs, walked, [*images, *inner]):  # type: ignore[arg-type]
                    continue
            found |= {
                (tuple(whole), (*listed, *more))
                for whole, more in _with_optional(
                    data, arcs, fits, row, inner, optional, differ=differ, induced=induced
                )
                if formula is None or _truth(formula, whole, data, counted, arcs) is True
            }
    return found


def distinct_rows(
    found: Collection[Row], returned: Sequence[int], thresholds: Sequence[Threshold] = ()
) -> set[tuple[int | None, ...]]:
    """Return the different rows of the images of some named vertices.

    Each threshold ``(counted, operator, number)`` compares the number of different images of the vertices
    `counted`, together, in the rows that are one; where one of them is missing, there is no image.

    Examples
    --------
    >>> chain = Data(3, [(0, 1), (1, 2)], directed=True)
    >>> found = rows(chain, [None] * 3, [Link(0, 1)], optional=[Link(1, 2)])
    >>> sorted(distinct_rows(found, [1])), distinct_rows(found, [1], [([2], "=", 0)])
    ([(1,), (2,)], {(2,)})
    """
    of_row: dict[tuple[int | None, ...], list[tuple[int | None, ...]]] = {}
    for images, _ in found:
        of_row.setdefault(tuple(images[v] for v in returned), []).append(images)
    return {
        row
        for row, all_images in of_row.items()
        if all(
            _OPERATORS[operator](
                len({one for images in all_images if None not in (one := tuple(images[v] for v in counted))}),
                number,
            )
            for counted, operator, number in thresholds
        )
    }


def _paths(data: Data, arcs: Arcs, link: Link, row: Sequence[int | None]) -> Iterator[tuple[int, ...]]:
    """Yield the vertices of each path that serves a link: for an edge, of both ends."""
    first, last = row[link.source], row[link.target]
    assert first is not None
    assert last is not None
    least, most = link.lengths or (1, 1)
    for length in range(least, most + 1):
        if link.lengths and length == 1 and link.source == link.target:
            continue
        for inner in product(range(data.num_vertices), repeat=length - 1):
            path = (first, *inner, last)
            if all(_served(arcs, pair, link, directed=data.directed) for pair in pairwise(path)) and (
                link.increasing is None or _can_increase(data, link, path)
            ):
                yield path


def _served(arcs: Arcs, pair: tuple[int, int], link: Link, *, directed: bool) -> bool:
    ways = [pair]
    if _resolved(link.kind, directed=directed) is EdgeKind.EITHER:
        ways.append((pair[1], pair[0]))
    return any(_accepts(link.labels, label) for way in ways for label in arcs.get(way, ()))


def _can_increase(data: Data, link: Link, path: Sequence[int]) -> bool:
    """Whether a copy of each edge of a path can be chosen so that the attribute increases."""
    assert data.edge_attributes is not None
    assert link.increasing is not None
    values = data.edge_attributes[link.increasing]
    labels = [DEFAULT_LABEL] * len(data.edges) if data.edge_labels is None else data.edge_labels
    either = _resolved(link.kind, directed=data.directed) is EdgeKind.EITHER
    copies = []
    for source, target in pairwise(path):
        ways = {(source, target), (target, source)} if either else {(source, target)}
        copies.append(
            [
                values[at]
                for at, edge in enumerate(data.edges)
                if tuple(edge) in ways and _accepts(link.labels, labels[at])
            ]
        )
    return any(
        len(choice) == 1
        or (all(one is not None for one in choice) and all(a < b for a, b in pairwise(choice)))
        for choice in product(*copies)
    )


def _with_optional(
    data: Data,
    arcs: Arcs,
    fits: Sequence[Sequence[int]],
    row: Sequence[int | None],
    inner: Collection[int],
    optional: Sequence[Link],
    *,
    differ: bool,
    induced: bool,
) -> list[tuple[list[int | None], list[tuple[int, ...] | None]]]:
    """Return the rows with all optional edges and paths, and the vertices of each optional path."""
    labels = [DEFAULT_LABEL] * data.num_vertices if data.vertex_labels is None else data.vertex_labels
    found: list[tuple[list[int | None], list[tuple[int, ...] | None]]] = [(list(row), [])]
    for link in optional:
        longer = []
        for one, paths in found:
            missing = (one, [*paths, None] if link.lengths else paths)
            ends = {end for end in (link.source, link.target) if one[end] is None}
            if not ends <= _new_vertices(optional, link) or not (ends or link.lengths):
                longer.append(missing)
                continue
            taken = {vertex for vertex in one if vertex is not None} | set(inner)
            taken |= {vertex for path in paths for vertex in path or ()}
            extended = []
            for vertex in fits[next(iter(ends))] if ends else (None,):
                whole = [*one]
                for new in ends:
                    whole[new] = vertex
                if any(
                    _is_there(whole, *_kind(one, data), arcs, labels)  # type: ignore[arg-type]
                    for one in link.without
                ):
                    continue
                for path in _paths(data, arcs, link, whole):
                    fresh = [*path[1:-1], *(() if vertex is None else (vertex,))]
                    if induced and not _is_induced(data, arcs, [(link, path)], [*taken, *fresh], fresh):
                        continue
                    if not differ or (len(set(fresh)) == len(fresh) and taken.isdisjoint(fresh)):
                        extended.append((whole, [*paths, path] if link.lengths else paths))
            longer += extended or [missing]
        found = longer
    return found


def _is_induced(
    data: Data,
    arcs: Arcs,
    paths: Sequence[tuple[Link, Sequence[int]]],
    vertices: Sequence[int],
    among: Sequence[int] | None = None,
) -> bool:
    """Whether paths have all arcs between some vertices, or those of them that have an end in `among`."""
    allowed = set()
    for link, path in paths:
        for pair in pairwise(path):
            allowed.add(pair)
            if _resolved(link.kind, directed=data.directed) is EdgeKind.EITHER:
                allowed.add(pair[::-1])
    return not any(
        (u, v) in arcs and (u, v) not in allowed and (among is None or u in among or v in among)
        for u in vertices
        for v in vertices
    )


def _kind(one: NegatedEdge, data: Data) -> NegatedEdge:
    """Return a negated edge with the direction that it has in the graph."""
    u, v, choice, kind = one
    return u, v, choice, _resolved(kind, directed=data.directed)


def _new_vertices(optional: Sequence[Link], link: Link) -> set[int]:
    """Return the vertices that an optional edge is the first to name."""
    before = {end for one in optional[: optional.index(link)] for end in (one.source, one.target)}
    return {link.source, link.target} - before


def _degrees_in(formula: Formula, data: Data) -> dict[tuple[Any, Any], list[int]]:
    """Return the degrees of all vertices of each kind that a formula names, by direction and labels."""
    kind, content = formula
    if kind == "degree":
        _, direction, labels, _ = content
        numbers = degrees(
            data.num_vertices,
            data.edges,
            directed=data.directed,
            edge_labels=data.edge_labels,
            direction=direction,
            labels=labels,
        )
        return {(direction, labels): numbers}
    parts = () if kind in ("atom", "absent") else (content,) if kind == "not" else content
    found: dict[tuple[Any, Any], list[int]] = {}
    for part in parts:
        found |= _degrees_in(part, data)
    return found


def _truth(
    formula: Formula,
    row: Sequence[int | None],
    data: Data,
    counted: Mapping[tuple[Any, Any], Sequence[int]],
    arcs: Arcs,
) -> bool | None:
    """Return the truth of a formula: None where it is unknown."""
    kind, content = formula
    if kind == "degree":
        vertex, direction, labels, number = content
        image = row[vertex]
        return None if image is None else counted[direction, labels][image] >= number
    if kind == "atom":
        vertex, attribute, value = content
        image = row[vertex]
        found = None if image is None else (data.vertex_attributes or {})[attribute][image]
        return None if found is None else bool(found == value)
    if kind == "absent":
        labels = [DEFAULT_LABEL] * data.num_vertices if data.vertex_labels is None else data.vertex_labels
        return not _is_there(row, *_kind(content, data), arcs, labels)  # type: ignore[arg-type]
    if kind == "not":
        inner = _truth(content, row, data, counted, arcs)
        return None if inner is None else not inner
    truths = [_truth(part, row, data, counted, arcs) for part in content]
    decisive = kind == "or"
    if decisive in truths:
        return decisive
    return None if None in truths else not decisive


def occurrences(
    data: Data,
    vertices: Sequence[LabelChoice],
    links: Sequence[Link],
    *,
    optional: Sequence[Link] = (),
    negated: Sequence[NegatedEdge] = (),
    formula: Formula | None = None,
) -> int:
    """Return the number of occurrences: rows that some way to turn the query into itself exchanges are one.

    Such a way maps the vertices of one row, those inside of paths included, to those of another, and keeps
    labels, edges, negated edges, the formula, and which optional edges are missing, but for those whose end
    an earlier optional edge did not find.
    """
    found = rows(data, vertices, links, optional=optional, negated=negated, formula=formula)
    forms = {
        row: _form(row, vertices, links, optional, negated, formula, directed=data.directed) for row in found
    }
    images = {row: _images(row) for row in found}
    at = {(forms[row], images[row]): row for row in found}
    left, number = set(found), 0
    shapes = set(forms.values())
    while left:
        row = left.pop()
        number += 1
        form, image = forms[row], images[row]
        size = len(image)
        for order in permutations(range(size)):
            # Vertex v of the other row has the place of order[v] in this one.
            moved = _moved(form, order)
            if moved in shapes:
                other = [0] * size
                for vertex, place in enumerate(order):
                    other[place] = image[vertex]
                left.discard(at.get((moved, tuple(other)), row))
    return number


def _images(row: Row) -> tuple[int, ...]:
    """Return the images of all vertices of a row: named ones that are there, then those inside of paths."""
    named, paths = row
    inner = (vertex for path in paths if path is not None for vertex in path[1:-1])
    return (*(image for image in named if image is not None), *inner)


_Form: TypeAlias = tuple[Any, ...]


def _form(
    row: Row,
    vertices: Sequence[LabelChoice],
    links: Sequence[Link],
    optional: Sequence[Link],
    negated: Sequence[NegatedEdge],
    formula: Formula | None,
    *,
    directed: bool,
) -> _Form:
    """Return labels, edges, increasing paths, missing and negated edges, and formula: vertices by number."""
    named, paths = row
    place = {vertex: at for at, vertex in enumerate(v for v, image in enumerate(named) if image is not None)}
    labels: list[Any] = [_choice(vertices[vertex]) for vertex in place]
    edges, chains = set(), set()
    left = iter(paths)
    for link in links:
        through = [place[link.source], place[link.target]]
        if link.lengths:
            through_all = next(left)
            assert through_all is not None
            inner = range(len(labels), len(labels) + len(through_all) - 2)
            labels += [None] * len(inner)
            through[1:1] = inner
        edges |= {_edge(pair, link, directed=directed) for pair in pairwise(through)}
        if link.increasing is not None and len(through) > 2:
            chains.add((tuple(through), link.increasing))
    missing = set()
    known = {end for link in links for end in (link.source, link.target)}
    for link in optional:
        fresh = {link.source, link.target} - known
        before = frozenset(place[v] for v in known if v in place) | frozenset(range(len(place), len(labels)))
        path = next(left) if link.lengths else None
        if path is not None:
            inner = range(len(labels), len(labels) + len(path) - 2)
            labels += [None] * len(inner)
            through = [place[link.source], *inner, place[link.target]]
            edges |= {_edge(pair, link, directed=directed) for pair in pairwise(through)}
            if link.increasing is not None and len(through) > 2:
                chains.add((tuple(through), link.increasing))
            negated = (*negated, *link.without)
        elif link.lengths is None and all(end in place for end in (link.source, link.target)):
            edges.add(_edge((place[link.source], place[link.target]), link, directed=directed))
            negated = (*negated, *link.without)
        elif any(end in place for end in (link.source, link.target)) and all(
            end in place or end in fresh for end in (link.source, link.target)
        ):
            ends = tuple(place.get(end) for end in (link.source, link.target))
            kind = _resolved(link.kind, directed=directed)
            new = [_choice(vertices[end]) for end in fresh]
            turns = kind is EdgeKind.EITHER and link.increasing is None
            shown = frozenset(ends) if turns else ends
            roles: dict[int, Any] = {end: "new" if end in fresh else place[end] for end in fresh | set(place)}
            without = frozenset(_renamed_negated(one, roles, directed) for one in link.without)  # type: ignore[arg-type]
            of_path = (link.lengths, link.increasing)
            missing.add((shown, _choice(link.labels), str(kind), tuple(new), of_path, without, before))
        known |= fresh
    return (
        tuple(labels),
        frozenset(edges),
        frozenset(chains),
        frozenset(missing),
        frozenset(_renamed_negated(one, place, directed) for one in negated),  # type: ignore[arg-type]
        _simplified(_formula_form(formula, place, directed=directed)),
    )


def _edge(pair: Sequence[int], link: Link, *, directed: bool) -> tuple[Any, ...]:
    either = _resolved(link.kind, directed=directed) is EdgeKind.EITHER
    return frozenset(pair) if either else tuple(pair), _choice(link.labels)


def _choice(choice: LabelChoice) -> Any:
    if choice is None:
        return None
    return frozenset(choice) if isinstance(choice, (set, frozenset)) else frozenset({choice})


def _formula_form(formula: Formula | None, place: Mapping[int, int], *, directed: bool) -> Any:
    if formula is None:
        return None
    kind, content = formula
    if kind in ("atom", "degree"):
        vertex, *rest = content
        return kind, place.get(vertex), tuple(rest)
    if kind == "absent":
        return kind, _renamed_negated(content, place, directed)  # type: ignore[arg-type]
    if kind == "not":
        return kind, _formula_form(content, place, directed=directed)
    return kind, frozenset(_formula_form(part, place, directed=directed) for part in content)


def _simplified(form: Any) -> Any:
    """Return the form of a formula without parts that others imply: A OR (A AND B) is A.

    Parts about one vertex alone absorb none of each other: they are its condition.
    """
    return None if form is None else _without_absorbed(_flat(form))


def _flat(form: Any) -> Any:
    """Return a formula without nested parts of one kind, without a part that stands alone, and NOT inside."""
    if form[0] == "not":
        kind, content = form[1][:2]
        if _is_of_one_vertex(form) or kind not in ("and", "or", "not"):
            return form[0], _flat(form[1])
        if kind == "not":
            return _flat(content)
        return _joined("or" if kind == "and" else "and", (_flat(("not", one)) for one in content))
    return _joined(form[0], map(_flat, form[1])) if form[0] in ("and", "or") else form


def _joined(kind: str, parts: Iterable[Any]) -> Any:
    found = set[Any]()
    for part in parts:
        found |= part[1] if part[0] == kind else {part}
    return next(iter(found)) if len(found) == 1 else (kind, frozenset(found))


def _without_absorbed(form: Any) -> Any:
    if form[0] not in ("and", "or") or _is_of_one_vertex(form):
        return form
    kind, parts = form[0], frozenset(map(_without_absorbed, form[1]))
    other = "and" if kind == "or" else "or"

    def implied(one: Any) -> bool:
        return one[0] == other and not _is_of_one_vertex(one) and not parts.isdisjoint(one[1])

    return _joined(kind, (one for one in parts if not implied(one)))


def _is_of_one_vertex(form: Any) -> bool:
    return len(_subjects(form)) == 1


def _subjects(form: Any) -> set[Any]:
    """Return the vertices that a formula is about, and the negated edges."""
    kind, content = form[:2]
    if kind in ("and", "or"):
        return set().union(*map(_subjects, content))
    return _subjects(content) if kind == "not" else {(kind == "absent", content)}


def _moved(form: _Form, order: Sequence[int]) -> _Form:
    """Return a form with other numbers for its vertices."""
    labels, edges, chains, missing, negated, formula = form
    moved: list[Any] = [None] * len(labels)
    for vertex, place in enumerate(order):
        moved[place] = labels[vertex]

    def of(part: Any) -> Any:
        if isinstance(part, frozenset):
            return frozenset(None if vertex is None else order[vertex] for vertex in part)
        return tuple(None if vertex is None else order[vertex] for vertex in part)

    def of_negated(order_of_ends: Any) -> Any:
        ends = (
            (kind, order[end]) if kind == "vertex" and end != "new" else (kind, end)
            for kind, end in order_of_ends[:2]
        )
        return *ends, *order_of_ends[2:]

    def of_all_negated(edges: Any) -> Any:
        return frozenset(frozenset(map(of_negated, one)) for one in edges)

    def of_formula(part: Any) -> Any:
        if part is None:
            return None
        if part[0] in ("atom", "degree"):
            return part[0], None if part[1] is None else order[part[1]], part[2]
        if part[0] == "absent":
            return part[0], frozenset(map(of_negated, part[1]))
        if part[0] == "not":
            return part[0], of_formula(part[1])
        return part[0], frozenset(map(of_formula, part[1]))

    return (
        tuple(moved),
        frozenset((of(pair), choice) for pair, choice in edges),
        frozenset((of(through), attribute) for through, attribute in chains),
        frozenset(
            (of(ends), *rest, of_all_negated(without), of(before)) for ends, *rest, without, before in missing
        ),
        of_all_negated(negated),
        of_formula(formula),
    )
