"""From the syntax tree of a query to its shapes: one for each choice of lengths and of optional edges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise, product
from math import prod
from typing import TypeVar

from motiflux.pattern.parser.resolve import elements_of
from motiflux.pattern.parser.syntax import (
    Details,
    EdgeText,
    Joined,
    PatternText,
    Symbol,
    Test,
    TextError,
    VertexText,
)
from motiflux.pattern.pattern import Pattern
from motiflux.pattern.queries.alternatives import (
    beside,
    conditions_of,
    disjoint_cases,
    formula_of,
    is_formula,
    normal_formula,
)
from motiflux.pattern.queries.carried import check_carried
from motiflux.pattern.queries.marks import absent_edges, absent_marks, formula_marks
from motiflux.pattern.queries.optional import absent_of, names_checked
from motiflux.pattern.queries.parts import cases_of, position_of, skeleton_of
from motiflux.pattern.queries.rewriting import for_edges, is_monotone
from motiflux.pattern.queries.shapes import Absent, AbsentPath, Case, LonePath, PathPlace, Shape
from motiflux.pattern.queries.written import (
    OptionalPath,
    Step,
    Written,
    WrittenPath,
    edge_name,
    lengths_of,
    vertex_name,
    written_of,
)
from motiflux.types import MAX_PATTERN_VERTICES
from motiflux.units import quantity

MAX_PATTERNS = 512
"""Most patterns of a query."""


def is_query(tree: PatternText) -> bool:
    """Whether a text stands for several patterns, or has columns that a pattern has not."""
    edges = [part for path in tree.paths for part in path if isinstance(part, EdgeText)]
    return (
        any(edge.details.length is not None for edge in edges)
        or any(mark is not None for mark in tree.marks)
        or bool(tree.optionals)
        or any(is_formula(test) or is_monotone(test) for test in conditions_of(tree.where))
        or not _is_connected(tree)
    )


Q = TypeVar("Q")


def expanded(tree: PatternText, text: str, name: str, query_class: Callable[..., Q]) -> Q:
    """Return the query of a text, as an object of `query_class`.

    Raises
    ------
    TextError
        A length or an optional part that no query can have, or too many patterns; and as for patterns.
    """
    check_carried(tree)
    written = written_of(tree)
    paths = _path_columns(written)
    ranges = [lengths_of(step) for step in _steps(written) if step.length]
    options = [_options(one) for one in written.optionals]
    number = prod(map(len, ranges)) * prod(map(len, options))
    if number > MAX_PATTERNS:
        told = " x ".join(str(len(one)) for one in ranges) + " lengths" if ranges else ""
        told += f"{', ' if ranges else ''}{quantity(len(options), 'OPTIONAL part')}" if options else ""
        raise TextError(f"expected at most {MAX_PATTERNS} patterns, found {number:,} ({told})", 0)
    shapes = []
    for lengths in product(*ranges):
        for present in product(*options):
            shape = _Drawing(written, paths).shape(lengths, present)
            if shape is not None:
                shapes.append(shape)
    if not shapes:
        every = [*_steps(written), *(step for one in written.optionals for step in one.path.steps)]
        place = next(step.edge.details.length for step in every if step.edge.details.length)
        raise TextError("expected a length of at least 2 from a vertex to itself", place.start)
    fixed = [step for step in _steps(written) if step.length is None]
    fixed += [step for optional in written.optionals for step in optional.path.steps if step.length is None]
    return query_class(
        text,
        tuple(shapes),
        written.vertex_names,
        tuple(map(edge_name, fixed)),
        tuple(column.name for column in paths),
        name,
    )


_Present = tuple[int, ...] | None
"""The lengths of the steps of an optional path; None where it is missing."""


def _options(optional: OptionalPath) -> list[_Present]:
    return [*optional.lengths, None]


@dataclass(frozen=True, slots=True)
class _PathColumn:
    """A path of the rows: a whole path of the text, or one step of it; optional paths come after others."""

    name: str
    path: int
    step: int | None


class _Drawing:
    """A shape under construction: the text with one choice of lengths and of optional edges.

    Attributes
    ----------
    paths
        The paths of the shape, with a name for each vertex.
    position
        The position of each vertex, by its name.
    edge_names
        The name of each edge, empty for one without.
    """

    def __init__(self, written: Written, columns: Sequence[_PathColumn]) -> None:
        self._written = written
        self._columns = columns
        self._given: set[str] = set()
        self._walking: set[str] = set()
        self.paths: list[tuple[VertexText | EdgeText, ...]] = []
        self.position: dict[str, int] = {}
        self.edge_names: list[str] = []

    def shape(self, lengths: tuple[int, ...], present: tuple[_Present, ...]) -> Shape | None:
        """Return the shape; None if a path of this length would be a self-loop, or an edge has no end."""
        left = iter(lengths)
        steps: list[list[PathPlace | None]] = [self._add_path(path, left) for path in self._written.paths]
        if any(place is None for places in steps for place in places):
            return None
        edges = self._fixed(steps)
        absent: list[Absent | AbsentPath] = []
        numbers = []
        for optional, chosen in zip(self._written.optionals, present, strict=True):
            known = all(
                vertex_name(one) in self.position or vertex_name(one) in optional.fresh
                for one in optional.path.vertices
            )
            places: list[PathPlace | None] = [None for _ in optional.path.steps]
            if chosen is not None:
                if not known:
                    return None
                names_checked(optional)
                places = self._add_path(optional.path, iter(chosen))
                if None in places:
                    return None
            elif known:
                absent.append(self._absent(optional))
            steps.append(places)
            edges += [
                None if place is None else place.edges[0]
                for step, place in zip(optional.path.steps, places, strict=True)
                if step.length is None
            ]
            numbers.append(sum(len(place.edges) for place in places if place is not None))
        found = [_place(column, steps) for column in self._columns]
        named = {
            column.name: tuple(self.edge_names[edge] for edge in place.edges)
            for column, place in zip(self._columns, found, strict=True)
            if column.name and place is not None
        }
        tests = list(_conditions(self._written.tree.where, named))
        for optional, chosen in zip(self._written.optionals, present, strict=True):
            if chosen is not None:
                tests += _conditions(optional.text.where, named)
        if len(self.position) > MAX_PATTERN_VERTICES:
            told = ", ".join(map(str, (*lengths, *(length for one in present for length in one or ()))))
            raise TextError(
                f"expected at most {MAX_PATTERN_VERTICES} query vertices, found {len(self.position)} with the"
                f" lengths {told}",
                0,
            )
        return self._shape(tests, edges, found, absent, (*lengths, *numbers))

    def _absent(self, optional: OptionalPath) -> Absent | AbsentPath:
        """Return an optional path that is not there."""
        names_checked(optional)
        fixed = {name: at for name, at in self.position.items() if name not in self._walking}
        paths = [_Drawing(self._written, ()).alone(optional, lengths) for lengths in optional.lengths]
        there = [path for path in paths if path is not None]
        if not there:
            place = next(step.edge.details.length for step in optional.path.steps if step.edge.details.length)
            raise TextError("expected a length of at least 2 from a vertex to itself", place.start)
        return absent_of(optional, there, fixed)

    def alone(self, optional: OptionalPath, lengths: tuple[int, ...]) -> LonePath | None:
        """Return an optional path of some lengths as a pattern of its own; None for a self-loop."""
        places = [place for place in self._add_path(optional.path, iter(lengths)) if place is not None]
        if len(places) < len(optional.path.steps):
            return None
        named = {
            name: tuple(self.edge_names[edge] for edge in place.edges)
            for step, place in zip(optional.path.steps, places, strict=True)
            if step.length and (name := edge_name(step))
        }
        tree = replace(
            self._written.tree,
            paths=tuple(self.paths),
            where=_joined(list(_conditions(optional.text.where, named))),
            spans=(),
            marks=(),
            optionals=(),
            negated=(),
        )
        elements = elements_of(tree)
        if elements.may_coincide:
            raise TextError(
                "expected different vertices after OPTIONAL, found may_equal", optional.text.start
            )
        pattern = Pattern(
            elements.vertices, elements.edges, comparisons=elements.comparisons, negated=elements.negated
        )
        edges = (position_of(edge, pattern) for edge in elements.edges)
        return LonePath(pattern, _whole(places).vertices, tuple(edges))

    def _shape(
        self,
        tests: Sequence[Test],
        edges: Sequence[int | None],
        places: Sequence[PathPlace | None],
        absent: Sequence[Absent | AbsentPath],
        chosen: tuple[int, ...],
    ) -> Shape:
        formulas = [normal_formula(formula_of(test)) for test in tests if is_formula(test)]
        plain = [test for test in tests if not is_formula(test)]
        left = beside(formulas, plain, frozenset(self.position))
        choices = disjoint_cases(left, frozenset(self.position)) if left else [[[]]]
        if len(choices) == 1 and len(choices[0]) == 1:  # no formula, or one that is a conjunction
            plain, formulas, choices = [*plain, *choices[0][0]], [], [[[]]]
        tree = replace(self._written.tree, paths=tuple(self.paths), marks=())
        whole = elements_of(replace(tree, where=_joined(plain)))
        walking = frozenset(self.position[name] for name in self._walking)
        cases: list[Case] = []
        for alternatives in choices:
            elements = [elements_of(replace(tree, where=_joined([*plain, *one]))) for one in alternatives]
            cases += cases_of(elements, walking)
        marks = formula_marks(formulas, self.position, self.edge_names)
        marks += absent_marks(absent, len(marks))
        return Shape(
            tuple(cases),
            tuple(self.position.get(name) for name in self._written.vertex_names),
            tuple(edges),
            tuple(places),
            skeleton_of(whole, walking, tuple(marks), absent_edges(absent)),
            tuple(absent),
            chosen,
        )

    def _add_path(self, path: WrittenPath, lengths: Iterator[int]) -> list[PathPlace | None]:
        """Add a path; return the place of each of its steps, None for a self-loop."""
        places: list[PathPlace | None] = []
        parts: list[VertexText | EdgeText] = [self._vertex(path.vertices[0])]
        for step, (start, end) in zip(path.steps, pairwise(path.vertices), strict=True):
            length = next(lengths) if step.length else 1
            if length == 1 and step.length and vertex_name(start) == vertex_name(end):
                places.append(None)
                continue
            first = len(self.edge_names)
            names = self._names_of_edges(step, path, length)
            through = [start, *(self._inner(step, end.start) for _ in range(length - 1)), self._vertex(end)]
            for name, vertex in zip(names, through[1:], strict=True):
                parts += [_edge(step.edge, name), vertex]
            self.edge_names += names
            vertices = tuple(self.position[vertex_name(one)] for one in through)
            places.append(PathPlace(vertices, tuple(range(first, first + length))))
        self.paths.append(tuple(parts))
        return places

    def _fixed(self, steps: Sequence[Sequence[PathPlace | None]]) -> list[int | None]:
        """Return the edges of the shape that the text writes as such."""
        return [
            place.edges[0]
            for path, places in zip(self._written.paths, steps, strict=True)
            for step, place in zip(path.steps, places, strict=True)
            if step.length is None and place is not None
        ]

    def _vertex(self, text: VertexText) -> VertexText:
        self.position.setdefault(vertex_name(text), len(self.position))
        return text

    def _inner(self, step: Step, start: int) -> VertexText:
        """Return a new vertex of a path of variable length."""
        name = self._unused("_")
        self.position[name] = len(self.position)
        if step.walks:
            self._walking.add(name)
        return VertexText(Details(Symbol(name, name, start), None, (), None), start)

    def _names_of_edges(self, step: Step, path: WrittenPath, length: int) -> list[str]:
        """Return names for the edges of a step; conditions of a path need them."""
        own = edge_name(step)
        if path.name is None and (not own or not step.length):
            return [own] * length
        if not step.length and own:
            return [own]
        stem = own or (path.name.name if path.name else "")
        return [self._unused(f"{stem}_") for _ in range(length)]

    def _unused(self, stem: str) -> str:
        taken = self._written.taken | self._given
        name = next(name for number in count(1) if (name := f"{stem}{number}") not in taken)
        self._given.add(name)
        return name


def _place(column: _PathColumn, steps: Sequence[Sequence[PathPlace | None]]) -> PathPlace | None:
    """Return the vertices and edges of a column: of one step, or of a whole path; None if it is missing."""
    places = [place for place in steps[column.path] if place is not None]
    if not places:
        return None
    return _whole(places) if column.step is None else places[column.step]


def _whole(places: Sequence[PathPlace]) -> PathPlace:
    """Return the vertices and edges of steps one after the other."""
    vertices = (places[0].vertices[0], *(vertex for place in places for vertex in place.vertices[1:]))
    return PathPlace(vertices, tuple(edge for place in places for edge in place.edges))


def _conditions(where: Test | None, paths: Mapping[str, tuple[str, ...]]) -> Iterator[Test]:
    for test in conditions_of(where):
        yield from for_edges(test, paths)


def _joined(tests: Sequence[Test]) -> Test | None:
    if not tests:
        return None
    if len(tests) == 1:
        return tests[0]
    parts = tuple(part for test in tests for part in conditions_of(test))
    return Joined(True, parts, parts[0].start, 1 + max(part.depth for part in parts))


def _steps(written: Written) -> Iterator[Step]:
    for path in written.paths:
        yield from path.steps


def _path_columns(written: Written) -> list[_PathColumn]:
    """Return the paths of the rows: named ones, and steps of variable length that have a name or no path."""
    columns = []
    for at, path in enumerate((*written.paths, *(one.path for one in written.optionals))):
        if path.name is not None:
            columns.append(_PathColumn(path.name.name, at, None))
        for number, step in enumerate(path.steps):
            if step.length and (path.name is None or edge_name(step)):
                columns.append(_PathColumn(edge_name(step), at, number))
    return columns


def _edge(text: EdgeText, name: str) -> EdgeText:
    """Return an edge of a step, under a name."""
    symbol = Symbol(name, name, text.start) if name else None
    return replace(text, details=replace(text.details, symbol=symbol, length=None))


def _is_connected(tree: PatternText) -> bool:
    """Whether the paths of a text are connected by their names, without optional edges."""
    groups: list[set[object]] = []
    for path in tree.paths:
        joined: set[object] = set()
        for vertex in path[::2]:
            symbol = vertex.details.symbol
            joined.add(symbol.name if symbol else id(vertex))
        others = []
        for group in groups:
            if group & joined:
                joined |= group
            else:
                others.append(group)
        groups = [*others, joined]
    return len(groups) == 1
