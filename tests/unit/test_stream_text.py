"""Updates as text: every format, every mistake."""

from __future__ import annotations

import gzip
import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import motiflux as mf
from motiflux.stream import Batch, Nowhere, Position, Request, Source, as_source
from motiflux.stream.sources import reading
from motiflux.stream.sources.missing_ids import _is_integer
from motiflux.stream.sources.reading import PipeReader
from motiflux.stream.sources.text import TextSource
from motiflux.stream.updates import OPS

Row = tuple[bool, Any, Any, Any, Any]


def batches(source: Source, size: int | None = None, **asked: Any) -> list[Batch]:
    return list(source.batches(Request(size, **asked)))


def rows(source: Source, size: int | None = None, **asked: Any) -> list[Row]:
    found: list[Row] = []
    for batch in batches(source, size, **asked):
        one = batch.updates
        none = [None] * len(one)
        found += zip(
            one.inserts.tolist(),
            one.sources.tolist(),
            one.targets.tolist(),
            none if one.labels is None else one.labels.tolist(),
            none if one.times is None else one.times.tolist(),
            strict=True,
        )
    return found


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


class TestLines:
    def test_edges_come_and_go_and_vertices_have_labels(self, tmp_path: Path) -> None:
        path = written(
            tmp_path / "a.stream", "# made up\nv 1 5\nv 2 6\n\ne 1 2 7\r\n% more\n-e 1 2 7\nv 3 5\n"
        )
        (batch,) = batches(mf.open_source(path))
        assert rows(mf.open_source(path)) == [(True, 1, 2, 7, None), (False, 1, 2, 7, None)]
        named = batch.updates.vertex_labels
        assert named is not None
        assert list(zip(named.ids, named.labels, named.positions, strict=True)) == [
            (1, 5, 0),
            (2, 6, 0),
            (3, 5, 2),
        ]
        assert batch.lines is not None
        assert batch.lines.tolist() == [5, 7]
        assert batch.position == Position(8, path.stat().st_size)

    def test_a_byte_order_mark_and_a_last_line_without_its_end_are_no_matter(self, tmp_path: Path) -> None:
        (tmp_path / "a.stream").write_bytes(b"\xef\xbb\xbfe 1 2\ne 2 3")
        assert [row[1:3] for row in rows(mf.open_source(tmp_path / "a.stream"))] == [(1, 2), (2, 3)]

    def test_an_edge_without_a_label_beside_others_has_label_0(self, tmp_path: Path) -> None:
        path = written(tmp_path / "a.stream", "e 1 2\ne 1 3 4\ne 1 4\n")
        assert [row[3] for row in rows(mf.open_source(path))] == [0, 4, 0]

    def test_an_edge_without_a_label_does_not_take_the_name_of_a_later_one(self, tmp_path: Path) -> None:
        path = written(tmp_path / "a.stream", "e 1 2\ne 2 3 wire\n")
        with pytest.raises(mf.FormatError, match="line 1: found an edge without a label, expected a name"):
            rows(mf.open_source(path))
        with pytest.raises(mf.FormatError, match=r"line 2: .*found 'wire', expected an integer"):
            rows(mf.open_source(path), 1)

    @pytest.mark.parametrize("suffix", [".gz", ".zst"])
    def test_compressed_files_are_read_as_they_are(self, tmp_path: Path, suffix: str) -> None:
        data = b"".join(b"e %d %d\n" % (at, at + 1) for at in range(5000))
        path = tmp_path / f"a.stream{suffix}"
        if suffix == ".gz":
            path.write_bytes(gzip.compress(data))
        else:
            pa = pytest.importorskip("pyarrow")
            with pa.CompressedOutputStream(str(path), "zstd") as out:
                out.write(data)
        found = batches(mf.open_source(path), 1000)
        assert [len(batch.updates) for batch in found] == [1000] * 5
        again = batches(mf.open_source(path, start=found[2].position), 5000)
        assert again[0].updates.sources.tolist() == list(range(3000, 5000))
        assert again[0].lines is not None
        assert again[0].lines[0] == 3001

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("x 1 2", "record type: found 'x', expected 'v', 'e' or '-e'"),
            ("e 1", "record: found 'e 1', expected 'e source target \\[label\\]'"),
            ("-e 1 2 3 4", "expected '-e source target \\[label\\]'"),
            ("v 1", "record: found 'v 1', expected 'v id label'"),
            ("e 1 two", "target id: found 'two', expected an integer, as the others are"),
            ("e 01 2", "source id: found '01', expected an integer"),
            ("e 1 99999999999999999999", "expected an integer"),
        ],
    )
    def test_a_malformed_line_is_named_after_all_before_it_was_given(
        self, tmp_path: Path, line: str, message: str
    ) -> None:
        path = written(tmp_path / "a.stream", f"e 1 2\n{line}\ne 2 3\n")
        given = []
        with pytest.raises(mf.FormatError, match=rf"a\.stream, line 2: .*{message}"):
            given.extend(mf.open_source(path).batches(Request(100, ids="i")))
        source = mf.open_source(path).batches(Request(100, ids="i"))
        assert len(next(source).updates) == 1

    def test_malformed_lines_are_skipped_counted_and_told(self, tmp_path: Path) -> None:
        path = written(tmp_path / "a.stream", "e 1 2\nq\ne 1 x\ne 2 3\n")
        (batch,) = batches(mf.open_source(path, on_error="skip"), ids="i")
        assert batch.updates.sources.tolist() == [1, 2]
        assert batch.skips == 2
        assert [line for line, _ in batch.skipped] == [2, 3]
        assert "found 'x'" in batch.skipped[1][1]

    def test_a_line_left_out_does_not_say_what_ids_are(self, tmp_path: Path) -> None:
        path = written(tmp_path / "a.csv", "op,src,dst,time\n+,ann,bob,soon\n+,1,2,5\n")
        (batch,) = batches(mf.open_source(path, on_error="skip"))
        assert (batch.updates.sources.tolist(), batch.skips) == ([1], 1)

    def test_names_are_taken_where_the_ids_are_strings(self, tmp_path: Path) -> None:
        path = written(tmp_path / "a.stream", "e 1 2 wire\ne ann 2 wire\n")
        expected = [(True, "1", "2", "wire", None), (True, "ann", "2", "wire", None)]
        assert rows(mf.open_source(path), ids="U") == expected
        # Nothing is known: the first batch shows that they are names.
        assert rows(mf.open_source(path)) == expected

    def test_a_later_batch_does_not_change_what_ids_are(self, tmp_path: Path) -> None:
        path = written(tmp_path / "a.stream", "e 1 2\ne 3 ann\n")
        with pytest.raises(mf.FormatError, match="line 2: target id: found 'ann', expected an integer"):
            rows(mf.open_source(path), 1)

    def test_a_name_that_is_not_text_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "a.stream").write_bytes(b"e a\xff b\n")
        with pytest.raises(mf.FormatError, match=r"line 1: source id: .*expected text in UTF-8"):
            rows(mf.open_source(tmp_path / "a.stream"))

    def test_a_line_without_end_is_refused(self, tmp_path: Path) -> None:
        path = written(tmp_path / "a.stream", "e 1 2\n" + "7" * (3 << 20))
        with pytest.raises(mf.FormatError, match="line 2: found a line of more than 1048576 bytes"):
            rows(mf.open_source(path))

    @given(
        edges=st.lists(st.tuples(st.booleans(), st.integers(0, 9), st.integers(0, 9), st.integers(0, 3))),
        size=st.integers(1, 7),
        cuts=st.integers(1, 9),
    )
    def test_any_batches_of_any_chunks_are_the_lines(
        self, edges: list[tuple[bool, int, int, int]], size: int, cuts: int
    ) -> None:
        text = "".join(f"{'e' if insert else '-e'} {u} {v} {label}\n" for insert, u, v, label in edges)
        source = TextSource(_Chunks(text.encode(), cuts), ".stream")
        found = batches(source, size)
        assert [len(batch.updates) for batch in found[:-1]] == [size] * (len(found) - 1)
        assert rows(TextSource(_Chunks(text.encode(), cuts), ".stream"), size) == [
            (*edge, None) for edge in edges
        ]
        for at, batch in enumerate(found):
            rest = TextSource(_Chunks(text.encode(), cuts), ".stream", start=batch.position)
            assert [row[:4] for row in rows(rest)] == edges[(at + 1) * size :]


