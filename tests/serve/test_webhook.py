"""Webhooks: one request for each alert, to configured public hosts only."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import motiflux as mf
from motiflux.serve.service import Service
from motiflux.serve.sinks import sink
from motiflux.serve.sinks.webhook import Webhook, checked_address
from tests.serve.test_durability import RING, edges, fed, service_in
from tests.waiting import wait_until


class Hook(ThreadingHTTPServer):
    """A host that answers with the codes it is given, then with 200, and keeps what it got."""

    daemon_threads = True

    def __init__(self, codes: list[int]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.codes = codes
        self.got: list[tuple[int, str, dict[str, str], bytes]] = []


class Handler(BaseHTTPRequestHandler):
    server: Hook
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        code = self.server.codes.pop(0) if self.server.codes else 200
        self.server.got.append((code, self.path, dict(self.headers), body))
        self.send_response(code)
        if code == 302:
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *args: Any) -> None:
        """Print nothing."""


@contextmanager
def hook(codes: list[int]) -> Iterator[Hook]:
    server = Hook(codes)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def given_hook(folder: Path, server: Hook, **more: Any) -> dict[str, Any]:
    (folder / "token").write_text("secret\n")
    url = f"http://127.0.0.1:{server.server_address[1]}/alerts?to=team"
    sink = {"name": "hook", "type": "webhook", "url": url, "hosts": ["127.0.0.1"], "private": True, **more}
    sink["token_file"] = str(folder / "token")
    return {**service_in(folder), "sinks": [sink]}


def test_alerts_are_sent_with_their_ids_until_they_are_taken(tmp_path: Path) -> None:
    with hook([500, 302]) as server, Service(given_hook(tmp_path, server)) as service:
        fed(service, edges(RING) + edges([("c", "x"), ("x", "b")]))
        assert service.wait_until_idle(60.0)
        codes = [code for code, *_ in server.got]
        assert codes == [500, 302, 200, 200]
        assert {path for _, path, *_ in server.got} == {"/alerts?to=team"}
        ids = [headers["Idempotency-Key"] for _, _, headers, _ in server.got]
        assert (len(set(ids[:3])), len(set(ids))) == (1, 2)
        assert server.got[0][2]["Authorization"] == "Bearer secret"


def test_a_slow_host_does_not_keep_a_service_from_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sink, "_LAST_SECONDS", 0.0)
    send, sending, goes_on = Webhook._send, threading.Event(), threading.Event()

    def slow(self: Webhook, alert: sink.Sent) -> None:
        sending.set()
        wait_until(lambda: goes_on.is_set() or self.has_to_end, "the service ends")
        send(self, alert)

    monkeypatch.setattr(Webhook, "_send", slow)
    with hook([]) as server:
        with Service(given_hook(tmp_path, server)) as service:
            fed(service, edges([*RING, ("c", "x"), ("x", "b")]))
            assert sending.wait(60)
        assert len(server.got) == 1
        goes_on.set()
        with Service(given_hook(tmp_path, server)) as service:
            assert service.wait_until_idle(60.0)
        assert len({got[2]["Idempotency-Key"] for got in server.got}) == len(server.got) == 2


def test_an_address_of_this_machine_is_refused_unless_that_is_said(tmp_path: Path) -> None:
    with hook([]) as server, Service(given_hook(tmp_path, server, private=False)) as service:
        fed(service, edges(RING))
        wait_until(lambda: service.figures.trouble, "the host is refused")
        assert "expected a public address, found 127.0.0.1" in service.figures.trouble["sink hook"]
        assert not server.got


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "169.254.169.254",
        "0.0.0.0",
        "::1",
        "fe80::1",
        "::ffff:127.0.0.1",
        "224.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "::7f00:1",
        "fec0::1",
    ],
)
def test_names_that_resolve_to_other_than_public_addresses_are_refused(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    places = [(0, 0, 0, "", ("8.8.8.8", 80)), (0, 0, 0, "", (address, 80))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **more: places)
    with pytest.raises(mf.OutputError, match=r"example\.org: expected a public address"):
        checked_address("example.org", 80, private=False)
    assert str(checked_address("example.org", 80, private=True)) == "8.8.8.8"
