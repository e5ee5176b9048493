"""``motiflux explain`` and ``motiflux info``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.unit.cli_run import clique_pattern, complete_graph, motiflux, only_json


def test_explain_prints_the_plan(tmp_path: Path) -> None:
    files = complete_graph(tmp_path / "k4.txt", 4), clique_pattern(tmp_path / "triangle.graph", 3)
    text = motiflux("explain", *files)
    assert text.exit_code == 0
    fields = only_json(motiflux("explain", *files, "--json"))
    assert fields["plan"].strip()
    assert fields["plan"].strip() in text.stdout


def test_info_gives_the_statistics(tmp_path: Path) -> None:
    graph = complete_graph(tmp_path / "k50.txt", 50)
    fields = only_json(motiflux("info", graph, "--json"))
    assert (fields["vertices"], fields["edges"], fields["directed"]) == (50, 1225, False)
    assert (fields["max_degree"], fields["self_loops_dropped"]) == (49, 0)
    assert (fields["shape"]["wedges"], fields["shape"]["closed_wedges"]) == (58800, 1.0)
    assert "1,225" in motiflux("info", graph).stdout


def test_info_names_the_attributes(tmp_path: Path) -> None:
    path = tmp_path / "graph.npz"
    np.savez(path, edges=[[0, 1]], timestamps=[5], **{"vertex.name": ["a", "b"]})
    fields = only_json(motiflux("info", path, "--json"))
    assert (fields["vertex_attributes"], fields["edge_attributes"]) == (
        {"name": "strings"},
        {"time": "integers"},
    )
    assert "name (strings)" in motiflux("info", path).stdout


def test_info_lists_the_tuning_switches() -> None:
    from motiflux.config import TUNING

    fields = only_json(motiflux("info", "--tuning", "--json"))
    assert [switch["name"] for switch in fields["tuning"]] == list(TUNING)
    for switch in fields["tuning"]:
        assert switch["default"] in switch["values"]
        assert switch["help"]
    text = motiflux("info", "--tuning")
    assert text.exit_code == 0
    assert all(name in text.stdout for name in TUNING)


def test_info_wants_a_graph_or_tuning_and_not_both(tmp_path: Path) -> None:
    neither, both = motiflux("info"), motiflux("info", tmp_path / "any.txt", "--tuning")
    assert (neither.exit_code, both.exit_code) == (2, 2)
    assert neither.stderr == "error: info needs a GRAPH, or --tuning\n"
    assert both.stderr == "error: info takes GRAPH or --tuning, not both\n"
