"""The application: addresses and what answers them."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from motiflux.packages import require
from motiflux.serve.core import Core
from motiflux.serve.status import troubles
from motiflux.serve.web.api import Api
from motiflux.serve.web.events import Events
from motiflux.serve.web.guard import Guard
from motiflux.serve.web.metrics import Metrics
from motiflux.serve.web.openapi import description

_METRICS = "text/plain; version=0.0.4; charset=utf-8"
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}


def make_app(service: Core) -> Starlette:
    """Return the application of a service."""
    api, events, metrics = Api(service), Events(service), Metrics(service)
    page = Path(str(files("motiflux.serve.web") / "page"))
    plotly = Path(require("plotly", "the page").__file__).parent / "package_data" / "plotly.min.js"

    async def health(request: Request) -> Response:
        works = service.engine.failed is None and service.committer.failed is None
        return JSONResponse({"healthy": works}, 200 if works else 503)

    async def ready(request: Request) -> Response:
        is_ready = service.is_ready
        return JSONResponse(
            {"ready": is_ready, "trouble": sorted(troubles(service))}, 200 if is_ready else 503
        )

    async def figures(request: Request) -> Response:
        return Response(metrics.text(), media_type=_METRICS)

    async def openapi(request: Request) -> Response:
        return JSONResponse(description())

    routes = [
        Route("/", _file(page / "index.html")),
        Route("/static/page.js", _file(page / "page.js")),
        Route("/static/page.css", _file(page / "page.css")),
        Route("/static/plotly.js", _file(plotly, "max-age=86400")),
        Route("/openapi.json", openapi),
        Route("/health", health),
        Route("/ready", ready),
        Route("/metrics", figures),
        Route("/status", api.status),
        Route("/events", events.stream),
        Route("/patterns", api.patterns),
        Route("/patterns", api.add, methods=["POST"]),
        Route("/patterns/{name}", api.pattern),
        Route("/patterns/{name}", api.drop, methods=["DELETE"]),
        Route("/patterns/{name}/pause", api.pause, methods=["POST"]),
        Route("/patterns/{name}/resume", api.resume, methods=["POST"]),
        Route("/patterns/{name}/picture", api.pattern_picture),
        Route("/sources/{name}/records", api.records, methods=["POST"]),
        Route("/alerts", api.alerts),
        Route("/alerts/{number:int}/picture", api.picture),
        Route("/dead", api.dead),
    ]
    guard = Middleware(Guard, listening=service.settings.listening)
    return Starlette(routes=routes, middleware=[guard], exception_handlers={HTTPException: _said})


def _file(path: Path, cache: str = "no-cache") -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        return FileResponse(path, media_type=_TYPES[path.suffix], headers={"Cache-Control": cache})

    return answer


async def _said(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)
