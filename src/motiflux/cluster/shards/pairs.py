"""Numbers of pairs of vertices: sums that a task writes down as sorted runs, and the sum of all runs.

A pair is a key of 64 bits, the first vertex above the second. A run is a file of keys and numbers for each
class, sorted by key; the sum of all runs is read for one range of keys after another, each within a bound on
memory. A file that is open takes a descriptor, so many runs are merged into few before.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.shards.layout import Ids
from motiflux.cluster.shards.scratch import mapped
from motiflux.errors import OutputError
from motiflux.io.binary.sections import SectionFile, write_sections

Keys = NDArray[np.uint64]
Words = NDArray[np.uint64]
Above = dict[int, int]
"""By key: what is missing in a number of 64 bits, a multiple of 2^64."""

BYTES_OF_PAIR = 16
_BYTES_OF_SUM = 8 * BYTES_OF_PAIR
"""Bytes that a pair takes while numbers are added."""
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)


def keys_of(first: Ids, second: Ids) -> Keys:
    """Return the keys of pairs."""
    return (first.astype(np.uint64) << _SHIFT) | second.astype(np.uint64)


def ends_of(keys: Keys) -> tuple[Ids, Ids]:
    """Return the vertices of pairs."""
    return (keys >> _SHIFT).astype(np.int64), (keys & _LOW).astype(np.int64)


def added(keys: Sequence[Keys], words: Sequence[Words]) -> tuple[Keys, Words, Above]:
    """Return distinct keys, ascending, and the sum of the numbers of each."""
    every = np.concatenate([np.empty(0, np.uint64), *keys])
    numbers = np.concatenate([np.empty(0, np.uint64), *words])
    if not len(every):
        return every, numbers, {}
    order = np.argsort(every, kind="stable")
    every, numbers = every[order], numbers[order]
    begins = np.flatnonzero(np.concatenate([[True], every[1:] != every[:-1]]))
    low = np.add.reduceat(numbers & _LOW, begins)
    high = np.add.reduceat(numbers >> _SHIFT, begins) + (low >> _SHIFT)
    distinct, sums, over = every[begins], (high << _SHIFT) | (low & _LOW), high >> _SHIFT
    more = np.flatnonzero(over)
    above = dict(zip(distinct[more].tolist(), (one << 64 for one in over[more].tolist()), strict=True))
    return distinct, sums, above


class PairSums:
    """Adds numbers of pairs, and writes those that take too much memory into files of a folder.

    Parameters
    ----------
    classes
        The number of classes, each of which has numbers of its own.
    memory
        Bytes for all of them.
    """

    def __init__(self, classes: int, folder: str, memory: int) -> None:
        self._folder = folder
        self._most = max(1, memory // _BYTES_OF_SUM)
        self._keys: list[list[Keys]] = [[] for _ in range(classes)]
        self._words: list[list[Words]] = [[] for _ in range(classes)]
        self._above: list[Above] = [{} for _ in range(classes)]
        self._held = 0
        self._files: list[tuple[str, int]] = []

    def add(self, place: int, keys: Keys, words: Words, above: Mapping[int, int]) -> None:
        """Add numbers of pairs of a class."""
        self._keys[place].append(keys)
        self._words[place].append(words)
        _add_above(self._above[place], above)
        self._held += len(keys)
        if self._held > self._most:
            self._compact()
            if self._held > self._most // 2:
                self._write()

    def _compact(self) -> None:
        for place, (keys, words) in enumerate(zip(self._keys, self._words, strict=True)):
            distinct, sums, above = added(keys, words)
            _add_above(self._above[place], above)
            self._keys[place], self._words[place] = [distinct], [sums]
        self._held = sum(len(one) for keys in self._keys for one in keys)

    def _write(self) -> None:
        arrays: dict[str, NDArray[Any]] = {}
        for place, (keys, words) in enumerate(zip(self._keys, self._words, strict=True)):
            arrays |= {f"keys{place}": keys[0], f"words{place}": words[0]}
        above = [
            [place, str(key), str(more)] for place, one in enumerate(self._above) for key, more in one.items()
        ]
        name = f"run-{uuid.uuid4().hex}"
        write_sections(Path(self._folder, name), {"above": above}, arrays)
        self._files.append((name, self._held))
        self._forget()

    def _forget(self) -> None:
        for lists in (*self._keys, *self._words):
            lists.clear()
        for one in self._above:
            one.clear()
        self._held = 0

    def take(self) -> list[tuple[str, int]]:
        """Write down what is left; return the names of all files, and their numbers of pairs; start anew."""
        self._compact()
        if self._held:
            self._write()
        files, self._files = self._files, []
        return files

    def drop(self) -> None:
        """Forget all numbers, and start anew."""
        self._forget()
        self._files = []


def _add_above(to: Above, more: Mapping[int, int]) -> None:
    for key, number in more.items():
        to[key] = to.get(key, 0) + number


class Runs:
    """Files of numbers of pairs, mapped.

    Parameters
    ----------
    places
        The classes of them that are read.
    """

    def __init__(self, paths: Sequence[str], places: Sequence[int]) -> None:
        self._columns: list[list[tuple[Keys, Words]]] = [[] for _ in places]
        self._above: list[Above] = [{} for _ in places]
        number = {place: at for at, place in enumerate(places)}
        for path in paths:
            file = SectionFile(Path(path))
            for at, place in enumerate(places):
                both = file.array(f"keys{place}", "<u8", 1), file.array(f"words{place}", "<u8", 1)
                self._columns[at].append(both)
            given: Any = file.facts["above"]
            for place, key, more in given:
                if place in number:
                    _add_above(self._above[number[place]], {int(key): int(more)})

    def pairs(self, first: int, last: int) -> int:
        """Return the number of pairs of all files from one key up to another, without it."""
        return sum(end - begin for column in self._spans(first, last) for begin, end in column)

    def sums(self, first: int, last: int) -> list[tuple[Keys, Words, Above]]:
        """Return for each class the distinct keys of a range, and the sums of their numbers."""
        found = []
        for at, spans in enumerate(self._spans(first, last)):
            parts = [
                (keys[begin:end], words[begin:end])
                for (keys, words), (begin, end) in zip(self._columns[at], spans, strict=True)
            ]
            keys, words, above = added([one for one, _ in parts], [one for _, one in parts])
            _add_above(above, {key: more for key, more in self._above[at].items() if first <= key < last})
            found.append((keys, words, above))
        return found

    def _spans(self, first: int, last: int) -> list[list[tuple[int, int]]]:
        return [[(_place(keys, first), _place(keys, last)) for keys, _ in column] for column in self._columns]


def _place(keys: Keys, key: int) -> int:
    return len(keys) if key >= 1 << 64 else int(keys.searchsorted(np.uint64(key)))


def ranges_of_keys(runs: Sequence[Runs], first: int, last: int, memory: int) -> Iterator[tuple[int, int]]:
    """Iterate over ranges of keys, each of as many pairs as fit into some bytes while they are added."""
    most = max(1, memory // _BYTES_OF_SUM)
    waiting = [(first, last)]
    while waiting:
        begin, end = waiting.pop()
        pairs = sum(one.pairs(begin, end) for one in runs)
        if not pairs:
            continue
        if pairs <= most or end - begin == 1:
            yield begin, end
            continue
        middle = (begin + end) // 2
        waiting += [(middle, end), (begin, middle)]


def merged(paths: Sequence[str], classes: int, memory: int) -> str:
    """Write one run that has the sums of several, beside them; return its path.

    Parameters
    ----------
    memory
        Bytes for sums: the run itself may be larger.

    Raises
    ------
    OutputError
        It cannot be written.
    """
    folder = Path(paths[0]).parent
    runs, path = Runs(paths, range(classes)), folder / f"run-{uuid.uuid4().hex}"
    above: list[list[object]] = []
    with ExitStack() as opened:
        try:
            files = [
                [opened.enter_context(TemporaryFile(dir=folder)) for _ in range(classes)] for _ in range(2)
            ]
            for begin, end in ranges_of_keys([runs], 0, 1 << 64, memory):
                for place, (keys, words, more) in enumerate(runs.sums(begin, end)):
                    files[0][place].write(keys.data)
                    files[1][place].write(words.data)
                    above += [[place, str(key), str(number)] for key, number in more.items()]
            arrays = {
                f"{name}{place}": mapped(file, "<u8")
                for name, of_name in zip(("keys", "words"), files, strict=True)
                for place, file in enumerate(of_name)
            }
        except OSError as error:
            raise OutputError(f"{path}: {error}") from error
        write_sections(path, {"above": above}, arrays)
    return str(path)
