"""Files that are written from start to end, compressed if their name says so."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from motiflux.errors import OutputError
from motiflux.io.atomic import AtomicFile

COMPRESSIONS = (".gz", ".zst")
"""Suffixes that may follow that of a text format."""

_GZIP_WINDOW = 16 + zlib.MAX_WBITS
_GZIP_LEVEL, _ZSTD_LEVEL = 3, 3
_PIECE_BYTES = 1 << 18
"""Compressed at once: between two pieces Ctrl-C is answered."""


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
    return _compressed(path, gzip_compressor() if compression == ".gz" else zstd_compressor(path))


@contextmanager
def _compressed(path: Path, compressor: Any) -> Iterator[Sink]:
    with AtomicFile(path) as file:
        yield _CompressedSink(file, compressor)
        file.write(compressor.flush())


class _CompressedSink:
    def __init__(self, file: AtomicFile, compressor: Any) -> None:
        self._file = file
        self._compressor = compressor

    def write(self, data: bytes, /) -> None:
        view = memoryview(data)
        for start in range(0, len(view), _PIECE_BYTES):
            self._file.write(self._compressor.compress(view[start : start + _PIECE_BYTES]))


def gzip_compressor() -> Any:
    """Return what makes gzip data: the same bytes for the same text, without a time in them."""
    return zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)


def zstd_compressor(path: Path) -> Any:
    """Return what makes Zstandard data.

    Raises
    ------
    OutputError
        Neither Python (from 3.14) nor the package ``zstandard`` has it.
    """
    try:
        return import_module("compression.zstd").ZstdCompressor(level=_ZSTD_LEVEL)
    except ImportError:
        pass
    try:
        return import_module("zstandard").ZstdCompressor(level=_ZSTD_LEVEL).compressobj()
    except ImportError:
        raise OutputError(
            f"{path}: cannot be written: .zst takes the package zstandard (or Python 3.14); "
            "`pip install zstandard` installs it"
        ) from None


class CountingFile:
    """What libraries take for a file that can only be written, from its start to its end."""

    closed = False

    def __init__(self, file: AtomicFile) -> None:
        self._file = file
        self._place = 0

    def write(self, data: Any) -> int:
        """Append bytes."""
        view = memoryview(data)
        self._file.write(view)
        self._place += view.nbytes
        return view.nbytes

    def tell(self) -> int:
        """Return the bytes written."""
        return self._place

    def flush(self) -> None:
        """Do nothing: the file is flushed when it is published."""

    def close(self) -> None:
        """Do nothing: whoever opened the file closes it."""

    def writable(self) -> bool:
        """Return True."""
        return True

    def readable(self) -> bool:
        """Return False."""
        return False

    def seekable(self) -> bool:
        """Return False."""
        return False
