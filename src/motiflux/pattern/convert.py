"""A pattern from a pattern or from its text."""

from __future__ import annotations

from motiflux.errors import ArgumentError
from motiflux.pattern.pattern import Pattern


def as_pattern(
    value: object, argument: str = "pattern", expected: str = "a motiflux.Pattern, or its text"
) -> Pattern:
    """Return a pattern as it is, and text parsed.

    Parameters
    ----------
    argument, expected
        The name of the argument, and the expected value, in errors.

    Raises
    ------
    ArgumentError
        It is neither.
    PatternSyntaxError
        The text is malformed.

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
    raise ArgumentError(argument, expected, value)