JUNK = st.lists(
    st.sampled_from(
        [
            "e 1 2\n",
            "-e 1 2 3\n",
            "v 4 5\n",
            "e",
            " ",
            "\n",
            "\r\n",
            "+,1,2\n",
            '"',
            '""',
            "a,b",
            ",",
            "#",
            "7",
        ]
    )
).map("".join)


@pytest.mark.parametrize("form", [".stream", ".csv"])
@given(
    text=JUNK, length=st.integers(1, 9), size=st.integers(1, 5), on_error=st.sampled_from(["skip", "stop"])
)
def test_how_text_is_cut_into_chunks_and_batches_is_no_matter(
    form: str, text: str, length: int, size: int, on_error: str
) -> None:
    def outcome(length: int, size: int) -> tuple[list[Any], int, str]:
        columns = None if form == ".stream" else {"op": 0, "src": 1, "dst": 2}
        head = "" if form == ".stream" else "+,8,9\n"
        source = TextSource(
            _Chunks((head + text).encode(), length), form, columns=columns, header=None, on_error=on_error
        )
        found: list[Any] = []
        skips, error = 0, ""
        try:
            for batch in source.batches(Request(size, ids="i", edge_labels="i", vertex_labels="i")):
                one = batch.updates
                assert batch.lines is not None
                found += zip(
                    batch.lines.tolist(),
                    one.inserts.tolist(),
                    one.sources.tolist(),
                    one.targets.tolist(),
                    strict=True,
                )
                skips += batch.skips
        except mf.FormatError as failure:
            error = str(failure)
        return found, skips, error

    assert outcome(length, size) == outcome(10_000, 10_000)


