"""Lines of matches as native code writes them: the text between the values."""

from __future__ import annotations

import json
from collections.abc import Sequence

from motiflux import _native
from motiflux.pattern import Pattern
from motiflux.stream.sinks.json_lines import pattern_facts, vertex_keys
from motiflux.stream.sinks.sink import LineFile

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".jsonl": ""}


def native_lines(file: LineFile, patterns: Sequence[tuple[Pattern, int, int]]) -> _native.Lines | None:
    """Return the lines of a file, without moments; None if native code cannot write them.

    Parameters
    ----------
    file
        Where they are written.
    patterns
        The patterns whose matches are written, each with its numbers in the monitor and in the run.
    """
    separator = _SEPARATORS[file.suffix]
    parts = []
    for pattern, slot, number in patterns:
        between = _cells(pattern, number, separator, file.width) if separator else _members(pattern, number)
        if between is None:
            return None
        parts.append((slot, between))
    around = ("", f"{separator}", "\n") if separator else ('{"sign": ', ', "update": ', "}\n")
    return _native.Lines(file.descriptor, file.grows, around, separator, not separator, parts)


def _cells(pattern: Pattern, number: int, separator: str, width: int) -> list[str] | None:
    """Return the text before the vertices, and after the last one; None if there are too few columns."""
    more = width - pattern.num_vertices
    if more < 0:
        return None
    first = f"{separator}{separator}{number}{separator}"  # the column of moments is empty
    return [first, *[separator] * (pattern.num_vertices - 1), separator * more]


def _members(pattern: Pattern, number: int) -> list[str] | None:
    """Return the text before the vertices, and after the last one; None if two have one key."""
    keys = vertex_keys(pattern)
    if len(set(keys)) < len(keys):
        return None
    facts = json.dumps(pattern_facts(pattern, number), ensure_ascii=False)[1:-1]
    words = [json.dumps(key, ensure_ascii=False) for key in keys]
    first = f', {facts}, "match": {{{words[0]}: '
    return [first, *(f", {word}: " for word in words[1:]), "}"]
