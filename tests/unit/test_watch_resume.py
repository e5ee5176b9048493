"""``motiflux watch`` stopped, killed, and going on where it was."""

from __future__ import annotations

import gzip
import json
import random
import shutil
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


@pytest.mark.turns(8)
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


@pytest.mark.turns(8)
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


@pytest.mark.turns(8)
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


@pytest.mark.turns(8)
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


@pytest.mark.turns(8)
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
            (["--directed"], "--directed: expected --undirected as in"),
            (["--pattern", "(a)--(b)"], "--pattern: expected"),
            (["--batch-size", "51"], "--batch-size: expected 50"),
            (["--strict"], "--strict: expected none as in"),
            (["--set", "tail=off"], "--set: expected"),
            (["-o", "other.csv"], "--output: expected"),
            (["--stream-format", "csv"], "--stream-format: expected none"),
            (["--missing", "keep"], "--missing: expected error as in"),
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
        assert (result.exit_code, "b.stream: cannot be opened" in result.stderr) == (2, True)
        result = motiflux("watch", tmp_path / "g.txt", stream, "--resume", saved)
        assert (result.exit_code, "GRAPH: expected none" in result.stderr) == (2, True)
        (tmp_path / "o.csv").write_text("short")
        result = motiflux("watch", "none", stream, "--resume", saved)
        assert (result.exit_code, "found others in its 5 bytes; give" in result.stderr) == (2, True)
        assert (tmp_path / "o.csv").read_text() == "short"
        (tmp_path / "o.csv").unlink()
        assert motiflux("watch", "none", stream, "--resume", saved).exit_code == 2

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--save-every", "3"], "--save-every: expected --save"),
            (["--save", "m.mfg", "--save-every", "soon"], "--save-every: expected a number of updates"),
            (["--save", "m.mfg", "-o", "o.parquet"], "can append to: .csv, .tsv, .jsonl or .arrow"),
            (["--resume", "absent.mfg"], "absent.mfg"),
            (["--save", "no/m.mfg"], "there is no folder"),
            (["-o", "-", "--json"], "expected a file, because --json writes to stdout"),
            (["-o", "m.csv", "--save", "m.csv"], "neither read nor saved"),
            (["-o", "m.csv", "-o", "./m.csv"], "-o m.csv: expected each output once"),
            (["-o", "-", "-o", "-.jsonl"], "-o -.jsonl: expected one output on stdout, found -o - too"),
            (["-o", "-.tsv"], "-o -.tsv: expected a file, or - or -.jsonl"),
            (["-o", "o.csv", "-o", "-.jsonl", "--json"], "-o -.jsonl: expected a file, because --json"),
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


