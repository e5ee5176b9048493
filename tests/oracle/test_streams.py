"""Recorded update streams: counts before and after, and what each update changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.config import TUNING, private_tuning
from motiflux.cpu import reference
from tests.data_paths import or_skip, shared_path
from tests.oracle.graphs import gzip_lines, oracle_json
from tests.rotating import in_turn

STREAMS = oracle_json("csm", "expected.json") or {}

_COALESCED = {"coalesce": "on", "coalesce_without": "any"}
WAYS = [
    pytest.param({"matches": listed, "tuning": tuning}, id=f"{name}{more}")
    for listed, name in ((False, "counting"), (True, "listing"))
    for tuning, more in (({}, ""), (_COALESCED, ", coalesced"))
]


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


@pytest.mark.turns(8)
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


@pytest.mark.turns(8)
@pytest.mark.parametrize(
    "name", in_turn(min(2, len(STREAMS)), sorted(STREAMS)) or or_skip([], "oracle/csm/expected.json")
)
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


@pytest.fixture(params=TUNING["container"].values)
def container(request: pytest.FixtureRequest, device: str) -> dict[str, str]:
    """Return what holds the rows of a monitor on the device; that of the CPU has one kind of rows."""
    if device == "cpu" and request.param != TUNING["container"].default:
        pytest.skip("containers are for GPUs")
    return {"container": request.param}


def watched(graph: mf.Graph, pattern: mf.Pattern, options: dict[str, Any], device: str, **more: str) -> Any:
    if device != "cpu" and options["tuning"]:
        pytest.skip("plans for GPUs are not coalesced")
    tuning = private_tuning({**options["tuning"], **more})
    return mf.Monitor(graph, pattern, matches=options["matches"], device=device, tuning=tuning)


@pytest.mark.parametrize("options", WAYS)
@pytest.mark.parametrize("case", or_skip(tiny_cases(), "oracle/csm/tiny.json"))
def test_monitors_give_what_each_update_of_small_random_graphs_changes(
    case: dict[str, Any], options: dict[str, Any], device: str, container: dict[str, str]
) -> None:
    pattern = tiny_pattern(case)
    monitor = watched(tiny_graph(case, case["init"]), pattern, options, device, **container)
    updates = [("+" if sign > 0 else "-", u, v, label) for sign, u, v, label in case["updates"]]
    delta = monitor.apply(updates)[pattern]
    assert (delta.positive, delta.negative) == (case["pos"], case["neg"])
    assert signed(delta) == {at: change for at, change in enumerate(case["per_update"]) if change}
    assert monitor.count(pattern) == case["initial"] + case["pos"] - case["neg"]


@pytest.mark.long("emulated")
@pytest.mark.parametrize("options", WAYS)
@pytest.mark.parametrize("name", or_skip(sorted(STREAMS), "oracle/csm/expected.json"))
def test_monitors_give_what_each_update_of_a_stream_changes(
    name: str, options: dict[str, Any], device: str, container: dict[str, str]
) -> None:
    folder = shared_path("oracle", "csm", name)
    pattern = mf.read_pattern(folder / "query.graph")
    graph = mf.read_graph(folder / "data.graph.gz")
    before = mf.count(graph, pattern)
    monitor = watched(graph, pattern, options, device, **container)
    found: dict[int, int] = {}
    positive = negative = 0
    updates = stream_updates(folder)
    for first, part in zip(range(0, len(updates), 10_000), updates.slices(10_000), strict=True):
        delta = monitor.apply(part)[pattern]
        found |= {first + at: change for at, change in signed(delta).items()}
        positive, negative = positive + delta.positive, negative + delta.negative
        if options["matches"]:
            assert delta.rows is not None
            assert np.count_nonzero(delta.rows.positive) == delta.positive
            assert len(delta.rows) == delta.positive + delta.negative
    assert (positive, negative) == (STREAMS[name]["positive"], STREAMS[name]["negative"])
    assert found == {
        int(at): int(change) for at, change in map(str.split, gzip_lines(folder / "per_update_nonzero.gz"))
    }
    assert monitor.count(pattern) - before == positive - negative


def signed(delta: mf.PatternDelta) -> dict[int, int]:
    """The change of the count by update, as far as it is one."""
    steps = zip(delta.updates.tolist(), delta.signs.tolist(), delta.matches.tolist(), strict=True)
    return {update: sign * matches for update, sign, matches in steps}


def stream_updates(folder: Path) -> mf.Updates:
    """Read ``e u v label`` and ``-e u v label`` lines without the readers of motiflux."""
    rows = [line.split() for line in gzip_lines(folder / "updates.stream.gz")]
    assert {row[0] for row in rows} <= {"e", "-e"}
    columns = np.array([list(map(int, row[1:4])) for row in rows])
    return mf.Updates(np.array([row[0] == "e" for row in rows]), *columns.T)


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
