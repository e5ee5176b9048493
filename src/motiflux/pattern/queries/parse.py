"""From text to a query or a pattern."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from motiflux.errors import ArgumentError, PatternSyntaxError
from motiflux.pattern.parser.parse import pattern_tree
from motiflux.pattern.parser.resolve import resolve
from motiflux.pattern.parser.syntax import PatternText, TextError
from motiflux.pattern.pattern import Pattern
from motiflux.pattern.queries.expansion import Q, expanded, is_query

_MOST_TEXTS, _SHORT = 64, 2000


def parse_query(text: str, name: str, query_class: Callable[..., Q]) -> Q:
    """Return the query that `text` describes, also if it is one pattern, as an object of `query_class`.

    Raises
    ------
    PatternSyntaxError
        With the text found and the text expected, and a caret under the place.
    """
    if not isinstance(text, str):
        raise ArgumentError("text", "a string", text)
    try:
        return expanded(pattern_tree(text), text, name, query_class)
    except TextError as fault:
        raise PatternSyntaxError(fault.message, text, fault.position) from None


def query_or_pattern(text: str, name: str, query_class: Callable[..., Q]) -> Q | Pattern:
    """Return the pattern that `text` describes, or the query if it stands for several.

    Raises
    ------
    PatternSyntaxError
        As `parse_query`.
    """
    return _cached(text, name, query_class) if len(text) <= _SHORT else _parsed(text, name, query_class)


def query_before_return(tree: PatternText, text: str, query_class: Callable[..., Q]) -> Q | Pattern:
    """Return the query or pattern of a tree without its RETURN DISTINCT.

    Raises
    ------
    TextError
        As `parse_query`.
    """
    alone = replace(tree, returned=None)
    if not is_query(alone):
        return resolve(alone, "", Pattern)
    before = text if tree.returned is None else text[: tree.returned.start].rstrip()
    return expanded(alone, before, "", query_class)


def _parsed(text: str, name: str, query_class: Callable[..., Q]) -> Q | Pattern:
    try:
        tree = pattern_tree(text)
        return expanded(tree, text, name, query_class) if is_query(tree) else resolve(tree, name, Pattern)
    except TextError as fault:
        raise PatternSyntaxError(fault.message, text, fault.position) from None


_cached = lru_cache(_MOST_TEXTS)(_parsed)
"""`_parsed` with its last results: neither queries nor patterns change."""
