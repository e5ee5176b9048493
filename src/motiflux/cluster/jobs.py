"""Listings into a Parquet data set: one file for each task, and a manifest by which a lost driver goes on.

The manifest (`motiflux.cluster.data_set`) has a note ``given-N`` of each task of root arcs before it is
handed out, and ``done-N`` of each task that ended, with its rows, its file and the tasks that search what it
handed back.
"""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import motiflux
from motiflux.cluster.data_set import MANIFEST, DataSet, file_name
from motiflux.cluster.folder import Folder
from motiflux.cluster.row_tasks import RowTasks, rows_of_task
from motiflux.cluster.rows import FIRST_WORK, MOST_WORK, ROWS_OF_TASK
from motiflux.cluster.shares import FEW_PARTS, Order, Share, Shares, halves
from motiflux.cluster.tasks import Bounds, Done
from motiflux.errors import OutputError
from motiflux.packages import require
from motiflux.request.deadline import Deadline
from motiflux.request.reports import ProgressReport
from motiflux.request.request import Request
from motiflux.units import grouped, seconds_text

if TYPE_CHECKING:
    from motiflux.cluster.workers import Workers

_MANIFEST_SECONDS = 0.01
"""Time of the driver to write down a task, in seconds."""


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """Rows that a cluster wrote into a Parquet data set.

    Parameters
    ----------
    path
        The folder, or its URI.
    rows, files
        Number of rows, and of Parquet files.
    complete
        Whether all rows were written; False after a timeout or at a limit.
    seconds, plan_seconds
        Wall-clock seconds of the search, and of planning.
    resumed
        Tasks that an earlier call of the same job had done.
    """

    path: str
    rows: int
    files: int
    complete: bool
    seconds: float
    plan_seconds: float
    resumed: int = 0

    def __repr__(self) -> str:
        state = "" if self.complete else ", incomplete"
        return (
            f"WrittenRows({self.path!r}, {grouped(self.rows)} rows, {grouped(self.files)} files{state}, "
            f"{seconds_text(self.seconds)})"
        )


@dataclass(frozen=True, slots=True)
class _Task:
    number: int
    share: Share
    work: int


