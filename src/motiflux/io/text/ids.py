"""The ids of a table of text: integers or names, and the treatment of missing ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import FormatError
from motiflux.interop.dropping import EXACT
from motiflux.interop.missing import ADVICE, ADVICE_ON_WORDS, WORDS, Missing, first_row, words_among
from motiflux.interop.strings import StringTable
from motiflux.io.text.table import Field, Parsed, Record, Table, TextOptions, Want, as_names

ADVICE_ON_KIND = "ids='names' takes all ids as names"

_INTEGER = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)
_FOUND = re.compile(r"found '([^']*)'")
_SURELY_64_BITS = 18
"""All integers of so many digits have 64 bits at most."""

Reasons: TypeAlias = "Sequence[str | None]"
"""Whether each column holds integers only: the reason that errors give; None where it may hold names."""

Judge: TypeAlias = "Callable[[Sequence[str], str], tuple[Reasons, Want]]"
"""Says what the ids of the first row, and the place of that row, make of the columns."""


class Ids(NamedTuple):
    """Columns of ids without the rows that were dropped.

    Parameters
    ----------
    columns
        Integers, or positions in `names`.
    names
        Distinct, in ascending order; None where ids are integers.
    kept
        bool [rows of the file], False where a row was dropped; None where none was.
    """

    columns: list[NDArray[Any]]
    names: NDArray[np.str_] | None
    kept: NDArray[np.bool_] | None

    def dropped(self) -> int:
        """Return the number of rows that were dropped."""
        return 0 if self.kept is None else int(np.count_nonzero(~self.kept))


@dataclass(frozen=True)
class IdRules:
    """The rules of ids.

    Parameters
    ----------
    titles
        The name of each column in errors.
    integers
        Whether a column holds integers only, each with the reason that its errors give.
    missing
        Treatment of missing ids.
    want
        The kind that the parser makes of them, if no rows are to be dropped.
    advice
        Advice for errors: how to name other columns.
    judge
        Makes `integers` and `want` of the first row that is kept, if the first of the file is dropped; None
        where no row decides.
    """

    titles: Sequence[str]
    integers: Reasons
    missing: Missing
    want: Want
    advice: str = ""
    judge: Judge | None = None

    def fields(self, positions: Sequence[int]) -> list[Field]:
        """Return the fields to read; missing ids are found afterwards if their rows are to be dropped."""
        drops = self.missing == "drop"
        return [
            Field(place, what, Want.ANYTHING if drops else self.want, strings=drops)
            for place, what in zip(positions, self.titles, strict=True)
        ]

    def read(self, table: Table) -> Ids:
        """Return the first columns of a table as ids.

        Raises
        ------
        FormatError
            An id is missing, or a name where integers are expected; gives the line and the column.
        """
        parsed = table.columns[: len(self.titles)]
        if parsed[0].strings is None and not any(column.missing is not None for column in parsed):
            return Ids([integers(column) for column in parsed], None, None)
        strings = parsed[0].strings or StringTable.of([])
        codes = [_codes(column) for column in parsed]
        if self.missing == "drop":
            return self._without_dropped(table, parsed, codes, strings)
        if self.missing == "error":
            find = _Finder(table, self, codes, strings, None)
            find.refuse(words_among(strings), "an integer or a name", ADVICE_ON_WORDS)
        return self._integers_or_names(table, codes, strings, None)

    def _without_dropped(
        self, table: Table, parsed: Sequence[Parsed], codes: list[NDArray[Any]], strings: StringTable
    ) -> Ids:
        """Return the ids as if the rows that lack one were not in the file."""
        kept = self._kept(parsed, codes, strings)
        if kept is None:
            return self._integers_or_names(table, codes, strings, None)
        codes = [column[kept] for column in codes]
        used = np.zeros(len(strings), dtype=bool)
        for column in codes:
            used[column] = True
        new_codes = (np.cumsum(used) - 1).astype(np.uint32)
        codes = [new_codes[column] for column in codes]
        _, strings = strings.used(np.flatnonzero(used).astype(np.uint32))
        rules = self
        if self.judge is not None and not kept[0] and len(strings):
            row, first = int(np.argmax(kept)), table.first_line
            place = f"row {row}" if first is None else f"line {first + row}"
            reasons, want = self.judge([strings[int(column[0])] for column in codes], place)
            rules = replace(self, integers=reasons, want=want)
        return rules._integers_or_names(table, codes, strings, kept)

    def _kept(
        self, parsed: Sequence[Parsed], codes: Sequence[NDArray[Any]], strings: StringTable
    ) -> NDArray[np.bool_] | None:
        empty = [0] if len(strings) and strings[0] == "" else []
        absent = np.array([*words_among(strings), *empty], dtype=np.uint32)
        lacking = np.logical_or.reduce([np.isin(column, absent) for column in codes])
        for column in parsed:
            lacking = lacking if column.missing is None else lacking | column.missing
        return ~lacking if lacking.any() else None

    def _integers_or_names(
        self, table: Table, codes: list[NDArray[Any]], strings: StringTable, kept: NDArray[np.bool_] | None
    ) -> Ids:
        """Return integers if all names in use are integers, else names; refuse names among integers."""
        checks = self.missing == "drop" or any(reason is not None for reason in self.integers)
        if not checks and not _some_decimal(strings):
            return Ids(codes, as_names(table.path, strings), kept)
        find = _Finder(table, self, codes, strings, kept)
        shapes = _Shapes.of(strings)
        if self.missing == "drop":
            shapes.read_padded(strings)
            find.refuse(np.flatnonzero(shapes.padded), "a name without blanks around it, or in quotes", "")
            values = None if self.want is Want.NAME else shapes.whole_numbers(strings)
            if values is not None:
                return Ids([values[column] for column in codes], None, kept)
        for which, reason in enumerate(self.integers):
            if reason is not None:
                find.refuse(np.flatnonzero(~shapes.integer), f"an integer{reason}", ADVICE_ON_KIND, which)
        decimals = np.flatnonzero(shapes.decimal)
        if decimals.size and self.want is not Want.NAME and shapes.integer.any():
            find.refuse(decimals, "an integer, as other ids are", ADVICE_ON_KIND)
        return Ids(codes, as_names(table.path, strings), kept)


class _Finder(NamedTuple):
    """Finds the row of a name that is refused."""

    table: Table
    rules: IdRules
    codes: list[NDArray[Any]]
    strings: StringTable
    kept: NDArray[np.bool_] | None

    def refuse(
        self, places: Sequence[int] | NDArray[np.intp], expected: str, advice: str, which: int | None = None
    ) -> None:
        """Refuse the first row with one of some names, in a column or in any.

        Raises
        ------
        FormatError
            There is such a row.
        """
        columns = self.codes if which is None else [self.codes[which]]
        found = first_row(columns, list(places)) if len(places) else None
        if found is None:
            return
        row, column = found
        name = self.strings[int(columns[column][row])]
        if self.kept is not None:
            row = int(np.flatnonzero(self.kept)[row])
        first = self.table.first_line
        what = self.rules.titles[column if which is None else which]
        message = f"{what}: found {name!r}, expected {expected}{advice and '; '}{advice}{self.rules.advice}"
        if first is None:
            raise FormatError(self.table.path, f"row {row}: {message}")
        raise FormatError(self.table.path, message, first + row)


@dataclass(frozen=True)
class _Shapes:
    """The shapes of names: bool [names] each.

    Parameters
    ----------
    integer
        An integer of 64 bits, without leading zeros.
    decimal
        An integer that ``.0`` follows.
    padded
        A name with blanks around it.
    """

    integer: NDArray[np.bool_]
    decimal: NDArray[np.bool_]
    padded: NDArray[np.bool_]

    @classmethod
    def of(cls, strings: StringTable) -> _Shapes:
        """Return the shapes of names in ascending order."""
        made = cls(*(np.zeros(len(strings), dtype=bool) for _ in range(3)))
        first = int(len(strings) > 0 and strings[0] == "")  # the empty one looks like nothing
        text, begins, ends = strings.text, strings.offsets[first:-1], strings.offsets[first + 1 :]
        if not len(begins):
            return made
        lengths = ends - begins
        digits = np.add.reduceat((text >= ord("0")) & (text <= ord("9")), begins, dtype=np.int32)
        minus = (text[begins] == ord("-")) & (lengths > 1)
        leading = (text[begins + minus] == ord("0")) & (digits > 1)
        negative_zero = minus & (digits == 1) & (text[begins + minus] == ord("0"))
        whole = (digits > 0) & (digits + minus == lengths) & ~leading & ~negative_zero
        for place in np.flatnonzero(whole & (digits > _SURELY_64_BITS)).tolist():
            whole[place] = -(2**63) <= int(strings[first + place]) < 2**63
        tail = (lengths > 2) & (text[ends - 1] == ord("0")) & (text[np.maximum(ends - 2, 0)] == ord("."))
        made.integer[first:] = whole
        made.decimal[first:] = tail & (digits + minus + 1 == lengths)
        blank = (text == ord(" ")) | (text == ord("\t"))
        made.padded[first:] = blank[begins] | blank[ends - 1]
        return made

    def read_padded(self, strings: StringTable) -> None:
        """Take names that are integers but for the blanks around them as integers."""
        for place in np.flatnonzero(self.padded).tolist():
            if _is_integer(strings[place]):
                self.integer[place], self.padded[place] = True, False

    def whole_numbers(self, strings: StringTable) -> NDArray[np.int64] | None:
        """Return all names as integers; None if one is neither an integer nor one that ``.0`` follows.

        Tables get such decimals from libraries that keep integers beside missing values as floats.
        """
        if not (self.integer | self.decimal).all():
            return None
        texts = [
            text.removesuffix(".0") if decimal else text
            for text, decimal in zip(strings, self.decimal.tolist(), strict=True)
        ]
        decimals = np.flatnonzero(self.decimal).tolist()
        if not all(_is_integer(texts[place]) and abs(int(texts[place])) <= EXACT for place in decimals):
            return None
        return np.array([int(text) for text in texts], dtype=np.int64)


def _some_decimal(strings: StringTable) -> bool:
    """Whether a name may be a decimal number without a fraction: it ends with ``.0``."""
    text, ends = strings.text, strings.offsets[1:]
    ends = ends[ends > 1]
    return bool(((text[ends - 1] == ord("0")) & (text[ends - 2] == ord("."))).any())


def advised(error: FormatError, rules: IdRules) -> FormatError:
    """Return an error of the parser, with advice if it is about ids."""
    message = str(error)[len(str(FormatError(error.path, "", error.line))) :]
    if not any(message.startswith(f"{what}: ") for what in rules.titles):
        return error
    found = _FOUND.search(message)
    missing = "found an empty field" in message or (found is not None and found[1] in WORDS)
    integer = "expected an integer from" in message
    advice = f"; {ADVICE}" if missing else f"; {ADVICE_ON_KIND}" if integer else ""
    return FormatError(error.path, message + advice + rules.advice, error.line)


def id_rules(
    titles: Sequence[str], first: Record | None, positions: Sequence[int], options: TextOptions, advice: str
) -> IdRules:
    """Return the rules of a table of which `first` is the first row, if there is one.

    A column whose first id is an integer holds integers only.
    """
    nothing, want = [None] * len(titles), Want.NAME if options.ids == "names" else Want.IDENTIFIER
    if options.ids is not None or first is None:
        reasons = [""] * len(titles) if options.ids == "integers" else nothing
        return IdRules(titles, reasons, options.missing, want, advice)
    ids = [first.fields[place] if place < len(first.fields) else "" for place in positions]
    by_column, want = _integers_by_column(ids, f"line {first.lines_through}")
    return IdRules(titles, by_column, options.missing, want, advice, _integers_by_column)


def _integers_by_column(ids: Sequence[str], place: str) -> tuple[Reasons, Want]:
    return [f" as on {place}" if _is_integer(one) else None for one in ids], Want.IDENTIFIER


def _is_integer(text: str) -> bool:
    """Whether text is an integer of 64 bits without leading zeros, with blanks around it or not."""
    plain = text.strip(" \t")
    return _INTEGER.fullmatch(plain) is not None and -(2**63) <= int(plain) < 2**63


def _codes(column: Parsed) -> NDArray[Any]:
    return np.zeros(column.values, dtype=np.uint32) if isinstance(column.values, int) else column.values


def integers(column: Parsed) -> NDArray[Any]:
    """Return a column of integers; one without a value has no rows, or is to be dropped."""
    return np.zeros(column.values, dtype=np.int64) if isinstance(column.values, int) else column.values
