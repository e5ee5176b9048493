"""Attributes that are datetimes: in files, in results, in pictures and on the command line."""

from __future__ import annotations

import datetime as dt
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.graph.attributes.columns import Kind
from motiflux.io.writers import write_matches
from tests.unit.cli_run import motiflux
from tests.unit.datetime_cases import FINE, MARCH, NANOSECONDS, UTC, of_edges, shown


class TestFiles:
    @pytest.mark.parametrize("suffix", ["mfg", "npz", "parquet", "arrow", "csv", "tsv"])
    def test_a_graph_comes_back_with_its_datetimes(self, tmp_path: Path, suffix: str) -> None:
        if suffix in ("parquet", "arrow"):
            pytest.importorskip("pyarrow")
        when = np.array([FINE, "NaT", "1900-01-01T00:00:00.5"], dtype="M8[ns]")
        zoned = [MARCH.replace(tzinfo=UTC), MARCH.replace(tzinfo=UTC, hour=5), None]
        graph = mf.Graph.from_edges(
            [(0, 1), (1, 2), (2, 3)],
            directed=True,
            vertex_attributes={"born": when[[0, 1, 2, 0]]},
            edge_attributes={"when": when, "zoned": zoned, "amount": [1, 2, 3]},
        )
        more: dict[str, Any] = {}
        if suffix not in ("mfg", "npz"):
            more["vertices"] = tmp_path / f"v.{suffix}"
        mf.write_graph(graph, tmp_path / f"g.{suffix}", **more)
        again = mf.read_graph(tmp_path / f"g.{suffix}", directed=True, **more)
        for name, column in graph.edge_attributes.items():
            assert again.edge_attributes[name].kind is column.kind
        assert shown(again) == shown(graph)
        assert shown(again, "zoned") == shown(graph, "zoned")
        assert again.vertex_attributes["born"].kind is Kind.DATETIME
        assert sorted(map(str, again.vertex_attributes["born"].to_numpy())) == sorted(
            map(str, when[[0, 1, 2, 0]])
        )

    def test_timestamps_of_an_archive_are_the_times_of_edges(self, tmp_path: Path) -> None:
        when = np.array(["2024-03-01", "2024-03-02"], dtype="M8[D]")
        np.savez(tmp_path / "g.npz", edges=[[0, 1], [1, 2]], timestamps=when)
        graph = mf.read_graph(tmp_path / "g.npz")
        assert graph.edge_attributes["time"].to_numpy().tolist() == when.astype("M8[ns]").tolist()

    def test_a_graph_with_datetimes_is_pickled(self) -> None:
        graph = pickle.loads(pickle.dumps(of_edges([MARCH.replace(tzinfo=UTC), None])))
        assert shown(graph) == (Kind.DATETIME_UTC, ["2024-03-01T00:00:00.000000000", "NaT"])

    def test_arrow_tables_of_a_graph_have_timestamps(self) -> None:
        pa = pytest.importorskip("pyarrow")
        graph = of_edges([MARCH.replace(tzinfo=UTC), None])
        edges = graph.to_arrow().edges
        assert edges.schema.field("when").type == pa.timestamp("ns", "UTC")
        assert shown(mf.Graph.from_table(edges, directed=True)) == shown(graph)

    def test_a_matrix_has_no_datetimes(self) -> None:
        pytest.importorskip("scipy")
        with pytest.raises(mf.GraphError, match="weight: expected numbers"):
            of_edges([MARCH]).to_scipy("when")

    @pytest.mark.parametrize(
        ("day", "kind"),
        [
            ("2024-02-29", Kind.DATETIME),
            ("2000-02-29", Kind.DATETIME),
            ("1900-02-29", Kind.STRING),
            ("2023-02-29", Kind.STRING),
        ],
    )
    def test_a_day_that_leap_years_have_is_a_day_in_these(self, tmp_path: Path, day: str, kind: Kind) -> None:
        (tmp_path / "g.csv").write_text(f"source,target,when\n1,2,{day}\n2,3,2020-01-01\n")
        assert mf.read_graph(tmp_path / "g.csv").edge_attributes["when"].kind is kind


