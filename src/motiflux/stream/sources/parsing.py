"""A parser of updates in text, and the batches that are taken from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.interop.strings import from_utf8
from motiflux.stream.sources.columns import PARTS
from motiflux.stream.sources.missing_ids import Lines
from motiflux.stream.sources.source import Position
from motiflux.stream.sources.zones import TextZones
from motiflux.stream.time_kinds import Zoned
from motiflux.stream.updates import Updates, VertexLabels

FORMS = {None: 0, "i": 1, "U": 2}
"""The forms of ids and labels as the parser has them: not known yet, integers, names."""

_SKIPS_TOLD = 8


@dataclass(frozen=True)
class Taken:
    """A batch as the parser has it.

    Parameters
    ----------
    found
        Updates and their lines.
    raw, before
        The text, and the lines before it.
    position
        After it.
    skips, skipped, error
        The number of lines left out, the first few with their errors, and the error that ends the text.
    """

    found: Lines
    raw: bytes
    before: int
    position: Position
    skips: int
    skipped: tuple[tuple[int, str], ...]
    error: tuple[int, str] | None


class Parsing:
    """A parser and the text that it has not given yet.

    Parameters
    ----------
    make
        Makes a parser at a line and a position, for ids and labels of some forms.
    start
        Where the text begins.
    forms
        As `FORMS`, of ids, labels of edges, and labels of vertices.
    titles
        The names of the parts of an update in errors.
    zones
        Reads which times have a zone; None of text without times.
    """

    def __init__(
        self,
        make: Callable[[int, int, list[int]], _native.UpdateParser],
        start: Position,
        forms: list[int],
        titles: Sequence[str],
        zones: TextZones | None = None,
    ) -> None:
        self._zones = zones
        self._make = make
        self._forms = forms
        self._titles = (titles[PARTS.index("src")], titles[PARTS.index("dst")])
        self._is_ended = False
        self.parser = make(*start, forms)

    def feed(self, chunk: bytes) -> None:
        """Take text."""
        self.parser.feed(chunk)

    def end(self) -> None:
        """Take note that no text follows."""
        self.parser.end()
        self._is_ended = True

    def take(self) -> Taken:
        """Take out the updates that were parsed."""
        parser, before, raw = self.parser, self.parser.line, self.parser.raw
        inserts, sources, targets, labels, times, lines, vertices, names, skipped, skips, error, _ = (
            parser.take()
        )
        ids, edge_names, vertex_names = (None if one is None else from_utf8(*one) for one in names)
        named = label_lines = None
        if vertices is not None:
            vertex, vertex_label, places, label_lines = vertices
            named = VertexLabels(_decoded(vertex, ids), _decoded(vertex_label, vertex_names), places)
        zoned: Zoned | None = None if times is None else False
        if times is not None and parser.has_dates and self._zones is not None:
            zoned = self._zones.of(raw, lines, before)
        updates = Updates.of_checked(
            inserts.view(bool),
            _decoded(sources, ids),
            _decoded(targets, ids),
            None if labels is None else _decoded(labels, edge_names),
            times.view("datetime64[ns]") if times is not None and parser.has_dates else times,
            named,
            zoned,
        )
        found = Lines(updates, lines, label_lines, self._titles)
        position = Position(parser.line, parser.offset)
        return Taken(found, raw, before, position, skips, tuple(skipped), error)

    def without_missing(self, taken: Taken, *, skips: bool) -> Taken:
        """Refuse the lines with a word for a missing id, or leave them out.

        A word among the first ids does not make names of the others if these are integers.
        """
        faults = taken.found.faults(advised=not skips)
        if faults:
            return self.without(taken, faults, skips=skips)
        self._forms[0] = FORMS["U"]
        return taken

    def without(self, taken: Taken, faults: list[tuple[int, str]], *, skips: bool) -> Taken:
        """Refuse lines, of which there is one at least, or leave them out; `faults` have them and why."""
        if not skips:
            line, _ = faults[0]
            found = self._read(taken.found.only(lambda lines: lines < line))
            ends = np.flatnonzero(np.frombuffer(taken.raw, np.uint8) == ord("\n"))
            read = 0 if line == taken.before + 1 else int(ends[line - taken.before - 2]) + 1
            offset = taken.position.offset - len(taken.raw) + read
            return replace(taken, found=found, position=Position(line - 1, offset), error=faults[0])
        wrong = [line for line, _ in faults]
        found = self._read(taken.found.only(lambda lines: ~np.isin(lines, wrong)))
        self._go_on(found.updates, taken.position)
        skipped = tuple(sorted([*taken.skipped, *faults])[:_SKIPS_TOLD])
        return replace(taken, found=found, skips=taken.skips + len(faults), skipped=skipped)

    def _read(self, found: Lines) -> Lines:
        return found.with_integers() if self._forms[0] == FORMS[None] else found

    def _go_on(self, updates: Updates, position: Position) -> None:
        """Read what follows by the forms of these updates, not of the lines that are left out."""
        if self._forms[0] != FORMS[None]:
            return
        labels, named = updates.labels, updates.vertex_labels
        is_named = named is not None and len(named.ids) > 0
        if len(updates) or is_named:
            self._forms[0] = FORMS["U" if updates.sources.dtype.kind == "U" else "i"]
        if len(updates):
            self._forms[1] = FORMS["i" if labels is None or labels.dtype.kind != "U" else "U"]
        if named is not None and is_named:
            self._forms[2] = FORMS["U" if named.labels.dtype.kind == "U" else "i"]
        rest = self.parser.rest
        self.parser = self._make(*position, self._forms)
        self.parser.feed(rest)
        if self._is_ended:
            self.parser.end()


def _decoded(codes: NDArray[np.int64], names: NDArray[np.str_] | None) -> NDArray[Any]:
    if names is None:
        return codes
    return names[codes] if len(names) else np.empty(0, dtype=np.str_)
