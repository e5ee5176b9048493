"""``motiflux count``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import motiflux as mf
from motiflux.cli.search import Search
from motiflux.result.partial import keep_partial
from tests.data_paths import shared_path
from tests.unit.cli_run import clique_pattern, complete_graph, motiflux, only_json, write_edges


@pytest.fixture
def k4(tmp_path: Path) -> Path:
    return complete_graph(tmp_path / "k4.txt", 4)


@pytest.fixture
def triangle(tmp_path: Path) -> Path:
    return clique_pattern(tmp_path / "triangle.graph", 3)


def test_the_json_object_has_the_agreed_fields(k4: Path, triangle: Path) -> None:
    result = motiflux("count", k4, triangle, "--json")
    assert result.exit_code == 0
    fields = only_json(result)
    assert set(fields) == {
        "schema", "count", "complete", "seconds", "load_seconds", "plan_seconds", "engine", "device",
        "reason",
    }  # fmt: skip
    assert (fields["count"], fields["complete"], fields["device"]) == (24, True, "cpu")
    assert fields["load_seconds"] > 0
    assert result.stderr == ""


def test_symmetry_decides_what_is_counted(k4: Path, triangle: Path) -> None:
    assert only_json(motiflux("count", k4, triangle, "--symmetry", "subgraphs", "--json"))["count"] == 4


def test_people_get_thousands_separators(tmp_path: Path, triangle: Path) -> None:
    result = motiflux("count", complete_graph(tmp_path / "k12.txt", 12), triangle)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "1,320 embeddings"


def test_direction_can_be_told(tmp_path: Path) -> None:
    graph = write_edges(tmp_path / "arcs.txt", [(0, 1), (1, 2), (2, 0)])
    edge = clique_pattern(tmp_path / "edge.graph", 2)
    assert only_json(motiflux("count", graph, edge, "--json"))["count"] == 6
    assert only_json(motiflux("count", graph, edge, "--directed", "--json"))["count"] == 3


@pytest.mark.parametrize(
    "text", ["(a)--(b)--(c)--(a)", "MATCH (a)~>(b)~>(c)~>(a);", "(a)--(b),(b)--(c),(a)--(c)"]
)
def test_a_pattern_may_be_text(k4: Path, text: str) -> None:
    assert only_json(motiflux("count", k4, text, "--json"))["count"] == 24


def test_what_there_is_or_ends_like_a_file_is_a_file(
    k4: Path, triangle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    named_like_text = triangle.rename(tmp_path / "(a)--(b).graph")
    assert only_json(motiflux("count", k4, named_like_text.name, "--json"))["count"] == 24
    Path("triangle (1).pattern").write_text("(a)--(b)--(c)--(a)")
    assert only_json(motiflux("count", k4, "triangle (1).pattern", "--json"))["count"] == 24
    absent = motiflux("count", k4, "absent (1).pattern")
    assert (absent.exit_code, absent.stderr.startswith("error: absent (1).pattern: ")) == (2, True)
    Path("(a)--(b)").write_text("")
    no_suffix = motiflux("count", k4, "(a)--(b)")
    assert no_suffix.stderr.startswith("error: (a)--(b): found no suffix, expected a pattern in .graph, ")


def test_malformed_text_is_shown_with_a_caret(k4: Path) -> None:
    result = motiflux("count", k4, "(a:Person)=>(b)")
    assert (result.exit_code, result.stdout) == (2, "")
    message, line, caret = result.stderr.splitlines()
    assert message.startswith("error: line 1, column 11: expected ")
    assert (line, caret) == ("  (a:Person)=>(b)", "            ^")


@pytest.mark.parametrize("text", ["(" + "a" * 10_000, "(\0)--(b)", "()" * 200])
def test_text_that_is_no_possible_file_name_is_text(k4: Path, text: str) -> None:
    assert motiflux("count", k4, text).stderr.startswith("error: line 1, column ")


def test_a_limit_reached_is_success(k4: Path, triangle: Path) -> None:
    result = motiflux("count", k4, triangle, "--limit", "5", "--json")
    assert result.exit_code == 0
    fields = only_json(result)
    assert (fields["count"], fields["complete"]) == (5, False)
    assert (
        "at least 5 embeddings (stopped at the limit)"
        in motiflux("count", k4, triangle, "--limit", "5").stdout
    )


def test_a_timeout_gives_a_lower_bound_and_exit_1(tmp_path: Path) -> None:
    graph = complete_graph(tmp_path / "k200.txt", 200)
    pattern = clique_pattern(tmp_path / "clique.graph", 9)
    result = motiflux("count", graph, pattern, "--timeout", "0.2", "--json")
    assert result.exit_code == 1
    assert only_json(result)["complete"] is False
    text = motiflux("count", graph, pattern, "--timeout", "0.2")
    assert text.exit_code == 1
    assert text.stdout.startswith("at least ")
    assert "(stopped by the timeout)" in text.stdout


def test_several_patterns_get_a_line_each(k4: Path, triangle: Path) -> None:
    result = motiflux("count", k4, triangle, "(a)--(b),\n(b)--(c)", "--limit", "24")
    assert result.exit_code == 0
    first, second, timing = result.stdout.splitlines()
    assert (first, second) == (f"{triangle}: 24 embeddings", "(a)--(b), (b)--(c): 24 embeddings")
    assert timing.startswith("counted in ")


def test_several_patterns_are_one_json_object(k4: Path, triangle: Path) -> None:
    result = motiflux("count", k4, triangle, "(a)--(b)", "--json", "--limit", "20")
    assert result.exit_code == 0
    fields = only_json(result)
    assert set(fields) == {"schema", "counts", "seconds", "load_seconds"}
    assert [set(count) for count in fields["counts"]] == 2 * [
        {
            "pattern",
            "count",
            "complete",
            "seconds",
            "load_seconds",
            "plan_seconds",
            "engine",
            "device",
            "reason",
        }
    ]
    told = [(count["pattern"], count["count"], count["complete"]) for count in fields["counts"]]
    assert told == [(str(triangle), 20, False), ("(a)--(b)", 12, True)]


def test_one_of_several_cut_by_the_timeout_is_exit_1(tmp_path: Path) -> None:
    graph = complete_graph(tmp_path / "k200.txt", 200)
    pattern = clique_pattern(tmp_path / "clique.graph", 9)
    result = motiflux("count", graph, "(a)--(b)", pattern, "--timeout", "0.3", "--json")
    assert result.exit_code == 1
    assert [count["complete"] for count in only_json(result)["counts"]] == [True, False]


def test_a_mistake_in_one_of_several_names_it(k4: Path, triangle: Path) -> None:
    result = motiflux("count", k4, triangle, "(a)--")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: pattern[1]: line 1, column 6: ")


def test_self_loops_are_noted_on_stderr(tmp_path: Path, triangle: Path) -> None:
    graph = write_edges(tmp_path / "loop.txt", [(0, 1), (1, 2), (2, 0), (2, 2)])
    result = motiflux("count", graph, triangle, "--json")
    assert result.exit_code == 0
    assert only_json(result)["count"] == 6
    assert result.stderr.startswith("note: ")
    assert result.stderr.count("\n") == 1


def test_progress_stays_on_stderr(k4: Path, triangle: Path) -> None:
    result = motiflux("count", k4, triangle, "--progress", "--json")
    assert only_json(result)["count"] == 24
    reading, counting = result.stderr.splitlines()
    assert reading.startswith("reading k4.txt: 100%")
    assert counting.startswith("counting")


def test_progress_of_an_analyzed_plan_is_shown(tmp_path: Path) -> None:
    graph, pattern = complete_graph(tmp_path / "k90.txt", 90), clique_pattern(tmp_path / "c9.graph", 9)
    shown = motiflux("explain", graph, pattern, "--analyze", "--progress", "--timeout", "0.2").stderr
    assert shown.startswith("reading k90.txt")
    assert re.search(r"^counting, [\d,]+ of about .* found, ", shown, re.MULTILINE)


@pytest.mark.parametrize("arguments", [[], ["--no-progress"]])
def test_progress_is_not_shown_where_nobody_looks(k4: Path, triangle: Path, arguments: list[str]) -> None:
    assert motiflux("count", k4, triangle, *arguments).stderr == ""


def test_one_of_a_thing_is_not_many(k4: Path, triangle: Path) -> None:
    text = motiflux("count", k4, triangle, "--limit", "1").stdout
    assert text.startswith("at least 1 embedding (")


def test_a_tuning_mistake_speaks_of_the_option(k4: Path, triangle: Path) -> None:
    key = motiflux("count", k4, triangle, "--set", "a=b").stderr
    assert key.startswith("error: --set a=b: expected one of the keys order, ")
    value = motiflux("count", k4, triangle, "--set", "order=b").stderr
    assert value == "error: --set order=b: expected one of sampled, cost, given, adaptive, found 'b'\n"


def test_an_empty_file_name_is_said_to_be_one(k4: Path, triangle: Path) -> None:
    for files, message in (
        (["", triangle], "expected a file name, found an empty one"),
        ([k4, ""], "expected a pattern or a file, found nothing"),
    ):
        result = motiflux("count", *files)
        assert result.exit_code == 2
        assert message in result.stderr


@pytest.mark.turns(8)
def test_four_cliques_of_a_real_graph() -> None:
    graph = shared_path("data", "email_enron.npz")
    pattern = shared_path("oracle", "unlabelled", "queries", "q_k4.graph")
    assert only_json(motiflux("count", graph, pattern, "--json"))["count"] == 56_199_336


@pytest.mark.parametrize(
    "arguments",
    [
        ["--semantics", "homomorphism", "--symmetry", "subgraphs"],
        ["--limit", "-1"],
        ["--timeout", "-1"],
        ["--threads", "0"],
        ["--set", "nonsense"],
        ["--set", "no_such_switch=1"],
        ["--semantics", "nonsense"],
        ["--no-such-option"],
    ],
)
def test_bad_usage_is_exit_2_one_line_on_stderr_and_with_json_an_object(
    k4: Path, triangle: Path, arguments: list[str]
) -> None:
    result = motiflux("count", k4, triangle, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    as_json = motiflux("count", k4, triangle, "--json", *arguments)
    assert (as_json.exit_code, as_json.stderr) == (2, result.stderr)
    error = only_json(as_json)["error"]
    assert error["exit_code"] == 2
    assert error["message"] in result.stderr
    assert error["type"] in ("ArgumentError", "UsageError")


def test_bad_files_are_exit_2_and_named(tmp_path: Path, k4: Path, triangle: Path) -> None:
    missing = motiflux("count", tmp_path / "missing.txt", triangle)
    assert missing.exit_code == 2
    assert "missing.txt" in missing.stderr
    broken = tmp_path / "broken.txt"
    broken.write_text("0 1\n1 x\n")
    result = motiflux("count", broken, triangle)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "broken.txt, line 2" in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("devices", ["some", "0", "0,0", ""])
def test_devices_that_make_no_sense_are_a_usage_error(k4: Path, triangle: Path, devices: str) -> None:
    result = motiflux("count", k4, triangle, "--devices", devices)
    assert result.exit_code == 2
    assert "devices: expected" in " ".join(result.stderr.split())


def test_a_device_that_is_not_here_is_exit_3(k4: Path, triangle: Path) -> None:
    result = motiflux("count", k4, triangle, "--device", "cuda", "--json")
    assert result.exit_code == 3
    error = only_json(result)["error"]
    assert (error["type"], error["exit_code"]) == ("DeviceError", 3)


@pytest.mark.parametrize("call", [mf.count, mf.match, mf.explain])
def test_what_the_options_of_a_search_say_is_what_the_library_takes(call: Callable[..., Any]) -> None:
    taken = inspect.signature(call).parameters
    assert {name: taken[name].default for name in Search().keywords()} == Search().keywords()


@pytest.mark.parametrize("ended", [0, 1])
def test_an_interrupt_between_distinct_rows_and_embeddings_keeps_what_was_counted(
    k4: Path, monkeypatch: pytest.MonkeyPatch, ended: int
) -> None:
    count, timeouts = mf.count, []

    def counting(graph: mf.Graph, pattern: Any, **options: Any) -> Any:
        timeouts.append(options["timeout"])
        found = count(graph, pattern, **options)
        if len(timeouts) > ended:
            stop = KeyboardInterrupt()
            keep_partial(stop, [found])
            raise stop
        return found

    monkeypatch.setattr(mf, "count", counting)
    rows, paths = "(a)--(b)--(c) RETURN DISTINCT b", "(a)--(b)--(c)"
    result = motiflux("count", k4, rows, paths, rows, "--timeout", "100")
    assert result.exit_code == 1
    *counts, _ = result.stdout.splitlines()
    assert counts == [f"{rows}: 4 rows", f"{paths}: 24 embeddings"][: ended + 1]
    assert result.stderr == "interrupted: the result is incomplete\n"
    assert timeouts == sorted(timeouts, reverse=True)  # of all patterns together
    assert len(set(timeouts)) == ended + 1
    timeouts.clear()
    told = only_json(motiflux("count", k4, rows, paths, rows, "--timeout", "100", "--json"))
    assert [one["count"] for one in told["counts"]] == [4, 24][: ended + 1]
