"""``.pattern`` and ``.cypher`` files: one pattern or query as text, in UTF-8."""

from __future__ import annotations

from pathlib import Path

from motiflux.errors import FormatError, PatternSyntaxError
from motiflux.io.files.source import base_name, read_chunks
from motiflux.pattern import Pattern, Query

_MOST_BYTES = 2**20
"""More than the longest text takes: a file that is none is not read to its end."""


def read_query(path: Path) -> Pattern | Query:
    """Read a pattern or a query, named after the file.

    Raises
    ------
    FormatError
        The file cannot be read, is no text in UTF-8 or too large for a pattern.
    PatternSyntaxError
        Naming the file, the line and the column.
    """
    try:
        from motiflux.pattern.queries.parse import query_or_pattern  # it imports the parser

        return query_or_pattern(_text(path), base_name(path), Query)
    except PatternSyntaxError as error:
        raise PatternSyntaxError(error.message, error.text, error.position, path) from None


def _text(path: Path) -> str:
    content = b""
    for chunk in read_chunks(path):
        content += chunk
        if len(content) > _MOST_BYTES:
            raise FormatError(path, f"expected a pattern of at most {_MOST_BYTES:,} bytes, found more")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        found = content[error.start : error.start + 1].hex()
        raise FormatError(path, f"expected text in UTF-8, found the byte 0x{found}", line) from None
