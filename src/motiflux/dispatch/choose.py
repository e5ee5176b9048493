"""The engine that serves a request, and the reason in words."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

from motiflux.device import begin_opening
from motiflux.device.presence import why_no_gpu
from motiflux.dispatch.auto import AutoEngine
from motiflux.dispatch.gpu_probe import DEVICE as GPU_DEVICE
from motiflux.dispatch.gpu_probe import CudaGpu, Gpu
from motiflux.errors import DeviceError
from motiflux.graph import Graph
from motiflux.pattern import Pattern
from motiflux.request.deadline import Deadline
from motiflux.request.devices import asked_for, names_of
from motiflux.request.engine import Engine
from motiflux.request.registry import AUTO_ON_GPU, COMPARES, ENGINES, HOST_ENGINE
from motiflux.request.request import Request
from motiflux.request.stand_in import CPU_ASKED, StandIn

GPU = CudaGpu()
"""The GPU that ``device="auto"`` may take."""


def choose_engine(
    request: Request, gpu: Gpu = GPU, *, patterns: Sequence[Pattern] = ()
) -> tuple[Engine, str]:
    """Return the engine for `request` and the reason in words.

    If the choice depends on a plan, the engine is an `AutoEngine`, whose plans contain the reason. Patterns
    with negated edges between query vertices, and choices of copies, are for the CPU, whatever is asked for;
    those with comparisons between attributes unless ``dfs`` or a GPU is asked for.

    Raises
    ------
    DeviceError
        The device asked for does not exist, or has no such engine.
    """
    if request.elsewhere is not None:
        who: StandIn = request.elsewhere
        why = _why_host(request, patterns)
        return who.engine(CPU_ASKED if why is None and request.device == "cpu" else why)
    device, engine = request.device, request.engine
    if (why := _why_host(request, patterns)) is not None:
        others = " and ".join(repr(one) for one in (device, engine) if one not in ("auto", "cpu"))
        return open_engine(HOST_ENGINE, ()), f"{why}{f', not {others}' if others else ''}"
    asked = asked_for(device, engine, request.devices)
    on_host = engine != "auto" and not ENGINES[engine].on_gpu
    if on_host and request.devices is not None:
        raise DeviceError(f"engine={engine!r} runs on device='cpu', found devices={request.devices!r}")
    if request.devices is None and device in ("auto", "cpu") and (on_host or engine == "auto"):
        host = open_engine(HOST_ENGINE, ())
        if asked:
            return host, asked
        why_not = gpu.why_not()
        return (AutoEngine(host, gpu), "") if why_not is None else (host, why_not)
    if on_host:
        raise DeviceError(f"engine={engine!r} runs on device='cpu', found device={device!r}")
    if device == "cpu":
        raise DeviceError(f"engine={engine!r} runs on a GPU (device={GPU_DEVICE!r}), found device='cpu'")
    kind = GPU_DEVICE if device == "auto" else device
    if engine == "auto" and any(pattern.comparisons for pattern in patterns):
        engine = COMPARES
    try:
        names = (kind,) if request.devices is None else names_of(kind, request.devices)
        return open_engine(engine, names), asked
    except DeviceError as error:
        if device == "auto" and request.devices is None and type(error) is DeviceError:
            raise DeviceError(f"engine={engine!r} runs on a GPU: {error}") from error
        raise


def _why_host(request: Request, patterns: Sequence[Pattern]) -> str | None:
    """Return the reason for the CPU if no other engine can execute a request; None if others can."""
    if any(pattern.comparisons for pattern in patterns) and not _compares(request):
        return "the CPU engine compares attributes"
    if any(pattern.negated_pairs for pattern in patterns):
        return "the CPU engine looks for negated edges"
    return "the CPU engine counts and lists copies" if request.copies else None


def _compares(request: Request) -> bool:
    """Return whether a request asks for the engine on GPUs that compares attributes, or for a GPU."""
    on_gpu = request.device not in ("auto", "cpu") or request.devices is not None
    return request.engine == COMPARES or (request.engine == "auto" and on_gpu)


def begin_first_call(
    graph: Graph,
    patterns: Sequence[Pattern],
    request: Request,
    deadline: Deadline | None,
    *,
    counting: bool = True,
) -> None:
    """Begin what the first call with a GPU waits for, before `choose_engine` waits for it.

    The driver opens a GPU in some tenths of a second, on one thread, which then loads the compiler. Meanwhile
    modules are imported, the rows of a graph file, which planning needs, are read and checked on all threads,
    and patterns are planned until the GPU is open. Errors are raised where the engine is chosen, or plans.

    Parameters
    ----------
    deadline
        That of the call; None if its time has not begun: nothing is planned then.
    counting
        Whether embeddings are counted, or listed.
    """
    if request.elsewhere is not None or (request.device in ("auto", "cpu") and request.devices is None):
        return
    if _why_host(request, patterns) is not None:
        return
    is_opening = request.devices is None and begin_opening(request.device)
    graph.forward.begin()
    if is_opening and (request.engine == "auto" or ENGINES[request.engine].on_gpu):
        _plan_while_opening(graph, patterns, request, deadline, counting=counting)


def _plan_while_opening(
    graph: Graph, patterns: Sequence[Pattern], request: Request, deadline: Deadline | None, *, counting: bool
) -> None:
    """Open a GPU on a thread, and plan until it is open; plans are kept with the graph."""
    if request.device.partition(":")[0] == GPU_DEVICE and why_no_gpu() is not None:
        return  # opening it fails, which planning must not delay
    plan_ahead = import_module(_module_of(request.engine)).plan_ahead
    from motiflux.gpu.runtime.accelerator import begin_accelerator

    opening = begin_accelerator(request.device)
    for pattern in () if deadline is None else patterns:
        if opening is None or not opening.is_alive():
            return
        with suppress(Exception):  # the engine plans again, and raises its error
            plan_ahead(graph, pattern, request, deadline, counting=counting)


def open_engine(name: str, devices: Sequence[str]) -> Engine:
    """Return the engine of a name on these devices; ``auto`` is that of GPUs.

    Raises
    ------
    DeviceError
        One of the devices cannot be used.
    """
    engine: Engine = import_module(_module_of(name)).open_engine(devices)
    return engine


def _module_of(name: str) -> str:
    return AUTO_ON_GPU if name == "auto" else ENGINES[name].module