@dataclass(slots=True)
class _TasksOfJob:
    """The tasks of a job that wait, in the place of the shares of other searches."""

    shares: Shares
    data_set: DataSet
    waiting: deque[_Task] = field(default_factory=deque)
    works: dict[int, int] = field(default_factory=dict)
    numbers: int = 0
    rate: float = 0.0
    """Steps per second of the tasks so far; 0 if unknown."""
    wanted: int = 1

    @property
    def least(self) -> float:
        return self.shares.least

    @property
    def done(self) -> int:
        return self.shares.done

    @property
    def units(self) -> int:
        return self.shares.units

    @property
    def empty(self) -> bool:
        return not self.waiting and self.shares.empty

    def take(self, wanted: int) -> Order | None:
        """Return a task that waits, or one of further root arcs, which is written down first."""
        self.wanted = max(1, wanted)
        if not self.waiting:
            order = self.shares.take(1)
            if order is None:
                return None
            task = self.next(order.share, order.seconds)
            self.data_set.note(f"given-{task.number:06}", [task.share, task.work])
            self.waiting.append(task)
        task = self.waiting.popleft()
        self.works[task.number] = task.work
        return Order(task.number, task.share, self.shares.least)

    def next(self, share: Share, seconds: float) -> _Task:
        """Return a new task."""
        work = FIRST_WORK
        if self.rate > 0:
            work = max(FIRST_WORK // 16, min(MOST_WORK, int(self.rate * max(seconds, self.shares.least))))
        self.numbers += 1
        return _Task(self.numbers - 1, share, work)

    def parts(self, left: Share) -> list[_Task]:
        """Return the tasks that search what a task handed back: as many as were wanted last."""
        parts = deque([left] if left else [])
        whole: list[Share] = []
        while parts and len(parts) + len(whole) < self.wanted:
            one = parts.popleft()
            two = halves(one)
            if two is None:
                whole.append(one)
            else:
                parts.extend(two)
        seconds = self.shares.seconds()
        return [self.next(share, seconds) for share in (*whole, *parts)]


class RowJob:
    """A listing whose rows are files.

    Parameters
    ----------
    plan
        The plan, or those of several searches: what has the same text lists the same rows.
    name
        The name of the job; None for one that cannot be continued.
    number
        What names of tasks end with.
    slots
        Number of tasks that can run at a time; None: that of the cluster's CPUs.
    """

    divisible = False

    def __init__(
        self,
        workers: Workers,
        tasks: RowTasks,
        plan: object,
        request: Request,
        output: str,
        name: str | None,
        number: str = "",
        slots: int | None = None,
    ) -> None:
        self._tasks, self._request = tasks, request
        self.slots = workers.slots if slots is None else slots
        self.name = f"match {workers.pattern}{number}"
        self.folder = Folder(output)
        units = tasks.units
        self._rows = rows_of_task(ROWS_OF_TASK, tasks)
        self.data_set = DataSet(self.folder, name, self._content(plan, units))
        least = _MANIFEST_SECONDS * self.slots
        self.shares = _TasksOfJob(Shares(units, self.slots, least=least, parts=FEW_PARTS), self.data_set)
        self.found = 0
        self.files = self.data_set.files
        self._steps, self._seconds = 0.0, 0.0
        self.resumed = 0

    @property
    def over(self) -> bool:
        """Whether a limit is reached."""
        limit = self._request.limit
        return limit is not None and self.found > limit

    def submit(self, order: Order) -> Any:
        """Start a task."""
        bounds = Bounds(work=self.shares.works[order.number], rows=self._rows)
        return self._tasks.file(self.name, order.share, bounds, self.folder.uri, file_name(order.number))

    def take(self, order: Order, done: Done) -> None:
        """Write down the end of a task, with the tasks that follow from it."""
        rows, nbytes = done.value
        work = self.shares.works.pop(order.number)
        if done.left and done.rows < self._rows:  # it ended by its steps
            self._steps, self._seconds = self._steps + work, self._seconds + done.seconds
            self.shares.rate = self._steps / self._seconds
        self.shares.shares.note(order.share, done.left, done.seconds)
        tasks = self.shares.parts(done.left)
        self._note(order.number, rows, nbytes)  # first: a call that ends meanwhile deletes no file of it
        self.data_set.note(
            f"done-{order.number:06}",
            {"rows": rows, "bytes": nbytes, "tasks": [[one.number, one.share, one.work] for one in tasks]},
        )
        self.shares.waiting.extend(tasks)

    def renew(self) -> None:
        """Share the graph again."""
        self._tasks.renew()

    def result(self, deadline: Deadline, planned: float, *, complete: bool) -> WrittenRows:
        """Return the result once its tasks have ended: at most as many rows as the limit says.

        Parameters
        ----------
        complete
            Whether the results of all tasks were taken.
        """
        limit = self._request.limit
        if limit is not None and self.found > limit:
            self._cut(limit)
            complete = False
        if complete and not self.files:
            self._write_empty()
        self.data_set.check_files()
        return WrittenRows(
            self.folder.uri,
            self.found,
            len(self.files),
            complete,
            time.perf_counter() - planned,
            planned - deadline.started,
            self.resumed,
        )

    def begin(self) -> None:
        """Begin the job, or continue it."""
        self.data_set.begin()
        self._continue(self.data_set.notes)

    def _content(self, plan: object, units: int) -> dict[str, object]:
        """Return what the rows depend on."""
        return {
            "version": motiflux.__version__,
            "graph": self._tasks.digest(),
            "plan": hashlib.sha256(repr(plan).encode()).hexdigest(),
            "pattern": str(self._tasks.columns.pattern),
            "columns": repr(self._tasks.columns),
            "limit": self._request.limit,
            "units": units,
            "rows_of_task": self._rows,
        }

    def _continue(self, notes: list[str]) -> None:
        """Take what notes say: tasks that are done count, others wait."""
        tasks: dict[int, _Task] = {}
        done: dict[int, Any] = {}
        for name in notes:
            kind, at = name.split("-")[:2]
            number, content = int(at), self.data_set.read_note(name)
            if kind == "given":
                tasks[number] = _Task(number, *_read_task(content))
            else:
                done[number] = content
                for at, share, work in content["tasks"]:
                    tasks[at] = _Task(at, *_read_task((share, work)))
        shares = self.shares
        shares.numbers = max(tasks, default=-1) + 1
        shares.shares.skip(min((one.share[0][1] for one in tasks.values() if _is_roots(one)), default=None))
        for number, content in done.items():
            self._note(number, content["rows"], content["bytes"])
            left = [item for at, _, _ in content["tasks"] for item in tasks[at].share]
            shares.shares.note(tasks[number].share, left, 0.0)
        shares.waiting.extend(task for number, task in sorted(tasks.items()) if number not in done)
        self.resumed = len(done)

    def _note(self, number: int, rows: int, nbytes: int) -> None:
        self.found += rows
        if rows > 0:
            self.files[file_name(number)] = (rows, nbytes)

    def delete_others(self) -> None:
        """Delete the files of tasks that were cancelled after they had written."""
        self.data_set.delete_others()

    def _cut(self, limit: int) -> None:
        """Delete rows beyond the limit."""
        pa = require("pyarrow", "match: output=")
        pq = require("pyarrow.parquet", "match: output=")

        left = limit
        for name, (rows, _) in sorted(self.files.items()):
            if left == 0:
                self.folder.delete(name)
                del self.files[name]
            elif rows > left:
                table = pq.read_table(pa.BufferReader(self.folder.read(name))).slice(0, left)
                sink = pa.BufferOutputStream()
                pq.write_table(table, sink, compression="zstd")
                data = sink.getvalue().to_pybytes()
                self.folder.write(name, data)
                self.files[name] = (left, len(data))
                left = 0
            else:
                left -= rows
        self.found = limit

    def _write_empty(self) -> None:
        """Write a file without rows: the columns of the data set."""
        data = self._tasks.empty_file()
        self.folder.write(file_name(0), data)
        self.files[file_name(0)] = (0, len(data))


def run_jobs(
    workers: Workers, jobs: Sequence[RowJob], request: Request, deadline: Deadline, planned: float
) -> list[WrittenRows]:
    """Run jobs to their end: the tasks of one follow those of another without a pause."""

    def tell() -> None:
        found = tuple(job.found for job in jobs)
        done, units = (sum(getattr(job.shares, name) for job in jobs) for name in ("done", "units"))
        each = found if len(found) > 1 else ()
        if request.progress is not None:
            request.progress(ProgressReport(done, units, sum(found), deadline.elapsed(), each))

    for job in jobs:
        job.begin()
    driver = workers.driver(max(job.slots for job in jobs))
    try:
        driver.run_all(jobs, deadline, None if request.progress is None else tell)
    finally:
        driver.wait_for_cancelled()
        for job in jobs:
            job.delete_others()
    return [job.result(deadline, planned, complete=driver.has_all_of(job)) for job in jobs]


def folders_of(output: str, patterns: int | None) -> list[str]:
    """Return the folders of data sets: `output`, or for a list of patterns one in it for each.

    Raises
    ------
    OutputError
        There are several, and `output` is a data set itself; or one, and `output` has several.
    """
    folder = Folder(output)
    if patterns is None:
        first = _name_of(0)
        if folder.files(first) or folder.files(f"{first}/{MANIFEST}"):
            raise OutputError(f"{output}: expected a folder for one data set, found those of a list")
        return [output]
    if folder.files() or folder.files(MANIFEST):
        raise OutputError(f"{output}: expected a folder for data sets of several patterns, found files in it")
    return [f"{output.rstrip('/')}/{_name_of(number)}" for number in range(patterns)]


def _name_of(number: int) -> str:
    return f"pattern-{number:03}"


def _is_roots(task: _Task) -> bool:
    return task.share[0][0] == 0


def _read_task(content: Any) -> tuple[Share, int]:
    share, work = content
    return [(*item[:6], list(item[6])) for item in share], work
