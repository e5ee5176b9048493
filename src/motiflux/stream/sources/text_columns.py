"""Columns of text that are no part of an update, as attributes of edges."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.errors import StreamError
from motiflux.graph import Column, Kind
from motiflux.graph.attributes.columns import make_column
from motiflux.interop.missing import words_among
from motiflux.interop.strings import StringTable
from motiflux.io.text.attributes import read_attribute
from motiflux.io.text.table import Parsed, Table, Want
from motiflux.stream.sources.attributes import value_of

_MOST = 2**63 - 1
_NUMBERS = (Kind.INTEGER, Kind.FLOAT)


class TextColumns:
    """Reads the attributes of batches of text.

    A column is read as a graph's attributes are: integers, floats, booleans, datetimes or strings. The values
    of a batch decide it, unless the kind is known: a column of strings stays so, and in one that is known to
    have numbers other text is malformed.

    Parameters
    ----------
    name
        The name of the source in errors.
    layout
        Of the text.
    width
        Fields of a record.
    columns
        The position of each column, by name.
    kinds
        The kinds of columns, in words, as far as they are known.
    """

    def __init__(
        self,
        name: str,
        layout: _native.Layout,
        width: int,
        columns: Mapping[str, int],
        kinds: Mapping[str, str],
    ) -> None:
        self._name, self._layout, self._width = name, layout, width
        self._columns = dict(columns)
        self._texts = {name for name, kind in kinds.items() if kind == Kind.STRING}
        self._numbers = {name for name, kind in kinds.items() if kind in _NUMBERS}

    def read(
        self, raw: bytes, lines: NDArray[np.int64], before: int, *, whole: bool
    ) -> tuple[dict[str, Column], list[tuple[int, str]]]:
        """Return the attributes of the updates of a batch, and the lines with malformed ones.

        Parameters
        ----------
        raw
            The text of the batch, which has `before` lines before it.
        lines
            The line that each update begins on.
        whole
            Whether every record of the text is one of the updates.

        Raises
        ------
        StreamError
            A column cannot be read.
        """
        found = self._read(raw, before, len(lines)) if whole else None
        if found is None:
            found = self._read(self._records(raw, lines, before), before, len(lines))
        if found is None:
            raise StreamError(f"{self._name}: attributes could not be read")
        return found, self._faults(found, lines)

    def _faults(self, found: dict[str, Column], lines: NDArray[np.int64]) -> list[tuple[int, str]]:
        """Find the lines with text in columns of numbers, which have no value there then; note new kinds."""
        faults: dict[int, str] = {}
        for name, column in found.items():
            if name in self._numbers and column.strings is not None:
                values = [None if text is None else value_of(text) for text in column.to_list()]
                words = {column.strings[at] for at in words_among(column.strings)}
                for row, value in enumerate(values):
                    if isinstance(value, str):
                        if value not in words:
                            text = f"column {name!r}: found {value!r}, expected a number, as others are"
                            faults.setdefault(int(lines[row]), text)
                        values[row] = None
                found[name] = make_column(values, f"column {name!r}")
            elif column.kind is Kind.STRING:
                self._texts.add(name)
        return sorted(faults.items())

    def _records(self, raw: bytes, lines: NDArray[np.int64], before: int) -> bytes:
        """Return the records that begin on some lines."""
        ends = np.flatnonzero(np.frombuffer(raw, np.uint8) == ord("\n"))
        return b"".join(self._record(raw, ends, line - before - 1) for line in lines.tolist())

    def _record(self, raw: bytes, ends: NDArray[np.int64], at: int) -> bytes:
        """Return the record that begins with a line, of which it may have several."""
        begin = 0 if at == 0 else int(ends[at - 1]) + 1
        for end in ends[at:].tolist():
            if _native.first_record(raw[begin : end + 1], self._layout, at_end=False) is not None:
                return raw[begin : end + 1]
        return raw[begin:] + b"\n"

    def _read(self, raw: bytes, before: int, size: int) -> dict[str, Column] | None:
        """Return the attributes of records; None if there are not as many as updates."""
        if not size:
            return {name: Column(np.zeros(0, dtype="V1")) for name in self._columns}
        names = list(self._columns)
        texts = {name for name in names if name in self._texts}
        while True:
            specs = [
                (self._columns[name], f"column {name!r}", int(Want.ANYTHING), at, name in texts, 0, _MOST)
                for at, name in enumerate(names)
            ]
            parser = _native.TableParser(self._layout, self._width, "", before, specs, 1)
            try:
                parser.feed(raw, 0, len(raw))
                rows, lines, columns, dictionaries, reread = parser.finish()
            except _native.ParseError:
                return None
            if not reread:
                break
            texts |= {names[place] for place in reread}
        if rows != size:
            return None
        parsed = [
            Parsed(values, missing, None if place is None else StringTable(*dictionaries[place]))
            for values, missing, place in columns
        ]
        table = Table(Path(self._name), rows, lines, before, parsed)
        found = {}
        for name, one in zip(names, parsed, strict=True):
            is_text = name in self._texts
            found[name] = one.as_attribute() if is_text else read_attribute(table, one, name, None).column
        return found
