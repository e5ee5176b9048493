"""CPU seconds of building graphs from Arrow tables of 500,000 edges with strings: ids, and attributes."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyarrow as pa

import motiflux as mf

EDGES = 500_000


def seconds(table: Any) -> float:
    """Return the least CPU time of five."""
    taken = []
    for _ in range(5):
        start = time.process_time()
        mf.Graph.from_table(table, threads=1, self_loops="drop")
        taken.append(time.process_time() - start)
    return min(taken)


def main() -> None:
    """Print a line for each table."""
    sources = np.arange(EDGES)
    ends = {"src": sources, "dst": (sources * 7 + 1) % (EDGES + 1)}
    all_differ = pa.array([f"note {row * 7919 % EDGES}" for row in range(EDGES)])
    few = pa.array([f"note {row % 10}" for row in range(EDGES)])
    names = pa.table({"src": all_differ, "dst": few})
    tables = {
        "integers": pa.table(ends),
        "and an attribute, 500,000 different strings": pa.table({**ends, "note": all_differ}),
        "and an attribute, 10 different strings": pa.table({**ends, "note": few}),
        "and that coded, batches of 1,000": pa.Table.from_batches(
            pa.table({**ends, "note": all_differ.dictionary_encode()}).to_batches(max_chunksize=1000)
        ),
        "strings as ids": names,
        "strings as ids, batches of 1,000": pa.Table.from_batches(names.to_batches(max_chunksize=1000)),
    }
    for name, table in tables.items():
        print(f"{seconds(table):7.3f} s  {name}")


if __name__ == "__main__":
    main()
