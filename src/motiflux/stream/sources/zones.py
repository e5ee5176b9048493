"""Which datetimes of a text have a time zone: the parser of updates has all of them in UTC."""

from __future__ import annotations

import csv
import re

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.stream.sources.attributes import TextAttributes

_ZONED = re.compile(rb"\d[Tt ]\d.*(?:[Zz]|[+-]\d\d(?::?\d\d)?)\s*$")


class TextZones:
    """Reads the times of a batch again.

    Parameters
    ----------
    layout, separator
        Of the text.
    place
        The position of the column of times.
    """

    def __init__(self, layout: _native.Layout, separator: str, place: int) -> None:
        self._separator = separator.encode()
        self._place = place
        self._records = TextAttributes(layout, {"time": place})

    def of(self, raw: bytes, lines: NDArray[np.int64], before: int) -> NDArray[np.bool_]:
        """Return whether the time on each line has a zone.

        Parameters
        ----------
        raw
            The text of the batch.
        lines, before
            The lines of its updates, and the lines before it.
        """
        records = raw.split(b"\n")
        own = [records[at] for at in (lines - before - 1).tolist()]
        if b'"' not in raw:
            times = [one.split(self._separator)[self._place] for one in own]
        elif (quoted := self._of_quoted(own)) is not None:
            times = quoted
        else:
            found = self._records.taken(raw, before)(lines)["time"]
            times = [str(time).encode() for time in found]
        return np.fromiter((_ZONED.search(time) is not None for time in times), bool, len(times))

    def _of_quoted(self, lines: list[bytes]) -> list[bytes] | None:
        """Return the times of records that are a line each; None if they may be longer."""
        if any(line.count(b'"') % 2 for line in lines):
            return None
        texts = (line.decode("latin-1") for line in lines)
        try:
            rows = list(csv.reader(texts, delimiter=self._separator.decode("latin-1")))
        except csv.Error:
            return None
        if len(rows) != len(lines) or any(len(row) <= self._place for row in rows):
            return None
        return [row[self._place].encode("latin-1") for row in rows]
