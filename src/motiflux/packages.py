"""Packages that motiflux goes without until something takes them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from motiflux.errors import MotifluxError

_EXTRAS = {
    "adbc_driver_postgresql": "postgres",
    "igraph": "igraph",
    "matplotlib": "plot",
    "networkx": "networkx",
    "pyarrow": "arrow",
    "ray": "ray",
    "scipy": "scipy",
    **dict.fromkeys(
        ("starlette", "uvicorn", "prometheus_client", "plotly", "nats", "confluent_kafka"), "serve"
    ),
}
"""The extra of motiflux that brings a package."""


def require(name: str, what: str | Callable[[str], Exception]) -> Any:
    """Return a module of an optional package.

    Parameters
    ----------
    name
        Of the module.
    what
        Who needs it, to begin the message with; or what makes the error of a message.

    Raises
    ------
    MotifluxError
        The package is not installed; says what to install. Or what `what` makes.

    Examples
    --------
    >>> from motiflux.packages import require
    >>> require("no_such_package.part", "to_nothing")
    Traceback (most recent call last):
    motiflux.errors.MotifluxError: to_nothing: this takes the package no_such_package; install it
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        extra = f", or motiflux with the extra {_EXTRAS[package]!r}" if package in _EXTRAS else ""
        message = f"this takes the package {package}; install it{extra}"
        raise (MotifluxError(f"{what}: {message}") if isinstance(what, str) else what(message)) from None
