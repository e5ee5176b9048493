"""How commands end: exit codes, notes, interrupts, closed pipes."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import typer

from motiflux import errors
from motiflux.cli import main
from motiflux.cli.command import Group
from motiflux.cli.exits import ExitCode, guarded
from motiflux.cli.output import print_json
from motiflux.cli.signals import Terminated
from tests.rotating import in_turn
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


BOTH = pytest.mark.parametrize(
    ("number", "code", "word"),
    in_turn(1, [(signal.SIGINT, 1, "interrupted"), (signal.SIGTERM, 143, "terminated")]),
)


class TestSignals:
    """Searches that would go on for days, ended by a signal."""

    def ended(
        self, folder: Path, number: signal.Signals, command: str, *more: str | Path
    ) -> tuple[int, str, str]:
        graph = complete_graph(folder / "k300.txt", 300)
        pattern = clique_pattern(folder / "clique.graph", 9)
        with motiflux_process(command, graph, pattern, *more, "--progress") as process:
            wait_for_line(process, command.removesuffix("e"), error=True)  # it is under way
            process.send_signal(number)
            stdout, stderr = process.communicate(timeout=120)
        assert "Traceback" not in stderr
        return process.returncode, stdout, stderr.splitlines()[-1]

    @pytest.mark.turns(8)
    @BOTH
    def test_a_listing_leaves_nothing(
        self, number: signal.Signals, code: int, word: str, tmp_path: Path
    ) -> None:
        output = tmp_path / "rows.npy"
        ended = self.ended(tmp_path, number, "match", "-o", output)
        assert ended[:2] == (code, "")
        assert ended[2].startswith(f"{word}: stopped after ")
        assert ended[2].endswith(f"{output} was not written")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["clique.graph", "k300.txt"]

    @pytest.mark.turns(8)
    @BOTH
    def test_a_listing_keeps_its_rows_if_asked_to(
        self, number: signal.Signals, code: int, word: str, tmp_path: Path
    ) -> None:
        output = tmp_path / "rows.npy"
        ended = self.ended(tmp_path, number, "match", "-o", output, "--keep-partial", "--json")
        assert (ended[0], ended[2]) == (code, f"{word}: the result is incomplete")
        found, rows = json.loads(ended[1]), np.load(output, mmap_mode="r")
        assert (found["complete"], found["rows"], found["count"]) == (False, len(rows), len(rows))
        assert len(rows) > 0
        assert (np.diff(np.sort(rows[:1000], axis=1), axis=1) > 0).all()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["clique.graph", "k300.txt", "rows.npy"]

    @pytest.mark.turns(8)
    @BOTH
    def test_a_count_says_what_it_found(
        self, number: signal.Signals, code: int, word: str, tmp_path: Path
    ) -> None:
        code_of_it, out, last = self.ended(tmp_path, number, "count", "--json")
        found = json.loads(out)
        assert (code_of_it, last) == (code, f"{word}: the result is incomplete")
        assert (found["complete"], found["engine"]) == (False, "cpu")
        assert 0 < found["count"] < math.perm(300, 9)

    @pytest.mark.turns(8)
    @BOTH
    def test_an_estimate_says_what_it_knows(
        self, number: signal.Signals, code: int, word: str, tmp_path: Path
    ) -> None:
        more = ("--rel-error", "1e-7", "--estimator", "alley", "--json", "-o", tmp_path / "trace.csv")
        ended = self.ended(tmp_path, number, "estimate", *more)
        found = json.loads(ended[1])
        assert (ended[0], ended[2], found["complete"]) == (code, f"{word}: the result is incomplete", False)
        assert found["samples"] > 0
        assert found["low"] <= found["estimate"] <= found["high"]
        assert (tmp_path / "trace.csv").read_text().count("\n") > 1


@pytest.mark.parametrize(
    ("stop", "code", "word"), [(KeyboardInterrupt, 1, "interrupted"), (Terminated, 143, "terminated")]
)
def test_a_signal_outside_a_command_is_said(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    stop: type[KeyboardInterrupt],
    code: int,
    word: str,
) -> None:
    interrupted = typer.Typer(cls=Group, add_completion=False)

    @interrupted.callback(invoke_without_command=True)
    def run() -> None:
        raise stop

    monkeypatch.setattr("motiflux.cli.app.app_for", lambda arguments: interrupted)
    monkeypatch.setattr("motiflux.cli.raise_on_signals", lambda: None)
    monkeypatch.setattr("sys.argv", ["motiflux"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, capsys.readouterr().err) == (code, f"{word}: nothing was done\n")


class Absent:
    """An importer that is interrupted by a signal."""

    def __init__(self, stop: type[KeyboardInterrupt]) -> None:
        self._stop = stop

    def find_spec(self, name: str, *_: object) -> None:
        if name == "motiflux.cli.app":
            raise self._stop


@pytest.mark.parametrize(
    ("stop", "code", "word"), [(KeyboardInterrupt, 1, "interrupted"), (Terminated, 143, "terminated")]
)
def test_a_signal_before_the_commands_are_loaded_is_said(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    stop: type[KeyboardInterrupt],
    code: int,
    word: str,
) -> None:
    monkeypatch.delitem(sys.modules, "motiflux.cli.app")
    monkeypatch.setattr(sys, "meta_path", [Absent(stop), *sys.meta_path])
    monkeypatch.setattr("motiflux.cli.raise_on_signals", lambda: None)
    monkeypatch.setattr("sys.argv", ["motiflux", "info", "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    assert (ended.value.code, printed.err) == (code, f"{word}: nothing was done\n")
    fault = {"type": word.capitalize(), "message": "nothing was done", "exit_code": code}
    assert json.loads(printed.out) == {"schema": 1, "error": fault}


def test_ctrl_c_in_code_that_is_executed_keeps_the_exit_code() -> None:
    press = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nwhile True: pass"
    run = f"import motiflux.cli.app as app; app.app_for = lambda _: lambda **_: exec({press!r})"
    code = f"{run}; from motiflux.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "interrupted: nothing was done\n")


def test_partial_rows_are_for_a_file(tmp_path: Path) -> None:
    result = motiflux("match", complete_graph(tmp_path / "k4.txt", 4), "(a)--(b)", "--keep-partial")
    assert (result.exit_code, result.stderr) == (2, "error: --keep-partial: expected -o with a file\n")


@pytest.mark.turns(8)
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


@pytest.mark.turns(8)
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


@pytest.mark.turns(8)
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
