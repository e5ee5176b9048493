"""One column of labels or of an attribute, batch by batch."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from motiflux.errors import GraphError
from motiflux.interop import arrow
from motiflux.interop.arrays import is_masked
from motiflux.interop.coded_strings import CodedStrings
from motiflux.interop.columns import Coded
from motiflux.interop.ends import Rows
from motiflux.interop.strings import StringTable, from_utf8


class Gathered:
    """Collects a column, strings coded from the first batch on.

    Parameters
    ----------
    name
        The name of the column in errors.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._chunks: list[Any] = []
        self._rows: list[Rows] = []
        self._strings: CodedStrings | None = None

    def add(self, values: Any, rows: Rows) -> None:
        """Take the values of one batch, and the rows of the table that it has."""
        if arrow.is_arrow_array(values):
            values = arrow.numbers(values, f"column {self._name!r}")
            if arrow.is_string(values):
                self._strings = self._strings or CodedStrings()
                self._strings.add(values)
                return
        self._chunks.append(values)
        self._rows.append(rows)

    def values(self) -> Any:
        """Return the column as an attribute: of a type that `motiflux.Graph.from_edges` takes, or `Coded`."""
        if self._strings is not None:
            return self._strings.finish()
        if not self._chunks:
            return []
        first = self._chunks[0]
        if not arrow.is_arrow_array(first):
            return first
        return import_module("pyarrow").chunked_array(self._chunks)

    def labels(self) -> Any:
        """Return the column as labels.

        Raises
        ------
        GraphError
            One is missing, or neither an integer nor a string; names the row.
        """
        for chunk, rows in zip(self._chunks, self._rows, strict=True):
            self._check(chunk, rows)
        column = self.values()
        if isinstance(column, Coded):
            if column.missing is not None:
                self._refuse(int(column.missing.argmax()), None)
            assert isinstance(column.values, StringTable)
            return Coded(column.codes, from_utf8(column.values.text, column.values.offsets))
        return column.to_numpy() if arrow.is_arrow_array(column) else column

    def _check(self, chunk: Any, rows: Rows) -> None:
        if arrow.is_arrow_array(chunk):
            row = arrow.first_null(chunk)
            if row is not None:
                self._refuse(rows[row], chunk[row].as_py())
            if not arrow.is_integer(chunk) and len(chunk):
                self._refuse(rows[0], chunk[0].as_py())
        elif is_masked(chunk) and chunk.mask.any():
            self._refuse(rows[int(np.flatnonzero(chunk.mask)[0])], None)
        elif not isinstance(chunk, list) and chunk.dtype.kind in "mM" and len(chunk):
            self._refuse(rows[0], str(chunk[0]))
        elif isinstance(chunk, list) or chunk.dtype.kind in "Of":
            for row, value in enumerate(chunk if isinstance(chunk, list) else chunk.tolist()):
                if value is None or value != value:
                    self._refuse(rows[row], value)

    def _refuse(self, row: int, found: object) -> None:
        described = "none" if found is None else repr(found)
        raise GraphError(
            f"column {self._name!r}, row {row}: expected a label, an integer or a string, found {described}"
        )
