"""Columns of lists: as many values as it has, for each row."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.graph import Column
from motiflux.interop.strings import StringTable


@dataclass(frozen=True, eq=False, slots=True)
class ListColumn:
    """A list of values for each row.

    Parameters
    ----------
    values
        The values of all lists, one after the other.
    offsets
        int64 [rows + 1]: where each list begins, and where the last one ends.
    mask
        Where there is no list, which is empty then; None: nowhere.
    """

    values: Column
    offsets: NDArray[np.int64]

    mask: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def part(self, rows: slice) -> ListColumn:
        """Return some of the rows; `rows` has no step."""
        first, last, _ = rows.indices(len(self))
        ends = self.offsets[first : max(first, last) + 1]
        chosen = slice(int(ends[0]), int(ends[-1]))
        values = self.values
        mask = None if values.mask is None else values.mask[chosen]
        taken = Column(values.data[chosen], mask, values.strings, values.times)
        return ListColumn(taken, ends - ends[0], None if self.mask is None else self.mask[rows])

    def to_list(self) -> list[tuple[Any, ...] | None]:
        """Return the lists as tuples of Python objects; None where there is none."""
        values, ends = self.values.to_list(), self.offsets.tolist()
        missing = np.zeros(len(self), dtype=bool) if self.mask is None else self.mask
        return [
            None if no_list else tuple(values[first:last])
            for (first, last), no_list in zip(pairwise(ends), missing.tolist(), strict=True)
        ]

    def as_text(self) -> Column:
        """Return the lists as strings, in JSON: ``[1, 2]``, ``["a", null]``."""
        texts = [json.dumps(one, default=str, ensure_ascii=False) for one in self.to_list()]
        return Column(np.arange(len(texts), dtype=np.uint32), self.mask, StringTable.of(texts))
