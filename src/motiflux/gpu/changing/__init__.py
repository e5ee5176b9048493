"""Monitors on GPUs: rows that change on the device, and searches that start from updates."""

from motiflux.gpu.changing.engine import ChangingEngine
from motiflux.gpu.changing.several import SeveralDevices, open_update_engine

__all__ = ["ChangingEngine", "SeveralDevices", "open_update_engine"]