class TestAnotherFolder:
    """A run is saved in one folder and continued where its files have been moved to."""

    def begun(self, folder: Path, lines: list[str], suffix: str = ".stream", *outputs: str) -> list[Path]:
        folder.mkdir()
        stream = folder / f"a{suffix}"
        write_stream(stream, lines[:300])
        places = [folder / name for name in outputs]
        named = [part for place in places for part in ("-o", place)]
        command = ["watch", "none", stream, *OPTIONS, *named, "--save", folder / "m.mfg", "--json"]
        assert only_json(motiflux(*command))["updates"] == 300
        return places

    @pytest.mark.turns(8)
    @pytest.mark.parametrize("suffix", [".stream", ".stream.gz", ".csv", ".parquet"])
    def test_a_run_goes_on_where_all_its_files_moved_to(self, tmp_path: Path, suffix: str) -> None:
        pytest.importorskip("pyarrow")
        lines = some_updates(600)
        write_stream(tmp_path / "whole.stream", lines)
        whole = played(tmp_path / "whole.stream", tmp_path / "whole.csv")
        before, after = tmp_path / "before", tmp_path / "after"
        outputs = ("o.csv", "o.arrow", "o.jsonl")
        self.begun(before, lines, suffix, *outputs)
        before.rename(after)
        write_stream(after / f"a{suffix}", lines)
        found = only_json(
            motiflux("watch", "none", after / f"a{suffix}", "--resume", after / "m.mfg", "--json")
        )
        assert (found["updates"], found["complete"]) == (300, True)
        assert not before.exists()
        assert in_order(after / "o.csv") == in_order(after / "o.arrow") == whole
        assert len((after / "o.jsonl").read_text().splitlines()) == len(whole)

    def test_outputs_that_moved_in_part_are_refused_and_those_left_behind_stay(self, tmp_path: Path) -> None:
        lines = some_updates(600)
        before, after = tmp_path / "before", tmp_path / "after"
        self.begun(before, lines, ".stream", "o.csv", "o.jsonl")
        left = (before / "o.jsonl").read_bytes()
        after.mkdir()
        for name in ("m.mfg", "o.csv"):
            (before / name).rename(after / name)
        moved = (after / "o.csv").read_bytes()
        write_stream(after / "a.stream", lines)
        result = motiflux("watch", "none", after / "a.stream", "--resume", after / "m.mfg")
        assert result.exit_code == 2
        assert f"expected the output {after / 'o.jsonl'}, found no such file" in result.stderr
        assert (before / "o.jsonl").read_bytes() == left
        assert (after / "o.csv").read_bytes() == moved

    def test_a_stream_and_an_output_may_have_other_names(self, tmp_path: Path) -> None:
        pytest.importorskip("pyarrow")
        lines = some_updates(600)
        write_stream(tmp_path / "b.stream", lines)
        whole = played(tmp_path / "b.stream", tmp_path / "whole.csv")
        (output,) = self.begun(tmp_path / "before", lines, ".stream", "o.csv")
        output.rename(tmp_path / "p.csv")
        saved = tmp_path / "before" / "m.mfg"
        played(tmp_path / "b.stream", tmp_path / "p.csv", "--resume", saved)
        assert in_order(tmp_path / "p.csv") == whole

    @pytest.mark.parametrize("suffix", [".stream", ".stream.gz", ".csv", ".parquet"])
    def test_a_stream_with_another_beginning_is_refused(self, tmp_path: Path, suffix: str) -> None:
        pytest.importorskip("pyarrow")
        folder = tmp_path / "before"
        self.begun(folder, some_updates(300), suffix)
        write_stream(folder / f"a{suffix}", some_updates(600, seed=2))
        result = motiflux("watch", "none", folder / f"a{suffix}", "--resume", folder / "m.mfg", "--json")
        assert result.exit_code == 2
        assert "STREAM: expected the content of" in result.stderr
        assert set(json.loads(result.stdout)) == {"schema", "error"}

    def test_an_output_with_other_rows_is_refused_and_left_alone(self, tmp_path: Path) -> None:
        folder = tmp_path / "before"
        (output,) = self.begun(folder, some_updates(300), ".stream", "o.csv")
        other = tmp_path / "o.csv"
        other.write_text(output.read_text().replace("1,", "2,"))
        before = other.read_text()
        for named, message in (
            (["-o", other], f"expected the output {other} to begin with the"),
            (["-o", output, "-o", other], f"expected the outputs of {folder / 'm.mfg'} in their order"),
        ):
            result = motiflux("watch", "none", folder / "a.stream", "--resume", folder / "m.mfg", *named)
            assert result.exit_code == 2
            assert f"--output: {message}" in result.stderr
        assert other.read_text() == before

    @pytest.mark.parametrize("name", ["o.csv", "o.jsonl", "o.arrow"])
    def test_outputs_with_other_rows_at_the_saved_names_are_left_alone(
        self, tmp_path: Path, name: str
    ) -> None:
        pytest.importorskip("pyarrow")
        lines, here, there = some_updates(600), tmp_path / "here", tmp_path / "there"
        self.begun(here, lines, ".stream", "first.csv", name)
        self.begun(there, some_updates(300, seed=2), ".stream", name)
        shutil.copy(here / "m.mfg", there)
        shutil.copy(here / "first.csv", there)
        (there / "first.csv").write_text((there / "first.csv").read_text() + "killed")
        write_stream(there / "a.stream", lines)
        for folder in (there, here):
            before = contents(folder)
            if folder == here:  # another program has moved the output away, and begun a new one
                (here / name).write_text("sign")
                before = contents(here)
            result = motiflux("watch", "none", folder / "a.stream", "--resume", folder / "m.mfg")
            assert result.exit_code == 2
            assert (
                f"--resume {folder / 'm.mfg'}: expected the output {folder / name} to begin" in result.stderr
            )
            assert contents(folder) == before

    def test_a_file_where_the_saved_run_had_written_nothing_is_left_alone(self, tmp_path: Path) -> None:
        pytest.importorskip("pyarrow")
        stream, output, saved = tmp_path / "a.stream", tmp_path / "o.arrow", tmp_path / "m.mfg"
        stream.write_text("e 1 2\n")
        with mf.Monitor(mf.Graph.from_edges([]), TRIANGLE, matches=True) as monitor:
            outputs = [{"name": str(output), "relative": "o.arrow", "kept": None, "content": None}]
            monitor.save(saved, position={"line": 0, "offset": 0, "outputs": outputs})
        there = tmp_path / "there"
        there.mkdir()
        shutil.copy(saved, there)
        (there / "o.arrow").write_text("of another run")
        result = motiflux("watch", "none", stream, "--resume", there / "m.mfg")
        assert (result.exit_code, "expected a new file" in result.stderr) == (2, True)
        assert (there / "o.arrow").read_text() == "of another run"

    def test_rows_that_were_written_again_with_fractional_times_go_on(self, tmp_path: Path) -> None:
        pytest.importorskip("pyarrow")
        folder = tmp_path / "before"
        folder.mkdir()
        stream, output, saved = folder / "a.csv", folder / "o.arrow", folder / "m.mfg"
        lines = ["src,dst,time\n", "1,2,1\n", "2,3,1.5\n", "3,1,2\n"]
        stream.write_text("".join(lines[:2]))
        started = ["watch", "none", stream, "--pattern", "(a)--(b)", "-o", output]
        assert motiflux(*started, "--save", saved).exit_code == 0
        before = output.read_bytes()
        stream.write_text("".join(lines))
        assert motiflux("watch", "none", stream, "--resume", saved).exit_code == 0
        whole = rows_of(output)
        assert len(whole) == 6
        assert motiflux("watch", "none", stream, "--resume", saved).exit_code == 0  # as after a crash
        assert rows_of(output) == whole
        output.write_bytes(before)
        assert motiflux("watch", "none", stream, "--resume", saved).exit_code == 0
        assert rows_of(output) == whole

    def test_rows_of_the_saved_run_on_stdout_are_not_mixed_with_json(self, tmp_path: Path) -> None:
        folder = tmp_path / "before"
        folder.mkdir()
        stream, saved = folder / "a.stream", folder / "m.mfg"
        stream.write_text("e 1 2\n")
        assert motiflux("watch", "none", stream, *OPTIONS, "-o", "-", "--save", saved).exit_code == 0
        stream.write_text("e 1 2\ne 1 3\n")
        result = motiflux("watch", "none", stream, "--resume", saved, "--json")
        assert "-o -: expected a file, because --json writes to stdout" in result.stderr
        assert set(only_json(result)) == {"schema", "error"}

    def test_a_compressed_stream_that_changed_late_is_refused(self, tmp_path: Path) -> None:
        lines = some_updates(20_000)
        stream, saved = tmp_path / "a.stream.gz", tmp_path / "m.mfg"
        write_stream(stream, lines)
        command = ["watch", "none", stream, "--pattern", "(a)--(b)", "--json"]
        found = only_json(motiflux(*command, "--save", saved, "--save-every", "5000"))
        assert found["updates"] == 20_000
        write_stream(stream, [*lines, "e 1 2\n"])
        assert only_json(motiflux("watch", "none", stream, "--resume", saved, "--json"))["updates"] == 1
        write_stream(stream, [*lines[:18_000], "e 7 70\n", *lines[18_001:]])
        result = motiflux("watch", "none", stream, "--resume", saved)
        assert (result.exit_code, "STREAM: expected the content of" in result.stderr) == (2, True)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def write_stream(path: Path, lines: list[str]) -> None:
    """Write lines of a ``.stream`` file, in the format of the suffix."""
    if ".stream" in path.suffixes:
        text = "".join(lines)
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
        return
    rows = [("-" if op == "-e" else "+", int(u), int(v)) for op, u, v in map(str.split, lines)]
    if path.suffix == ".csv":
        path.write_text("op,src,dst\n" + "".join(f"{op},{u},{v}\n" for op, u, v in rows))
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = dict(zip(("op", "src", "dst"), map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(columns), path)


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


LARGE = "(a)-[x WHERE x.amount >= 100]->(b)-[y WHERE y.amount >= 100]->(c)"
TRANSFERS = [
    "op,src,dst,time,amount,ref\n",
    "+,ann,bob,1,250,p\n",
    "+,bob,cy,2,20,q\n",
    "+,bob,cy,3,180,r\n",
    "-,bob,cy,4,180,\n",
    "+,bob,cy,5,100,s\n",
    "+,cy,dan,70,500,t\n",
]


def test_a_run_in_two_parts_keeps_the_attributes_of_edges(tmp_path: Path) -> None:
    lines = [*TRANSFERS]
    outputs = []
    for parts in ((len(lines),), (3, len(lines)), (4, 6, len(lines))):
        folder = tmp_path / str(len(outputs))
        folder.mkdir()
        path, output, saved = folder / "a.csv", folder / "o.jsonl", folder / "m.mfg"
        path.write_text("".join(lines[: parts[0]]))
        start = ("--pattern", LARGE, "--directed", "--window", "60s", "-o", output)
        assert motiflux("watch", "none", path, *start, "--save", saved).exit_code == 0
        for part in parts[1:]:
            path.write_text("".join(lines[:part]))
            result = motiflux("watch", "none", path, "--resume", saved, "--save", saved)
            assert result.exit_code == 0, result.stderr
        outputs.append(output.read_text())
    assert outputs[1:] == outputs[:1] * 2
    rows = [json.loads(line) for line in outputs[0].splitlines()]
    found = [(row["sign"], row["update"], row["edges"]["y"]["ref"]) for row in rows]
    assert found == [(1, 2, "r"), (-1, 3, "r"), (1, 4, "s"), (-1, 5, "s")]


def test_the_attributes_that_are_kept_are_those_of_the_saved_run(tmp_path: Path) -> None:
    path, output, saved = tmp_path / "a.csv", tmp_path / "o.jsonl", tmp_path / "m.mfg"
    path.write_text("".join(TRANSFERS))
    start = ("--pattern", "(a)-->(b)", "--directed", "-o", output, "--edge-attribute", "ref")
    assert motiflux("watch", "none", path, *start, "--save", saved).exit_code == 0
    first = json.loads(output.read_text().splitlines()[0])
    assert first["edges"] == {"e0": {"ref": "p"}}
    result = motiflux("watch", "none", path, "--resume", saved, "--edge-attribute", "amount")
    assert result.exit_code == 2
    assert "--edge-attribute" in result.stderr
    result = motiflux("watch", "none", path, "--resume", saved, "--edge-attribute", "ref")
    assert result.exit_code == 0, result.stderr
