"""Rows of streams of Arrow that strangers may have written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from motiflux.packages import require

_PIECE = 256


def arrow_rows(data: bytes, longest: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of a stream of Arrow, without nested columns.

    Offsets may point anywhere, so buffers are validated before a value is read. A few bytes can stand for any
    number of rows, or of copies of a value in a dictionary: both are bounded.

    Parameters
    ----------
    longest
        Bytes of a value in a dictionary.

    Raises
    ------
    Exception
        It is no such stream, or has more rows than bytes or longer values.
    """
    arrow = require("pyarrow", "records in Arrow")
    count = 0
    with arrow.ipc.open_stream(data) as stream:
        for batch in stream:
            count += batch.num_rows
            if count > len(data):
                raise ValueError(f"at most {len(data)} rows in as many bytes are expected, there are more")
            batch.validate(full=True)
            flat = [at for at, field in enumerate(batch.schema) if not arrow.types.is_nested(field.type)]
            chosen = batch.select(flat)
            for column in chosen.columns:
                _check_dictionary(arrow, column, longest)
            for begin in range(0, batch.num_rows, _PIECE):
                yield from chosen.slice(begin, _PIECE).to_pylist()


def _check_dictionary(arrow: Any, column: Any, longest: int) -> None:
    if not arrow.types.is_dictionary(column.type):
        return
    size = max((buffer.size for buffer in column.dictionary.buffers() if buffer is not None), default=0)
    if size > longest and any(len(str(value)) > longest for value in column.dictionary.to_pylist()):
        raise ValueError(f"at most {longest} bytes of a value are expected, there are more")
