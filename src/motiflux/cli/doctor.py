"""``motiflux doctor``: what works here, what does not, and what to do about it."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
import importlib.util
import os
import platform
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from motiflux.bench.machine import cpu_model
from motiflux.cli import options as opt
from motiflux.cli.exits import ExitCode
from motiflux.cli.output import print_json, print_table

HELP = "Check this installation: what works, what is missing, what to do."

MINIMUM_PYTHON = (3, 11)
NVIDIA_DRIVER = Path("/proc/driver/nvidia/version")
SET_UP = "in the clone: make setup"
NO_GPU_ENGINE = "not needed: this version runs every search on the CPU"


@dataclass(frozen=True)
class Check:
    """One thing looked at. What is not `required` may be missing."""

    check: str
    ok: bool
    required: bool
    found: str
    advice: str = ""


def run(as_json: opt.JsonOption = False) -> ExitCode:
    """Look at everything, and leave with 0 when the CPU engine works."""
    checks = [
        _python(),
        _package("motiflux"),
        _package("numpy"),
        _extension(),
        _processor(),
        _nvidia_driver(),
        _module("cupy"),
        _module("cuda.core"),
    ]
    works = all(check.ok for check in checks if check.required)
    if as_json:
        print_json({"ok": works, "checks": [asdict(check) for check in checks]})
    else:
        rows = [[_mark(check), check.check, check.found, check.advice] for check in checks]
        print_table("motiflux doctor", ["", "check", "found", "what to do"], rows)
        print("The CPU engine works." if works else "The CPU engine does not work: see above.")
    return ExitCode.DONE if works else ExitCode.NO_DEVICE


def _mark(check: Check) -> str:
    if check.ok:
        return "ok"
    return "FAIL" if check.required else "-"


def _python() -> Check:
    good = sys.version_info[:2] >= MINIMUM_PYTHON
    advice = "" if good else "install Python {}.{} or newer".format(*MINIMUM_PYTHON)
    return Check("Python", good, True, f"{platform.python_version()} ({platform.platform()})", advice)


def _package(name: str) -> Check:
    try:
        return Check(name, True, True, version(name))
    except PackageNotFoundError:
        return Check(name, False, True, "not installed", SET_UP)


def _extension() -> Check:
    """Load the extension and count something whose answer is known: K4 has four triangles."""
    try:
        import motiflux as mf

        complete_graph = mf.Graph.from_edges([(u, v) for u in range(4) for v in range(u)])
        triangle = mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0)])
        found = int(mf.count(complete_graph, triangle, symmetry="subgraphs", engine="cpu"))
    except Exception as error:  # noqa: BLE001 - whatever is wrong is the finding
        return Check("CPU engine", False, True, f"{type(error).__name__}: {error}", f"rebuild it {SET_UP}")
    if found != 4:
        return Check(
            "CPU engine", False, True, f"self-test: {found} triangles in K4, not 4", "report this as a bug"
        )
    return Check("CPU engine", True, True, "loads, and passes its self-test")


def _processor() -> Check:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return Check("CPU", True, False, f"{cpu_model()}, {usable} of {os.cpu_count()} cores usable")


def _nvidia_driver() -> Check:
    try:
        found = NVIDIA_DRIVER.read_text(encoding="utf-8", errors="replace").splitlines()[0]
    except (OSError, IndexError):
        return Check("NVIDIA driver", False, False, "not present", NO_GPU_ENGINE)
    return Check("NVIDIA driver", True, False, found)


def _module(name: str) -> Check:
    """Say whether a module can be found, without importing it or its package."""
    if _is_installed(name):
        return Check(name, True, False, "installed")
    return Check(name, False, False, "not installed", NO_GPU_ENGINE)


def _is_installed(name: str) -> bool:
    package, _, module = name.partition(".")
    spec = importlib.util.find_spec(package)
    if spec is None or not module:
        return spec is not None
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    return any((folder / module).is_dir() or (folder / f"{module}.py").is_file() for folder in folders)
