"""Refuses parts of a text that the shapes of a query do not carry over."""

from __future__ import annotations

from dataclasses import fields

from motiflux.pattern.parser.meaning import DEGREE
from motiflux.pattern.parser.resolve import INDUCED, MONOTONE
from motiflux.pattern.parser.syntax import (
    Among,
    Call,
    Compared,
    Joined,
    Negated,
    NegatedTest,
    NullTest,
    PatternText,
    Test,
    TextError,
)
from motiflux.pattern.queries.alternatives import conditions_of
from motiflux.pattern.queries.rewriting import names_in, nodes

_PARTS = frozenset({"paths", "where", "spans", "marks", "optionals", "negated"})
_TESTS = (Compared, Among, NullTest, Negated, Joined, NegatedTest)
_FUNCTIONS = frozenset({"id", "may_equal", INDUCED, DEGREE, *MONOTONE})

_IN_QUERIES = "is not supported in a query of several patterns"


def check_carried(tree: PatternText) -> None:
    """Refuse what a pattern may have and a shape has not: it would be lost, and counts would be wrong.

    Raises
    ------
    TextError
        Names the construct.
    """
    for one in fields(tree):
        if one.name not in _PARTS and (parts := getattr(tree, one.name)):
            raise TextError(f"this {_IN_QUERIES}", getattr(parts[0], "start", 0))
    _check_induced(tree)
    tests = [tree.where, *(optional.where for optional in tree.optionals)]
    paths = [*tree.paths, *(optional.path for optional in tree.optionals)]
    tests += [part.details.where for path in paths for part in path]
    for test in tests:
        if test is not None:
            _check(test)


def _check_induced(tree: PatternText) -> None:
    """Refuse an optional path of one edge or more between vertices that are to be induced."""
    optional = [
        {part.details.symbol.name for part in one.path[::2] if part.details.symbol}
        for one in tree.optionals
        if len(one.path) == 3 and one.path[1].details.length is not None
    ]
    for test in conditions_of(tree.where):
        for node in nodes(test):
            if isinstance(node, Call) and node.function.lower() == INDUCED:
                names = set(names_in(node))
                if any(len(ends) > 1 and ends <= names for ends in optional):
                    expected = "expected no OPTIONAL path between vertices of induced(...)"
                    raise TextError(expected, node.start)


def _check(test: Test) -> None:
    if not isinstance(test, _TESTS):
        raise TextError(f"this {_IN_QUERIES}", test.start)
    for inner in (
        test.parts if isinstance(test, Joined) else [test.inner] if isinstance(test, Negated) else []
    ):
        _check(inner)
    for node in nodes(test):
        if isinstance(node, Call) and node.function.lower() not in _FUNCTIONS:
            known = ", ".join(sorted(_FUNCTIONS))
            raise TextError(f"the function {node.function!r} {_IN_QUERIES}: there are {known}", node.start)
