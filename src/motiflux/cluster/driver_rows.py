"""Data sets that the driver writes: their rows are those of no task alone, such as distinct ones of a query.

A job that has ended is not done again while its files are there; one that was lost begins anew. Rows are in
no order, so files have the token of their call in their names, and those of other calls are deleted.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import motiflux
from motiflux.cluster.data_set import DataSet, file_name
from motiflux.cluster.folder import Folder
from motiflux.cluster.jobs import RowJob, WrittenRows, run_jobs
from motiflux.cluster.rows import ROWS_OF_TASK
from motiflux.io.arrow.batches import ArrowTables
from motiflux.packages import require
from motiflux.pattern import Pattern, Query
from motiflux.pattern.projection import Projection
from motiflux.request.deadline import Deadline
from motiflux.request.progress import of_equal_parts
from motiflux.request.reports import ProgressCallback, ProgressReport
from motiflux.request.request import Request
from motiflux.result.matches import Matches

if TYPE_CHECKING:
    from motiflux.cluster.workers import Workers

_DONE = "done"
"""The note of what a call wrote."""
_CALL = "match: output="


@dataclass(frozen=True, slots=True)
class Told:
    """What rows that pass through the driver depend on.

    Parameters
    ----------
    graph
        A digest of the graph.
    columns
        The options that columns depend on.
    """

    graph: str
    query: Pattern | Query
    projection: Projection | None
    request: Request
    columns: tuple[object, ...]

    @property
    def content(self) -> dict[str, object]:
        """The same for the manifest of a data set."""
        return {
            "version": motiflux.__version__,
            "graph": self.graph,
            "pattern": str(self.query),
            "distinct": repr(self.projection),
            "semantics": [self.request.semantics.value, self.request.symmetry.value],
            "columns": repr(self.columns),
            "limit": self.request.limit,
            "rows_of_task": ROWS_OF_TASK,
        }


class DriverRows:
    """A listing whose rows the driver writes into files, in bounded pieces.

    Parameters
    ----------
    matches
        The rows; their search begins when they are taken.
    folder
        The folder of the data set, or its URI.
    name
        The name of the job; None for one that cannot be continued.
    """

    def __init__(self, matches: Matches, told: Told, folder: str, name: str | None) -> None:
        self._matches, self._limit = matches, told.request.limit
        self._data_set = DataSet(Folder(folder), name, told.content)

    def run(self, deadline: Deadline, planned: float, report: ProgressCallback | None) -> WrittenRows:
        """Write the rows, or return what an earlier call of the job wrote."""
        data_set = self._data_set
        data_set.begin()
        told = self._told()
        if told is not None:
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
            int(told is not None),
        )

    def _told(self) -> Any:
        """Return what an earlier call of the job wrote down at its end; None if not all files are there."""
        there = self._data_set.folder.files()
        for name in self._data_set.notes:
            told = self._data_set.read_note(name)
            if all(there.get(file) == nbytes for file, _, nbytes in told["files"]):
                return told
        return None

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


def run_all(
    workers: Workers,
    jobs: Sequence[RowJob | DriverRows],
    request: Request,
    deadline: Deadline,
    planned: float,
) -> list[WrittenRows]:
    """Run jobs to their end: first those of tasks, together, then those of the driver."""
    of_tasks = [one for one in jobs if isinstance(one, RowJob)]
    here = [one for one in jobs if isinstance(one, DriverRows)]
    first, *parts = of_equal_parts(request.progress, min(1, len(of_tasks)) + len(here))
    written: dict[int, WrittenRows] = {}
    if of_tasks:
        found = run_jobs(workers, of_tasks, replace(request, progress=first), deadline, planned)
        written |= {id(job): one for job, one in zip(of_tasks, found, strict=True)}
    else:
        parts = [first, *parts]
    for job, part in zip(here, parts, strict=True):
        before = sum(one.rows for one in written.values())
        written[id(job)] = job.run(deadline, planned, _beside(before, part))
    return [written[id(job)] for job in jobs]


def _beside(found: int, report: ProgressCallback | None) -> ProgressCallback | None:
    """Return a callback that adds the rows that other jobs have found."""
    if report is None:
        return None
    return lambda part: report(replace(part, found=part.found + found))
