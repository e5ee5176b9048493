"""Events for the page: figures once a second, and new alerts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from motiflux.serve.core import Core
from motiflux.serve.status import last_alerts, pulse

_MOST_ALERTS = 20
_SECONDS = 1.0


class Events:
    """Streams of events, each a coroutine that waits for its page: a slow one gets fewer, and keeps nothing.

    Parameters
    ----------
    service
        The service.
    """

    def __init__(self, service: Core) -> None:
        self._service = service
        self._open = 0

    async def stream(self, request: Request) -> Response:
        """Answer with events until the page goes or the service ends."""
        if self._open >= self._service.settings.limits.streams:
            raise HTTPException(503, f"expected at most {self._open} pages", {"Retry-After": "10"})
        return StreamingResponse(self._events(request), media_type="text/event-stream")

    async def _events(self, request: Request) -> AsyncIterator[str]:
        self._open += 1
        last = self._service.last_alert
        try:
            while not self._service.is_stopping:
                yield _event("pulse", pulse(self._service))
                if self._service.last_alert != last:
                    alerts = await run_in_threadpool(self._alerts, last)
                    last = max([last, *(one["alert"] for one in alerts)])
                    yield _event("alerts", alerts)
                await asyncio.sleep(_SECONDS)
        finally:
            self._open -= 1

    def _alerts(self, behind: int) -> list[dict[str, Any]]:
        assert self._service.store is not None
        with self._service.store.reader() as reader:
            return last_alerts(reader, _MOST_ALERTS, behind)


def _event(name: str, data: Any) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
