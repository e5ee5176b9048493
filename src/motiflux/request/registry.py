"""The engines that ``engine=`` names. A new engine needs one entry here and one package."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EngineEntry:
    """One engine.

    Parameters
    ----------
    module
        The module whose function ``open_engine(names)`` returns the engine on the devices of these names
        (`motiflux.request.engine.Engine`). It is imported on first use: the CPU engine needs no GPU modules.
        That of an engine on GPUs also has a function ``plan_ahead(graph, pattern, request, deadline, *,
        counting)``, which leaves with the graph what the engine's plan takes long for, as far as that does
        not depend on the devices.
    on_gpu
        Whether the engine runs on GPUs; else it runs on the CPU.
    """

    module: str
    on_gpu: bool


ENGINES = {
    "cpu": EngineEntry("motiflux.cpu.engine", on_gpu=False),
    "dfs": EngineEntry("motiflux.gpu.engine", on_gpu=True),
    "outofcore": EngineEntry("motiflux.gpu.outofcore.search", on_gpu=True),
    "pvm": EngineEntry("motiflux.gpu.pvm.engine", on_gpu=True),
}
"""All engines by name."""

HOST_ENGINE = "cpu"
"""The default engine on the CPU."""

AUTO_ON_GPU = "motiflux.gpu.outofcore.fitting"
"""The module of ``engine="auto"`` on GPUs: ``dfs``, or ``pvm`` or ``outofcore`` where that lacks memory."""

COMPARES = "dfs"
"""The engine on GPUs that compares attributes."""

OUT_OF_CORE = "outofcore"
"""The engine on GPUs whose edges stay in memory of the host."""

PHASES = "pvm"
"""The engine on GPUs that searches in phases and has a part of the edges on the device at a time."""

IMAGES_ON_GPU = "motiflux.gpu.images.counter"
"""The module whose function ``open_counter(name)`` returns who counts by images on a GPU."""

IMAGES_ON_GPU_BY = "dfs"
"""The engine whose kernels count by images on a GPU."""
