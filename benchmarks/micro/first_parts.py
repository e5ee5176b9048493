"""The parts of a process's first count of a graph file: ``first_parts.py GRAPH.mfg DEVICE PATTERN``.

Prints a line for each part: its begin and end in seconds after the file was asked for, its seconds, its
thread, and what it is. Parts lie within each other and beside each other. Modules are imported when they are
needed, as in any first call. The last line is the second count.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import motiflux as mf

PARTS = {
    "motiflux.io.binary.mfg": {"_Opened._check": "check of the file"},
    "motiflux.device.cuda": {"open_device": "driver and device"},
    "motiflux.gpu.runtime.accelerator": {
        "_for_cuda": "compiler",
        "Accelerator._compiled": "kernel compiled or found",
        "Accelerator._module": "kernel found and loaded",
    },
    "motiflux.jit.compiler": {"Compiler.known": "whether a kernel is known", "Compiler._load": "kernel read"},
    "motiflux.jit.nvrtc": {"NvrtcToolchain.identity": "NVRTC loaded, versions"},
    "motiflux.gpu.engine": {"DfsEngine.plan_ahead": "planned ahead", "DfsEngine.plan": "planned"},
    "motiflux.request.planning": {"logical_plan": "logical plan"},
    "motiflux.gpu.storage.upload": {"Stage.of": "memory pinned"},
    "motiflux.gpu.storage.device_csr": {
        "DeviceCsr._send": "rows to the device",
        "upload_row_ends": "neighbours to the device",
        "_kept": "where rows begin to have greater neighbours",
    },
    "motiflux.gpu.launch.prepare": {"prepare": "search set up"},
    "motiflux.gpu.runtime.job": {
        "KernelJob.launch": "launch",
        "KernelJob.result": "result",
        "KernelJob.close": "job closed",
    },
}
IMPORTED = (
    "numpy",
    "cuda.bindings.driver",
    "cuda.core",
    "motiflux.dispatch.choose",
    "motiflux.gpu.engine",
    "motiflux.gpu.outofcore.fitting",
)
"""Modules whose import is a part, with all that they import first."""


class Noted:
    """Parts in the order of their ends."""

    def __init__(self) -> None:
        self.begun = time.perf_counter()
        self.parts: list[tuple[float, float, str, str]] = []

    def timed(self, part: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that does the same and notes when."""

        @functools.wraps(work)
        def noting(*arguments: Any, **named: Any) -> Any:
            begun = time.perf_counter()
            try:
                return work(*arguments, **named)
            finally:
                is_main = threading.current_thread() is threading.main_thread()
                thread = "main" if is_main else threading.current_thread().name
                self.parts.append((begun - self.begun, time.perf_counter() - self.begun, thread, part))

        return noting

    def wrap(self, module: ModuleType) -> None:
        """Have the functions of a module that are parts be noted."""
        for path, part in PARTS.get(module.__name__, {}).items():
            owner: Any = module
            *owners, name = path.split(".")
            for one in owners:
                owner = getattr(owner, one)
            found = owner.__dict__[name]
            if isinstance(found, classmethod | staticmethod):
                setattr(owner, name, type(found)(self.timed(part, found.__func__)))
            else:
                setattr(owner, name, self.timed(part, found))


class Finder(importlib.abc.MetaPathFinder):
    """Lets others find modules, and notes their imports."""

    def __init__(self, noted: Noted) -> None:
        self._noted = noted

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return what the other finders find, with a loader that notes the import."""
        if name not in PARTS and name not in IMPORTED:
            return None
        others = (one for one in sys.meta_path if one is not self)
        spec = next((found for one in others if (found := one.find_spec(name, path, target))), None)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module
        if name in IMPORTED:
            load = self._noted.timed(f"import of {name}", load)

        def load_and_wrap(module: ModuleType) -> None:
            load(module)
            self._noted.wrap(module)

        spec.loader.exec_module = load_and_wrap  # type: ignore[method-assign]
        return spec


def main(path: str, device: str, pattern: str) -> None:
    """Count twice, and print the parts of the first count."""
    noted = Noted()
    for module in list(sys.modules.values()):
        if module.__name__ in PARTS:
            noted.wrap(module)
    sys.meta_path.insert(0, Finder(noted))
    options: dict[str, Any] = {"device": device, "engine": "dfs", "symmetry": "subgraphs"}
    noted.begun = time.perf_counter()
    graph = mf.read_graph(path)
    opened = time.perf_counter() - noted.begun
    count = int(mf.count(graph, pattern, **options))
    first = time.perf_counter() - noted.begun
    parts = [*noted.parts, (0.0, opened, "main", "file opened"), (0.0, first, "main", "all of it")]
    begun = time.perf_counter()
    assert int(mf.count(graph, pattern, **options)) == count
    again = time.perf_counter() - begun
    for start, end, thread, part in sorted(parts):
        print(f"{start:7.3f} {end:7.3f}  {end - start:6.3f}  {thread:<44} {part}")
    print(f"second count: {again:.3f} s, {count:,} found")


if __name__ == "__main__":
    main(*sys.argv[1:])
