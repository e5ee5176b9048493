"""Matches as comma-separated text (``.csv``), streamed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from motiflux._native import format_csv
from motiflux.errors import OutputError
from motiflux.io.atomic import AtomicFile

if TYPE_CHECKING:
    from motiflux.types import IdArray

_SLICE_ROWS = 65536  # bounds the text held in memory when a batch is large


class ByteSink(Protocol):
    """Where bytes can be written to."""

    def write(self, data: bytes, /) -> object:
        """Write all of `data`."""


def write(batches: Iterable[IdArray], columns: list[str], path: Path) -> int:
    """Write a line of column names, then one line per match.

    Raises
    ------
    OutputError
        If the file cannot be written, or an id has no form in UTF-8.
    """
    with AtomicFile(path) as file:
        return write_to(file, batches, columns, name=str(path))


def write_to(stream: ByteSink, batches: Iterable[IdArray], columns: list[str], *, name: str) -> int:
    """Write what `write` writes to an open stream; return the number of matches.

    Raises
    ------
    OutputError
        If an id has no form in UTF-8; it speaks of the stream by `name`.
    """
    rows = 0
    stream.write((",".join(columns) + "\n").encode())
    for batch in batches:
        for part in _slices(batch):
            stream.write(_format(part, name))
        rows += len(batch)
    return rows


def _slices(batch: IdArray) -> Iterator[IdArray]:
    for start in range(0, len(batch), _SLICE_ROWS):
        yield batch[start : start + _SLICE_ROWS]


def _format(batch: IdArray, name: str) -> bytes:
    if batch.dtype.kind in "iu":
        return format_csv(np.ascontiguousarray(batch, dtype=np.int64))
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(batch.tolist())
    try:
        return text.getvalue().encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        bad = error.object[error.start]
        found = next(text for text in map(str, batch.ravel().tolist()) if bad in text)
        raise OutputError(f"{name}: cannot be written: the id {found!r} has no form in UTF-8") from error
