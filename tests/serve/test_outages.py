"""Parts that are slow or down for long keep no others, and lose nothing."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from motiflux.serve.service import Service
from motiflux.serve.sinks.json_lines import JsonLines
from motiflux.serve.sinks.sink import Sent
from motiflux.serve.web import events
from tests.serve.requests import ask
from tests.serve.test_durability import RING, edges, fed, service_in
from tests.serve.test_web import LINES, RECORDS, listening
from tests.serve.transfers import alerts_in
from tests.waiting import wait_until

OUTAGE = 600.0


class HurriedEvent:
    """In place of what a sink waits on: waits pass at once, and are added up."""

    def __init__(self, real: Any) -> None:
        self._real, self.waits = real, []

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        time.sleep(0.001)
        return self.is_set()

    def is_set(self) -> bool:
        return bool(self._real.is_set())

    def set(self) -> None:
        self._real.set()


@pytest.mark.turns(4)
def test_a_sink_that_is_down_for_ten_minutes_gets_all_alerts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The outbox keeps what it waits for, while other sinks go on and the log drops what nobody needs."""
    real, is_over = JsonLines.deliver, threading.Event()

    def deliver(self: JsonLines, alerts: Sequence[Sent]) -> Any:
        if self.name == "down" and not is_over.is_set():
            raise ConnectionError("down")
        return real(self, alerts)

    monkeypatch.setattr(JsonLines, "deliver", deliver)
    given = service_in(tmp_path, log={"keep_alerts": 5, "checkpoint_updates": 50})
    given["patterns"] = [{"name": "edge", "pattern": "(a)-->(b)"}]
    given["sinks"] = [
        {"name": name, "type": "jsonl", "path": str(tmp_path / f"{name}.jsonl"), "batch": 10}
        for name in ("down", "up")
    ]
    service = Service(given)
    down, up = service.sinks
    down.ends = HurriedEvent(down.ends)  # type: ignore[assignment]
    with service:
        for part in range(30):
            fed(service, edges([(f"v{part}", f"w{at}") for at in range(10)]))
            wait_until(lambda: up.lag == 0, "the other sink has its alerts")

        def kept() -> int:
            assert service.store is not None
            with service.store.reader() as reader:
                return int(reader.execute("SELECT count(*) FROM outbox").fetchone()[0])

        waits = down.ends.waits  # type: ignore[attr-defined]
        wait_until(lambda: sum(waits) >= OUTAGE, "ten minutes have passed")
        assert service.figures.trouble == {"sink down": "ConnectionError: down"}
        assert max(waits) == 15
        assert (down.lag, kept()) == (300, 300)
        is_over.set()
        assert service.wait_until_idle(60.0)
        assert service.figures.trouble == {}
        wait_until(lambda: kept() == 5, "what was delivered leaves the outbox")
    found = alerts_in(tmp_path / "down.jsonl")
    assert found == alerts_in(tmp_path / "up.jsonl")
    assert [number for _, _, number, _ in found] == list(range(300))


@pytest.mark.turns(4)
def test_a_browser_that_reads_nothing_keeps_no_other_and_nothing_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    real = events.pulse

    def pulse(service: Service) -> dict[str, Any]:
        made.append(1)
        return {**real(service), "filler": "x" * 50_000}

    monkeypatch.setattr(events, "pulse", pulse)
    monkeypatch.setattr(events, "_SECONDS", 0.001)
    given = listening(tmp_path, limits={"streams": 2})
    with Service(given) as service, contextlib.closing(socket.socket()) as slow:
        place = urlsplit(str(service.url))
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect((place.hostname, place.port))
        slow.sendall(f"GET /events HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode())
        seen = [-2, -1]

        def has_stopped() -> bool:
            time.sleep(0.1)
            seen.append(len(made))
            return seen[-1] > 0 and seen[-1] == seen[-2] == seen[-3]

        wait_until(has_stopped, "no more events are made for it")
        assert len(made) * 50_000 < 64 * 2**20
        code, answer, _ = ask(service, "POST", RECORDS, edges(RING), Content_Type=LINES)
        assert (code, answer["accepted"]) == (200, 3)
        assert ask(service, "GET", "/alerts")[1]["alerts"][0]["number"] == 2
        with contextlib.closing(socket.create_connection((place.hostname, place.port), 60)) as other:
            other.sendall(f"GET /events HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode())
            data = b""
            while b"event: pulse" not in data:
                data += other.recv(65_536)
            assert ask(service, "GET", "/events")[0] == 503
    assert len(alerts_in(tmp_path / "out.jsonl")) == 1
