"""Help, errors of the arguments, and what a shell is offered."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import motiflux as mf
from motiflux.cli import values
from motiflux.cli.app import COMMANDS as COMMANDS_OF_ALL
from motiflux.cli.app import app_for
from tests.data_paths import REPOSITORY
from tests.unit.cli_run import motiflux, only_json

COMMANDS = ["count", "match", "estimate", "watch", "orbits", "census", "explain", "info", "convert"]
MOST_LINES = 60


def offered(shell: str, words: list[str]) -> str:
    """Return what the program offers a shell in place of the last word."""
    line = " ".join(["motiflux", *words])
    asked = {
        "_MOTIFLUX_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words)),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = subprocess.run(
        [sys.executable, "-m", "motiflux"],
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


@pytest.mark.parametrize(
    "command", ["count", "match", "estimate", "orbits", "census", "explain", "info", "convert"]
)
def test_help_fits_a_screen_and_names_what_it_leaves_out(command: str) -> None:
    short = motiflux(command, "--help").stdout
    assert short.count("\n") < MOST_LINES
    every = motiflux(command, "--help-all").stdout
    options = set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", every, re.MULTILINE))
    assert "--vertex-label" in options
    assert {option for option in options if option not in re.sub(r"-\n +", "-", short)} == set()


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_all_options_says_more(command: str) -> None:
    short, every = (motiflux(command, option).stdout for option in ("--help", "--help-all"))
    assert "Column of edge sources" not in short
    assert "Column of edge sources" in " ".join(every.split())
    assert "Described by" not in every


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["count"], "GRAPH: expected a value, found none"),
        (["count", "g.txt"], "PATTERN: expected a value, found none"),
        (["count", "g.txt", "(a)--(b)", "--limit", "x"], "--limit: expected an integer, found 'x'"),
        (["count", "g.txt", "(a)--(b)", "--timeout", "x"], "--timeout: expected a number, found 'x'"),
        (
            ["count", "g.txt", "(a)--(b)", "--semantics", "x"],
            "--semantics: expected one of isomorphism, induced, homomorphism, found 'x'",
        ),
        (["watch", "none", "-", "--limit", "-1"], "--limit: expected a number of at least 0, found -1"),
        (["count", "g.txt", ""], "PATTERN: expected a pattern or a file, found nothing"),
    ],
)
def test_errors_of_arguments_read_like_all_others(arguments: list[str], message: str) -> None:
    result = motiflux(*arguments)
    hint = f"(`motiflux {arguments[0]} --help` describes the arguments)"
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"error: {message} {hint}\n")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (
            ["count", "g.csv", "(a)--(b)", "--src", ""],
            "--src: expected the name or the position of a column, found an empty text",
        ),
        (["info", "g.txt", "--ids", "x"], "--ids: expected one of integers, names, found 'x'"),
        (["count", "--bogus"], "--bogus: no such option"),
    ],
)
def test_errors_of_rare_options_name_the_help_of_all(arguments: list[str], error: str) -> None:
    hint = f"(`motiflux {arguments[0]} --help-all` describes the arguments)"
    assert motiflux(*arguments).stderr == f"error: {error} {hint}\n"
    assert motiflux("doctor", "--x").stderr.endswith("(`motiflux doctor --help` describes the arguments)\n")


@pytest.mark.parametrize("command", [["doctor"], ["bench"], ["generate", "flows"]])
def test_every_command_has_help_of_all_options(command: list[str]) -> None:
    shown = motiflux(*command, "--help-all")
    assert (shown.exit_code, "Usage: " in shown.stdout) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["count", "--limi"], ["--limi:", "--limit"]), (["cont"], ["'cont'", "count"])],
)
def test_a_misspelt_word_is_answered_with_similar_ones(arguments: list[str], words: list[str]) -> None:
    result = motiflux(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert all(word in result.stderr for word in words)


def test_an_error_as_json_says_where_it_is(tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_text("1 2\n1 two\n")
    error = only_json(motiflux("count", bad, "(a)--(b)", "--json"))["error"]
    assert (error["type"], error["exit_code"]) == ("FormatError", 2)
    assert (error["path"], error["line"]) == (str(bad), 2)
    pattern = only_json(motiflux("count", bad, "(a)--(b", "--json"))["error"]
    assert (pattern["type"], pattern["line"], pattern["column"]) == ("PatternSyntaxError", 1, 8)
    device = motiflux("count", bad, "(a)--(b)", "--device", "cuda:99", "--json")
    assert only_json(device)["error"]["exit_code"] == device.exit_code


@pytest.mark.turns(8)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script_that_asks_the_program(shell: str) -> None:
    script = motiflux("--show-completion", shell).stdout
    assert f"_MOTIFLUX_COMPLETE=complete_{shell}" in script
    assert "homomorphism" in offered(shell, ["count", "--semantics", "h"])


def test_completion_is_installed_for_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    result = motiflux("--install-completion", "fish")
    assert result.exit_code == 0
    written = tmp_path / ".config/fish/completions/motiflux.fish"
    assert str(written) in result.stdout
    assert written.read_text() == motiflux("--show-completion", "fish").stdout


@pytest.mark.turns(8)
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["co"], ["convert", "count"]),
        (["count", "--sym"], ["--symmetry"]),
        (["estimate", "--estimator", "a"], ["alley", "auto"]),
        (["count", "--device", "c"], ["cpu", "cuda"]),
        (["count", "--set", "order="], ["order=adaptive", "order=cost", "order=given", "order=sampled"]),
    ],
)
def test_commands_options_and_values_are_offered(words: list[str], expected: list[str]) -> None:
    found = offered("bash", words).split()
    assert sorted(set(found) & set(expected)) == expected
    assert all(word.startswith(words[-1]) for word in found)


@pytest.mark.turns(8)
def test_datasets_are_offered_beside_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(values.BUNDLED) == mf.datasets.__all__
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.csv").touch()
    assert offered("bash", ["count", "wor"]).split() == ["wordnet", "words.csv"]
    assert values.graph_words("x") == values.graph_words("") == []


@pytest.mark.turns(8)
def test_a_bundled_dataset_is_a_graph_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    group = "(a:`noun.animal`)-[:member_holonym]->(g)-[:hypernym]->(h {words: 'animal group'})"
    assert only_json(motiflux("count", "wordnet", group, "--json"))["count"] == 12
    refused = motiflux("count", "wordnet", group, "--undirected")
    assert refused.exit_code == 2
    assert "wordnet: expected no options for reading" in refused.stderr
    (tmp_path / "wordnet").touch()
    assert "no suffix" in motiflux("count", "wordnet", group).stderr


def test_suites_of_a_clone_are_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    assert offered("bash", ["bench", "p"]).split() == ["peers", "planner", "pvm"]
    assert offered("bash", ["bench", "t"]).split() == ["temporal"]


@pytest.mark.parametrize("name", COMMANDS_OF_ALL)
def test_a_command_alone_is_the_same_as_among_all(name: str) -> None:
    alone = CliRunner().invoke(app_for([name, "--help"]), [name, "--help"])
    assert alone.exit_code == 0
    assert alone.stdout == motiflux(name, "--help").stdout


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["count", "--help"]])
def test_help_imports_neither_arrays_nor_a_checker_of_types(arguments: list[str]) -> None:
    code = (
        "import sys\nbefore = set(sys.modules)\nfrom motiflux.cli import main\n"
        "try: main()\n"
        "finally: print(sorted({'numpy', 'pydantic', 'rich', 'lark'} "
        "& set(sys.modules) - before), file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


@pytest.mark.turns(8)
def test_a_count_imports_no_checker_of_types_and_no_compiler(tmp_path: Path) -> None:
    graph = tmp_path / "g.txt"
    graph.write_text("1 2\n2 3\n")
    code = (
        "import sys\nbefore = set(sys.modules)\nfrom motiflux.cli import main\n"
        "try: main()\n"
        "finally: print(sorted({'pydantic', 'rich', 'numpy.ma', 'motiflux.jit', 'motiflux.gpu'} "
        "& set(sys.modules) - before), file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, "count", str(graph), "(a)--(b)", "--device", "cpu", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
