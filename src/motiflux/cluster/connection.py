"""The connection to a Ray cluster: started here or found, its CPUs, and what Ray is told."""

from __future__ import annotations

import logging
import os
import signal
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from motiflux.arguments import check_bytes, check_integer
from motiflux.errors import ArgumentError, ClusterError
from motiflux.packages import require

_STORE = 2 << 30
"""Default maximum size of the object store of a cluster that is started here, in bytes."""
_LEAST_STORE = 80 << 20
"""Ray refuses less than 75 MiB."""
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # A task that always lacks memory ends: by default, Ray runs it again and again.
    "RAY_task_oom_retries": "8",
    # Tasks without a GPU see all of them, as processes without Ray do; and Ray says nothing about it.
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


@dataclass(slots=True)
class Connection:
    """A connection to a cluster; `close` ends it, and the cluster if it was started here.

    Parameters
    ----------
    ray
        The module.
    own
        Whether the connection was made here.
    local
        Whether the cluster was started here, and ends with the connection.
    """

    ray: Any
    own: bool
    local: bool

    @property
    def cpus(self) -> int:
        """Number of CPUs of all nodes that are alive."""
        return int(self.ray.cluster_resources().get("CPU", 0))

    def nodes(self) -> list[dict[str, Any]]:
        """Return the nodes that are alive and have CPUs."""
        return [one for one in self.ray.nodes() if one["Alive"] and one["Resources"].get("CPU", 0) >= 1]

    def close(self) -> None:
        """End the connection, if it was made here."""
        if self.own:
            self.ray.shutdown()


def put(ray: Any, value: object, what: str) -> Any:
    """Put an object into the object store; return its reference.

    Raises
    ------
    ClusterError
        There is no room.
    """
    try:
        return ray.put(value)
    except ray.exceptions.ObjectStoreFullError as error:
        raise ClusterError(
            f"{what} does not fit into Ray's object store; give it more (object_store=, or "
            "ray start --object-store-memory)"
        ) from error


def connect(
    address: str | None, *, cpus: int | None, store: int | str | None, dashboard: bool, log_to_driver: bool
) -> Connection:
    """Connect to a cluster, or start one on this machine.

    A process has one connection: if it has one already, that is used, and stays open.

    Raises
    ------
    MotifluxError
        Ray is not installed.
    ClusterError
        There is no cluster at `address`.
    """
    if address is not None and not isinstance(address, str):
        raise ArgumentError(
            "address", "the address of a cluster, 'auto', or None for one of this machine", address
        )
    threads = None if cpus is None else check_integer("cpus", cpus, 1, or_none=True)
    nbytes = _STORE if store is None else check_bytes("object_store", store)
    if nbytes < _LEAST_STORE:
        raise ArgumentError("object_store", f"at least {_LEAST_STORE} bytes", store)
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    ray = require("ray", "motiflux.Cluster")
    if ray.is_initialized():
        return Connection(ray, own=False, local=False)
    options: dict[str, Any] = {
        "log_to_driver": log_to_driver,
        "logging_level": logging.WARNING,
        "include_dashboard": dashboard,
    }
    if address is None:
        options |= {"address": "local", "num_cpus": threads, "object_store_memory": nbytes}
    else:
        options |= {"address": address}
        del options["include_dashboard"]
    before = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(**options)
        if threading.current_thread() is threading.main_thread() and before is not None:
            signal.signal(signal.SIGTERM, before)  # Ray sets one of its own
    except (ConnectionError, ValueError, RuntimeError, TimeoutError) as error:
        with suppress(Exception):
            ray.shutdown()
        where = "on this machine" if address is None else f"at address={address!r}"
        said = str(error).strip().partition("\n")[0]
        raise ClusterError(f"no Ray cluster {where}: {said}") from error
    return Connection(ray, own=True, local=address is None)
