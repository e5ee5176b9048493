"""Found matches as a table: columns ``sign, update, time, pattern, v0..``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import OutputError
from motiflux.graph import Column
from motiflux.interop.strings import StringTable
from motiflux.io.tables.match_tables import Field
from motiflux.pattern import Pattern
from motiflux.stream.sinks.sink import FoundMatches
from motiflux.times import format_moments
from motiflux.units import quantity

TIME = 2
"""The column with moments."""

_FIXED = ("sign", "update", "time", "pattern")
_EXACT_IN_FLOAT = 1 << 53
_TIME_WORDS = {"i": "integers", "f": "fractions", "M": "dates"}


class MatchTable:
    """A table that grows at its end; see `motiflux.io.tables.match_tables.MatchTables`.

    Rows taken out are removed.

    Parameters
    ----------
    patterns
        The patterns; the largest determines the number of columns.
    as_text
        Whether rows become text, whose cells need not be of one type.
    named
        Whether ids are strings.
    time_kind
        The type of moments, as in `time_kind`.
    """

    def __init__(
        self, patterns: Sequence[Pattern], *, as_text: bool, named: bool = False, time_kind: str = "i"
    ) -> None:
        self.width = max((pattern.num_vertices for pattern in patterns), default=0)
        """Columns of vertices."""
        self._as_text = as_text
        self._named = named
        self.time_kind = time_kind
        """Of moments that are given so far: ``"i"`` integers, ``"f"`` fractions, ``"M"`` dates."""
        self.metadata: Mapping[str, str] = {
            "motiflux.patterns": json.dumps([str(pattern) for pattern in patterns])
        }
        self._pending: list[FoundMatches] = []
        self._settled = 0
        self.rows = 0

    @property
    def fields(self) -> list[Field]:
        """The columns."""
        time = np.dtype(np.float64 if self.time_kind == "f" else np.int64)
        types: list[np.dtype[Any]] = [np.dtype(np.int8), np.dtype(np.int64), time, np.dtype(np.int32)]
        ids = np.dtype(np.uint32 if self._named else np.int64)
        table = StringTable.of([]) if self._named else None
        fixed = [Field(name, dtype) for name, dtype in zip(_FIXED, types, strict=True)]
        return fixed + [Field(f"v{at}", ids, table) for at in range(self.width)]

    def put(self, found: FoundMatches) -> None:
        """Add rows; refuse rows of a pattern that was added later and needs more columns."""
        if found.vertices.shape[1] > self.width:
            raise OutputError(
                f"pattern {found.number}: expected at most {quantity(self.width, 'vertex')}, as patterns "
                f"had when the first matches were written, found {found.vertices.shape[1]}"
            )
        if len(found):
            self._pending.append(found)
            self.rows += len(found)

    def needs_fractions(self) -> bool:
        """Whether waiting moments are fractions, and all moments before them were integers."""
        return self.time_kind == "i" and any(time_kind(found) == "f" for found in self._pending)

    def settle(self) -> None:
        """Mark the waiting rows as rows of final batches."""
        self._settled = len(self._pending)

    def drop_unsettled(self) -> None:
        """Forget the rows of a batch that is not."""
        del self._pending[self._settled :]
        self.rows = sum(map(len, self._pending))

    def drop(self) -> None:
        """Forget the rows that wait."""
        self._pending, self._settled, self.rows = [], 0, 0

    def take(self) -> list[FoundMatches]:
        """Take out all rows, as they were put."""
        pending = self._pending
        self.drop()
        return pending

    def tables(self, batch_rows: int | None = None) -> Iterator[list[Column]]:
        """Take out all rows, as one table."""
        if pending := self.take():
            yield self._columns(pending)

    def _columns(self, pending: list[FoundMatches]) -> list[Column]:
        numbers = [np.full(len(found), found.number, dtype=np.int32) for found in pending]
        return [
            Column(np.concatenate([found.signs for found in pending])),
            Column(np.concatenate([found.updates for found in pending])),
            self._times(pending),
            Column(np.concatenate(numbers)),
            *self._vertices(pending),
        ]

    def _times(self, pending: list[FoundMatches]) -> Column:
        absent = np.concatenate([np.full(len(found), found.times is None) for found in pending])
        mask = absent if absent.any() else None
        if self._as_text:
            parts = [np.zeros(len(f), dtype=np.int64) if f.times is None else f.times for f in pending]
            kinds = {time_kind(found) for found in pending if found.times is not None}
            if "M" in kinds or len(kinds) > 1:
                return _as_strings(parts, mask)
            return Column(np.concatenate(parts), mask)
        return Column(np.concatenate([self._typed(found) for found in pending]), mask)

    def _typed(self, found: FoundMatches) -> NDArray[Any]:
        """Return moments as numbers of the type of the column: dates as nanoseconds."""
        dtype = np.float64 if self.time_kind == "f" else np.int64
        if found.times is None:
            return np.zeros(len(found), dtype=dtype)
        kind, times = time_kind(found), found.times
        if kind not in ("i", self.time_kind) or (kind == "i" and self.time_kind == "M"):
            before, now = _TIME_WORDS[self.time_kind], _TIME_WORDS[kind]
            raise OutputError(f"time: expected {before} as in the rows before, found {now}")
        if kind == "M":
            return times.astype("datetime64[ns]").astype(np.int64)
        blurs = kind == "i" and dtype is np.float64
        if blurs and max(-int(times.min()), int(times.max())) > _EXACT_IN_FLOAT:
            raise OutputError("time: expected at most 2**53 beside fractions in one column, found more")
        return times.astype(dtype)

    def _vertices(self, pending: list[FoundMatches]) -> Iterator[Column]:
        codes, strings = _coded(pending)
        for at in range(self.width):
            parts = [
                block[:, at] if at < block.shape[1] else np.zeros(len(block), block.dtype) for block in codes
            ]
            missing = np.repeat([at >= block.shape[1] for block in codes], [len(block) for block in codes])
            yield Column(np.concatenate(parts), missing if missing.any() else None, strings)


def kinds_of(first: FoundMatches) -> dict[str, Any]:
    """Return the types of columns by the first rows, for `MatchTable`."""
    return {"named": first.vertices.dtype.kind == "U", "time_kind": time_kind(first)}


def time_kind(found: FoundMatches) -> str:
    """Return ``"i"``, ``"f"`` or ``"M"``; integers where there are no moments."""
    kind = "i" if found.times is None else found.times.dtype.kind
    return "i" if kind == "u" else kind


def moments_as_text(times: NDArray[Any]) -> NDArray[np.str_]:
    """Return datetimes in UTC of any unit as text of one form, ``2024-03-01T12:00:00.000000000Z``."""
    return format_moments(times.astype("datetime64[ns]").view(np.int64), utc=True)


def _as_strings(parts: list[NDArray[Any]], mask: NDArray[np.bool_] | None) -> Column:
    """Return moments as text: dates in the form of `moments_as_text`."""
    texts: list[str] = []
    for part in parts:
        texts += moments_as_text(part).tolist() if part.dtype.kind == "M" else map(str, part.tolist())
    distinct, codes = np.unique(np.array(texts), return_inverse=True)
    return Column(codes.reshape(-1).astype(np.uint32), mask, StringTable.of(distinct.tolist()))


def _coded(pending: list[FoundMatches]) -> tuple[list[NDArray[Any]], StringTable | None]:
    if pending[0].vertices.dtype.kind != "U":
        return [found.vertices.astype(np.int64) for found in pending], None
    flat = np.concatenate([found.vertices.reshape(-1) for found in pending])
    distinct, codes = np.unique(flat, return_inverse=True)
    ends = np.cumsum([found.vertices.size for found in pending])[:-1]
    pieces = np.split(codes.reshape(-1).astype(np.uint32), ends)
    blocks = [piece.reshape(found.vertices.shape) for piece, found in zip(pieces, pending, strict=True)]
    return blocks, StringTable.of(distinct.tolist())
