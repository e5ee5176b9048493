"""Missing ids: words that stand for them, and the treatment of rows that have them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import ArgumentError
from motiflux.units import quantity_was

Missing = Literal["error", "drop", "keep"]
"""An id that is missing is an error, or its row is dropped; ``"keep"`` takes words for it as names."""

_WRITTEN = "#N/A #NA -NaN -nan <NA> N/A NA NAN NULL NaN NaT None Null \\N n/a nan none null"
WORDS = tuple(_WRITTEN.split())
"""Words that spreadsheets, databases and libraries write for a missing value."""

ADVICE = "missing='drop' leaves out rows without an id"
ADVICE_ON_FLOATS = "missing='drop' takes floats without a fraction as integers"
ADVICE_ON_WORDS = f"{ADVICE}, missing='keep' takes the word as a name"


def check_missing(missing: str) -> None:
    """Refuse a value that is no choice for missing ids.

    Raises
    ------
    ArgumentError
        Lists the choices.
    """
    if missing not in get_args(Missing):
        raise ArgumentError("missing", "one of " + ", ".join(map(repr, get_args(Missing))), missing)


def words_among(names: Sequence[str] | NDArray[Any]) -> list[int]:
    """Return the positions of the words in distinct names in ascending order."""
    places = [bisect_left(names, word) for word in WORDS]
    return [
        place
        for place, word in zip(places, WORDS, strict=True)
        if place < len(names) and names[place] == word
    ]


def first_row(columns: Sequence[NDArray[Any]], codes: Sequence[int]) -> tuple[int, int] | None:
    """Return the first row in which a column has one of some codes, and which column; None if none has."""
    found = []
    for which, column in enumerate(columns):
        rows = np.flatnonzero(np.isin(column, np.array(codes, dtype=column.dtype)))
        if rows.size:
            found.append((int(rows[0]), which))
    return min(found, default=None)


def told_of_dropped(count: int) -> tuple[str, ...]:
    """Return the note on rows that were dropped."""
    if not count:
        return ()
    return (f"{quantity_was(count, 'row')} left out, as an id is missing",)
