"""Updates as text: ``.stream`` files and tables, compressed or not, followed or from a pipe."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain

from motiflux import _native
from motiflux.errors import ArgumentError, FormatError
from motiflux.interop.missing import WORDS as MISSING_WORDS
from motiflux.io.text.delimited import SEPARATORS, column_names
from motiflux.stream.sources.attributes import TextAttributes
from motiflux.stream.sources.columns import PARTS, Name, StreamColumns, in_order, without_times
from motiflux.stream.sources.parsing import FORMS, Parsing, Taken
from motiflux.stream.sources.reading import Reader, after
from motiflux.stream.sources.source import BEGIN, Batch, Feeding, Position, Request, malformed
from motiflux.stream.sources.text_columns import TextColumns
from motiflux.stream.sources.zones import TextZones
from motiflux.stream.updates import OPS

LINES = ".stream"
"""The format of lines ``v id label``, ``e source target [label]``, ``-e source target [label]``."""

TEXT_FORMATS = (LINES, *SEPARATORS)
"""Formats that are read as text."""

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
        self._edge_attributes: TextColumns | None = None
        if form == LINES and (self._columns != StreamColumns() or header is not None or sep is not None):
            raise ArgumentError(
                "columns", "none of a .stream file: it has no columns", columns or header or sep
            )

    @property
    def size(self) -> int:
        """Bytes of the text, where that is known; else 0."""
        return self._reader.size

    @property
    def can_repeat(self) -> bool:
        """Whether it is a file that ends, and that can be read again."""
        return self._reader.can_repeat()

    def batches(self, request: Request) -> Iterator[Batch]:
        """Yield batches as they arrive.

        Raises
        ------
        FormatError
            With the line, the value found and the value expected; all updates before it were returned.
        """
        parsing, chunks = self._open(request)
        size = request.rows
        partial = self._reader.live and not request.exact
        for chunk in chunks:
            if request.has_ended:
                return
            if chunk:
                parsing.feed(chunk)
                if not self._goes_on(parsing, request, partial=partial):
                    return
            elif request.idle is not None:
                request.idle()
            while parsing.parser.fill(size):
                yield from self._taken(parsing)
                if not self._goes_on(parsing, request, partial=partial):
                    return
            if partial and parsing.parser.filled:
                yield from self._taken(parsing)
        if not self._reader.endless:
            parsing.end()
        while parsing.parser.fill(size):
            yield from self._taken(parsing)
        if parsing.parser.has_any:
            yield from self._taken(parsing)

    def _goes_on(self, parsing: Parsing, request: Request, *, partial: bool) -> bool:
        """Leave batches that change no match to the monitor; return whether the run goes on."""
        if request.quiet is None:
            return True
        words = MISSING_WORDS if self._missing == "error" else ()
        descriptor = self._reader.descriptor
        has_attributes = self._attributes is not None
        feeding = Feeding(parsing, self._reader.name, words, descriptor, partial, has_attributes)
        return request.quiet(feeding)

    def _open(self, request: Request) -> tuple[Parsing, Iterator[bytes]]:
        forms = [FORMS[kind] for kind in (request.ids, request.edge_labels, request.vertex_labels)]
        chunks = self._reader.chunks(0 if self._form != LINES else self._start.offset, request.deadline)
        if self._form == LINES:
            make = partial(_native.UpdateParser, None, [-1] * len(PARTS), _LINE_NAMES, 0, "", self._skips)
            return Parsing(make, self._start, forms, _LINE_NAMES), chunks
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
        self._edge_attributes = self._attributes_of_edges(layout, others, len(first[4]), request)
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
        return Parsing(make, Position(line, begin), forms, titles, zones), rest

    def _attributes_of_edges(
        self, layout: _native.Layout, others: Mapping[str, int], width: int, request: Request
    ) -> TextColumns | None:
        """Return what reads the columns that are attributes of edges; None if none is kept."""
        keeps = request.edge_attributes
        kept = {} if keeps is None else {name: place for name, place in others.items() if keeps(name)}
        return TextColumns(self._reader.name, layout, width, kept, request.attribute_kinds) if kept else None

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

    def _with_attributes(self, parsing: Parsing, taken: Taken, columns: TextColumns) -> Taken:
        """Return a batch with attributes of edges, without lines in which one is malformed."""
        found = taken.found
        read, faults = columns.read(taken.raw, found.lines, taken.before, whole=not taken.skips)
        taken = replace(taken, found=replace(found, updates=found.updates.with_attributes(read)))
        return parsing.without(taken, faults, skips=self._skips) if faults else taken

    def _taken(self, parsing: Parsing) -> Iterator[Batch]:
        """Yield the updates of the parser; then raise the error that stopped it."""
        taken = parsing.take()
        if self._missing == "error" and taken.found.updates.sources.dtype.kind == "U":
            taken = parsing.without_missing(taken, skips=self._skips)
        if self._edge_attributes is not None:
            taken = self._with_attributes(parsing, taken, self._edge_attributes)
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
