"""What runs write while they go on, what they leave out, where they stop; dates."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import os
import re
import signal
import warnings
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import motiflux as mf
from motiflux.stream import FileSink, FoundMatches, Nowhere, Position, SeveralSinks, Sink, StandardOutput
from tests.fault.test_stream_faults import rows_of, table_of
from tests.unit.cli_run import motiflux, motiflux_process, only_json
from tests.waiting import wait_until

TRIANGLE = "(a)--(b)--(c)--(a)"
ROWS = [("+", 1, 2), ("+", 2, 3), ("+", 3, 1), ("-", 1, 2)]


def watching(pattern: str = TRIANGLE, **options: Any) -> mf.Monitor:
    graph = mf.Graph.from_edges([])
    return mf.Monitor(graph, pattern, **{"symmetry": "subgraphs", "matches": True, **options})


class TestWhileItGoesOn:
    @pytest.mark.parametrize("name", ["o.csv", "o.tsv", "o.csv.gz", "o.csv.zst", "o.arrow"])
    def test_rows_are_there_when_their_batch_is_done(self, tmp_path: Path, name: str) -> None:
        pytest.importorskip("pyarrow")
        seen = []

        def updates() -> Any:
            for row in ROWS:
                yield row
                # The batch with this row is done when the next one is asked for.
                seen.append(len(rows_of(tmp_path / name)) if (tmp_path / name).exists() else None)

        with watching() as monitor:
            monitor.run(updates(), tmp_path / name, batch_size=1)
        assert [row[:2] for row in rows_of(tmp_path / name)] == [(1, 2), (-1, 3)]
        assert seen[2:] == [1, 2]
        assert [path.name for path in tmp_path.iterdir()] == [name]

    def test_parquet_has_another_name_until_its_end(self, tmp_path: Path) -> None:
        pytest.importorskip("pyarrow")
        seen = []

        def updates() -> Any:
            for row in ROWS:
                yield row
                seen.append([path.name for path in tmp_path.iterdir()])

        with watching() as monitor:
            monitor.run(updates(), tmp_path / "o.parquet", batch_size=1)
        assert seen[-1] == ["o.parquet.partial"]
        assert [path.name for path in tmp_path.iterdir()] == ["o.parquet"]
        assert len(rows_of(tmp_path / "o.parquet")) == 2

    @pytest.mark.turns(8)
    def test_a_reader_of_the_file_sees_rows_of_a_followed_stream(self, tmp_path: Path) -> None:
        stream, output = tmp_path / "a.stream", tmp_path / "o.csv"
        stream.write_text("e 1 2\ne 2 3\n")
        process = motiflux_process(
            "watch",
            "none",
            stream,
            "--follow",
            "--pattern",
            TRIANGLE,
            "--symmetry",
            "subgraphs",
            "-o",
            output,
        )
        try:
            expected = "sign,update,time,pattern,v0,v1,v2\n"
            for line, row in (("", ""), ("e 3 1\n", "1,2,,0,1,2,3\n"), ("-e 2 1\n", "-1,3,,0,1,2,3\n")):
                with stream.open("a") as file:
                    file.write(line)
                expected += row
                wait_until(
                    lambda rows=expected: output.exists() and output.read_text() == rows, "a row", of=process
                )
        finally:
            process.kill()
            process.communicate()
        assert output.read_text() == expected

    @pytest.mark.parametrize("name", ["o.csv", "o.csv.gz", "o.arrow"])
    def test_a_run_goes_on_after_a_mark_and_cuts_what_follows(self, tmp_path: Path, name: str) -> None:
        pytest.importorskip("pyarrow")
        path = tmp_path / name
        with watching("(a)--(b)") as monitor:
            sink = FileSink(path)
            monitor.run(ROWS[:2], sink)
            mark = sink.mark()
            before = rows_of(path)
            monitor.run([("+", 7, 8)], FileSink(path, kept=mark))
            monitor.run([("+", 8, 9)], FileSink(path, kept=mark))
        assert [row[4:] for row in rows_of(path)] == [row[4:] for row in before] + [(8, 9)]
        with watching("(a)--(b)") as monitor:
            monitor.run([], FileSink(path, kept=mark))
        assert rows_of(path) == before

    @pytest.mark.parametrize("second", ["absent.csv", "short.csv", "absent.arrow", "other.arrow"])
    def test_no_file_is_cut_if_another_cannot_go_on(self, tmp_path: Path, second: str) -> None:
        pytest.importorskip("pyarrow")
        first = tmp_path / "o.csv"
        first.write_text("sign,update\n1,2\n")
        (tmp_path / "short.csv").write_text("s")
        (tmp_path / "other.arrow").write_text("sign")
        sinks = [FileSink(first, kept=12), FileSink(tmp_path / second, kept=3)]
        with watching() as monitor, pytest.raises(mf.OutputError, match=second):
            monitor.run(ROWS, sinks)
        assert first.read_text() == "sign,update\n1,2\n"
        assert not (tmp_path / "absent.csv").exists()

    def test_another_file_is_not_gone_on_with(self, tmp_path: Path) -> None:
        pytest.importorskip("pyarrow")
        (tmp_path / "o.arrow").write_text("something else")
        with (
            watching() as monitor,
            pytest.raises(mf.OutputError, match="expected an Arrow stream of matches"),
        ):
            monitor.run(ROWS, FileSink(tmp_path / "o.arrow", kept=3))
        with watching() as monitor:
            sink = FileSink(tmp_path / "p.arrow")
            monitor.run(ROWS, sink)
        with (
            watching() as monitor,
            pytest.raises(mf.OutputError, match="found 2 rows, expected at least the 5"),
        ):
            monitor.run(ROWS, FileSink(tmp_path / "p.arrow", kept=5))
        with watching("(a)--(b)") as monitor, pytest.raises(mf.OutputError, match=r"found .*v2 \(int64\)"):
            monitor.run(ROWS, FileSink(tmp_path / "p.arrow", kept=2))


class TestTimes:
    TEXTS = (
        ("2026-11-21", "2026-11-21T00:00:00.000000000Z"),
        ("2026-11-21T16:08", "2026-11-21T16:08:00.000000000Z"),
        ("2026-11-21 16:08:14", "2026-11-21T16:08:14.000000000Z"),
        ("2026-11-21T16:08:14.5Z", "2026-11-21T16:08:14.500000000Z"),
        ("2026-11-21T16:08:14,000000001+02:00", "2026-11-21T14:08:14.000000001Z"),
        ("2026-11-21T16:08:14-0530", "2026-11-21T21:38:14.000000000Z"),
        ("2024-02-29T23:59:59+00", "2024-02-29T23:59:59.000000000Z"),
        ("1969-12-31T23:59:59.75", "1969-12-31T23:59:59.750000000Z"),
    )

    @pytest.mark.parametrize(("text", "written"), TEXTS)
    @pytest.mark.parametrize("name", ["o.csv", "o.parquet", "o.arrow"])
    def test_dates_are_read_and_written(self, tmp_path: Path, text: str, written: str, name: str) -> None:
        pa = pytest.importorskip("pyarrow")
        (tmp_path / "a.csv").write_text(f'src,dst,time\n1,2,"{text}"\n')
        with watching("(a)--(b)") as monitor:
            monitor.run(tmp_path / "a.csv", tmp_path / name)
        if name == "o.csv":
            assert (tmp_path / name).read_text().splitlines()[1].split(",")[2] == written
            return
        (time,) = table_of(tmp_path / name)["time"]
        assert time.type == pa.timestamp("ns", tz="UTC")
        assert time.value == np.datetime64(written.removesuffix("Z")).astype(np.int64)

    @pytest.mark.parametrize("zoned", [False, True])
    @pytest.mark.parametrize("name", ["o.csv", "o.parquet", "o.arrow"])
    def test_pandas_reads_the_moments_back(self, tmp_path: Path, name: str, zoned: bool) -> None:
        texts = [pair for pair in self.TEXTS if bool(re.search(r"Z|:.*[+-]\d", pair[0])) is zoned]
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        lines = [f'{at},{at + 1},"{text}"' for at, (text, _) in enumerate(texts)]
        (tmp_path / "a.csv").write_text("\n".join(["src,dst,time", *lines, ""]))
        with watching("(a)--(b)") as monitor:
            monitor.run(tmp_path / "a.csv", tmp_path / name, batch_size=2)
        expected = pandas.to_datetime([written for _, written in texts])
        if name == "o.csv":
            read = pandas.to_datetime(pandas.read_csv(tmp_path / name)["time"])
        else:
            read = table_of(tmp_path / name).to_pandas()["time"]
        assert str(read.dt.tz) == "UTC"
        assert (read.to_numpy() == expected.to_numpy()).all()

    @pytest.mark.parametrize("lines", [1, 2])
    @pytest.mark.parametrize("quote", ["", '"'])
    def test_dates_with_a_zone_and_without_one_do_not_mix(
        self, tmp_path: Path, quote: str, lines: int
    ) -> None:
        times = ["2026-11-21", "2026-11-21T10:00", "2026-11-21T10:00+02", "2026-11-21 10:00:00.5"]
        note = "two\nlines" if lines == 2 else "one,line"
        rows = [f'{at},{at + 1},{quote}{time}{quote},"{note}"' for at, time in enumerate(times)]
        if not quote and lines == 1:
            rows = [row.partition(',"')[0] + "," for row in rows]
        (tmp_path / "a.csv").write_text("\n".join(["src,dst,time,note", *rows, ""]))
        wrong = f"line {2 + 2 * lines}: expected datetimes without"
        with (
            watching("(a)--(b)") as monitor,
            pytest.raises(mf.StreamError, match=f"{wrong} a time zone as before"),
        ):
            monitor.run(tmp_path / "a.csv", Nowhere())
        with watching("(a)--(b)") as monitor, pytest.warns(mf.MotifluxWarning, match=wrong):
            totals = monitor.run(mf.open_source(tmp_path / "a.csv"), Nowhere(), on_error="skip")
        assert (totals.updates, totals.skipped) == (3, 1)

    @pytest.mark.parametrize(
        "text",
        [
            "2026-02-29", "2026-13-01", "2026-00-10", "2026-01-00", "26-01-01", "2026-1-1", "2026-01-01T",
            "2026-01-01T24:00", "2026-01-01T10:60", "2026-01-01T10:00:60", "2026-01-01T10:00:00.",
            "2026-01-01T10:00:00.1234567890", "2026-01-01T10:00+25", "2026-01-01T10:00+02:0", "2026-01-01Z",
            "2026-01-01T10:00ZZ", "1700-01-01", "2200-01-01", "0000-01-01", "2026-01-01T1a:00",
        ],
    )  # fmt: skip
    def test_what_is_no_date_is_refused(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "a.csv").write_text(f"src,dst,time\n1,2,{text}\n")
        with (
            watching() as monitor,
            pytest.raises(mf.FormatError, match=r"line 2: column 'time': .*or a date"),
        ):
            monitor.run(tmp_path / "a.csv", Nowhere())

    @given(st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)), st.integers(-1439, 1439))
    def test_dates_mean_what_python_says(self, moment: dt.datetime, east: int) -> None:
        from motiflux import _native

        zoned = moment.replace(tzinfo=dt.timezone(dt.timedelta(minutes=east)))
        layout = _native.Layout(",", quotes=True, comments=False, trims=False)
        parser = _native.UpdateParser(
            layout, [-1, 0, 1, -1, 2, -1, -1], [""] * 7, 3, "", False, 0, 0, [0, 0, 0]
        )
        parser.feed(f"1,2,{zoned.isoformat()}\n".encode())
        parser.fill(1)
        assert parser.has_dates
        times = parser.take()[4]
        assert times is not None
        since = zoned - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
        assert times.tolist() == [since // dt.timedelta(microseconds=1) * 1000]

    def test_dates_and_numbers_do_not_mix(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text("src,dst,time\n1,2,2026-11-21\n1,3,17\n")
        with watching() as monitor, pytest.raises(mf.FormatError, match=r"line 3: .*a date as others have"):
            monitor.run(tmp_path / "a.csv", Nowhere())
        (tmp_path / "a.csv").write_text("src,dst,time\n1,2,17\n1,3,2026-11-21\n")
        with watching() as monitor, pytest.raises(mf.FormatError, match=r"line 3: .*expected a number"):
            monitor.run(tmp_path / "a.csv", Nowhere())

    def test_a_window_goes_by_dates(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text(
            "src,dst,time\n1,2,2026-11-21T10:00Z\n2,3,2026-11-21T13:00+02:00\n3,1,2026-11-21T11:59:59.9Z\n"
            "7,8,2026-11-21T12:00Z\n8,9,2026-11-21T11:00Z\n"
        )
        with (
            watching(window="2h") as monitor,
            pytest.raises(mf.StreamError, match=r"line 6: expected 2026-11-21T12:00:00.0+ or later, found"),
        ):
            monitor.run(tmp_path / "a.csv", tmp_path / "o.csv", batch_size=4)
        lines = (tmp_path / "o.csv").read_text().splitlines()
        assert [line.split(",")[:3] for line in lines[1:]] == [
            ["1", "2", "2026-11-21T11:59:59.900000000Z"],
            ["-1", "3", "2026-11-21T12:00:00.000000000Z"],
        ]

    @pytest.mark.parametrize("name", ["o.csv", "o.csv.gz", "o.arrow", "o.parquet"])
    def test_fractions_may_come_after_integers(self, tmp_path: Path, name: str) -> None:
        pytest.importorskip("pyarrow")
        lines = ["src,dst,time\n", "1,2,1\n", "2,3,2\n", "3,4,2.5\n", "4,5,3\n", "5,6,7.25\n"]
        (tmp_path / "a.csv").write_text("".join(lines))
        with watching("(a)--(b)") as monitor:
            monitor.run(tmp_path / "a.csv", tmp_path / name, batch_size=1)
        assert [row[2] for row in rows_of(tmp_path / name)] == [1, 2, 2.5, 3, 7.25]
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", name]

    @pytest.mark.parametrize("name", ["o.arrow", "o.parquet"])
    def test_integers_that_fractions_would_blur_are_refused_beside_them(
        self, tmp_path: Path, name: str
    ) -> None:
        pytest.importorskip("pyarrow")
        (tmp_path / "a.csv").write_text(f"src,dst,time\n1,2,{2**53 + 1}\n2,3,2.5\n")
        with watching("(a)--(b)") as monitor, pytest.raises(mf.OutputError, match=r"at most 2\*\*53"):
            monitor.run(tmp_path / "a.csv", tmp_path / name, batch_size=1)
        if name == "o.arrow":
            assert [row[2] for row in rows_of(tmp_path / name)] == [2**53 + 1]

    def test_a_checkpoint_holds_after_the_column_of_times_changed(self, tmp_path: Path) -> None:
        pytest.importorskip("pyarrow")
        path = tmp_path / "o.arrow"
        with watching("(a)--(b)") as monitor:
            sink = FileSink(path)
            monitor.run([{"src": 1, "dst": 2, "time": 1}], sink)
            mark = sink.mark()
            rest = [{"src": 1, "dst": 3, "time": 2}, {"src": 1, "dst": 4, "time": 2.5}]
            monitor.run(rest, FileSink(path, kept=mark), batch_size=1)
            monitor.run([{"src": 1, "dst": 5, "time": 3.5}], FileSink(path, kept=mark))
        assert [row[2] for row in rows_of(path)] == [1, 3.5]


class TestLeavingOut:
    def run(
        self, tmp_path: Path, text: str, suffix: str = "csv", **options: Any
    ) -> tuple[mf.Totals, list[str]]:
        (tmp_path / f"a.{suffix}").write_text(text)
        with watching("(a)--(b)", **options) as monitor, pytest.warns(mf.MotifluxWarning) as told:
            totals = monitor.run(tmp_path / f"a.{suffix}", Nowhere(), on_error="skip")
        return totals, [str(one.message) for one in told]

    def test_a_vertex_that_changes_its_label(self, tmp_path: Path) -> None:
        totals, told = self.run(tmp_path, "v 1 5\nv 2 6\ne 1 2\nv 1 6\ne 2 3\n", "stream")
        assert (totals.updates, totals.skipped, totals[0].positive) == (2, 1, 2)
        assert len(told) == 1
        assert "a.stream, line 4: vertex 1: expected the label it has, 5, found 6" in told[0]
        assert told[0].endswith("it was left out: 'v 1 6'")

    def test_a_label_that_only_a_refused_line_names_does_not_count(self, tmp_path: Path) -> None:
        text = "src,dst,src_label,dst_label\n1,2,5,6\n3,2,7,9\n3,4,8,5\n3,5,7,5\n3,2,8,6\n"
        totals, told = self.run(tmp_path, text)
        # Line 3 is refused for vertex 2, so it does not say that vertex 3 has label 7.
        assert [line.split(":")[0].rsplit(" ", 1)[1] for line in told] == ["3", "5"]
        assert (totals.updates, totals.skipped) == (3, 2)

    def test_updates_out_of_time_order_and_strict(self, tmp_path: Path) -> None:
        text = "op,src,dst,time\n+,1,2,10\n+,2,3,5\n+,1,2,11\n-,7,8,12\n+,3,4,12\n+,4,5,1\n"
        totals, told = self.run(tmp_path, text, window="1h", strict=True)
        assert (totals.updates, totals.skipped) == (2, 4)
        assert [line.split(",")[1].split(":")[0] for line in told] == [f" line {at}" for at in (3, 4, 5, 7)]
        assert "expected 10 s or later, found 5" in told[0]

    def test_vertices_without_a_label_among_names(self, tmp_path: Path) -> None:
        totals, told = self.run(tmp_path, "v 1 red\nv 2 red\ne 1 2\ne 1 3\ne 2 1\n", "stream")
        assert (totals.updates, totals.noops, totals.skipped) == (2, 1, 1)
        assert "line 4: vertex 3, label: expected strings" in told[0]

    def test_only_the_first_are_told_and_all_are_counted(self, tmp_path: Path) -> None:
        text = "v 1 5\n" + "v 1 6\n" * 40 + "nonsense\ne 1 2\n"
        totals, told = self.run(tmp_path, text, "stream")
        assert (totals.skipped, totals.updates) == (41, 1)
        assert told[-1].endswith(": 41 lines were left out in all")
        assert len(told) == 6

    def test_rows_of_tables_are_left_out_too(self) -> None:
        table = {
            "src": np.array([1, 2, 3]), "dst": np.array([2, 3, 4]), "src_label": np.array([5, 6, 7]),
            "dst_label": np.array([6, 8, 5]),
        }  # fmt: skip
        with (
            watching("(a)--(b)") as monitor,
            pytest.warns(mf.MotifluxWarning, match="row 2: vertex 3: expected the label it has, 8, found 7"),
        ):
            totals = monitor.run(table, Nowhere(), on_error="skip")
        assert (totals.updates, totals.skipped) == (2, 1)

    def test_the_command_line_counts_them(self, tmp_path: Path) -> None:
        (tmp_path / "a.stream").write_text("v 1 5\ne 1 2\nv 1 6\ne 2 3\n? ?\n")
        command = ["watch", "none", tmp_path / "a.stream", "--pattern", "(a)--(b)", "--json"]
        result = motiflux(*command)
        assert result.exit_code == 2
        assert "line 3: vertex 1" in result.stderr
        result = motiflux(*command, "--on-error", "skip")
        found = only_json(result)
        assert (found["updates"], found["skipped"]) == (2, 2)
        assert "line 3: vertex 1: expected the label it has, 5" in result.stderr
        assert "'? ?'" in result.stderr

    @given(
        lines=st.lists(
            st.one_of(
                st.tuples(st.just("v"), st.integers(0, 4), st.integers(0, 2)),
                st.tuples(st.sampled_from(["e", "-e"]), st.integers(0, 4), st.integers(0, 4)),
            ),
            max_size=30,
        ),
        size=st.integers(1, 40),
        strict=st.booleans(),
        mode=st.sampled_from(["sequence", "batch"]),
    )
    def test_what_is_left_out_is_what_one_by_one_is_refused(
        self, tmp_path_factory: pytest.TempPathFactory, lines: Any, size: int, strict: bool, mode: str
    ) -> None:
        path = tmp_path_factory.mktemp("skip") / "a.stream"
        path.write_text("".join(f"{kind} {u} {v}\n" for kind, u, v in lines))
        with watching("(a)--(b)", strict=strict) as monitor:
            refused = 0
            for kind, u, v in lines:
                try:
                    if kind == "v":
                        monitor.apply(inserts=[], vertex_labels={u: v})
                    else:
                        monitor.apply([("+" if kind == "e" else "-", u, v)])
                except mf.StreamError:
                    refused += 1
            expected = monitor.count("(a)--(b)")
        with watching("(a)--(b)", strict=strict, mode=mode) as monitor, warnings.catch_warnings():
            warnings.simplefilter("ignore", mf.MotifluxWarning)
            totals = monitor.run(path, Nowhere(), batch_size=size, on_error="skip")
            assert totals.skipped == refused
            assert monitor.count("(a)--(b)") == expected


class TestLimit:
    STAR = "".join(f"e 0 {at}\n" for at in range(1, 30))

    @pytest.mark.parametrize("limit", [0, 1, 5, 28, 29, 30])
    def test_just_so_many_matches_are_told(self, tmp_path: Path, limit: int) -> None:
        (tmp_path / "a.stream").write_text(self.STAR)
        command = ["watch", "none", tmp_path / "a.stream", "--pattern", "(a)--(b)", "--symmetry", "subgraphs"]
        result = motiflux(*command, "--limit", str(limit), "-o", tmp_path / "o.csv", "--batch-size", "7")
        assert result.exit_code == 0
        assert len((tmp_path / "o.csv").read_text().splitlines()) == 1 + min(limit, 29)
        found = only_json(motiflux(*command, "--limit", str(limit), "--batch-size", "7", "--json"))
        assert (found["patterns"][0]["positive"], found["complete"]) == (min(limit, 29), True)
        assert found["updates"] == min(29, -(-limit // 7) * 7)

    def test_both_signs_and_all_patterns_count(self) -> None:
        rows = [*ROWS, ("+", 1, 2)]
        for matches in (True, False):
            with watching(matches=matches) as monitor:
                monitor.add("(a)--(b)")
                sink: Sink = Kept() if matches else Nowhere()
                totals = monitor.run(rows, sink, limit=5, batch_size=1)
                assert totals.complete
                assert sum(one.positive + one.negative for one in totals.patterns) == 5
                assert totals[0].positive == 1

    @pytest.mark.parametrize("matches", [True, False])
    def test_a_batch_that_is_one_change(self, matches: bool) -> None:
        with watching("(a)--(b)", mode="batch", matches=matches) as monitor:
            totals = monitor.run(ROWS, Kept() if matches else Nowhere(), limit=1)
            assert (totals[0].positive, totals[0].negative, totals.complete) == (1, 0, True)
            assert monitor.source_position == Position(4)

    @pytest.mark.turns(8)
    def test_a_followed_file_ends_with_the_limit(self, tmp_path: Path) -> None:
        (tmp_path / "a.stream").write_text(self.STAR)
        process = motiflux_process(
            *("watch", "none", tmp_path / "a.stream", "--follow", "--pattern", "(a)--(b)", "--limit", "3")
        )
        out, _ = process.communicate(timeout=60)
        assert (process.returncode, out.count("\n")) == (0, 4)

    def test_a_limit_below_zero_is_refused(self) -> None:
        with watching() as monitor, pytest.raises(mf.ArgumentError, match="limit"):
            monitor.run(ROWS, Nowhere(), limit=-1)


class Kept(Sink):
    def __init__(self) -> None:
        self.found: list[FoundMatches] = []

    def write(self, found: FoundMatches) -> None:
        self.found.append(found)


def test_members_of_a_compressed_file_are_one_text(tmp_path: Path) -> None:
    with watching("(a)--(b)") as monitor:
        monitor.run(ROWS, tmp_path / "o.csv.gz", batch_size=1)
    data = (tmp_path / "o.csv.gz").read_bytes()
    assert data.count(b"\x1f\x8b\x08") >= 4
    assert gzip.decompress(data).decode().splitlines()[0] == "sign,update,time,pattern,v0,v1"


class InterruptedOutput(StandardOutput):
    """Presses Ctrl-C when a batch is applied, before its rows are printed."""

    def acknowledged(self, interrupted: Callable[[], bool]) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        super().acknowledged(interrupted)


class TestStandardOutput:
    def test_ctrl_c_before_a_batch_is_applied_leaves_no_row_of_it(
        self, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        def interrupted(sink: StandardOutput) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(StandardOutput, "flush", interrupted)
        with watching("(a)--(b)") as monitor:
            totals = monitor.run(ROWS, "-")
        assert (totals.updates, totals.complete) == (0, False)
        assert capfdbinary.readouterr().out == b"sign,update,time,pattern,v0,v1\n"

    def test_ctrl_c_while_rows_are_printed_leaves_the_batch_whole(
        self, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        with watching("(a)--(b)") as monitor:
            totals = monitor.run(ROWS, InterruptedOutput(), batch_size=2)
            assert (totals.updates, totals.complete, totals[0].positive) == (2, False, 2)
            assert monitor.num_edges == 2
        assert capfdbinary.readouterr().out.count(b"\n1,") == 2

    def test_a_reader_that_stops_reading_does_not_hold_up_ctrl_c(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("motiflux.stream.sinks.standard_output._PATIENCE", 0.1)
        reading, writing = os.pipe()
        many = [("+", at, at + 1) for at in range(20_000)]
        with (
            os.fdopen(reading, "rb") as reader,
            os.fdopen(writing, "w") as stalled,
            watching("(a)--(b)") as monitor,
        ):
            monkeypatch.setattr("sys.stdout", stalled)
            with pytest.warns(mf.MotifluxWarning, match=r"did not take the last [\d,]+ bytes of rows"):
                totals = monitor.run(many, InterruptedOutput(), batch_size=len(many))
            monkeypatch.undo()
            assert (totals.updates, totals.complete) == (len(many), False)
            stalled.close()
            assert 0 < reader.read().count(b"\n") < len(many)


class Refusing(Sink):
    """Refuses the batch with a given update."""

    def __init__(self, update: int) -> None:
        self._update = update

    def write(self, found: FoundMatches) -> None:
        if self._update in found.updates:
            raise ValueError("refused")


class TestSeveralSinks:
    @pytest.mark.parametrize("name", ["o.csv", "o.csv.gz", "o.jsonl", "o.arrow", "o.parquet"])
    def test_a_batch_that_one_sink_refuses_is_in_none(self, tmp_path: Path, name: str) -> None:
        pytest.importorskip("pyarrow")
        sinks = SeveralSinks([FileSink(tmp_path / name), Refusing(3)])
        with watching("(a)--(b)") as monitor:
            with pytest.raises(ValueError, match="refused"):
                monitor.run(ROWS, sinks, batch_size=2)
            assert monitor.updates_applied == 2
        if name == "o.jsonl":
            assert len((tmp_path / name).read_text().splitlines()) == 2
        else:
            assert [row[:2] for row in rows_of(tmp_path / name)] == [(1, 0), (1, 1)]

    def test_all_get_all_matches(self, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        files = [tmp_path / "o.csv", tmp_path / "o.tsv.gz"]
        with watching() as monitor:
            monitor.run(ROWS, [*files, "-"], batch_size=1)
        first = files[0].read_bytes()
        assert gzip.decompress(files[1].read_bytes()).replace(b"\t", b",") == first
        assert capfdbinary.readouterr().out == first


class TestJsonLines:
    def test_a_line_names_the_pattern_the_match_and_the_update(
        self, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        path = tmp_path / "a.csv"
        path.write_text(
            "op,src,dst,label,time\n+,ann,bob,wire,2026-11-21T10:00\n+,bob,ann,cash,2026-11-21T11:00\n"
            "-,ann,bob,wire,2026-11-21T12:00\n"
        )
        graph = mf.Graph.from_edges([], directed=True)
        ring = mf.Pattern.parse("(x)-->(y)-->(x)", name="ring")
        with mf.Monitor(graph, [ring, "(x)-[:cash]->(y)"], symmetry="subgraphs", matches=True) as monitor:
            monitor.run(path, [tmp_path / "o.jsonl", tmp_path / "o.jsonl.gz", "-.jsonl"])
        text = (tmp_path / "o.jsonl").read_bytes()
        assert gzip.decompress((tmp_path / "o.jsonl.gz").read_bytes()) == text
        assert capfdbinary.readouterr().out == text
        ring_match, cash = {"x": "ann", "y": "bob"}, "(x)-[:cash]->(y)"
        when = "2026-11-21T11:00:00.000000000Z"
        second = {"op": "+", "src": "bob", "dst": "ann", "label": "cash"}
        lines = sorted(map(json.loads, text.splitlines()), key=lambda line: (line["update"], line["pattern"]))
        assert lines == [
            {"sign": 1, "update": 1, "time": when, "pattern": 0, "name": "ring", "match": ring_match,
             "change": second},
            {"sign": 1, "update": 1, "time": when, "pattern": 1, "name": cash,
             "match": {"x": "bob", "y": "ann"}, "change": second},
            {"sign": -1, "update": 2, "time": "2026-11-21T12:00:00.000000000Z", "pattern": 0, "name": "ring",
             "match": ring_match, "change": {"op": "-", "src": "ann", "dst": "bob", "label": "wire"}},
        ]  # fmt: skip

    @pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
    @pytest.mark.parametrize("batch_size", [1, 3, None])
    def test_other_columns_of_the_stream_are_attributes(
        self, tmp_path: Path, suffix: str, batch_size: int | None
    ) -> None:
        pa = pytest.importorskip("pyarrow")
        columns = {
            "src": [1, 2, 3, 4], "amount": [250, 0, None, 7], "dst": [2, 3, 4, 5],
            "note": ["two\nlines", 'a "b", c', None, "\u00e9"],
        }  # fmt: skip
        path = tmp_path / f"a{suffix}"
        if suffix == ".parquet":
            pytest.importorskip("pyarrow.parquet").write_table(pa.table(columns), path)
            expected = list(zip(columns["amount"], columns["note"], strict=True))
        else:
            notes = ['"two\nlines"', '"a ""b"", c"', "", "\u00e9"]
            rows = zip(columns["src"], ["250", "0", "", "7"], columns["dst"], notes, strict=True)
            text = "src,amount,dst,note\n" + "".join(
                f"{u},{amount},{v},{note}\n" for u, amount, v, note in rows
            )
            path.write_bytes(gzip.compress(text.encode()) if suffix == ".csv.gz" else text.encode())
            expected = list(zip(columns["amount"], columns["note"], strict=True))
        with watching("(a)--(b)") as monitor:
            monitor.run(path, [tmp_path / "o.jsonl", tmp_path / "o.csv"], batch_size=batch_size)
        lines = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
        assert [(one["attributes"]["amount"], one["attributes"]["note"]) for one in lines] == expected
        assert len(rows_of(tmp_path / "o.csv")) == 4

    def test_fields_that_are_numbers_are_as_in_parquet(self, tmp_path: Path) -> None:
        fields = {
            "5": 5, "-3": -3, "10.50": 10.5, "0.1": 0.1, "-0.0": -0.0, "1e-05": 1e-05, "2.5e+20": 2.5e20,
            "9223372036854775807": 2**63 - 1, "9223372036854775808": "9223372036854775808", "007": "007",
            "1e5": "1e5", "+5": "+5", "5.": "5.", ".5": ".5", "nan": "nan", "Infinity": "Infinity",
            "0.12345678901234567890": "0.12345678901234567890", "-0": "-0", "1_000": "1_000", "true": "true",
        }  # fmt: skip
        rows = [f"{at},{at + 1},{field}" for at, field in enumerate(fields)]
        (tmp_path / "a.csv").write_text("\n".join(["src,dst,field", *rows, ""]))
        with watching("(a)--(b)") as monitor:
            monitor.run(tmp_path / "a.csv", tmp_path / "o.jsonl")
        lines = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
        found = [line["attributes"]["field"] for line in lines]
        assert list(map(repr, found)) == list(map(repr, fields.values()))

    def test_values_that_json_lacks_have_a_form_of_it(self, tmp_path: Path) -> None:
        pa = pytest.importorskip("pyarrow")
        zone, nan = dt.timezone(dt.timedelta(hours=2)), float("nan")
        values = {
            "nested": ([{"a": nan, "b": [1.5, nan, float("inf")]}], [{"a": None, "b": [1.5, None, "inf"]}]),
            "bytes": (b"\x00ab", "AGFi"),
            "zoned": (dt.datetime(2026, 11, 21, 16, tzinfo=zone), "2026-11-21T14:00:00.000000000Z"),
            "naive": (dt.datetime(2026, 11, 21, 16), "2026-11-21T16:00:00.000000000Z"),
            "date": (dt.date(2026, 11, 21), "2026-11-21"),
            "hour": (dt.time(16, 8), "16:08:00"),
            "lasts": (dt.timedelta(minutes=1, microseconds=500_000), 60.5),
            "price": (Decimal("1.10"), "1.10"),
            "flag": (True, True),
        }
        columns = {name: [value] for name, (value, _) in values.items()}
        table = pa.table({"src": [1], "dst": [2], **columns})
        rows = {
            "src": np.array([1]),
            "dst": np.array([2]),
            "when": np.array(["2026-11-21T16"], dtype="datetime64[ns]"),
            "lasts": np.array([90], dtype="timedelta64[s]"),
        }
        with watching("(a)--(b)", duplicates="count") as monitor:
            monitor.run(table, tmp_path / "o.jsonl")
        with watching("(a)--(b)") as monitor:
            monitor.run(rows, tmp_path / "p.jsonl")

        def refuse(word: str) -> None:
            raise AssertionError(word)

        (line,) = (tmp_path / "o.jsonl").read_text().splitlines()
        found = json.loads(line, parse_constant=refuse)["attributes"]
        assert found == {name: expected for name, (_, expected) in values.items()}
        (line,) = (tmp_path / "p.jsonl").read_text().splitlines()
        assert json.loads(line)["attributes"] == {"when": "2026-11-21T16:00:00.000000000Z", "lasts": 90.0}

    def test_a_value_without_a_form_in_json_is_refused(self, tmp_path: Path) -> None:
        rows = {"src": np.array([1]), "dst": np.array([2]), "odd": np.array([object()])}
        with (
            watching("(a)--(b)") as monitor,
            pytest.raises(
                mf.OutputError, match="attribute 'odd': expected a value that JSON has, found a obj"
            ),
        ):
            monitor.run(rows, tmp_path / "o.jsonl")

    def test_attributes_stay_with_their_lines_where_lines_are_left_out(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        path.write_text("src,dst,note\n1,2,one\nx,\n2,3,two\n3,\n3,4,three\n")
        with watching("(a)--(b)") as monitor, pytest.warns(mf.MotifluxWarning):
            monitor.run(path, tmp_path / "o.jsonl", on_error="skip")
        lines = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
        assert [one["attributes"] for one in lines] == [{"note": note} for note in ("one", "two", "three")]

    def test_a_batch_as_a_whole_has_no_change_and_numbers_stay_numbers(self, tmp_path: Path) -> None:
        with watching("(a)--(b)", mode="batch") as monitor:
            monitor.run([("+", 1, 2)], tmp_path / "o.jsonl")
        (line,) = (tmp_path / "o.jsonl").read_text().splitlines()
        assert json.loads(line) == {
            "sign": 1, "update": 0, "pattern": 0, "name": "(a)--(b)", "match": {"a": 1, "b": 2}
        }  # fmt: skip
