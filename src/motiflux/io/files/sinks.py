"""Files that are written from start to end, compressed by their suffix."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from motiflux.atomic import AtomicFile
from motiflux.errors import OutputError
from motiflux.io.files.growing_file import GrowingFile

COMPRESSIONS = (".gz", ".zst")
"""Suffixes that may follow that of a text format."""

_GZIP_WINDOW = 16 + zlib.MAX_WBITS
_GZIP_LEVEL = 3
_PIECE_BYTES = 1 << 18


class Sink(Protocol):
    """Where bytes go, one after the other."""

    def write(self, data: bytes, /) -> object:
        """Write all of `data`."""


def split_suffix(path: Path) -> tuple[str, str]:
    """Return the suffix of the format and that of the compression, in lower case, empty for none."""
    last = path.suffix.lower()
    return (Path(path.stem).suffix.lower(), last) if last in COMPRESSIONS else (last, "")


def open_sink(path: Path) -> AbstractContextManager[Sink]:
    """Open a file that appears when the ``with`` block is left without an error; see `AtomicFile`.

    Raises
    ------
    OutputError
        It cannot be written, or compressing takes a package that is not installed.
    """
    compression = split_suffix(path)[1]
    if not compression:
        return AtomicFile(path)
    return _gzipped(path) if compression == ".gz" else _zstandard(path, _zstd_opener(path))


@contextmanager
def _gzipped(path: Path) -> Iterator[Sink]:
    # No time of writing in it: the same bytes for the same text.
    compressor = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
    with AtomicFile(path) as file:
        yield _InPieces(lambda piece: file.write(compressor.compress(piece)))
        file.write(compressor.flush())


@contextmanager
def _zstandard(path: Path, opener: Callable[[Any], Any]) -> Iterator[Sink]:
    with AtomicFile(path) as file:
        counting = CountingFile(file)
        stream = opener(counting)
        try:
            yield _InPieces(stream.write)
            stream.close()
        except BaseException:
            counting.abandon()
            with suppress(Exception):
                stream.close()
            raise


def _zstd_opener(path: Path) -> Callable[[Any], Any]:
    """Return a function that opens a stream of Zstandard data to a file.

    Raises
    ------
    OutputError
        Neither Python (from 3.14) nor the package pyarrow has it.
    """
    if sys.version_info >= (3, 14):
        zstd = import_module("compression.zstd")
        return lambda file: zstd.ZstdFile(file, "wb")
    try:
        pyarrow = import_module("pyarrow")
    except ImportError:
        raise OutputError(
            f"{path}: cannot be written: .zst takes Python 3.14 or the package pyarrow; "
            "`pip install pyarrow` installs it, or write .gz"
        ) from None
    return lambda file: pyarrow.CompressedOutputStream(pyarrow.PythonFile(file, mode="w"), "zstd")


class _InPieces:
    """Writes large data piece by piece: between two pieces, Ctrl-C is answered."""

    def __init__(self, take: Callable[[memoryview], object]) -> None:
        self._take = take

    def write(self, data: bytes, /) -> None:
        view = memoryview(data)
        for start in range(0, len(view), _PIECE_BYTES):
            self._take(view[start : start + _PIECE_BYTES])


class CountingFile:
    """A file object for libraries, which can only be written, from start to end."""

    closed = False

    def __init__(self, file: AtomicFile | GrowingFile) -> None:
        self._file = file
        self._place = 0
        self._abandoned = False

    def write(self, data: Any) -> int:
        """Append bytes."""
        view = memoryview(data)
        if not self._abandoned:
            self._file.write(view)
        self._place += view.nbytes
        return view.nbytes

    def abandon(self) -> None:
        """Ignore further data: a library writes its buffers when it closes or deletes its stream."""
        self._abandoned = True

    def tell(self) -> int:
        """Return the bytes written."""
        return self._place

    def flush(self) -> None:
        """Do nothing: the file is flushed when it is published."""

    def close(self) -> None:
        """Do nothing: the file is closed where it was opened."""

    def writable(self) -> bool:
        """Return True."""
        return True

    def readable(self) -> bool:
        """Return False."""
        return False

    def seekable(self) -> bool:
        """Return False."""
        return False
