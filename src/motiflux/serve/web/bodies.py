"""Bodies of requests, bounded in size and time."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

_SECONDS = 30.0
JSON, JSON_LINES, ARROW = "application/json", "application/x-ndjson", "application/vnd.apache.arrow.stream"


def content_type(request: Request, *allowed: str) -> str:
    """Return the type of a body.

    Raises
    ------
    HTTPException
        It is none of the types that are allowed.
    """
    found = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if found not in allowed:
        raise HTTPException(415, f"Content-Type: expected {' or '.join(allowed)}, found {found[:60]!r}")
    return found


class Room:
    """Bytes that the bodies of all requests may take together, until these are answered.

    Parameters
    ----------
    most
        Bytes.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.taken = 0
        """Bytes that are taken."""

    @contextlib.contextmanager
    def place(self) -> Iterator[Place]:
        """Give a place for one body; at the end its bytes are free again."""
        made = Place(self)
        try:
            yield made
        finally:
            self.taken -= made.size

    def take(self, more: int) -> None:
        """Take bytes.

        Raises
        ------
        HTTPException
            There are too few.
        """
        if self.taken + more > self._most:
            said = "too many bytes of other requests are being taken; send them again later"
            raise HTTPException(503, said, {"Retry-After": "1"})
        self.taken += more


class Place:
    """The bytes of one body."""

    def __init__(self, room: Room) -> None:
        self._room, self.size = room, 0

    def grow(self, size: int) -> None:
        """Take as many bytes in all, unless there are as many already."""
        if size > self.size:
            self._room.take(size - self.size)
            self.size = size


async def read_body(request: Request, most: int, place: Place | None = None) -> bytes:
    """Return a body.

    Parameters
    ----------
    place
        Has its bytes.

    Raises
    ------
    HTTPException
        It is larger, or takes too long, or there is no room for it.
    """
    declared = request.headers.get("content-length", "0")
    if not declared.isdigit() or int(declared) > most:
        raise HTTPException(413, f"expected a body of at most {most} bytes, found {declared[:20]}")
    if place is not None:
        place.grow(int(declared))
    pieces, size = [], 0
    try:
        async with asyncio.timeout(_SECONDS):
            async for piece in request.stream():
                size += len(piece)
                if size > most:
                    raise HTTPException(413, f"expected a body of at most {most} bytes, found more")
                if place is not None:
                    place.grow(size)
                pieces.append(piece)
    except TimeoutError:
        raise HTTPException(408, f"expected a body within {_SECONDS:g} seconds") from None
    return b"".join(pieces)


async def read_object(request: Request, most: int) -> dict[str, Any]:
    """Return a body that is one object of JSON.

    Raises
    ------
    HTTPException
        It is none.
    """
    content_type(request, JSON)
    data = await read_body(request, most)
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"body: expected JSON, found an error: {error}") from None
    if not isinstance(found, dict):
        raise HTTPException(400, f"body: expected an object, found {type(found).__name__}")
    return found
