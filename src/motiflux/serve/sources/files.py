"""Files that grow, of lines of JSON."""

from __future__ import annotations

import hashlib
import os
import stat
from typing import Any, BinaryIO

from motiflux.serve.intake import Lost
from motiflux.serve.records import Taken
from motiflux.serve.sources.source import LOG, Source

_PIECE = 2**18
_BEGIN = 4096


class FileSource(Source):
    """Reads a file, and waits at its end for more lines.

    Its position has the number of bytes and lines read, and by what the file is known again: a digest of its
    first bytes, its number in the file system, and its size when it was looked at last. A file that was
    replaced is read from its beginning, after the rest of the one before it: that is open, or is found by its
    number in the same folder. Where it is not found, or a file is cut off or overwritten in its place, it is
    told what may be lost. An unfinished last line waits for its end, or until the file is replaced.
    """

    def read(self) -> None:
        """Read the file, and those that replace it."""
        path, poll = self.settings.options["path"], self.settings.options["poll"] / 1e9
        while not self.ends.is_set():
            with path.open("rb") as file:
                if not self._find_place(file):
                    return
                self.works()
                if not self._read_to_its_end(file, poll):
                    return

    def _read_to_its_end(self, file: BinaryIO, poll: float) -> bool:
        """Read a file until another one is in its place, or it begins anew.

        Returns False if the source is to end. What a file had that is cut off or overwritten is only known
        until the last look at it.
        """
        seen = 0
        while (found := self._change_of(file)) is None:
            if not self._read_on(file):
                return False
            if self._is_replaced(file):
                return self._read_on(file, once=True) and self.put(Taken(), _nothing_read())
            self.is_idle, size = True, os.fstat(file.fileno()).st_size
            if self._change_of(file) is None:
                seen = max(seen, size)
            self.ends.wait(poll)
            if self.ends.is_set():
                return False
        return self.put(Taken(), _nothing_read(), self._rest(found, seen))

    def _find_place(self, file: BinaryIO) -> bool:
        """Go to the position if the file is the one that was read before, else to its beginning.

        Returns False if the source is to end.
        """
        if self.position is None:
            self.position = _nothing_read()
        elif not _is_known(file, self.position) and not self._finish_the_one_before():
            return False
        file.seek(self.position["offset"])
        return True

    def _finish_the_one_before(self) -> bool:
        """Read the rest of a file that was replaced while nobody looked, or tell that it is lost."""
        moved = self._moved()
        if moved is None:
            found = "another one, and none in its folder that is the one before"
            return self.put(Taken(), _nothing_read(), self._rest(found, self.position.get("last", 0)))
        with moved:
            LOG.info("source %s: the rest of the file that was replaced is read: %s", self.name, moved.name)
            moved.seek(self.position["offset"])
            return self._read_on(moved, once=True) and self.put(Taken(), _nothing_read())

    def _moved(self) -> BinaryIO | None:
        """Return the file that was read before, if it has another name in its folder."""
        number = self.position.get("file")
        if number is None:  # a position of an earlier version
            return None
        for other in list(self.settings.options["path"].parent.iterdir()):
            try:
                found = other.lstat()
                if [found.st_dev, found.st_ino] != number or not stat.S_ISREG(found.st_mode):
                    continue
                file: BinaryIO = other.open("rb")
            except OSError:  # it has gone meanwhile, or cannot be read
                continue
            if _is_known(file, self.position):
                return file
            file.close()
        return None

    def _rest(self, found: str, last: int) -> Lost:
        """Return what is known of the unread rest of a file that is not there any more.

        Parameters
        ----------
        found
            What is there instead.
        last
            The size of the file when it was looked at last.
        """
        offset = self.position["offset"]
        place, least = f"byte {offset}", max(0, last - offset)
        known = f", at least {least} bytes," if least else ", if anything was added,"
        reason = (
            f"expected the file that was read until byte {offset}, found {found}; "
            f"what is behind that byte{known} is lost"
        )
        return Lost(place, least, reason)

    def _is_replaced(self, file: BinaryIO) -> bool:
        try:
            there, ours = self.settings.options["path"].stat(), os.fstat(file.fileno())
        except FileNotFoundError:
            return False  # between two files
        return (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino)

    def _change_of(self, file: BinaryIO) -> str | None:
        """Return what happened to a file that did not only grow; None: nothing."""
        if os.fstat(file.fileno()).st_size < file.tell():
            return "that it was cut off before that byte"
        size = self.position["size"]
        if _digest(os.pread(file.fileno(), size, 0)) != self.position["digest"]:
            return "other bytes at its beginning"
        return None

    def _read_on(self, file: BinaryIO, *, once: bool = False) -> bool:
        """Read all whole lines that are there; return False if the source is to end.

        Bytes that were read once the file was cut off or overwritten are left to the next look.
        """
        rest = b""
        while data := file.read(_PIECE):
            self.is_idle = False
            if not once and self._change_of(file) is not None:  # since the last look: of another text
                file.seek(self.position["offset"])
                return not self.ends.is_set()
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
        found = os.fstat(file.fileno())
        position |= {"file": [found.st_dev, found.st_ino], "last": found.st_size}
        self.figures.lag[self.name] = max(0, found.st_size - position["offset"])
        return self.put(taken, position)


def _nothing_read() -> dict[str, Any]:
    return {"offset": 0, "lines": 0, "size": 0, "digest": _digest(b"")}


def _is_known(file: BinaryIO, position: dict[str, Any]) -> bool:
    """Return whether a file is the one of a position."""
    begin = os.pread(file.fileno(), position["size"], 0)
    is_whole = len(begin) == position["size"] and os.fstat(file.fileno()).st_size >= position["offset"]
    return is_whole and bool(_digest(begin) == position["digest"])


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()
