"""Where shared data lies: graphs and counts too large, or not free, to keep in the repository.

The environment variable ``MOTIFLUX_SHARED`` names the folder; otherwise it is ``shared`` beside the
repository. Tests that need what is not there are skipped by name.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


def shared_dir() -> Path:
    """Return the folder of shared data, which need not exist."""
    named = os.environ.get("MOTIFLUX_SHARED")
    return Path(named) if named else REPOSITORY.parent / "shared"


def shared_path(*parts: str) -> Path:
    """Return a file or folder of the shared data; skip the test that asks if it is absent."""
    path = shared_dir().joinpath(*parts)
    if not path.exists():
        pytest.skip(f"no {Path(*parts)} in the shared data ({shared_dir()})")
    return path


def shared_names(folder: str, suffix: str) -> list[str]:
    """Return the sorted names of a shared folder's files with this suffix; none if it is absent."""
    return sorted(path.name for path in shared_dir().joinpath(folder).glob(f"*{suffix}"))


def or_skip(cases: Sequence[Any], what: str, *, values: int = 1) -> list[Any]:
    """Return the cases; where shared data is absent, one case of so many values that is skipped by name."""
    absent = pytest.mark.skip(reason=f"no {what} in the shared data ({shared_dir()})")
    return list(cases) or [pytest.param(*[None] * values, id="absent", marks=absent)]
