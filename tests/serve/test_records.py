"""Records in columns: what is read, written and applied is as it is record by record."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from motiflux._native import Records
from motiflux.serve.batch import (
    DST,
    DST_LABEL,
    INSERT,
    LABEL,
    SRC,
    SRC_LABEL,
    TIME,
    Batch,
    Numbered,
    Record,
    as_records,
    decode,
    encode,
    kinds_of,
)
from motiflux.serve.ordering import InOrder, Late, Ordering, _late
from motiflux.serve.records import RecordReader, Taken
from motiflux.serve.settings.parts import StreamSettings
from motiflux.serve.settings.read import read_settings
from tests.serve.test_malformed import mutated

ATTRIBUTES = {"amount": "float", "count": "integer", "note": "text", "flag": "boolean", "label": "text"}
SETTINGS: list[dict[str, Any]] = [
    {},
    {"ids": "integer", "labels": "integer", "vertex_labels": "integer", "time_unit": "ms"},
    {"labels": "text", "vertex_labels": "text", "attributes": ATTRIBUTES},
    {"missing_time": "refuse", "attributes": {"time": "float", "src": "text"}, "time_unit": "ns"},
    {"columns": {"op": "kind", "src": "from", "dst": "to", "time": "to"}, "attributes": {"from": "text"}},
]
VALUES = [
    *("a", "", "ä", "😀", '"\\/\b\f\n\r\t', "\x7f", "\0", "\ud800", "+", "-", "insert", "delete"),
    *("x" * 1024, "ä" * 1024, "x" * 1025),
    *("2024-03-01", "2024-02-29T12:30:15.123456789+02:00", "2023-02-29", "2024-03-01 1:00", "1600-01-01"),
    *("2024-03-01T12:00:60", "2116-02-20T23:53:38.427387903Z", "2116-02-20T23:53:38.427387904Z"),
    *(0, 1, -1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**400),
    *(2**62, -(2**62), 2**62 - 1),
    *(0.0, -0.0, 0.5, 1.5, 2.5, 1e15, 1e16, 1e22, 9.2e18, 1e-5, 5e-324, 1e307, 1e308, 1e309, -1e309),
    *(0.1, 123456.789, 1.7e308, 2.0**62, 1700000000.123456789, float("nan")),
    *(None, True, False, [], {}, [1, [2, {"a": "\ud800"}]], {"src": "b"}),
]
NAMES = [
    "op",
    "src",
    "dst",
    "label",
    "time",
    "src_label",
    "dst_label",
    *ATTRIBUTES,
    "kind",
    "from",
    "to",
    "other",
]


def reader_of(stream: dict[str, Any]) -> RecordReader:
    settings = read_settings({"stream": stream}).stream
    return RecordReader(settings, settings.columns, 5000)


def one_by_one(reader: RecordReader, data: bytes) -> Taken:
    """Return what Python reads of lines."""
    taken = Taken(Records(reader._kinds), size=len(data))
    for number, line in enumerate(data.split(b"\n")):
        reader._read_line(line, number, str, taken)
    return taken


def exactly(value: Any) -> Any:
    """Return a value that is equal only to values of the same type, and -0.0 not to 0.0."""
    return type(value), repr(value)


def assert_same(found: Taken, expected: Taken) -> None:
    assert found.refused == expected.refused
    assert [list(map(exactly, one)) for one in found.records] == [
        list(map(exactly, one)) for one in expected.records
    ]
    assert found.records.encode() == expected.records.encode()


def line_of(draw: random.Random) -> bytes:
    """Return a line of JSON, mostly a record, in one of the ways to write it."""
    members = [
        (name, draw.choice(VALUES) if draw.random() < 0.1 else usual(name, draw))
        for name in NAMES
        if draw.random() < (0.95 if name in ("src", "dst") else 0.4)
    ]
    if draw.random() < 0.1:
        members += draw.sample(members, min(2, len(members)))
    draw.shuffle(members)
    blank = draw.choice(["", "", " ", "\t \r"])
    plain = draw.random() < 0.5
    texts = [
        f"{json.dumps(name)}{blank}:{blank}{json.dumps(value, ensure_ascii=plain)}" for name, value in members
    ]
    inside = f"{blank},{blank}".join(texts)
    data = f"{blank}{{{blank}{inside}{blank}}}{blank}".encode("utf-8", "surrogatepass")
    return mutated(data, draw) if draw.random() < 0.2 else data.replace(b"\n", b" ")


def usual(name: str, draw: random.Random) -> Any:
    match name:
        case "op" | "kind":
            return draw.choice(["+", "-", "insert", "delete", None])
        case "time":
            return draw.choice([1700000000, 1700000000.25, "2024-03-01T12:00:00Z", "2024-03-01", None])
        case "amount":
            return draw.choice([draw.random(), draw.uniform(-1e9, 1e9), draw.randrange(10**6), None])
        case "flag":
            return draw.choice([True, False, None])
        case "count":
            return draw.choice([draw.randrange(10**12), -draw.randrange(100), None])
        case "src" | "dst":
            return draw.choice(["ann", "bob", "ä", "o\u2028", draw.randrange(1000), "a\tb", '"'])
        case _:
            return draw.choice(["x", "ÿ", None, 7])


def test_lines_are_read_as_python_reads_them() -> None:
    draw = random.Random(4)
    for stream in SETTINGS:
        reader = reader_of(stream)
        data = b"\n".join(line_of(draw) for _ in range(1500))
        assert_same(reader.lines(data, str), one_by_one(reader, data))


def test_usual_lines_are_not_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(RecordReader, "_read_line")
    reader = reader_of(SETTINGS[2])
    usual = {"op": "-", "src": "ä", "dst": 'o"', "time": "2024-03-01T12:00:00Z", "amount": 0.5, "x": [{}, 1]}
    lines = [
        json.dumps(usual),
        json.dumps({**usual, "time": 1700000000.5}),
        "",
        json.dumps(usual, indent=None),
    ]
    assert len(reader.lines("\n".join(lines).encode(), str).records) == 3


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_many_lines_are_read_as_python_reads_them(seed: int) -> None:
    draw = random.Random(100 + seed)
    for stream in SETTINGS:
        reader = reader_of(stream)
        data = b"\n".join(line_of(draw) for _ in range(20_000))
        assert_same(reader.lines(data, str), one_by_one(reader, data))


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("stream", SETTINGS, ids=range(len(SETTINGS)))
def test_each_value_is_read_as_python_reads_it(stream: dict[str, Any], value: Any) -> None:
    reader = reader_of(stream)
    usual = {"src": "a", "dst": "b", "from": "a", "to": 5, "time": 1}
    if stream.get("ids") == "integer":
        usual |= {"src": 1, "dst": 2}
    made = [json.dumps(usual | {name: value}) for name in NAMES]
    data = "\n".join(made).encode()
    assert_same(reader.lines(data, str), one_by_one(reader, data))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_fractions_are_written_and_read_exactly(value: float) -> None:
    if abs(value) >= 1e308:
        return
    settings = StreamSettings(attributes={"amount": "float"})
    record = [1, "a", "b", None, 0, None, None, value]
    (found,) = decode(as_records([record], settings).encode(), settings)
    assert exactly(found[-1]) == exactly(value)
    reader = reader_of({"attributes": {"amount": "float"}})
    (read,) = reader.lines(json.dumps({"src": "a", "dst": "b", "amount": value}).encode(), str).records
    assert exactly(read[-1]) == exactly(value)


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=9)
WHOLE = st.integers(-(2**63), 2**63 - 1)
LABELLED = StreamSettings(
    labels="text", vertex_labels="integer", attributes={"count": "integer", "note": "text", "flag": "boolean"}
)


@st.composite
def records(draw: st.DrawFn) -> Record:
    ends = [draw(st.sampled_from([0, 1])), draw(TEXTS), draw(TEXTS), draw(st.none() | TEXTS)]
    moment = draw(st.integers(-(2**61), 2**61))
    labels = [draw(st.none() | WHOLE), draw(st.none() | WHOLE)]
    return [
        *ends,
        moment,
        *labels,
        draw(st.none() | WHOLE),
        draw(st.none() | TEXTS),
        draw(st.none() | st.booleans()),
    ]


@given(st.lists(records(), max_size=6), st.data())
def test_columns_have_the_records(given: list[Record], data: st.DataObject) -> None:
    made = as_records(given, LABELLED)
    assert list(made) == given
    assert made.encode() == f"[{','.join(map(encode, given))}]".encode()
    assert list(decode(made.encode(), LABELLED)) == given
    first = data.draw(st.integers(0, len(given)))
    end = data.draw(st.integers(first, len(given)))
    assert list(made.part(first, end)) == given[first:end]
    rows = data.draw(st.lists(st.integers(0, len(given) - 1), max_size=6)) if given else []
    assert list(made.take(np.array(rows, dtype=np.int64))) == [given[row] for row in rows]


@given(st.lists(records(), min_size=1, max_size=6))
def test_columns_of_updates_have_the_records(given: list[Record]) -> None:
    batch = Batch.of([Numbered(at, "bank", one) for at, one in enumerate(given)], LABELLED)
    made = batch.updates(LABELLED)
    assert made.inserts.tolist() == [bool(one[INSERT]) for one in given]
    # NumPy's texts end before characters that are 0; there are none.
    assert made.sources.tolist() == [one[SRC] for one in given]
    assert made.targets.tolist() == [one[DST] for one in given]
    assert made.labels is not None
    assert made.labels.tolist() == [one[LABEL] or "" for one in given]
    assert made.times is not None
    assert made.times.astype("datetime64[ns]").view(np.int64).tolist() == [one[TIME] for one in given]
    named = [
        (one[end], one[part], at)
        for at, one in enumerate(given)
        for end, part in ((SRC, SRC_LABEL), (DST, DST_LABEL))
        if one[part] is not None
    ]
    labels = made.vertex_labels
    assert (labels is None) == (not named)
    if labels is not None:
        columns = (labels.ids.tolist(), labels.labels.tolist(), labels.positions.tolist())
        assert list(zip(*columns, strict=True)) == named
    assert made.attributes is not None
    for at, (name, column) in enumerate(made.attributes.items()):
        assert name in LABELLED.attributes
        assert [exactly(value) for value in column.to_list()] == [exactly(one[7 + at]) for one in given]


@given(st.lists(records(), max_size=12), st.integers(1, 40))
def test_pieces_are_all_records_with_few_characters_each(given: list[Record], most: int) -> None:
    batch = Batch.of([Numbered(at, "bank", one) for at, one in enumerate(given)], LABELLED)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("motiflux.serve.batch._MOST_CHARACTERS", most)
        pieces = batch.pieces()
    assert [one[at] for one in pieces for at in range(len(one))] == [batch[at] for at in range(len(batch))]
    for piece in pieces:
        texts = [text for one in piece.records for text in (one[SRC], one[DST], one[LABEL]) if text]
        assert len(piece) == 1 or len(piece) * max(map(len, texts), default=1) <= most


class Measured:
    """Records that note the bytes of the arrays that they are read as."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self.bytes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._records, name)

    def values(self, place: int) -> NDArray[Any]:
        found = self._records.values(place)
        self.bytes += found.nbytes
        return found


