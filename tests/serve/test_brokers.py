"""NATS JetStream and Kafka as sources and sinks."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from motiflux.serve.service import Service
from motiflux.serve.sinks.kafka import KafkaSink
from tests.serve.brokers import NatsServer, nats_server, needs_nats
from tests.serve.test_durability import RING, dead, edges, fed, service_in
from tests.serve.transfers import expected, lines, transfers
from tests.waiting import wait_until


def streams(server: NatsServer) -> None:
    async def make(context: Any) -> None:
        await context.add_stream(name="IN", subjects=["in.>"])
        await context.add_stream(name="OUT", subjects=["out"])

    server.run(make)


def with_nats(folder: Path, server: NatsServer, **more: Any) -> dict[str, Any]:
    given = service_in(folder)
    source = {"name": "bank", "type": "nats", "url": server.url, "stream": "IN", "subject": "in.bank"}
    given["sources"] = [{**source, **more}]
    given["sinks"] = [{"name": "out", "type": "nats", "url": server.url, "subject": "out"}]
    return given


def matches_in(server: NatsServer) -> set[tuple[str, int, int, str]]:
    found = [(name, json.loads(body)) for name, body in server.messages("OUT")]
    assert all(name == body["id"] for name, body in found)
    assert len({name for name, _ in found}) == len(found)
    return {(one["pattern"], one["sign"], one["number"], json.dumps(one["match"])) for _, one in found}


@needs_nats
def test_messages_are_taken_once_whatever_restarts(tmp_path: Path) -> None:
    made = transfers(900, accounts=30, seed=8)
    with nats_server(tmp_path) as server:
        streams(server)
        given = with_nats(tmp_path, server)
        server.publish("in.other", lines(made[:5]))
        server.publish("in.bank", *(lines(made[at : at + 5]) for at in range(0, 300, 5)))
        with Service(given) as service:
            wait_until(lambda: service.engine.number == 300, "the first messages are taken")
            server.stop()
            wait_until(lambda: "source bank" in service.figures.trouble, "the server is missed")
            server.start()
            server.publish("in.bank", lines(made[300:600]))
            wait_until(lambda: service.engine.number == 600, "messages after the restart are taken")
        server.publish("in.bank", lines(made[600:]))
        with Service(given) as service:
            wait_until(lambda: service.engine.number == 900, "the last messages are taken")
            assert service.wait_until_idle(60.0)
            counts, matches = expected(made)
            assert {row.settings.name: (row.positive, row.negative) for row in service.patterns()} == counts
        assert matches_in(server) == matches


@needs_nats
def test_messages_may_have_arrow(tmp_path: Path) -> None:
    table = pa.table({"src": [src for src, _ in RING], "dst": [dst for _, dst in RING]})
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    with nats_server(tmp_path) as server:
        streams(server)
        server.publish("in.bank", stream.getvalue().to_pybytes(), b"nothing")
        with Service(with_nats(tmp_path, server, format="arrow")) as service:
            wait_until(lambda: service.engine.number == 3, "the records are taken")
            assert service.wait_until_idle(60.0)
            ((place, record, reason),) = dead(service)
            assert (place, record) == ("message 2, line 1", "7 bytes")
            assert reason.startswith("expected a stream of Arrow, found an error")


def mock_kafka() -> tuple[Any, str]:
    """Return a producer with librdkafka's mock of a cluster, which ends with it, and its address."""
    kafka = pytest.importorskip("confluent_kafka", reason="needs the package confluent-kafka")
    producer = kafka.Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none", "log_level": 0})
    (broker,) = producer.list_topics(timeout=30).brokers.values()
    return producer, f"{broker.host}:{broker.port}"


def test_messages_of_kafka_are_taken_once_and_alerts_produced(tmp_path: Path) -> None:
    """The mock keeps all messages of a topic in memory only: it is not restarted here."""
    made = transfers(600, accounts=25, seed=9)
    producer, servers = mock_kafka()
    import confluent_kafka

    given = service_in(tmp_path)
    given["sources"] = [{"name": "bank", "type": "kafka", "servers": servers, "topic": "in"}]
    given["sinks"] = [{"name": "out", "type": "kafka", "servers": servers, "topic": "out"}]

    def produce(part: list[dict[str, Any]]) -> None:
        for at in range(0, len(part), 5):
            producer.produce("in", lines(part[at : at + 5]), partition=0)
        producer.flush(30)

    produce(made[:300])
    with Service(given) as service:
        wait_until(lambda: service.engine.number == 300, "the first messages are taken")
    produce(made[300:])
    with Service(given) as service:
        wait_until(lambda: service.engine.number == 600, "the last messages are taken")
        assert service.wait_until_idle(60.0)
        counts, matches = expected(made)
        assert {row.settings.name: (row.positive, row.negative) for row in service.patterns()} == counts
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": servers, "group.id": "test", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["out"])
    found: list[Any] = []

    def read() -> bool:
        found.extend(one for one in consumer.consume(100, 0.1) if one.error() is None)
        return len(found) >= len(matches)

    wait_until(read, "the alerts are consumed")
    consumer.close()
    assert len({one.key() for one in found}) == len(found) == len(matches)


