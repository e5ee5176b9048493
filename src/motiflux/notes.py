"""Notes: warnings of calls that went on, shown at the line of the caller's code."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

from motiflux.errors import MotifluxWarning

_PACKAGE = str(Path(__file__).parent) + os.sep


def note(message: str) -> None:
    """Warn with a `MotifluxWarning` that names the first line outside of motiflux on the way to this call."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, MotifluxWarning, stacklevel=level)
