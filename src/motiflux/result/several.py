"""The rows of several patterns in one table, with the position of the pattern in front."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from motiflux.errors import ArgumentError
from motiflux.graph import Column
from motiflux.interop.strings import StringTable
from motiflux.io.tables.lists import ListColumn
from motiflux.io.tables.match_tables import AnyColumn, Field
from motiflux.result.matches import Matches

_PATTERN = "pattern"


class SeveralMatches:
    """The matches of several patterns, one pattern after the other.

    Rows have the column ``pattern``, then every column of any of the patterns by its name. A row has no value
    in columns that its pattern has not; where they hold lists, it has an empty list.

    Parameters
    ----------
    each
        The matches of each pattern.

    Raises
    ------
    ArgumentError
        Columns of one name hold values of different types.

    Examples
    --------
    >>> import motiflux as mf
    >>> from motiflux.result.several import SeveralMatches
    >>> g = mf.Graph.from_edges([(1, 2), (2, 3)], directed=True)
    >>> both = SeveralMatches(mf.match(g, ["(a)-->(b)", "(a)-->(b)-->(c)"]))
    >>> [field.name for field in both.fields]
    ['pattern', 'v0', 'v1', 'v2']
    """

    def __init__(self, each: Sequence[Matches]) -> None:
        self.each = each
        found: dict[str, Field] = {}
        for one in each:
            for field in one.fields:
                known = found.setdefault(field.name, field)
                if (known.kind, known.dtype, known.of_lists) != (field.kind, field.dtype, field.of_lists):
                    raise ArgumentError(
                        "names", "columns of one name that hold values of one type", field.name
                    )
        if _PATTERN in found:
            raise ArgumentError(
                "names", f"no column of the name {_PATTERN!r} beside several patterns", _PATTERN
            )
        self.fields = [Field(_PATTERN, np.dtype(np.int64)), *found.values()]

    @property
    def metadata(self) -> dict[str, str]:
        """Metadata of all rows: that of each pattern, under its position."""
        return {f"{key}.{at}": text for at, one in enumerate(self.each) for key, text in one.metadata.items()}

    def tables(self, batch_rows: int | None = None) -> Iterator[Sequence[AnyColumn]]:
        """Iterate over batches; a batch has rows of one pattern."""
        for at, one in enumerate(self.each):
            names = [field.name for field in one.fields]
            for columns in one.tables(batch_rows):
                there = dict(zip(names, columns, strict=True))
                rows = len(columns[0])
                number = Column(np.full(rows, at, dtype=np.int64))
                yield [number, *(there.get(field.name) or _nothing(field, rows) for field in self.fields[1:])]

    def close(self) -> None:
        """Stop all searches."""
        for one in self.each:
            one.close()

    def __enter__(self) -> SeveralMatches:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def rows(self) -> int:
        """Rows returned so far."""
        return sum(one.rows for one in self.each)

    @property
    def complete(self) -> bool:
        """Whether every row was returned."""
        return all(one.complete for one in self.each)

    @property
    def seconds(self) -> float:
        """Wall-clock seconds from the first search to the end of the last one."""
        return max(one.seconds for one in self.each)

    @property
    def plan_seconds(self) -> float:
        """Wall-clock seconds of planning."""
        return sum(one.plan_seconds for one in self.each)

    def __getattr__(self, name: str) -> Any:
        if name in ("engine", "device", "reason"):
            return getattr(self.each[0], name)
        raise AttributeError(name)


def _nothing(field: Field, rows: int) -> AnyColumn:
    """Return a column of missing values, or of empty lists."""
    if field.of_lists:
        return ListColumn(replace(field, of_lists=False).no_rows(), np.zeros(rows + 1, dtype=np.int64))
    strings = StringTable.of([""]) if field.strings is not None else None
    return Column(np.zeros(rows, field.dtype), np.ones(rows, dtype=bool), strings, field.times)
