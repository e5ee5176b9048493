"""Streams as a service: sources, monitors and sinks around one log."""

from typing import TYPE_CHECKING

from motiflux.lazy import lazy_names as _lazy_names

if TYPE_CHECKING:
    from motiflux.serve.log.group import PatternRow
    from motiflux.serve.service import Service

__all__ = ["PatternRow", "Service"]

_HOMES = {"motiflux.serve.log.group": ("PatternRow",), "motiflux.serve.service": ("Service",)}

__getattr__ = _lazy_names(__name__, _HOMES)