class _Chunks:
    """Text in chunks of a few bytes."""

    name = "chunks"
    live = endless = False
    size = 0

    def __init__(self, data: bytes, length: int) -> None:
        self._data = data
        self._length = length

    def chunks(self, offset: int, deadline: float | None) -> Any:
        data = self._data[offset:]
        return (data[at : at + self._length] for at in range(0, len(data), self._length))


class TestTables:
    def test_columns_are_found_by_name(self, tmp_path: Path) -> None:
        path = written(
            tmp_path / "a.csv",
            'time,op,src,dst,label,more\n5,+,ann,"b,ob",wire,x\n6.5,delete,ann,"b,ob",wire,y\n',
        )
        assert rows(mf.open_source(path)) == [
            (True, "ann", "b,ob", "wire", 5.0),
            (False, "ann", "b,ob", "wire", 6.5),
        ]

    def test_columns_may_have_other_names_and_separators(self, tmp_path: Path) -> None:
        path = written(tmp_path / "a.csv", "what;payer;payee;when\ninsert;1;2;3\n")
        source = mf.open_source(
            path, columns={"op": "what", "src": "payer", "dst": 2, "time": "when"}, sep=";"
        )
        assert rows(source) == [(True, 1, 2, None, 3)]

    def test_a_table_without_names_begins_with_an_op(self, tmp_path: Path) -> None:
        path = written(tmp_path / "a.tsv", "+\t1\t2\t3\t10\n-\t1\t2\t3\t11\n")
        assert rows(mf.open_source(path)) == [(True, 1, 2, 3, 10), (False, 1, 2, 3, 11)]

    def test_without_ops_all_are_insertions(self, tmp_path: Path) -> None:
        path = written(tmp_path / "a.csv", "src,dst\n1,2\n")
        assert rows(mf.open_source(path)) == [(True, 1, 2, None, None)]

    def test_labels_of_the_ends_are_named_before_their_edge_and_once(self, tmp_path: Path) -> None:
        path = written(tmp_path / "a.csv", "src,dst,src_label,dst_label\n1,2,p,q\n1,3,p,\n")
        (batch,) = batches(mf.open_source(path))
        named = batch.updates.vertex_labels
        assert named is not None
        assert list(zip(named.ids, named.labels, named.positions, strict=True)) == [(1, "p", 0), (2, "q", 0)]

    @pytest.mark.parametrize(
        ("record", "message"),
        [
            ("*,1,2,3", "column 'op': found '\\*', expected '\\+' or '-'"),
            ("+,1,2", "found 3 fields, expected 4 as on line 1"),
            ("+,1,,3", "column 'dst': found an empty field, expected an integer or a name"),
            ("+,1,2,soon", "column 'time': found 'soon', expected a number"),
            ("+,1,2,nan", "column 'time': found 'nan', expected a number"),
            ('+,1,2"x,3', "expected a field in quotes"),
        ],
    )
    def test_a_malformed_record_is_named_or_skipped_by_itself(
        self, tmp_path: Path, record: str, message: str
    ) -> None:
        path = written(tmp_path / "a.csv", f"op,src,dst,time\n+,1,2,3\n{record}\n+,2,3,4\n")
        with pytest.raises(mf.FormatError, match=rf"a\.csv, line 3: .*{message}"):
            rows(mf.open_source(path))
        assert [row[1] for row in rows(mf.open_source(path, on_error="skip"))] == [1, 2]

    def test_a_quoted_field_may_hold_a_line_end_and_quotes(self, tmp_path: Path) -> None:
        path = written(tmp_path / "a.csv", 'src,dst\n"a\nb","say ""x"""\nc,d\n')
        (batch,) = batches(mf.open_source(path))
        assert batch.updates.sources.tolist() == ["a\nb", "c"]
        assert batch.updates.targets.tolist() == ['say "x"', "d"]
        assert batch.lines is not None
        assert batch.lines.tolist() == [2, 4]

    def test_columns_that_are_needed_are_missed(self, tmp_path: Path) -> None:
        path = written(tmp_path / "a.csv", "op,src,goal\n+,1,2\n")
        with pytest.raises(mf.FormatError, match="a column named dst, target or to, or"):
            rows(mf.open_source(path))
        with pytest.raises(mf.ArgumentError, match="'aim'"):
            rows(mf.open_source(path, columns={"dst": "aim"}))

    def test_a_table_goes_on_where_it_was_left(self, tmp_path: Path) -> None:
        text = "op,src,dst\n" + "".join(f"+,{at},{at + 1}\n" for at in range(100))
        path = written(tmp_path / "a.csv", text)
        found = batches(mf.open_source(path), 30)
        again = batches(mf.open_source(path, start=found[1].position), 30)
        assert again[0].updates.sources.tolist() == list(range(60, 90))
        assert again[0].lines is not None
        assert again[0].lines[0] == 62

    def test_an_empty_file_has_no_updates(self, tmp_path: Path) -> None:
        for name in ("a.csv", "a.stream"):
            assert rows(mf.open_source(written(tmp_path / name, ""))) == []


