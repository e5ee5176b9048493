"""Tables of matches, batch by batch: the input of writers and of exports to other libraries.

A batch is a list of columns, each with the values of as many rows. All batches have the same columns, which
are known before the first batch: a `Field` describes each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from motiflux.graph import Column, Kind
from motiflux.interop.strings import StringTable
from motiflux.io.tables.lists import ListColumn
from motiflux.types import IdArray

Block = TypeVar("Block", bound=NDArray[Any])

_GROUP_BYTES = 16 << 20
_GROUP_ROWS = (1 << 16, 1 << 20)


@dataclass(frozen=True, eq=False, slots=True)
class Field:
    """One column of a table of matches.

    Parameters
    ----------
    name
        Of its own in the table.
    dtype
        Of the values, or of the codes of strings.
    strings
        The strings that the codes refer to, in all batches; an empty table if each batch has a table of its
        own; None if the values are not strings.
    times
        As of `Column`: the kind of datetimes; None for other values.
    of_lists
        Whether each row has a list of such values (`ListColumn`).
    """

    name: str
    dtype: np.dtype[Any]
    strings: StringTable | None = None
    times: Kind | None = None
    of_lists: bool = False

    @classmethod
    def of(cls, name: str, column: Column) -> Field:
        """Return the field of a column."""
        return cls(name, column.data.dtype, column.strings, column.times)

    @property
    def kind(self) -> Kind:
        """The kind of the values."""
        return self.no_rows().kind

    def no_rows(self) -> Column:
        """Return the column of values without any row."""
        return Column(np.empty(0, self.dtype), None, self.strings, self.times)


AnyColumn: TypeAlias = Column | ListColumn
"""A column of a batch."""


@runtime_checkable
class MatchTables(Protocol):
    """Matches as tables: the part of `motiflux.Matches` that writers use."""

    @property
    def fields(self) -> Sequence[Field]:
        """The columns of each batch."""

    @property
    def metadata(self) -> Mapping[str, str]:
        """Metadata of all rows."""

    def tables(self, batch_rows: int | None = None) -> Iterator[Sequence[AnyColumn]]:
        """Iterate over batches; with `batch_rows`, each has `batch_rows` rows, except the last one."""


class MatchBatches(Protocol):
    """Batches of matches: arrays [rows, k] of external ids, and a name for each column."""

    @property
    def columns(self) -> list[str]:
        """Names of the k columns."""

    def __iter__(self) -> Iterator[IdArray]:
        """Iterate over the batches."""


class ArrayTables:
    """Batches that are arrays already, as tables; the first batch determines the columns."""

    metadata: Mapping[str, str] = {}

    def __init__(self, matches: MatchBatches) -> None:
        batches = iter(matches)
        first = next(batches, None)
        is_text = first is not None and first.dtype.kind == "U"
        table = StringTable.of([]) if is_text else None
        dtype = np.dtype(np.uint32 if is_text else np.int64)
        self.fields = [Field(name, dtype, table) for name in matches.columns]
        self._batches: Iterable[IdArray] = batches if first is None else chain([first], batches)
        self._is_text = is_text

    def tables(self, batch_rows: int | None = None) -> Iterator[list[Column]]:
        """Iterate over batches; strings have a table of their own in each."""
        batches = self._batches if batch_rows is None else rebatched(self._batches, batch_rows)
        for batch in batches:
            yield [self._column(batch[:, at]) for at in range(batch.shape[1])]

    def _column(self, values: NDArray[Any]) -> Column:
        if not self._is_text:
            return Column(np.ascontiguousarray(values, dtype=np.int64))
        distinct, codes = np.unique(values, return_inverse=True)
        return Column(codes.reshape(-1).astype(np.uint32), None, StringTable.of(distinct.tolist()))


def as_tables(matches: MatchTables | MatchBatches) -> MatchTables:
    """Return matches of either kind as tables."""
    return matches if isinstance(matches, MatchTables) else ArrayTables(matches)


def rebatched(blocks: Iterable[Block], rows: int) -> Iterator[Block]:
    """Yield blocks of exactly `rows` rows, except the last; a part of one given block is a view."""
    held: list[Block] = []
    count = 0
    for block in blocks:
        start = 0
        while start < len(block):
            part: Block = block[start : start + rows - count]  # type: ignore[assignment]
            start += len(part)
            count += len(part)
            held.append(part)
            if count == rows:
                yield held[0] if len(held) == 1 else np.concatenate(held)  # type: ignore[misc]
                held, count = [], 0
    if held:
        yield held[0] if len(held) == 1 else np.concatenate(held)  # type: ignore[misc]


def group_rows(fields: Sequence[Field]) -> int:
    """Return how many rows to write at once: some megabytes, but not few rows."""
    width = sum(field.dtype.itemsize for field in fields)
    least, most = _GROUP_ROWS
    return min(most, max(least, _GROUP_BYTES // max(1, width)))
