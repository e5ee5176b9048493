"""Lines of matches that native code writes are those that sinks write, byte for byte."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.stream.run.delivery import Delivery
from tests.unit.test_stream_quiet import interrupted_in_run

NO_LIMIT = 1 << 60
"""A limit on matches that no stream reaches; with one, sinks write all lines themselves."""
PATTERNS = ["(a)--(b)--(c)--(a)", '(x)--("{y}")', "(u)--(v)--(w)--(t)"]
NAMES = ["a", 'q"q', "b,c", "d;e", "\\", "é", "\x01", "f\x7f", "🐈", "'"]


def counts(totals: mf.Totals) -> tuple[Any, ...]:
    """Return the totals that do not depend on time."""
    found = [(one.positive, one.negative) for one in totals.patterns]
    return found, totals.updates, totals.noops, totals.self_loops, totals.batches


def written(
    graph: mf.Graph, stream: Path, output: Path, patterns: list[str], **options: Any
) -> tuple[bytes, Any]:
    """Return the file that a run writes, the totals, and how far the stream was read."""
    run = {key: options.pop(key) for key in ("limit", "batch_size") if key in options}
    with mf.Monitor(graph, patterns[:2], matches=True, threads=1, **options) as monitor:
        for pattern in patterns[2:]:
            monitor.add(pattern, matches=False)
        totals = monitor.run(stream, output, **run)
        position = monitor.source_position
    return output.read_bytes(), (counts(totals), position)


@pytest.mark.filterwarnings("ignore::motiflux.MotifluxWarning")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.sampled_from(["e", "e", "e", "-e"]), st.integers(0, 9), st.integers(0, 9)), max_size=50
    ),
    named=st.booleans(),
    labelled=st.booleans(),
    mode=st.sampled_from(["sequence", "batch"]),
    directed=st.booleans(),
    size=st.sampled_from([1, 3, None]),
    suffix=st.sampled_from([".csv", ".tsv", ".jsonl"]),
    shown=st.integers(1, 3),
)
def test_lines_are_as_sinks_write_them(
    tmp_path: Path, rows: Any, named: bool, labelled: bool, size: Any, suffix: str, shown: int, **options: Any
) -> None:
    ids: list[Any] = NAMES if named else [at - 3 for at in range(10)]
    directed = options.pop("directed")
    lines = [
        f"{op} {ids[u]} {ids[v]}" + (f" {at % 2}" if labelled else "") for at, (op, u, v) in enumerate(rows)
    ]
    stream = tmp_path / "a.stream"
    stream.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    graph = mf.Graph.from_edges([(ids[at], ids[at + 1]) for at in range(4)], directed=directed)
    output = tmp_path / f"rows{suffix}"
    run = {"batch_size": size, **options}
    expected = written(graph, stream, output, PATTERNS[:shown], limit=NO_LIMIT, **run)
    assert written(graph, stream, output, PATTERNS[:shown], **run) == expected


def test_rows_are_written_without_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.stream"
    path.write_text("".join(f"e {at} {at + 1}\n" for at in range(200)))
    graph = mf.Graph.from_edges([(0, 1)])
    handed = 0
    give = Delivery.give

    def counted(self: Delivery, blocks: Any, last: bool) -> None:
        nonlocal handed
        handed += 1
        give(self, blocks, last)

    monkeypatch.setattr(Delivery, "give", counted)
    with mf.Monitor(graph, "(a)--(b)", matches=True) as monitor:
        totals = monitor.run(path, tmp_path / "rows.jsonl", batch_size=1)
    assert totals[0].positive == 2 * 199
    assert handed == 1  # the batch that begins the file
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [row["update"] for row in rows] == [update for update in range(1, 200) for _ in range(2)]
    assert rows[-1]["change"] == {"op": "+", "src": 199, "dst": 200}


def test_columns_beside_updates_are_still_passed_on(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("op,src,dst,note\n" + "".join(f"+,{at},{at + 1},n{at}\n" for at in range(20)))
    with mf.Monitor(mf.Graph.from_edges([(0, 1)]), "(a)--(b)", matches=True, symmetry="subgraphs") as monitor:
        monitor.run(path, tmp_path / "rows.jsonl", batch_size=1)
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [row["attributes"]["note"] for row in rows] == [f"n{at}" for at in range(1, 20)]


def test_a_pattern_added_between_runs_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.stream"
    path.write_text("e 1 2\ne 2 3\ne 3 1\n")
    with mf.Monitor(mf.Graph.from_edges([(0, 1)]), "(a)--(b)", matches=True) as monitor:
        monitor.run(path, tmp_path / "rows.csv", batch_size=1)
        monitor.add("(a)--(b)--(c)--(a)")
        path.write_text("e 4 2\ne 4 3\ne 4 1\n")
        monitor.run(path, tmp_path / "more.csv", batch_size=1)
    lines = (tmp_path / "more.csv").read_text().splitlines()
    assert lines[0] == "sign,update,time,pattern,v0,v1,v2"
    assert [line.split(",")[1] for line in lines if line.split(",")[3] == "1"] == ["4"] * 6 + ["5"] * 12


FULL = """
import resource, sys
import motiflux as mf
folder = sys.argv[1]
with mf.Monitor(mf.Graph.from_edges([(0, 1)]), "(a)--(b)", matches=True, symmetry="subgraphs") as monitor:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    try:
        monitor.run(folder + "/a.stream", folder + "/rows.csv", batch_size=1)
    except mf.OutputError as error:
        print(error)
    print(monitor.updates_applied, monitor.num_edges, len(monitor.unapplied), monitor.source_position.line)
