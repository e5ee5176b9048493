"""The meaning of the columns of a table of updates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import NoneType

from motiflux.errors import ArgumentError

PARTS = ("op", "src", "dst", "label", "time", "src_label", "dst_label")
"""The parts of an update, in the order in which a table without names has them."""

_NAMES = {
    "op": ("op",),
    "src": ("src", "source", "from"),
    "dst": ("dst", "target", "to"),
    "label": ("label",),
    "time": ("time", "timestamp"),
    "src_label": ("src_label", "source_label"),
    "dst_label": ("dst_label", "target_label"),
}
_NEEDED = ("src", "dst")

Name = str | int


@dataclass(frozen=True)
class StreamColumns:
    """Names or positions of the columns of a table of updates; None: by their usual names.

    Without a column ``op`` all updates are insertions.
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
        found = {part: self._place(part, names, what) for part in PARTS}
        return {part: place for part, place in found.items() if place is not None}

    def _place(self, part: str, names: Sequence[str], what: str) -> int | None:
        given = getattr(self, part)
        if isinstance(given, int):
            if 0 <= given < len(names):
                return given
            raise ArgumentError(f"columns, {part}", f"a position below {len(names)} in {what}", given)
        wanted = (given,) if given is not None else _NAMES[part]
        for name in wanted:
            if name in names:
                return list(names).index(name)
        if given is None and part not in _NEEDED:
            return None
        raise ArgumentError(
            f"columns, {part}", f"a column {' or '.join(map(repr, wanted))} in {what}", ", ".join(names)
        )

    def are_names(self, fields: Sequence[str]) -> bool:
        """Whether a first record has the names of the columns: the names given, or usual ones."""
        return self.by_name or any(name in fields for part in _NEEDED for name in _NAMES[part])


def in_order(width: int) -> dict[str, int]:
    """Return the parts of a table whose columns have no names."""
    return dict(zip(PARTS, range(width), strict=False))
