"""Results that are tables: exports to other libraries, and files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.arguments import check_integer
from motiflux.graph import Column
from motiflux.interop.strings import StringTable
from motiflux.io.tables.match_tables import Field


class Tabled:
    """A result with rows and named columns."""

    def __len__(self) -> int:
        raise NotImplementedError

    def _columns(self) -> Mapping[str, Column]:
        """Return the columns by name, each with a value for each row."""
        raise NotImplementedError

    @property
    def metadata(self) -> dict[str, str]:
        """Metadata of files."""
        return {}

    @property
    def fields(self) -> list[Field]:
        """The columns of tables."""
        return [Field.of(name, column) for name, column in self._columns().items()]

    def tables(self, batch_rows: int | None = None) -> Iterator[list[Column]]:
        """Iterate over the rows in tables: for each batch a column for each of `fields`."""
        rows = len(self) if batch_rows is None else check_integer("batch_rows", batch_rows, 1)
        for start in range(0, len(self), max(1, rows)):
            yield [_part(column, slice(start, start + rows)) for column in self._columns().values()]

    def to_arrow(self) -> Any:
        """Return the rows as a ``pyarrow.Table``; numbers beyond 2^63 - 1 make a column of text."""
        from motiflux.io.arrow.batches import arrow_table

        return arrow_table(self)

    def to_pandas(self) -> Any:
        """Return the rows as a ``pandas.DataFrame``; needs pyarrow too."""
        from motiflux.io.arrow.batches import pandas_frame

        return pandas_frame(self)

    def to_polars(self) -> Any:
        """Return the rows as a ``polars.DataFrame``; needs pyarrow too."""
        from motiflux.io.arrow.batches import polars_frame

        return polars_frame(self)

    def save(self, path: str | os.PathLike[str]) -> int:
        """Write the rows to a ``.parquet``, ``.arrow``, ``.csv`` or ``.npy`` file.

        Returns
        -------
        int
            Rows written.

        Raises
        ------
        OutputError
            The file cannot be written.
        """
        from motiflux.io.writers import write_matches

        return write_matches(self, path)


def integer_column(numbers: NDArray[Any]) -> Column:
    """Return a column of integers; of text, if they are Python integers."""
    if numbers.dtype != object:
        return Column(np.ascontiguousarray(numbers))
    return text_column([str(number) for number in numbers])


def text_column(values: list[str]) -> Column:
    """Return a column of strings."""
    distinct, codes = (
        np.unique(values, return_inverse=True) if values else (np.empty(0, str), np.empty(0, int))
    )
    return Column(codes.astype(np.uint32), None, StringTable.of(distinct.tolist()))


def _part(column: Column, rows: slice) -> Column:
    mask = None if column.mask is None else column.mask[rows]
    return Column(column.data[rows], mask, column.strings, column.times)
