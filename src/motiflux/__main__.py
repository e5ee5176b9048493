"""``python -m motiflux`` is the command ``motiflux``."""

from __future__ import annotations

from motiflux.cli import main

if __name__ == "__main__":
    main()
