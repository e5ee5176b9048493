"""Progress: where it is shown, what it says, and that it keeps out of printed rows."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import motiflux as mf
from motiflux.api.estimating import estimate_meter
from motiflux.io.files import progress
from motiflux.request.progress import in_parts, search_meter
from motiflux.sampling.stopping import make_rules
from tests.rotating import in_turn
from tests.unit.cli_run import clique_pattern, complete_graph

REPORT = mf.ProgressReport(5, 100, 7, 0.1)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)


def printed_on_a_terminal(folder: Path, *command: str | Path) -> list[str]:
    """Run a command whose standard output and stderr are one terminal, and return its lines."""
    ours, theirs = os.openpty()
    arguments = [sys.executable, "-m", "motiflux", *map(str, command)]
    with subprocess.Popen(arguments, stdout=theirs, stderr=theirs, cwd=folder) as process:
        os.close(theirs)
        data = b""
        try:
            while piece := os.read(ours, 1 << 16):
                data += piece
        except OSError:  # the other end was closed
            pass
        os.close(ours)
    assert process.returncode == 0, data
    return data.decode().replace("\r\n", "\n").splitlines()


class TestWhatItSays:
    def test_a_search_shows_no_share(self, terminal: None, capsys: pytest.CaptureFixture[str]) -> None:
        with search_meter("counting") as report:
            report(REPORT)
        shown = " ".join(capsys.readouterr().err.split())
        assert "counting" in shown
        assert "7 found, 5 of 100 parts" in shown
        assert "%" not in shown

    def test_an_estimate_that_counts_all_shows_what_it_found(
        self, terminal: None, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with estimate_meter(make_rules(0.1, 0.95, None)) as report:
            report(mf.EstimateCounting(0, 0, 0.1, 7.0, 7.0, math.inf, 5, 100))
        shown = " ".join(capsys.readouterr().err.split())
        assert "estimating" in shown
        assert "7 found, 5 of 100 parts" in shown

    @pytest.mark.parametrize("number", [1, 3, 7, 9, 29, 30, 49])
    def test_parts_of_a_call_rise_to_all_of_it(self, number: int) -> None:
        told: list[mf.ProgressReport] = []
        for report in in_parts(told.append, [1 / number] * number):
            assert report is not None
            for done in (0, 1, 2):
                report(mf.ProgressReport(done, 2, 0, 0.1))
        done = [one.done for one in told]
        assert done == sorted(done)
        assert (told[-1].done, done[0]) == (told[-1].total, 0)

    @pytest.mark.parametrize(
        ("report", "text"),
        [
            (
                mf.ProgressReport(5, 100, 999_999_999_999_999, 0.1, expected=9.99e14 + 9e11),
                "999,999,999,999,999 found, 5 of 100 parts",
            ),
            (
                mf.ProgressReport(5, 100, 99_999_999_999_999, 0.1, expected=9.4e14),
                "99,999,999,999,999 of about 940 trillion found",
            ),
            (mf.ProgressReport(99_999, 100_000, 10**16, 0.1), "1.000e+16 found, 99,999 of 100,000 parts"),
        ],
    )
    def test_the_longest_line_has_less_than_80_columns(
        self,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        report: mf.ProgressReport,
        text: str,
    ) -> None:
        monkeypatch.setattr("sys.stderr.isatty", lambda: True)
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setenv("TERM", "xterm")
        with search_meter("counting") as show:
            show(report)
        shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err)
        assert re.search(rf"counting \S+ {re.escape(text)} \d:\d\d:\d\d", shown), shown

    @pytest.mark.parametrize("several", [False, True])
    @pytest.mark.parametrize("limit", [None, 10**15])
    def test_a_search_tells_the_number_that_is_expected(self, several: bool, limit: int | None) -> None:
        graph = mf.Graph.from_edges([(u, v) for v in range(200) for u in range(v)])
        clique = mf.Pattern.from_edges([(u, v) for v in range(9) for u in range(v)])
        told: list[float | None] = []

        def tell(report: mf.ProgressReport) -> None:
            told.append(report.expected)
            raise KeyboardInterrupt  # it would go on for days

        with pytest.raises(KeyboardInterrupt):
            mf.count(graph, [clique] if several else clique, limit=limit, progress=tell, device="cpu")
        with pytest.raises(KeyboardInterrupt):
            for _ in mf.match(graph, clique, limit=limit, progress=tell, device="cpu"):
                pass
        assert len(told) == 2
        assert all(one is not None and 0.2 < one / (limit or math.perm(200, 9)) < 5 for one in told)

    def test_a_known_whole_has_a_share(self, terminal: None, capsys: pytest.CaptureFixture[str]) -> None:
        with progress.meter("reading") as update:
            update(50, 200, "")
        assert "25%" in capsys.readouterr().err


class TestPrintedRows:
    ROW = re.compile(r"\d+(,\d+){4}|-?1,\d+,\d*,0(,\d+){2}")

    @pytest.mark.turns(8)
    @pytest.mark.parametrize("more", in_turn(1, ["", "--progress"]))
    def test_rows_of_a_search_stay_whole(self, tmp_path: Path, more: str) -> None:
        complete_graph(tmp_path / "k20.txt", 22)
        clique_pattern(tmp_path / "clique.graph", 5)
        lines = printed_on_a_terminal(
            tmp_path, "match", "k20.txt", "clique.graph", "--limit", "30000", *more.split()
        )
        first = lines.index(next(line for line in lines if line.endswith("v0,v1,v2,v3,v4")))
        others = [line for line in lines[first + 1 :] if not self.ROW.fullmatch(line)]
        assert sum(bool(self.ROW.fullmatch(line)) for line in lines) == 30_000
        kinds = ("matching", "30,000 rows", "search ")
        assert [line for line in others if not line.startswith(kinds)] == []
        assert bool(more) == any(line.startswith("matching") for line in others)

    @pytest.mark.turns(8)
    @pytest.mark.parametrize("more", in_turn(1, ["", "--progress"]))
    def test_rows_of_a_stream_stay_whole(self, tmp_path: Path, more: str) -> None:
        (tmp_path / "a.stream").write_text("".join(f"e {at} {at + 1}\n" for at in range(5000)))
        command = ("watch", "none", "a.stream", "--pattern", "(a)--(b)", "--symmetry", "subgraphs")
        lines = printed_on_a_terminal(tmp_path, *command, "--batch-size", "10", *more.split())
        others = [line for line in lines if not self.ROW.fullmatch(line)]
        assert len(lines) - len(others) == 5000
        kinds = ("sign,update", "watching", "5,000 subgraphs", "5,000 updates", "latency")
        assert [line for line in others if not line.startswith(kinds)] == []
        assert bool(more) == any(line.startswith("watching") for line in others)


class TestNotebooks:
    def test_a_kernel_is_told_from_other_shells(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ipython = pytest.importorskip("IPython")
        shells = {name: type(name, (), {})() for name in ("ZMQInteractiveShell", "TerminalInteractiveShell")}
        for shell, is_kernel in ((None, False), *((one, name[0] == "Z") for name, one in shells.items())):
            monkeypatch.setattr(ipython, "get_ipython", lambda shell=shell: shell)
            assert progress.in_notebook() is is_kernel
            assert progress.is_shown() is is_kernel

    def test_a_line_below_the_cell_is_replaced_and_vanishes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        display = pytest.importorskip("IPython.display")
        texts: list[str] = []

        class Line:
            def update(self, data: dict[str, str], *, raw: bool) -> None:
                texts.append(data["text/plain"])

        def show(data: dict[str, str], **options: Any) -> Line:
            texts.append(data["text/plain"])
            return Line()

        monkeypatch.setattr(display, "display", show)
        monkeypatch.setattr(progress, "in_notebook", lambda: True)
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        monkeypatch.setattr(progress, "_SECONDS_BETWEEN_TEXTS", 0.0)
        with search_meter("counting") as report:
            report(REPORT)
        assert texts[0] == "counting"
        assert texts[1].startswith("counting, 7 found, 5 of 100 parts")
        assert texts[2:] == [""]
