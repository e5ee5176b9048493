"""The projection that a call asks for, by ``distinct=`` and ``having=`` or by the text of its pattern."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from motiflux.errors import ArgumentError, PatternSyntaxError
from motiflux.pattern.convert import QueryLike, as_query
from motiflux.pattern.pattern import Pattern
from motiflux.pattern.projection import Projection, Threshold
from motiflux.pattern.queries.query import Query

Distinct: TypeAlias = Sequence[str | int] | Projection
"""Query vertices by name or position; or all that is asked for."""
Having: TypeAlias = str | Sequence[str]
"""Thresholds as text, such as ``"count(b) >= 5"``: one text or several."""

_MOST_TEXTS = 64
"""Number of texts whose patterns are cached: patterns do not change."""
_RETURN = re.compile(r"\bRETURN\b", re.IGNORECASE)


def has_return(pattern: object) -> bool:
    """Return whether text has RETURN DISTINCT behind a pattern."""
    if not isinstance(pattern, str) or _RETURN.search(pattern) is None:
        return False
    from motiflux.pattern.parser.projection import returns_rows  # with the parser library

    return returns_rows(pattern)


def asks_for_rows(pattern: object) -> bool:
    """Return whether a pattern, or one of several, is text that has RETURN DISTINCT."""
    if isinstance(pattern, (list, tuple)):
        return any(map(has_return, pattern))
    return has_return(pattern)


def asked_of(
    pattern: QueryLike, distinct: Distinct | None, having: Having | None
) -> tuple[Pattern | Query, Projection | None]:
    """Return the pattern or query of a call, and the projection that its text or the arguments ask for.

    Raises
    ------
    ArgumentError
        The arguments fit neither the pattern nor each other; text and arguments ask for projections.
    PatternSyntaxError
        Text is malformed.
    PatternError
        A graph of networkx is no pattern.
    """
    if isinstance(pattern, str) and has_return(pattern):
        for argument, value in (("distinct", distinct), ("having", having)):
            if value is not None:
                raise ArgumentError(argument, "None beside RETURN DISTINCT in the text", value)
        return _asked_in(pattern)
    query = as_query(pattern)
    return query, projection_of(query, distinct, having)


@lru_cache(_MOST_TEXTS)
def _asked_in(text: str) -> tuple[Pattern | Query, Projection | None]:
    """Return the pattern or query of a text, and the projection that RETURN DISTINCT behind it asks for."""
    from motiflux.pattern.parser.parse import checked_tree  # with the parser library
    from motiflux.pattern.parser.projection import projection_in
    from motiflux.pattern.parser.syntax import TextError
    from motiflux.pattern.queries.parse import query_before_return

    try:
        tree = checked_tree(text)
        query = query_before_return(tree, text, Query)
        return query, projection_in(tree, vertex_names_of(query), counts_all=_counts_all(query))
    except TextError as fault:
        raise PatternSyntaxError(fault.message, text, fault.position) from None


def vertex_names_of(query: Pattern | Query) -> tuple[str, ...]:
    """Return the names of the vertices that rows may have."""
    if isinstance(query, Query):
        return query.vertex_names
    return tuple(vertex.name for vertex in query.vertices)


def _counts_all(query: Pattern | Query) -> bool:
    """Whether ``count(*)`` has a meaning: all vertices of all rows have names."""
    return isinstance(query, Pattern) or query.names_all


def projection_of(
    pattern: Pattern | Query, distinct: Distinct | None, having: Having | None = None
) -> Projection | None:
    """Return the projection that two arguments ask for; None for none.

    Raises
    ------
    ArgumentError
        They name no query vertex, one twice, or a threshold counts vertices that rows have.
    PatternSyntaxError
        A threshold is malformed.
    """
    if isinstance(distinct, Projection):
        return distinct
    if distinct is None:
        if having is not None:
            raise ArgumentError("having", "None, or distinct= beside it: the vertices that rows have", having)
        return None
    names = vertex_names_of(pattern)
    if isinstance(distinct, str) or not isinstance(distinct, Iterable):
        raise ArgumentError("distinct", "a sequence of query vertices", distinct)
    returned = [_position(one, names, "distinct") for one in distinct]
    if not returned or len(set(returned)) < len(returned):
        raise ArgumentError("distinct", "different query vertices, at least one", distinct)
    return Projection(tuple(returned), _thresholds(pattern, names, returned, having))


def _thresholds(
    query: Pattern | Query, names: Sequence[str], returned: Sequence[int], having: Having | None
) -> tuple[Threshold, ...]:
    if having is None:
        return ()
    texts = [having] if isinstance(having, str) else having
    if not isinstance(texts, Iterable) or not all(isinstance(one, str) for one in texts):
        raise ArgumentError("having", "text such as 'count(b) >= 5', or a sequence of such texts", having)
    from motiflux.pattern.parser.projection import NOT_ALL, parse_thresholds

    others = tuple(vertex for vertex in range(len(names)) if vertex not in returned)
    found: dict[Threshold, None] = {}
    for text in texts:
        for one in parse_thresholds(text):
            if one.counted is None and not _counts_all(query):
                raise ArgumentError("having", NOT_ALL.removeprefix("expected "), text)
            counted = (
                others
                if one.counted is None
                else tuple(sorted({_position(name, names, "having") for name in one.counted}))
            )
            told = sorted(set(counted) & set(returned))
            if told or not counted:
                known = ", ".join(names[vertex] for vertex in others) or "there is none"
                raise ArgumentError("having", f"counts of vertices that rows do not have ({known})", text)
            found[Threshold(counted, one.operator, one.number)] = None
    return tuple(found)


def _position(one: object, names: Sequence[str], argument: str) -> int:
    if isinstance(one, str) and one in names:
        return names.index(one)
    if isinstance(one, (int, np.integer)) and not isinstance(one, bool) and 0 <= one < len(names):
        return int(one)
    raise ArgumentError(argument, f"names or positions of query vertices ({', '.join(names)})", one)
