"""A service: sources, engine, log and sinks together, on the network."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from motiflux.packages import require
from motiflux.serve.core import Core

if TYPE_CHECKING:
    from motiflux.serve.web.server import Server


class Service(Core):
    r"""Watches patterns in updates from several sources, durably, and delivers alerts to sinks.

    Parameters
    ----------
    configuration
        A TOML file, or a mapping with the content of one.

    Raises
    ------
    FormatError
        The configuration is invalid: the error names file, key, what was found and expected. Or the state on
        disk is of another configuration, of a later version, or damaged.
    ArgumentError
        Another process uses the folder of the state.

    Notes
    -----
    A context manager: it begins to read when it is entered, and takes a checkpoint when it is left. A process
    that is killed loses nothing that a source was told of; the next one goes on from there.

    Examples
    --------
    >>> import json, pathlib, tempfile, motiflux as mf
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> ring = [("ann", "bob"), ("bob", "cy"), ("cy", "ann")]
    >>> lines = [json.dumps({"src": src, "dst": dst}) + "\n" for src, dst in ring]
    >>> _ = (folder / "transfers.jsonl").write_text("".join(lines))
    >>> configuration = {
    ...     "service": {"state": str(folder / "state"), "listen": "off"},
    ...     "sources": [{"name": "bank", "type": "file", "path": str(folder / "transfers.jsonl")}],
    ...     "patterns": [{"name": "ring", "pattern": "(a)-->(b)-->(c)-->(a)"}],
    ...     "sinks": [{"name": "alerts", "type": "jsonl", "path": str(folder / "alerts.jsonl")}],
    ... }
    >>> with mf.Service(configuration) as service:
    ...     service.wait_until_idle()
    True
    >>> json.loads((folder / "alerts.jsonl").read_text())["match"]
    {'a': 'ann', 'b': 'bob', 'c': 'cy'}
    """

    def __init__(self, configuration: str | os.PathLike[str] | Mapping[str, Any]) -> None:
        super().__init__(configuration)
        self._server: Server | None = None

    def start(self) -> None:
        """Begin to read, apply, deliver and listen.

        Raises
        ------
        ArgumentError
            The address cannot be listened on.
        MotifluxError
            The packages for it are not installed.
        """
        if self.settings.listening.host is not None:
            require("uvicorn", "service.listen")
        super().start()
        if self.settings.listening.host is not None:
            from motiflux.serve.web.server import Server  # its packages are optional

            self._server = Server(self)
            self._server.start()

    def stop(self) -> None:
        """Read no more, apply what was read, take a checkpoint, deliver what can be delivered, and end.

        Raises
        ------
        InternalError
            The engine or the log failed; what was not written is still with its sources.
        """
        self.is_stopping = True
        server, self._server = self._server, None
        if server is not None:
            server.stop()
        super().stop()

    @property
    def url(self) -> str | None:
        """The address of the page; None if the service does not listen."""
        return None if self._server is None else self._server.url
