"""Records: updates as the log has them, read from lines of JSON and from Arrow.

A record is a list ``[insert, src, dst, label, time, src_label, dst_label, *attributes]``: 1 or 0, ids, a
label or None, nanoseconds since 1970 (None: the time of arrival), and the attributes in the order of the
configuration.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from motiflux.packages import require
from motiflux.serve.arrow_rows import arrow_rows
from motiflux.serve.settings.parts import StreamSettings
from motiflux.stream.updates import OPS, Updates, VertexLabels
from motiflux.stream.window import MOST
from motiflux.times import is_moment, moment_of
from motiflux.times.iso import parse_moment

Record = list[Any]

INSERT, SRC, DST, LABEL, TIME, SRC_LABEL, DST_LABEL, ATTRIBUTES = range(8)
SHOWN = 2000
"""Characters of a refused record that are kept."""
_LARGEST = 2**63
_LONGEST_ID = 1024


@dataclass(frozen=True)
class Refused:
    """A record that was not applied.

    Parameters
    ----------
    place
        Where it was, in words.
    text
        The record, its first `SHOWN` characters.
    reason
        What was found and what was expected.
    """

    place: str
    text: str
    reason: str


@dataclass
class Taken:
    """What was read of a piece of a source."""

    records: list[Record] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    size: int = 0
    """Bytes of the piece."""

    def add(self, more: Taken) -> None:
        """Add what was read of another piece."""
        self.records += more.records
        self.refused += more.refused
        self.size += more.size


class RecordReader:
    """Reads the records of a source.

    Parameters
    ----------
    settings
        What records are.
    columns
        The name of the column of each part.
    longest
        Bytes of a line.
    """

    def __init__(self, settings: StreamSettings, columns: Mapping[str, str], longest: int) -> None:
        self._longest = longest
        self._op, self._time = columns["op"], columns["time"]
        self._src, self._dst = columns["src"], columns["dst"]
        self._check_id = _CHECKS[settings.ids]
        self._unit = settings.unit
        self._refuses_missing_times = settings.missing_time == "refuse"
        labels = [("label", settings.labels)]
        labels += [(part, settings.vertex_labels) for part in ("src_label", "dst_label")]
        self._labels = [(columns[part], None if kind is None else _CHECKS[kind]) for part, kind in labels]
        self._attributes = [(name, _CHECKS[kind]) for name, kind in settings.attributes.items()]

    def lines(self, data: bytes, place: Callable[[int], str]) -> Taken:
        """Read lines of JSON, each with an object; empty lines are left out.

        Parameters
        ----------
        place
            Returns the place of a line in words, by its number from 0.
        """
        taken = Taken(size=len(data))
        for number, line in enumerate(data.split(b"\n")):
            if not line or line.isspace():
                continue
            try:
                if len(line) > self._longest:
                    raise ValueError(f"expected at most {self._longest} bytes, found {len(line)}")
                taken.records.append(self.record(_decode(line)))
            except ValueError as error:
                text = line[:SHOWN].decode("utf-8", "replace")
                taken.refused.append(Refused(place(number), text[:SHOWN], str(error)))
        return taken

    def arrow(self, data: bytes, place: Callable[[int], str]) -> Taken:
        """Read a stream of Arrow; what is no such stream is refused as a whole."""
        arrow = require("pyarrow", "records in Arrow")
        taken = Taken(size=len(data))
        try:
            for number, row in enumerate(arrow_rows(data, self._longest)):
                try:
                    taken.records.append(self.record(row))
                except ValueError as error:
                    taken.refused.append(Refused(place(number), str(row)[:SHOWN], str(error)))
        except (arrow.ArrowException, OSError, ValueError, TypeError, OverflowError) as error:
            reason = f"expected a stream of Arrow, found an error: {str(error)[:200]}"
            return Taken([], [Refused(place(0), f"{len(data)} bytes", reason)])
        return taken

    def record(self, given: Any) -> Record:
        """Return the record of an object.

        Raises
        ------
        ValueError
            It is none: names the column, what was expected and what was found.
        """
        if not isinstance(given, dict):
            raise ValueError(f"expected an object, found {_shown(given)}")
        op = given.get(self._op)
        insert = True if op is None else OPS.get(op) if isinstance(op, str) else None
        if insert is None:
            raise ValueError(f"{self._op}: expected '+' or '-', found {_shown(op)}")
        record = [
            int(insert),
            self._check_id(given.get(self._src), self._src),
            self._check_id(given.get(self._dst), self._dst),
            None,
            self._moment(given.get(self._time)),
            None,
            None,
        ]
        for place, (name, check) in zip((LABEL, SRC_LABEL, DST_LABEL), self._labels, strict=True):
            if check is not None and (label := given.get(name)) is not None:
                record[place] = check(label, name)
        for name, check in self._attributes:
            value = given.get(name)
            record.append(None if value is None else check(value, name))
        return record

    def _moment(self, value: Any) -> int | None:
        if value is None:
            if self._refuses_missing_times:
                raise ValueError(f"{self._time}: expected a time, found none")
            return None
        found: int | None = None
        if isinstance(value, bool):
            pass
        elif isinstance(value, int):
            found = value * self._unit
        elif isinstance(value, float):
            found = round(value * self._unit) if abs(value) < _LARGEST else None
        elif isinstance(value, str):
            parsed = parse_moment(value)
            found = None if parsed is None else parsed[0]
        elif is_moment(value):
            found = moment_of(value)[0]
        if found is None or not -MOST < found < MOST:
            expected = "a number or a datetime within 146 years of 1970"
            raise ValueError(f"{self._time}: expected {expected}, found {_shown(value)}")
        return found


def _decode(line: bytes) -> Any:
    try:
        return json.loads(line, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("expected an object, found JSON that is too deep") from None
    except ValueError as error:
        raise ValueError(f"expected JSON, found an error: {error}") from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"found {name}")


def _shown(value: Any) -> str:
    text = "none" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _text(value: Any, name: str) -> str:
    if type(value) is not str or len(value) > _LONGEST_ID or "\0" in value:
        raise ValueError(f"{name}: expected text of at most {_LONGEST_ID} characters, found {_shown(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name}: expected text that UTF-8 has, found {_shown(value)}") from None
    return value


def _integer(value: Any, name: str) -> int:
    if type(value) is not int or not -_LARGEST <= value < _LARGEST:
        raise ValueError(f"{name}: expected an integer of 64 bits, found {_shown(value)}")
    return value


def _float(value: Any, name: str) -> float:
    if type(value) in (int, float) and abs(value) < 1e308:
        return float(value)
    raise ValueError(f"{name}: expected a finite number, found {_shown(value)}")


def _boolean(value: Any, name: str) -> bool:
    if type(value) is not bool:
        raise ValueError(f"{name}: expected true or false, found {_shown(value)}")
    return value


_CHECKS: dict[str, Callable[[Any, str], Any]] = {
    "text": _text,
    "integer": _integer,
    "float": _float,
    "boolean": _boolean,
}


def updates_of(
    records: Sequence[Record], settings: StreamSettings, *, times: bool = True, attributes: bool = True
) -> Updates:
    """Return records, of which there is at least one, as `Monitor` takes them.

    Parameters
    ----------
    times, attributes
        Whether the monitor reads them: without, updates are applied faster.
    """
    columns = list(zip(*records, strict=True))
    labels = None
    if settings.labels is not None:
        missing: Any = "" if settings.labels == "text" else 0
        labels = np.array([missing if one is None else one for one in columns[LABEL]])
    of_edges: dict[str, Any] = {}
    if attributes:
        for place, (name, kind) in enumerate(settings.attributes.items(), ATTRIBUTES):
            of_edges[name] = _column(columns[place], kind)
    return Updates(
        np.array(columns[INSERT], dtype=bool),
        _ids(columns[SRC]),
        _ids(columns[DST]),
        labels,
        np.array(columns[TIME], dtype=np.int64).view("datetime64[ns]") if times else None,
        _vertex_labels(columns) if settings.vertex_labels is not None else None,
        zoned=True if times else None,
        attributes=of_edges or None,
    )


def _ids(values: Iterable[Any]) -> np.ndarray[Any, Any]:
    return np.array(values)


def _column(values: Sequence[Any], kind: str) -> Any:
    if kind == "float" and None in values:
        return [value if value is None else float(value) for value in values]
    return list(values)


def _vertex_labels(columns: Sequence[Sequence[Any]]) -> VertexLabels | None:
    named = [
        (columns[end][at], label, at)
        for end, part in ((SRC, SRC_LABEL), (DST, DST_LABEL))
        for at, label in enumerate(columns[part])
        if label is not None
    ]
    if not named:
        return None
    named.sort(key=lambda one: one[2])
    ids, labels, places = zip(*named, strict=True)
    return VertexLabels(np.array(ids), np.array(labels), np.array(places, dtype=np.int64))


def encode(records: Sequence[Record]) -> bytes:
    """Return records as the log has them."""
    return json.dumps(records, ensure_ascii=False, separators=(",", ":")).encode()


def decode(data: bytes) -> list[Record]:
    """Return the records of the log."""
    found: list[Record] = json.loads(data)
    return found
