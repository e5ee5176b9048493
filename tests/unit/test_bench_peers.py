"""The peers' runner: every method counts what it says it counts."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.cli_run import clique_pattern

REPOSITORY = Path(__file__).resolve().parents[2]
PEERS = runpy.run_path(str(REPOSITORY / "benchmarks/run_peer.py"))
WHEEL = [*combinations(range(4), 2), (3, 4), (2, 4), (4, 5)]
"""K4 on 0..3, a triangle on its side 2-3, and a tail."""
QUERIES = {
    "triangle": ([(0, 1), (1, 2), (0, 2)], 5, 6),
    "diamond": ([(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)], 8, 4),
    "4clique": (list(combinations(range(4), 2)), 1, 24),
}
"""Edges, occurrences in the wheel, automorphisms."""
ONLY_FOR = {
    "networkx.triangles": {"triangle"},
    "rustworkx.transitivity": {"triangle"},
    "igraph.list_triangles": {"triangle"},
    "igraph.cliques": {"triangle", "4clique"},
    "networkx.enumerate_all_cliques": {"triangle", "4clique"},
    "networkx.common_neighbors, by hand": {"diamond"},
    "igraph.list_triangles, by hand": {"diamond"},
}


def network(edges: list[tuple[int, int]], labels: list[int] | None = None) -> Any:
    return PEERS["Network"](1 + max(map(max, edges)), edges, labels)


ASKED = [(method, query) for method in PEERS["METHODS"] for query in sorted(ONLY_FOR.get(method, QUERIES))]


@pytest.mark.parametrize(("method", "query"), ASKED)
def test_a_method_counts_what_it_says(method: str, query: str) -> None:
    pytest.importorskip(method.split(".")[0])
    edges, occurrences, automorphisms = QUERIES[query]
    counts, prepare = PEERS["METHODS"][method]
    expected = occurrences * (automorphisms if counts == "embeddings" else 1)
    assert prepare(network(WHEEL), network(edges))() == expected


@pytest.mark.parametrize(
    "method", [name for name, (counts, _) in PEERS["METHODS"].items() if counts == "embeddings"]
)
def test_labels_are_respected(method: str) -> None:
    pytest.importorskip(method.split(".")[0])
    prepare = PEERS["METHODS"][method][1]
    data = network(WHEEL, [0, 0, 1, 1, 1, 1])
    # A triangle of two 0 and one 1: (0, 1, 2) and (0, 1, 3), each in two ways.
    assert prepare(data, network([(0, 1), (1, 2), (0, 2)], [0, 0, 1]))() == 4


def test_a_run_over_the_limit_is_stopped_and_said(tmp_path: Path) -> None:
    pytest.importorskip("networkx")
    edges = list(combinations(range(60), 2))
    np.savez(tmp_path / "k60.npz", edges=edges, directed=False, num_vertices=60)
    query = clique_pattern(tmp_path / "clique.graph", 6)
    command = [sys.executable, REPOSITORY / "benchmarks/run_peer.py", "networkx.GraphMatcher"]
    command += [tmp_path / "k60.npz", query, "--limit", "0.2"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"counts": "embeddings"},
        {"stopped": 0.2},
    ]
