"""The columns of a stream that are no part of an update: read for sinks that pass them on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux import _native

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+")
_SCIENTIFIC = re.compile(r"-?[1-9](?:\.[0-9]+)?e[+-][0-9]{2,3}")

Attributes = Callable[[NDArray[np.int64]], Mapping[str, Sequence[Any]]]
"""Returns the values of each column for some lines of a batch; None is a missing value."""


def value_of(text: str) -> Any:
    """Return the value of a field: None of an empty one, a number if the text is one exactly, else the text.

    Each value is looked at alone, as a stream has no end. A number is an integer of 64 bits, a decimal that a
    float holds with all its digits, or a float with an exponent as Python writes it. ``007``, ``+5`` and
    ``1e5`` stay text.

    >>> [value_of(text) for text in ("", "5", "-10.50", "1e-05", "007", "0.12345678901234567890", "nan")]
    [None, 5, -10.5, 1e-05, '007', '0.12345678901234567890', 'nan']
    """
    if not text:
        return None
    if _INTEGER.fullmatch(text) and text != "-0":
        number = int(text)
        return number if -(2**63) <= number < 2**63 else text
    if _DECIMAL.fullmatch(text):
        exact = Decimal(repr(float(text))) == Decimal(text)
        return float(text) if exact else text
    if _SCIENTIFIC.fullmatch(text) and repr(float(text)) == text:
        return float(text)
    return text


class TextAttributes:
    """Reads records of a batch again when their attributes are wanted.

    Parameters
    ----------
    layout
        Of the text.
    columns
        The position of each column, by name.
    """

    def __init__(self, layout: _native.Layout, columns: Mapping[str, int]) -> None:
        self._layout = layout
        self._columns = dict(columns)

    def taken(self, raw: bytes, before: int) -> Attributes:
        """Return the attributes of the batch with this text, which has `before` lines before it."""
        ends = np.flatnonzero(np.frombuffer(raw, np.uint8) == ord("\n"))

        def attributes(lines: NDArray[np.int64]) -> Mapping[str, Sequence[Any]]:
            records = {line: self._record(raw, ends, line - before - 1) for line in set(lines.tolist())}
            return {
                name: [value_of(records[line][place]) for line in lines.tolist()]
                for name, place in self._columns.items()
            }

        return attributes

    def _record(self, raw: bytes, ends: NDArray[np.int64], at: int) -> list[str]:
        """Return the fields of the record that begins with a line, of which it may have several."""
        begin = 0 if at == 0 else int(ends[at - 1]) + 1
        for end in ends[at:].tolist():
            if (found := _native.first_record(raw[begin : end + 1], self._layout, at_end=False)) is not None:
                break
        else:
            found = _native.first_record(raw[begin:], self._layout, at_end=True)
        assert found is not None
        return [field.decode("utf-8", "surrogateescape") for field in found[4]]
