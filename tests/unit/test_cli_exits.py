"""How commands end: exit codes, notes, interrupts, closed pipes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from motiflux import errors
from motiflux.cli.exits import ExitCode, guarded
from motiflux.cli.output import print_json
from tests.unit.cli_run import clique_pattern, complete_graph, motiflux, motiflux_process
from tests.waiting import wait_for_line

FULL = "error: standard output: cannot be written: No space left on device\n"


def end_of(command: Callable[[], ExitCode]) -> int:
    with pytest.raises(typer.Exit) as ended:
        guarded(command)()
    return ended.value.exit_code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.ArgumentError("limit", "a number", "x"), 2),
        (errors.GraphError("row 3"), 2),
        (errors.PatternError("disconnected"), 2),
        (errors.FormatError("file.txt", "not an id", 3), 2),
        (errors.OutputError("disk full"), 2),
        (FileNotFoundError(2, "No such file or directory", "file.txt"), 2),
        (errors.DeviceError("no CUDA"), 3),
        (errors.InternalError("check failed"), 4),
        (MemoryError(), 4),
        (ZeroDivisionError("division\nby zero"), 4),
    ],
)
def test_every_error_has_its_exit_code_and_one_line(
    error: Exception, code: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MOTIFLUX_DEBUG", raising=False)

    def command() -> ExitCode:
        raise error

    assert end_of(command) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert ("MOTIFLUX_DEBUG=1" in printed.err) == (code == 4)


def test_an_error_is_an_object_where_json_is_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MOTIFLUX_DEBUG", raising=False)

    def command(as_json: bool) -> ExitCode:
        raise ZeroDivisionError("division\nby zero")

    with pytest.raises(typer.Exit) as ended:
        guarded(command)(as_json=True)
    assert ended.value.exit_code == 4
    fields = {"type": "ZeroDivisionError", "message": "division by zero", "exit_code": 4}
    assert json.loads(capsys.readouterr().out) == {"schema": 1, "error": fields}


def test_a_result_that_was_printed_stays_the_only_object(capsys: pytest.CaptureFixture[str]) -> None:
    def command(as_json: bool) -> ExitCode:
        print_json({"count": 3})
        raise errors.OutputError("disk full")

    with pytest.raises(typer.Exit):
        guarded(command)(as_json=True)
    assert json.loads(capsys.readouterr().out) == {"schema": 1, "count": 3}


def test_debugging_raises_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOTIFLUX_DEBUG", "1")

    def command() -> ExitCode:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        guarded(command)()


def test_warnings_of_motiflux_are_notes(capsys: pytest.CaptureFixture[str]) -> None:
    def command() -> ExitCode:
        for lines in (1, 2):
            warnings.warn(f"{lines} self-loops left out", errors.MotifluxWarning, stacklevel=1)
        return ExitCode.DONE

    assert end_of(command) == 0
    assert capsys.readouterr().err == "note: 1 self-loops left out\nnote: 2 self-loops left out\n"


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 1, "interrupted: "), (signal.SIGTERM, 143, "terminated: ")]
)
@pytest.mark.parametrize("command", ["count", "match"])
def test_a_signal_ends_a_long_search_and_leaves_nothing(
    command: str, number: signal.Signals, code: int, word: str, tmp_path: Path
) -> None:
    graph = complete_graph(tmp_path / "k300.txt", 300)
    pattern = clique_pattern(tmp_path / "clique.graph", 9)
    output = ["-o", tmp_path / "rows.npy"] if command == "match" else []
    with motiflux_process(command, graph, pattern, *output, "--progress", "--json") as process:
        wait_for_line(process, f"{command}ing", error=True)  # it is under way
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=120)  # the search itself would go on for days
    assert process.returncode == code
    error = json.loads(stdout)["error"]
    assert (error["type"], error["exit_code"]) == (word.removesuffix(": ").capitalize(), code)
    assert error["message"] in stderr
    assert stderr.splitlines()[-1].startswith(word)
    assert "Traceback" not in stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clique.graph", "k300.txt"]


def test_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    graph = complete_graph(tmp_path / "k100.txt", 100)
    pattern = clique_pattern(tmp_path / "clique.graph", 5)
    with motiflux_process("match", graph, pattern) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "v0,v1,v2,v3,v4\n"
        process.stdout.close()
        assert process.wait(timeout=120) == 1
        assert process.stderr is not None
        assert process.stderr.read() == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_behind_stdout_is_one_line_and_exit_2(tmp_path: Path) -> None:
    graph = complete_graph(tmp_path / "k20.txt", 20)
    pattern = clique_pattern(tmp_path / "clique.graph", 4)
    with (
        Path("/dev/full").open("w") as full,
        motiflux_process("match", graph, pattern, stdout=full) as process,
    ):
        stderr = process.communicate(timeout=120)[1]
    assert process.returncode == 2
    assert stderr == FULL


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("arguments", [["--help"], ["count", "--help"], ["--version"], ["info", "--tuning"]])
def test_help_onto_a_full_disk_is_one_line_and_exit_2(arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full, motiflux_process(*arguments, stdout=full) as process:
        stderr = process.communicate(timeout=120)[1]
    assert (process.returncode, stderr) == (2, FULL)


@pytest.mark.parametrize("command", ["count", "match", "explain", "info", "bench"])
def test_help_names_arguments_plainly_and_gives_flags_no_type(command: str) -> None:
    shown = motiflux(command, "--help").stdout
    assert "<bool>" not in shown
    assert "{" not in shown
    assert "SUITE" in shown if command == "bench" else "GRAPH" in shown


def test_the_version_is_printed() -> None:
    from importlib.metadata import version

    assert motiflux("--version").stdout == f"motiflux {version('motiflux')}\n"


def test_help_loads_neither_the_library_nor_tables() -> None:
    """Starting is light: what only some commands need is imported by them."""
    code = (
        "import sys; from motiflux.cli.app import app; "
        "heavy = {'motiflux._native', 'motiflux.bench.suite', 'motiflux.graph', 'motiflux.stream', "
        "'rich.table', 'rich.progress'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
