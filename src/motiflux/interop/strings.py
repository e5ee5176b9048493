"""Strings one after the other, and as NumPy keeps them, each in the memory of the longest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.errors import GraphError

_MOST_BYTES = 2**30
_MOST_RATIO = 64
"""Memory for each byte of UTF-8, where all of it is more than `_MOST_BYTES`."""


class StringTable(Sequence[str]):
    """Distinct strings in ascending order of code points, as UTF-8 one after the other.

    NumPy's strings all have the length of the longest, four bytes for each character: one long string among a
    million short ones would fill the memory. Here each string has its own length, and becomes a Python string
    on access.

    Parameters
    ----------
    text
        uint8 [bytes].
    offsets
        int64 [strings + 1]; string i is ``text[offsets[i]:offsets[i + 1]]``.
    """

    def __init__(self, text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self.text = text
        self.offsets = offsets

    @classmethod
    def of(cls, strings: Iterable[str]) -> StringTable:
        """Return the table of strings that are distinct and ascending."""
        encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(string) for string in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        first, end = self.offsets[index % len(self) :][:2].tolist()
        return self.text[first:end].tobytes().decode("utf-8", "surrogatepass")

    def used(self, codes: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], StringTable]:
        """Return the table of the strings that codes [n] refer to, and their codes in it.

        The time depends on the number of codes and the length of the strings, not on the size of this table.
        """
        distinct, places = np.unique(codes, return_inverse=True)
        starts, ends = self.offsets[distinct], self.offsets[distinct + np.int64(1)]
        offsets = np.zeros(len(distinct) + 1, dtype=np.int64)
        np.cumsum(ends - starts, out=offsets[1:])
        text = np.empty(int(offsets[-1]), dtype=np.uint8)
        for start, end, place in zip(starts.tolist(), ends.tolist(), offsets.tolist(), strict=False):
            text[place : place + end - start] = self.text[start:end]
        return places.reshape(-1).astype(np.uint32), StringTable(text, offsets)


def from_utf8(text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.str_]:
    """Return strings [n] that lie one after the other: string i is ``text[offsets[i]:offsets[i + 1]]``.

    Raises
    ------
    GraphError
        One of them is so long that the array would fill the memory, or is not in UTF-8.
    """
    try:
        characters = _native.characters(text, offsets, max(_MOST_BYTES, _MOST_RATIO * len(text)))
    except ValueError:
        raise _no_text(text, offsets) from None
    if characters is None:
        first = int(np.argmax(np.diff(offsets)))
        longest = text[offsets[first] : offsets[first + 1]].tobytes().decode("utf-8", "surrogatepass")
        raise _too_long(len(offsets) - 1, longest)
    return np.frombuffer(characters, dtype=np.dtype((np.str_, characters.shape[1])))


def from_list(strings: Sequence[str]) -> NDArray[np.str_]:
    """Return strings [n] as an array; raises the same errors as `from_utf8`."""
    longest = max(strings, key=len, default="")
    most = max(_MOST_BYTES, _MOST_RATIO * sum(map(len, strings)))
    if 4 * len(strings) * len(longest) > most:
        raise _too_long(len(strings), longest)
    return np.array(strings, dtype=np.str_)


def _no_text(text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> GraphError:
    """Return an error with the first string that is not in UTF-8."""
    found = b""
    for first, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        found = text[first:end].tobytes()
        try:
            found.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            break
    return GraphError(f"found the name {found[:40]!r}, expected text in UTF-8")


def _too_long(count: int, longest: str) -> GraphError:
    return GraphError(
        f"found {count:,} names of which one has {len(longest)} characters, {longest[:40]!r}..., "
        "expected shorter ones: each takes the memory of the longest"
    )
