"""Ranks of strings of a sharded graph: numbers in the order of all strings of some attributes.

The strings of an attribute in a shard are distinct and ascend, so each is a sorted *run*.

    sample    shard s   some strings of its runs, and their sizes
              driver    strings that divide all of them into ranges that fit into the memory
    merge     range r   the strings of all runs in a range -> their places among the different ones
    write     shard s   a rank for each of its strings: its place, and the number of strings of ranges before

The files lie beside the shards, in a folder that has its name once it is whole, and serve later calls.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import uuid
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.cluster.shards.attributes import EDGE, VERTEX
from motiflux.cluster.shards.layout import Ids, Layout
from motiflux.errors import OutputError
from motiflux.graph import AttributeTable, Column, Kind
from motiflux.graph.copies import ColumnKey
from motiflux.interop.strings import StringTable
from motiflux.io.binary.sections import SectionFile, write_sections

_BYTES_OF_STRING, _COPIES = 160, 3
"""Bytes of a string while runs are merged, beside so many times its text."""
_SHARE_OF_STRINGS = 4
"""The strings of a range take one part of so many of the memory of a worker."""
_SAMPLES = 4
"""Samples of a run for each range."""
_MOST_OPEN = 64
"""Files of ranks that a process keeps open."""


Name = tuple[str, str]
"""Whose attribute, `VERTEX` or `EDGE`, and its name."""
Attributes = Mapping[Name, Column]
"""The attributes of a shard; those that are ranked are there."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """The ranks of the strings of an attribute.

    Parameters
    ----------
    among
        The attributes among whose strings: ascending.
    """

    name: Name
    among: tuple[Name, ...]

    @classmethod
    def of(cls, key: ColumnKey, whose: str) -> Ranked:
        """Return the ranks that are the values of an attribute of vertices or of edges."""
        return cls((whose, str(key.attribute)), tuple(sorted((of, str(name)) for of, name in key.among)))

    @property
    def attribute(self) -> str:
        """The name of the attribute."""
        return self.name[1]


@dataclass(frozen=True, slots=True)
class Sample:
    """Some strings of a run.

    Parameters
    ----------
    weight
        Bytes that all of its strings take while runs are merged.
    strings
        At equal distances in the run, the first one included.
    """

    weight: int
    strings: list[bytes]


def folder_of(folder: str, layout: Layout, among: Sequence[Name]) -> Path:
    """Return the folder of the ranks among the strings of some attributes."""
    named = json.dumps([layout.build, *among]).encode()
    return Path(folder, f"ranks-{hashlib.blake2b(named, digest_size=12).hexdigest()}")


def ranks_of(folder: str, layout: Layout, number: int, wanted: Ranked) -> NDArray[np.int64]:
    """Return the rank of each string of an attribute in a shard, mapped."""
    file = _opened(_ranks_path(folder_of(folder, layout, wanted.among), number))
    ranks: NDArray[np.int64] = file.array(f"ranks.{_dotted(wanted.name)}", "<i8", 1)
    return ranks


@lru_cache(_MOST_OPEN)
def _opened(path: Path) -> SectionFile:
    """Return a file of ranks, which stays open: its folder is named by the build of the graph."""
    return SectionFile(path)


def ranked_column(column: Column, ranks: Callable[[], NDArray[np.int64]], places: Ids) -> Column:
    """Return the ranks of some values of a column of strings, or of one without values."""
    taken = column.take(places)
    if column.kind is Kind.NOTHING:
        return Column(np.zeros(len(places), np.int64), np.ones(len(places), np.bool_))
    return Column(ranks()[taken.data.astype(np.int64)], taken.mask)


def sampled(attributes: Attributes, among: Sequence[Name], number: int) -> list[Sample]:
    """Return samples of the runs of a shard: at most some number of strings of each."""
    found = []
    for name in among:
        strings = attributes[name].strings
        size = 0 if strings is None else len(strings)
        if strings is None or not size:
            found.append(Sample(0, []))
            continue
        weight = _BYTES_OF_STRING * size + _COPIES * len(strings.text)
        at = sorted({place * size // number for place in range(number)})
        found.append(Sample(weight, [_bytes_at(strings, one) for one in at]))
    return found


def merge_range(
    tables: Sequence[Attributes],
    among: Sequence[Name],
    within: tuple[bytes, bytes | None],
    folder: str,
    number: int,
) -> int:
    """Write the places of strings of all runs among the different ones of a range; return their number.

    Parameters
    ----------
    within
        The first string of the range, and the one behind its last; None: there is none.
    """
    runs: dict[str, list[bytes]] = {}
    for shard, attributes in enumerate(tables):
        for name in among:
            strings = attributes[name].strings
            if strings is not None:
                begin, end = _span(strings, within)
                runs[f"{shard}.{_dotted(name)}"] = [_bytes_at(strings, at) for at in range(begin, end)]
    distinct = sorted({one for run in runs.values() for one in run})
    place = {one: at for at, one in enumerate(distinct)}
    arrays = {name: np.array([place[one] for one in run], np.int64) for name, run in runs.items()}
    write_sections(Path(folder, f"merged-{number:05}"), {}, arrays)
    return len(distinct)


def write_ranks(
    attributes: Attributes, among: Sequence[Name], folder: str, shard: int, before: Sequence[int]
) -> None:
    """Write the ranks of the strings of a shard.

    Parameters
    ----------
    before
        For each range, the number of different strings of those before it.
    """
    arrays: dict[str, NDArray[np.int64]] = {}
    for name in among:
        if attributes[name].strings is None:
            continue
        parts = [np.empty(0, np.int64)]
        for number, first in enumerate(before):
            file = SectionFile(Path(folder, f"merged-{number:05}"))
            parts.append(file.array(f"{shard}.{_dotted(name)}", "<i8", 1) + first)
        arrays[f"ranks.{_dotted(name)}"] = np.concatenate(parts)
    write_sections(_ranks_path(Path(folder), shard), {}, arrays)


def make_ranks(
    graph_folder: str,
    layout: Layout,
    among: Sequence[Name],
    memory: int,
    ask: Callable[[str, Sequence[tuple[int, tuple[Any, ...]]]], list[Any]],
) -> None:
    """Have servers rank the strings of some attributes, unless they have done so.

    Parameters
    ----------
    memory
        Bytes that a server may use for strings.
    ask
        Calls methods of servers at once, by name, for pairs of a server and arguments; returns the results.

    Raises
    ------
    OutputError
        The folder of the graph cannot be written to.
    """
    made = folder_of(graph_folder, layout, among)
    if made.is_dir():
        return
    shards = range(len(layout.starts) - 1)
    weight = sum(
        one.weight for found in ask("sample_strings", [(at, (among, 1)) for at in shards]) for one in found
    )
    number = max(1, -(-weight // max(1, memory // _SHARE_OF_STRINGS)))
    ranges: list[tuple[bytes, bytes | None]] = [(b"", None)]
    if number > 1:
        samples = ask("sample_strings", [(at, (among, _SAMPLES * number)) for at in shards])
        ranges = _ranges([one for found in samples for one in found], weight / number)
    between = Path(f"{made}-{uuid.uuid4().hex}")
    try:
        between.mkdir()
        asked = [(at % len(shards), (among, one, str(between), at)) for at, one in enumerate(ranges)]
        sizes = ask("merge_strings", asked)
        before = (np.cumsum(sizes) - sizes).tolist()
        ask("write_ranks", [(at, (among, str(between), before)) for at in shards])
        for at in range(len(ranges)):
            Path(between, f"merged-{at:05}").unlink()
        try:
            between.rename(made)
        except OSError:
            if not made.is_dir():  # another call made the same meanwhile
                raise
    except OSError as error:
        raise OutputError(f"{made}: {error}") from error
    finally:
        shutil.rmtree(between, ignore_errors=True)


def _ranges(samples: Sequence[Sample], each: float) -> list[tuple[bytes, bytes | None]]:
    """Return ranges of strings of about `each` bytes."""
    weights: dict[bytes, float] = {}
    for one in samples:
        for string in one.strings:
            weights[string] = weights.get(string, 0.0) + one.weight / len(one.strings)
    cuts: list[bytes] = [b""]
    filled = 0.0
    for string in sorted(weights):
        if filled >= each and string:
            cuts.append(string)
            filled = 0.0
        filled += weights[string]
    return list(zip(cuts, [*cuts[1:], None], strict=True))


def _span(strings: StringTable, within: tuple[bytes, bytes | None]) -> tuple[int, int]:
    every = range(len(strings))
    first, last = (
        len(strings) if one is None else bisect_left(every, one, key=lambda at: _bytes_at(strings, at))
        for one in within
    )
    return first, last


def _bytes_at(strings: StringTable, at: int) -> bytes:
    first, end = strings.offsets[at : at + 2].tolist()
    return strings.text[first:end].tobytes()


def all_attributes(vertices: AttributeTable, edges: Mapping[str, Column]) -> dict[Name, Column]:
    """Return the attributes of the vertices and edges of a shard by their names."""
    of_edges = {(EDGE, name): column for name, column in edges.items()}
    return {(VERTEX, name): column for name, column in vertices.items()} | of_edges


def _dotted(name: Name) -> str:
    """Return a name as a part of the name of a section."""
    return ".".join(name)


def _ranks_path(folder: Path, number: int) -> Path:
    return folder / f"ranks-{number:05}"


RanksOf = Callable[[Ranked], NDArray[np.int64]]
"""Returns the ranks of the strings of an attribute in a shard."""
