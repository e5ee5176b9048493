"""Whether progress is shown."""

from __future__ import annotations

import sys


def search_progress(flag: bool | None) -> bool:
    """Resolve ``--progress/--no-progress``: without either, yes if stderr is a terminal."""
    return sys.stderr.isatty() if flag is None else flag
