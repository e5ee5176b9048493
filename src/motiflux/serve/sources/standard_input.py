"""Standard input, of lines of JSON."""

from __future__ import annotations

import os
import select
import sys
from functools import partial

from motiflux.serve.sources.source import Source

_PIECE = 2**16


class StandardInput(Source):
    """Reads standard input until it ends. It has no position: what was read cannot be read again."""

    position_is_kept = False

    def read(self) -> None:
        """Read all lines."""
        descriptor, rest, lines = sys.stdin.fileno(), b"", 0
        while not self.ends.is_set():
            self.is_idle = not select.select([descriptor], [], [], 0)[0]
            if not select.select([descriptor], [], [], 0.1)[0]:
                continue
            data = os.read(descriptor, _PIECE)
            whole = rest + data
            end = whole.rfind(b"\n") + 1 if data else len(whole)
            rest = whole[end:]
            if end:
                taken = self.reader.lines(whole[:end], partial(_place, lines))
                lines += whole[:end].count(b"\n")
                if not self.put(taken, None):
                    return
            if not data:
                return


def _place(before: int, number: int) -> str:
    return f"line {before + number + 1}"
