"""Attributes that are datetimes: what they are made from, conditions on them, and where they go."""

from __future__ import annotations

import datetime as dt
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.conditions import Comparison, IsMissing, OneOf, Operator
from motiflux.graph.attributes.columns import Kind
from motiflux.io.writers import write_matches
from tests.unit.cli_run import motiflux

UTC = dt.UTC
MARCH = dt.datetime(2024, 3, 1)
NANOSECONDS = 1_709_251_200 * 10**9
TEXT_EXPECTED = "expected text such as '2024-03-01' or '2024-03-01T12:00:00' to compare its datetimes with"
FINE = "2024-03-01T00:00:00.000000001"


def of_edges(when: Any) -> mf.Graph:
    """Give a path with an attribute of its edges."""
    ends = range(len(when))
    return mf.Graph.from_edges(
        (list(ends), [end + 1 for end in ends]), directed=True, edge_attributes={"when": when}
    )


def shown(graph: mf.Graph, name: str = "when") -> tuple[Kind, list[str]]:
    """Give the kind of an attribute, and its sorted values."""
    column = graph.edge_attributes[name]
    return column.kind, sorted(map(str, column.to_numpy()))


class TestWhatAColumnIsMadeFrom:
    @pytest.mark.parametrize(
        ("values", "kind"),
        [
            (np.array(["2024-03-01", "NaT"], dtype="M8[D]"), Kind.DATETIME),
            (np.array(["2024-03", "NaT"], dtype="M8[M]"), Kind.DATETIME),
            (np.ma.MaskedArray(np.array(["2024-03-01", "9999-01-01"], "M8[s]"), [0, 1]), Kind.DATETIME),
            ([MARCH, None], Kind.DATETIME),
            ([dt.date(2024, 3, 1), None], Kind.DATETIME),
            ([np.datetime64("2024-03-01", "ns"), np.datetime64("NaT")], Kind.DATETIME),
            (np.array([MARCH, float("nan")], dtype=object), Kind.DATETIME),
            ([MARCH.replace(tzinfo=UTC), None], Kind.DATETIME_UTC),
            (
                [dt.datetime(2024, 3, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=2))), None],
                Kind.DATETIME_UTC,
            ),
        ],
        ids=str,
    )
    def test_datetimes_of_python_and_numpy_are_taken(self, values: Any, kind: Kind) -> None:
        graph = of_edges(values)
        assert shown(graph) == (kind, ["2024-03-01T00:00:00.000000000", "NaT"])
        column = graph.edge_attributes["when"]
        assert column.data.dtype == np.int64
        assert column.data[~column.missing()].tolist() == [NANOSECONDS]

    def test_timestamps_and_dates_of_arrow_are_taken(self) -> None:
        pa = pytest.importorskip("pyarrow")
        for values, kind in [
            *(
                (pa.array([MARCH, None], pa.timestamp(unit)), Kind.DATETIME)
                for unit in ("s", "ms", "us", "ns")
            ),
            (pa.array([MARCH, None], pa.timestamp("ms", "Asia/Tokyo")), Kind.DATETIME_UTC),
            (pa.array([MARCH, None], pa.date32()), Kind.DATETIME),
            (pa.array([MARCH, None], pa.date64()), Kind.DATETIME),
            (pa.array([MARCH, None], pa.timestamp("s")).dictionary_encode(), Kind.DATETIME),
            (pa.chunked_array([pa.array([MARCH], pa.timestamp("s")), [None]]), Kind.DATETIME),
        ]:
            table = pa.table({"src": [0, 1], "dst": [1, 2], "when": values})
            for graph in (of_edges(values), mf.Graph.from_table(table)):
                assert shown(graph) == (kind, ["2024-03-01T00:00:00.000000000", "NaT"]), values.type

    def test_columns_of_pandas_are_taken(self) -> None:
        pd = pytest.importorskip("pandas")
        naive = pd.to_datetime(pd.Series(["2024-03-01", None]))
        frame = pd.DataFrame(
            {"src": [0, 1], "dst": [1, 2], "when": naive, "zoned": naive.dt.tz_localize("America/Lima")}
        )
        graph = mf.Graph.from_table(frame)
        assert shown(graph) == (Kind.DATETIME, ["2024-03-01T00:00:00.000000000", "NaT"])
        assert shown(graph, "zoned") == (Kind.DATETIME_UTC, ["2024-03-01T05:00:00.000000000", "NaT"])

    def test_nodes_and_edges_of_networkx_keep_theirs(self) -> None:
        nx = pytest.importorskip("networkx")
        given = nx.DiGraph()
        given.add_node(0, born=dt.date(1990, 5, 1))
        given.add_edge(0, 1, when=MARCH, seen=np.datetime64("2024-03-01T12", "ns"))
        graph = mf.Graph.from_networkx(given)
        again = mf.Graph.from_networkx(graph.to_networkx())
        for one in (graph, again):
            assert one.vertex_attributes["born"].to_list().count(dt.datetime(1990, 5, 1)) == 1
            assert shown(one) == (Kind.DATETIME, ["2024-03-01T00:00:00.000000000"])
            assert shown(one, "seen") == (Kind.DATETIME, ["2024-03-01T12:00:00.000000000"])

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            (
                [MARCH, MARCH.replace(tzinfo=UTC)],
                "row 1: expected datetimes without a time zone as before, found",
            ),
            (
                [MARCH.replace(tzinfo=UTC), MARCH],
                "row 1: expected datetimes with a time zone as before, found",
            ),
            (
                [dt.date(1600, 1, 1)],
                "row 0: expected datetimes from 1677-09-21 to 2262-04-11, found 1600-01-01",
            ),
            (
                np.array(["2300"], "M8[Y]"),
                "row 0: expected datetimes from 1677-09-21 to 2262-04-11, found 2300",
            ),
            (
                np.array([1], "M8[ps]"),
                "row 0: expected whole nanoseconds, found 1970-01-01T00:00:00.000000000001",
            ),
        ],
    )
    def test_what_nanoseconds_do_not_hold_is_refused_by_name(self, values: Any, message: str) -> None:
        with pytest.raises(mf.GraphError) as caught:
            of_edges(values)
        assert str(caught.value).startswith(f"edge_attributes['when'], {message}")

    def test_a_datetime_beside_other_values_is_refused(self) -> None:
        with pytest.raises(mf.GraphError, match="all of one kind, found 5"):
            of_edges(["x", 5])
        with pytest.raises(mf.GraphError, match=r"all of one kind, found datetime"):
            of_edges([MARCH, 5])

    def test_a_timestamp_is_no_label(self) -> None:
        when = np.array(["2024-03-01"], dtype="M8[s]")
        with pytest.raises(
            mf.GraphError, match=r"column 'label', row 0: expected a label.* found '2024-03-01"
        ):
            mf.Graph.from_table({"src": [0], "dst": [1], "label": when})


