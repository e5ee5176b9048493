"""The meaning of the columns of a table of updates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import NoneType

from motiflux.errors import ArgumentError
from motiflux.interop.end_names import SOURCES, TARGETS, find_ends

PARTS = ("op", "src", "dst", "label", "time", "src_label", "dst_label")
"""The parts of an update, in the order in which a table without names has them."""

_NAMES = {
    "op": ("op",),
    "src": SOURCES,
    "dst": TARGETS,
    "label": ("label",),
    "time": ("time", "timestamp"),
    "src_label": ("src_label", "source_label"),
    "dst_label": ("dst_label", "target_label"),
}
_NEEDED = ("src", "dst")
_TIME_WORDS = ("when", "ts", "at", "on", "day", "created", "moment")
"""Names of columns that may be times."""

Name = str | int


@dataclass(frozen=True)
class StreamColumns:
    """Names or positions of the columns of a table of updates; None: by their usual names, in any case.

    Without columns of the usual names, two names that mean the ends of an edge, such as ``payer`` and
    ``payee``, are the ends. Without a column ``op`` all updates are insertions.
    """

    op: Name | None = None
    src: Name | None = None
    dst: Name | None = None
    label: Name | None = None
    time: Name | None = None
    src_label: Name | None = None
    dst_label: Name | None = None

    @classmethod
    def of(cls, given: Mapping[str, Name] | StreamColumns | None) -> StreamColumns:
        """Return the columns of a mapping from parts to columns.

        Raises
        ------
        ArgumentError
            There is no such part.
        """
        if isinstance(given, StreamColumns):
            return given
        if not isinstance(given, (Mapping, NoneType)):
            raise ArgumentError("columns", "a mapping from parts to columns", given)
        for part, column in (given or {}).items():
            if part not in PARTS:
                raise ArgumentError("columns", f"parts out of {', '.join(PARTS)}", part)
            if not isinstance(column, (str, int)) or isinstance(column, bool):
                raise ArgumentError(f"columns, {part}", "the name of a column, or its position", column)
        return cls(**(given or {}))

    @property
    def by_name(self) -> bool:
        """Whether a column is named."""
        return any(isinstance(value, str) for value in vars(self).values())

    def choose(self, names: Sequence[str], what: str) -> dict[str, int]:
        """Return the position of each part that is there.

        Raises
        ------
        ArgumentError
            A column that was named, or that is needed, is not there.
        """
        places = {part: self._place(part, names, what) for part in PARTS}
        found = {part: place for part, place in places.items() if place is not None}
        if self.src is None and self.dst is None and not found.keys() >= set(_NEEDED):
            ends = find_ends(names)
            if ends is not None and not {*ends} & {*found.values()}:
                found |= zip(_NEEDED, ends, strict=True)
        lacking = [part for part in _NEEDED if part not in found]
        if lacking:
            others = [name for place, name in enumerate(names) if place not in found.values()]
            said = dict(zip(lacking, others, strict=False))
            where = f" in {what}" if self != StreamColumns() else ""  # else, errors begin with the file
            expected = _expected(lacking[0], said, len(lacking)) + where
            raise ArgumentError(f"columns, {lacking[0]}", expected, ", ".join(names))
        return found

    def _place(self, part: str, names: Sequence[str], what: str) -> int | None:
        given = getattr(self, part)
        if isinstance(given, int):
            if 0 <= given < len(names):
                return given
            raise ArgumentError(f"columns, {part}", f"a position below {len(names)} in {what}", given)
        if given is None:
            lower = [name.lower() for name in names]
            return next((lower.index(name) for name in _NAMES[part] if name in lower), None)
        if given in names:
            return list(names).index(given)
        raise ArgumentError(
            f"columns, {part}", f"one of the columns of {what}, {', '.join(map(repr, names))}", given
        )

    def are_names(self, fields: Sequence[str]) -> bool:
        """Whether a first record has the names of the columns: the names given, or usual ones."""
        if self.by_name or find_ends(fields) is not None:
            return True
        lower = [field.lower() for field in fields]
        return any(name in lower for part in _NEEDED for name in _NAMES[part])


def without_times(names: Sequence[str]) -> str:
    """Return the message about a table without a column of times, which a window needs."""
    lower = [name.lower() for name in names]
    likely = [at for at, name in enumerate(lower) if name in _TIME_WORDS or "time" in name or "date" in name]
    said = {"time": names[likely[0]]} if likely else {}
    return f"expected {_expected('time', said, 1)}, as a window needs times; found {', '.join(names)!r}"


def _expected(part: str, said: Mapping[str, str], parts: int) -> str:
    """Return which columns are expected for a part; `said`: columns that the caller may mean, by part."""
    *names, last = _NAMES[part]
    usual = f"a column named {', '.join(names)} or {last}"
    return f"{usual}, or columns={dict(said)!r}" if len(said) == parts else usual


def in_order(width: int) -> dict[str, int]:
    """Return the parts of a table whose columns have no names."""
    return dict(zip(PARTS, range(width), strict=False))
