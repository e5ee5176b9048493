"""Changes of syntax trees: names of paths replaced by those of their edges, and forms of conditions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from itertools import pairwise, product
from typing import Any

from motiflux.pattern.parser.meaning import DEGREE, as_symbol
from motiflux.pattern.parser.resolve import MONOTONE
from motiflux.pattern.parser.syntax import Among, Attribute, Call, Compared, Joined, Symbol, Test, TextError

_POSITIONS = frozenset({"start", "source", "depth"})
"""Fields of trees that are not part of their meaning."""


def names_in(test: object) -> dict[str, Symbol]:
    """Return the names of the vertices, edges and paths whose attributes or degrees a condition reads."""
    found: dict[str, Symbol] = {}
    for node in nodes(test):
        if isinstance(node, Attribute):
            found.setdefault(node.variable.name, node.variable)
        elif isinstance(node, Call):
            vertices = node.arguments[:1] if is_degree(node) else node.arguments
            for one in vertices:
                if isinstance(one, Symbol) or is_degree(node):
                    symbol = as_symbol(one)
                    found.setdefault(symbol.name, symbol)
    return found


def is_degree(node: object) -> bool:
    """Whether a tree is the degree of a vertex, which stands in conditions as an attribute does."""
    return isinstance(node, Call) and node.function.lower() == DEGREE


def for_edges(test: Test, paths: Mapping[str, tuple[str, ...]]) -> list[Test]:
    """Return the conditions of edges that a condition of paths stands for, which AND joins.

    Parameters
    ----------
    test
        A condition that no AND joins to others.
    paths
        The names of the edges of each path.

    Raises
    ------
    TextError
        A function of paths is part of another condition, or is not about attributes.
    """
    match test:
        case Compared(operands=(Call() as call,), operators=()) if call.function.lower() in MONOTONE:
            return _monotone(call, paths)
    for node in nodes(test):
        if isinstance(node, Call) and node.function.lower() in MONOTONE:
            raise TextError(f"expected {node.function}(...) by itself, joined by AND", node.start)
    used = [name for name in names_in(test) if name in paths]
    choices = product(*(paths[name] for name in used))
    return [renamed(test, dict(zip(used, choice, strict=True))) for choice in choices]


def is_monotone(test: Test) -> bool:
    """Whether a condition is that values increase or decrease along a path."""
    match test:
        case Compared(operands=(Call() as call,), operators=()):
            return call.function.lower() in MONOTONE
    return False


def _monotone(call: Call, paths: Mapping[str, tuple[str, ...]]) -> list[Test]:
    operator = MONOTONE[call.function.lower()]
    values: list[Attribute] = []
    for argument in call.arguments:
        if not isinstance(argument, Attribute):
            example = f"{call.function}(p.time)"
            raise TextError(f"expected attributes in {call.function}(...), as in {example}", call.start)
        for edge in paths.get(argument.variable.name, (argument.variable.name,)):
            values.append(replace(argument, variable=replace(argument.variable, name=edge)))
    if not values:
        raise TextError(f"expected attributes in {call.function}(...), found none", call.start)
    return [Compared((left, right), (operator,), call.start) for left, right in pairwise(values)]


def renamed(node: Any, names: Mapping[str, str]) -> Any:
    """Return a tree with other names for the elements whose attributes it reads."""
    if not names:
        return node
    match node:
        case Attribute(variable) if variable.name in names:
            return replace(node, variable=replace(variable, name=names[variable.name]))
        case tuple():
            return tuple(renamed(part, names) for part in node)
    if not is_dataclass(node) or isinstance(node, type):
        return node
    parts = {one.name: getattr(node, one.name) for one in fields(node)}
    changed = {
        name: renamed(part, names)
        for name, part in parts.items()
        if isinstance(part, tuple) or is_dataclass(part)
    }
    return replace(node, **changed)


def form_of(node: Any) -> Hashable:
    """Return the meaning of a condition of one element: equal for equal conditions, of whichever element.

    The order of what AND and OR join, and of values, makes no difference, nor does one that is there twice.
    """
    if isinstance(node, Attribute):
        return "attribute", node.name
    if isinstance(node, Among):
        return "Among", form_of(node.operand), tuple(sorted(set(map(form_of, node.values)), key=repr))
    if isinstance(node, Joined):
        return joined_form(node.every, map(form_of, node.parts))
    if is_degree(node):
        return DEGREE, form_of(node.arguments[1:])
    if isinstance(node, tuple):
        return tuple(form_of(part) for part in node)
    if is_dataclass(node) and not isinstance(node, type):
        parts = (form_of(getattr(node, one.name)) for one in fields(node) if one.name not in _POSITIONS)
        return type(node).__name__, *parts
    return type(node).__name__, node


def joined_form(every: bool, forms: Iterable[Any]) -> Hashable:
    """Return the form of what AND (`every`) or OR joins, from the forms of the parts."""
    kind, found = ("AND" if every else "OR"), set[Any]()
    for one in forms:
        found |= set(one[1]) if one[0] == kind else {one}
    return next(iter(found)) if len(found) == 1 else (kind, tuple(sorted(found, key=repr)))


def nodes(node: Any) -> Iterator[Any]:
    """Yield a tree and all trees in it."""
    yield node
    if isinstance(node, tuple):
        for part in node:
            yield from nodes(part)
    elif is_dataclass(node) and not isinstance(node, type):
        for one in fields(node):
            yield from nodes(getattr(node, one.name))
