"""The bytes of a file in chunks, decompressed; errors on the way are `FormatError`."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

from motiflux.errors import FormatError
from motiflux.io.files.compression import DECOMPRESSORS, as_it_is

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from motiflux._native import ParseError

CHUNK_BYTES = 4 * 2**20
"""Most bytes of a chunk: between two chunks Ctrl-C is answered."""

_WATCHED_BYTES = 2**20
"""Least bytes of a chunk with a progress function, which is called after each chunk."""

OnRead = Callable[[int], None]
"""Called with the number of bytes of a file on disk that have been read so far."""

_on_read: ContextVar[OnRead | None] = ContextVar("on_read", default=None)


class ChunkParser(Protocol):
    """A native parser that takes a file chunk by chunk."""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the file."""


def is_compressed(path: Path) -> bool:
    """Whether the suffix is that of a compressed file."""
    return path.suffix.lower() in DECOMPRESSORS


def format_suffix(path: Path) -> str:
    """Return the suffix that names the format: lower case, ``.gz`` or ``.zst`` left out."""
    return Path(path.stem).suffix.lower() if is_compressed(path) else path.suffix.lower()


def base_name(path: Path) -> str:
    """Return the file's name without its suffixes."""
    return Path(path.stem).stem if is_compressed(path) else path.stem


def open_source(path: Path) -> BinaryIO:
    """Open a file for reading.

    Raises
    ------
    FormatError
        If there is no such file, or it cannot be opened.
    """
    on_read = _on_read.get()
    try:
        if on_read is None:
            return path.open("rb")
        return io.BufferedReader(_WatchedFile(path, on_read), _WATCHED_BYTES)
    except IsADirectoryError as error:
        raise FormatError(path, "found a directory, expected a file") from error
    except (OSError, ValueError) as error:
        raise FormatError(path, f"cannot be opened: {_reason(error)}") from error


@contextmanager
def watched(on_read: OnRead) -> Iterator[None]:
    """Tell `on_read` how far each file is that is opened in the ``with`` block (and this thread)."""
    token = _on_read.set(on_read)
    try:
        yield
    finally:
        _on_read.reset(token)


def tell_read(done: int) -> None:
    """Report the number of bytes read, for files that `open_source` does not read."""
    on_read = _on_read.get()
    if on_read is not None:
        on_read(done)


def read_chunks(path: Path) -> Iterator[bytes]:
    """Yield the content of a file, decompressed if its name ends in ``.gz`` or ``.zst``.

    Yields
    ------
    bytes
        At most `CHUNK_BYTES` at a time.

    Raises
    ------
    FormatError
        If the file cannot be read, or its compression is corrupt or truncated; with the bytes read.
    """
    with open_source(path) as file:
        undo = DECOMPRESSORS.get(path.suffix.lower(), as_it_is)
        yield from undo(path, _RawBytes(path, file), CHUNK_BYTES)


def feed_all(parser: ChunkParser, path: Path) -> None:
    """Give a whole file to a parser; its `ParseError` is left to `parse_failure`."""
    for chunk in read_chunks(path):
        parser.feed(chunk)


def parse_failure(path: Path, error: ParseError) -> FormatError:
    """Return a `FormatError` that names the file in which a parser failed."""
    line, message = error.args
    return FormatError(path, message, line)


class _RawBytes:
    """The bytes of a file as it lies on disk."""

    closed = False

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        self.done = 0

    def read(self, size: int, /) -> bytes:
        try:
            chunk = self._file.read(size)
        except OSError as error:
            message = f"cannot be read after byte {self.done}: {_reason(error)}"
            raise FormatError(self._path, message) from error
        self.done += len(chunk)
        return chunk

    def close(self) -> None:
        """Leave the file open: pyarrow closes files that it reads; `read_chunks` closes its own."""


class _WatchedFile(io.FileIO):
    """A file that reports how much of it has been read."""

    def __init__(self, path: Path, on_read: OnRead) -> None:
        super().__init__(path)
        self._on_read = on_read
        self._done = 0

    def readinto(self, buffer: WriteableBuffer, /) -> int | None:
        count = super().readinto(buffer)
        if count:
            self._done += count
            self._on_read(self._done)
        return count


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
