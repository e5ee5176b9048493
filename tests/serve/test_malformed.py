"""Mutated records: each is taken or refused with a reason, and nothing else happens."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from motiflux.serve.batch import ATTRIBUTES, DST, INSERT, SRC, TIME
from motiflux.serve.records import RecordReader, Taken
from motiflux.serve.service import Service
from motiflux.serve.settings.read import read_settings
from tests.serve.test_durability import dead, fed, service_in
from tests.serve.transfers import lines, transfers

ODD = (
    b'"',
    b"{",
    b"}",
    b"\\",
    b"\x00",
    b"\xff",
    b"null",
    b"NaN",
    b"1e999",
    b"-",
    b"9" * 400,
    b"\\ud800",
    b"[" * 40,
)


def mutated(line: bytes, draw: random.Random) -> bytes:
    """Return a line with some bytes changed, dropped, doubled or replaced; it stays one line."""
    data = bytearray(line)
    for _ in range(draw.randrange(1, 4)):
        at = draw.randrange(len(data) + 1)
        match draw.randrange(4):
            case 0:
                data[at : at + 1] = bytes([draw.randrange(256)])
            case 1:
                del data[at : at + draw.randrange(1, 9)]
            case 2:
                data[at:at] = data[at : at + draw.randrange(1, 30)]
            case _:
                data[at : at + draw.randrange(3)] = draw.choice(ODD)
    return bytes(data).replace(b"\n", b" ")


def some(count: int, seed: int) -> list[bytes]:
    draw = random.Random(seed)
    whole = lines(transfers(500, accounts=20, seed=seed)).splitlines()
    return [mutated(draw.choice(whole).replace(b"}", b', "amount": 1.5}'), draw) for _ in range(count)]


def reader() -> RecordReader:
    settings = read_settings({"stream": {"attributes": {"amount": "float"}, "labels": "text"}})
    return RecordReader(settings.stream, settings.stream.columns, 1000)


def check(taken: Taken, given: int) -> None:
    blank = given - len(taken.records) - len(taken.refused)
    assert blank >= 0
    for record in taken.records:
        assert record[INSERT] in (0, 1)
        assert all(isinstance(record[end], str) for end in (SRC, DST))
        assert record[TIME] is None or isinstance(record[TIME], int)
        assert record[ATTRIBUTES] is None or isinstance(record[ATTRIBUTES], float)
        json.dumps(record, allow_nan=False).encode()
    for one in taken.refused:
        assert one.reason
        one.text.encode()


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[] if seed == 0 else pytest.mark.long) for seed in range(20)]
)
def test_mutated_records_are_taken_or_refused_with_a_reason(seed: int) -> None:
    given = some(5000, seed)
    check(reader().lines(b"\n".join(given), str), len(given))


def test_a_service_takes_what_is_left_of_mutated_records(tmp_path: Path) -> None:
    given = some(1000, 99)
    with Service(service_in(tmp_path, stream={"attributes": {"amount": "float"}})) as service:
        answer = fed(service, b"\n".join(given) + b"\n")
        assert answer["accepted"] == service.engine.number
        assert answer["refused"] == len(dead(service)) > 100
        known = sum(row.positive - row.negative for row in service.patterns())
        monitor = service.engine.monitors["main"]
        counted = [monitor.count(row.settings.pattern, 60.0) for row in service.patterns()]
        assert known == sum(counted)
