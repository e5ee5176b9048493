"""A column of attributes that grows with the stream: a word of 64 bits for each row, and what is missing."""

from __future__ import annotations

from itertools import pairwise
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import StreamError
from motiflux.graph import Column, Kind
from motiflux.graph.attributes.columns import make_column
from motiflux.interop.strings import StringTable
from motiflux.times import format_moments, parse_moment

_EXACT_IN_FLOAT = 1 << 53
_FEWEST_ROWS = 64


class State(NamedTuple):
    """What a column returns to after a call that is undone; rows from the end of those before may differ."""

    kind: Kind
    words: NDArray[np.int64]
    missing: NDArray[np.uint8]
    strings: list[str]
    codes: dict[Any, int]
    size: int
    has_values: bool
    mixed: bool


class GrowingColumn:
    """The values of one attribute by row.

    Equal values have equal words: integers, datetimes in nanoseconds and booleans are their own words, floats
    the word with the same bits, strings the number of their first occurrence. The first value of a copy
    determines the kind; later, integers may become floats where none is changed by that. Values of other
    kinds are refused, or all of them become strings, which are equal if they stand for equal values: ``7.0``
    and ``007``. So a text finds itself, whether it was read as a number before or not.

    Parameters
    ----------
    name
        In errors.
    mixed
        Whether it has strings that stand for values of several kinds.
    """

    def __init__(self, name: str, *, mixed: bool = False) -> None:
        self.name = name
        self.kind = Kind.NOTHING
        self.words = np.zeros(0, dtype=np.int64)
        """int64, of at least all rows; of a row without a value, anything."""
        self.missing = np.ones(0, dtype=np.uint8)
        """uint8, as long: 1 where there is no value."""
        self._strings: list[str] = []
        self._codes: dict[Any, int] = {}  # by string, or by value
        self._has_values = False  # of copies: what only deletions named determines nothing
        self._mixed = mixed

    @property
    def kind_of_copies(self) -> Kind:
        """The kind of the values that copies have, or had."""
        return self.kind if self._has_values else Kind.NOTHING

    @property
    def mixed(self) -> bool:
        """Whether strings were values of several kinds."""
        return self._mixed

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

    def put(
        self, first: int, values: Column, copies: NDArray[np.bool_] | None = None, *, mixes: bool = False
    ) -> None:
        """Write values from a row on.

        Parameters
        ----------
        copies
            Whether each is of a copy, not of a deletion; None: all are.
        mixes
            Whether values become strings if copies have some of several kinds.

        Raises
        ------
        StreamError
            They are of another kind than those before.
        """
        end = first + len(values)
        self.clear(first, end)
        there = ~values.missing()
        if not there.any():
            return
        of_copies = bool((there if copies is None else there & copies).any())
        values = self._of_one_kind(values, mixes=mixes)
        self.words[first:end] = self._words_of(values)
        self.missing[first:end] = ~there
        self._has_values |= of_copies

    def column(self, rows: NDArray[Any]) -> Column:
        """Return the values of some rows."""
        words = self.words[rows]
        absent = self.missing[rows].astype(bool)
        mask = absent if absent.any() else None
        if not self._has_values:
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
        fewer = GrowingColumn(self.name, mixed=self._mixed)
        fewer.put(0, self.column(rows))
        fewer.kind, fewer._has_values = self.kind, self._has_values
        return fewer

    def state(self) -> State:
        """Return a state for `back_to`."""
        strings, codes = self._strings, self._codes
        return State(
            self.kind,
            self.words,
            self.missing,
            strings,
            codes,
            len(strings),
            self._has_values,
            self._mixed,
        )

    def back_to(self, state: State) -> None:
        """Undo what was done since `state`, but for rows that are read no more."""
        self.kind, self.words, self.missing, strings, codes, size, self._has_values, self._mixed = state
        for string in strings[size:]:
            codes.pop(self._key(string), None)
        del strings[size:]
        self._strings, self._codes = strings, codes

    def _of_one_kind(self, values: Column, *, mixes: bool) -> Column:
        """Return values of the kind of the column, which may become that of the values."""
        kind = values.kind
        if not self._has_values and self.kind is not kind:
            self.kind, self.missing = (
                kind,
                np.ones_like(self.missing),
            )  # what deletions named is not read again
        if self.kind is kind:
            return values
        if {self.kind, kind} == {Kind.INTEGER, Kind.FLOAT}:
            integers = self.words[self.missing == 0] if kind is Kind.FLOAT else values.data[~values.missing()]
            if not (mixes and _greatest(integers) > _EXACT_IN_FLOAT):
                self._check_exact(integers)
                if kind is Kind.INTEGER:
                    return Column(values.data.astype(np.float64), values.mask)
                self._become_floats()
                return values
        if mixes:
            self._become_strings()
            return _as_strings(values)
        raise StreamError(
            f"updates, attribute {self.name!r}: expected {self.kind.value} as before, found {kind.value}"
        )

    def _become_strings(self) -> None:
        """Have all values as text, equal ones with equal words."""
        if self._mixed:
            return
        there = np.flatnonzero(self.missing == 0)
        texts = _as_strings(self.column(there))
        words = np.zeros(len(self.words), dtype=np.int64)
        self._strings, self._codes, self._mixed = [], {}, True
        if len(there) and texts.strings is not None:
            words[there] = self._words_of(texts)
        self.words, self.kind = words, Kind.STRING

    def _become_floats(self) -> None:
        self.words = np.where(self.missing == 0, self.words, 0).astype(np.float64).view(np.int64)
        self.kind = Kind.FLOAT

    def _check_exact(self, integers: NDArray[Any]) -> None:
        if _greatest(integers) > _EXACT_IN_FLOAT:
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
        key = self._key(string)
        code = self._codes.get(key)
        if code is None:
            code = len(self._strings)
            self._strings.append(string)  # first: `back_to` reads these
            self._codes[key] = code
        return code

    def _key(self, string: str) -> Any:
        """Return what equal strings have in common."""
        return _value_of(string) if self._mixed else string

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


def _greatest(integers: NDArray[Any]) -> int:
    """Return the greatest absolute value; 0 of none."""
    return max(-int(integers.min()), int(integers.max())) if len(integers) else 0


def _as_strings(values: Column) -> Column:
    """Return values as text: whole numbers without a point, datetimes in the ISO form."""
    if values.kind in (Kind.STRING, Kind.NOTHING):
        return values
    if values.times is not None:
        texts = format_moments(values.data, utc=values.times is Kind.DATETIME_UTC).tolist()
    elif values.kind is Kind.BOOLEAN:
        texts = ["true" if value else "false" for value in values.data.tolist()]
    else:
        texts = [_number_text(value) for value in values.data.tolist()]
    absent = values.missing().tolist()
    given = [None if missing else text for text, missing in zip(texts, absent, strict=True)]
    return make_column(given, "values of several kinds")


def _number_text(value: float) -> str:
    whole = isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT_IN_FLOAT
    return str(int(value) if whole else value)


def _value_of(text: str) -> Any:
    """Return the value that a reader may have made of a text; values of different kinds differ."""
    lower = text.lower()
    if lower in ("true", "false"):
        return "boolean", lower
    moment = parse_moment(text)
    if moment is not None:
        return "datetime", *moment
    if "_" in text or not text.isascii():
        return text
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        return ("number", number) if isfinite(number) else text
    return text


def _listed(table: StringTable) -> list[str]:
    """Return the strings of a table, which takes longer one by one."""
    text, ends = table.text.tobytes(), table.offsets.tolist()
    return [text[first:end].decode("utf-8", "surrogatepass") for first, end in pairwise(ends)]
