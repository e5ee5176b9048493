"""Bytes of text that may still grow: files, files that are followed, pipes."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from motiflux import _native
from motiflux.errors import ArgumentError, FormatError
from motiflux.io.files.source import is_compressed, open_source, read_chunks
from motiflux.units import counted

_CHUNK_BYTES = 1 << 18
_PIPE_BYTES = 1 << 16
_PAUSE = 0.02
"""Seconds between two checks of a file that is followed."""
_PIPE_PAUSE = 0.25
"""Seconds of waiting for a pipe, after which it yields an empty chunk."""
SPIN = 5e-5
"""Seconds of asking a pipe again and again before this process sleeps: waking up may take longer."""


class Reader(Protocol):
    """Text, from some byte on."""

    name: str
    """The name in errors."""
    live: bool
    """Whether available data should be returned without waiting for more."""
    endless: bool
    """Whether a last line without its end may still get one."""
    once: bool
    """Whether it can be read once only."""
    size: int
    """Bytes that there are, where that is known; else 0."""
    descriptor: int
    """Of what can be read as soon as `chunks` has yielded data; -1 if only `chunks` can read it."""

    def can_repeat(self) -> bool:
        """Whether it is a file that ends, and that can be read again."""

    def chunks(self, offset: int, deadline: float | None) -> Iterator[bytes]:
        """Yield the data after `offset` bytes; ``b""`` while there is none."""


class FileReader:
    """A file, compression undone.

    Parameters
    ----------
    path
        Of the file.
    follow
        Whether to wait for more at its end.
    """

    def __init__(self, path: Path, *, follow: bool = False) -> None:
        if follow and is_compressed(path):
            raise ArgumentError("follow", "a file that is not compressed", str(path))
        self.path = path
        self.name = str(path)
        self.live = self.endless = follow
        self.once = False
        self.descriptor = -1
        self.size = 0
        if not follow and not is_compressed(path):
            with suppress(OSError, ValueError):  # reading will raise the error
                self.size = path.stat().st_size

    def can_repeat(self) -> bool:
        """Whether it ends and can be read again: a named pipe has a name, too."""
        return not self.live and is_regular(self.path)

    def chunks(self, offset: int, deadline: float | None) -> Iterator[bytes]:
        """Yield the data after `offset` bytes."""
        if is_compressed(self.path):
            yield from after(offset, read_chunks(self.path))
            return
        with open_source(self.path) as file:
            done = offset
            self._seek(file, offset)
            while True:
                while chunk := self._read(file, done):
                    done += len(chunk)
                    yield chunk
                if not self.live:
                    return
                yield b""
                if deadline is not None and time.perf_counter() >= deadline:
                    return
                if os.fstat(file.fileno()).st_size < done:
                    raise FormatError(
                        self.path, f"the file was cut short below byte {done} while it was followed"
                    )
                time.sleep(_PAUSE)

    def _seek(self, file: Any, offset: int) -> None:
        size = os.fstat(file.fileno()).st_size
        if offset > size:
            raise FormatError(
                self.path, f"found {counted(size, 'byte')}, expected at least the {offset} read before"
            )
        if offset:
            file.seek(offset)

    def _read(self, file: Any, done: int) -> bytes:
        try:
            chunk: bytes = file.read(_CHUNK_BYTES)
        except OSError as error:
            raise FormatError(self.path, f"cannot be read after byte {done}: {error.strerror}") from error
        return chunk


class PipeReader:
    """Standard input, or another stream that is read once.

    Parameters
    ----------
    stream
        A text or a binary stream.
    name
        The name in errors.
    """

    live = True
    endless = False
    once = True
    size = 0

    def __init__(self, stream: Any, name: str) -> None:
        self._stream = stream
        self.name = name
        self.descriptor = -1

    def can_repeat(self) -> bool:
        """Return False."""
        return False

    def chunks(self, offset: int, deadline: float | None) -> Iterator[bytes]:
        """Yield data as soon as it arrives, after the first `offset` bytes; ``b""`` while there is none."""
        yield from after(offset, self._chunks(deadline))

    def _chunks(self, deadline: float | None) -> Iterator[bytes]:
        binary = getattr(self._stream, "buffer", self._stream)
        try:
            self.descriptor = binary.fileno()
        except (OSError, AttributeError):
            yield from iter(lambda: binary.read(_PIPE_BYTES), b"")
            return
        while deadline is None or time.perf_counter() < deadline:
            left = _PIPE_PAUSE if deadline is None else min(_PIPE_PAUSE, deadline - time.perf_counter())
            try:
                chunk = _native.read_soon(self.descriptor, SPIN, max(0.0, left))
            except OSError as error:
                raise FormatError(self.name, f"cannot be read: {error.strerror}") from error
            if chunk == b"":
                return
            yield chunk or b""


def is_regular(path: Path) -> bool:
    """Return whether a path names a file of a disk: not a pipe, whose reader waits for its writers."""
    with suppress(OSError, ValueError):  # reading will raise the error
        return stat.S_ISREG(path.stat().st_mode)
    return False


def after(offset: int, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Leave out the first bytes."""
    for chunk in chunks:
        dropped = min(offset, len(chunk))
        offset -= dropped
        if dropped < len(chunk) or not chunk:
            yield chunk[dropped:] if dropped else chunk
