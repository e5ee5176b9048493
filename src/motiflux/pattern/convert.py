"""A pattern from a pattern, from its text, or from a graph of networkx."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

from motiflux.errors import ArgumentError
from motiflux.pattern.pattern import Pattern
from motiflux.pattern.queries.query import Query


class NetworkxGraph(Protocol):
    """A graph of networkx, of any of its four kinds."""

    @property
    def nodes(self) -> Any:
        """Its nodes."""

    @property
    def edges(self) -> Any:
        """Its edges."""

    def is_directed(self) -> bool:
        """Whether edges have a direction."""

    def is_multigraph(self) -> bool:
        """Whether it may have parallel edges."""


PatternLike: TypeAlias = Pattern | str | NetworkxGraph
"""A pattern, its text (`Pattern.parse`), or a graph of networkx (`Pattern.from_networkx`)."""


QueryLike: TypeAlias = PatternLike | Query
"""The same, or a query (`Query.parse`); text may be that of a query."""


def is_one_pattern(value: object) -> bool:
    """Tell whether a value is a pattern, a query, text or a graph of networkx, and not several of these."""
    if isinstance(value, (Pattern, Query, str)):
        return True
    from motiflux.interop.libraries.networkx import is_networkx

    return is_networkx(value)


def as_pattern(
    value: object,
    argument: str = "pattern",
    expected: str = "a motiflux.Pattern, its text, or a graph of networkx",
) -> Pattern:
    """Return a pattern as it is, text parsed, and a graph of networkx converted.

    Parameters
    ----------
    argument, expected
        The name of the argument, and the expected value, in errors.

    Raises
    ------
    ArgumentError
        It is none of these.
    PatternSyntaxError
        The text is malformed.
    PatternError
        The graph is no pattern.

    Examples
    --------
    >>> from motiflux.pattern import as_pattern
    >>> as_pattern("(a)--(b)")
    Pattern(2 vertices, 1 edge)
    """
    if isinstance(value, Pattern):
        return value
    if isinstance(value, str):
        return Pattern.parse(value)
    if isinstance(value, Query):
        raise ArgumentError(argument, f"{expected}: one pattern", value)
    if is_one_pattern(value):
        return Pattern.from_networkx(value)
    raise ArgumentError(argument, expected, value)


def as_query(
    value: object,
    argument: str = "pattern",
    expected: str = "a motiflux.Pattern or Query, its text, or a graph of networkx",
) -> Pattern | Query:
    """Return a value as `as_pattern` does; text may be that of a query, and queries stay as they are.

    Raises
    ------
    ArgumentError, PatternSyntaxError, PatternError
        As `as_pattern`.

    Examples
    --------
    >>> from motiflux.pattern import as_query
    >>> as_query("(a)-[*1..2]-(b)")
    Query('(a)-[*1..2]-(b)', 2 patterns)
    """
    if isinstance(value, Query):
        return value
    if isinstance(value, str):
        from motiflux.pattern.queries.parse import query_or_pattern  # it imports the parser

        return query_or_pattern(value, "", Query)
    return as_pattern(value, argument, expected)
