"""Updates as text: ``.stream`` files and tables, compressed or not, followed or from a pipe."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.errors import ArgumentError, FormatError
from motiflux.interop.strings import from_utf8
from motiflux.io.text.delimited import SEPARATORS, column_names
from motiflux.stream.sources.attributes import KeptText, TextAttributes
from motiflux.stream.sources.columns import PARTS, Name, StreamColumns, in_order, without_times
from motiflux.stream.sources.missing_ids import Lines
from motiflux.stream.sources.reading import Reader, after
from motiflux.stream.sources.source import BEGIN, Batch, Position, Request, malformed
from motiflux.stream.sources.zones import TextZones
from motiflux.stream.updates import OPS, Updates, VertexLabels

LINES = ".stream"
"""The format of lines ``v id label``, ``e source target [label]``, ``-e source target [label]``."""

TEXT_FORMATS = (LINES, *SEPARATORS)
"""Formats that are read as text."""

_FORMS = {None: 0, "i": 1, "U": 2}
_SKIPS_TOLD = 8
_LINE_NAMES = ("op", "source id", "target id", "edge label", "time", "vertex label", "vertex label")


class TextSource:
    """Updates in text.

    Parameters
    ----------
    reader
        Gives the bytes.
    form
        One of `TEXT_FORMATS`.
    columns
        The meaning of the columns of a table.
    header
        Whether the first record names the columns; None: unless it is an update.
    sep
        The separator of fields; None: by the format.
    on_error
        ``"stop"`` or ``"skip"``: the treatment of malformed lines.
    missing
        One of `MISSING`: the treatment of words for a missing id.
    start
        Where to go on.
    """

    def __init__(
        self,
        reader: Reader,
        form: str,
        *,
        columns: Mapping[str, Name] | StreamColumns | None = None,
        header: bool | None = None,
        sep: str | None = None,
        on_error: str = "stop",
        missing: str = "error",
        start: Position = BEGIN,
    ) -> None:
        self._reader = reader
        self._form = form
        self._columns = StreamColumns.of(columns)
        self._header = header
        self._sep = sep
        self._skips = on_error == "skip"
        self._start = start
        self._missing = missing
        self._attributes: TextAttributes | None = None
        if form == LINES and (self._columns != StreamColumns() or header is not None or sep is not None):
            raise ArgumentError(
                "columns", "none of a .stream file: it has no columns", columns or header or sep
            )

    @property
    def size(self) -> int:
        """Bytes of the text, where that is known; else 0."""
        return self._reader.size

    def batches(self, request: Request) -> Iterator[Batch]:
        """Yield batches as they arrive.

        Raises
        ------
        FormatError
            With the line, the value found and the value expected; all updates before it were returned.
        """
        parsing, chunks = self._open(request)
        size = request.rows
        for chunk in chunks:
            if chunk:
                parsing.feed(chunk)
            elif request.idle is not None:
                request.idle()
            while parsing.parser.fill(size):
                yield from self._taken(parsing)
            if self._reader.live and not request.exact and parsing.parser.filled:
                yield from self._taken(parsing)
        if not self._reader.endless:
            parsing.end()
        while parsing.parser.fill(size):
            yield from self._taken(parsing)
        if parsing.parser.has_any:
            yield from self._taken(parsing)

    def _open(self, request: Request) -> tuple[_Parsing, Iterator[bytes]]:
        forms = [_FORMS[kind] for kind in (request.ids, request.edge_labels, request.vertex_labels)]
        chunks = self._reader.chunks(0 if self._form != LINES else self._start.offset, request.deadline)
        if self._form == LINES:
            make = partial(_native.UpdateParser, None, [-1] * len(PARTS), _LINE_NAMES, 0, "", self._skips)
            return _Parsing(make, self._start, forms, _LINE_NAMES), chunks
        layout = _native.Layout(self._sep or SEPARATORS[self._form], quotes=True, comments=False, trims=False)
        head, first = self._first_record(layout, chunks)
        names, chosen, named = self._choose(first)
        if named and request.times and "time" not in chosen:
            raise malformed(self._reader.name, first[2] + 1, without_times(names))
        begin, line = (first[1], first[3]) if named else (first[0], first[2])
        rest: Iterator[bytes] = chain([head[begin:]], chunks)
        if self._start.offset > begin:
            line, begin = self._start
            again = None if self._reader.once else self._reader.chunks(begin, request.deadline)
            rest = after(begin, chain([head], chunks)) if again is None else again
        others = {name: place for place, name in enumerate(names) if place not in chosen.values()}
        self._attributes = TextAttributes(layout, others) if request.attributes and others else None
        titles = [f"column {names[chosen[part]]!r}" if part in chosen else "" for part in PARTS]
        make = partial(
            _native.UpdateParser,
            layout,
            [chosen.get(part, -1) for part in PARTS],
            titles,
            len(first[4]),
            f" as on line {first[2] + 1}",
            self._skips,
        )
        zones = None
        if "time" in chosen:
            zones = TextZones(layout, self._sep or SEPARATORS[self._form], chosen["time"])
        return _Parsing(make, Position(line, begin), forms, titles, zones), rest

    def _first_record(
        self, layout: _native.Layout, chunks: Iterator[bytes]
    ) -> tuple[bytes, tuple[int, int, int, int, list[str]]]:
        head = b""
        try:
            for chunk in chunks:
                head += chunk
                if (found := _native.first_record(head, layout, at_end=False)) is not None:
                    break
            else:
                found = _native.first_record(head, layout, at_end=True)
        except _native.ParseError as error:
            line, message = error.args
            raise malformed(self._reader.name, line, message) from None
        assert found is not None
        begin, end, before, through, fields = found
        try:
            return head, (begin, end, before, through, [field.decode() for field in fields])
        except UnicodeDecodeError as error:
            message = f"found {error.object!r}, expected text in UTF-8"
            raise malformed(self._reader.name, through, message) from None

    def _choose(self, first: tuple[int, int, int, int, list[str]]) -> tuple[list[str], dict[str, int], bool]:
        """Return names of the columns, their meanings, and whether the first record names them."""
        fields = first[4]
        given = self._columns != StreamColumns()
        named = self._header if self._header is not None else self._columns.are_names(fields)
        if not fields:
            return [], {}, False
        names = column_names(fields, named=named)
        if not named and not given:
            if len(fields) >= 3 and (self._header is False or fields[0] in OPS):
                return names, in_order(len(fields)), False
            named, names = True, fields
        try:
            return names, self._columns.choose(names, self._reader.name), named
        except ArgumentError as error:
            if given:
                raise
            message = str(error).removeprefix(f"{error.argument}: ")
            raise FormatError(self._reader.name, message, first[2] + 1) from None

    def _taken(self, parsing: _Parsing) -> Iterator[Batch]:
        """Yield the updates of the parser; then raise the error that stopped it."""
        taken = parsing.take()
        if self._missing == "error" and taken.found.updates.sources.dtype.kind == "U":
            taken = parsing.without_missing(taken, skips=self._skips)
        found, named = taken.found, taken.found.updates.vertex_labels
        attributes = None if self._attributes is None else self._attributes.taken(taken.raw, taken.before)
        if len(found.updates) or named is not None or taken.skips:
            yield Batch(
                found.updates,
                self._reader.name,
                taken.position,
                time.perf_counter(),
                found.lines,
                found.label_lines,
                skips=taken.skips,
                skipped=taken.skipped,
                raw=taken.raw if self._skips else b"",
                before=taken.before,
                attributes=attributes,
            )
        if taken.error is not None:
            raise malformed(self._reader.name, *taken.error)


@dataclass(frozen=True)
class _Taken:
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


class _Parsing:
    """A parser and the text that it has not given yet.

    Parameters
    ----------
    make
        Makes a parser at a line and a position, for ids and labels of some forms.
    start
        Where the text begins.
    forms
        As `_FORMS`, of ids, labels of edges, and labels of vertices.
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
        self._text = KeptText(start.offset)
        self._is_ended = False
        self.parser = make(*start, forms)

    def feed(self, chunk: bytes) -> None:
        self.parser.feed(chunk)
        self._text.feed(chunk)

    def end(self) -> None:
        self.parser.end()
        self._is_ended = True

    def take(self) -> _Taken:
        parser, before = self.parser, self.parser.line
        inserts, sources, targets, labels, times, lines, vertices, names, skipped, skips, error, _ = (
            parser.take()
        )
        ids, edge_names, vertex_names = (None if one is None else from_utf8(*one) for one in names)
        named = label_lines = None
        if vertices is not None:
            vertex, vertex_label, places, label_lines = vertices
            named = VertexLabels(_decoded(vertex, ids), _decoded(vertex_label, vertex_names), places)
        raw = self._text.take(parser.offset)
        zoned = None
        if times is not None and parser.has_dates and self._zones is not None:
            zoned = self._zones.of(raw, lines, before)
        updates = Updates(
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
        return _Taken(found, raw, before, position, skips, tuple(skipped), error)

    def without_missing(self, taken: _Taken, *, skips: bool) -> _Taken:
        """Refuse the lines with a word for a missing id, or leave them out.

        A word among the first ids does not make names of the others if these are integers.
        """
        faults = taken.found.faults(advised=not skips)
        if faults and not skips:
            line, _ = faults[0]
            found = self._read(taken.found.only(lambda lines: lines < line))
            ends = np.flatnonzero(np.frombuffer(taken.raw, np.uint8) == ord("\n"))
            read = 0 if line == taken.before + 1 else int(ends[line - taken.before - 2]) + 1
            offset = taken.position.offset - len(taken.raw) + read
            return replace(taken, found=found, position=Position(line - 1, offset), error=faults[0])
        if faults:
            wrong = [line for line, _ in faults]
            found = self._read(taken.found.only(lambda lines: ~np.isin(lines, wrong)))
            self._go_on(found.updates, taken.position)
            skipped = tuple(sorted([*taken.skipped, *faults])[:_SKIPS_TOLD])
            return replace(taken, found=found, skips=taken.skips + len(faults), skipped=skipped)
        self._forms[0] = _FORMS["U"]
        return taken

    def _read(self, found: Lines) -> Lines:
        return found.with_integers() if self._forms[0] == _FORMS[None] else found

    def _go_on(self, updates: Updates, position: Position) -> None:
        """Read what follows by the forms of these updates, not of the lines that are left out."""
        if self._forms[0] != _FORMS[None]:
            return
        labels, named = updates.labels, updates.vertex_labels
        is_named = named is not None and len(named.ids) > 0
        if len(updates) or is_named:
            self._forms[0] = _FORMS["U" if updates.sources.dtype.kind == "U" else "i"]
        if len(updates):
            self._forms[1] = _FORMS["i" if labels is None or labels.dtype.kind != "U" else "U"]
        if named is not None and is_named:
            self._forms[2] = _FORMS["U" if named.labels.dtype.kind == "U" else "i"]
        self.parser = self._make(*position, self._forms)
        self.parser.feed(self._text.rest())
        if self._is_ended:
            self.parser.end()


def _decoded(codes: NDArray[np.int64], names: NDArray[np.str_] | None) -> NDArray[Any]:
    if names is None:
        return codes
    return names[codes] if len(names) else np.empty(0, dtype=np.str_)