"""


@pytest.mark.turns(8)
def test_a_batch_whose_lines_do_not_fit_is_not_applied(tmp_path: Path) -> None:
    (tmp_path / "a.stream").write_text("".join(f"e {at} {at + 1}\n" for at in range(1, 400)))
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=True
    )
    error, state = done.stdout.splitlines()
    applied, edges, unapplied, line = map(int, state.split())
    lines = (tmp_path / "rows.csv").read_bytes()
    assert "rows.csv" in error
    assert lines.endswith(b"\n")
    assert len(lines) <= 1000
    assert lines.count(b"\n") - 1 == applied == edges - 1 == line
    assert unapplied == 1


@pytest.mark.turns(8)
def test_lines_wait_for_a_slow_reader_and_all_arrive() -> None:
    reading, writing = os.pipe()
    code = (
        "import motiflux as mf, sys\n"
        "with mf.Monitor(mf.Graph.from_edges([(0, 1)]), '(a)--(b)', matches=True) as monitor:\n"
        "    totals = monitor.run(sys.stdin, '-', batch_size=1)\n"
        "    print(totals[0].positive, file=sys.stderr)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=writing, stderr=subprocess.PIPE, text=True
    )
    os.close(writing)
    assert child.stdin is not None
    many = 20_000  # more than a pipe holds
    threading.Thread(target=lambda: feed(child.stdin, many)).start()
    assert child.stderr is not None
    text = b""
    while chunk := os.read(reading, 512):
        text += chunk
    os.close(reading)
    with child.stderr:
        assert int(child.stderr.read()) == 2 * many
    assert child.wait() == 0
    lines = text.splitlines()
    assert len(lines) == 2 * many + 1
    assert [int(line.split(b",")[1]) for line in lines[1::2]] == list(range(many))


def feed(stream: Any, many: int) -> None:
    """Write insertions, and end the stream."""
    stream.writelines(f"e {at} {at + 1}\n" for at in range(1, many + 1))
    stream.close()


# An interrupt between the opening of a file and its assignment leaves it to the garbage collector.
@pytest.mark.turns(8)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("size", [1, 3])
def test_ctrl_c_anywhere_leaves_a_file_with_the_rows_of_the_updates_applied(
    tmp_path: Path, size: int
) -> None:
    path, output = tmp_path / "a.stream", tmp_path / "rows.csv"
    path.write_text("".join(f"e {at} {at + 1}\n" for at in range(1, 10)))
    graph = mf.Graph.from_edges([(0, 1)])
    point, interrupted = 0, True
    while interrupted:
        point += 5
        with mf.Monitor(graph, "(a)--(b)", matches=True, symmetry="subgraphs") as monitor:
            run = partial(monitor.run, path, output, batch_size=size)
            interrupted = interrupted_in_run(point, run)
            applied = monitor.updates_applied
            lines = output.read_text().splitlines()[1:] if output.exists() else []
            assert [int(line.split(",")[1]) for line in lines] == list(range(applied))
            assert monitor.num_edges == 1 + applied
            assert applied == 0 or monitor.source_position.line == applied
        output.unlink(missing_ok=True)
    assert applied == 9
    assert point > 100
