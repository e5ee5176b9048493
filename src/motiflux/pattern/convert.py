"""A pattern from a pattern, from its text, or from a graph of networkx."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

from motiflux.errors import ArgumentError
from motiflux.pattern.pattern import Pattern


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


def is_one_pattern(value: object) -> bool:
    """Tell whether a value is a pattern, its text or a graph of networkx, and not several of these."""
    if isinstance(value, (Pattern, str)):
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
    if is_one_pattern(value):
        return Pattern.from_networkx(value)
    raise ArgumentError(argument, expected, value)
