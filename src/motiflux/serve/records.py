"""Records, read from lines of JSON and from Arrow."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from motiflux._native import RecordLines, Records
from motiflux.packages import require
from motiflux.serve.arrow_rows import arrow_rows
from motiflux.serve.batch import DST_LABEL, LABEL, SRC_LABEL, Record, kinds_of, no_records
from motiflux.serve.settings.parts import StreamSettings
from motiflux.stream.updates import OPS
from motiflux.stream.window import MOST
from motiflux.times import is_moment, moment_of
from motiflux.times.iso import parse_moment

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

    records: Records = field(default_factory=no_records)
    refused: list[Refused] = field(default_factory=list)
    size: int = 0
    """Bytes of the piece."""

    def add(self, more: Taken) -> None:
        """Add what was read of another piece."""
        self.records.extend(more.records, 0, len(more.records))
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
        self._kinds = kinds_of(settings)
        self._lines = RecordLines(
            self._kinds,
            self._op,
            self._time,
            [
                *(columns[part] for part in ("src", "dst", "label", "src_label", "dst_label")),
                *settings.attributes,
            ],
            [word for word, inserts in OPS.items() if inserts],
            [word for word, inserts in OPS.items() if not inserts],
            self._unit,
            self._refuses_missing_times,
            longest,
            _LONGEST_ID,
        )

    def lines(self, data: bytes, place: Callable[[int], str]) -> Taken:
        """Read lines of JSON, each with an object; empty lines are left out.

        Parameters
        ----------
        place
            Returns the place of a line in words, by its number from 0.
        """
        taken = Taken(Records(self._kinds), size=len(data))
        begin = number = 0
        while begin < len(data):
            begin, number = self._lines.read(taken.records, data, begin, number)
            if begin < len(data):  # a line that is left to us
                end = data.find(b"\n", begin)
                end = len(data) if end < 0 else end
                self._read_line(data[begin:end], number, place, taken)
                begin, number = end + 1, number + 1
        return taken

    def _read_line(self, line: bytes, number: int, place: Callable[[int], str], taken: Taken) -> None:
        """Read a line that is unusual, or no record; `number`: how many were before it."""
        if not line or line.isspace():
            return
        try:
            if len(line) > self._longest:
                raise ValueError(f"expected at most {self._longest} bytes, found {len(line)}")
            taken.records.append(self.record(_decode(line)))
        except ValueError as error:
            text = line[:SHOWN].decode("utf-8", "replace")
            taken.refused.append(Refused(place(number), text[:SHOWN], str(error)))

    def arrow(self, data: bytes, place: Callable[[int], str]) -> Taken:
        """Read a stream of Arrow; what is no such stream is refused as a whole."""
        arrow = require("pyarrow", "records in Arrow")
        taken = Taken(Records(self._kinds), size=len(data))
        try:
            for number, row in enumerate(arrow_rows(data, self._longest)):
                try:
                    taken.records.append(self.record(row))
                except ValueError as error:
                    taken.refused.append(Refused(place(number), str(row)[:SHOWN], str(error)))
        except (arrow.ArrowException, OSError, ValueError, TypeError, OverflowError) as error:
            reason = f"expected a stream of Arrow, found an error: {str(error)[:200]}"
            return Taken(no_records(), [Refused(place(0), f"{len(data)} bytes", reason)])
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
