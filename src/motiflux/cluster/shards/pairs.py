"""Numbers of pairs of vertices: sums that a task writes down as sorted runs, and the sum of all runs.

A pair is a key of 64 bits, the first vertex above the second. A run is a file of keys and numbers for each
class, sorted by key; the sum of all runs is read for one range of keys after another, each within a bound on
memory. A file that is open takes a descriptor, so many runs are merged into few before.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import accumulate, pairwise
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
Sums = tuple[Keys, Words, Above]
"""Distinct keys, ascending, and the number of each."""

BYTES_OF_PAIR = 16
_BYTES_OF_SUM = 8 * BYTES_OF_PAIR
"""Bytes that a pair takes while numbers are added."""
_SAMPLES_OF_PART, _MOST_PARTS = 8, 64
"""Keys that are looked at for each part of a range, and the most parts that it is cut into at a time."""
_GOLDEN = 0.6180339887498949
"""Multiples of it lie evenly between whole numbers."""
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)


def keys_of(first: Ids, second: Ids) -> Keys:
    """Return the keys of pairs."""
    return (first.astype(np.uint64) << _SHIFT) | second.astype(np.uint64)


def ends_of(keys: Keys) -> tuple[Ids, Ids]:
    """Return the vertices of pairs."""
    return (keys >> _SHIFT).astype(np.int64), (keys & _LOW).astype(np.int64)


def added(keys: Sequence[Keys], words: Sequence[Words]) -> Sums:
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
        self._most = pairs_within(memory)
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
        write_sections(Path(self._folder, name), {"above": above}, arrays, lasting=False)
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

    Attributes
    ----------
    keys
        The keys of all files for the first class, then those for the second one, and so on.
    """

    def __init__(self, paths: Sequence[str], places: Sequence[int]) -> None:
        self.keys: list[Keys] = []
        self._words: list[Words] = []
        self._above: list[Above] = [{} for _ in places]
        files = [SectionFile(Path(path)) for path in paths]
        for place in places:
            self.keys += [file.array(f"keys{place}", "<u8", 1) for file in files]
            self._words += [file.array(f"words{place}", "<u8", 1) for file in files]
        number = {place: at for at, place in enumerate(places)}
        for file in files:
            given: Any = file.facts["above"]
            for place, key, more in given:
                if place in number:
                    _add_above(self._above[number[place]], {int(key): int(more)})

    def sums(self, within: Range) -> list[Sums]:
        """Return for each class the distinct keys of a range, and the sums of their numbers."""
        spans = list(zip(within.begins.tolist(), within.ends.tolist(), strict=True))
        files, found = len(self.keys) // len(self._above), []
        for at, every in enumerate(self._above):
            of_class = [
                (one, *spans[one])
                for one in range(at * files, (at + 1) * files)
                if spans[one][0] < spans[one][1]
            ]
            keys, words, above = added(
                [self.keys[one][begin:end] for one, begin, end in of_class],
                [self._words[one][begin:end] for one, begin, end in of_class],
            )
            _add_above(above, {key: more for key, more in every.items() if within.first <= key < within.last})
            found.append((keys, words, above))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Range:
    """A range of keys, and where it lies in arrays of keys.

    Parameters
    ----------
    first, last
        The keys from one up to another, without it.
    begins, ends
        Its places in each array.
    """

    first: int
    last: int
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]

    @property
    def pairs(self) -> int:
        """Number of its pairs in all arrays."""
        return int((self.ends - self.begins).sum())

    def parts(self, keys: Sequence[Keys], number: int) -> list[Range]:
        """Return about so many ranges of about as many pairs: two at least, if there are two keys."""
        samples = self._samples(keys, _SAMPLES_OF_PART * number)
        cuts = np.unique(samples[np.arange(1, number) * len(samples) // number])
        cuts = cuts[cuts > np.uint64(self.first)]
        if not len(cuts):  # many pairs have the first key
            cuts = np.array([self.first + 1], np.uint64)
        spans = zip(keys, self.begins.tolist(), self.ends.tolist(), strict=True)
        inner = [b + one[b:e].searchsorted(cuts) for one, b, e in spans]
        places = np.column_stack([self.begins, np.stack(inner), self.ends])
        ends = pairwise([self.first, *cuts.tolist(), self.last])
        return [Range(*one, places[:, at], places[:, at + 1]) for at, one in enumerate(ends)]

    def _samples(self, keys: Sequence[Keys], number: int) -> Keys:
        """Return at least so many keys, ascending, if there are as many pairs: one of each few in a row.

        Which one differs: the first ones of many short arrays would all be small keys.
        """
        step = max(1, self.pairs // number)
        at = np.arange(self.pairs // step)
        places = at * step + (at * _GOLDEN % 1 * step).astype(np.int64)
        lengths = self.ends - self.begins
        before = np.cumsum(lengths) - lengths
        array = before.searchsorted(places, "right") - 1
        places += self.begins[array] - before[array]
        found = [keys[one][place] for one, place in zip(array.tolist(), places.tolist(), strict=True)]
        return np.sort(np.array(found, np.uint64))


def whole_range(keys: Sequence[Keys], first: int = 0, last: int = 1 << 64) -> Range:
    """Return the range of the keys from one up to another, without it."""
    both = [[_place(one, first), _place(one, last)] for one in keys]
    begins, ends = np.array(both, np.int64).reshape(-1, 2).T
    return Range(first, last, begins, ends)


def _place(keys: Keys, key: int) -> int:
    return len(keys) if key >= 1 << 64 else int(keys.searchsorted(np.uint64(key)))


def sums_by_ranges(runs: Sequence[Runs], first: int, last: int, memory: int) -> Iterator[list[list[Sums]]]:
    """Iterate over the sums of files in ranges of keys, which ascend.

    Each range has as many pairs as fit into some bytes while they are added, or a single key. One that has
    more is cut at samples of its keys, as keys are not spread evenly; to halve it again and again took nearly
    all of the time where files are many (R-MAT 13, 1 MB).
    """
    most = pairs_within(memory)
    begins = [0, *accumulate(len(one.keys) for one in runs)]
    keys = [one for of_search in runs for one in of_search.keys]
    waiting = [whole_range(keys, first, last)]
    while waiting:
        within = waiting.pop()
        if not (pairs := within.pairs):
            continue
        if pairs > most and within.last - within.first > 1:
            waiting += reversed(within.parts(keys, min(_MOST_PARTS, 1 + 3 * pairs // (2 * most))))
            continue
        yield [
            one.sums(Range(within.first, within.last, within.begins[b:e], within.ends[b:e]))
            for one, (b, e) in zip(runs, pairwise(begins), strict=True)
        ]


def pairs_within(memory: int) -> int:
    """Return the number of pairs that fit into some bytes while they are added."""
    return max(1, memory // _BYTES_OF_SUM)


def merged(paths: Sequence[str], classes: int, memory: int) -> tuple[str, int]:
    """Write one run that has the sums of several, beside them.

    Parameters
    ----------
    memory
        Bytes for sums: the run itself may be larger.

    Returns
    -------
    str, int
        Its path, and by how many pairs it has fewer.

    Raises
    ------
    OutputError
        It cannot be written.
    """
    folder = Path(paths[0]).parent
    runs, path = Runs(paths, range(classes)), folder / f"run-{uuid.uuid4().hex}"
    above: list[list[object]] = []
    fewer = sum(map(len, runs.keys))
    with ExitStack() as opened:
        try:
            files = [
                [opened.enter_context(TemporaryFile(dir=folder)) for _ in range(classes)] for _ in range(2)
            ]
            for (sums,) in sums_by_ranges([runs], 0, 1 << 64, memory):
                for place, (keys, words, more) in enumerate(sums):
                    fewer -= len(keys)
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
        write_sections(path, {"above": above}, arrays, lasting=False)
    return str(path), fewer
