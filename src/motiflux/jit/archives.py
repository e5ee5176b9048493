"""Where the archives of compiled units are that come with the package.

`motiflux.jit.prebuilt` reads them. A call that counts on the CPU only asks whether there are any.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "cubins"
"""The folder of the archives."""


def has_archives() -> bool:
    """Whether the package has compiled kernels for any architecture."""
    return any(FOLDER.glob("*.zip"))
