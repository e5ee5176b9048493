"""Monitors on a GPU: rows that change on the device, and searches that start from updates."""

from motiflux.gpu.changing.engine import ChangingEngine, open_update_engine

__all__ = ["ChangingEngine", "open_update_engine"]
