"""Data sets that the driver writes: their rows are those of no task alone, such as distinct ones of a query.

A job that has ended is not done again; one that was lost begins anew. Rows are in no order, so files have the
token of their call in their names, and those of other calls are deleted.
"""

from __future__ import annotations

import time
from typing import Any

from motiflux.cluster.data_set import MANIFEST, DataSet, file_name
from motiflux.cluster.jobs import WrittenRows
from motiflux.cluster.rows import ROWS_OF_TASK
from motiflux.io.arrow.batches import ArrowTables
from motiflux.packages import require
from motiflux.request.deadline import Deadline
from motiflux.request.reports import ProgressCallback, ProgressReport
from motiflux.result.matches import Matches

_DONE = "done-000000.json"
_CALL = "match: output="


class DriverRows:
    """A listing whose rows the driver writes into files, in bounded pieces.

    Parameters
    ----------
    matches
        The rows; their search begins when they are taken.
    limit
        Their maximum number.
    """

    def __init__(self, matches: Matches, data_set: DataSet, limit: int | None) -> None:
        self._matches, self._data_set, self._limit = matches, data_set, limit

    def run(self, deadline: Deadline, planned: float, report: ProgressCallback | None) -> WrittenRows:
        """Write the rows, or return what an earlier call of the job wrote."""
        data_set = self._data_set
        data_set.begin()
        done = data_set.continues and _DONE in data_set.folder.files(MANIFEST)
        if done:
            told = data_set.folder.read_json(f"{MANIFEST}/{_DONE}")
            data_set.files.update({name: (rows, nbytes) for name, rows, nbytes in told["files"]})
            complete = told["complete"]
        else:
            data_set.delete_others()
            complete = self._write(deadline, report)
        if report is not None:
            report(ProgressReport(1, 1, data_set.rows, deadline.elapsed()))
        data_set.delete_others()
        data_set.check_files()
        return WrittenRows(
            data_set.folder.uri,
            data_set.rows,
            len(data_set.files),
            complete,
            time.perf_counter() - planned,
            planned - deadline.started,
            int(done),
        )

    def _write(self, deadline: Deadline, report: ProgressCallback | None) -> bool:
        """Write all rows; return whether none is missing."""
        data_set = self._data_set
        with self._matches as matches:
            tables = ArrowTables(matches, _CALL)
            for batch in tables.batches(ROWS_OF_TASK):
                self._write_file(tables.schema, [batch], batch.num_rows)
                if report is not None:
                    report(ProgressReport(0, 1, data_set.rows, deadline.elapsed()))
        complete = matches.complete is True
        if complete and not data_set.files:
            self._write_file(tables.schema, [], 0)
        if complete or data_set.rows == self._limit:
            files = [(name, rows, nbytes) for name, (rows, nbytes) in data_set.files.items()]
            data_set.note(_DONE, {"files": files, "complete": complete})
        return complete

    def _write_file(self, schema: Any, batches: list[Any], rows: int) -> None:
        """Write a file, unless another call goes on with the job."""
        pa, pq = require("pyarrow", _CALL), require("pyarrow.parquet", _CALL)
        sink = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_batches(batches, schema), sink, compression="zstd")
        data = sink.getvalue().to_pybytes()
        data_set = self._data_set
        name = file_name(len(data_set.files), data_set.token)
        data_set.check_owned()
        data_set.folder.write(name, data)
        if not data_set.owned:  # the other call may have looked for files before
            data_set.folder.delete(name)
            data_set.check_owned()
        data_set.files[name] = rows, len(data)
