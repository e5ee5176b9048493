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
    "4cycle": ([(0, 1), (1, 2), (2, 3), (0, 3)], 5, 8),
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
    "duckdb.sql of pairs, by hand": {"diamond", "4cycle"},
    "networkx.simple_cycles": {"triangle", "4cycle"},
    "igraph.simple_cycles": {"triangle", "4cycle"},
}
MATCHERS = [name for name, (counts, _) in PEERS["METHODS"].items() if counts == "embeddings"]
"""Methods that take any pattern."""


def network(edges: list[tuple[int, int]], labels: list[int] | None = None, **more: Any) -> Any:
    return PEERS["Network"](1 + max(map(max, edges)), edges, labels, **more)


def directed(edges: dict[tuple[int, int], str], labels: list[int] | None = None) -> Any:
    """Return a directed network; kinds are letters."""
    kinds = [frozenset(map(ord, there)) for there in edges.values()]
    return network(list(edges), labels, directed=True, kinds=kinds)


ASKED = [(method, query) for method in PEERS["METHODS"] for query in sorted(ONLY_FOR.get(method, QUERIES))]


@pytest.mark.turns(8)
@pytest.mark.parametrize(("method", "query"), ASKED)
def test_a_method_counts_what_it_says(method: str, query: str) -> None:
    pytest.importorskip(method.split(".")[0])
    edges, occurrences, automorphisms = QUERIES[query]
    counts, prepare = PEERS["METHODS"][method]
    expected = occurrences * (automorphisms if counts == "embeddings" else 1)
    assert prepare(network(WHEEL), network(edges))() == expected


@pytest.mark.parametrize("method", MATCHERS)
def test_labels_are_respected(method: str) -> None:
    pytest.importorskip(method.split(".")[0])
    prepare = PEERS["METHODS"][method][1]
    data = network(WHEEL, [0, 0, 1, 1, 1, 1])
    # A triangle of two 0 and one 1: (0, 1, 2) and (0, 1, 3), each in two ways.
    assert prepare(data, network([(0, 1), (1, 2), (0, 2)], [0, 0, 1]))() == 4


RING = [(0, 1), (1, 2), (2, 0)]


RINGS_FOUND = {
    **dict.fromkeys(MATCHERS, 9),
    "networkx.simple_cycles": 3,
    "igraph.simple_cycles": 3,
    "duckdb.sql, ids in order": 3,
}


@pytest.mark.parametrize("method", RINGS_FOUND)
def test_directions_are_respected(method: str) -> None:
    pytest.importorskip(method.split(".")[0])
    # The rings are 0 1 2, 0 3 2 and 1 3 2; without directions 0 1 3 would be one more.
    data = network([*RING, (2, 1), (1, 3), (3, 2), (0, 3)], directed=True)
    assert PEERS["METHODS"][method][1](data, network(RING, directed=True))() == RINGS_FOUND[method]


@pytest.mark.parametrize("method", [name for name in MATCHERS if not name.endswith("lad")])
def test_parallel_edges_witness_one_embedding(method: str) -> None:
    pytest.importorskip(method.split(".")[0])
    prepare = PEERS["METHODS"][method][1]
    edges = {(0, 1): "ab", (1, 2): "b", (2, 0): "c", (0, 3): "b"}
    assert prepare(directed(edges), directed({(0, 1): "a", (1, 2): "b"}))() == 1
    assert prepare(directed(edges), directed({(0, 1): "b"}))() == 3
    assert prepare(directed(edges, [5, 6, 7, 6]), directed({(0, 1): "b"}, [5, 6]))() == 2


def test_matchers_without_kinds_refuse_them() -> None:
    pytest.importorskip("igraph")
    prepare = PEERS["METHODS"]["igraph.get_subisomorphisms_lad"][1]
    with pytest.raises(ValueError, match="compares no labels of edges"):
        prepare(directed({(0, 1): "a", (1, 2): "b"}), directed({(0, 1): "a", (1, 2): "b"}))


def test_conditions_on_order_keep_one_embedding_of_each_subgraph() -> None:
    conditions = PEERS["order_conditions"]
    assert conditions(network(RING, directed=True)) == [(0, 1), (0, 2)]
    assert conditions(network(list(combinations(range(3), 2)))) == [(0, 1), (0, 2), (1, 2)]
    assert conditions(network(RING, [0, 0, 1])) == [(0, 1)]
    assert conditions(directed({(0, 1): "a", (0, 2): "b"})) == []


@pytest.mark.turns(8)
def test_what_the_data_has_no_labels_for_is_not_compared(tmp_path: Path) -> None:
    np.savez(tmp_path / "ring.npz", edges=RING, vertex_labels=[1, 1, 2], directed=False, num_vertices=3)
    query = tmp_path / "edge.graph"
    query.write_text("t 2 1\nv 0 1 1\nv 1 2 1\ne 0 1 0\n")
    runner = REPOSITORY / "benchmarks/run_peer.py"
    for method in MATCHERS:
        pytest.importorskip(method.split(".")[0])
        command = [sys.executable, runner, method, tmp_path / "ring.npz", query, "--runs", "1"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert json.loads(done.stdout.splitlines()[-1])["count"] == 2, method


@pytest.mark.turns(8)
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
