"""Which engine serves a call, and why."""

from __future__ import annotations

from motiflux.engine.base import Engine, Request
from motiflux.engine.cpu import CpuEngine
from motiflux.errors import DeviceError

GPU_DEVICE = "cuda"


def choose_engine(request: Request) -> tuple[Engine, str]:
    """Return the engine for `request` and the reason in words.

    Raises
    ------
    DeviceError
        The device asked for is not here, or has no such engine.
    """
    device, engine = request.device, request.engine
    if device in ("auto", "cpu") and engine in ("auto", "cpu"):
        return CpuEngine(), _asked(request) or "the default; device='cuda' searches on a GPU"
    if engine == "cpu":
        raise DeviceError(f"engine='cpu' runs on device='cpu', found device={device!r}")
    if device == "cpu":
        raise DeviceError(f"engine={engine!r} runs on a GPU (device={GPU_DEVICE!r}), found device='cpu'")
    # Imported here: a search on the CPU needs nothing of this.
    from motiflux.engine.accelerator import open_accelerator
    from motiflux.engine.dfs import DfsEngine

    return DfsEngine(open_accelerator(GPU_DEVICE if device == "auto" else device)), _asked(request)


def _asked(request: Request) -> str:
    """Return what of `request` leaves no choice; empty if nothing does."""
    options = {"device": request.device, "engine": request.engine}
    asked = [f"{option}={value!r}" for option, value in options.items() if value != "auto"]
    return f"asked for by {' and '.join(asked)}" if asked else ""
