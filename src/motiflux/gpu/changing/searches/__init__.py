"""Searches from the updates of a run, on a device."""

from motiflux.gpu.changing.searches.run import RunSearch

__all__ = ["RunSearch"]
