"""Records of the tasks of a cluster, in memory and as lines of a file."""

from __future__ import annotations

import json
import os
from collections import deque
from dataclasses import asdict, dataclass
from typing import TextIO

from motiflux import log
from motiflux.errors import OutputError

_MOST = 100_000
"""Records that are kept in memory."""


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """A task that ended, for finding stragglers.

    Parameters
    ----------
    name
        What it searched for: the call and the pattern.
    number
        Its number within the search.
    node, process
        Where it ran.
    began
        Its begin by the clock of its node, in seconds since 1970.
    seconds, cpu_seconds
        Its time on the worker, and the processor time of the worker's process meanwhile.
    items, arcs
        The size of its share: parts of the search, and root arcs.
    left
        The parts that it handed back.
    tries
        How often the driver handed it out.
    """

    name: str
    number: int
    node: str
    process: int
    began: float
    seconds: float
    cpu_seconds: float
    items: int
    arcs: int
    left: int
    tries: int


class TaskLog:
    """Tasks that ended, the last 100,000.

    Parameters
    ----------
    path
        A file to which each task is appended as a line of JSON.

    Raises
    ------
    OutputError
        The file cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._records: deque[TaskRecord] = deque(maxlen=_MOST)
        self._path, self._file = path, None if path is None else _appending(path)

    @property
    def tasks(self) -> list[TaskRecord]:
        """The records."""
        return list(self._records)

    def append(self, record: TaskRecord) -> None:
        """Add a record."""
        self._records.append(record)
        log.ENGINE.debug("task %s", record)
        if self._file is not None:
            try:
                self._file.write(json.dumps(asdict(record)) + "\n")
            except OSError as error:
                raise OutputError(f"{self._path}: {error}") from error

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def _appending(path: str | os.PathLike[str]) -> TextIO:
    try:
        return open(path, "a", buffering=1, encoding="utf-8")  # noqa: PTH123  closed by close()
    except OSError as error:
        raise OutputError(f"{path}: {error}") from error
