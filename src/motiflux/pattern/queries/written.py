"""The elements of a text before any of its lengths is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count, product

from motiflux.pattern.parser.syntax import (
    Details,
    EdgeText,
    LengthText,
    OptionalText,
    PathParts,
    PatternText,
    Symbol,
    TextError,
    VertexText,
)
from motiflux.types import MAX_PATTERN_VERTICES

_NO_DETAILS = Details(None, None, (), None)


@dataclass(frozen=True, slots=True)
class Step:
    """An edge of the text, or a path of variable length, between two vertices.

    Parameters
    ----------
    edge
        Its text.
    length
        The least and the greatest number of its edges; None for an edge.
    walks
        Whether its vertices may coincide with others.
    """

    edge: EdgeText
    length: tuple[int, int] | None
    walks: bool = False


@dataclass(frozen=True, slots=True)
class WrittenPath:
    """A path of the text: its vertices, and the steps between them."""

    vertices: tuple[VertexText, ...]
    steps: tuple[Step, ...]
    name: Symbol | None = None


@dataclass(frozen=True, slots=True)
class OptionalPath:
    """An optional edge or path, its condition, and the names of its vertices that are new."""

    path: WrittenPath
    text: OptionalText
    fresh: tuple[str, ...]

    @property
    def lengths(self) -> list[tuple[int, ...]]:
        """The choices of lengths of its steps of variable length: one, of none, for edges."""
        return list(product(*(lengths_of(step) for step in self.path.steps if step.length)))


@dataclass(frozen=True, slots=True)
class Written:
    """The paths of a text, all of whose vertices have names.

    Parameters
    ----------
    vertex_names
        In the order in which the text mentions them.
    tree
        The text.
    taken
        All names in it.
    """

    paths: tuple[WrittenPath, ...]
    optionals: tuple[OptionalPath, ...]
    vertex_names: tuple[str, ...]
    tree: PatternText
    taken: frozenset[str]


def written_of(tree: PatternText) -> Written:
    """Return the elements of a text.

    Raises
    ------
    TextError
        A length that no path can have, or an optional part that is no path from or to a vertex before it.
    """
    taken = _names_of(tree)
    unused = (name for number in count(1) if (name := f"_{number}") not in taken)
    named: dict[str, None] = {}

    def vertex(text: VertexText) -> VertexText:
        symbol = text.details.symbol
        if symbol is None:
            name = next(unused)
            symbol = Symbol(name, name, text.start)
            text = replace(text, details=replace(text.details, symbol=symbol))
        named.setdefault(symbol.name)
        return text

    paths = []
    for at, path in enumerate(tree.paths):
        mark = tree.marks[at] if tree.marks else None
        vertices = tuple(vertex(part) for part in path[::2] if isinstance(part, VertexText))
        steps = tuple(
            Step(part, _length(part.details.length), mark is not None and mark.walks)
            for part in path
            if isinstance(part, EdgeText)
        )
        paths.append(WrittenPath(vertices, steps, mark.name if mark else None))
    optionals = []
    for optional in tree.optionals:
        before = set(named)
        vertices = tuple(vertex(part) for part in optional.path[::2] if isinstance(part, VertexText))
        optionals.append(_optional(optional, vertices, before))
    return Written(tuple(paths), tuple(optionals), tuple(named), tree, frozenset(taken | set(named)))


def _optional(text: OptionalText, vertices: tuple[VertexText, ...], before: set[str]) -> OptionalPath:
    steps = tuple(
        Step(part, _length(part.details.length)) for part in text.path if isinstance(part, EdgeText)
    )
    if not steps:
        raise TextError("expected an edge or a path after OPTIONAL, found a vertex", text.start)
    known = [one for one in vertices if vertex_name(one) in before]
    if not known:
        raise TextError("expected an edge at a vertex before OPTIONAL, found another", text.start)
    for one in known:
        if replace(one.details, symbol=None) != _NO_DETAILS:
            raise TextError(
                f"expected the name of {vertex_name(one)!r} alone: what it has to be is written before"
                " OPTIONAL",
                one.start,
            )
    _check_inner(vertices, before)
    fresh = tuple(vertex_name(one) for one in vertices if vertex_name(one) not in before)
    return OptionalPath(WrittenPath(vertices, steps), text, fresh)


def _check_inner(vertices: Sequence[VertexText], before: set[str]) -> None:
    """Refuse an optional path through a vertex before it, or through one twice."""
    seen: set[str] = set()
    for at, one in enumerate(vertices):
        name = vertex_name(one)
        inner = 0 < at < len(vertices) - 1
        if (name in before and inner) or (name not in before and name in seen):
            raise TextError(
                f"expected a path through new vertices after OPTIONAL, each once, found {name!r} again",
                one.start,
            )
        seen.add(name)


def vertex_name(vertex: VertexText) -> str:
    """Return the name of a vertex."""
    assert vertex.details.symbol is not None
    return vertex.details.symbol.name


def edge_name(step: Step) -> str:
    """Return the name of a step; empty if it has none."""
    symbol = step.edge.details.symbol
    return symbol.name if symbol else ""


def lengths_of(step: Step) -> range:
    """Return the lengths of a step of variable length."""
    assert step.length is not None
    return range(step.length[0], step.length[1] + 1)


def _length(text: LengthText | None) -> tuple[int, int] | None:
    if text is None:
        return None
    if text.most is None:
        raise TextError(
            "expected a greatest length, as in *1..4: paths of any length are not supported", text.start
        )
    least = 1 if text.least is None else text.least
    if least < 1:
        raise TextError(f"expected a length of at least 1, found {least}", text.start)
    if text.most < least:
        raise TextError(f"expected a greatest length of at least {least}, found {text.most}", text.start)
    if text.most > MAX_PATTERN_VERTICES:
        raise TextError(
            f"expected a length of at most {MAX_PATTERN_VERTICES}, found {text.most}: a pattern has at most"
            f" {MAX_PATTERN_VERTICES} vertices",
            text.start,
        )
    return least, text.most


def _names_of(tree: PatternText) -> set[str]:
    parts: list[PathParts] = [*tree.paths, *(optional.path for optional in tree.optionals)]
    names = {part.details.symbol.name for path in parts for part in path if part.details.symbol}
    return names | {mark.name.name for mark in tree.marks if mark is not None and mark.name}
