"""Files that others read while they are written."""

from __future__ import annotations

import contextlib
import os
from io import RawIOBase
from pathlib import Path

from motiflux.atomic import output_error, refuse_irregular
from motiflux.errors import OutputError
from motiflux.units import grouped, quantity

_BUFFER_BYTES = 1 << 20


class GrowingFile:
    """A file under its own name from the start, of which pieces are kept or dropped.

    The data between two calls of `keep` is one piece: readers see it at once if it is smaller than a
    megabyte, and `cut` removes an incomplete piece.

    Parameters
    ----------
    path
        The path; an existing file is replaced.
    kept
        Continue an existing file after this number of bytes instead, and drop the bytes after them.

    Raises
    ------
    OutputError
        It cannot be written, is no regular file, or is shorter than that.
    """

    def __init__(self, path: Path, kept: int | None = None) -> None:
        refuse_irregular(path)
        self._path = path
        self._waiting = bytearray()
        self._written = kept or 0
        self.kept = self._written
        """Bytes that stay."""
        try:
            self._file = _open_growing(path, fresh=kept is None)
            if kept is not None:
                self._go_on_after(kept)
        except OutputError:
            raise
        except OSError as error:
            raise output_error(path, error) from error

    def _go_on_after(self, kept: int) -> None:
        try:
            _refuse_short(self._path, self._file, kept)
        except OutputError:
            self._file.close()
            raise
        self._file.truncate(kept)
        self._file.seek(kept)

    def write(self, data: bytes | memoryview) -> int:
        """Append bytes."""
        self._waiting += data
        if len(self._waiting) >= _BUFFER_BYTES:
            self.hand_on()
        return len(data)

    def hand_on(self) -> None:
        """Let others read all that was written; it does not stay before `keep`."""
        try:
            view = memoryview(bytes(self._waiting))
            while view:
                done = self._file.write(view) or 0
                self._written += done
                view = view[done:]
        except OSError as error:
            raise output_error(self._path, error) from error
        self._waiting.clear()

    def keep(self) -> None:
        """Let all that was written stay: others can read it."""
        self.hand_on()
        self.kept = self._written

    @property
    def descriptor(self) -> int:
        """The open file: others may write at its end while all that was written stays."""
        return self._file.fileno()

    def skip(self, size: int) -> None:
        """Let bytes stay that others wrote at its end."""
        self._written += size
        self.kept = self._written

    def sync(self) -> None:
        """Return when the kept data is on disk."""
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise output_error(self._path, error) from error

    def cut(self) -> None:
        """Drop data that is not kept."""
        self._waiting.clear()
        if self._written == self.kept and os.fstat(self._file.fileno()).st_size == self.kept:
            return
        try:
            self._file.truncate(self.kept)
            self._file.seek(self.kept)
        except OSError as error:
            raise output_error(self._path, error) from error
        self._written = self.kept

    def close(self) -> None:
        """Close it; call `cut` before to drop data that is not kept."""
        with contextlib.suppress(OSError):
            self._file.close()


def check_growing(path: Path, kept: int) -> None:
    """Refuse a file that cannot be continued after a number of bytes; change nothing.

    Raises
    ------
    OutputError
        It cannot be written, is no regular file, or is shorter than that.
    """
    refuse_irregular(path)
    try:
        with _open_growing(path, fresh=False) as file:
            _refuse_short(path, file, kept)
    except OSError as error:
        raise output_error(path, error) from error


def _refuse_short(path: Path, file: RawIOBase, kept: int) -> None:
    size = os.fstat(file.fileno()).st_size
    if size < kept:
        raise OutputError(
            f"{path}: found {quantity(size, 'byte')}, expected at least the {grouped(kept)} "
            "that were written before"
        )


def _open_growing(path: Path, *, fresh: bool) -> RawIOBase:
    return path.open("wb" if fresh else "r+b", buffering=0)
