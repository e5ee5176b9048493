"""How long rows may be chosen and copied: ``cache_spending.py [DEVICE] [SCALE] [QUERY...]``.

Batches of 4,096 updates of the suite ``outofcore``, by the policy ``frequency``, for several shares of the
time of searches (`motiflux.gpu.outofcore.spending`):

    first      of the time of the first search, for choosing and for copying each, besides
    choosing   of the time of all searches
    copying    likewise
    run        most of the expected time of its search that one run may spend on choosing; on copying, half
    walks      where they are: `access_walks`

It prints milliseconds of a batch, the median and the mean of those after the first, and of these means the
parts: choosing, copying, and the search; rows that were copied; whether the changes are those of the first
line.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple


class Shares(NamedTuple):
    """Shares of the time of searches, and where walks are."""

    first: float = 1.0
    choosing: float = 0.09
    copying: float = 0.045
    run: float = 0.1
    walks: str = "auto"


TRIED = (
    Shares(choosing=0.06, copying=0.04, run=10, walks="weighted"),
    Shares(),
    Shares(first=0.5),
    Shares(first=0.25),
    Shares(run=0.3),
    Shares(walks="weighted"),
    Shares(walks="device"),
)


def main(device: str = "cuda", scale: str = "24", *queries: str) -> None:
    """Apply the batches with each of the shares."""
    os.environ |= {"MOTIFLUX_DEVICE": device, "MOTIFLUX_RMAT": scale}

    from motiflux.bench.suite import load_part
    from motiflux.gpu.outofcore import spending

    suite = load_part(Path(__file__).resolve().parents[1] / "suite/outofcore.py")
    world = suite.skewed()
    for query in queries or ("Q3", "Q6"):
        known = None
        for tried in TRIED:
            spending.OF_FIRST_SEARCH, spending.OF_SEARCH_CHOOSING, spending.OF_SEARCH_COPYING = tried[:3]
            spending.OF_RUN_CHOOSING, spending.OF_RUN_COPYING = tried.run, tried.run / 2
            way = suite.Way("outofcore", {"cache": "frequency", "access_walks": tried.walks})
            found = suite.applied(world, [suite.QUERIES[query]], suite.BATCH, way)
            known = known or found.changes
            parts = found.figures
            names = ("batch_seconds", "choose_seconds", "copy_seconds", "search_seconds")
            mean, *others = (1e3 * parts[name] for name in names)
            print(
                f"{query} {tried.first:5.2f} {tried.choosing:5.2f} {tried.copying:5.2f} {tried.run:5.2f}"
                f" {tried.walks:<8}"
                f"  median {1e3 * found.seconds:8.2f}  mean {mean:8.2f}"
                f"  choose {others[0]:7.2f} ({others[0] / mean:.1%})"
                f"  copy {others[1]:7.2f} ({others[1] / mean:.1%})"
                f"  search {others[2]:8.2f}  copied {parts['cache_copied']:8.0f}"
                f"  same {found.changes == known}",
                flush=True,
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
