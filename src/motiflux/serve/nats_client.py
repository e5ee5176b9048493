"""Connections to NATS."""

from __future__ import annotations

from typing import Any

from motiflux.packages import require

_SECONDS = 5


async def connect(options: dict[str, Any], name: str, **more: Any) -> Any:
    """Return a connection that is not made again by itself; whoever has it makes another one."""
    nats = require("nats", name)
    given: dict[str, Any] = {
        "servers": [options["url"]],
        "name": "motiflux",
        "allow_reconnect": False,
        "connect_timeout": _SECONDS,
        "error_cb": _ignore,
        **more,
    }
    if options["credentials"] is not None:
        given["user_credentials"] = str(options["credentials"])
    return await nats.connect(**given)


async def _ignore(error: Exception) -> None:
    """Take errors that the caller gets as exceptions, too."""
