"""A column of attributes that grows with the stream: a word of 64 bits for each row, and what is missing."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import StreamError
from motiflux.graph import Column, Kind
from motiflux.interop.strings import StringTable

_EXACT_IN_FLOAT = 1 << 53
_FEWEST_ROWS = 64


class State(NamedTuple):
    """What a column returns to after a call that is undone; rows from the end of those before may differ."""

    kind: Kind
    words: NDArray[np.int64]
    missing: NDArray[np.uint8]
    strings: int


class GrowingColumn:
    """The values of one attribute by row.

    Equal values have equal words: integers, datetimes in nanoseconds and booleans are their own words, floats
    the word with the same bits, strings the number of their first occurrence. The first value determines the
    kind; later, integers may become floats where none is changed by that.

    Parameters
    ----------
    name
        In errors.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.kind = Kind.NOTHING
        self.words = np.zeros(0, dtype=np.int64)
        """int64, of at least all rows; of a row without a value, anything."""
        self.missing = np.ones(0, dtype=np.uint8)
        """uint8, as long: 1 where there is no value."""
        self._strings: list[str] = []
        self._codes: dict[str, int] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of words and marks."""
        return self.words.nbytes + self.missing.nbytes

    def reach(self, rows: int) -> None:
        """Have room for so many rows; new ones have no value."""
        if rows <= len(self.words):
            return
        size = max(_FEWEST_ROWS, rows, 2 * len(self.words))
        words, missing = np.zeros(size, dtype=np.int64), np.ones(size, dtype=np.uint8)
        words[: len(self.words)] = self.words
        missing[: len(self.missing)] = self.missing
        self.words, self.missing = words, missing

    def clear(self, first: int, end: int) -> None:
        """Have no values in some rows."""
        self.reach(end)
        self.missing[first:end] = 1

    def put(self, first: int, values: Column) -> None:
        """Write values from a row on.

        Raises
        ------
        StreamError
            They are of another kind than those before.
        """
        end = first + len(values)
        self.clear(first, end)
        if values.kind is Kind.NOTHING:
            return
        values = self._of_one_kind(values)
        absent = values.missing()
        self.words[first:end] = self._words_of(values)
        self.missing[first:end] = absent

    def column(self, rows: NDArray[Any]) -> Column:
        """Return the values of some rows."""
        words = self.words[rows]
        absent = self.missing[rows].astype(bool)
        mask = absent if absent.any() else None
        if self.kind is Kind.NOTHING:
            return Column(np.zeros(len(words), dtype="V1"))
        if self.kind is Kind.STRING:
            return self._coded(words, absent, mask)
        if self.kind is Kind.FLOAT:
            return Column(np.where(absent, 0.0, words.view(np.float64)), mask)
        if self.kind is Kind.BOOLEAN:
            return Column(np.where(absent, 0, words).astype(bool), mask)
        times = None if self.kind is Kind.INTEGER else self.kind
        return Column(np.where(absent, 0, words), mask, None, times)

    def compacted(self, rows: NDArray[Any]) -> GrowingColumn:
        """Return a column of some rows, with no more strings than these have."""
        fewer = GrowingColumn(self.name)
        fewer.put(0, self.column(rows))
        fewer.kind = self.kind
        return fewer

    def state(self) -> State:
        """Return a state for `back_to`."""
        return State(self.kind, self.words, self.missing, len(self._strings))

    def back_to(self, state: State) -> None:
        """Undo what was done since `state`, but for rows that are read no more."""
        self.kind, self.words, self.missing, strings = state
        for string in self._strings[strings:]:
            self._codes.pop(string, None)
        del self._strings[strings:]

    def _of_one_kind(self, values: Column) -> Column:
        """Return values of the kind of the column, which may become that of the values."""
        kind = values.kind
        if self.kind is Kind.NOTHING:
            self.kind = kind
        if self.kind is kind:
            return values
        numbers = {self.kind, kind}
        if numbers == {Kind.INTEGER, Kind.FLOAT}:
            if kind is Kind.FLOAT:
                self._become_floats()
                return values
            self._check_exact(values.data[~values.missing()])
            return Column(values.data.astype(np.float64), values.mask)
        raise StreamError(
            f"updates, attribute {self.name!r}: expected {self.kind.value} as before, found {kind.value}"
        )

    def _become_floats(self) -> None:
        there = self.missing == 0
        self._check_exact(self.words[there])
        self.words = np.where(there, self.words, 0).astype(np.float64).view(np.int64)
        self.kind = Kind.FLOAT

    def _check_exact(self, integers: NDArray[Any]) -> None:
        if len(integers) and max(-int(integers.min()), int(integers.max())) > _EXACT_IN_FLOAT:
            raise StreamError(
                f"updates, attribute {self.name!r}: expected integers of at most 2**53 among floats, "
                "found a greater one"
            )

    def _words_of(self, values: Column) -> NDArray[np.int64]:
        if values.strings is not None:
            numbers = np.array([self._code(string) for string in _listed(values.strings)], dtype=np.int64)
            return numbers[values.data] if len(numbers) else np.zeros(len(values), dtype=np.int64)
        if values.kind is Kind.FLOAT:
            return np.asarray((values.data.astype(np.float64) + 0.0).view(np.int64))  # one zero only
        if values.data.dtype == np.uint64 and len(values) and int(values.data.max()) >= 1 << 63:
            raise StreamError(
                f"updates, attribute {self.name!r}: expected integers below 2**63, found {values.data.max()}"
            )
        return values.data.astype(np.int64)

    def _code(self, string: str) -> int:
        code = self._codes.get(string)
        if code is None:
            code = len(self._strings)
            self._strings.append(string)  # first: `back_to` reads these
            self._codes[string] = code
        return code

    def _coded(
        self, words: NDArray[np.int64], absent: NDArray[np.bool_], mask: NDArray[np.bool_] | None
    ) -> Column:
        """Return strings by codes of a table in ascending order."""
        used, places = np.unique(words[~absent], return_inverse=True)
        strings = [self._strings[code] for code in used.tolist()]
        order = sorted(range(len(strings)), key=strings.__getitem__)
        position = np.empty(len(order), dtype=np.uint32)
        position[order] = np.arange(len(order), dtype=np.uint32)
        codes = np.zeros(len(words), dtype=np.uint32)
        codes[~absent] = position[places.reshape(-1)]
        # Codes of missing values are of some string, too.
        return Column(codes, mask, StringTable.of([strings[place] for place in order] or [""]))


def _listed(table: StringTable) -> list[str]:
    """Return the strings of a table, which takes longer one by one."""
    text, ends = table.text.tobytes(), table.offsets.tolist()
    return [text[first:end].decode("utf-8", "surrogatepass") for first, end in pairwise(ends)]
