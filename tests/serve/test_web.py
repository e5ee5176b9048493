"""The service on the network: records, patterns, figures; and what strangers cannot do."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pytest
from prometheus_client.parser import text_string_to_metric_families

import motiflux as mf
from motiflux.serve.batch import no_records
from motiflux.serve.intake import Chunk, Intake
from motiflux.serve.log.group import Group
from motiflux.serve.service import Service
from motiflux.serve.web import server
from motiflux.serve.web.app import make_app
from motiflux.serve.web.bodies import Room
from motiflux.serve.web.openapi import description
from tests.serve.requests import ask
from tests.serve.test_durability import RING, edges, service_in
from tests.serve.transfers import alerts_in
from tests.waiting import wait_until

LINES = "application/x-ndjson"
RECORDS = "/sources/bank/records"


def listening(folder: Path, **more: Any) -> dict[str, Any]:
    given = service_in(folder, **more)
    given["service"] = {**given["service"], "listen": "127.0.0.1:0", **more.get("service", {})}
    given["limits"] = {"requests_per_second": 1000, **more.get("limits", {})}
    return given


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(listening(tmp_path, stream={"attributes": {"amount": "float"}})) as made:
        yield made


def test_records_are_on_disk_when_they_are_answered(service: Service, tmp_path: Path) -> None:
    code, answer, _ = ask(service, "POST", RECORDS, edges(RING) + b"{\n", Content_Type=LINES)
    assert (code, answer["first"], answer["accepted"], answer["refused"]) == (200, 0, 3, 1)
    assert answer["reasons"][0].startswith("line 4: expected JSON, found an error")
    table = pa.table({"src": ["c", "x"], "dst": ["x", "b"], "amount": [1.5, None]})
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    arrow = "application/vnd.apache.arrow.stream"
    code, answer, _ = ask(service, "POST", RECORDS, stream.getvalue().to_pybytes(), Content_Type=arrow)
    assert (code, answer["first"], answer["accepted"]) == (200, 3, 2)
    again = [
        ask(service, "POST", RECORDS, edges([("k", "l")]), Content_Type=LINES, Idempotency_Key="1")[1]
        for _ in "ab"
    ]
    assert again[0] == again[1]
    assert service.engine.number == 6
    assert service.wait_until_idle(60.0)
    assert len(alerts_in(tmp_path / "out.jsonl")) == 2


def test_patterns_are_added_paused_and_dropped(service: Service) -> None:
    given = {"name": "two", "pattern": "(a)-->(b)-->(c)", "limit": 3, "backfill": True}
    ask(service, "POST", RECORDS, edges(RING), Content_Type=LINES)
    code, added, _ = ask(service, "POST", "/patterns", given)
    assert (code, added["state"], added["present"], added["limit"]) == (201, "active", 3, 3)
    assert [one["name"] for one in ask(service, "GET", "/patterns")[1]["patterns"]] == [
        "ring3",
        "ring4",
        "two",
    ]
    assert ask(service, "POST", "/patterns/two/pause")[1]["state"] == "paused"
    assert ask(service, "POST", "/patterns/two/resume")[1]["state"] == "active"
    assert ask(service, "POST", "/patterns/two/resume")[0] == 400
    assert b"<svg" in ask(service, "GET", "/patterns/two/picture")[1]
    assert ask(service, "DELETE", "/patterns/two")[0] == 200
    code, answer, _ = ask(service, "GET", "/patterns/two")
    assert (code, answer["error"]) == (404, "pattern: expected the name of a pattern, found 'two'")
    code, answer, _ = ask(service, "POST", "/patterns", {**given, "pattern": "(a)-->"})
    assert code == 400
    assert "line 1, column" in answer["error"]


def test_alerts_have_pictures_with_what_is_around(service: Service) -> None:
    lines = edges(RING, amount=250.5) + edges([("a", "near")])
    ask(service, "POST", RECORDS, lines, Content_Type=LINES)
    (alert,) = ask(service, "GET", "/alerts")[1]["alerts"]
    assert alert["match"] == {"a": "a", "b": "b", "c": "c"}
    assert {one["amount"] for one in alert["edges"].values()} == {250.5}
    code, picture, headers = ask(service, "GET", f"/alerts/{alert['alert']}/picture")
    assert (code, headers["content-type"]) == (200, "image/svg+xml")
    assert b"250.5" in picture
    assert b"near" not in picture
    assert b"near" in ask(service, "GET", f"/alerts/{alert['alert']}/picture?around=1")[1]
    assert ask(service, "GET", "/alerts/99/picture")[0] == 404
    assert ask(service, "GET", "/alerts?limit=0")[0] == 400


def test_ids_of_strangers_are_text_in_pictures(service: Service) -> None:
    evil = '"><script>alert(1)</script>'
    ask(service, "POST", RECORDS, edges([("a", "b"), ("b", evil), (evil, "a")]), Content_Type=LINES)
    assert b"<script" not in ask(service, "GET", "/alerts/1/picture")[1]


def test_figures_are_those_of_prometheus(service: Service) -> None:
    ask(service, "POST", RECORDS, edges(RING) + b"x\n", Content_Type=LINES)
    assert service.wait_until_idle(60.0)
    text = ask(service, "GET", "/metrics")[1].decode()
    found = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert found["motiflux_records_total", "bank"] == 3
    assert found["motiflux_refused_total", "bank"] == 1
    assert found["motiflux_matches_total", "appeared", "ring3"] == 1
    assert found["motiflux_delivered_total", "lines"] == 1
    assert found["motiflux_latency_seconds_count",] == 3
    assert found["motiflux_ready",] == 1


def test_health_and_readiness_differ_while_the_log_cannot_be_written(service: Service) -> None:
    assert [ask(service, "GET", path)[0] for path in ("/health", "/ready")] == [200, 200]
    service.committer.trouble = "the log cannot be written: a test"
    assert ask(service, "GET", "/health")[0] == 200
    assert ask(service, "GET", "/ready")[:2] == (503, {"ready": False, "trouble": ["log"]})
    assert ask(service, "GET", "/status")[1]["trouble"] == {"log": service.committer.trouble}
    service.committer.trouble = None


def test_events_tell_figures_and_alerts(service: Service) -> None:
    assert service.url is not None
    connection = http.client.HTTPConnection(urlsplit(service.url).netloc, timeout=60)
    connection.request("GET", "/events")
    answer = connection.getresponse()
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    assert answer.readline() == b"event: pulse\n"
    ask(service, "POST", RECORDS, edges(RING), Content_Type=LINES)
    while answer.readline() != b"event: alerts\n":
        pass
    (alert,) = json.loads(answer.readline().removeprefix(b"data: "))
    assert (alert["alert"], alert["pattern"]) == (1, "ring3")
    connection.close()


@pytest.mark.parametrize(
    ("path", "body", "headers", "code"),
    [
        (RECORDS, b"{}", {"Content_Type": "text/plain"}, 415),
        (RECORDS, b"{}", {"Content_Type": LINES, "Host": "evil.example"}, 421),
        (RECORDS, b"{}", {"Content_Type": LINES, "Origin": "http://evil.example"}, 403),
        (RECORDS, b"{}", {"Content_Type": LINES, "Origin": "http://["}, 403),
        (RECORDS, b"x" * 2001, {"Content_Type": LINES}, 413),
        (RECORDS, b"{}", {"Content_Type": LINES, "Idempotency_Key": "k" * 201}, 400),
        ("/sources/none/records", b"{}", {"Content_Type": LINES}, 404),
        ("/patterns", b"[1]", {"Content_Type": "application/json"}, 400),
        ("/patterns", b"[" * 1900, {"Content_Type": "application/json"}, 400),
        ("/patterns", b'{"name": "x", "pattern": "(a)-->(b)"}', {"Content_Type": "text/plain"}, 415),
        ("/patterns", b'{"name": 5, "pattern": "(a)-->(b)"}', {"Content_Type": "application/json"}, 400),
    ],
)
def test_requests_that_are_refused_change_nothing(
    tmp_path: Path, path: str, body: bytes, headers: dict[str, str], code: int
) -> None:
    with Service(listening(tmp_path, limits={"request_bytes": 2000})) as service:
        found, answer, _ = ask(service, "POST", path, body, **headers)
        assert (found, list(answer)) == (code, ["error"])
        assert service.engine.number == 0
        assert len(service.patterns()) == 2


def test_a_body_without_a_length_is_bounded_too(tmp_path: Path) -> None:
    with Service(listening(tmp_path, limits={"request_bytes": 2000})) as service:
        assert service.url is not None
        connection = http.client.HTTPConnection(urlsplit(service.url).netloc, timeout=60)
        pieces = (b"x" * 500 for _ in range(5))
        connection.request("POST", RECORDS, pieces, {"Content-Type": LINES}, encode_chunked=True)
        assert connection.getresponse().status == 413
        connection.close()


def test_with_a_token_only_the_page_and_health_are_open(tmp_path: Path) -> None:
    token = "a-token-of-this-test"
    (tmp_path / "token").write_text(token)
    given = listening(tmp_path, service={"token_file": str(tmp_path / "token"), "listen": "0.0.0.0:0"})
    with Service(given) as service:
        open_paths = (
            "/",
            "/static/page.js",
            "/static/page.css",
            "/static/plotly.js",
            "/health",
            "/ready",
            "/openapi.json",
        )
        assert {ask(service, "GET", path)[0] for path in open_paths} == {200}
        closed = ("/status", "/events", "/patterns", "/alerts", "/metrics", "/dead", "/alerts/1/picture")
        for path in closed:
            assert ask(service, "GET", path)[0] == 401
            assert ask(service, "GET", path, Authorization="Bearer wrong")[0] == 401
        assert ask(service, "POST", RECORDS, edges(RING), Content_Type=LINES)[0] == 401
        assert service.engine.number == 0
        sent = {"Authorization": f"Bearer {token}", "Host": "any.example"}
        assert ask(service, "POST", RECORDS, edges(RING), Content_Type=LINES, **sent)[0] == 200
        assert ask(service, "GET", "/metrics", **sent)[0] == 200


def test_changes_of_patterns_are_bounded_in_rate(tmp_path: Path) -> None:
    with Service(listening(tmp_path, limits={"requests_per_second": 2})) as service:
        codes = [ask(service, "POST", "/patterns/ring3/pause")[0] for _ in range(8)]
        assert codes[:2] == [200, 200]
        assert 429 in codes


def test_records_are_turned_away_while_the_queue_is_full(tmp_path: Path) -> None:
    with Service(listening(tmp_path, limits={"queue": 3})) as service:
        goes_on = threading.Event()
        service.intake.call(goes_on.wait)
        wait_until(lambda: not service.intake._calls, "the engine is held up")
        codes: list[int] = []

        def send() -> None:
            codes.append(ask(service, "POST", RECORDS, edges(RING), Content_Type=LINES)[0])

        first = threading.Thread(target=send)
        first.start()
        wait_until(lambda: service.intake.waiting, "the first records wait")
        code, _, headers = ask(service, "POST", RECORDS, edges(RING), Content_Type=LINES)
        assert (code, headers["retry-after"]) == (503, "1")
        goes_on.set()
        first.join()
        assert codes == [200]


@contextlib.contextmanager
def begun(service: Service, size: int, *, chunked: bool) -> Iterator[http.client.HTTPConnection]:
    """Begin a request whose body of so many bytes does not end, and have the service read what is sent."""
    place = urlsplit(str(service.url))
    with contextlib.closing(http.client.HTTPConnection(str(place.hostname), place.port, timeout=60)) as made:
        made.putrequest("POST", RECORDS)
        made.putheader("Content-Type", LINES)
        made.putheader(*(("Transfer-Encoding", "chunked") if chunked else ("Content-Length", str(size))))
        made.endheaders()
        data = b"\n" * (size - 1)
        made.send(b"%x\r\n%b\r\n" % (len(data), data) if chunked else data)
        yield made


@pytest.mark.parametrize("chunked", [False, True])
def test_bodies_of_all_requests_together_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunked: bool
) -> None:
    rooms: list[Room] = []
    real = Room.__init__

    def made(self: Room, most: int) -> None:
        real(self, most)
        rooms.append(self)

    monkeypatch.setattr(Room, "__init__", made)
    limits = {"request_bytes": 100_000, "requests_bytes": 250_000}
    with Service(listening(tmp_path, limits=limits)) as service, contextlib.ExitStack() as stack:
        size = 100_000
        first, _ = (stack.enter_context(begun(service, size, chunked=chunked)) for _ in "ab")
        (room,) = rooms
        wait_until(lambda: room.taken >= 2 * (size - 1), "two bodies are being read")
        code, answer, headers = ask(service, "POST", RECORDS, b"\n" * size, Content_Type=LINES)
        assert (code, headers["retry-after"]) == (503, "1")
        assert answer["error"].startswith("too many bytes of other requests")
        assert ask(service, "POST", RECORDS, edges(RING), Content_Type=LINES)[0] == 200
        first.send(b"1\r\n\n\r\n0\r\n\r\n" if chunked else b"\n")
        assert first.getresponse().status == 200
        wait_until(lambda: room.taken <= size, "its bytes are free")
        assert ask(service, "POST", RECORDS, b"\n" * size, Content_Type=LINES)[0] == 200
        stack.close()
        wait_until(lambda: room.taken == 0, "those of a request that was given up are free, too")


def test_the_queue_is_bounded_in_bytes() -> None:
    intake = Intake(1000, 100)
    assert intake.try_put(Chunk("bank", no_records(), size=60))
    assert intake.try_put(Chunk("bank", no_records(), size=60))
    assert intake.is_full
    assert not intake.try_put(Chunk("bank", no_records()))
    assert not intake.put(Chunk("bank", no_records()), lambda: True)
    intake.take(1, 0, 0, lambda: True)
    assert not intake.is_full


def test_an_address_in_use_is_named(service: Service, tmp_path: Path) -> None:
    assert service.url is not None
    given = listening(
        tmp_path, service={"state": str(tmp_path / "other"), "listen": urlsplit(service.url).netloc}
    )
    with pytest.raises(
        mf.ArgumentError, match=r"service\.listen: expected an address that can be listened on"
    ):
        Service(given).__enter__()


def test_all_addresses_are_described(service: Service) -> None:
    described = {(path, method.upper()) for path, calls in description()["paths"].items() for method in calls}
    page = {"/", "/openapi.json"}
    for route in make_app(service).routes:
        path = re.sub(r":int\}", "}", route.path)  # type: ignore[attr-defined]
        if path in page or path.startswith("/static/"):
            continue
        for method in route.methods - {"HEAD"}:  # type: ignore[attr-defined]
            assert (path, method) in described
    assert ask(service, "GET", "/openapi.json")[1] == description()


def test_answers_forbid_scripts_of_others(service: Service) -> None:
    _, page, headers = ask(service, "GET", "/")
    assert headers["content-security-policy"].startswith("default-src 'self'")
    assert headers["x-content-type-options"] == "nosniff"
    assert not re.search(rb"(src|href)=\"(?!/static/|data:,)", page)


def test_a_start_that_fails_leaves_no_threads(service: Service, tmp_path: Path) -> None:
    given = listening(tmp_path / "other", service={"listen": (service.url or "").removeprefix("http://")})
    given["service"]["state"] = str(tmp_path / "other")
    before = set(threading.enumerate())
    with pytest.raises(mf.ArgumentError, match="an address that can be listened on"), Service(given):
        pass
    assert set(threading.enumerate()) <= before


def test_a_request_that_is_cut_off_does_not_end_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_GRACE", 1)
    service = Service(listening(tmp_path))
    service.start()
    assert service.store is not None
    write, writing, listener = service.store.write, threading.Event(), service._server

    def slow(groups: Sequence[Group], marks: dict[str, Any]) -> None:
        if any(group.rows for group in groups):
            writing.set()
            wait_until(lambda: not listener._thread.is_alive(), "the server has ended")
        write(groups, marks)

    monkeypatch.setattr(service.store, "write", slow)
    asking = threading.Thread(
        target=ask, args=(service, "POST", RECORDS, edges(RING)), kwargs={"Content_Type": LINES}
    )
    asking.start()
    assert writing.wait(60)
    service.stop()
    asking.join()
    with Service(service_in(tmp_path)) as again:
        assert (again.engine.number, again.engine.replayed) == (3, 0)


def test_numbers_of_alerts_have_no_end(service: Service) -> None:
    code, answer, _ = ask(service, "GET", f"/alerts/{2**63}/picture")
    assert (code, list(answer)) == (404, ["error"])
