"""Compare a Monitor with counts of the graph at intervals, over a million random updates.

    python scripts/fuzz_streams.py [--updates 1000000] [--seed N] [--length 20000] [--device cuda]
                                     [--devices 2]

Graphs, patterns, options and the sizes of calls are drawn at random. A difference is printed with the command
that runs its stream again.

Exit codes: 0 nothing differs, 1 something does, 130 interrupted.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.fuzz.updates import main

if __name__ == "__main__":
    raise SystemExit(main())
