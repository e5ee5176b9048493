"""Files that a later run continues, perhaps under other names: their content is compared."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

STDOUT = "-"
"""The name of standard output, and of standard input."""

NO_GRAPH = "none"
"""The name of a graph without vertices."""

_CHECKED_BYTES = 1 << 16
_CHECKED_ROWS = 1024

Content = dict[str, Any]
"""The saved content of a file in a checkpoint: the kind of the check, the amount, a digest."""


def absolute(name: str) -> str:
    """Return the absolute name of a file; ``-``, ``-.jsonl`` and ``none`` stay as they are."""
    return name if is_standard(name) or name == NO_GRAPH else str(Path(name).absolute())


def is_standard(name: str) -> bool:
    """Return whether this is a name of standard output."""
    return name == STDOUT or name.startswith(f"{STDOUT}.")


def beside(saved: Path, name: str, relative: str | None) -> Path:
    """Return where a file of a saved run is now: it may have moved together with the checkpoint.

    Parameters
    ----------
    saved
        The checkpoint.
    name
        The absolute name of the file when it was saved.
    relative
        Its name relative to the folder of the checkpoint.
    """
    if (
        relative is not None
        and (moved := Path(os.path.normpath(saved.absolute().parent / relative))).exists()
    ):
        return moved
    return Path(name)


def relative_to(saved: Path, name: str) -> str | None:
    """Return the name of a file relative to the folder of a checkpoint; None of standard output."""
    return None if is_standard(name) else os.path.relpath(name, saved.absolute().parent)


def bytes_content(path: Path, size: int) -> Content | None:
    """Return the check of the first bytes of a file: of their beginning and end; None if it has fewer."""
    import hashlib  # takes milliseconds, which --help need not wait for

    with suppress(OSError, ValueError), path.open("rb") as file:
        found = hashlib.sha256(file.read(min(size, _CHECKED_BYTES)))
        file.seek(max(0, size - _CHECKED_BYTES))
        last = file.read(min(size, _CHECKED_BYTES))
        if len(last) == min(size, _CHECKED_BYTES):
            found.update(last)
            return {"of": "bytes", "amount": size, "sha256": found.hexdigest()}
    return None


def stream_content(name: str, options: dict[str, Any], line: int, offset: int) -> Content | None:
    """Return the check of a stream up to a position; None if it cannot be checked.

    Parameters
    ----------
    name
        The file.
    options
        Keywords of `motiflux.open_source`.
    line, offset
        The position.
    """
    import hashlib

    from motiflux.errors import MotifluxError
    from motiflux.io.files.source import is_compressed, read_chunks
    from motiflux.stream.sources.source import Request

    if not (line or offset):
        return {"of": "rows", "amount": 0}
    if name == STDOUT or not Path(name).is_file():  # a pipe has no content to go back to
        return None
    if offset and not is_compressed(Path(name)):
        return bytes_content(Path(name), offset)
    with suppress(MotifluxError, OSError):
        found = hashlib.sha256()
        if offset:
            amount = min(offset, _CHECKED_BYTES)
            found.update(_beginning(read_chunks(Path(name)), amount))
            return {"of": "text", "amount": amount, "sha256": found.hexdigest()}
        from motiflux.stream import open_source

        amount = min(line, _CHECKED_ROWS)
        source = open_source(name, **options, on_error="skip")
        for batch in source.batches(Request(size=amount, exact=True)):
            rows = batch.updates
            for column in (rows.inserts, rows.sources, rows.targets, rows.labels, rows.times):
                found.update(repr(None if column is None else column.tolist()).encode())
            break
        return {"of": "rows", "amount": amount, "sha256": found.hexdigest()}
    return None


def _beginning(chunks: Iterator[bytes], amount: int) -> bytes:
    data = b""
    while len(data) < amount and (chunk := next(chunks, b"")):
        data += chunk
    return data[:amount]
