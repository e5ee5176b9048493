"""What a source will never give is told: in the log, as a dead letter, in the figures and on the page."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from motiflux.serve.service import Service
from motiflux.serve.sources import files
from motiflux.serve.status import pulse, troubles
from tests.serve.brokers import nats_server, needs_nats
from tests.serve.test_brokers import mock_kafka, with_nats
from tests.serve.test_durability import RING, dead, edges, service_in
from tests.serve.test_files import MORE, took
from tests.serve.transfers import configuration
from tests.waiting import wait_until


def told(service: Service) -> tuple[int, int, str]:
    """Return the gaps of the source `bank`, what it lost, and why; they are told in all places."""
    (source,) = pulse(service)["sources"]
    gaps = source["gaps"], source["lost"]
    reason = troubles(service).get("loss at bank", "")
    if reason:
        assert reason == dead(service)[-1][2]
    else:
        assert dead(service) == []
        assert gaps == (0, 0)
    return *gaps, reason


def rotate(file: Path) -> Path:
    return file.rename(file.with_name("old.jsonl"))


def test_the_rest_of_a_file_that_was_renamed_while_the_service_was_down_is_read(tmp_path: Path) -> None:
    given, file = configuration(tmp_path), tmp_path / "in.jsonl"
    file.write_bytes(edges(RING[:1]))
    with Service(given) as service:
        took(service, 1)
    with file.open("ab") as more:
        more.write(edges(RING[1:])[:-1])
    rotate(file)
    file.write_bytes(edges(MORE))
    with Service(given) as service:
        took(service, 5)
        assert told(service) == (0, 0, "")
        assert service.patterns()[0].positive == 2
    with Service(given) as service:
        took(service, 5)


def removed(file: Path) -> None:
    file.unlink()
    file.write_bytes(edges(MORE))


def overwritten(file: Path) -> None:
    file.write_bytes(edges(MORE))


def cut(file: Path) -> None:
    file.write_bytes(edges(RING)[:3])
    with file.open("ab") as more:
        more.write(edges(MORE))


@pytest.mark.parametrize("replace", [removed, overwritten, cut])
@pytest.mark.parametrize("unread", [0, 2])
def test_an_unread_rest_of_a_file_that_is_gone_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, replace: Callable[[Path], None], unread: int
) -> None:
    given, file = configuration(tmp_path), tmp_path / "in.jsonl"
    begin, rest = edges([*RING, *RING]), edges([("p", "q")] * unread)[:-1]
    file.write_bytes(begin + rest)  # the last line has no end, and is not taken
    records = 6 + max(0, unread - 1)
    with Service(given) as service:
        took(service, records)
    replace(file)
    taken = records + (1 if replace is cut else len(MORE))
    with Service(given) as service, caplog.at_level(logging.ERROR, "motiflux.serve"):
        wait_until(lambda: service.engine.number >= taken, "the new file is read")
        assert service.wait_until_idle(60.0)
        gaps, lost, reason = told_first(service)
        offset = len(begin) + len(rest[: rest.rfind(b"\n") + 1])
        assert gaps == 1
        assert lost == len(begin + rest) - offset
        assert f"expected the file that was read until byte {offset}, found another one" in reason
        assert reason in caplog.text
    with Service(given) as service:
        took(service, service.engine.number)
        assert pulse(service)["sources"][0]["gaps"] == 0


def told_first(service: Service) -> tuple[int, int, str]:
    (source,) = pulse(service)["sources"]
    return source["gaps"], source["lost"], dead(service)[0][2]


def test_a_file_that_is_overwritten_while_it_is_read_is_read_from_its_beginning(tmp_path: Path) -> None:
    given, file = configuration(tmp_path), tmp_path / "in.jsonl"
    file.write_bytes(edges(RING[:1]))
    with Service(given) as service:
        took(service, 1)
        with file.open("r+b") as again:  # longer than before, in one write
            again.write(edges([("p", "q"), ("q", "r"), ("r", "p")]))
        took(service, 4)
        assert service.patterns()[0].positive == 1
        gaps, lost, reason = told(service)
        assert (gaps, lost) == (1, 0)
        assert "found other bytes at its beginning" in reason


def test_a_file_that_is_overwritten_between_a_look_and_a_read_is_not_read_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, file = configuration(tmp_path), tmp_path / "in.jsonl"
    file.write_bytes(edges(RING[:1]))
    looked, changes = files.FileSource._change_of, iter([True])

    def overwritten(source: files.FileSource, of: BinaryIO) -> str | None:
        found = looked(source, of)
        if source.position["offset"] and next(changes, False):
            with file.open("r+b") as again:
                again.write(edges([("p", "q"), ("q", "r"), ("r", "p")]))
        return found

    monkeypatch.setattr(files.FileSource, "_change_of", overwritten)
    with Service(given) as service:
        took(service, 4)
        assert service.patterns()[0].positive == 1
        assert told(service)[:2] == (1, 0)


@pytest.mark.parametrize("unread", [b"", b'{"src": "c", "dst"'])
def test_a_file_that_is_cut_off_while_it_is_read_may_have_had_more(tmp_path: Path, unread: bytes) -> None:
    given, file = configuration(tmp_path), tmp_path / "in.jsonl"
    file.write_bytes(edges(RING) + unread)
    with Service(given) as service:
        took(service, 3)
        os.truncate(file, 0)
        with file.open("ab") as more:
            more.write(edges(RING[:1]))
        took(service, 4)
        gaps, lost, reason = told(service)
        assert (gaps, lost) == (1, len(unread))
        assert f"until byte {len(edges(RING))}, found that it was cut off before that byte" in reason
        assert ("at least 18 bytes" if unread else "if anything was added") in reason
    with Service(given) as service:
        took(service, 4)
        assert pulse(service)["sources"][0]["gaps"] == 0


def test_a_position_of_an_earlier_version_is_gone_on_from(tmp_path: Path) -> None:
    given, file = configuration(tmp_path), tmp_path / "in.jsonl"
    file.write_bytes(edges(RING))
    with Service(given) as service:
        took(service, 3)
        position = {name: service.sources[0].position[name] for name in ("offset", "lines", "size", "digest")}
        assert service.store is not None
        service.sources[0].put(type(service.readers["bank"].lines(b"", str))(), position)
        assert service.wait_until_idle(60.0)
    removed(file)
    with Service(given) as service:
        took(service, 5)
        assert told_first(service)[:2] == (1, 0)


@pytest.mark.turns(4)
@needs_nats
@pytest.mark.parametrize("alone", [True, False])
def test_messages_that_a_stream_dropped_before_they_were_read_are_told(tmp_path: Path, alone: bool) -> None:
    with nats_server(tmp_path) as server:

        async def make(context: Any) -> None:
            await context.add_stream(name="IN", subjects=["in.bank" if alone else "in.>"], max_msgs=4)
            await context.add_stream(name="OUT", subjects=["out"])

        server.run(make)
        given = with_nats(tmp_path, server)
        server.publish("in.bank", *[edges(RING[:1])] * 9)
        with Service(given) as service:  # what was dropped before the first start is nobody's loss
            took(service, 4)
            assert told(service) == (0, 0, "")
        server.publish("in.bank", *[edges(RING[:1])] * 7)
        with Service(given) as service:
            took(service, 8)
            gaps, lost, reason = told(service)
            assert (gaps, lost) == (1, 3)
            assert reason.startswith(
                "expected message 10 of the stream IN, found 13: those between were dropped"
            )
            assert reason.endswith("; some may be of other subjects") is not alone
            assert dead(service)[0][0] == "messages 10 to 12"
        with Service(given) as service:
            took(service, 8)
            assert pulse(service)["sources"][0]["gaps"] == 0


@pytest.mark.turns(4)
@needs_nats
def test_messages_that_are_deleted_between_two_others_are_told(tmp_path: Path) -> None:
    with nats_server(tmp_path) as server:

        async def make(context: Any) -> None:
            await context.add_stream(name="IN", subjects=["in.bank"])
            await context.add_stream(name="OUT", subjects=["out"])

        async def delete(context: Any) -> None:
            for number in (3, 4, 6):
                await context.delete_msg("IN", number)

        server.run(make)
        server.publish("in.bank", *[edges(RING[:1])] * 8)
        server.run(delete)
        with Service(with_nats(tmp_path, server)) as service:
            took(service, 5)
            wait_until(lambda: pulse(service)["sources"][0]["lost"] == 3, "the gaps are told")
            assert dead(service)[0][0] == "messages 3 to 4"


@pytest.mark.turns(4)
def test_messages_that_kafka_dropped_before_they_were_read_are_told(tmp_path: Path) -> None:
    """The mock of a broker keeps 5 MB of each partition."""
    producer, servers = mock_kafka()
    given = service_in(tmp_path)
    given["sources"] = [{"name": "bank", "type": "kafka", "servers": servers, "topic": "in"}]

    def produce(count: int) -> None:
        for _ in range(count):
            producer.produce("in", edges(RING[:1]) + b"\n" * 900_000, partition=0)
            producer.flush(30)

    produce(1)
    with Service(given) as service:
        took(service, 1)
    produce(9)
    with Service(given) as service:
        wait_until(lambda: service.engine.number > 1, "the messages that are left are taken")
        assert service.wait_until_idle(60.0)
        gaps, lost, reason = told(service)
        assert (gaps, service.engine.number) == (1, 10 - lost)
        assert lost >= 3
        assert reason.startswith("expected offset 1 of partition 0 of in, found")
