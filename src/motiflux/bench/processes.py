"""Processes that suites time from their first call on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def with_bytecode(folder: Path, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return an environment whose processes keep the bytecode of modules, in a folder of their own.

    Where Python writes none, each process compiles all modules that it imports, which takes longer than the
    imports; after an installation no process does. The first process with this environment compiles them: it
    is not to be timed.

    Examples
    --------
    >>> with_bytecode(Path("kept"), {"PYTHONDONTWRITEBYTECODE": "1"})
    {'PYTHONPYCACHEPREFIX': 'kept'}
    """
    kept = {name: value for name, value in environment.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(folder)}
