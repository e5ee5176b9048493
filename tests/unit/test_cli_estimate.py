"""``motiflux estimate``."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path

import pytest

from motiflux.api.estimating import estimate
from motiflux.cli.commands.estimate import json_fields, number
from tests.unit.cli_run import clique_pattern, complete_graph, motiflux, only_json, write_edges
from tests.unit.sampling_cases import random_graph


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    edges = random_graph(11, 50, 400).to_edges()
    return write_edges(tmp_path / "graph.txt", zip(edges[0].tolist(), edges[1].tolist(), strict=True))


@pytest.fixture
def triangle(tmp_path: Path) -> Path:
    return clique_pattern(tmp_path / "triangle.graph", 3)


def test_the_json_object_has_the_agreed_fields(graph: Path, triangle: Path) -> None:
    result = motiflux("estimate", graph, triangle, "--json", "--samples", "20000", "--seed", "3")
    assert result.exit_code == 0
    fields = only_json(result)
    assert set(fields) == {
        "schema", "estimate", "low", "high", "confidence", "samples", "valid_samples", "complete", "seconds",
        "sampled", "trawled", "estimator", "device", "reason", "warning",
    }  # fmt: skip
    count = only_json(motiflux("count", graph, triangle, "--json"))["count"]
    assert fields["estimate"] == pytest.approx(count, rel=0.1)
    assert fields["low"] <= fields["estimate"] <= fields["high"]
    assert (fields["confidence"], fields["samples"], fields["complete"]) == (0.95, 20_000, True)
    assert result.stderr == ""


def test_people_are_told_the_interval(tmp_path: Path, triangle: Path) -> None:
    result = motiflux("estimate", complete_graph(tmp_path / "k20.txt", 20), triangle, "--samples", "3200")
    assert result.exit_code == 0
    first, second = result.stdout.splitlines()
    assert first.startswith("about 6,840 embeddings, 95 % interval 6,832 to ")
    assert first.endswith("(3,200 samples, 3,200 valid)")
    assert "estimator" in second


def test_what_cannot_match_is_said_to_be_exact(graph: Path) -> None:
    result = motiflux("estimate", graph, "(a:9)--(b)")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "0 embeddings, exactly: nothing can match"


def test_what_is_certain_is_said_to_the_last_digit(tmp_path: Path) -> None:
    """Counted, and where no sample can fail."""
    graph = complete_graph(tmp_path / "k40.txt", 40)
    edge = motiflux("estimate", graph, "(a)--(b)", "--samples", "3200", "--estimator", "tree")
    first = "1,560 embeddings, exactly: all of 3,200 samples are embeddings"
    assert edge.stdout.splitlines()[0] == first
    path = write_edges(tmp_path / "path.txt", [(v, v + 1) for v in range(2000)])
    exact = motiflux("estimate", path, "(a)--(b)--(c)--(d)")
    assert exact.stdout.splitlines()[0] == "3,996 embeddings, exactly: counted without sampling"


def test_an_error_that_was_not_reached_is_incomplete(graph: Path, triangle: Path) -> None:
    arguments = ("estimate", graph, triangle, "--rel-error", "0.0001", "--samples", "320")
    result = motiflux(*arguments)
    assert result.exit_code == 1
    assert "stopped before the requested precision" in result.stdout
    assert only_json(motiflux(*arguments, "--json"))["complete"] is False


def test_a_seed_makes_it_repeatable_and_estimators_can_be_chosen(graph: Path, triangle: Path) -> None:
    for estimator in ("wanderjoin", "alley", "tree"):
        options = ("--samples", "999", "--seed", "8", "--estimator", estimator)
        arguments = ("estimate", graph, triangle, "--json", *options)
        first, again = (only_json(motiflux(*arguments)) for _ in range(2))
        assert first["estimator"] == estimator
        assert first.pop("seconds") > 0
        assert again.pop("seconds") > 0
        assert first == again


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".arrow"])
def test_the_trace_is_written(graph: Path, triangle: Path, tmp_path: Path, suffix: str) -> None:
    if suffix in (".parquet", ".arrow"):
        pytest.importorskip("pyarrow")
    trace = tmp_path / f"trace{suffix}"
    result = motiflux("estimate", graph, triangle, "-o", trace, "--samples", "100000")
    assert result.exit_code == 0
    assert trace.exists()
    if suffix == ".csv":
        lines = trace.read_text().splitlines()
        assert lines[0] == "samples,valid_samples,seconds,value,low,high"
        assert lines[-1].startswith("100000,")


def test_progress_shows_how_the_interval_shrinks(graph: Path, triangle: Path) -> None:
    result = motiflux("estimate", graph, triangle, "--progress", "--samples", "100000")
    assert "estimating: " in result.stderr
    assert " samples, " in result.stderr
    assert " in [" in result.stderr


def test_a_warning_goes_to_stderr(tmp_path: Path) -> None:
    edges = [(u, v + 100) for u, v in product(range(60), repeat=2)] + [(0, 1)]
    graph = write_edges(tmp_path / "squares.txt", edges)
    pattern = "(a)--(b)--(c)--(a), (a)--(d)--(e)--(f)--(a)"
    options = ("--samples", "320", "--estimator", "tree")
    result = motiflux("estimate", graph, pattern, "--json", *options, "--set", "trawling=off")
    assert result.stderr.startswith("warning: none of 320 samples is an embedding")
    fields = only_json(result)
    assert fields["estimate"] == 0
    assert fields["high"] > 1
    assert fields["warning"].startswith("none of 320 samples is an embedding")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--samples", "0"), "error: --samples: expected an integer from 1 to"),
        (("--rel-error", "2"), "error: --rel-error: expected a number above 0 and below 1"),
        (("--confidence", "0"), "error: --confidence: expected a number above 0 and below 1"),
        (("--estimator", "guess"), "--estimator"),
        (("-o", "trace.npy"), "error: trace.npy: found suffix '.npy', expected .parquet, .arrow, .csv"),
        (
            ("-o", "trace.xlsx"),
            "error: trace.xlsx: found suffix '.xlsx', expected .parquet, .arrow, .csv\n",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(
    graph: Path, triangle: Path, options: tuple[str, ...], message: str
) -> None:
    result = motiflux("estimate", graph, triangle, *options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_an_end_that_is_not_known_is_null() -> None:
    unknown = estimate(random_graph(11, 50, 400), "(a)--(b)", samples=32)
    fields = json_fields(type(unknown)(**{**vars(unknown), "high": math.inf}))
    assert fields["high"] is None


def test_numbers_are_written_to_four_digits() -> None:
    assert [number(value) for value in (0.0, 3.14159, 999.96, 1e6, 1.5e17)] == [
        "0", "3.142", "1000", "1,000,000", "1.5e+17",
    ]  # fmt: skip


def test_what_trawling_came_to_is_told(tmp_path: Path) -> None:
    edges = [(u, v + 100) for u, v in product(range(60), repeat=2)] + [(0, 1)]
    graph = write_edges(tmp_path / "squares.txt", edges)
    pattern = "(a)--(b)--(c)--(a), (a)--(d)--(e)--(f)--(a)"
    given = ("estimate", graph, pattern, "--samples", "320", "--estimator", "tree")
    fields = only_json(motiflux(*given, "--json"))
    trawled = fields["trawled"]
    assert set(trawled) == {"estimate", "low", "high", "slots", "searched", "share"}
    assert fields["sampled"] == 0 < fields["estimate"] <= 2 * trawled["estimate"]
    assert 0.5 < trawled["share"] < 1, "one of the two found all, but in few slots"
    assert f"{trawled['slots']} slots trawled: 0 by samples" in motiflux(*given).stdout
