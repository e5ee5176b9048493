"""The folder of a data set: its files, and the manifest that says whose they are.

``_motiflux/`` in the folder holds ``job.json``, what the rows depend on; ``calls/``, a file with the same for
each call of the job, of which the last one goes on with it; and notes of these calls. An earlier call that
only seemed lost sees a later one, and ends.

A note has the name of its call, so no call writes over those of another. ``known-CALL.json`` has the names of
the notes of earlier calls that a call began with: what such a call still wrote afterwards is not known, and
counts for nothing. A call that was lost before it had written this had done nothing else.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any

from motiflux.cluster.folder import Folder
from motiflux.errors import OutputError

MANIFEST = "_motiflux"
_CALLS = f"{MANIFEST}/calls"
_KNOWN = "known"
_JOB = "job.json"
_FORM = 2
"""The form of the manifest; jobs with another one are refused."""


class DataSet:
    """A folder whose files are rows.

    Parameters
    ----------
    content
        What the rows depend on; a job of the same name with other content is refused.
    name
        The name of the job; None for one that cannot be continued.

    Attributes
    ----------
    files
        Rows and bytes of each file.
    call
        The name of this call, by which calls are sorted; "" before `begin`.
    notes
        Names of the notes of earlier calls, which `begin` finds.

    Raises
    ------
    OutputError
        The folder has something else.
    """

    def __init__(self, folder: Folder, name: str | None, content: Mapping[str, object]) -> None:
        self.folder = folder
        self.files: dict[str, tuple[int, int]] = {}
        self.token = uuid.uuid4().hex
        self.call = ""
        self.notes: list[str] = []
        of_job = {"job": self.token if name is None else name, "manifest": _FORM, **content}
        self._content: dict[str, object] = json.loads(json.dumps(of_job))
        self._is_there()

    @property
    def rows(self) -> int:
        """Number of rows of all files."""
        return sum(rows for rows, _ in self.files.values())

    def _is_there(self) -> bool:
        """Return whether the folder has the same job; else it is empty."""
        folder, files = self.folder, self.folder.files()
        if _JOB not in folder.files(MANIFEST):
            if files:
                expected = f"{folder.uri}: expected an empty folder, or one of the same job"
                raise OutputError(f"{expected}, found {len(files)} files")
            return False
        before, content = folder.read_json(f"{MANIFEST}/{_JOB}"), self._content
        if before != content:
            differing = sorted(key for key in content if before.get(key) != content[key])
            expected = f"{folder.uri}: expected an empty folder, or the same job, graph, pattern and options"
            raise OutputError(f"{expected}; found job {before.get('job')!r}, others: {', '.join(differing)}")
        return True

    def begin(self) -> None:
        """Have this call go on with the job, and an earlier one end that only seemed lost.

        Raises
        ------
        OutputError
            Another call has begun something else meanwhile.
        """
        if not self._is_there():
            self.folder.write_json(f"{MANIFEST}/{_JOB}", self._content)
        turn = max((int(name.partition("-")[0]) for name in self._calls()), default=0) + 1
        self.call = f"{turn:06}-{self.token[:8]}"
        self.folder.write_json(f"{_CALLS}/{self.call}", self._content)
        # From here on, a note of an earlier call is found here, or that call finds this one behind its note.
        self.notes = self._known()
        self.note(_KNOWN, self.notes)

    def _known(self) -> list[str]:
        """Return the notes that the last call began with that wrote them down, and its own."""
        there = self.folder.files(MANIFEST)
        for call in sorted(self._calls(), reverse=True):
            name = f"{_KNOWN}-{call}.json"
            if call < self.call and name in there and self._is_of_job(call):
                before: list[str] = self.folder.read_json(f"{MANIFEST}/{name}")
                own = (
                    one for one in there if one.endswith(f"-{call}.json") and not one.startswith(f"{_KNOWN}-")
                )
                return [*before, *sorted(own)]
        return []

    def _is_of_job(self, call: str) -> bool:
        """Return whether a call has the same job: one of another may have begun at the same time."""
        content: object = self.folder.read_json(f"{_CALLS}/{call}")
        return content == self._content

    def _calls(self) -> list[str]:
        return list(self.folder.files(_CALLS))

    @property
    def owned(self) -> bool:
        """Whether no other call goes on with the job."""
        return max(self._calls(), default="") == self.call

    def check_owned(self) -> None:
        """Raise `OutputError` if another call goes on with the job."""
        if not self.owned:
            raise OutputError(f"{self.folder.uri}: another call has continued this job")

    def note(self, name: str, content: object) -> None:
        """Write a note; do nothing that follows from it if this fails.

        Raises
        ------
        OutputError
            Another call goes on with the job, and may know the note or not.
        """
        self.folder.write_json(f"{MANIFEST}/{name}-{self.call}.json", content)
        self.check_owned()

    def read_note(self, name: str) -> Any:
        """Return the content of a note, by the name of its file."""
        return self.folder.read_json(f"{MANIFEST}/{name}")

    def delete_others(self) -> None:
        """Delete files of rows that are none of `files`, unless another call goes on with the job.

        Files of a call that begins meanwhile are not among those that are there before it is looked for.
        """
        there = [name for name in self.folder.files() if name.endswith(".parquet")]
        for name in there:
            if name in self.files:
                continue
            if not self.owned:
                return
            self.folder.delete(name)

    def check_files(self) -> None:
        """Compare the files that are there with `files`.

        Raises
        ------
        OutputError
            One is missing or has another size.
        """
        there = self.folder.files()
        for name, (_, nbytes) in self.files.items():
            if there.get(name) != nbytes:
                raise OutputError(
                    f"{self.folder.uri}: {name}: expected {nbytes} bytes, found {there.get(name)}; "
                    "all nodes have to see the same folder"
                )


def file_name(number: int, driver: str = "") -> str:
    """Return the name of a file of rows; of a call that writes itself, with a part of its token."""
    return f"part-{driver[:8]}{'-' if driver else ''}{number:06}.parquet"
