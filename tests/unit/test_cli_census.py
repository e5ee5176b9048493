"""The command ``census``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli_run import motiflux, only_json


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "ring.txt"
    path.write_text("".join(f"{v} {(v + step) % 20}\n" for v in range(20) for step in (1, 2)))
    return path


def test_prints_the_triads_that_occur(graph: Path) -> None:
    result = motiflux("census", graph, "--directed")
    assert result.exit_code == 0
    rows = dict(line.split() for line in result.stdout.splitlines()[:-1])
    assert rows == {"class": "count", "003": "520", "012": "540", "021C": "60", "030T": "20"}


def test_zeros_and_connected_ones_on_demand(graph: Path) -> None:
    lines = motiflux("census", graph, "--directed", "--zeros").stdout.splitlines()
    assert any(line.split() == ["300", "0"] for line in lines)
    fields = only_json(motiflux("census", graph, "--size", "4", "--connected", "--json"))
    assert fields["counts"] == {
        "path": 100,
        "star": 0,
        "cycle": 0,
        "paw": 40,
        "diamond": 20,
        "clique": 0,
    }
    assert (fields["size"], fields["directed"], fields["complete"]) == (4, False, True)


def test_compares_with_random_graphs(graph: Path, tmp_path: Path) -> None:
    output, plot = tmp_path / "tests.csv", tmp_path / "tests.svg"
    options = ["--directed", "--nulls", "50", "--seed", "3", "-o", output, "--plot", plot]
    result = motiflux("census", graph, *options)
    assert result.exit_code == 0
    assert "50 random graphs" in result.stdout
    assert output.read_text().splitlines()[0] == "class,observed,mean,deviation,z,p,adjusted"
    assert "030T" in plot.read_text()
    fields = only_json(motiflux("census", graph, *options[:5], "--json", "--correction", "none"))
    loop = fields["tests"]["030T"]
    assert (loop["observed"], loop["p"], loop["adjusted"]) == (20, 2 / 51, 2 / 51)
    assert (fields["nulls"], fields["mixed"]) == (50, True)


def test_a_timeout_is_incomplete_and_writes_nothing(graph: Path, tmp_path: Path) -> None:
    for more in ([], ["--nulls", "10"]):
        result = motiflux("census", graph, "--timeout", "0", "-o", tmp_path / "out.csv", *more)
        assert result.exit_code == 1
        assert result.stdout.splitlines() == ["no counts (stopped by the timeout)"]
        assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    "options",
    [["--size", "5"], ["--nulls", "-1"], ["--correction", "bh"], ["--plot", "a.png"], ["-o", "a.npz"]],
)
def test_mistakes_are_refused(graph: Path, options: list[str]) -> None:
    assert motiflux("census", graph, *options).exit_code == 2


class TestEstimatesPerVertex:
    PATTERN = "(a)--(b)--(c)"

    def test_the_greatest_are_certain(self, tmp_path: Path) -> None:
        star = tmp_path / "star.txt"
        star.write_text("".join(f"hub leaf{v}\n" for v in range(9)) + "leaf1 leaf2\n")
        result = motiflux("estimate", star, self.PATTERN, "--per-vertex", "b", "--top", "1")
        assert result.exit_code == 0
        assert result.stdout.splitlines()[-1].split()[0] == "hub"
        assert result.stdout.splitlines()[-1].split()[-1] == "yes"
        fields = only_json(
            motiflux("estimate", star, self.PATTERN, "--per-vertex", "b", "--top", "1", "--json")
        )
        [[vertex, value, low, high, certain]] = fields["top"]
        assert (vertex, certain, fields["samples"]) == ("hub", True, 65_536)
        assert low <= 72 <= high
        assert low <= value <= high

    def test_all_vertices_are_written(self, graph: Path, tmp_path: Path) -> None:
        output = tmp_path / "estimates.csv"
        options = ["--per-vertex", "b", "--samples", "1000", "-o", output]
        result = motiflux("estimate", graph, self.PATTERN, *options)
        assert result.exit_code == 0
        assert "20 rows written" in result.stdout
        lines = output.read_text().splitlines()
        assert (lines[0], len(lines)) == ("id,value,low,high", 21)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--per-vertex", "z"], "--per-vertex: expected the name or position of a query vertex"),
            (["--top", "3"], "--top: expected --per-vertex beside it"),
            (["--per-vertex", "a", "--rel-error", "0.1"], "--rel-error: expected no --per-vertex beside it"),
            (["--per-vertex", "a", "--estimator", "alley"], "--estimator: expected no --per-vertex"),
        ],
    )
    def test_mistakes_are_named(self, graph: Path, options: list[str], message: str) -> None:
        result = motiflux("estimate", graph, self.PATTERN, *options)
        assert result.exit_code == 2
        assert message in result.stderr
