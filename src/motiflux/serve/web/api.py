"""Requests about patterns, records and alerts."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from motiflux.errors import ArgumentError, MotifluxError
from motiflux.serve.core import Core, CountingError
from motiflux.serve.intake import Chunk
from motiflux.serve.pictures import match_picture, neighborhood_picture, pattern_of, pattern_picture
from motiflux.serve.status import dead_letters, last_alerts, pattern_facts, status
from motiflux.serve.watched import Bucket
from motiflux.serve.web.bodies import ARROW, JSON_LINES, Place, Room, content_type, read_body, read_object

_MOST_LISTED = 500
_PATTERN_BODY = 65_536
_LONGEST_KEY = 200
_COMMIT_SECONDS = 60.0


class Api:
    """Answers requests to a service.

    Parameters
    ----------
    service
        The service.
    """

    def __init__(self, service: Core) -> None:
        self.service = service
        self._room = Room(service.settings.limits.requests_bytes)
        self._changes = Bucket(service.settings.limits.requests_per_second)

    async def patterns(self, request: Request) -> Response:
        """Answer with all patterns."""
        return JSONResponse({"patterns": [pattern_facts(row) for row in self.service.patterns()]})

    async def add(self, request: Request) -> Response:
        """Add a pattern."""
        self._bound_changes()
        given = await read_object(request, _PATTERN_BODY)
        return await self._changed(lambda: self.service.add_pattern(given), 201)

    async def pattern(self, request: Request) -> Response:
        """Answer with one pattern."""
        name = request.path_params["name"]
        return await self._changed(lambda: self.service.engine.patterns.get(name))

    async def drop(self, request: Request) -> Response:
        """Drop a pattern."""
        self._bound_changes()
        return await self._changed(lambda: self.service.drop_pattern(request.path_params["name"]))

    async def pause(self, request: Request) -> Response:
        """Pause a pattern."""
        self._bound_changes()
        return await self._changed(lambda: self.service.pause_pattern(request.path_params["name"]))

    async def resume(self, request: Request) -> Response:
        """Resume a pattern."""
        self._bound_changes()
        return await self._changed(lambda: self.service.resume_pattern(request.path_params["name"]))

    async def _changed(self, change: Callable[[], Any], code: int = 200) -> Response:
        try:
            row = await run_in_threadpool(change)
        except CountingError as error:
            raise HTTPException(503, str(error), {"Retry-After": "1"}) from None
        except ArgumentError as error:
            is_missing = str(error).startswith("pattern: expected the name of a pattern")
            raise HTTPException(404 if is_missing else 400, str(error)) from None
        except MotifluxError as error:
            raise HTTPException(400, str(error)) from None
        return JSONResponse(pattern_facts(row), code)

    def _bound_changes(self) -> None:
        if not self._changes.take(1, time.monotonic_ns()):
            rate = self.service.settings.limits.requests_per_second
            raise HTTPException(429, f"expected at most {rate:g} changes per second", {"Retry-After": "1"})

    async def records(self, request: Request) -> Response:
        """Take records; the answer comes once they are on disk."""
        name = request.path_params["name"]
        settings = next((one for one in self.service.settings.sources if one.name == name), None)
        if settings is None or settings.type != "http":
            raise HTTPException(404, f"source: expected the name of a source of type http, found {name!r}")
        kind = content_type(request, JSON_LINES, ARROW)
        key = request.headers.get("idempotency-key")
        if key is not None and (not key or len(key) > _LONGEST_KEY):
            raise HTTPException(
                400, f"Idempotency-Key: expected 1 to {_LONGEST_KEY} characters, found {len(key)}"
            )
        with self._room.place() as place:  # until it is answered: its records take more than its bytes
            return await self._take(request, name, kind, key, place)

    async def _take(self, request: Request, name: str, kind: str, key: str | None, place: Place) -> Response:
        """Hand the records of a body on, and answer once they are on disk."""
        self._refuse_if_full(self.service.intake.is_full)
        data = await read_body(request, self.service.settings.limits.request_bytes, place)
        reader = self.service.readers[name]
        reads = reader.arrow if kind == ARROW else reader.lines
        taken = await run_in_threadpool(reads, data, lambda number: f"line {number + 1}")
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[dict[str, Any]] = loop.create_future()

        def tell(answer: dict[str, Any]) -> None:
            if not answered.done():
                answered.set_result(answer)

        def done(answer: dict[str, Any]) -> None:
            with contextlib.suppress(RuntimeError):  # the server has ended, and with it the request
                loop.call_soon_threadsafe(tell, answer)

        chunk = Chunk(
            name, taken.records, taken.refused, None, None if key is None else f"{name} {key}", done
        )
        chunk.size = taken.size
        self._refuse_if_full(not self.service.intake.try_put(chunk))
        del data, taken, chunk
        try:
            return JSONResponse(await asyncio.wait_for(answered, _COMMIT_SECONDS))
        except TimeoutError:
            raise HTTPException(
                503, "the records are not on disk yet; send them again with the same key"
            ) from None

    def _refuse_if_full(self, is_full: bool) -> None:
        if is_full:
            raise HTTPException(503, "too many records wait; send them again later", {"Retry-After": "1"})

    async def status(self, request: Request) -> Response:
        """Answer with all figures."""
        return JSONResponse(status(self.service))

    async def alerts(self, request: Request) -> Response:
        """Answer with the last alerts."""
        most = _number(request, "limit", 50, _MOST_LISTED)
        return JSONResponse({"alerts": await run_in_threadpool(self._read, last_alerts, most)})

    async def dead(self, request: Request) -> Response:
        """Answer with the last dead letters."""
        most = _number(request, "limit", 50, _MOST_LISTED)
        return JSONResponse({"dead": await run_in_threadpool(self._read, dead_letters, most)})

    def _read(self, read: Callable[..., Any], *arguments: Any) -> Any:
        assert self.service.store is not None
        with self.service.store.reader() as reader:
            return read(reader, *arguments)

    async def picture(self, request: Request) -> Response:
        """Answer with a picture of an alert; with ``around=1``, of what is around it too."""
        number = request.path_params["number"]
        around = request.query_params.get("around") == "1"
        try:
            svg = await run_in_threadpool(self._picture, number, around)
        except MotifluxError as error:
            raise HTTPException(409, str(error)) from None
        return Response(svg, media_type="image/svg+xml")

    def _picture(self, number: int, around: bool) -> str:
        found = self._read(_alert, number) if number < 2**63 else None
        if found is None:
            raise HTTPException(404, f"alert: expected the number of a kept alert, found {number}")
        alert, text, monitor = found
        live, directed = self.service.engine.monitors.get(monitor), self.service.settings.stream.directed
        pattern = pattern_of(text, alert, None if live is None else live.settings, directed=directed)
        if not around:
            return match_picture(pattern, alert, directed=directed)
        if live is None:
            raise ArgumentError("monitor", "one that is configured", monitor)
        graph = self.service.intake.call(live.surroundings).result()
        return neighborhood_picture(pattern, alert, graph)

    async def pattern_picture(self, request: Request) -> Response:
        """Answer with a picture of a pattern."""
        try:
            row = self.service.engine.patterns.get(request.path_params["name"])
        except ArgumentError as error:
            raise HTTPException(404, str(error)) from None
        try:
            svg = await run_in_threadpool(lambda: pattern_picture(row.settings.pattern))
        except MotifluxError as error:  # an earlier version had other patterns
            raise HTTPException(409, str(error)) from None
        return Response(svg, media_type="image/svg+xml")


def _alert(reader: Any, number: int) -> tuple[dict[str, Any], str, str] | None:
    """Return an alert, and text and monitor of its pattern."""
    row = reader.execute(
        "SELECT body, settings FROM outbox JOIN patterns ON name = pattern WHERE outbox.number = ?",
        (number,),
    ).fetchone()
    if row is None:
        return None
    settings = json.loads(row[1])
    return json.loads(row[0]), settings["pattern"], settings["monitor"]


def _number(request: Request, name: str, default: int, most: int) -> int:
    given = request.query_params.get(name, str(default))
    if not given.isascii() or not given.isdigit() or not 1 <= int(given[:9]) <= most:
        raise HTTPException(400, f"{name}: expected an integer from 1 to {most}, found {given[:20]!r}")
    return int(given)
