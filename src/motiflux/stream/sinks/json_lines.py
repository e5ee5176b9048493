"""Rows of matches as lines of JSON: an object for each match, for programs that act on it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from motiflux.errors import OutputError
from motiflux.io.text.csv_writer import ByteSink
from motiflux.pattern import Pattern
from motiflux.stream.sinks.json_values import json_value
from motiflux.stream.sinks.match_table import MatchTable, moments_as_text
from motiflux.stream.sinks.sink import FoundMatches
from motiflux.stream.updates import Updates

_LINES = 4096
"""Lines that are made at once."""


class JsonLines:
    """Text that the rows of a table are appended to, each as an object on a line of its own.

    Parameters
    ----------
    stream
        The stream.
    table
        The table.
    name
        The name of the stream in errors.
    """

    def __init__(self, stream: ByteSink, table: MatchTable, *, name: str) -> None:
        self._stream = stream
        self._table = table
        self._name = name

    def append(self) -> int:
        """Write the rows of the table; return their number.

        Raises
        ------
        OutputError
            An id has no form in UTF-8.
        """
        rows = 0
        for found in self._table.take():
            for first in range(0, len(found), _LINES):
                lines = list(_lines(found, slice(first, first + _LINES)))
                try:
                    self._stream.write("".join(lines).encode("utf-8", "surrogateescape"))
                except UnicodeEncodeError as error:
                    raise OutputError(
                        f"{self._name}: cannot be written: an id has no form in UTF-8: {error.object!r:.100}"
                    ) from error
            rows += len(found)
        return rows


def pattern_facts(pattern: Pattern, number: int) -> dict[str, Any]:
    """Return what lines tell of a pattern."""
    return {"pattern": number, "name": pattern.name or str(pattern)}


def vertex_keys(pattern: Pattern) -> list[str]:
    """Return the keys of the vertices of a match."""
    return [vertex.name or f"v{at}" for at, vertex in enumerate(pattern.vertices)]


def _lines(found: FoundMatches, part: slice) -> Iterator[str]:
    pattern = found.pattern
    facts = pattern_facts(pattern, found.number)
    names = vertex_keys(pattern)
    signs, updates = found.signs[part].tolist(), found.updates[part].tolist()
    times = _times(found, part) or [None] * len(signs)
    changes = [None] * len(signs) if found.changes is None else list(_changes(found.changes, part))
    rows = zip(signs, updates, times, found.vertices[part].tolist(), changes, strict=True)
    attributes = found.attributes
    for at, (sign, update, time, vertices, change) in enumerate(rows, start=part.start):
        line: dict[str, Any] = {"sign": sign, "update": update}
        if time is not None:
            line["time"] = time
        line |= {**facts, "match": dict(zip(names, vertices, strict=True))}
        if change is not None:
            line["change"] = change
        if attributes is not None:
            line["attributes"] = {name: json_value(values[at], name) for name, values in attributes.items()}
        if found.edges is not None:
            line["edges"] = {
                edge: {name: json_value(values[at], name) for name, values in columns.items()}
                for edge, columns in found.edges.items()
            }
        yield json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n"


def _times(found: FoundMatches, part: slice) -> list[Any] | None:
    if found.times is None:
        return None
    times = found.times[part]
    values: list[Any] = (moments_as_text(times) if times.dtype.kind == "M" else times).tolist()
    return values


def _changes(changes: Updates, part: slice) -> Iterator[dict[str, Any]]:
    """Yield the updates behind some rows: ``{"op": "+", "src": ..., "dst": ..., "label": ...}``."""
    inserts = changes.inserts[part].tolist()
    columns = [("src", changes.sources), ("dst", changes.targets), ("label", changes.labels)]
    given = [(name, values[part].tolist()) for name, values in columns if values is not None]
    for at, insert in enumerate(inserts):
        yield {"op": "+" if insert else "-", **{name: values[at] for name, values in given}}