class TestTextTables:
    def read(self, tmp_path: Path, *cells: str, name: str = "g.csv") -> mf.Graph:
        path = tmp_path / name
        between = "\t" if name.endswith("tsv") else ","
        lines = [between.join(("src", "dst", "when"))]
        lines += [between.join((str(row), str(row + 1), cell)) for row, cell in enumerate(cells)]
        path.write_text("\n".join(lines) + "\n")
        return mf.read_graph(path, directed=True)

    @pytest.mark.parametrize("name", ["g.csv", "g.tsv"])
    def test_iso_text_is_read_as_datetimes(self, tmp_path: Path, name: str) -> None:
        graph = self.read(
            tmp_path, "2024-03-01", "", '"2024-03-01 12:00"', "2024-03-01T12:00:00.5", name=name
        )
        assert shown(graph) == (
            Kind.DATETIME,
            [
                "2024-03-01T00:00:00.000000000",
                "2024-03-01T12:00:00.000000000",
                "2024-03-01T12:00:00.500000000",
                "NaT",
            ],
        )

    def test_text_with_time_zones_is_in_utc(self, tmp_path: Path) -> None:
        graph = self.read(tmp_path, "2024-03-01T12:00:00Z", "2024-03-01 12:00:00.5+02:00")
        assert shown(graph) == (
            Kind.DATETIME_UTC,
            ["2024-03-01T10:00:00.500000000", "2024-03-01T12:00:00.000000000"],
        )

    @pytest.mark.parametrize("cell", ["soon", '""', "2024-02-30", "2024", "12:00"])
    def test_a_column_with_other_text_stays_a_column_of_strings(self, tmp_path: Path, cell: str) -> None:
        column = self.read(tmp_path, "2024-03-01", cell).edge_attributes["when"]
        assert (column.kind, sorted(column.to_list())) == (
            Kind.STRING,
            sorted(["2024-03-01", cell.replace('""', "")]),
        )

    @pytest.mark.parametrize(
        ("cells", "line", "message"),
        [
            (
                ("", "2024-03-01", "9999-12-31"),
                4,
                "column 'when': expected datetimes from 1677-09-21 to 2262-04-11, found '9999-12-31'",
            ),
            (
                ("2024-03-01T00:00Z", "2024-03-01"),
                3,
                "column 'when': expected datetimes with a time zone as before, found '2024-03-01'",
            ),
            (
                ("2024-03-01", "", "2024-03-01T00:00Z"),
                4,
                "column 'when': expected datetimes without a time zone as before, found '2024-03-01T00:00Z'",
            ),
        ],
    )
    def test_what_does_not_fit_is_refused_with_its_line(
        self, tmp_path: Path, cells: tuple[str, ...], line: int, message: str
    ) -> None:
        with pytest.raises(mf.FormatError) as caught:
            self.read(tmp_path, *cells)
        assert str(caught.value) == f"{tmp_path / 'g.csv'}, line {line}: {message}"

    def test_a_table_of_vertices_has_datetimes_too(self, tmp_path: Path) -> None:
        (tmp_path / "v.csv").write_text("id,born\n0,1990-05-01\n1,\n")
        (tmp_path / "e.csv").write_text("src,dst\n0,1\n")
        graph = mf.read_graph(tmp_path / "e.csv", vertices=tmp_path / "v.csv")
        assert graph.vertex_attributes["born"].to_list() == [dt.datetime(1990, 5, 1), None]

    def test_times_of_an_edge_list_are_datetimes(self, tmp_path: Path) -> None:
        (tmp_path / "g.txt").write_text("0 1 2024-03-01T00:00:00Z\n1 2 2024-03-01T01:00:00Z\n")
        graph = mf.read_graph(tmp_path / "g.txt", time=2)
        assert graph.edge_attributes["time"].kind is Kind.DATETIME_UTC