@pytest.mark.parametrize("part", ["src", "dst", "label", "src_label", "dst_label", "note"])
def test_one_long_text_among_many_takes_little(part: str) -> None:
    stream = {"labels": "text", "vertex_labels": "text", "attributes": {"note": "text"}}
    reader = reader_of(stream)
    long = json.dumps({"src": "a", "dst": "b", part: "x" * 1024}).encode()
    made = reader.lines(b'{"src": "a", "dst": "b"}\n' * 20_000 + long, str).records
    assert len(made) == 20_001
    settings = read_settings({"stream": stream}).stream
    batch = Batch(made, np.arange(len(made)), ["bank"] * len(made))
    found = 0
    for piece in batch.pieces():
        measured = Measured(piece.records)
        updates = replace(piece, records=measured).updates(settings)  # type: ignore[arg-type]
        assert measured.bytes < 20 * 2**20
        assert updates.attributes is not None
        found += len(updates)
    assert found == len(made)


class OneByOne(Ordering):
    """Without lateness, record by record."""

    def put(self, first: int, source: str, records: Records, arrival: int) -> list[Late]:
        refused, kept = [], []
        for number, record in enumerate(records, first):
            numbered = Numbered(number, source, record)
            if (late := self._beyond(numbered, arrival)) is not None:
                refused.append(late)
            elif self._applied is not None and record[TIME] < self._applied:
                self.late += 1
                if self._clamps:
                    record[TIME] = self._applied
                    kept.append(numbered)
                else:
                    refused.append(_late(numbered, self._applied))
            else:
                self._applied = record[TIME]
                kept.append(numbered)
        self.kept = kept
        return refused


