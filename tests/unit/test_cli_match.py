"""``motiflux match``."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.cli import interrupts
from motiflux.cli.commands import match
from tests.unit.cli_run import clique_pattern, complete_graph, motiflux, only_json, write_edges


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """Two triangles, on ids that are not 0..n-1."""
    return write_edges(tmp_path / "graph.txt", [(10, 20), (20, 30), (30, 10), (70, 80), (80, 90), (70, 90)])


@pytest.fixture
def triangle(tmp_path: Path) -> Path:
    return clique_pattern(tmp_path / "triangle.graph", 3)


def test_rows_are_printed_with_a_header_and_original_ids(graph: Path, triangle: Path) -> None:
    result = motiflux("match", graph, triangle, "--symmetry", "subgraphs")
    assert result.exit_code == 0
    header, *rows = result.stdout.splitlines()
    assert header == "v0,v1,v2"
    assert {frozenset(row.split(",")) for row in rows} == {
        frozenset({"10", "20", "30"}),
        frozenset({"70", "80", "90"}),
    }
    assert result.stderr.startswith("2 rows\n")


@pytest.mark.parametrize("suffix", [".npy", ".csv"])
def test_rows_go_to_a_file(graph: Path, triangle: Path, tmp_path: Path, suffix: str) -> None:
    output = tmp_path / f"rows{suffix}"
    result = motiflux("match", graph, triangle, "-o", output, "--json")
    assert result.exit_code == 0
    fields = only_json(result)
    assert set(fields) == {
        "schema", "count", "complete", "seconds", "load_seconds", "plan_seconds", "engine", "device",
        "reason",
        "rows", "output",
    }  # fmt: skip
    assert (fields["rows"], fields["count"], fields["output"]) == (12, 12, str(output))
    if suffix == ".npy":
        assert np.load(output).shape == (12, 3)
    else:
        assert len(output.read_text().splitlines()) == 13


def test_names_in_a_file_without_names_are_refused(graph: Path, triangle: Path, tmp_path: Path) -> None:
    output = tmp_path / "rows.npy"
    result = motiflux("match", graph, triangle, "-o", output, "--names")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{output}: found --names, expected a .parquet, .arrow or .csv file" in result.stderr
    assert not output.exists()


def test_the_summary_of_a_file_is_on_stdout(graph: Path, triangle: Path, tmp_path: Path) -> None:
    output = tmp_path / "rows.csv"
    assert motiflux("match", graph, triangle, "-o", output).stdout.startswith(
        f"12 rows written to {output}\n"
    )


def test_json_without_a_file_prints_no_rows(graph: Path, triangle: Path) -> None:
    fields = only_json(motiflux("match", graph, triangle, "--json"))
    assert (fields["rows"], fields["output"], fields["complete"]) == (12, None, True)


def test_a_limit_cuts_rows_and_is_success(graph: Path, triangle: Path, tmp_path: Path) -> None:
    output = tmp_path / "rows.npy"
    result = motiflux("match", graph, triangle, "--limit", "5", "-o", output)
    assert result.exit_code == 0
    assert len(np.load(output)) == 5
    assert "stopped at the limit" in result.stdout


def test_a_timeout_keeps_the_rows_so_far_and_is_exit_1(tmp_path: Path) -> None:
    pattern = clique_pattern(tmp_path / "clique.graph", 6)
    result = motiflux(
        "match", complete_graph(tmp_path / "k99.txt", 99), pattern, "--timeout", "0.2", "--json"
    )
    assert result.exit_code == 1
    assert only_json(result)["complete"] is False


def test_one_row_is_one_row(graph: Path, triangle: Path, tmp_path: Path) -> None:
    output = tmp_path / "rows.csv"
    result = motiflux("match", graph, triangle, "--limit", "1", "-o", output)
    assert result.stdout.startswith(f"1 row written to {output}, incomplete")


def test_rows_go_to_no_file_without_a_name(graph: Path, triangle: Path) -> None:
    result = motiflux("match", graph, triangle, "-o", "")
    assert result.exit_code == 2
    assert "expected a file name, found an empty" in result.stderr


def test_a_named_pipe_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    result = motiflux("match", "absent.txt", "absent.graph", "-o", tmp_path / "pipe.csv")
    assert result.exit_code == 2
    assert "found a named pipe, expected a regular file or a new name" in result.stderr


@pytest.mark.parametrize("name", ["rows.xlsx", "missing/rows.csv"])
def test_an_output_that_cannot_be_written_is_refused_before_any_work(tmp_path: Path, name: str) -> None:
    result = motiflux("match", tmp_path / "absent.txt", tmp_path / "absent.graph", "-o", tmp_path / name)
    assert result.exit_code == 2
    assert Path(name).name in result.stderr
    assert "absent" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_dash_is_standard_output(graph: Path, triangle: Path, tmp_path: Path) -> None:
    result = motiflux("match", graph, triangle, "-o", "-")
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "v0,v1,v2")
    assert result.stderr.startswith("12 rows\n")
    both = motiflux("match", graph, triangle, "-o", "-", "--json")
    assert (both.exit_code, both.stderr) == (
        2,
        "error: -o -: found --json, which prints an object on standard output, expected -o FILE\n",
    )


def press_ctrl_c(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGINT)


class TestInterrupts:
    """Ctrl-C at the moments where a listing is nearly over."""

    @pytest.fixture
    def rows(self, tmp_path: Path) -> Path:
        return tmp_path / "rows.csv"

    @pytest.fixture
    def after_the_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        deliver: Callable[..., None] = match.deliver

        def interrupted(*args: Any, **options: Any) -> None:
            deliver(*args, **options)
            press_ctrl_c()

        monkeypatch.setattr(match, "deliver", interrupted)

    @pytest.mark.turns(8)
    @pytest.mark.usefixtures("after_the_rows")
    @pytest.mark.parametrize("more", [[], ["--keep-partial"], ["--limit", "12"], ["--limit", "5"]])
    def test_rows_that_are_written_are_said_to_be(
        self, graph: Path, triangle: Path, rows: Path, more: list[str]
    ) -> None:
        rows.write_text("other rows\n")
        result = motiflux("match", graph, triangle, "-o", rows, *more)
        number = 5 if "5" in more else 12
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout.startswith(f"{number} rows written to {rows}")
        assert len(rows.read_text().splitlines()) == 1 + number

    @pytest.mark.usefixtures("after_the_rows")
    def test_a_picture_that_was_not_begun_is_not_drawn(
        self, graph: Path, triangle: Path, rows: Path, tmp_path: Path
    ) -> None:
        picture = tmp_path / "one.svg"
        result = motiflux("match", graph, triangle, "-o", rows, "--keep-partial", "--picture", picture)
        assert (result.exit_code, result.stderr) == (1, f"interrupted: {picture} was not drawn\n")
        assert result.stdout.startswith(f"12 rows written to {rows}\n")
        assert result.stdout.endswith("picture not drawn\n")
        assert not picture.exists()

    @pytest.mark.parametrize("output", [True, False])
    def test_rows_stay_if_the_picture_is_interrupted(
        self,
        graph: Path,
        triangle: Path,
        rows: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        output: bool,
    ) -> None:
        monkeypatch.setattr(match, "draw_first", press_ctrl_c)
        picture = tmp_path / "one.svg"
        more = ["-o", rows, "--json"] if output else []
        result = motiflux("match", graph, triangle, "--picture", picture, *more)
        assert result.exit_code == 1
        assert result.stderr.endswith(f"interrupted: {picture} was not drawn\n")
        if output:
            found = only_json(result)
            assert (found["rows"], found["complete"], found["picture"]) == (12, True, None)
        else:
            assert len(result.stdout.splitlines()) == 13

    def test_a_partial_listing_begins_no_search_for_a_picture(
        self, graph: Path, triangle: Path, rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        deliver: Callable[..., None] = match.deliver

        def interrupted(*args: Any, **options: Any) -> None:
            press_ctrl_c()
            deliver(*args, **options)

        monkeypatch.setattr(match, "deliver", interrupted)
        monkeypatch.setattr(interrupts, "_SECONDS_LEFT", 0.0)
        monkeypatch.setattr(match, "draw_first", lambda *_: pytest.fail("a search began"))
        picture = tmp_path / "one.svg"
        result = motiflux("match", graph, triangle, "-o", rows, "--keep-partial", "--picture", picture)
        assert (result.exit_code, result.stderr) == (1, "interrupted: the result is incomplete\n")
        assert f"written to {rows}, incomplete (interrupted)" in result.stdout
        assert rows.exists()


class TestColumns:
    @pytest.fixture
    def transfers(self, tmp_path: Path) -> Path:
        graph = mf.Graph.from_edges(
            [("ann", "bob"), ("ann", "bob"), ("bob", "cy")],
            directed=True,
            edge_attributes={"amount": [1, 900, None]},
            vertex_attributes={"country": ["de", None, "fr"]},
            vertex_ids=["ann", "bob", "cy"],
        )
        mf.write_graph(graph, tmp_path / "transfers.mfg")
        return tmp_path / "transfers.mfg"

    def test_edges_and_attributes_are_columns(self, transfers: Path) -> None:
        pattern = "(a)-[x]->(b) WHERE x.amount > 100"
        result = motiflux(
            "match", transfers, pattern, "--edges", "--column", "amount", "--column", "a.country"
        )
        assert result.exit_code == 0
        assert result.stdout == "v0,v0.country,v1,e0,e0.amount\nann,de,bob,0,900\n"

    def test_names_name_columns(self, transfers: Path) -> None:
        result = motiflux("match", transfers, "(payer)-[x]->(payee)", "--edges", "--names", "--limit", "0")
        assert result.stdout == "payer,payee,x\n"

    def test_what_there_is_not_is_refused(self, transfers: Path, tmp_path: Path) -> None:
        result = motiflux("match", transfers, "(a)-->(b)", "--column", "amount", "-o", tmp_path / "rows.csv")
        assert result.exit_code == 2
        assert "expected --edges beside attributes of edges ('amount')" in result.stderr
        assert not (tmp_path / "rows.csv").exists()

    @pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
    def test_tables_say_what_was_looked_for(self, transfers: Path, tmp_path: Path, suffix: str) -> None:
        pa = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        output = tmp_path / f"rows{suffix}"
        result = motiflux(
            "match", transfers, "(a)-->(b)-->(c)", "-o", output, "--json", "--column", "country"
        )
        assert only_json(result)["rows"] == 1
        is_arrow = suffix == ".arrow"
        table = pa.ipc.open_file(output).read_all() if is_arrow else parquet.read_table(output)
        assert table.to_pylist() == [
            {"v0": "ann", "v0.country": "de", "v1": "bob", "v1.country": None, "v2": "cy", "v2.country": "fr"}
        ]
        assert table.schema.metadata[b"motiflux.pattern"] == b"(a)-->(b), (b)-->(c)"
        assert table.schema.metadata[b"motiflux.vertices"] == b'["a", "b", "c"]'

    def test_compressed_rows_are_the_rows(self, transfers: Path, tmp_path: Path) -> None:
        import gzip

        assert motiflux("match", transfers, "(a)-->(b)", "-o", tmp_path / "rows.csv.gz").exit_code == 0
        assert gzip.decompress((tmp_path / "rows.csv.gz").read_bytes()).startswith(b"v0,v1\n")
