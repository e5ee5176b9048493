"""Streams of Arrow from strangers: what is damaged or endless is refused, and nothing else happens."""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa
import pytest

from motiflux.serve.records import RecordReader, Taken
from motiflux.serve.settings.parts import COLUMNS, StreamSettings

LONGEST = 65_536


def written(table: Any) -> bytes:
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    data: bytes = stream.getvalue().to_pybytes()
    return data


def read(data: bytes) -> Taken:
    reader = RecordReader(StreamSettings(), {name: name for name in COLUMNS}, LONGEST)
    return reader.arrow(data, lambda number: f"row {number + 1}")


def test_offsets_that_point_elsewhere_are_refused() -> None:
    good = written(pa.table({"src": ["aa", "bb"], "dst": ["cc", "dd"]}))
    assert len(read(good).records) == 2
    offsets = struct.pack("<3i", 0, 2, 4)
    assert offsets in good
    taken = read(good.replace(offsets, struct.pack("<3i", 0, 2, 2**30), 1))
    assert not taken.records
    assert [one.place for one in taken.refused] == ["row 1"]


ONE = {"src": ["a"], "dst": ["b"]}
ENDLESS = {
    "rows without bytes": {"src": pa.nulls(10**9)},
    "one value many times": {
        "src": pa.DictionaryArray.from_arrays(pa.array([0] * 9, pa.int8()), pa.array(["x" * (LONGEST + 1)])),
        "dst": ["b"] * 9,
    },
    "seconds beyond all dates": {**ONE, "time": pa.array([10**14], pa.timestamp("s"))},
    "days beyond all dates": {**ONE, "time": pa.array([10**7], pa.date32())},
}


@pytest.mark.parametrize("columns", ENDLESS.values(), ids=ENDLESS)
def test_streams_that_stand_for_more_than_they_have_are_refused(columns: dict[str, Any]) -> None:
    taken = read(written(pa.table(columns)))
    assert not taken.records
    assert len(taken.refused) == 1


def test_dictionaries_are_read() -> None:
    ids = pa.array(["a", "b"]).dictionary_encode()
    assert [record[1:3] for record in read(written(pa.table({"src": ids, "dst": ids}))).records] == [
        ["a", "a"],
        ["b", "b"],
    ]
