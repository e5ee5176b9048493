"""Record batches of pyarrow, from the rows of a table of matches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from motiflux.errors import MotifluxError, OutputError
from motiflux.io.arrow.batches import ArrowTables
from motiflux.stream.sinks.match_table import TIME, MatchTable
from motiflux.stream.sinks.row_files import package


class RecordBatches:
    """Record batches of pyarrow, from the waiting rows of a table."""

    def __init__(self, table: MatchTable, path: Path) -> None:
        self.pa = package("pyarrow", path)
        self.path = path
        self._table = table
        self._make()

    def _make(self) -> None:
        try:
            self._tables = ArrowTables(self._table, str(self.path))
        except MotifluxError as error:
            raise OutputError(f"{self.path}: cannot be written: {error}") from error
        schema = self._tables.schema
        if self._table.time_kind == "M":
            schema = schema.set(TIME, self.pa.field("time", self.pa.timestamp("ns", tz="UTC")))
        self.schema = schema

    def must_widen(self) -> bool:
        """Whether waiting moments do not fit the type of their column, which is changed then."""
        if not self._table.needs_fractions():
            return False
        self._table.time_kind = "f"
        self._make()
        return True

    def batches(self) -> Iterator[Any]:
        """Yield the waiting rows."""
        for batch in self._tables.batches():
            yield self.fitted(batch)

    def fitted(self, batch: Any) -> Any:
        """Return a batch with the types of the columns now."""
        if batch.schema.equals(self.schema):
            return batch
        try:
            columns = [
                column.cast(field.type) for column, field in zip(batch.columns, self.schema, strict=True)
            ]
        except self.pa.ArrowInvalid as error:
            raise OutputError(
                f"{self.path}: time: expected at most 2**53 beside fractions in one column, found more"
            ) from error
        return self.pa.RecordBatch.from_arrays(columns, schema=self.schema)
