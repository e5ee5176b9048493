"""Files that grow, of lines of JSON."""

from __future__ import annotations

import hashlib
import os
from typing import Any, BinaryIO

from motiflux.serve.sources.source import LOG, Source

_PIECE = 2**18
_BEGIN = 4096


class FileSource(Source):
    """Reads a file, and waits at its end for more lines.

    Its position has the number of bytes and lines read, and a digest of the first bytes, by which the file is
    known again whatever its name or place. A file that was replaced is read from its beginning, after the
    rest of the one before it. An unfinished last line waits for its end, or until the file is replaced.
    """

    def read(self) -> None:
        """Read the file, and those that replace it."""
        path, poll = self.settings.options["path"], self.settings.options["poll"] / 1e9
        while not self.ends.is_set():
            with path.open("rb") as file:
                self._find_place(file)
                self.works()
                while self._read_on(file):
                    at_end = self._is_replaced(file)
                    if at_end and not self._read_on(file, once=True):
                        return
                    if at_end:
                        self.position = None
                        break
                    self.is_idle = True
                    self.ends.wait(poll)
                    if self.ends.is_set():
                        return

    def _find_place(self, file: BinaryIO) -> None:
        """Go to the position if the file is the one that was read before, else to its beginning."""
        if self.position is None:
            self.position = {"offset": 0, "lines": 0, "size": 0, "digest": _digest(b"")}
        begin = file.read(self.position["size"])
        is_known = len(begin) == self.position["size"] and _digest(begin) == self.position["digest"]
        if not is_known or os.fstat(file.fileno()).st_size < self.position["offset"]:
            LOG.warning("source %s: another file is there now; it is read from its beginning", self.name)
            self.position = {"offset": 0, "lines": 0, "size": 0, "digest": _digest(b"")}
        file.seek(self.position["offset"])

    def _is_replaced(self, file: BinaryIO) -> bool:
        try:
            there, ours = self.settings.options["path"].stat(), os.fstat(file.fileno())
        except FileNotFoundError:
            return False  # between two files
        return (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino) or there.st_size < file.tell()

    def _read_on(self, file: BinaryIO, *, once: bool = False) -> bool:
        """Read all whole lines that are there; return False if the source is to end."""
        rest = b""
        while data := file.read(_PIECE):
            self.is_idle = False
            data = rest + data
            end = data.rfind(b"\n") + 1
            rest = data[end:]
            if end and not self._take(data[:end], file):
                return False
            if len(rest) > 2**26:
                raise ValueError(f"expected a line of at most {2**26} bytes")
        if once and rest:  # nobody ends this line any more
            return self._take(rest, file)
        file.seek(-len(rest), os.SEEK_CUR)
        self.figures.lag[self.name] = 0
        return not self.ends.is_set() or once

    def _take(self, data: bytes, file: BinaryIO) -> bool:
        position: dict[str, Any] = dict(self.position)
        lines = position["lines"]
        taken = self.reader.lines(data, lambda number: f"line {lines + number + 1}")
        position["offset"] += len(data)
        position["lines"] += data.count(b"\n")
        if position["size"] < _BEGIN:
            size = min(_BEGIN, position["offset"])
            position |= {"size": size, "digest": _digest(os.pread(file.fileno(), size, 0))}
        self.figures.lag[self.name] = max(0, os.fstat(file.fileno()).st_size - position["offset"])
        return self.put(taken, position)


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()
