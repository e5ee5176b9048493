"""Compressed content of files, undone as it is read: gzip and Zstandard."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from motiflux.errors import FormatError
from motiflux.units import counted

_READ_BYTES = 2**16
"""Bytes read at once from a stream that loses the bytes already decompressed when it fails."""

_GZIP_WINDOW = 16 + zlib.MAX_WBITS


class Stream(Protocol):
    """Something that is read until it gives nothing."""

    done: int
    """Bytes read so far."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` of the next bytes."""


def as_it_is(path: Path, file: Stream, chunk_bytes: int) -> Iterator[bytes]:
    """Hand the content on, never more than `chunk_bytes` at a time."""
    while chunk := file.read(chunk_bytes):
        yield chunk


def gunzip(path: Path, file: Stream, chunk_bytes: int) -> Iterator[bytes]:
    """Undo gzip, one member after the other, never more than `chunk_bytes` at a time.

    Raises
    ------
    FormatError
        The data is corrupt or truncated; with the number of bytes read.
    """
    member: zlib._Decompress | None = None
    complete = False  # at least one member, and the last one has ended
    done = 0
    while rest := file.read(chunk_bytes):
        while rest:
            if member is None:
                rest = rest.lstrip(b"\0") if complete else rest  # padding between members
                if not rest:
                    break
                member = zlib.decompressobj(_GZIP_WINDOW)
                complete = False
            try:
                content = member.decompress(rest, chunk_bytes)
            except zlib.error as error:
                raise _corrupt(path, "gzip", done, error) from error
            rest = member.unused_data if member.eof else member.unconsumed_tail
            if member.eof:
                member, complete = None, True
            done += len(content)
            if content:
                yield content
    if not complete:
        raise _cut_short(path, "gzip", done)


def unzstd(path: Path, file: Stream, chunk_bytes: int) -> Iterator[bytes]:
    """Undo Zstandard, one frame after the other, never more than `chunk_bytes` at a time.

    Raises
    ------
    FormatError
        The data is corrupt or cut short, and how far it got; or nothing here can undo it.
    """
    open_stream, failures = _zstd(path)
    done = 0
    parts: list[bytes] = []
    size = 0
    try:
        stream = open_stream(file)
        while part := stream.read(min(_READ_BYTES, chunk_bytes - size)):
            parts.append(part)
            size += len(part)
            done += len(part)
            if size == chunk_bytes:
                yield b"".join(parts)
                parts, size = [], 0
    except failures as error:
        if isinstance(error, EOFError) or "truncated" in str(error).lower():
            raise _cut_short(path, "zstd", done) from error
        raise _corrupt(path, "zstd", done, error) from error
    if not done and not file.done:
        raise _cut_short(path, "zstd", 0)
    if parts:
        yield b"".join(parts)


Decompressor = Callable[[Path, Stream, int], Iterator[bytes]]

DECOMPRESSORS: dict[str, Decompressor] = {".gz": gunzip, ".zst": unzstd}
"""The decompressors by suffix."""


def _zstd(path: Path) -> tuple[Callable[[Stream], Any], tuple[type[Exception], ...]]:
    """Return a function that opens a stream of Zstandard data, and the errors of the stream."""
    if sys.version_info >= (3, 14):
        zstd = import_module("compression.zstd")
        return zstd.ZstdFile, (zstd.ZstdError, EOFError)
    try:
        pyarrow = import_module("pyarrow")
    except ImportError:
        raise FormatError(
            path,
            "found Zstandard data, which takes Python 3.14 or the package pyarrow; "
            "install motiflux[zstd], or compress the file with gzip",
        ) from None

    def open_stream(file: Stream) -> Any:
        return pyarrow.CompressedInputStream(pyarrow.PythonFile(file, mode="r"), "zstd")

    return open_stream, (pyarrow.ArrowException, OSError)


def _corrupt(path: Path, kind: str, done: int, error: Exception) -> FormatError:
    return FormatError(path, f"the {kind} data is corrupt after {counted(done, 'byte')} of content: {error}")


def _cut_short(path: Path, kind: str, done: int) -> FormatError:
    return FormatError(path, f"the {kind} data is cut short after {counted(done, 'byte')} of content")