class Calls:
    """In place of a producer: notes the calls about transactions, of which the first commit fails."""

    made: list[str]

    def __init__(self, producer: Any) -> None:
        self._producer = producer

    def __getattr__(self, name: str) -> Any:
        if name.endswith("transaction"):
            self.made.append(name)
            if self.made.count("commit_transaction") == 1 and name == "commit_transaction":
                raise ConnectionError("the commit failed")
        return getattr(self._producer, name)


@pytest.mark.turns(4)
def test_alerts_and_their_position_are_produced_in_one_transaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mock takes transactions, but shows messages of those that were aborted, and keeps no offsets."""
    made, calls = transfers(300, accounts=15, seed=4), []
    mock, servers = mock_kafka()  # it ends with its producer
    given = service_in(tmp_path)
    given["sinks"] = [{"name": "out", "type": "kafka", "servers": servers, "topic": "out"}]
    given["sinks"][0] |= {"transactions": True, "batch": 10}
    monkeypatch.setattr(Calls, "made", calls, raising=False)
    real = KafkaSink.open

    def opened(self: KafkaSink) -> None:
        real(self)
        self._producer = Calls(self._producer)

    monkeypatch.setattr(KafkaSink, "open", opened)
    with Service(given) as service:
        (sink,) = service.sinks
        assert sink.promise.startswith("exactly once")
        for at in range(0, 300, 50):
            fed(service, lines(made[at : at + 50]))
        assert service.wait_until_idle(60.0)
        matches = expected(made)[1]
        assert service.figures.delivered["out"] == len(matches)
        whole = ["begin_transaction", "send_offsets_to_transaction", "commit_transaction"]
        assert calls[:4] == [*whole, "abort_transaction"]
        assert calls[4:] == whole * ((len(calls) - 4) // 3)
        assert isinstance(sink, KafkaSink)
        assert sink._place.offset == sink.delivered + 1

    # A kill between the commit of a transaction and that of the log: the topic tells what it has.
    with sqlite3.connect(tmp_path / "state/log.sqlite") as log:
        (number,) = log.execute("SELECT delivered FROM sinks").fetchone()
        log.execute("UPDATE sinks SET delivered = ?", (number - 3,))
    log.close()
    monkeypatch.setattr(KafkaSink, "_reached", lambda self: number - 1)
    with Service(given) as service:
        assert service.wait_until_idle(60.0)
        assert service.figures.delivered == {"out": 1}
    monkeypatch.setattr(KafkaSink, "_reached", lambda self: number + 1)
    with Service(given) as service:
        wait_until(lambda: "sink out" in service.figures.trouble, "the older state is refused")
        assert (
            f"expected alerts until {number} of this log, found {number + 1}"
            in service.figures.trouble["sink out"]
        )
    assert mock is not None


def test_new_messages_are_those_since_the_first_start(tmp_path: Path) -> None:
    producer, servers = mock_kafka()
    given = service_in(tmp_path)
    source = {"name": "bank", "type": "kafka", "servers": servers, "topic": "in", "begin": "new"}
    given["sources"] = [source]
    producer.produce("in", b"{}", partition=0)
    producer.flush(30)
    with Service(given) as service:
        assert service.wait_until_idle(60.0)
    producer.produce("in", edges(RING), partition=0)
    producer.flush(30)
    with Service(given) as service:
        wait_until(lambda: service.engine.number == 3, "messages that came between are taken")
        assert not dead(service)


@needs_nats
def test_new_messages_of_a_stream_are_those_since_the_first_start(tmp_path: Path) -> None:
    with nats_server(tmp_path) as server:
        streams(server)
        server.publish("in.bank", b"{}")
        given = with_nats(tmp_path, server, begin="new")
        with Service(given) as service:
            assert service.wait_until_idle(60.0)
        server.publish("in.bank", edges(RING))
        with Service(given) as service:
            wait_until(lambda: service.engine.number == 3, "messages that came between are taken")
            assert not dead(service)


@pytest.mark.turns(4)
@needs_nats
def test_alerts_wait_for_a_stream_that_takes_them(tmp_path: Path) -> None:
    with nats_server(tmp_path) as server:

        async def make(context: Any) -> None:
            await context.add_stream(name="IN", subjects=["in.bank"])

        async def make_small(context: Any) -> None:
            await context.add_stream(name="OUT", subjects=["out"], max_msg_size=20)

        async def make_larger(context: Any) -> None:
            await context.update_stream(name="OUT", subjects=["out"], max_msg_size=-1)

        server.run(make)
        server.publish("in.bank", edges(RING))
        with Service(with_nats(tmp_path, server)) as service:

            def says(reason: str) -> bool:
                return reason in service.figures.trouble.get("sink out", "")

            wait_until(lambda: says("expected a stream that takes it, found none"), "it is told")
            server.run(make_small)
            wait_until(lambda: says("found an error: message size exceeds maximum"), "it is told")
            server.run(make_larger)
            assert service.wait_until_idle(60.0)
            assert not service.figures.trouble
        assert len(server.messages("OUT")) == 1
