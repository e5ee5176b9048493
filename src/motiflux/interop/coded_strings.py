"""A column of strings in Arrow's terms, batch by batch, each distinct string kept once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux._native import Names
from motiflux.interop import arrow
from motiflux.interop.columns import Coded
from motiflux.interop.strings import StringTable

_AT_ONCE = 1 << 20


class CodedStrings:
    """Collects arrays of strings, coded or not, in which some may be missing."""

    def __init__(self) -> None:
        self._names = Names()
        self._codes: list[NDArray[np.uint32]] = []
        self._missing: list[NDArray[np.bool_] | None] = []

    def add(self, array: Any) -> None:
        """Take the strings of one batch."""
        missing = arrow.nulls(array)
        if missing is None:
            codes = arrow.codes(self._names, array)
        else:
            present = np.flatnonzero(~missing)
            codes = np.zeros(len(array), dtype=np.uint32)
            codes[present] = arrow.codes(self._names, arrow.at(array, present))
        self._codes.append(codes)
        self._missing.append(missing)

    def finish(self) -> Coded:
        """Return the column, its strings as a `StringTable`; nothing is kept."""
        (text, offsets), places = self._names.finish()
        codes, self._codes = self._codes, []
        whole = np.concatenate(codes) if codes else np.zeros(0, dtype=np.uint32)
        if len(places):
            for start in range(0, len(whole), _AT_ONCE):  # in place, but for a little at a time
                part = whole[start : start + _AT_ONCE]
                part[:] = places[part]
        missing = None
        if any(one is not None for one in self._missing):
            lacking = (
                np.zeros(len(part), dtype=bool) if one is None else one
                for part, one in zip(codes, self._missing, strict=True)
            )
            missing = np.concatenate(list(lacking))
        return Coded(whole, StringTable(text, offsets), missing)
