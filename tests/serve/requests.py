"""Requests to a service of a test."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

from motiflux.serve.service import Service


def ask(
    service: Service,
    method: str,
    path: str,
    body: bytes | dict[str, Any] | None = None,
    **headers: str,
) -> tuple[int, Any, dict[str, str]]:
    """Return code, body and headers of an answer; underscores of names of headers stand for hyphens."""
    assert service.url is not None
    place = urlsplit(service.url)
    assert place.hostname is not None
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=60)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    if isinstance(body, dict):
        body = json.dumps(body).encode()
        given = {"Content-Type": "application/json", **given}
    try:
        connection.request(method, path, body, given)
        answer = connection.getresponse()
        data = answer.read()
    finally:
        connection.close()
    is_json = answer.headers["Content-Type"] == "application/json"
    return answer.status, json.loads(data) if is_json else data, dict(answer.headers)
