"""Shared graphs, cases and counts, read once per test run."""

from __future__ import annotations

import csv
import gzip
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import motiflux as mf
from tests.data_paths import shared_dir, shared_path

SECONDS = 60
"""Time that a case may take; of the few that may take longer, the partial count is judged instead."""

UNFINISHED: list[str] = []
"""Cases that the clock cut, for the summary of the test run."""


@lru_cache(maxsize=6)
def data_graph(name: str, directed: bool | None = None) -> Any:
    """Read ``data/<name>.npz``; ``directed=False`` merges the two arcs of a pair."""
    return mf.read_graph(shared_path("data", f"{name}.npz"), directed=directed)


def oracle_json(*parts: str) -> Any:
    """Read a JSON file of the oracle; None where there is no shared data (while tests are collected)."""
    path = shared_dir().joinpath("oracle", *parts)
    return json.loads(path.read_text()) if path.exists() else None


def peer_counts(folder: str) -> dict[tuple[str, str], int]:
    """Embeddings per (graph, query) that every system but STMatch, whose counts are wrong, agrees on.

    The rule of `benchmarks/suite/skeleton.py`, written again: what judges shares no code with what it judges.
    """
    path = shared_dir() / "oracle" / folder / "h100_peers.csv"
    if not path.exists():
        return {}
    counts: dict[tuple[str, str], set[int]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["system"] != "stmatch" and row["embeddings"].isdigit():
                case = row["graph"].removesuffix(".graph"), row["query"]
                counts.setdefault(case, set()).add(int(row["embeddings"]))
    return {case: found.pop() for case, found in counts.items() if len(found) == 1}


def gzip_lines(path: Path) -> list[str]:
    """Read all lines of a compressed text file."""
    with gzip.open(path, "rt") as file:
        return file.read().splitlines()


def assert_exact_or_partial(
    counted: Any, true_count: int, *, case: str, may_be_cut: bool, record: Any
) -> None:
    """A complete count is exact; one cut by the clock, if it may be, is a lower bound and says so."""
    record("complete", counted.complete)
    record("count", int(counted))
    record("seconds", counted.seconds)
    if counted.complete or not may_be_cut:
        assert (counted, counted.complete) == (true_count, True)
    else:
        assert counted <= true_count
        UNFINISHED.append(f"{case}: {int(counted):,} of {true_count:,} in {counted.seconds:.0f} s")
