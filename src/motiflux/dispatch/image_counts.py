"""Who counts per vertex, per edge and orbits: the CPU, or one GPU."""

from __future__ import annotations

from importlib import import_module

from motiflux.cpu.image_counter import HostImageCounter
from motiflux.dispatch.gpu_probe import DEVICE as GPU_DEVICE
from motiflux.errors import DeviceError
from motiflux.request.devices import names_of
from motiflux.request.images import ImageCounter
from motiflux.request.registry import ENGINES, HOST_ENGINE, IMAGES_ON_GPU, IMAGES_ON_GPU_BY
from motiflux.request.request import Request
from motiflux.request.stand_in import CPU_ASKED, StandIn


def choose_image_counter(request: Request, what: str) -> ImageCounter:
    """Return who counts what a request asks for. ``device="auto"`` is the CPU unless ``engine`` says other.

    Parameters
    ----------
    what
        What is counted, for errors: "counts per vertex and edge".

    Raises
    ------
    DeviceError
        The device asked for does not exist, or cannot count this.
    """
    if request.elsewhere is not None:
        who: StandIn = request.elsewhere
        return who.image_counter(CPU_ASKED if request.device == "cpu" else None)
    device, engine = request.device, request.engine
    if engine not in ("auto", HOST_ENGINE, IMAGES_ON_GPU_BY):
        known = f"engine={HOST_ENGINE!r} or engine={IMAGES_ON_GPU_BY!r}"
        raise DeviceError(f"{what} are made by {known}, found engine={engine!r}")
    on_gpu = engine != "auto" and ENGINES[engine].on_gpu
    if device in ("auto", "cpu") and request.devices is None and not on_gpu:
        asked = device == "cpu" or engine != "auto"
        return HostImageCounter(CPU_ASKED if asked else f"{what} are made on the CPU by default")
    if device == "cpu" or engine == HOST_ENGINE:
        raise DeviceError(
            f"engine={engine!r} runs on {'a GPU' if on_gpu else 'the CPU'}, found device={device!r}"
            f" and devices={request.devices!r}"
        )
    kind = GPU_DEVICE if device == "auto" else device
    names = (kind,) if request.devices is None else names_of(kind, request.devices)
    if len(names) > 1:
        raise DeviceError(f"{what} are made on one GPU, found devices={request.devices!r}")
    counter: ImageCounter = import_module(IMAGES_ON_GPU).open_counter(names[0])
    return counter
