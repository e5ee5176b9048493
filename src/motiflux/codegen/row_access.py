"""How kernels of changing graphs open rows of the host: structures, and what their units define."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from motiflux.codegen.changing import LANES, SPANS_OF_TIMED, changing_source, write_source
from motiflux.codegen.kernels import Goal
from motiflux.jit import Source

_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64

ROWS_WITH_COPIES = np.dtype([("rows", "<u8"), ("repeats", "<u4"), ("unused", "<u4"), ("copies", "<u8")])
"""``view::ChangingRows`` of units with ``MOTIFLUX_ROW_COPIES``."""
ROW_COPIES = np.dtype(
    [
        ("memory", "<u8"),
        ("entries", "<u8"),
        ("rowidx", "<u8"),
        ("rowptr", "<u8"),
        ("slots", "<u8"),
        ("count", "<u4"),
        ("mask", "<u4"),
    ]
)
"""``view::RowCopies``."""
COPIED_ROW = np.dtype([("first", "<u8"), ("behind", "<u8")])
"""``view::CopiedRow``."""
HASHED_ROW = np.dtype([("key", "<u4"), ("size", "<u4"), ("first", "<u8")])
"""``view::HashedRow``."""
MARK = 1 << 31
"""``match::kMark``: no vertex has this bit."""
SPANS_OF_TWO_PARTS = 4
"""``match::kSpansOfTimed`` of units with rows in two parts."""
HASH_ENTRY = "motiflux_cache_hash"


class HashArgs(ctypes.Structure):
    """``changing::HashArgs``."""

    __slots__ = ()
    _fields_ = [("rowidx", _u64), ("rowptr", _u64), ("slots", _u64), ("count", _u32), ("mask", _u32)]


@dataclass(frozen=True)
class RowAccess:
    """How a search opens rows, some of which have copies on the device.

    Parameters
    ----------
    lookup
        How it finds the copy of a row: ``header``, which names the copy; ``bisect`` in the ids of all copied
        rows, as published (GCSM, section V-C); ``hash``: in a table.
    staging
        Which rows of the host it brings in whole lines before it looks candidates up in them: ``off``, none;
        ``on``, those that bisecting would read more lines of; ``always``, all that there is room for.
    two_parts
        Whether rows that a run touches have two parts, the entries of before with marks and those that the
        run changes, as published (GCSM, section V-B), or are merged.
    """

    lookup: str = "header"
    staging: str = "off"
    two_parts: bool = False

    @classmethod
    def of(cls, tuning: Mapping[str, str]) -> RowAccess:
        """Return what switches say."""
        return cls(tuning["cache_lookup"], tuning["row_staging"], tuning["touched_rows"] == "two_parts")

    @property
    def looks_up(self) -> bool:
        """Whether headers name rows of the host only."""
        return self.lookup != "header"

    @property
    def knows_copies(self) -> bool:
        """Whether kernels are told where copies are."""
        return self.looks_up or self.stages

    @property
    def stages(self) -> bool:
        """Whether rows of the host are staged."""
        return self.staging != "off"

    @property
    def words(self) -> list[str]:
        """Parts of the names of its units."""
        found = [self.lookup] if self.looks_up else []
        if self.stages:
            found.append({"on": "staged", "always": "stagedall"}[self.staging])
        return [*found, "parts"] if self.two_parts else found

    @property
    def spans_of_timed(self) -> int:
        """``match::kSpansOfTimed``."""
        return SPANS_OF_TWO_PARTS if self.two_parts else SPANS_OF_TIMED

    @property
    def write_source(self) -> Source:
        """The unit that writes changed rows."""
        return parts_source() if self.two_parts else write_source()

    @property
    def defined(self) -> list[str]:
        """Names that its units define, after ``MOTIFLUX_``."""
        found = ["ROW_COPIES"] if self.knows_copies else []
        if self.looks_up:
            found.append({"bisect": "BISECTED_COPIES", "hash": "HASHED_COPIES"}[self.lookup])
        if self.stages:
            found.append({"on": "STAGED_ROWS 1", "always": "STAGED_ROWS 2"}[self.staging])
        return [*found, "TWO_PARTS"] if self.two_parts else found

    def describe(self) -> str:
        """Return it in words; an empty text for the default."""
        found = [f"copies looked up ({self.lookup})"] if self.looks_up else []
        if self.stages:
            which = {"on": "where that takes fewer lines", "always": "wherever there is room"}[self.staging]
            found.append(f"rows of the host brought in whole lines {which}")
        if self.two_parts:
            found.append("touched rows in two parts")
        return ", ".join(found)

    def unit(self, source: Source) -> Source:
        """Return a unit that opens rows in this way."""
        if self == BY_HEADERS:
            return source
        lines = [*(f"#define MOTIFLUX_{name}" for name in self.defined), source.text]
        return replace(source, name="-".join([source.name, *self.words]), text="\n".join(lines))


BY_HEADERS = RowAccess()
"""That of rows in memory of the device, and the default."""


@cache
def hash_source() -> Source:
    """Return the unit that makes a hash table of copied rows; its entry point is `HASH_ENTRY`."""
    return Source("changing-cache-hash", '#include "motiflux/changing/hash_copies.cuh"\n')


@cache
def parts_source() -> Source:
    """Return the unit that writes changed rows in two parts; its entry points are those of `write_source`."""
    return Source("changing-rows-parts", '#include "motiflux/changing/mark_rows.cuh"\n')


def access_sources() -> list[Source]:
    """Return units in which rows of the host are opened in other ways than by default, some of each kind."""
    counting = [changing_source(Goal.COUNT, lanes) for lanes in LANES]
    each = (RowAccess("bisect"), RowAccess("hash"), RowAccess(staging="on"), RowAccess(two_parts=True))
    together = RowAccess("hash", "always", two_parts=True)
    return [
        *(access.unit(counting[-1]) for access in each),
        RowAccess("bisect", "on").unit(counting[0]),
        together.unit(changing_source(Goal.STORE, LANES[-1])),
        hash_source(),
        parts_source(),
    ]
