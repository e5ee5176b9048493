"""Attributes that are datetimes: what they are made from, and conditions on them."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.conditions import Comparison, IsMissing, OneOf, Operator
from motiflux.graph.attributes.columns import Kind
from tests.unit.datetime_cases import FINE, MARCH, NANOSECONDS, UTC, of_edges, shown

TEXT_EXPECTED = "expected text such as '2024-03-01' or '2024-03-01T12:00:00' to compare its datetimes with"


class TestWhatAColumnIsMadeFrom:
    @pytest.mark.parametrize(
        ("values", "kind"),
        [
            (np.array(["2024-03-01", "NaT"], dtype="M8[D]"), Kind.DATETIME),
            (np.array(["2024-03", "NaT"], dtype="M8[M]"), Kind.DATETIME),
            (np.ma.MaskedArray(np.array(["2024-03-01", "9999-01-01"], "M8[s]"), [0, 1]), Kind.DATETIME),
            ([MARCH, None], Kind.DATETIME),
            ([dt.date(2024, 3, 1), None], Kind.DATETIME),
            ([np.datetime64("2024-03-01", "ns"), np.datetime64("NaT", "ns")], Kind.DATETIME),
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

    @pytest.mark.parametrize("zone", [None, "America/Lima"])
    def test_columns_of_pandas_that_arrow_holds_are_taken(self, zone: str | None) -> None:
        pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
        column = pd.Series([MARCH, None], dtype=pd.ArrowDtype(pa.timestamp("us", zone)))
        graph = mf.Graph.from_table(pd.DataFrame({"src": [0, 1], "dst": [1, 2], "when": column}))
        kind, text = (
            (Kind.DATETIME, "2024-03-01T00:00:00.000000000")
            if zone is None
            else (Kind.DATETIME_UTC, "2024-03-01T05:00:00.000000000")
        )
        assert shown(graph) == (kind, [text, "NaT"])

    @pytest.mark.turns(8)
    @pytest.mark.parametrize("zone", [None, "America/Lima"])
    def test_columns_of_polars_are_taken(self, zone: str | None) -> None:
        pl = pytest.importorskip("polars")
        column = pl.Series([MARCH, None], dtype=pl.Datetime("ms")).dt.replace_time_zone(zone)
        graph = mf.Graph.from_table(pl.DataFrame({"src": [0, 1], "dst": [1, 2], "when": column}))
        kind, hour = (Kind.DATETIME, 0) if zone is None else (Kind.DATETIME_UTC, 5)
        assert shown(graph) == (kind, [f"2024-03-01T{hour:02}:00:00.000000000", "NaT"])

    @pytest.mark.parametrize("order", ["<", ">"])
    def test_the_bytes_and_steps_of_an_array_do_not_matter(self, order: str) -> None:
        when = np.array(["2024-03-01", "2025-01-01", "NaT", "2025-01-01"], dtype=f"{order}M8[D]")[::2]
        assert shown(of_edges(when)) == (Kind.DATETIME, ["2024-03-01T00:00:00.000000000", "NaT"])

    def test_the_least_and_the_greatest_are_taken(self) -> None:
        most = 2**63 - 1
        graph = of_edges(np.array([-most, most], dtype="M8[ns]"))
        assert sorted(graph.edge_attributes["when"].data.tolist()) == [-most, most]
        assert mf.count(graph, "(a)-[x]->(b) WHERE x.when < '1677-09-22'") == 1
        assert mf.count(graph, "(a)-[x]->(b) WHERE x.when > '2262-04-11T23:47:16.854775806'") == 1
        assert mf.count(graph, "(a)-[x]->(b) WHERE x.when > '2262-04-11T23:47:16.854775807'") == 0

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
        ("cells", "said"),
        [
            (
                ("", "2024-03-01", "9999-12-31"),
                "line 4 holds '9999-12-31', expected datetimes from 1677-09-21 to 2262-04-11",
            ),
            (
                ("2024-03-01T00:00Z", "2024-03-01"),
                "line 3 holds '2024-03-01', expected datetimes with a time zone as before",
            ),
            (
                ("2024-03-01", "", "2024-03-01T00:00Z"),
                "line 4 holds '2024-03-01T00:00Z', expected datetimes without a time zone as before",
            ),
            (
                ("2024-03-01", "NULL", "2024-03-03", "soon", "2024-03-02"),
                "line 5 holds 'soon', expected datetimes as in most rows",
            ),
        ],
    )
    def test_a_column_that_looks_like_datetimes_but_is_text_is_named_in_a_note(
        self, tmp_path: Path, cells: tuple[str, ...], said: str
    ) -> None:
        with pytest.warns(mf.MotifluxWarning) as notes:
            graph = self.read(tmp_path, *cells)
        (note,) = (str(one.message) for one in notes)
        start = f"{tmp_path / 'g.csv'}: column 'when' was read as text: "
        assert note == f"{start}{said}; conditions compare this column as text"
        column = graph.edge_attributes["when"]
        assert column.kind is Kind.STRING
        assert {one for one in column.to_list() if one is not None} == set(cells) - {""}

    def test_one_other_text_among_many_datetimes_is_found(self, tmp_path: Path) -> None:
        days = np.datetime_as_string(np.arange("1900-01-01", "1925-01-01", dtype="datetime64[D]")).tolist()
        days[9000] = "1924-99-99"
        with pytest.warns(mf.MotifluxWarning, match="line 9002 holds '1924-99-99'"):
            self.read(tmp_path, *days)

    @pytest.mark.parametrize("word", ["NULL", "N/A", "nan", "NaT", "null"])
    def test_words_for_missing_values_are_missing_among_datetimes(self, tmp_path: Path, word: str) -> None:
        graph = self.read(tmp_path, "2024-03-01", word, "", "2024-03-02")
        column = graph.edge_attributes["when"]
        assert (column.kind, int(column.missing().sum())) == (Kind.DATETIME, 2)
        assert int(mf.count(graph, "(a)-[x]->(b) WHERE x.when < '2024-03-02'")) == 1
        assert int(mf.count(graph, "(a)-[x]->(b) WHERE x.when IS NULL")) == 2

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
            mf.QueryEdge(0, 1, where=Comparison("when", Operator.LESS, np.datetime64("NaT", "ns")))  # type: ignore[arg-type]
