"""How fast text is parsed and written on one thread: ``python benchmarks/micro/parse.py``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from motiflux import _native
from motiflux.bench.measure import repeat

EDGES = 1_000_000
CHUNK = 4 << 20
"""Bytes fed at once, as the readers do."""


def main() -> None:
    edges = np.random.default_rng(1).integers(0, 100_000, (EDGES, 2))
    lines = _native.format_csv(edges).replace(b",", b" ")
    vertices = b"".join(b"v %d 0\n" % vertex for vertex in range(100_000))
    graph = vertices + b"".join(b"e %s\n" % line for line in lines.splitlines())
    report("edge list", len(lines), lambda: feed(_native.EdgeListParser(), lines))
    report(".graph", len(graph), lambda: feed(_native.GraphFileParser(False), graph))
    report(".csv rows", len(lines), lambda: _native.format_csv(edges))


def feed(parser: _native.EdgeListParser | _native.GraphFileParser, text: bytes) -> None:
    for start in range(0, len(text), CHUNK):
        parser.feed(text[start : start + CHUNK])
    parser.finish()


def report(what: str, size: int, call: Callable[[], object]) -> None:
    _, seconds = repeat(call)
    print(f"{what:<10} {size / seconds.min / 1e6:5.0f} MB/s")


if __name__ == "__main__":
    main()