def test_ops_are_the_same_in_text_and_in_rows(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "op,src,dst\n" + "".join(f"{op},1,2\n" for op in OPS))
    assert [row[0] for row in rows(mf.open_source(path))] == list(OPS.values())


class TestFollowing:
    def test_a_growing_file_is_followed_and_half_a_line_waits(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = written(tmp_path / "a.stream", "e 1 2\ne 3")
        parts, now = ["4 5\n", "e 7 8\ne 9", ""], 0.0

        def grow(_: float) -> None:
            nonlocal now
            now += 1
            with path.open("a") as file:
                file.write(parts.pop(0))

        monkeypatch.setattr(reading, "time", SimpleNamespace(perf_counter=lambda: now, sleep=grow))
        found = rows(mf.open_source(path, follow=True), deadline=3.0)
        assert not parts
        assert [row[1:3] for row in found] == [(1, 2), (34, 5), (7, 8)]

    def test_a_file_that_is_cut_short_is_an_error(self, tmp_path: Path) -> None:
        path = written(tmp_path / "a.stream", "e 1 2\n")
        source = mf.open_source(path, follow=True).batches(Request(10))
        next(source)
        path.write_text("")
        with pytest.raises(mf.FormatError, match="cut short"):
            next(source)

    def test_a_batch_that_has_to_be_full_waits(self, tmp_path: Path) -> None:
        path = written(tmp_path / "a.stream", "e 1 2\ne 2 3\ne 3 4\n")
        deadline = time.perf_counter() + 0.1
        found = batches(mf.open_source(path, follow=True), 2, exact=True, deadline=deadline)
        assert [len(batch.updates) for batch in found] == [2, 1]

    def test_compressed_files_are_not_followed(self, tmp_path: Path) -> None:
        with pytest.raises(mf.ArgumentError, match="follow"):
            mf.open_source(tmp_path / "a.stream.gz", follow=True)


def test_a_pipe_gives_what_is_there_at_once() -> None:
    import os

    out, into = os.pipe()
    with os.fdopen(out, "rb") as stream, os.fdopen(into, "wb", buffering=0) as file:
        source = TextSource(PipeReader(stream, "pipe"), ".stream").batches(Request(100))
        file.write(b"e 1 2\ne 3")
        assert next(source).updates.sources.tolist() == [1]
        file.write(b"4 5\n")
        assert next(source).updates.sources.tolist() == [34]
        file.close()
        assert list(source) == []


class TestRefusals:
    def test_options_have_to_go_together(self, tmp_path: Path) -> None:
        for name, options in (
            ("a.stream", {"columns": {"src": "x"}}),
            ("a.stream", {"sep": ";"}),
            ("a.csv", {"columns": {"source": "x"}}),
            ("a.csv", {"on_error": "ignore"}),
            ("a.csv", {"format": "xlsx"}),
            ("a.parquet", {"follow": True}),
            ("a.parquet", {"sep": ";"}),
            ("-", {"follow": True}),
            ("-", {"format": ".parquet"}),
            ("", {}),
        ):
            with pytest.raises(mf.ArgumentError):
                mf.open_source(tmp_path / name if name not in ("-", "") else name, **options)  # type: ignore[arg-type]

    def test_an_unknown_suffix_and_a_missing_file_are_named(self, tmp_path: Path) -> None:
        with pytest.raises(mf.FormatError, match=r"found suffix '\.xlsx', expected \.stream, \.csv"):
            mf.open_source(tmp_path / "a.xlsx")
        with pytest.raises(mf.FormatError, match="No such file"):
            rows(mf.open_source(tmp_path / "a.stream"))

    def test_a_position_beyond_the_end_is_refused(self, tmp_path: Path) -> None:
        path = written(tmp_path / "a.stream", "e 1 2\n")
        with pytest.raises(mf.FormatError, match="found 6 bytes, expected at least the 100 read before"):
            rows(mf.open_source(path, start=(9, 100)))


def test_parsed_times_are_numbers(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "src,dst,time\n1,2,5\n1,3,-6\n")
    (batch,) = batches(mf.open_source(path))
    assert batch.updates.times is not None
    assert batch.updates.times.dtype == np.int64


class TestMissingIds:
    """A word for a missing id is refused by its line, as in a graph, and makes no names of integers."""

    TABLE = "src,dst,time\n1,2,1\n3,nan,2\n\n4,5,3\nNULL,6,4\n7,8,5\n"
    LINES = "e 1 2\nv NA 3\ne 4 5\nv 9 2\ne N/A 6\ne 7 8\n"

    @pytest.mark.parametrize("size", [1, 2, 100])
    @pytest.mark.parametrize(("name", "text"), [("a.csv", TABLE), ("a.stream", LINES), ("a.csv.gz", TABLE)])
    def test_their_lines_are_left_out_if_asked(self, tmp_path: Path, name: str, text: str, size: int) -> None:
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
        source = mf.open_source(path, on_error="skip")
        found = batches(source, size)
        ids = [value for batch in found for value in batch.updates.sources.tolist()]
        assert ids == [1, 4, 7]
        assert sum(batch.skips for batch in found) == 2
        skipped = [message for batch in found for _, message in batch.skipped]
        assert all(
            "expected an integer or a name" in message or "an integer, as" in message for message in skipped
        )
        assert found[-1].position.line == text.count("\n")

    @pytest.mark.parametrize(
        ("name", "text", "message"),
        [
            (
                "a.csv",
                TABLE,
                "a.csv, line 3: column 'dst': found 'nan', expected an integer or a name; on_error",
            ),
            ("a.stream", LINES, "a.stream, line 2: vertex id: found 'NA', expected an integer or a name"),
        ],
    )
    def test_one_stops_a_run_before_its_line(
        self, tmp_path: Path, name: str, text: str, message: str
    ) -> None:
        path = written(tmp_path / name, text)
        with mf.Monitor(mf.Graph.from_edges([]), "(a)--(b)") as monitor:
            with pytest.raises(mf.FormatError, match=re.escape(message)):
                monitor.run(path, Nowhere())
            assert (monitor.num_edges, monitor.kinds()["ids"]) == (1, "i")
            before, _, _ = text.partition("3,nan" if name == "a.csv" else "v NA")
            assert monitor.source_position == Position(before.count("\n"), len(before))
            path.write_text(re.sub("nan|NULL|NA|N/A", "20", text))
            monitor.run(mf.open_source(path, start=monitor.source_position), Nowhere())
            assert monitor.kinds()["ids"] == "i"

    def test_a_word_may_be_kept_as_a_name(self, tmp_path: Path) -> None:
        path = written(tmp_path / "a.csv", "src,dst\nNA,DE\nDE,nan\n")
        assert [row[1:3] for row in rows(mf.open_source(path, missing="keep"))] == [
            ("NA", "DE"),
            ("DE", "nan"),
        ]
        with pytest.raises(mf.ArgumentError, match="missing: expected 'error' or 'keep', found 'drop'"):
            mf.open_source(path, missing="drop")

    def test_tables_refuse_them_too(self, tmp_path: Path) -> None:
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        table = pa.table({"src": ["ann", "bob", "cy"], "dst": ["bob", "NULL", "ann"]})
        pq.write_table(table, tmp_path / "a.parquet")
        for source in (mf.open_source(tmp_path / "a.parquet"), as_source(table)):
            with pytest.raises(
                mf.StreamError, match="row 1: dst: found 'NULL', expected an integer or a name"
            ):
                batches(source)
        (batch,) = batches(mf.open_source(tmp_path / "a.parquet", on_error="skip"))
        assert (batch.updates.sources.tolist(), batch.skips) == (["ann", "cy"], 1)
        (batch,) = batches(mf.open_source(tmp_path / "a.parquet", missing="keep"))
        assert batch.updates.targets.tolist() == ["bob", "NULL", "ann"]

    @pytest.mark.parametrize("missing", [float("nan"), None])
    def test_objects_of_python_that_are_no_ids_are_refused_and_strings_are_names(self, missing: Any) -> None:
        with mf.Monitor(mf.Graph.from_edges([("a", "b")]), "(a)--(b)") as monitor:
            with pytest.raises(mf.StreamError, match="expected all integers or all strings, found"):
                monitor.apply([("+", "a", missing), ("+", "a", "c")])
            assert monitor.apply([("+", "a", "nan")])[0].positive == 2


class TestNamesOfColumns:
    @pytest.mark.parametrize(
        "names", ["payer,payee,when", "Source,Target,x", "when,Sender ID,Receiver ID", "SRC,Dst,TIME"]
    )
    def test_names_that_mean_ends_are_the_ends(self, tmp_path: Path, names: str) -> None:
        path = written(tmp_path / "a.csv", f"{names}\n1,2,3\n4,5,6\n")
        first = 1 if names.startswith("when") else 0
        values = [[1, 2, 3], [4, 5, 6]]
        found = [(one[first], one[first + 1]) for one in values]
        assert [row[1:3] for row in rows(mf.open_source(path))] == found
        times = [row[4] for row in rows(mf.open_source(path))]
        assert times == ([3, 6] if "TIME" in names else [None, None])

    def test_usual_names_come_first(self, tmp_path: Path) -> None:
        path = written(tmp_path / "a.csv", "payer,payee,src,dst\n1,2,3,4\n")
        assert [row[1:3] for row in rows(mf.open_source(path))] == [(3, 4)]
        found = rows(mf.open_source(path, columns={"src": "payer", "dst": "src"}))
        assert [row[1:3] for row in found] == [(1, 3)]

    @pytest.mark.parametrize("suffix", [".csv", ".parquet"])
    def test_columns_that_are_not_there_are_asked_for_with_those_that_are(
        self, tmp_path: Path, suffix: str
    ) -> None:
        path = tmp_path / f"a{suffix}"
        if suffix == ".csv":
            path.write_text("x,y,when\n1,2,3\n")
        else:
            pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
            pq.write_table(pa.table({"x": [1], "y": [2], "when": [3]}), path)
        with pytest.raises(mf.FormatError) as refused:
            batches(mf.open_source(path))
        expected = "expected a column named src, source or from, or columns={'src': 'x', 'dst': 'y'}"
        assert f"{expected}, found 'x, y, when'" in str(refused.value)
        assert str(refused.value).count(str(path)) == 1
        with pytest.raises(mf.ArgumentError, match=r"expected a column named dst.*'y'} in .*found"):
            batches(mf.open_source(path, columns={"src": "x"}))
        source = mf.open_source(path, columns={"src": "x", "dst": "y"})
        with mf.Monitor(mf.Graph.from_edges([]), "(a)--(b)", window="1h") as monitor:
            message = "time or timestamp, or columns={'time': 'when'}, as a window needs times; found 'x, y"
            with pytest.raises(mf.FormatError, match=re.escape(message)):
                monitor.run(source, Nowhere())


@pytest.mark.parametrize(
    ("text", "is_integer"),
    [
        (str(-(2**63)), True),
        (str(-(2**63) - 1), False),
        (str(2**63 - 1), True),
        (str(2**63), False),
        ("1.0", False),
    ],
)
def test_ids_of_up_to_64_bits_are_integers(text: str, is_integer: bool) -> None:
    assert _is_integer(text) is is_integer
