"""Bodies of requests, bounded in size and time."""

from __future__ import annotations

import asyncio
import json
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


async def read_body(request: Request, most: int) -> bytes:
    """Return a body.

    Raises
    ------
    HTTPException
        It is larger, or takes too long.
    """
    declared = request.headers.get("content-length", "0")
    if not declared.isdigit() or int(declared) > most:
        raise HTTPException(413, f"expected a body of at most {most} bytes, found {declared[:20]}")
    pieces, size = [], 0
    try:
        async with asyncio.timeout(_SECONDS):
            async for piece in request.stream():
                size += len(piece)
                if size > most:
                    raise HTTPException(413, f"expected a body of at most {most} bytes, found more")
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
