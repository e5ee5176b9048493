"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from motiflux.errors import OutputError

_BUFFER_BYTES = 2**20
_TEMPORARY = re.compile(r"\.motiflux-[0-9a-f]{16}\.tmp", re.ASCII)
_looked_into: set[Path] = set()
"""Folders that were searched for abandoned files."""
_MOST_LOOKED_INTO = 64
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFLNK: "a symbolic link to itself",
}


class AtomicFile:
    """A file written under a temporary name beside `path`, which it takes when all of it is on disk.

    A context manager. Leaving it with an exception removes the temporary file and touches nothing else:
    a file that was there before stays as it was. Every failure to write is an `OutputError`. The temporary
    file of a process that was killed is removed by the next process that writes into its folder.

    Parameters
    ----------
    path
        The name to publish under. A symbolic link stays one: the file it points to is replaced. What is no
        regular file (a pipe, a device) is not replaced.
    lasting
        Whether it has to outlive a crash of the machine. If not, nothing waits until it is on disk.
    """

    def __init__(self, path: Path, *, lasting: bool = True) -> None:
        self._path, self._lasting = path, lasting
        self._target = Path(os.path.realpath(path))
        self._temporary: Path | None = None
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        _remove_abandoned(self._target.parent)
        try:
            self._open()
        except BaseException as error:
            self._discard()
            if isinstance(error, OSError):
                raise output_error(self._path, error) from error
            raise
        return self

    def _open(self) -> None:
        """Create a file of a new name, and lock it so that no other process takes it for an abandoned one."""
        while True:
            # Its own name, not one derived from the target's: that may be as long as names can be.
            self._temporary = self._target.with_name(f".motiflux-{os.urandom(8).hex()}.tmp")
            self._file = _create(self._temporary)
            with contextlib.suppress(OSError):  # where files cannot be locked, none is removed
                fcntl.flock(self._file.fileno(), fcntl.LOCK_EX)
            if os.fstat(self._file.fileno()).st_nlink:
                return
            self._file.close()  # another process locked it first, and removed it

    def write(self, data: bytes | memoryview) -> None:
        """Append bytes."""
        try:
            self._opened().write(data)
        except OSError as error:
            raise output_error(self._path, error) from error

    def write_at(self, offset: int, data: bytes) -> None:
        """Overwrite bytes written before, counted from the start; the next `write` goes on after them."""
        try:
            self._opened().seek(offset)
            self._opened().write(data)
        except OSError as error:
            raise output_error(self._path, error) from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._publish()
        finally:
            self._discard()

    def _publish(self) -> None:
        file = self._opened()
        assert self._temporary is not None
        try:
            file.flush()
            if self._lasting:
                os.fsync(file.fileno())
            refuse_irregular(self._path)
            with contextlib.suppress(FileNotFoundError):  # a file that is replaced keeps its permissions
                os.fchmod(file.fileno(), stat.S_IMODE(self._target.stat().st_mode))
            self._temporary.replace(self._target)  # while it is locked: unlocked files are removed
            if not self._lasting:
                file.close()  # network file systems say only here that they could not write all
        except OutputError:
            raise
        except OSError as error:
            raise output_error(self._path, error) from error

    def _discard(self) -> None:
        """Remove what is left under the temporary name: nothing once the file is published."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
        if self._temporary is not None:
            with contextlib.suppress(OSError):
                self._temporary.unlink(missing_ok=True)

    def _opened(self) -> BinaryIO:
        assert self._file is not None, "used outside its with statement"
        return self._file


def _remove_abandoned(folder: Path) -> None:
    """Remove temporary files of processes that were killed, once for each folder unless there are many.

    A process that writes such a file holds a lock on it, which ends with the process.
    """
    if folder in _looked_into:
        return
    if len(_looked_into) >= _MOST_LOOKED_INTO:
        _looked_into.clear()
    _looked_into.add(folder)
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _TEMPORARY.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError), open(entry.path, "r+b") as file:  # noqa: PTH123
                    fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(entry.path)  # noqa: PTH108


def refuse_irregular(path: Path) -> None:
    """Refuse a name that stands, directly or through symbolic links, for anything but a regular file.

    Raises
    ------
    OutputError
        Says what is there. Nothing is: all is well.
    """
    try:
        mode = os.lstat(os.path.realpath(path)).st_mode
    except OSError:
        return  # nothing is there, or creating a file beside it will say what is wrong
    if not stat.S_ISREG(mode):
        found = _KINDS.get(stat.S_IFMT(mode), "a special file")
        raise OutputError(f"{path}: found {found}, expected a regular file or a new name")


def check_place(path: Path) -> None:
    """Refuse a name that no file can be written under, before any work is done.

    Raises
    ------
    OutputError
        Something is there that is no regular file, or the folder is missing or not writable.
    """
    refuse_irregular(path)
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise OutputError(f"{path}: cannot be written: there is no folder {folder}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"{path}: cannot be written: the folder {folder} is not writable")


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return numbers that differ once an `AtomicFile` of this name was published; None without a file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def output_error(path: Path, error: OSError) -> OutputError:
    """Return the error that says which output failed and why."""
    return OutputError(f"{path}: cannot be written: {error.strerror or error}")


def _create(path: Path) -> BinaryIO:
    """Create a file that must not exist, with the permissions the process gives new files."""
    return path.open("xb", buffering=_BUFFER_BYTES)
