"""Compare random calls of motiflux with `motiflux.cpu.reference`, on the CPU or a device.

    python scripts/fuzz.py --seconds 60 --processes 4
    python scripts/fuzz.py --device cuda --seconds 600

Each case is one call of `count`, `match` or `estimate` with options drawn at random. A difference is printed
as a small program that shows it. The summary tells which engine answered on which device.

Exit codes: 0 nothing differs, 1 something does or nothing was compared, 130 interrupted.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.fuzz.run import main

if __name__ == "__main__":
    raise SystemExit(main())
