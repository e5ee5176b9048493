"""The memory that a process takes for the search of a sharded graph, as the system counts it.

``python -m tests.sharded_memory BYTES`` prints one line of JSON. Memory of extensions counts, too.
"""

from __future__ import annotations

import ctypes
import json
import sys
import threading
import time
from pathlib import Path
from types import TracebackType

import numpy as np

import motiflux as mf
from tests.unit.test_sharded_search import search_of

TRIANGLE = "(a)--(b)--(c)--(a)"
_M_MMAP_THRESHOLD = -3
_PR_SET_THP_DISABLE = 41
_LOOK_SECONDS = 0.0005


class Peak:
    """The most anonymous memory of this process in a ``with`` block, beyond that at its beginning.

    From its making on, freed memory goes back to the system, and pages are small: when it finds the time, the
    system makes a large page, of 2 MB, out of a few small ones.
    """

    def __init__(self) -> None:
        self.nbytes = 0
        self._ended = False
        self._thread = threading.Thread(target=self._look)
        self._system = ctypes.CDLL(None)
        self._system.prctl(_PR_SET_THP_DISABLE, 1, 0, 0, 0)
        self._system.mallopt(_M_MMAP_THRESHOLD, 1 << 16)

    def __enter__(self) -> Peak:
        self._system.malloc_trim(0)
        self._before = _anonymous()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = True
        self._thread.join()

    def _look(self) -> None:
        while not self._ended:
            self.nbytes = max(self.nbytes, _anonymous() - self._before)
            time.sleep(_LOOK_SECONDS)


def _anonymous() -> int:
    # The counters of /proc/self/status are summed up now and then, and off by up to megabytes at load.
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    (found,) = (line for line in lines if line.startswith("Anonymous:"))
    return 1024 * int(found.split()[1])


def main(memory: int) -> None:
    """Measure a search."""
    peak = Peak()
    ends = np.random.default_rng(1).integers(0, 20_000, (1_200_000, 2))
    few = mf.Graph.from_edges(ends[:3_000], self_loops="drop")
    small, sizes, _ = search_of(few, TRIANGLE, memory)
    graph = mf.Graph.from_edges(ends, self_loops="drop")
    search, layout, _ = search_of(graph, TRIANGLE, memory)
    whole, _, _ = search_of(graph, TRIANGLE, 1 << 30)
    assert small is not None
    assert search is not None
    assert whole is not None
    first, last = layout.entries // 4, layout.entries // 4 + layout.entries // 16
    small.each(0, sizes.entries, None, None, small.counted)  # imports and compiles
    search.each(last, last + layout.entries // 32, None, None, search.counted)
    with peak:
        found = search.each(first, last, None, None, search.counted)
    expected = whole.each(first, last, None, None, whole.counted).total
    facts = {"rows": layout.nbytes, "peak": peak.nbytes, "parts": found.parts}
    print(json.dumps({**facts, "total": found.total, "expected": expected}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
