"""Records in columns: as sources hand them on, as the log has them, and as monitors take them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from motiflux._native import Records
from motiflux.serve.settings.parts import StreamSettings
from motiflux.stream.updates import Updates, VertexLabels

Record = list[Any]
"""``[insert, src, dst, label, time, src_label, dst_label, *attributes]``: 1 or 0, ids, a label or None,
nanoseconds since 1970 (None: the time of arrival), and the attributes in the order of the configuration."""

INSERT, SRC, DST, LABEL, TIME, SRC_LABEL, DST_LABEL, ATTRIBUTES = range(8)

COLUMN_PARTS = ("src", "dst", "label", "src_label", "dst_label")
"""Parts of records that have columns in `Records`, before the attributes."""
_COLUMNS = {SRC: 0, DST: 1, LABEL: 2, SRC_LABEL: 3, DST_LABEL: 4}
"""Places of these columns."""
_FIRST_ATTRIBUTE = len(COLUMN_PARTS)
_MOST_CHARACTERS = 2**22
"""Of a column of ids or labels, in which each takes as much as the longest: 16 MiB."""
_KINDS = {None: 0, "integer": 1, "text": 2, "float": 3, "boolean": 4}


def kinds_of(settings: StreamSettings) -> list[int]:
    """Return the kinds of the columns of records."""
    vertex_labels = [settings.vertex_labels] * 2
    names = [settings.ids, settings.ids, settings.labels, *vertex_labels, *settings.attributes.values()]
    return [_KINDS[name] for name in names]


def no_records() -> Records:
    """Return no records, to which those of any stream can be added."""
    return Records(())


def as_records(records: Sequence[Record], settings: StreamSettings) -> Records:
    """Return records in columns."""
    made = Records(kinds_of(settings))
    for record in records:
        made.append(record)
    return made


def encode(record: Record) -> str:
    """Return a record as the log has it."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def decode(data: bytes, settings: StreamSettings) -> Records:
    """Return the records of a row of the log."""
    return as_records(json.loads(data), settings)


class Numbered(NamedTuple):
    """A record with its number in the log and the name of its source."""

    number: int
    source: str
    record: Record


@dataclass(frozen=True, eq=False)
class Batch:
    """Records to apply in their order.

    Parameters
    ----------
    numbers
        int64 [n]: of each in the log.
    sources
        The name of the source of each.
    """

    records: Records
    numbers: NDArray[np.int64]
    sources: list[str]

    @classmethod
    def of(cls, numbered: Sequence[Numbered], settings: StreamSettings) -> Batch:
        """Return records as a batch."""
        records = as_records([one.record for one in numbered], settings)
        numbers = np.array([one.number for one in numbered], dtype=np.int64)
        return cls(records, numbers, [one.source for one in numbered])

    @classmethod
    def joined(cls, batches: Sequence[Batch]) -> Batch:
        """Return the records of several batches, one after the other."""
        if len(batches) == 1:
            return batches[0]
        records = no_records()
        for one in batches:
            records.extend(one.records, 0, len(one))
        numbers = np.concatenate([np.empty(0, np.int64), *(one.numbers for one in batches)])
        return cls(records, numbers, [source for one in batches for source in one.sources])

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, at: int) -> Numbered:
        return Numbered(int(self.numbers[at]), self.sources[at], self.records[at])

    def part(self, first: int, end: int) -> Batch:
        """Return some of the records."""
        return Batch(self.records.part(first, end), self.numbers[first:end], self.sources[first:end])

    def pieces(self) -> list[Batch]:
        """Return the records in parts that one long id or label does not make take much memory."""
        ends = self.records.ends(_MOST_CHARACTERS)
        if len(ends) == 1:
            return [self]
        return [self.part(first, end) for first, end in pairwise([0, *ends])]

    def of_sources(self, names: set[str]) -> Batch:
        """Return the records of some sources."""
        rows = np.array([at for at, source in enumerate(self.sources) if source in names], dtype=np.int64)
        if len(rows) == len(self):
            return self
        return Batch(self.records.take(rows), self.numbers[rows], [self.sources[at] for at in rows])

    def updates(self, settings: StreamSettings, *, times: bool = True, attributes: bool = True) -> Updates:
        """Return the records, of which there is at least one, as `Monitor` takes them.

        Parameters
        ----------
        times, attributes
            Whether the monitor reads them: without, updates are applied faster.
        """
        records = self.records
        of_edges: dict[str, Any] = {}
        if attributes:
            for place, name in enumerate(settings.attributes, _FIRST_ATTRIBUTE):
                of_edges[name] = _attribute(records, place, settings.attributes[name])
        return Updates(
            records.inserts().view(bool),
            _values(records, SRC),
            _values(records, DST),
            None if settings.labels is None else _values(records, LABEL),
            records.times().view("datetime64[ns]") if times else None,
            None if settings.vertex_labels is None else _vertex_labels(records),
            zoned=True if times else None,
            attributes=of_edges or None,
        )


def _values(records: Records, part: int) -> NDArray[Any]:
    """Return ids or labels; an empty text or 0 where they are missing."""
    values = records.values(_COLUMNS[part])
    return values if values.ndim == 1 else values.view(f"U{values.shape[1]}").reshape(-1)


def _attribute(records: Records, place: int, kind: str) -> Any:
    if kind == "text" or not records.present(place).all():
        return records.listed(place)
    values = records.values(place)
    return values.astype(bool) if kind == "boolean" else values


def _vertex_labels(records: Records) -> VertexLabels | None:
    """Return labels of vertices in the order of their records, those of sources first."""
    ends = []
    for end, part in ((SRC, SRC_LABEL), (DST, DST_LABEL)):
        rows = np.flatnonzero(records.present(_COLUMNS[part]))
        ends.append((_values(records, end)[rows], _values(records, part)[rows], rows))
    ids, labels, rows = (np.concatenate(parts) for parts in zip(*ends, strict=True))
    if not len(rows):
        return None
    order = np.argsort(rows, kind="stable")
    return VertexLabels(ids[order], labels[order], rows[order])
