"""The options that say which column of a table means what."""

from __future__ import annotations

import json

import pytest

from tests.unit.cli_run import motiflux as run
from tests.unit.test_read_tables import PAYMENTS, write

pa = pytest.importorskip("pyarrow")
COMMANDS = {
    "count": ["(a)-[:x]->(b)"],
    "match": ["(a)-[:x]->(b)"],
    "explain": ["(a)-[:x]->(b)"],
    "info": [],
    "orbits": [],
    "census": [],
    "convert": ["out.mfg"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_reads_a_graph_takes_columns(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(pa.table(PAYMENTS), tmp_path / "p.parquet")
    said = ["--src", "payer", "--dst", "2", "--attributes", "amount", "--directed", "--json"]
    done = run(command, "p.parquet", *COMMANDS[command], *said)
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    if command == "count":
        assert found["count"] == 2
    if command == "info":
        assert found["edge_attributes"] == {"amount": "integers"}
    wrong = run(command, "p.parquet", *COMMANDS[command], "--src", "nope")
    assert wrong.exit_code == 2
    assert (
        "src: expected one of the columns of p.parquet ('payer', 'amount', 'payee', 'label')" in wrong.stderr
    )


def test_what_one_command_was_told_is_forgotten_for_the_next(tmp_path):
    path = str(write(pa.table(PAYMENTS), tmp_path / "p.parquet"))
    assert run("info", path, "--src", "payer", "--dst", "payee", "--attributes", "", "--json").exit_code == 0
    again = run("info", path, "--src", "payer", "--dst", "payee", "--json")
    assert json.loads(again.stdout)["edge_attributes"] == {"amount": "integers"}


def test_vertices_come_from_a_file(tmp_path):
    edges = write(pa.table(PAYMENTS), tmp_path / "p.parquet")
    vertices = write(pa.table({"id": ["a", "b", "c", "d"]}), tmp_path / "v.feather")
    said = ["--src", "payer", "--dst", "payee", "--label", "label", "--time", "amount"]
    done = run("info", str(edges), *said, "--vertices", str(vertices), "--json")
    found = json.loads(done.stdout)
    assert (found["vertices"], found["edge_labels"], found["edge_attributes"]) == (4, 2, {"time": "integers"})


def test_columns_of_vertices_and_tabs_are_said_as_in_python(tmp_path):
    edges, vertices = tmp_path / "e.csv", tmp_path / "v.csv"
    edges.write_text("ann\tbob\n")
    vertices.write_text("7\tann\n8\tbob\n")
    said = ["--no-header", "--no-vertices-header", "--sep", r"\t", "--vertices", str(vertices)]
    done = run("info", str(edges), *said, "--vertex-id", "1", "--vertex-label", "0", "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["vertices"], found["vertex_labels"], found["edges"]) == (2, 2, 1)


def test_an_empty_column_is_refused(tmp_path):
    done = run("info", "g.parquet", "--src", "")
    assert done.exit_code == 2
    assert "expected the name or the position of a column" in done.stderr


def test_text_has_separators_and_headers(tmp_path):
    path = tmp_path / "g.csv"
    path.write_text("1;2\n2;3\n")
    done = run("info", str(path), "--sep", ";", "--no-header", "--json")
    assert json.loads(done.stdout)["edges"] == 2
    done = run("info", str(path), "--sep", ";", "--header", "--json")
    assert json.loads(done.stdout)["edges"] == 1


def test_ids_missing_ids_and_self_loops_are_options(tmp_path):
    path = tmp_path / "g.csv"
    path.write_text("src,dst\n007,1\n1,1\n1,NULL\n")
    refused = run("count", str(path), "(a)--(b)")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "line 4: column 'dst': found 'NULL'" in refused.stderr
    assert "--missing drop" in refused.stderr
    counted = run("count", str(path), "(a)--(b)", "--ids", "names", "--missing", "drop", "--json")
    assert json.loads(counted.stdout)["count"] == 2
    assert counted.stderr == (
        f"note: {path}: 1 row was left out, as an id is missing\nnote: {path}: 1 self-loop was left out\n"
    )
    said = ["--ids", "names", "--missing", "keep", "--self-loops", "error"]
    strict = run("count", str(path), "(a)--(b)", *said)
    assert (strict.exit_code, "found '1' twice" in strict.stderr) == (2, True)
    odd = run("count", str(path), "(a)--(b)", "--missing", "skip")
    assert (odd.exit_code, odd.stdout) == (2, "")
    assert odd.stderr.startswith("error: --missing: expected one of error, drop, keep, found 'skip'")
