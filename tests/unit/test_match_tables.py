"""Matches as tables: Arrow, pandas, polars, DuckDB, networkx, and the columns that can be asked for."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.interop.strings import StringTable
from motiflux.io import write_matches
from motiflux.io.tables.match_tables import group_rows, rebatched
from motiflux.packages import require
from motiflux.result.matches import Matches
from motiflux.result.rows import StoresRows
from motiflux.types import VERTEX_DTYPE

RING = "(a)-[x:wire]->(b)-[:wire]->(c)-[:wire]->(a)"


def complete(size: int) -> mf.Graph:
    return mf.Graph.from_edges([(u, v) for v in range(size) for u in range(v)])


@pytest.fixture
def banks() -> mf.Graph:
    """A ring of transfers; two copies of the first, of which one is large, and a payment in cash."""
    return mf.Graph.from_edges(
        [("ann", "bob"), ("ann", "bob"), ("bob", "cy"), ("cy", "ann"), ("ann", "bob")],
        directed=True,
        vertex_ids=["ann", "bob", "cy"],
        vertex_labels=["person", "person", "shop"],
        edge_labels=["wire", "wire", "wire", "wire", "cash"],
        vertex_attributes={"country": ["de", None, "fr"], "age": [30, 40, None]},
        edge_attributes={"amount": [1.5, 90.0, None, 7.0, 1.0], "note": ["n", None, "\u00e9", "", "z"]},
    )


@pytest.fixture
def numbers() -> mf.Graph:
    return mf.Graph.from_edges([(10, 20), (20, 30), (30, 10), (30, 40)])


class TestColumns:
    def test_integer_ids_and_edges_are_one_array(self, numbers: mf.Graph) -> None:
        matches = mf.match(numbers, "(a)--(b)--(c)--(a)", symmetry="subgraphs", edges=True)
        assert matches.columns == ["v0", "v1", "v2", "e0", "e1", "e2"]
        (row,) = matches.to_numpy().tolist()
        listed = numbers.to_edges()
        found = [frozenset((listed.src[e].item(), listed.dst[e].item())) for e in row[3:]]
        assert found == [frozenset(row[:2]), frozenset(row[1:3]), frozenset((row[2], row[0]))]

    def test_string_ids_and_edges_are_fields(self, banks: mf.Graph) -> None:
        rows = mf.match(banks, "(a:person)-[:cash]->(b)", edges=True).to_numpy()
        assert rows.dtype.names == ("v0", "v1", "e0")
        assert rows["v0"].tolist() == ["ann"]
        assert banks.to_edges().labels is not None
        assert banks.to_edges().labels[rows["e0"]].tolist() == ["cash"]

    def test_no_rows_have_their_columns_all_the_same(self, numbers: mf.Graph, banks: mf.Graph) -> None:
        clique = mf.Pattern.from_edges([(u, v) for v in range(4) for u in range(v)])
        assert mf.match(numbers, clique, edges=True).to_numpy().shape == (0, 10)
        nothing = mf.match(banks, "(a:shop)-->(b:shop)", edges=True).to_numpy()
        assert (nothing.shape, nothing.dtype.names) == ((0,), ("v0", "v1", "e0"))

    def test_names_of_the_pattern_name_columns(self, banks: mf.Graph) -> None:
        matches = mf.match(banks, RING, edges=True, names=True, attributes=["amount", "a.age"])
        assert matches.columns == ["a", "b", "c", "x", "e1", "e2"]
        assert [field.name for field in matches.fields] == [
            "a", "a.age", "b", "c", "x", "x.amount", "e1", "e1.amount", "e2", "e2.amount",
        ]  # fmt: skip

    def test_an_attribute_may_be_asked_of_one_vertex_by_either_name(self, banks: mf.Graph) -> None:
        for name in ("v1.country", "b.country"):
            matches = mf.match(banks, RING, attributes=[name])
            assert [field.name for field in matches.fields] == ["v0", "v1", "v1.country", "v2"]

    def test_an_attribute_with_a_dot_in_its_name_is_found(self) -> None:
        graph = mf.Graph.from_edges([(0, 1)], vertex_attributes={"v0.x": [5, 6]})
        matches = mf.match(graph, "(a)--(b)", attributes=["v1.v0.x"])
        assert [field.name for field in matches.fields] == ["v0", "v1", "v1.v0.x"]
        assert sorted(table_of(matches)) == [(0, 1, 6), (1, 0, 5)]

    def test_the_copy_that_satisfies_the_condition_is_the_witness(self, banks: mf.Graph) -> None:
        wanted = {"edges": True, "attributes": ["amount", "note", "row"]}
        plain = mf.match(banks, "(a)-[x:wire]->(b {country: 'fr'})", **wanted)
        assert [row[3] for row in table_of(plain)] == [None]
        large = mf.match(banks, "(a)-[x:wire]->(b) WHERE x.amount > 50", **wanted)
        ((a, b, _, amount, note, row),) = table_of(large)
        assert (a, b, amount, note) == ("ann", "bob", 90.0, None)
        assert banks.edge_attributes["amount"].to_numpy()[row] == 90.0

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"attributes": ["amount"]}, r"edges=True beside attributes of edges \('amount'\)"),
            ({"attributes": ["e0.amount"]}, r"edges=True beside attributes of edges \('amount'\)"),
            ({"attributes": ["city"]}, r"attributes of vertices \(age, country, label\), alone"),
            ({"attributes": ["v9.age"]}, "found 'v9.age'"),
            ({"attributes": ["city"], "edges": True}, r"or edges \(amount, label, note, row\)"),
            ({"attributes": [3]}, "names of attributes, found 3"),
            ({"attributes": 3}, "names of attributes, found 3"),
            ({"attributes": None}, "names of attributes, found None"),
        ],
    )
    def test_what_there_is_not_is_refused(
        self, banks: mf.Graph, options: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(mf.ArgumentError, match=message):
            mf.match(banks, RING, **options)

    def test_two_columns_of_one_name_are_refused(self, numbers: mf.Graph) -> None:
        with pytest.raises(mf.ArgumentError, match="found 'e0 twice'"):
            mf.match(numbers, "(e0)--(b)", names=True, edges=True)


class ManyStrings(StringTable):
    """A table that is not to be made into Python strings as a whole."""

    def __iter__(self) -> Any:
        assert len(self) < 100, "all strings were made for a few rows"
        return super().__iter__()


@pytest.fixture
def many_strings() -> mf.Graph:
    """A ring whose vertices have texts of their own, in a table of many."""
    graph = mf.Graph.from_edges(
        [(at, (at + 1) % 200) for at in range(200)],
        vertex_attributes={"name": [f"name {at}" for at in range(200)]},
    )
    column = graph.vertex_attributes["name"]
    assert column.strings is not None
    object.__setattr__(column, "strings", ManyStrings(column.strings.text, column.strings.offsets))
    return graph


class TestFewRowsOfManyStrings:
    def test_a_column_of_them_makes_their_strings_only(self, many_strings: mf.Graph) -> None:
        few = many_strings.vertex_attributes["name"].take(np.array([7, 3, 7]))
        assert few.to_list() == ["name 7", "name 3", "name 7"]
        assert few.take(np.array([], int)).to_list() == []

    def test_graphs_of_matches_make_their_strings_only(self, many_strings: mf.Graph) -> None:
        pytest.importorskip("networkx")
        pattern = "(a)--(b) WHERE id(a) = 5"
        covered = mf.match(many_strings, pattern).to_networkx()
        assert dict(covered.nodes(data="name")) == {4: "name 4", 5: "name 5", 6: "name 6"}
        one, _ = mf.match(many_strings, pattern).graphs()
        assert one.nodes[5]["name"] == "name 5"


class TestBatches:
    def test_batches_have_exactly_the_rows_asked_for(self) -> None:
        graph = complete(12)
        for asked in (1, 7, 100, 1320, 5000):
            batches = list(mf.match(graph, "(a)--(b)--(c)", batch_rows=64).batches(asked))
            assert sum(map(len, batches)) == 1320
            assert {len(batch) for batch in batches[:-1]} <= {asked}

    def test_what_one_way_leaves_another_takes(self) -> None:
        matches = mf.match(complete(12), "(a)--(b)--(c)", batch_rows=64)
        parts = [next(matches.batches(7)), next(matches)]
        assert (matches.rows, matches.complete) == (64, None)
        parts += [next(matches.batches(100)), *matches]
        assert [len(part) for part in parts[:3]] == [7, 57, 100]
        assert len(np.unique(np.concatenate(parts), axis=0)) == matches.rows == 1320
        assert matches.complete

    def test_graphs_leave_what_was_not_taken(self) -> None:
        pytest.importorskip("networkx")
        matches = mf.match(complete(5), "(a)--(b)")
        assert sorted(next(matches.graphs()).nodes) != []
        assert (matches.rows, sum(map(len, matches)), matches.complete) == (1, 19, True)

    def test_rows_that_were_kept_go_when_it_is_closed(self) -> None:
        with mf.match(complete(5), "(a)--(b)") as matches:
            next(matches.batches(3))
        assert (next(matches, None), matches.rows, matches.complete) == (None, 3, False)

    def test_a_batch_that_cannot_be_made_ends_the_search(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupted(block: object) -> None:
            raise KeyboardInterrupt

        matches = mf.match(complete(5), "(a)--(b)", batch_rows=4)
        monkeypatch.setattr(matches._layout, "table", interrupted)
        with pytest.raises(KeyboardInterrupt):
            next(matches.tables())
        assert (next(matches, None), matches.complete) == (None, False)

    def test_a_batch_within_a_block_is_no_copy(self) -> None:
        block = np.arange(20).reshape(10, 2)
        parts = list(rebatched([block], 4))
        assert [len(part) for part in parts] == [4, 4, 2]
        assert all(part.base is block.base for part in parts)

    def test_row_groups_are_bounded_in_bytes(self) -> None:
        narrow = mf.match(complete(5), "(a)--(b)").fields
        wide = mf.match(complete(5), mf.Pattern.from_edges([(i, i + 1) for i in range(31)])).fields
        assert group_rows(narrow) == 1 << 20
        assert group_rows(wide) == 1 << 16

    def test_batch_rows_must_be_positive(self) -> None:
        with pytest.raises(mf.ArgumentError, match="batch_rows: expected an integer of at least 1"):
            mf.match(complete(3), "(a)--(b)").batches(0)

    def test_an_iteration_that_fails_ends_the_search(self, banks: mf.Graph) -> None:
        matches = mf.match(banks, RING)
        next(matches)
        with pytest.raises(mf.MotifluxError, match="no_such_package"):
            matches._closing_on_error(lambda: require("no_such_package", "a test"), "a test")
        assert matches.complete is False

    def test_a_call_that_fails_before_the_search_leaves_the_rows(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pytest.importorskip("pyarrow")
        matches = mf.match(complete(4), "(a)--(b)")
        with monkeypatch.context() as without:
            without.setitem(sys.modules, "polars", None)
            with pytest.raises(mf.MotifluxError, match="polars"):
                matches.to_polars()
        assert (matches.complete, matches.to_arrow().num_rows) == (None, 12)


WHOLE = ["to_numpy", "to_arrow", "to_pandas", "to_polars", "to_networkx", "__arrow_c_stream__"]


UNTIMED: dict[str, Any] = {"started": 0.0, "plan_seconds": 0.0, "engine": "a test", "device": "none"}


class DeviceRows(StoresRows):
    """Blocks of four rows, which are arrays of NumPy where a search has them in GPU memory."""

    complete = True

    def __init__(self, blocks: int) -> None:
        self._left = blocks

    def next(self) -> Any:
        self._left -= 1
        return np.zeros((4, 2), VERTEX_DTYPE) if self._left >= 0 else None

    def next_on_device(self, ids: Any) -> Any:
        return self.next()

    def close(self) -> None:
        self._left = 0

    def widen(self, rows: int) -> None:
        pass


class TestEachRowOnce:
    """No call returns a part of the rows as if it were all of them."""

    @pytest.mark.parametrize("call", WHOLE)
    def test_a_call_for_all_rows_after_one_is_refused(self, call: str) -> None:
        matches = mf.match(complete(4), "(a)--(b)")
        matches.to_numpy()
        message = "found 12 rows taken before; keep the result of the first call, or call match again"
        for _ in range(2):
            with pytest.raises(mf.MotifluxError, match=message):
                getattr(matches, call)()
        assert (matches.rows, matches.complete) == (12, True)

    @pytest.mark.parametrize("call", WHOLE)
    def test_a_call_for_all_rows_after_a_batch_is_refused_and_takes_none(self, call: str) -> None:
        matches = mf.match(complete(4), "(a)--(b)", batch_rows=4)
        assert len(next(matches)) == 4
        with pytest.raises(mf.MotifluxError, match="expected all rows, found 4 rows taken before"):
            getattr(matches, call)()
        assert sum(map(len, matches)) == 8

    def test_a_file_has_all_rows_or_is_not_written(self, tmp_path: Path) -> None:
        matches = mf.match(complete(4), "(a)--(b)", batch_rows=4)
        next(matches)
        for write in (matches.save, lambda path: write_matches(matches, path)):
            with pytest.raises(mf.MotifluxError, match="4 rows taken before"):
                write(tmp_path / "rows.csv")
        assert list(tmp_path.iterdir()) == []

    def test_a_second_iteration_is_refused(self) -> None:
        matches = mf.match(complete(4), "(a)--(b)")
        assert sum(len(batch) for batch in matches) == 12
        for again in (iter, lambda m: m.batches(3), lambda m: m.graphs(), lambda m: m.tables()):
            with pytest.raises(mf.MotifluxError, match="12 rows taken before"):
                again(matches)
        assert next(matches, None) is None

    def test_an_iteration_continues_where_it_stopped(self) -> None:
        matches = mf.match(complete(4), "(a)--(b)", batch_rows=4)
        for batch in matches:
            assert len(batch) == 4
            break
        assert [len(batch) for batch in matches] == [4, 4]

    def test_a_closed_search_is_refused(self) -> None:
        with mf.match(complete(4), "(a)--(b)") as matches:
            pass
        for again in (iter, lambda m: m.batches(3), lambda m: m.graphs(), lambda m: m.to_numpy()):
            with pytest.raises(mf.MotifluxError, match="a search that was closed or failed after 0 rows"):
                again(matches)

    def test_rows_are_not_read_as_none_after_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupted(block: object) -> None:
            raise KeyboardInterrupt

        matches = mf.match(complete(5), "(a)--(b)", batch_rows=4)
        assert len(next(matches)) == 4
        monkeypatch.setattr(matches._layout, "array", interrupted)
        with pytest.raises(KeyboardInterrupt):
            list(matches)
        message = "iteration: expected rows that were not taken, found a search that was closed or failed"
        with pytest.raises(mf.MotifluxError, match=message):
            list(matches)

    def test_rows_on_a_device_do_not_follow_rows_on_the_host(self) -> None:
        matches = Matches(DeviceRows(3), mf.match(complete(4), "(a)--(b)")._layout, **UNTIMED, batch_rows=2)
        assert len(next(matches)) == 2
        with pytest.raises(mf.MotifluxError, match="found 2 rows taken in the host's memory"):
            next(matches.device_batches())
        assert (matches.complete, sum(map(len, matches)), matches.rows) == (None, 10, 12)

    def test_rows_on_the_host_do_not_follow_rows_on_a_device(self) -> None:
        matches = Matches(DeviceRows(3), mf.match(complete(4), "(a)--(b)")._layout, **UNTIMED)
        assert len(next(matches.device_batches())) == 4
        with pytest.raises(mf.MotifluxError, match="found 4 rows taken in GPU memory"):
            next(matches)
        assert (sum(map(len, matches.device_batches())), matches.rows) == (8, 12)

    def test_no_rows_may_be_taken_twice(self) -> None:
        matches = mf.match(complete(2), "(a)--(b)--(c)")
        assert [len(matches.to_numpy()), len(matches.to_numpy())] == [0, 0]


class TestSave:
    def test_names_are_not_lost_in_a_file_without_names(self, tmp_path: Path) -> None:
        matches = mf.match(complete(4), "(payer)--(b)", names=True)
        with pytest.raises(mf.OutputError, match=r"rows\.npy: found names=True, expected a \.parquet"):
            matches.save(tmp_path / "rows.npy")
        assert matches.save(tmp_path / "rows.csv") == 12

    @pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz", "rows.npy", "rows.arrow", "rows.parquet"])
    def test_it_writes_what_write_matches_does(self, tmp_path: Path, name: str) -> None:
        pytest.importorskip("pyarrow")
        saved, written = tmp_path / name, tmp_path / f"other-{name}"
        matches = mf.match(complete(4), "(a)--(b)", threads=1)
        assert matches.save(saved) == 12
        assert write_matches(mf.match(complete(4), "(a)--(b)", threads=1), written) == 12
        assert saved.read_bytes() == written.read_bytes()

    def test_a_refused_name_leaves_the_rows(self, tmp_path: Path) -> None:
        matches = mf.match(complete(4), "(a)--(b)")
        with pytest.raises(mf.OutputError, match=r"found suffix '.xlsx', expected .parquet"):
            matches.save(tmp_path / "rows.xlsx")
        assert len(matches.to_numpy()) == 12

    def test_ids_that_the_format_does_not_hold_leave_the_rows(self, tmp_path: Path) -> None:
        matches = mf.match(mf.Graph.from_edges([("ann", "bob")], directed=True), "(a)-->(b)")
        with pytest.raises(mf.OutputError, match=r"\.npy holds integer ids, found strings"):
            matches.save(tmp_path / "rows.npy")
        assert list(tmp_path.iterdir()) == []
        assert matches.save(tmp_path / "rows.csv") == 1


class TestTooLittleMemory:
    @pytest.mark.parametrize("call", ["to_numpy", "to_arrow", "to_pandas", "to_polars"])
    def test_the_error_says_what_was_needed_and_what_to_do(
        self, monkeypatch: pytest.MonkeyPatch, call: str
    ) -> None:
        pytest.importorskip("pyarrow")
        matches = mf.match(complete(4), "(a)--(b)", batch_rows=4)
        make = {"to_numpy": "array"}.get(call, "table")
        original, given = getattr(matches._layout, make), []

        def too_large(block: Any) -> Any:
            if len(given) == 1:
                raise MemoryError("std::bad_alloc")
            given.append(block)
            return original(block)

        monkeypatch.setattr(matches._layout, make, too_large)
        message = (
            rf"{call}: expected at least 128 bytes of memory \(128 B\) for the 4 rows so far, found less"
        )
        with pytest.raises(mf.OutOfMemoryError, match=message) as caught:
            getattr(matches, call)()
        assert (caught.value.needed, isinstance(caught.value, MemoryError)) == (128, True)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
        assert matches.complete is False

    @pytest.mark.parametrize("call", ["to_numpy", "batches", "save"])
    def test_a_batch_that_does_not_fit_says_its_size(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, call: str
    ) -> None:
        matches = mf.match(complete(4), "(a)--(b)", batch_rows=4)

        def too_large() -> Any:
            raise MemoryError("std::bad_alloc")

        monkeypatch.setattr(matches._source, "next", too_large)
        take = {
            "to_numpy": matches.to_numpy,
            "batches": lambda: next(matches.batches(4)),
            "save": lambda: matches.save(tmp_path / "rows.csv"),
        }[call]
        message = r"expected at least 64 bytes of memory \(64 B\) for a batch of 4 rows, found less; ask"
        with pytest.raises(mf.OutOfMemoryError, match=message):
            take()
        assert list(tmp_path.iterdir()) == []


class TestArrow:
    def test_a_table_has_types_and_says_what_was_looked_for(self, banks: mf.Graph) -> None:
        pa = pytest.importorskip("pyarrow")
        matches = mf.match(banks, RING, edges=True, attributes=["amount", "country", "age", "label"])
        table = matches.to_arrow()
        assert matches.complete
        types = {field.name: field.type for field in table.schema}
        assert types["v0"] == types["v0.country"] == types["e0.label"] == pa.large_string()
        assert (types["e0"], types["v0.age"], types["e0.amount"]) == (pa.int64(), pa.int64(), pa.float64())
        metadata = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
        assert mf.Pattern.parse(metadata["motiflux.pattern"]) == mf.Pattern.parse(RING)
        assert json.loads(metadata["motiflux.vertices"]) == ["a", "b", "c"]
        assert json.loads(metadata["motiflux.edges"]) == ["x", "", ""]
        rows = sorted(
            table.select(["v0", "v0.country", "v0.age", "v0.label", "e0.amount"]).to_pylist(), key=str
        )
        assert [list(row.values()) for row in rows] == [
            ["ann", "de", 30, "person", 1.5],
            ["bob", None, 40, "person", None],
            ["cy", "fr", None, "shop", 7.0],
        ]

    def test_rows_are_those_of_numpy(self, numbers: mf.Graph) -> None:
        pytest.importorskip("pyarrow")
        expected = mf.match(numbers, "(a)--(b)--(c)", edges=True).to_numpy().tolist()
        table = mf.match(numbers, "(a)--(b)--(c)", edges=True, batch_rows=3).to_arrow()
        assert sorted(zip(*table.to_pydict().values(), strict=True)) == sorted(map(tuple, expected))

    def test_a_stream_is_taken_batch_by_batch(self) -> None:
        pa = pytest.importorskip("pyarrow")
        matches = mf.match(complete(200), "(a)--(b)--(c)", batch_rows=1000, threads=1)
        reader = pa.RecordBatchReader.from_stream(matches)
        assert matches.rows == 0
        assert reader.read_next_batch().num_rows == 1000
        assert matches.rows == 1000
        reader.close()
        matches.close()

    def test_an_id_without_a_form_in_utf8_is_refused_by_name(self) -> None:
        pytest.importorskip("pyarrow")
        graph = mf.Graph.from_edges([("a", "\ud800")])
        with pytest.raises(mf.MotifluxError, match=r"v0: '\\ud800' has no form in UTF-8"):
            mf.match(graph, "(a)--(b)").to_arrow()

    def test_all_kinds_of_attributes_pass(self) -> None:
        pytest.importorskip("pyarrow")
        given: dict[str, Any] = {
            "flag": [True, None], "small": np.array([1, 2], np.uint8), "big": np.array([2**63, 1], np.uint64),
            "half": np.array([0.5, np.nan], np.float16), "none": [None, None], "text": ["", None],
        }  # fmt: skip
        graph = mf.Graph.from_edges([(0, 1)], vertex_attributes=given)
        table = mf.match(graph, "(a)--(b)", attributes=list(given)).to_arrow()
        row = next(row for row in table.to_pylist() if row["v0"] == 0)
        assert [row[f"v0.{name}"] for name in given] == [True, 1, 2**63, 0.5, None, ""]
        assert [row[f"v1.{name}"] for name in given] == [None, 2, 1, None, None, None]


NAMES = [f"vertex {number}, of a long path" for number in range(4000)]
"""Text with a comma, which .csv files have in quotes."""


@pytest.fixture(scope="module")
def long_path() -> mf.Graph:
    """A path whose ids and attributes are 4,000 strings each."""
    ends = list(pairwise(NAMES))
    return mf.Graph.from_edges(ends, vertex_ids=NAMES, vertex_attributes={"same": NAMES}, directed=True)


class TestFewRows:
    """A result of few rows takes little, whatever the number of strings in the graph."""

    def test_a_table_has_the_strings_of_its_rows_alone(self, long_path: mf.Graph) -> None:
        pytest.importorskip("pyarrow")
        table = mf.match(long_path, "(a)-->(b)", attributes=["same"], limit=8).to_arrow()
        assert table.num_rows == 8
        assert table.nbytes < 8 * 4 * 100
        assert table["v0"].to_pylist() == table["v0.same"].to_pylist()

    def test_no_table_of_all_ids_is_made(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("pyarrow")
        made: list[int] = []

        def recording(strings: Iterable[str]) -> StringTable:
            listed = list(strings)
            made.append(len(listed))
            return original(listed)

        original = StringTable.of
        graph = mf.Graph.from_edges(list(pairwise(NAMES)), directed=True)
        monkeypatch.setattr(StringTable, "of", recording)
        assert mf.match(graph, "(a)-->(b)", limit=8).to_arrow().num_rows == 8
        assert max(made) <= 8

    @pytest.mark.parametrize(("suffix", "most"), [("arrow", 6000), ("parquet", 6000), ("csv", 2000)])
    def test_a_file_has_the_strings_of_its_rows_alone(
        self, long_path: mf.Graph, tmp_path: Path, suffix: str, most: int
    ) -> None:
        pytest.importorskip("pyarrow")
        path = tmp_path / f"rows.{suffix}"
        matches = mf.match(long_path, "(a)-->(b)", attributes=["same"], limit=8)
        assert write_matches(matches, path) == 8
        assert path.stat().st_size < most

    @pytest.mark.turns(8)
    @pytest.mark.parametrize("batch_rows", [7, 1000, 65_536])
    def test_batches_before_and_after_a_table_of_all_strings_agree(
        self, long_path: mf.Graph, tmp_path: Path, batch_rows: int
    ) -> None:
        pa = pytest.importorskip("pyarrow")
        csv = pytest.importorskip("pyarrow.csv")
        options: dict[str, Any] = {"attributes": ["same"], "batch_rows": batch_rows}
        tables = [mf.match(long_path, "(a)-->(b)", **options).to_arrow()]
        for suffix in ("arrow", "parquet", "csv"):
            path = tmp_path / f"rows.{suffix}"
            assert write_matches(mf.match(long_path, "(a)-->(b)", **options), path) == 3999
            if suffix == "csv":
                tables.append(csv.read_csv(path).cast(tables[0].schema))
            elif suffix == "parquet":
                tables.append(pytest.importorskip("pyarrow.parquet").read_table(path))
            else:
                tables.append(pa.ipc.open_file(path).read_all())
        for table in tables:
            assert {str(field.type) for field in table.schema} == {"large_string"}
            rows = sorted(zip(*table.to_pydict().values(), strict=True))
            assert rows == sorted((a, a, b, b) for a, b in pairwise(NAMES))

    def test_a_string_that_no_row_has_need_not_be_utf8(self) -> None:
        pytest.importorskip("pyarrow")
        graph = mf.Graph.from_edges([("a", "b"), ("c", "\ud800")], directed=True)
        table = mf.match(graph, "(x)-->(y) WHERE id(x) = 'a'").to_arrow()
        assert table.to_pylist() == [{"v0": "a", "v1": "b"}]


class TestLibraries:
    def test_pandas(self, banks: mf.Graph) -> None:
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        frame = mf.match(banks, RING, attributes=["country"]).to_pandas()
        assert sorted(frame["v0"]) == ["ann", "bob", "cy"]
        assert str(frame["v0"].dtype) == str(frame["v0.country"].dtype) == str(pandas.Series(["ann"]).dtype)
        assert frame["v0.country"].isna().sum() == 1

    def test_integers_and_booleans_that_lack_values_lose_nothing_in_pandas(self) -> None:
        pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        given = {
            "i": [2**60 + 1, None],
            "u": [2**64 - 1, None],
            "small": np.ma.MaskedArray(np.array([7, 0], np.int8), [False, True]),
            "b": [True, None],
            "whole": [2**60 + 1, 5],
        }
        graph = mf.Graph.from_edges([(0, 1)], vertex_attributes=given)
        frame = mf.match(graph, "(a)--(b)", attributes=list(given)).to_pandas().sort_values("v0")
        kinds = {name: str(frame[f"v0.{name}"].dtype) for name in given}
        assert kinds == {"i": "Int64", "u": "UInt64", "small": "Int8", "b": "boolean", "whole": "int64"}
        assert str(frame["v0"].dtype) == "int64"
        assert [frame[f"v0.{name}"].tolist()[0] for name in given] == [
            2**60 + 1,
            2**64 - 1,
            7,
            True,
            2**60 + 1,
        ]
        assert all(frame[f"v0.{name}"].isna().tolist() == [False, True] for name in list(given)[:4])

    def test_polars(self, banks: mf.Graph) -> None:
        polars = pytest.importorskip("polars")
        pytest.importorskip("pyarrow")
        frame = mf.match(banks, RING, edges=True, attributes=["amount"]).to_polars()
        assert frame.columns == ["v0", "v1", "v2", "e0", "e0.amount", "e1", "e1.amount", "e2", "e2.amount"]
        assert sorted(frame["v0"].cast(polars.String)) == ["ann", "bob", "cy"]
        assert frame["e0.amount"].null_count() == 1
        assert polars.DataFrame(mf.match(banks, RING)).height == 3

    def test_duckdb_reads_a_stream(self) -> None:
        duckdb = pytest.importorskip("duckdb")
        pytest.importorskip("pyarrow")
        matches = mf.match(complete(30), "(a)--(b)--(c)", batch_rows=500)
        connection = duckdb.connect()
        connection.register("matches", matches)
        assert connection.execute("SELECT count(*), min(v0), max(v2) FROM matches").fetchall() == [
            (24360, 0, 29)
        ]
        assert matches.complete

    def test_a_package_that_is_missing_is_named(
        self, numbers: mf.Graph, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for package, method in [("pyarrow", "to_arrow"), ("pandas", "to_pandas"), ("polars", "to_polars")]:
            monkeypatch.setitem(__import__("sys").modules, package, None)
            with pytest.raises(
                mf.MotifluxError, match=f"{method}: this takes the package {package}; install it"
            ):
                getattr(mf.match(numbers, "(a)--(b)"), method)()


class TestNetworks:
    def test_the_union_has_what_matches_cover(self, numbers: mf.Graph) -> None:
        pytest.importorskip("networkx")
        graph = mf.match(numbers, "(a)--(b)--(c)--(a)").to_networkx()
        assert type(graph).__name__ == "Graph"
        assert sorted(graph) == [10, 20, 30]
        assert sorted(map(sorted, graph.edges)) == [[10, 20], [10, 30], [20, 30]]

    def test_parallel_edges_and_copies_make_a_multigraph_with_attributes(self, banks: mf.Graph) -> None:
        pytest.importorskip("networkx")
        graph = mf.match(banks, "(a)-[x:wire]->(b)").to_networkx()
        assert type(graph).__name__ == "MultiDiGraph"
        assert graph.nodes["ann"] == {"country": "de", "age": 30, "label": "person"}
        assert graph.nodes["bob"] == {"age": 40, "label": "person"}
        edges = {(u, v): values for u, v, values in graph.edges(data=True)}
        assert edges[("ann", "bob")] == {"amount": 1.5, "note": "n", "label": "wire"}
        assert edges[("bob", "cy")] == {"note": "\u00e9", "label": "wire"}
        assert len(edges) == 3

    def test_an_edge_followed_against_its_arc_keeps_its_direction(self) -> None:
        pytest.importorskip("networkx")
        graph = mf.Graph.from_edges([(1, 2), (3, 2)], directed=True)
        found = mf.match(graph, "(a)--(b)--(c)").to_networkx()
        assert sorted(found.edges) == [(1, 2), (3, 2)]

    def test_each_match_is_a_graph(self, numbers: mf.Graph) -> None:
        pytest.importorskip("networkx")
        graphs = list(mf.match(numbers, "(a)--(b)--(c)--(a)").graphs())
        assert len(graphs) == 6
        for graph in graphs:
            assert sorted(query for _, query in graph.nodes(data="query")) == ["a", "b", "c"]
            assert graph.number_of_edges() == 3


def table_of(matches: mf.Matches) -> list[tuple[Any, ...]]:
    """Rows of tables, None where a value is missing."""
    rows: list[tuple[Any, ...]] = []
    for columns in matches.tables():
        values = []
        for column in columns:
            missing = column.missing()
            strings = column.strings
            decoded = column.data.tolist() if strings is None else [strings[code] for code in column.data]
            values.append([None if gone else one for one, gone in zip(decoded, missing, strict=True)])
        rows += zip(*values, strict=True)
    return rows