@given(
    st.lists(st.lists(st.integers(-20, 20), max_size=6), max_size=4),
    st.sampled_from(["clamp", "refuse"]),
    st.sampled_from([None, 0, 5]),
)
def test_records_are_put_in_order_as_one_by_one(times: list[list[int]], late: str, ahead: int | None) -> None:
    settings = StreamSettings(late=late, ahead=ahead)
    found, expected = InOrder(settings), OneByOne(settings)
    number = 0
    for at, group in enumerate(times):
        made = [[1, "a", f"b{one}", None, one, None, None] for one in group]
        refused = found.put(number, "bank", as_records(made, settings), 4 * at)
        assert refused == expected.put(number, "bank", as_records(made, settings), 4 * at)
        released = found.release(4 * at)
        assert [released[row] for row in range(len(released))] == expected.kept
        assert (found.late, found.watermark) == (expected.late, expected.watermark)
        number += len(group)


def test_records_of_other_columns_are_refused() -> None:
    made, other = Records(kinds_of(StreamSettings())), Records(kinds_of(StreamSettings(labels="text")))
    for wrong in ([], [1, "a", "b", None, 0, None], [1, 2, "b", None, 0, None, None]):
        with pytest.raises((ValueError, RuntimeError, TypeError)):
            made.append(wrong)
    with pytest.raises(ValueError, match="same columns"):
        made.extend(other, 0, 0)
    with pytest.raises(ValueError, match="rows"):
        made.part(0, 1)
    with pytest.raises(IndexError):
        made[0]
    assert len(made) == 0
