"""Matches of a batch that is not done: kept until it is, on disk where they are many."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterator
from typing import IO, Any

from motiflux.stream.matching.match_rows import MatchRows

_MOST_BYTES = 64 << 20


class Held:
    """Blocks of matches by pattern, in the order in which they were found."""

    def __init__(self) -> None:
        self._blocks: list[tuple[int, MatchRows]] = []
        self._bytes = 0
        self._file: IO[bytes] | None = None

    def put(self, number: int, rows: MatchRows) -> None:
        """Keep a block; when there are too many, all go to a file without a name."""
        self._blocks.append((number, rows))
        self._bytes += rows.nbytes
        if self._bytes > _MOST_BYTES:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115
            for block in self._blocks:
                pickle.dump(block, self._file, protocol=pickle.HIGHEST_PROTOCOL)
            self._blocks, self._bytes = [], 0

    def take(self) -> Iterator[tuple[int, MatchRows]]:
        """Give all blocks back."""
        if self._file is not None:
            end = self._file.tell()
            self._file.seek(0)
            while self._file.tell() < end:
                block: Any = pickle.load(self._file)
                yield block
        yield from self._blocks
        self.drop()

    def drop(self) -> None:
        """Forget them."""
        self._blocks, self._bytes = [], 0
        if self._file is not None:
            self._file.close()
            self._file = None
