"""Query WordNet, find the structures planted in a million transfers, then replay them as a stream.

With a graph file and a pattern file: count the matches, show the first ones and the plan.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import files
import live
import network
import words
from rich.console import Console
from show import say

from motiflux.errors import MotifluxError

PICTURE = Path(__file__).resolve().parent / "out" / "ring.svg"
EXIT_FAILED = 1
EXIT_USAGE = 2


def main() -> int:
    """Run the demo; 0 if all went well."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--graph", help="your own graph file; needs --pattern")
    parser.add_argument("--pattern", help="a pattern file")
    direction = parser.add_mutually_exclusive_group()
    direction.add_argument("--directed", dest="directed", action="store_true", default=None)
    direction.add_argument("--undirected", dest="directed", action="store_false")
    parser.add_argument("--transfers", type=int, default=1_000_000, help="number of generated transfers")
    parser.add_argument("--rings", type=int, default=25, help="number of planted structures of each kind")
    parser.add_argument("--seed", type=int, default=7, help="random seed of the network")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="SVG file for a picture of a ring")
    options = parser.parse_args()
    if (options.graph is None) != (options.pattern is None):
        parser.error("--graph and --pattern go together (make demo GRAPH=file PATTERN=file)")

    console, start = Console(), time.perf_counter()
    try:
        if options.graph is not None:
            files.run(console, options.graph, options.pattern, options.directed)
            return 0
        drawn = network.plan(options.transfers, options.rings, options.seed)
        words.run(console)
        held = network.run(console, drawn, options.picture)
        held = live.run(console, drawn) and held
    except MotifluxError as error:
        say(Console(stderr=True), f"error: {error}")
        return EXIT_USAGE
    except KeyboardInterrupt:
        say(Console(stderr=True), "interrupted")
        return EXIT_FAILED
    verdict = "all checks passed" if held else "SOME CHECKS FAILED"
    say(console, f"{verdict}; {time.perf_counter() - start:.1f} s in total")
    return 0 if held else EXIT_FAILED


if __name__ == "__main__":
    sys.exit(main())
