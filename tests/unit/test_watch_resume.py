"""``motiflux watch`` stopped, killed, and going on where it was."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

import motiflux as mf
from tests.fault.test_stream_faults import rows_of
from tests.rotating import in_turn
from tests.unit.cli_run import motiflux, motiflux_process, only_json
from tests.waiting import wait_until

TRIANGLE = "(a)--(b)--(c)--(a)"
OPTIONS = ("--pattern", TRIANGLE, "--pattern", "(a)--(b)", "--symmetry", "subgraphs")


def some_updates(count: int, seed: int = 1) -> list[str]:
    draw = random.Random(seed)
    lines = []
    for _ in range(count):
        u, v = draw.sample(range(30), 2)
        lines.append(f"{draw.choice(['e', 'e', '-e'])} {u} {v}\n")
    return lines


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    path = tmp_path / "a.stream"
    path.write_text("".join(some_updates(600)))
    return path


def in_order(path: Path) -> list[tuple[Any, ...]]:
    """Read a file of matches, by update: batches give those of several patterns one after the other."""
    return sorted(rows_of(path), key=lambda row: (row[1], row[3], row[0], *map(str, row)))


def played(stream: Path, output: Path, *more: str | Path) -> list[tuple[Any, ...]]:
    result = motiflux("watch", "none", stream, *OPTIONS, "-o", output, *more)
    assert result.exit_code == 0, result.stderr
    return in_order(output)


@pytest.mark.parametrize("name", ["o.csv", "o.tsv", "o.csv.gz", "o.csv.zst", "o.arrow"])
def test_a_run_in_two_parts_writes_what_one_run_writes(tmp_path: Path, name: str) -> None:
    pytest.importorskip("pyarrow")
    lines = some_updates(600)
    (tmp_path / "whole.stream").write_text("".join(lines))
    whole = played(tmp_path / "whole.stream", tmp_path / f"whole-{name}")
    path, output, saved = tmp_path / "a.stream", tmp_path / name, tmp_path / "m.mfg"
    path.write_text("".join(lines[:250]))
    first = played(path, output, "--save", saved)
    assert first == whole[: len(first)]
    path.write_text("".join(lines))
    result = motiflux("watch", "none", path, "--resume", saved)
    assert result.exit_code == 0, result.stderr
    assert in_order(output) == whole
    assert "350 updates" in result.stdout


@pytest.mark.parametrize(("name", "seed"), in_turn(1, [("o.csv", 1), ("o.csv.gz", 2), ("o.arrow", 3)]))
def test_a_run_that_is_killed_goes_on_without_losing_or_doubling_rows(
    tmp_path: Path, stream: Path, name: str, seed: int
) -> None:
    pytest.importorskip("pyarrow")
    whole = played(stream, tmp_path / f"whole-{name}")
    output, saved = tmp_path / name, tmp_path / "m.mfg"
    draw = random.Random(seed)
    lines = stream.read_text().splitlines(keepends=True)
    started = ["watch", "none", "-", *OPTIONS, "--batch-size", "7", "-o", output, "--save", saved]
    command = [*started, "--save-every", "20"]
    for _ in range(2):
        process = motiflux_process(*command, stdin=subprocess.PIPE)
        assert process.stdin is not None
        try:
            for line in lines[: draw.randrange(100, 500)]:
                process.stdin.write(line)
                process.stdin.flush()
            wait_until(saved.exists, "a checkpoint", of=process)
            time.sleep(draw.random() * 0.05)
        except BrokenPipeError:
            pass
        process.kill()
        process.communicate()
        command = ["watch", "none", "-", "--resume", saved, "--save", saved, "--save-every", "20"]
    process = motiflux_process("watch", "none", "-", "--resume", saved, stdin=subprocess.PIPE)
    out, err = process.communicate(stream.read_text())
    assert process.returncode == 0, err
    assert in_order(output) == whole, out


def test_ctrl_c_saves_where_the_rows_end(tmp_path: Path, stream: Path) -> None:
    pytest.importorskip("pyarrow")
    whole = played(stream, tmp_path / "whole.csv")
    output, saved = tmp_path / "o.csv", tmp_path / "m.mfg"
    lines = stream.read_text().splitlines(keepends=True)
    stream.write_text("".join(lines[:300]))
    process = motiflux_process(
        *("watch", "none", stream, *OPTIONS, "--follow", "--json", "-o", output, "--save", saved)
    )
    rows = 1 + sum(row[1] < 300 for row in whole)
    wait_until(
        lambda: output.exists() and output.read_bytes().count(b"\n") >= rows, f"{rows} rows", of=process
    )
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    assert json.loads(out)["updates"] == 300
    stream.write_text("".join(lines))
    found = only_json(motiflux("watch", "none", stream, "--resume", saved, "--json"))
    assert (found["updates"], found["complete"]) == (300, True)
    assert [one["pattern"] for one in found["patterns"]] == [TRIANGLE, "(a)--(b)"]
    assert in_order(output) == whole


def test_a_followed_file_is_saved_while_nothing_comes(tmp_path: Path) -> None:
    path, saved = tmp_path / "a.stream", tmp_path / "m.mfg"
    path.write_text("e 1 2\ne 2 3\n")
    started = ["watch", "none", path, "--follow", "--json", "--pattern", TRIANGLE, "--save", saved]
    process = motiflux_process(*started, "--save-every", "500ms")
    wait_until(saved.exists, "a checkpoint", of=process)
    process.kill()
    process.communicate()
    path.write_text("e 1 2\ne 2 3\ne 3 1\n")
    found = only_json(motiflux("watch", "none", path, "--resume", saved, "--json"))
    assert (found["updates"], found["patterns"][0]["positive"]) == (1, 6)


def test_a_batch_that_time_cuts_short_is_left_to_the_next_run(tmp_path: Path) -> None:
    path, saved = tmp_path / "a.stream", tmp_path / "m.mfg"
    clique = "".join(f"e {u} {v}\n" for v in range(60) for u in range(v))
    (tmp_path / "g.txt").write_text("".join(line[2:] for line in clique.splitlines(keepends=True)))
    path.write_text("e 100 101\ne 0 100\n")
    long = "(a)--(b)--(c)--(d)--(e)--(f)--(g)--(h)--(i)--(j)"
    for seconds in ("0.5", "5", "50"):  # enough for the first batch, whatever holds up the machine
        result = motiflux(
            *("watch", tmp_path / "g.txt", path, "--pattern", long, "--set", "tail=off"),
            *("--batch-size", "1", "--timeout", seconds, "--save", saved, "--json"),
        )
        assert result.exit_code == 1, result.stderr
        found = only_json(result)
        if found["updates"]:
            break
    assert (found["updates"], found["complete"]) == (1, False)
    with mf.Monitor.load(saved) as monitor:
        assert monitor.num_edges == 60 * 59 // 2 + 1
        assert monitor.source_position["line"] == 1


def test_a_table_from_a_pipe_goes_on_too(tmp_path: Path) -> None:
    lines = ["src,dst,time\n", "1,2,1\n", "2,3,2\n", "3,1,3\n", "3,4,4\n", "4,1,5\n"]
    saved = tmp_path / "m.mfg"
    command = ["watch", "none", "-", "--stream-format", "csv", *OPTIONS[:2], "--symmetry", "subgraphs"]
    process = motiflux_process(*command, "--save", saved, stdin=subprocess.PIPE)
    out, err = process.communicate("".join(lines[:3]))
    assert process.returncode == 0, err
    process = motiflux_process("watch", "none", "-", "--resume", saved, stdin=subprocess.PIPE)
    out, err = process.communicate("".join(lines))
    assert process.returncode == 0, err
    assert [line.split(",")[:3] for line in out.splitlines()[1:]] == [["1", "2", "3"], ["1", "4", "5"]]
    assert "note: standard input: skipping the first 25 bytes, which the saved run has read" in err


def test_a_bad_line_may_be_mended_before_going_on(tmp_path: Path) -> None:
    path, output, saved = tmp_path / "a.stream", tmp_path / "o.csv", tmp_path / "m.mfg"
    path.write_text("e 1 2\ne 2 3\ne 3\n")
    result = motiflux("watch", "none", path, *OPTIONS[:2], "-o", output, "--save", saved)
    assert result.exit_code == 2
    path.write_text("e 1 2\ne 2 3\ne 3 1\n")
    assert motiflux("watch", "none", path, "--resume", saved).exit_code == 0
    assert len(output.read_text().splitlines()) == 7


class TestRefusals:
    @pytest.fixture
    def saved(self, tmp_path: Path, stream: Path) -> Path:
        output = tmp_path / "o.csv"
        command = ["watch", "none", stream, *OPTIONS, "--window", "100", "--batch-size", "50", "-o", output]
        assert motiflux(*command, "--save", tmp_path / "m.mfg").exit_code == 0
        return tmp_path / "m.mfg"

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            (["--window", "200"], "--window: expected 100 edges"),
            (["--mode", "batch"], "--mode: expected sequence"),
            (["--symmetry", "embeddings"], "--symmetry: expected subgraphs"),
            (["--directed"], "--directed: expected False"),
            (["--pattern", "(a)--(b)"], "--pattern: expected"),
            (["--batch-size", "51"], "--batch-size: expected 50"),
            (["--strict"], "--strict: expected False"),
            (["--set", "tail=off"], "--set: expected"),
            (["-o", "other.csv"], "--output: expected"),
            (["--stream-format", "csv"], "--stream-format: expected none"),
            (["--limit", "3"], "--limit: not allowed with --save or --resume"),
        ],
    )
    def test_what_was_otherwise_is_refused_by_name(
        self, stream: Path, saved: Path, more: list[str], message: str
    ) -> None:
        before = saved.read_bytes()
        result = motiflux("watch", "none", stream, "--resume", saved, "--save", saved, *more)
        assert result.exit_code == 2
        assert message in result.stderr
        assert saved.read_bytes() == before

    def test_what_was_the_same_may_be_said_again(self, tmp_path: Path, stream: Path, saved: Path) -> None:
        command = ["watch", "none", stream, *OPTIONS, "--window", "100", "--batch-size", "50"]
        before = (tmp_path / "o.csv").read_bytes()
        result = motiflux(*command, "-o", tmp_path / "o.csv", "--resume", saved)
        assert result.exit_code == 0, result.stderr
        assert (tmp_path / "o.csv").read_bytes() == before

    def test_another_stream_graph_or_file_is_refused(self, tmp_path: Path, stream: Path, saved: Path) -> None:
        result = motiflux("watch", "none", tmp_path / "b.stream", "--resume", saved)
        assert (result.exit_code, "STREAM: expected" in result.stderr) == (2, True)
        result = motiflux("watch", tmp_path / "g.txt", stream, "--resume", saved)
        assert (result.exit_code, "GRAPH: expected none" in result.stderr) == (2, True)
        (tmp_path / "o.csv").write_text("short")
        result = motiflux("watch", "none", stream, "--resume", saved)
        assert (result.exit_code, "found 5 bytes, expected at least" in result.stderr) == (2, True)
        assert (tmp_path / "o.csv").read_text() == "short"
        (tmp_path / "o.csv").unlink()
        assert motiflux("watch", "none", stream, "--resume", saved).exit_code == 2

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--save-every", "3"], "--save-every: expected --save"),
            (["--save", "m.mfg", "--save-every", "soon"], "--save-every: expected a number of updates"),
            (["--save", "m.mfg", "-o", "o.parquet"], "expected a format that --save can append to"),
            (["--resume", "absent.mfg"], "absent.mfg"),
            (["--save", "no/m.mfg"], "there is no folder"),
            (["-o", "-", "--json"], "expected a file, because --json writes to stdout"),
            (["-o", "m.csv", "--save", "m.csv"], "neither read nor saved"),
            (["-o", "./a.csv", "--stream-format", "stream"], "neither read nor saved"),
        ],
    )
    def test_bad_usage_is_exit_2(
        self, stream: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
    ) -> None:
        monkeypatch.chdir(stream.parent)
        stream = stream.rename(stream.with_suffix(".csv"))
        result = motiflux("watch", "none", stream, *OPTIONS[:2], *arguments)
        assert result.exit_code == 2
        assert message in " ".join(result.stderr.split())
        assert [path.name for path in stream.parent.iterdir()] == [stream.name]


def test_a_checkpoint_of_a_program_goes_on_from_its_position(tmp_path: Path, stream: Path) -> None:
    with mf.Monitor(mf.Graph.from_edges([]), TRIANGLE, matches=True) as monitor:
        deltas = monitor.run(mf.open_source(stream), batch_size=200)
        next(deltas)
        monitor.save(tmp_path / "m.mfg")
        rest = [int(delta[0].positive) for delta in deltas]
    found = only_json(motiflux("watch", "none", stream, "--resume", tmp_path / "m.mfg", "--json"))
    assert (found["updates"], found["patterns"][0]["positive"]) == (400, sum(rest))
    monitor = mf.Monitor(mf.Graph.from_edges([]), TRIANGLE)
    monitor.save(tmp_path / "n.mfg", position="somewhere")
    result = motiflux("watch", "none", stream, "--resume", tmp_path / "n.mfg")
    assert (result.exit_code, "expected a position in a stream" in result.stderr) == (2, True)
