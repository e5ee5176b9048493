"""Which datetimes of a text have a time zone: the parser of updates has all of them in UTC."""

from __future__ import annotations

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
        times: list[bytes]
        if b'"' in raw:
            found = self._records.taken(raw, before)(lines)["time"]
            times = [str(time).encode() for time in found]
        else:
            records = raw.split(b"\n")
            places = (lines - before - 1).tolist()
            times = [records[at].split(self._separator)[self._place] for at in places]
        return np.fromiter((_ZONED.search(time) is not None for time in times), bool, len(times))