class TestResults:
    @pytest.fixture(params=[None, UTC], ids=["naive", "utc"])
    def zone(self, request: pytest.FixtureRequest) -> dt.tzinfo | None:
        zone: dt.tzinfo | None = request.param
        return zone

    def matches(self, zone: dt.tzinfo | None) -> mf.Matches:
        graph = of_edges([MARCH.replace(tzinfo=zone, microsecond=500_000), None])
        return mf.match(graph, "(a)-[x]->(b)", edges=True, attributes=["when"])

    def test_arrow_has_timestamps(self, zone: dt.tzinfo | None) -> None:
        pa = pytest.importorskip("pyarrow")
        column = self.matches(zone).to_arrow().column("e0.when")
        assert column.type == pa.timestamp("ns", None if zone is None else "UTC")
        assert column.null_count == 1

    def test_pandas_has_datetime64(self, zone: dt.tzinfo | None) -> None:
        pytest.importorskip("pandas")
        frame = self.matches(zone).to_pandas()
        assert str(frame["e0.when"].dtype) == ("datetime64[ns]" if zone is None else "datetime64[ns, UTC]")
        assert frame["e0.when"].isna().sum() == 1

    def test_polars_has_datetimes(self, zone: dt.tzinfo | None) -> None:
        pytest.importorskip("polars")
        frame = self.matches(zone).to_polars()
        assert sorted(frame["e0.when"].drop_nulls().to_list()) == [
            MARCH.replace(tzinfo=zone, microsecond=500_000)
        ]

    def test_csv_has_iso_text(self, tmp_path: Path, zone: dt.tzinfo | None) -> None:
        assert write_matches(self.matches(zone), tmp_path / "m.csv") == 2
        lines = (tmp_path / "m.csv").read_text().splitlines()
        end = "" if zone is None else "Z"
        assert lines[0] == "v0,v1,e0,e0.when"
        assert sorted(line.split(",")[3] for line in lines[1:]) == ["", f"2024-03-01T00:00:00.500000000{end}"]

    def test_npy_refuses_them(self, tmp_path: Path, zone: dt.tzinfo | None) -> None:
        with pytest.raises(mf.OutputError, match=r"\.npy holds integers, found datetimes.* in e0\.when"):
            write_matches(self.matches(zone), tmp_path / "m.npy")

    def test_networkx_has_datetimes_of_python(self, zone: dt.tzinfo | None) -> None:
        pytest.importorskip("networkx")
        found = self.matches(zone).to_networkx().edges(data="when")
        assert [when for _, _, when in found if when is not None] == [
            MARCH.replace(tzinfo=zone, microsecond=500_000)
        ]

    def test_pictures_show_the_day_and_the_time(self, zone: dt.tzinfo | None) -> None:
        graph = of_edges([MARCH.replace(tzinfo=zone, hour=12), None])
        (first,) = (row for row in mf.match(graph, "(a)-->(b)").to_numpy().tolist() if row[0] == 0)
        page = str(mf.draw_match(graph, "(a)-->(b)", first, attributes=["when"])._repr_svg_())
        assert ">when 2024-03-01<" in page
        assert (">12:00:00<" if zone is None else ">12:00:00Z<") in page

    def test_pictures_show_midnight_as_the_day(self) -> None:
        page = str(mf.draw_match(of_edges([MARCH]), "(a)-->(b)", [0, 1], attributes=["when"])._repr_svg_())
        assert ">when 2024-03-01<" in page
        assert "00:00:00" not in page


class TestCommandLine:
    def test_rows_and_statistics_have_datetimes(self, tmp_path: Path) -> None:
        path = tmp_path / "g.csv"
        path.write_text("src,dst,when\n0,1,2024-03-01T12:00:00Z\n1,2,2024-03-02T00:00Z\n")
        info = motiflux("info", path)
        assert "when (datetimes in UTC)" in info.stdout
        pattern = "(a)-[x]->(b) WHERE x.when > '2024-03-01'"
        rows = motiflux("match", path, pattern, "--directed", "--edges", "--column", "when")
        times = sorted(line.split(",")[-1] for line in rows.stdout.splitlines())
        assert times == ["2024-03-01T12:00:00.000000000Z", "2024-03-02T00:00:00.000000000Z", "e0.when"]

    @pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
    def test_files_of_rows_have_datetimes(self, tmp_path: Path, suffix: str) -> None:
        pd = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        path, rows = tmp_path / "g.csv", tmp_path / f"m.{suffix}"
        path.write_text("src,dst,when\n0,1,2024-03-01T12:00:00Z\n1,2,2024-03-02T00:00:00.5Z\n2,3,\n")
        pattern = "(a)-[x]->(b)"
        result = motiflux(
            "match", path, pattern, "--directed", "--edges", "--column", "when", "--output", rows
        )
        assert result.exit_code == 0, result.stderr
        if suffix == "csv":
            frame = pd.read_csv(rows, parse_dates=["e0.when"])
        else:
            frame = (pd.read_parquet if suffix == "parquet" else pd.read_feather)(rows)
        assert str(frame["e0.when"].dtype) == "datetime64[ns, UTC]"
        assert sorted(frame["e0.when"].dropna().astype("int64") // 10**6) == [
            NANOSECONDS // 10**6 + 12 * 3_600_000,
            NANOSECONDS // 10**6 + 24 * 3_600_000 + 500,
        ]

    def test_pictures_have_datetimes(self, tmp_path: Path) -> None:
        path, picture = tmp_path / "g.csv", tmp_path / "p.svg"
        path.write_text("src,dst,when\n0,1,2024-03-01T12:34:56\n")
        arguments = ("--directed", "--edges", "--column", "when", "--picture", picture)
        result = motiflux("match", path, "(a)-[x]->(b)", *arguments)
        assert result.exit_code == 0, result.stderr
        assert "2024-03-01, 12:34:56" in picture.read_text()

    def test_a_date_without_quotes_is_shown_with_them(self, tmp_path: Path) -> None:
        path = tmp_path / "g.csv"
        path.write_text("src,dst,when\n0,1,2024-03-01\n")
        result = motiflux("count", path, "(a)-[x]->(b) WHERE x.when < 2024-03-02", "--directed")
        assert result.exit_code == 2
        assert "text needs quotes: write x.when < '2024-03-02'" in result.stderr

    def test_a_column_with_a_datetime_that_does_not_fit_is_text_with_a_note(self, tmp_path: Path) -> None:
        path = tmp_path / "g.csv"
        path.write_text("src,dst,when\n0,1,2024-03-01\n1,2,9999-12-31\n")
        result = motiflux("count", path, "(a)--(b)")
        assert result.exit_code == 0
        assert "column 'when' was read as text: line 3 holds '9999-12-31', expected" in result.stderr