class TestConditions:
    WHEN = ("2024-02-29", "2024-03-01", FINE, "NaT")

    @pytest.fixture
    def graph(self) -> mf.Graph:
        return of_edges(np.array(self.WHEN, dtype="M8[ns]"))

    @pytest.mark.parametrize(
        ("condition", "number"),
        [
            ("x.when < '2024-03-01'", 1),
            ("x.when <= '2024-03-01'", 2),
            ("x.when = '2024-03-01T00:00:00'", 1),
            ("x.when <> '2024-03-01'", 2),
            ("x.when > '2024-03-01'", 1),
            ("x.when >= '2024-03-01 00:00:00.000000001'", 1),
            ("'2024-02-29' < x.when < '2024-03-02'", 2),
            ("x.when IN ['2024-02-29', '2024-03-01']", 2),
            ("NOT x.when < '2024-03-01'", 2),
            ("x.when IS NULL", 1),
            ("x.when < '9999-12-31'", 3),
            ("x.when > '0001-01-01'", 3),
            ("x.when = '9999-12-31'", 0),
        ],
    )
    def test_a_datetime_is_compared_with_text_exactly(
        self, graph: mf.Graph, condition: str, number: int
    ) -> None:
        assert mf.count(graph, f"(a)-[x]->(b) WHERE {condition}") == number

    @pytest.mark.parametrize(
        ("condition", "message"),
        [
            (
                "x.when < 5",
                f"{TEXT_EXPECTED}, found 5",
            ),
            (
                "x.when IN ['2024-03-01', 'soon']",
                f"{TEXT_EXPECTED}, found 'soon'",
            ),
            (
                "x.when < '2024-03-01T00:00Z'",
                "expected no time zone, as its datetimes have none, found '2024-03-01T00:00Z'",
            ),
            ("x.when STARTS WITH '2024'", "expected strings for STARTS WITH, found datetimes"),
        ],
    )
    def test_other_values_are_refused(self, graph: mf.Graph, condition: str, message: str) -> None:
        with pytest.raises(mf.PatternError) as caught:
            mf.count(graph, f"(a)-[x]->(b) WHERE {condition}")
        assert str(caught.value) == f"edge attribute 'when': {message}"

    def test_text_without_a_time_zone_is_in_utc_where_the_column_has_one(self) -> None:
        graph = of_edges([MARCH.replace(tzinfo=UTC)])
        assert mf.count(graph, "(a)-[x]->(b) WHERE x.when = '2024-03-01'") == 1
        assert mf.count(graph, "(a)-[x]->(b) WHERE x.when = '2024-03-01T02:00+02:00'") == 1

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (MARCH, "2024-03-01T00:00:00"),
            (dt.date(2024, 3, 1), "2024-03-01T00:00:00"),
            (np.datetime64(FINE), FINE),
            (dt.datetime(2024, 3, 1, tzinfo=UTC), "2024-03-01T00:00:00Z"),
            (dt.datetime(9999, 12, 31), "9999-12-31T00:00:00"),
        ],
    )
    def test_patterns_keep_datetimes_of_python_as_text(self, value: Any, text: str) -> None:
        condition = Comparison("when", Operator.LESS, value)
        pattern = mf.Pattern.from_edges([(0, 1)], edge_where=[condition])
        assert pattern.edges[0].where == Comparison("when", Operator.LESS, text)
        assert mf.Pattern.parse(str(pattern)).edges[0].where == pattern.edges[0].where

    def test_masks_take_datetimes_of_python(self, graph: mf.Graph) -> None:
        assert graph.arc_mask(Comparison("when", Operator.AT_LEAST, MARCH), "out").sum() == 2  # type: ignore[arg-type]
        assert graph.arc_mask(OneOf("when", (dt.date(2024, 2, 29),)), "out").sum() == 1  # type: ignore[arg-type]
        assert graph.arc_mask(IsMissing("when"), "out").sum() == 1

    def test_a_datetime_that_is_none_is_refused(self) -> None:
        with pytest.raises(mf.PatternError, match="expected a datetime of the years 1 to 9999, found"):
            mf.QueryEdge(0, 1, where=Comparison("when", Operator.LESS, np.datetime64("NaT")))  # type: ignore[arg-type]


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

    def test_a_column_that_does_not_fit_is_an_error_of_its_line(self, tmp_path: Path) -> None:
        path = tmp_path / "g.csv"
        path.write_text("src,dst,when\n0,1,2024-03-01\n1,2,9999-12-31\n")
        result = motiflux("count", path, "(a)--(b)")
        assert result.exit_code == 2
        assert "line 3: column 'when': expected datetimes from 1677-09-21 to 2262-04-11" in result.stderr
