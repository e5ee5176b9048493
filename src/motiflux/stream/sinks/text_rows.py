"""Rows of matches as lines of text, compressed or not."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Protocol

from motiflux.io.files.growing_file import GrowingFile
from motiflux.io.text import csv_writer
from motiflux.stream.sinks.json_lines import JsonLines
from motiflux.stream.sinks.match_table import MatchTable
from motiflux.stream.sinks.row_files import package

_TEXT_ROWS = 1 << 14
_GZIP_WINDOW = 16 + zlib.MAX_WBITS
_GZIP_LEVEL = 3
_PACKED_BYTES = 1 << 20


class Text(Protocol):
    """Lines of text that the rows of a table are appended to."""

    def append(self) -> int:
        """Write the rows of the table; return their number."""


def text_of(
    table: MatchTable, stream: csv_writer.ByteSink, suffix: str, *, name: str, with_header: bool = True
) -> Text:
    """Return the lines of a format; `name` is the stream's in errors."""
    if suffix == ".jsonl":
        return JsonLines(stream, table, name=name)
    separator = "\t" if suffix == ".tsv" else ","
    return csv_writer.Appending(stream, table, name=name, separator=separator, with_header=with_header)


class TextRows:
    """Lines of text, compressed or not.

    Compressed, each batch is a member (a frame) of its own, so that the data written can be read at any time.

    Parameters
    ----------
    table
        Whose rows are written.
    path, compression
        ``""``, ``".gz"`` or ``".zst"``.
    suffix
        ``".csv"``, ``".tsv"`` or ``".jsonl"``.
    kept
        Bytes of the existing file that stay; None: start a new file.
    """

    def __init__(
        self, table: MatchTable, path: Path, compression: str, suffix: str, kept: int | None
    ) -> None:
        pack = _packer(path, compression)
        self._table = table
        self._file = GrowingFile(path, kept)
        self._packing = None if pack is None else _Packing(self._file, pack)
        stream = self._file if self._packing is None else self._packing
        self._text = text_of(table, stream, suffix, name=str(path), with_header=kept is None)

    @property
    def kept(self) -> int:
        """Bytes."""
        return self._file.kept

    @property
    def descriptor(self) -> int:
        """The open file, to which others may write at its end."""
        return self._file.descriptor

    def skip(self, size: int) -> None:
        """Let bytes stay that others wrote at its end."""
        self._file.skip(size)

    def append(self) -> None:
        """Write the waiting rows, if there are many."""
        if self._table.rows >= _TEXT_ROWS:
            self._text.append()

    def hand_on(self) -> None:
        """Write the waiting rows."""
        self._text.append()
        if self._packing is not None:
            self._packing.finish()
        self._file.hand_on()

    def keep(self) -> None:
        """Let the written rows stay."""
        self._file.keep()

    def sync(self) -> None:
        """Return when the kept data is on disk."""
        self._file.sync()

    def close(self) -> None:
        """Close the file."""
        self.hand_on()
        self.keep()
        self._file.sync()
        self._file.close()

    def abandon(self) -> None:
        """Cut the file after the last batch that is whole."""
        try:
            self._file.cut()
            self._file.sync()
        finally:
            self._file.close()


class _Packing:
    """Compresses data in pieces that can be read independently."""

    def __init__(self, file: GrowingFile, pack: Callable[[bytes], bytes]) -> None:
        self._file = file
        self._pack = pack
        self._waiting = bytearray()

    def write(self, data: bytes) -> None:
        self._waiting += data
        if len(self._waiting) >= _PACKED_BYTES:
            self.finish()

    def finish(self) -> None:
        if self._waiting:
            self._file.write(self._pack(bytes(self._waiting)))
            self._waiting.clear()


def _packer(path: Path, compression: str) -> Callable[[bytes], bytes] | None:
    """Return a function that compresses a piece.

    Raises
    ------
    OutputError
        The package that it takes is not installed.
    """
    if not compression:
        return None
    if compression == ".gz":
        return _gzipped
    if sys.version_info >= (3, 14):
        compress: Callable[[bytes], bytes] = import_module("compression.zstd").compress
        return compress
    pa = package("pyarrow", path)
    return lambda data: bytes(pa.compress(data, codec="zstd", asbytes=True))


def _gzipped(data: bytes) -> bytes:
    # No time of writing in it: the same bytes for the same text.
    compressor = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
    return compressor.compress(data) + compressor.flush()
