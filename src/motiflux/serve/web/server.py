"""The server of the application, in a thread of its own."""

from __future__ import annotations

import threading
import time
from typing import Any

import uvicorn

from motiflux.errors import ArgumentError
from motiflux.serve.core import Core
from motiflux.serve.web.app import make_app

_START_SECONDS = 30.0
_GRACE = 3
_CONNECTIONS = 500


class Server:
    """Serves a service on the network.

    Parameters
    ----------
    service
        The service.
    """

    def __init__(self, service: Core) -> None:
        listening = service.settings.listening
        self._where = f"{listening.host}:{listening.port}"
        self._scheme = "http" if listening.certificate is None else "https"
        self._server = uvicorn.Server(
            uvicorn.Config(
                make_app(service),
                host=listening.host or "127.0.0.1",
                port=listening.port,
                ssl_certfile=listening.certificate,
                ssl_keyfile=listening.key,
                log_config=None,
                access_log=False,
                lifespan="off",
                server_header=False,
                date_header=False,
                proxy_headers=False,
                limit_concurrency=_CONNECTIONS,
                timeout_keep_alive=5,
                timeout_graceful_shutdown=_GRACE,
            )
        )
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="motiflux-web", daemon=True)

    def start(self) -> None:
        """Begin to listen.

        Raises
        ------
        ArgumentError
            The address cannot be listened on.
        """
        self._thread.start()
        end = time.monotonic() + _START_SECONDS
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > end:
                expected = "an address that can be listened on"
                raise ArgumentError("service.listen", expected, f"{self._where} ({self._failed})")
            time.sleep(0.01)

    def _run(self) -> None:
        try:
            self._server.run()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - uvicorn ends the process where it cannot listen
            self._failed = error

    @property
    def url(self) -> str:
        """The address of the page."""
        found: Any = self._server.servers[0].sockets[0].getsockname()
        host = f"[{found[0]}]" if ":" in found[0] else found[0]
        return f"{self._scheme}://{host}:{found[1]}"

    def stop(self) -> None:
        """Listen no more; requests that are being answered have a few seconds."""
        self._server.should_exit = True
        self._thread.join()
