"""Ids of streams that are words for a missing id: their lines are refused, as rows of graph tables are."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from motiflux.interop.missing import WORDS
from motiflux.stream.updates import Updates, VertexLabels, attributes_at, zones_at

MISSING = ("error", "keep")
"""The treatments of a word for a missing id in a source: an error of its line, or a name like others."""

ADVICE = "on_error='skip' leaves out lines without an id, missing='keep' takes the word as a name"

_WORDS = frozenset(WORDS)
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_LEAST, _MOST = -(2**63), 2**63 - 1


def words_at(ids: NDArray[np.str_]) -> list[int]:
    """Return the positions of words for a missing id."""
    listed = ids.tolist()
    return [] if _WORDS.isdisjoint(listed) else [at for at, one in enumerate(listed) if one in _WORDS]


def refusal(what: str, word: str, *, advised: bool) -> str:
    """Return the message about a word for a missing id; `advised`: with what can be done."""
    return f"{what}: found {word!r}, expected an integer or a name{f'; {ADVICE}' if advised else ''}"


@dataclass(frozen=True, eq=False)
class Lines:
    """Updates of text, and the line of each and of each label of a vertex.

    Parameters
    ----------
    updates
        With ids that are strings.
    lines, label_lines
        Counted from 1.
    titles
        The names of sources and of targets in errors.
    """

    updates: Updates
    lines: NDArray[np.int64]
    label_lines: NDArray[np.int64] | None
    titles: tuple[str, str]

    def faults(self, *, advised: bool) -> list[tuple[int, str]]:
        """Return the lines with a word for a missing id, in order, and the `refusal` of each."""
        found: dict[int, str] = {}
        ends = (self.updates.sources, self.updates.targets)
        columns = [(title, self.lines, ids) for title, ids in zip(self.titles, ends, strict=True)]
        named = self.updates.vertex_labels
        if named is not None and self.label_lines is not None:
            columns.append(("vertex id", self.label_lines, named.ids))
        for title, lines, ids in columns:
            for at in words_at(ids):
                found.setdefault(int(lines[at]), refusal(title, str(ids[at]), advised=advised))
        return sorted(found.items())

    def only(self, kept: Callable[[NDArray[np.int64]], NDArray[np.bool_]]) -> Lines:
        """Return some of the lines."""
        rows, given = kept(self.lines), self.updates
        named, label_lines = given.vertex_labels, self.label_lines
        if named is not None and label_lines is not None:
            labels = kept(label_lines)
            before = np.concatenate([[0], np.cumsum(rows)])
            named = VertexLabels(named.ids[labels], named.labels[labels], before[named.positions[labels]])
            label_lines = label_lines[labels]
        updates = Updates(
            given.inserts[rows],
            given.sources[rows],
            given.targets[rows],
            None if given.labels is None else given.labels[rows],
            None if given.times is None else given.times[rows],
            named,
            zones_at(given.zoned, rows),
            attributes_at(given, rows),
        )
        return replace(self, updates=updates, lines=self.lines[rows], label_lines=label_lines)

    def with_integers(self) -> Lines:
        """Return the lines with ids that are integers, if all of them look like integers."""
        given, named = self.updates, self.updates.vertex_labels
        ids = [given.sources, given.targets, *([] if named is None else [named.ids])]
        if not all(map(_is_integer, {one for column in ids for one in column.tolist()})):
            return self
        updates = replace(
            given,
            sources=given.sources.astype(np.int64),
            targets=given.targets.astype(np.int64),
            vertex_labels=None if named is None else replace(named, ids=named.ids.astype(np.int64)),
        )
        return replace(self, updates=updates)


def _is_integer(text: str) -> bool:
    """Return whether the parser of updates takes a text for an integer."""
    return _INTEGER.fullmatch(text) is not None and _LEAST <= int(text) <= _MOST
