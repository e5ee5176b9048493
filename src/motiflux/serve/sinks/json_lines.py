"""Alerts as lines of JSON in a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from motiflux.serve.sinks.sink import LOG, Sent, Sink


class JsonLines(Sink):
    """Appends alerts to a file, whose length is in the log: what a kill left behind it is cut off.

    A file of which the log knows nothing, because it was moved away or is new, is appended to as it is.
    """

    promise = "exactly once"
    _descriptor = -1

    def open(self) -> None:
        """Open the file, and cut off what was written behind the position."""
        path = self.settings.options["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        facts = os.fstat(self._descriptor)
        known = self.state or {}
        if known.get("inode") == facts.st_ino and facts.st_size >= known["length"]:
            os.ftruncate(self._descriptor, known["length"])
            self._length = known["length"]
        else:
            if known:
                LOG.warning("sink %s: another file is there now; it is appended to", self.name)
            self._length = facts.st_size
        self.state = {"inode": facts.st_ino, "length": self._length}
        if self.state != known:
            self.keep_state()

    def deliver(self, alerts: Sequence[Sent]) -> Any:
        """Append alerts."""
        if self._is_moved():
            self.close()
            self.open()
        data = "".join(f"{alert.body}\n" for alert in alerts).encode()
        written = 0
        while written < len(data):
            written += os.pwrite(self._descriptor, data[written:], self._length + written)
        os.fsync(self._descriptor)
        self._length += len(data)
        return {"inode": os.fstat(self._descriptor).st_ino, "length": self._length}

    def _is_moved(self) -> bool:
        try:
            there = self.settings.options["path"].stat()
        except FileNotFoundError:
            return True
        ours = os.fstat(self._descriptor)
        return (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino) or ours.st_size < self._length

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)
