"""The first count of a graph file in a process of its own: ``child.py GRAPH.mfg DEVICE PATTERN``.

It prints one JSON object: seconds of the first call, with opening the file, and of the second one, and the
process's memory at its peak, in bytes.
"""

from __future__ import annotations

import json
import resource
import sys
import time

import motiflux as mf


def main(path: str, device: str, pattern: str) -> None:
    """Count twice."""
    begun = time.perf_counter()
    graph = mf.read_graph(path)
    options = {"device": device, "engine": "dfs", "symmetry": "subgraphs"}
    count = int(mf.count(graph, pattern, **options))  # type: ignore[arg-type]
    first = time.perf_counter()
    mf.count(graph, pattern, **options)  # type: ignore[arg-type]
    again = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"count": count, "first": first - begun, "again": again - first, "peak": peak}))


if __name__ == "__main__":
    main(*sys.argv[1:])
