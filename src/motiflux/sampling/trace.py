"""The trace of an estimate as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from motiflux.graph import Column
from motiflux.io.tables.match_tables import Field
from motiflux.result.estimate import EstimateProgress

_TYPES: Mapping[str, np.dtype[Any]] = {
    "samples": np.dtype(np.int64),
    "valid_samples": np.dtype(np.int64),
    "seconds": np.dtype(np.float64),
    "value": np.dtype(np.float64),
    "low": np.dtype(np.float64),
    "high": np.dtype(np.float64),
}


class TraceTables:
    """Columns with a row per `EstimateProgress`, an argument of `motiflux.io.write_matches`.

    Examples
    --------
    >>> from motiflux.sampling.trace import TraceTables
    >>> [field.name for field in TraceTables([]).fields]
    ['samples', 'valid_samples', 'seconds', 'value', 'low', 'high']
    """

    metadata: Mapping[str, str] = {}
    fields: Sequence[Field] = tuple(Field(name, dtype) for name, dtype in _TYPES.items())

    def __init__(self, trace: Sequence[EstimateProgress]) -> None:
        self._trace = trace

    def tables(self, batch_rows: int | None = None) -> Iterator[list[Column]]:
        """Yield batches of columns."""
        step = batch_rows or max(1, len(self._trace))
        for start in range(0, len(self._trace), step):
            points = self._trace[start : start + step]
            yield [
                Column(np.array([getattr(point, name) for point in points], dtype=dtype))
                for name, dtype in _TYPES.items()
            ]
