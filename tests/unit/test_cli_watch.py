"""``motiflux watch``."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from motiflux.stream.matching.engine import ENGINES
from tests import stream_engines
from tests.data_paths import shared_path
from tests.plain_stream import plain_streams
from tests.unit.cli_run import motiflux, motiflux_process, only_json
from tests.waiting import wait_until

TRIANGLE = "(a)--(b)--(c)--(a)"
STREAM = "e 1 2\ne 2 3\ne 3 1\ne 3 1\n-e 1 2\n"


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    (tmp_path / "a.stream").write_text(STREAM)
    return tmp_path / "a.stream"


def test_totals_are_one_json_object(stream: Path) -> None:
    result = motiflux(
        "watch",
        "none",
        stream,
        "--pattern",
        TRIANGLE,
        "--pattern",
        "(a)--(b)",
        "--symmetry",
        "subgraphs",
        "--json",
    )
    assert result.exit_code == 0
    found = only_json(result)
    assert list(found) == [
        "schema",
        "patterns",
        "updates",
        "noops",
        "skipped",
        "seconds",
        "updates_per_second",
        "latency_us",
        "complete",
        "engine",
        "device",
        "reason",
    ]
    assert found["patterns"] == [
        {"pattern": TRIANGLE, "positive": 1, "negative": 1},
        {"pattern": "(a)--(b)", "positive": 3, "negative": 1},
    ]
    assert (found["updates"], found["noops"], found["complete"]) == (5, 1, True)
    assert (found["engine"], found["device"]) == ("cpu", "cpu")
    assert list(found["latency_us"]) == ["p50", "p90", "p99", "max"]
    assert 0 < found["latency_us"]["p50"] <= found["latency_us"]["max"]


def test_matches_go_to_stdout_and_the_summary_to_stderr(stream: Path) -> None:
    result = motiflux("watch", "none", stream, "--pattern", TRIANGLE, "--symmetry", "subgraphs")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "sign,update,time,pattern,v0,v1,v2",
        "1,2,,0,1,2,3",
        "-1,4,,0,1,2,3",
    ]
    assert "1 subgraph appeared, 1 vanished" in result.stderr
    assert "5 updates (1 without effect)" in result.stderr
    assert "latency p50" in result.stderr


def test_matches_go_to_several_places_in_several_forms(stream: Path, tmp_path: Path) -> None:
    (tmp_path / "ring.pattern").write_text(TRIANGLE)
    result = motiflux(
        *("watch", "none", stream, "--pattern", tmp_path / "ring.pattern", "--symmetry", "subgraphs"),
        *("-o", tmp_path / "o.csv", "-o", "-.jsonl", "-o", tmp_path / "o.jsonl.gz"),
    )
    assert result.exit_code == 0, result.stderr
    rows = [line.split(",") for line in (tmp_path / "o.csv").read_text().splitlines()[1:]]
    alerts = [json.loads(line) for line in result.stdout.splitlines()]
    assert gzip.decompress((tmp_path / "o.jsonl.gz").read_bytes()).decode() == result.stdout
    assert {alert["name"] for alert in alerts} == {"ring"}
    assert [[alert["sign"], alert["update"], *alert["match"].values()] for alert in alerts] == [
        [int(sign), int(update), *map(int, vertices)] for sign, update, _, _, *vertices in rows
    ]
    assert "subgraphs appeared" in result.stderr or "subgraph appeared" in result.stderr


def test_batches_are_matched_as_a_whole(stream: Path, tmp_path: Path) -> None:
    output = tmp_path / "o.csv"
    result = motiflux(
        "watch", "none", stream, "--pattern", TRIANGLE, "--mode", "batch", "--batch-size", "5", "-o", output
    )
    assert result.exit_code == 0
    assert "0 embeddings appeared, 0 vanished" in result.stdout
    assert output.read_text() == "sign,update,time,pattern,v0,v1,v2\n"


def test_a_table_is_played_on_a_graph(tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text("payer,payee,kind\nann,bob,wire\nbob,cy,wire\n")
    (tmp_path / "s.tsv").write_text(
        "what\twho\twhom\tkind\twhen\n+\tcy\tann\twire\t7\n-\tann\tbob\twire\t9\n"
    )
    parts = {"op": "what", "src": "who", "dst": "2", "label": "kind", "time": "when"}
    chosen = [word for part, name in parts.items() for word in ("--stream-column", f"{part}={name}")]
    result = motiflux(
        *("watch", tmp_path / "g.csv", tmp_path / "s.tsv", "--directed", "--symmetry", "subgraphs"),
        *("--src", "payer", "--dst", "payee", "--label", "kind", *chosen),
        *("--pattern", "(a)-[:wire]->(b)-[:wire]->(c)-[:wire]->(a)"),
    )
    assert result.exit_code == 0, result.stderr
    assert [line.split(",")[:4] for line in result.stdout.splitlines()[1:]] == [
        ["1", "0", "7", "0"],
        ["-1", "1", "9", "0"],
    ]


class TestWindows:
    ROWS = "op,src,dst,time\n+,1,2,10\n+,2,3,20\n+,3,1,30\n+,7,8,100\n"

    def test_edges_go_when_their_time_is_over(self, tmp_path: Path) -> None:
        (tmp_path / "s.csv").write_text(self.ROWS)
        arguments = ["watch", "none", tmp_path / "s.csv", "--pattern", TRIANGLE, "--symmetry", "subgraphs"]
        result = motiflux(*arguments, "--window", "60s")
        assert result.exit_code == 0, result.stderr
        assert [line.split(",")[:3] for line in result.stdout.splitlines()[1:]] == [
            ["1", "2", "30"],
            ["-1", "3", "100"],
        ]
        found = only_json(motiflux(*arguments, "--window", "2", "--json"))
        assert found["patterns"][0]["positive"] == 0

    def test_edges_of_the_graph_go_too_if_they_have_times(self, tmp_path: Path) -> None:
        (tmp_path / "g.csv").write_text("src,dst,time\n1,2,0\n2,3,50\n3,4,\n")
        (tmp_path / "a.csv").write_text("src,dst,time\n3,1,100\n7,8,3599\n8,9,3600\n")
        command = ("watch", tmp_path / "g.csv", tmp_path / "a.csv", "--pattern", TRIANGLE, "--window", "1h")
        stays = motiflux(*command, "--symmetry", "subgraphs")
        goes = motiflux(*command, "--symmetry", "subgraphs", "--edge-times", "time")
        assert [line[:7] for line in stays.stdout.splitlines()[1:]] == ["1,0,100"]
        assert [line.split(",")[:3] for line in goes.stdout.splitlines()[1:]] == [
            ["1", "0", "100"], ["-1", "2", "3600"]
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("graph", "more", "message"),
        [
            ("g.csv", [], "--edge-times time: expected --window, found none"),
            ("none", ["--window", "1h"], "--edge-times time: expected a graph whose edges have times"),
            ("g.csv", ["--resume", "m.mfg"], "--edge-times: not allowed with --resume"),
            ("h.csv", ["--window", "1h"], "an attribute of the graph's edges that holds numbers"),
        ],
    )
    def test_times_of_edges_that_nothing_uses_are_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, graph: str, more: list[str], message: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        Path("g.csv").write_text("src,dst,time\n1,2,0\n")
        Path("h.csv").write_text("src,dst\n1,2\n")
        Path("a.stream").write_text("e 1 2\n")
        result = motiflux("watch", graph, "a.stream", "--pattern", TRIANGLE, "--edge-times", "time", *more)
        assert (result.exit_code, message in result.stderr) == (2, True)

    def test_a_window_is_a_combination_of_units(self, tmp_path: Path) -> None:
        times = ["2024-05-01T00:00Z", "2024-05-01T01:29:59Z", "2024-05-01T03:30:00+02:00"]
        rows = [f"+,{row},{row + 1},{time}\n" for row, time in enumerate(times)]
        (tmp_path / "s.csv").write_text("op,src,dst,time\n" + "".join(rows))
        result = motiflux("watch", "none", tmp_path / "s.csv", "--pattern", "(a)--(b)", "--window", "1h30m")
        assert result.exit_code == 0, result.stderr
        vanished = [line.split(",")[1] for line in result.stdout.splitlines() if line.startswith("-1")]
        assert vanished == ["2", "2"]  # both embeddings of the first edge, with the third update

    @pytest.mark.parametrize("window", ["30m1h", "soon", "0", "1h30", "-5"])
    def test_what_is_no_window_is_an_error_of_the_option(self, tmp_path: Path, window: str) -> None:
        (tmp_path / "s.csv").write_text(self.ROWS)
        result = motiflux("watch", "none", tmp_path / "s.csv", "--pattern", TRIANGLE, f"--window={window}")
        assert result.exit_code == 2
        expected = "a duration such as 90s, 15min or 1h30m, or a number of edges"
        assert f"--window: expected {expected}, found {window!r}" in result.stderr

    def test_a_line_out_of_time_order_is_named_or_left_out(self, tmp_path: Path) -> None:
        (tmp_path / "s.csv").write_text(self.ROWS + "+,8,9,50\n")
        arguments = ["watch", "none", tmp_path / "s.csv", "--pattern", TRIANGLE, "--window", "1h", "--json"]
        result = motiflux(*arguments)
        assert result.exit_code == 2
        assert "s.csv, line 6: expected 100 s or later, found 50" in result.stderr
        result = motiflux(*arguments, "--disorder", "drop")
        assert only_json(result)["updates"] == 4
        assert f"note: {tmp_path / 's.csv'}: 1 update was out of time order, and left out" in result.stderr


@pytest.mark.parametrize("case", ["c01", "c04"])
def test_a_known_stream_brings_the_known_matches(case: str) -> None:
    folder = shared_path("oracle", "csm", case)
    expected = json.loads(shared_path("oracle", "csm", "expected.json").read_text())[case]
    stream, pattern = folder / "updates.stream.gz", folder / "query.graph"
    found = only_json(motiflux("watch", folder / "data.graph.gz", stream, "--pattern", pattern, "--json"))
    (total,) = found["patterns"]
    assert (total["positive"], total["negative"]) == (expected["positive"], expected["negative"])
    assert found["updates"] == expected["updates"]


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["none", "a.xlsx", "--pattern", TRIANGLE], "found suffix '.xlsx'"),
            (["none", "absent.stream", "--pattern", TRIANGLE], "absent.stream"),
            (["none", "absent.stream", "--pattern", "(a"], "line 1"),
            (["none", "absent.stream", "--pattern", TRIANGLE, "-o", "o.xlsx"], "found suffix '.xlsx'"),
            (
                ["none", "absent.stream", "--pattern", TRIANGLE, "--src", "x"],
                "--src: expected a graph table",
            ),
            (
                ["none", "absent.stream", "--pattern", TRIANGLE, "--missing", "drop"],
                "found none; --on-error skip leaves out lines of STREAM without an id",
            ),
            (["none", "a.csv", "--pattern", TRIANGLE, "--stream-column", "src"], "PART=COLUMN"),
            (["none", "a.csv", "--pattern", TRIANGLE, "--stream-column", "x=y"], "parts out of op, src"),
            (
                ["none", "a.gz", "--pattern", TRIANGLE, "--stream-format", "stream", "--follow"],
                "not compressed",
            ),
            (["none", "a.stream", "--pattern", TRIANGLE, "--semantics", "isomorphic"], "semantics"),
            (["none", "a.stream"], "--pattern"),
            (["none", "a.stream", "--pattern", TRIANGLE, "--batch-size", "0"], "--batch-size"),
        ],
    )
    def test_bad_usage_is_exit_2(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        result = motiflux("watch", *arguments)
        assert result.exit_code == 2
        assert message in " ".join(result.stderr.replace("│", " ").split())
        assert list(tmp_path.iterdir()) == []

    def test_a_malformed_line_is_exit_2_after_all_before_it_was_written(self, tmp_path: Path) -> None:
        (tmp_path / "a.stream").write_text(STREAM + "? 1 2\n")
        output = tmp_path / "o.csv"
        result = motiflux("watch", "none", tmp_path / "a.stream", "--pattern", TRIANGLE, "-o", output)
        assert result.exit_code == 2
        assert "a.stream, line 6: record type: found '?'" in result.stderr
        assert output.read_text().count("\n") == 13

    def test_a_malformed_line_may_be_skipped(self, tmp_path: Path) -> None:
        (tmp_path / "a.stream").write_text("? 1 2\n" + STREAM)
        result = motiflux(
            "watch", "none", tmp_path / "a.stream", "--pattern", TRIANGLE, "--on-error", "skip", "--json"
        )
        assert result.exit_code == 0
        assert only_json(result)["updates"] == 5
        assert "note: " in result.stderr
        assert "a.stream, line 1" in result.stderr

    def test_strict_refuses_what_changes_nothing(self, stream: Path) -> None:
        result = motiflux("watch", "none", stream, "--pattern", TRIANGLE, "--strict")
        assert result.exit_code == 2
        assert "a.stream, line 4: expected an edge that is not there to insert" in result.stderr


class TestProcesses:
    @pytest.mark.turns(8)
    def test_standard_input_is_watched(self) -> None:
        process = motiflux_process(
            "watch", "none", "-", "--pattern", TRIANGLE, "--symmetry", "subgraphs", stdin=subprocess.PIPE
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("e 1 2\ne 2 3\ne 3 1\n")
        process.stdin.flush()
        # Reported while the input is still open.
        assert process.stdout.readline() == "sign,update,time,pattern,v0,v1,v2\n"
        assert process.stdout.readline() == "1,2,,0,1,2,3\n"
        process.stdin.write("-e 1 2")
        out, _ = process.communicate()
        assert out == "-1,3,,0,1,2,3\n"
        assert process.returncode == 0

    @pytest.mark.turns(8)
    @pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
    def test_a_signal_ends_a_followed_file_with_totals(
        self, stream: Path, tmp_path: Path, kind: signal.Signals
    ) -> None:
        output = tmp_path / "o.csv"
        process = motiflux_process(
            *("watch", "none", stream, "--follow", "--pattern", TRIANGLE, "--symmetry", "subgraphs"),
            *("--progress", "--json", "-o", output),
        )
        assert process.stderr is not None
        assert "5 updates" in process.stderr.readline()  # it is under way
        with stream.open("a") as file:
            file.write("e 1 2\ne 1 4")
        wait_until(lambda: output.read_text().count("\n") >= 4, "the rows of the update", of=process)
        process.send_signal(kind)
        out, err = process.communicate(timeout=120)
        assert process.returncode == (1 if kind == signal.SIGINT else 143), err
        found = json_of(out)
        assert (found["complete"], found["updates"]) == (False, 6)
        assert found["patterns"] == [{"pattern": TRIANGLE, "positive": 2, "negative": 1}]
        assert [line[:4] for line in output.read_text().splitlines()[1:]] == ["1,2,", "-1,4", "1,5,"]

    def test_a_timeout_is_exit_1(self, stream: Path) -> None:
        for seconds in ("0.3", "3", "30"):  # enough for what is there, whatever holds up the machine
            result = motiflux(
                *("watch", "none", stream, "--follow", "--timeout", seconds, "--pattern", TRIANGLE, "--json")
            )
            assert result.exit_code == 1
            found = only_json(result)
            if found["updates"]:
                break
        assert (found["complete"], found["updates"]) == (False, 5)

    @pytest.mark.turns(8)
    def test_a_reader_that_closes_the_pipe_ends_it(self, tmp_path: Path) -> None:
        lines = [f"{sign} {at} {at + 1}\n" for at in range(40_000) for sign in ("e", "-e")]
        (tmp_path / "a.stream").write_text("".join(lines))
        command = [sys.executable, "-m", "motiflux", "watch", "none", str(tmp_path / "a.stream")]
        process = subprocess.Popen(
            [*command, "--pattern", "(a)--(b)"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        process.stderr.close()
        assert process.wait(120) == 1


def json_of(text: str) -> dict[str, Any]:
    assert text.count("\n") == 1
    found = json.loads(text)
    assert isinstance(found, dict)
    return found


def test_updates_are_matched_on_a_device(stream: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, "changing", stream_engines.__name__)
    saved = stream.parent / "saved.mfg"
    placement = ("--device", "cuda:1", "--engine", "changing", "--gpu-memory", "1GiB", "--json")
    first = motiflux("watch", "none", stream, "--pattern", TRIANGLE, "--save", saved, *placement)
    stream.write_text(STREAM + "e 1 2\n")
    second = motiflux("watch", "none", stream, "--resume", saved, *placement)
    without = motiflux("watch", "none", stream, "--pattern", TRIANGLE, "--json")
    found = [only_json(result) for result in (first, second, without)]
    assert [(one["engine"], one["device"]) for one in found] == [("plain", "cuda:1")] * 2 + [("cpu", "cpu")]
    counts = [(one["patterns"][0]["positive"], one["patterns"][0]["negative"]) for one in found]
    assert counts == [(6, 6), (6, 0), (12, 6)]
    asked = "asked for by device='cuda:1' and engine='changing'"
    assert [one["reason"] == asked for one in found] == [True, True, False]


def test_updates_are_answered_one_by_one_in_sequence_mode_only(stream: Path) -> None:
    placement = ("--device", "cuda", "--engine", "streaming", "--json")
    with plain_streams() as opened:
        result = motiflux("watch", "none", stream, "--pattern", TRIANGLE, "--batch-size", "2", *placement)
        refused = motiflux("watch", "none", stream, "--pattern", TRIANGLE, "--mode", "batch", *placement)
    found = only_json(result)
    assert (found["engine"], found["patterns"][0]["positive"], found["patterns"][0]["negative"]) == (
        "streaming",
        6,
        6,
    )
    assert opened[0].starts == 1  # its kernel stays during a run on a file
    assert refused.exit_code == 2
    assert "--mode: expected 'sequence' with --engine streaming" in refused.stderr
    assert "--engine changing and --engine batch match batches" in refused.stderr


def test_devices_are_given_to_the_monitor(stream: Path) -> None:
    for more, message in (
        (["--device", "cpu"], "--devices: expected None beside --device cpu"),
        (["--engine", "cpu"], "found --devices 2"),
    ):
        result = motiflux("watch", "none", stream, "--pattern", TRIANGLE, "--json", "--devices", "2", *more)
        assert result.exit_code != 0
        assert message in result.stderr


def test_a_device_that_is_not_here_is_an_error(stream: Path) -> None:
    for options in (["--device", "cuda:99"], ["--device", "cpu", "--engine", "changing"]):
        result = motiflux("watch", "none", stream, "--pattern", TRIANGLE, "--json", *options)
        assert result.exit_code != 0
        assert "device" in result.stderr


def test_rows_without_an_optional_edge_are_told_as_they_come_and_go(tmp_path: Path) -> None:
    (tmp_path / "a.stream").write_text("e 1 2\ne 2 3\n-e 2 3\n")
    text = "(a)-->(b) OPTIONAL (b)-->(c)"
    command = ["watch", "none", tmp_path / "a.stream", "--directed", "--pattern", text]
    result = motiflux(*command)
    assert result.exit_code == 0
    heading, *rows = result.stdout.splitlines()
    assert heading == "sign,update,time,pattern,v0,v1,v2"
    assert sorted(rows) == [
        "-1,1,,1,1,2,",
        "-1,2,,0,1,2,3",
        "-1,2,,1,2,3,",
        "1,0,,1,1,2,",
        "1,1,,0,1,2,3",
        "1,1,,1,2,3,",
        "1,2,,1,1,2,",
    ]
    found = only_json(motiflux(*command, "--json"))
    assert found["patterns"] == [
        {"pattern": "(a)-->(b), (b)-->(c)", "positive": 1, "negative": 1},
        {"pattern": "(a)-->(b), NOT (b)-->(EXCEPT a)", "positive": 3, "negative": 2},
    ]
    lines = motiflux(*command, "--output", "-.jsonl").stdout.splitlines()
    assert all(json.loads(line)["name"] == text for line in lines)
