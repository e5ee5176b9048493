"""The engine that serves a request, and the reason in words."""

from __future__ import annotations

from motiflux.cpu.engine import CpuEngine
from motiflux.dispatch.auto import AutoEngine
from motiflux.dispatch.gpu_probe import DEVICE as GPU_DEVICE
from motiflux.dispatch.gpu_probe import CudaGpu, Gpu
from motiflux.errors import DeviceError
from motiflux.graph import Graph
from motiflux.plan import Plan
from motiflux.request.engine import Engine, Ran
from motiflux.request.request import Request
from motiflux.result.rows import RowSource

GPU = CudaGpu()
"""The one that ``device="auto"`` may take."""


def choose_engine(request: Request, gpu: Gpu = GPU) -> tuple[Engine, str]:
    """Return the engine for `request` and the reason in words.

    Where the choice takes a plan, it is an `AutoEngine`, which says itself who counted and why.

    Raises
    ------
    DeviceError
        The device asked for is not here, or has no such engine.
    """
    device, engine = request.device, request.engine
    if request.devices is not None and engine == "cpu":
        raise DeviceError(f"engine='cpu' runs on device='cpu', found devices={request.devices!r}")
    if request.devices is not None:
        # Imported here, like what follows: a search on the CPU needs nothing of this.
        from motiflux.gpu.multi.engine import open_several

        kind = GPU_DEVICE if device == "auto" else device
        return open_several(request, kind), _asked(request)
    if device in ("auto", "cpu") and engine in ("auto", "cpu"):
        if asked := _asked(request):
            return CpuEngine(), asked
        why_not = gpu.why_not()
        return (AutoEngine(CpuEngine(), gpu), "") if why_not is None else (CpuEngine(), why_not)
    if engine == "cpu":
        raise DeviceError(f"engine='cpu' runs on device='cpu', found device={device!r}")
    if device == "cpu":
        raise DeviceError(f"engine={engine!r} runs on a GPU (device={GPU_DEVICE!r}), found device='cpu'")
    # Imported here: a search on the CPU needs nothing of this.
    from motiflux.gpu.engine import DfsEngine
    from motiflux.gpu.runtime.accelerator import open_accelerator

    try:
        accelerator = open_accelerator(GPU_DEVICE if device == "auto" else device)
    except DeviceError as error:
        if device == "auto" and type(error) is DeviceError:
            raise DeviceError(f"engine={engine!r} runs on a GPU: {error}") from error
        raise
    return DfsEngine(accelerator), _asked(request)


def _asked(request: Request) -> str:
    """Return what of `request` leaves no choice; empty if nothing does."""
    options = {"device": request.device, "engine": request.engine}
    asked = [f"{option}={value!r}" for option, value in options.items() if value != "auto"]
    if request.devices is not None:
        asked.append(f"devices={request.devices!r}")
    return f"asked for by {' and '.join(asked)}" if asked else ""


def start_rows(
    engine: Engine, why: str, graph: Graph, plan: Plan, request: Request, batch_rows: int, started: float
) -> tuple[RowSource, Ran]:
    """Start an enumeration by an engine that was chosen and its plan; return its rows, and who searches."""
    if isinstance(engine, AutoEngine):
        return engine.start_rows(graph, plan, request, batch_rows, started)
    return engine.rows(graph, plan, request, batch_rows, started), Ran(engine.name, engine.device, why)
