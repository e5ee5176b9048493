"""A guess whether this machine has a GPU, without the driver, which takes a tenth of a second."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_DEVICE_FILES = ("/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-gpu", "/dev/nvgpu")
"""Files of the driver: on Linux, on its Windows subsystem, on boards. One exists if the driver does."""
_LIBRARY = "System32/nvcuda.dll"
_NONE_VISIBLE = ("", "-1")
_PACKAGE = "cuda.bindings"


@cache
def why_no_gpu() -> str | None:
    """Return the reason, in words, why no GPU can be used; None if there may be one. Cached per process.

    Nothing of CUDA is imported. After None, opening the device may still fail.
    """
    return look(os.environ, Path("/"), has_packages)


def look(environment: Mapping[str, str], root: Path, packages: Callable[[], bool]) -> str | None:
    """Return the reason why no GPU can be used with these variables, files and packages; None if one may be.

    Examples
    --------
    >>> look({"CUDA_VISIBLE_DEVICES": ""}, Path("/"), lambda: True)
    'CUDA_VISIBLE_DEVICES hides every GPU'
    """
    if environment.get("CUDA_VISIBLE_DEVICES", "0").strip() in _NONE_VISIBLE:
        return "CUDA_VISIBLE_DEVICES hides every GPU"
    if sys.platform == "win32":
        driver = Path(environment.get("SystemRoot", "C:/Windows"), _LIBRARY).exists()
    else:
        driver = any((root / name.lstrip("/")).exists() for name in _DEVICE_FILES)
    if not driver:
        return "no GPU was found"
    if not packages():
        return "the GPU packages are not installed (motiflux[gpu])"
    return None


def has_packages() -> bool:
    """Return whether the GPU packages are installed."""
    try:
        return find_spec(_PACKAGE) is not None
    except (ImportError, ValueError):
        return False
