"""The content of a stream up to a position: a later run continues only a stream that begins with it."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from motiflux.cli.saving.moved_files import STDOUT, Content, bytes_content

_CHECKED_ROWS = 1024
_CHUNK_BYTES = 1 << 20


class StreamContent:
    """Checks of a stream at positions that do not decrease.

    Of text, decompressed, all bytes up to the position: each is read once more for this, not once for each
    position. Of a table, the first and the last 1024 rows.

    Parameters
    ----------
    name
        The file, or ``-``.
    options
        Keywords of `motiflux.open_source`.
    """

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self._name = name
        self._options = options
        self._digest = TextDigest(Path(name))

    def at(self, line: int, offset: int) -> Content | None:
        """Return the check of the stream up to a position; None if it cannot be checked."""
        from motiflux.errors import MotifluxError

        if not (line or offset):
            return {"of": "rows", "amount": 0}
        if self._name == STDOUT or not Path(self._name).is_file():  # a pipe has no content to go back to
            return None
        with suppress(MotifluxError, OSError):
            if offset:
                return self._digest.of_first(offset)
            amount = min(line, _CHECKED_ROWS)
            first, last = self._rows(0, amount), self._rows(line - amount, amount)
            return {"of": "rows", "amount": amount, "sha256": first, "last": last}
        return None

    def agrees(self, saved: Content, line: int, offset: int) -> bool:
        """Return whether the stream has the content that was saved at a position.

        Checkpoints of earlier versions have the checks of fewer bytes or rows.
        """
        if saved["of"] == "bytes":
            return bytes_content(Path(self._name), saved["amount"]) == saved
        found = self.at(line, saved["amount"] if saved["of"] == "text" else offset)
        return found is not None and all(found.get(part) == value for part, value in saved.items())

    def _rows(self, first: int, amount: int) -> str:
        """Return the digest of some rows of a table."""
        import hashlib

        from motiflux.stream import Position, Request, open_source

        found = hashlib.sha256()
        source = open_source(self._name, **self._options, on_error="skip", start=Position(first))
        for batch in source.batches(Request(size=amount, exact=True)):
            rows = batch.updates
            for column in (rows.inserts, rows.sources, rows.targets, rows.labels, rows.times):
                found.update(repr(None if column is None else column.tolist()).encode())
            break
        return found.hexdigest()


class TextDigest:
    """The digest of the beginning of a text that may grow.

    Parameters
    ----------
    path
        The file; compression is undone.
    """

    def __init__(self, path: Path) -> None:
        import hashlib

        self._path = path
        self._hash = hashlib.sha256()
        self._done = 0
        self._chunks: Iterator[bytes] | None = None
        self._left = b""

    def of_first(self, amount: int) -> Content | None:
        """Return the check of the first bytes; None if the text has fewer, or more were asked for before."""
        if amount < self._done:
            return None
        while self._done < amount:
            chunk = self._next()
            if not chunk:
                return None
            taken = chunk[: amount - self._done]
            self._left = chunk[len(taken) :]
            self._hash.update(taken)
            self._done += len(taken)
        return {"of": "text", "amount": amount, "sha256": self._hash.hexdigest()}

    def _next(self) -> bytes:
        """Return the bytes that follow; none at the end of the text."""
        from motiflux.io.files.source import is_compressed, open_source, read_chunks

        if self._left:
            return self._left
        if is_compressed(self._path):
            self._chunks = self._chunks or read_chunks(self._path)
            return next(self._chunks, b"")
        with open_source(self._path) as file:  # again each time: it may have grown
            file.seek(self._done)
            return file.read(_CHUNK_BYTES)
