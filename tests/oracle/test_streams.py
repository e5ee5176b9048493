"""Recorded update streams: counts before the first update and after the last one."""

from __future__ import annotations

from typing import Any

import pytest

import motiflux as mf
from motiflux.cpu import reference
from tests.data_paths import or_skip, shared_path
from tests.oracle.graphs import gzip_lines, oracle_json

STREAMS = oracle_json("csm", "expected.json") or {}


def tiny_cases() -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in oracle_json("csm", "tiny.json") or []]


def tiny_graph(case: dict[str, Any], edges: list[tuple[int, int, int]]) -> Any:
    return mf.Graph.from_edges(
        [(u, v) for u, v, _ in edges],
        num_vertices=len(case["vlabels"]),
        vertex_labels=case["vlabels"],
        edge_labels=[label for *_, label in edges],
    )


def tiny_pattern(case: dict[str, Any]) -> Any:
    return mf.Pattern.from_edges(
        [(u, v) for u, v, _ in case["qedges"]],
        vertex_labels=case["qlabels"],
        edge_labels=[label for *_, label in case["qedges"]],
    )


@pytest.mark.parametrize("case", or_skip(tiny_cases(), "oracle/csm/tiny.json"))
def test_small_random_graphs_before_and_after_their_updates(case: dict[str, Any], device: str) -> None:
    edges = {(min(u, v), max(u, v), label) for u, v, label in case["init"]}
    assert mf.count(tiny_graph(case, sorted(edges)), tiny_pattern(case), device=device) == case["initial"]
    for sign, u, v, label in case["updates"]:
        edge = (min(u, v), max(u, v), label)
        if sign > 0:
            edges.add(edge)
        else:
            edges.discard(edge)
    after = mf.count(tiny_graph(case, sorted(edges)), tiny_pattern(case), device=device)
    assert after - case["initial"] == case["pos"] - case["neg"]


@pytest.mark.parametrize("case", or_skip(tiny_cases()[::10], "oracle/csm/tiny.json"))
def test_reference_counts_small_random_graphs(case: dict[str, Any]) -> None:
    found = reference.embeddings(
        len(case["vlabels"]),
        [(u, v) for u, v, _ in case["init"]],
        case["qlabels"],
        [(u, v, label, "follow") for u, v, label in case["qedges"]],
        vertex_labels=case["vlabels"],
        edge_labels=[label for *_, label in case["init"]],
    )
    assert len(found) == case["initial"]


@pytest.mark.parametrize("name", or_skip(sorted(STREAMS), "oracle/csm/expected.json"))
def test_streams_change_the_count_by_positive_minus_negative(name: str, device: str) -> None:
    folder = shared_path("oracle", "csm", name)
    vertex_labels, edges = read_graph_lines(gzip_lines(folder / "data.graph.gz"))
    pattern = mf.read_pattern(folder / "query.graph")
    before = mf.count(mf.read_graph(folder / "data.graph.gz"), pattern, device=device)
    assert before == mf.count(stream_graph(vertex_labels, edges), pattern, device=device)
    apply_updates(edges, gzip_lines(folder / "updates.stream.gz"))
    after = mf.count(stream_graph(vertex_labels, edges), pattern, device=device)
    assert before.complete
    assert after.complete
    assert after - before == STREAMS[name]["positive"] - STREAMS[name]["negative"]


def read_graph_lines(lines: list[str]) -> tuple[list[int], set[tuple[int, int, int]]]:
    """Read ``v id label`` and ``e u v label`` lines without motiflux; vertices come in order."""
    rows = [line.split() for line in lines]
    labels = [int(row[2]) for row in rows if row[0] == "v"]
    return labels, {edge_of(row) for row in rows if row[0] == "e"}


def apply_updates(edges: set[tuple[int, int, int]], lines: list[str]) -> None:
    """Apply ``e u v label`` inserts and ``-e u v label`` deletes."""
    for row in map(str.split, lines):
        if row[0] == "e":
            edges.add(edge_of(row))
        else:
            edges.remove(edge_of(row))


def edge_of(row: list[str]) -> tuple[int, int, int]:
    u, v, label = map(int, row[1:4])
    return min(u, v), max(u, v), label


def stream_graph(vertex_labels: list[int], edges: set[tuple[int, int, int]]) -> Any:
    rows = sorted(edges)
    return mf.Graph.from_edges(
        [(u, v) for u, v, _ in rows],
        num_vertices=len(vertex_labels),
        vertex_labels=vertex_labels,
        edge_labels=[label for *_, label in rows],
    )
