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
    assert [step["level"] for step in fields["steps"]] == [0, 1, 2]
    assert (fields["actual"], fields["load_seconds"] > 0) == (None, True)


def test_explain_counts_if_it_is_asked_to(tmp_path: Path) -> None:
    files = complete_graph(tmp_path / "k4.txt", 4), clique_pattern(tmp_path / "triangle.graph", 3)
    fields = only_json(motiflux("explain", *files, "--analyze", "--threads", "2", "--json"))
    assert fields["actual"]["count"] == 24
    assert [step["actual"] for step in fields["steps"]] == [4, 6, 4]
    text = motiflux("explain", *files, "--analyze")
    assert text.exit_code == 0
    assert "24 embeddings" in text.stdout


def test_explain_takes_copies_as_count_does(tmp_path: Path) -> None:
    graph = tmp_path / "transfers.txt"
    graph.write_text("0 1\n0 1\n1 2\n")
    text = motiflux("explain", graph, "(a)-->(b)-->(c)", "--directed", "--copies", "--analyze")
    assert (text.exit_code, "choices of copies" in text.stdout, "2 choices" in text.stdout) == (0, True, True)


def test_an_explained_count_that_is_cut_leaves_as_count_does(tmp_path: Path) -> None:
    graph, pattern = complete_graph(tmp_path / "k60.txt", 60), clique_pattern(tmp_path / "k7.graph", 7)
    limited = motiflux("explain", graph, pattern, "--analyze", "--limit", 5)
    assert (limited.exit_code, "at least 5 embeddings, stopped early" in limited.stdout) == (0, True)
    timed = motiflux("explain", graph, pattern, "--analyze", "--timeout", 0)
    assert (timed.exit_code, "stopped early" in timed.stdout) == (1, True)


def test_explain_draws_a_flowchart(tmp_path: Path) -> None:
    files = complete_graph(tmp_path / "k4.txt", 4), clique_pattern(tmp_path / "triangle.graph", 3)
    chart = motiflux("explain", *files, "--mermaid")
    assert chart.exit_code == 0
    assert chart.stdout.startswith("flowchart TD\n")


def test_explain_writes_a_page(tmp_path: Path) -> None:
    files = complete_graph(tmp_path / "k4.txt", 4), clique_pattern(tmp_path / "triangle.graph", 3)
    page = tmp_path / "plan.html"
    written = motiflux("explain", *files, "--html", page)
    assert (written.exit_code, written.stdout) == (0, "")
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert motiflux("explain", *files, "--html", "-").stdout == page.read_text()
    nowhere = motiflux("explain", *files, "--html", tmp_path / "absent" / "plan.html")
    assert nowhere.exit_code == 2
    assert nowhere.stderr.startswith("error: ")


def test_explain_writes_a_picture(tmp_path: Path) -> None:
    files = complete_graph(tmp_path / "k4.txt", 4), clique_pattern(tmp_path / "triangle.graph", 3)
    picture = tmp_path / "plan.svg"
    written = motiflux("explain", *files, "--analyze", "--svg", picture)
    assert (written.exit_code, written.stdout) == (0, "")
    assert "24 embeddings" in picture.read_text()
    assert motiflux("explain", *files, "--svg", "-").stdout.startswith("<svg ")


def test_explain_shows_the_plan_in_one_way(tmp_path: Path) -> None:
    files = complete_graph(tmp_path / "k4.txt", 4), clique_pattern(tmp_path / "triangle.graph", 3)
    both = motiflux("explain", *files, "--json", "--mermaid")
    assert both.exit_code == 2
    assert both.stderr == "error: expected at most one of --json, --mermaid, --html and --svg\n"


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


def test_info_names_the_columns_that_edges_come_from(tmp_path: Path) -> None:
    path = tmp_path / "payments.csv"
    path.write_text("txn,when,amount\nt1,monday,5\nt2,monday,6\n")
    shown = motiflux("info", str(path))
    assert "edges from columns  'txn' and 'when', the first two" in shown.stdout
    assert shown.stderr.startswith(
        f"note: {path}: edges taken from columns 'txn' and 'when'; --src and --dst"
    )
    fields = only_json(motiflux("info", str(path), "--dst", "when", "--src", "txn", "--json"))
    assert fields["edges_from_columns"] == {"source": "txn", "target": "when", "guessed": False}
