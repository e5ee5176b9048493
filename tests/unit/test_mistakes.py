"""What people are told who make a likely mistake: what is wrong, and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import motiflux as mf
from motiflux.errors import DeviceError
from motiflux.gpu.runtime import accelerator
from motiflux.jit import nvrtc
from tests.unit.cli_run import motiflux

GRAPH = mf.Graph.from_edges([(0, 1), (1, 2), (2, 0)])
TRANSFERS = "src,dst,label,amount\nann,bob,wire,10\nbob,cy,wire,20\ncy,ann,cash,5\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    Path("g.txt").write_text("1 2\n2 3\n3 1\n3 4\n")
    Path("t.csv").write_text(TRANSFERS)
    Path("empty.txt").write_text("")
    Path("folder.graph").mkdir()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("count . (a)--(b)", ".: found a directory, expected a graph"),
        ("count folder.graph (a)--(b)", "folder.graph: found a directory, expected a file"),
        ("count nofile.txt (a)--(b)", "nofile.txt: cannot be opened: No such file or directory"),
        (
            "count g.txt triangle",
            "triangle: expected pattern text such as '(a)--(b)', or a file: .graph, .pattern, .cypher",
        ),
        (
            "count g.txt (a)-->(b)",
            (
                "query edge 'a' -> 'b': expected an undirected query edge on an undirected graph, "
                "found a directed one; write --, or read the graph as directed"
            ),
        ),
        (
            "match t.csv (a)-->(b) --directed -o ./t.csv",
            "t.csv: expected an output file that is not an input file",
        ),
        (
            "match t.csv (a)-->(b) --directed --picture t.csv",
            "t.csv: expected an output file that is not an input file",
        ),
        ("convert t.csv t.csv", "t.csv: expected an output file that is not an input file"),
        (
            "estimate t.csv (a)-->(b) -o t.csv",
            "t.csv: expected an output file that is not an input file",
        ),
        (
            "explain g.txt (a)--(b) --html g.txt",
            "g.txt: expected an output file that is not an input file",
        ),
        (
            "count g.txt (a{id:7})--(b)",
            (
                "vertex attribute 'id': expected one of the graph's vertex attributes (it has none); an id "
                "is asked for by id(v) = ..."
            ),
        ),
    ],
)
def test_the_command_line_says_what_is_wrong_and_touches_nothing(arguments: str, told: str) -> None:
    before = {path: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    result = motiflux(*arguments.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"error: {told}\n"
    assert {path: path.read_bytes() for path in Path().iterdir() if path.is_file()} == before


def test_one_of_several_patterns_has_a_number() -> None:
    assert motiflux("count", "g.txt", "(a)--(b)", "(a)-->(b)").stderr.startswith("error: pattern[1]: query")


WIRES = (
    "query edge 'a' - 'b' asks for the label 'wires', which does not occur in the graph; did you mean 'wire'?"
)


@pytest.mark.parametrize("command", ["count", "count --json", "match", "match --json", "estimate"])
def test_where_nothing_can_match_it_is_said_why(command: str) -> None:
    result = motiflux(*command.split(), "t.csv", "(a)-[:wires]->(b)", "--directed")
    assert result.exit_code == 0
    assert f"note: nothing can match: {WIRES}\n" in result.stderr
    assert "nothing can match: query" not in result.stdout


def test_of_several_patterns_it_is_said_which_cannot_match() -> None:
    result = motiflux("count", "t.csv", "(a)-[:wire]->(b)", "(a)-[:wires]->(b)", "--directed")
    assert result.stderr == f"note: (a)-[:wires]->(b): nothing can match: {WIRES}\n"
    assert motiflux("count", "empty.txt", "(a)--(b)").stderr == (
        "note: nothing can match: the graph has no edges\n"
    )


@pytest.mark.parametrize(
    ("edge", "told"),
    [
        ("(b)-[:wires]->(a)", "'wires', which does not occur in the graph; did you mean 'wire'?"),
        ("(b)-[:wires]->()", "'wires', which does not occur in the graph; did you mean 'wire'?"),
        ("(b)-->(:nothing)", "'nothing', which does not occur in the graph"),
    ],
)
def test_a_negated_edge_of_an_unknown_label_is_said_to_exclude_nothing(edge: str, told: str) -> None:
    text = f"NOT {edge} excludes nothing: it asks for the label {told}"
    pattern = f"(a)-[:wire]->(b), NOT {edge}"
    assert motiflux("count", "t.csv", pattern, "--directed").stderr == f"note: {text}\n"
    assert text in motiflux("explain", "t.csv", pattern, "--directed").stdout


def test_nothing_is_said_where_something_might_match() -> None:
    assert motiflux("count", "t.csv", "(a)-->(b)-->(a)", "--directed").stderr == ""


@pytest.mark.parametrize("command", ["count", "match"])
def test_the_usage_names_arguments_plainly(command: str) -> None:
    usage = next(line for line in motiflux(command, "--help").stdout.splitlines() if "Usage:" in line)
    assert usage.rstrip().endswith(f"{command} [OPTIONS] GRAPH PATTERN...")


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (
            lambda: mf.count(7, "(a)--(b)"),
            "graph: expected a graph, a path, a table, an array of edges, or a graph of networkx, igraph",
        ),
        (
            lambda: mf.count("(a)--(b)", GRAPH),  # type: ignore[call-overload]
            "pattern: expected a motiflux.Pattern or Query, its text, a graph of networkx, or a sequence",
        ),
        (
            lambda: mf.Graph.from_edges([[0, 1, 0], [1, 0, 1], [0, 1, 0]]),
            "edges: expected an array of shape [m, 2], found [3, 3]; Graph.from_scipy(scipy.sparse",
        ),
        (
            lambda: mf.Pattern.from_edges([(1, 2), (2, 3)]),
            "edges: expected vertices numbered from 0 to 2 without gaps, found 1, 2, 3; PatternBuilder and",
        ),
        (
            lambda: mf.Pattern.from_edges([("a", "b")]),  # type: ignore[list-item]
            "query edge 0: expected two vertex numbers, found ('a', 'b'); PatternBuilder and Pattern.parse",
        ),
        (
            lambda: mf.count(GRAPH, "(a)--(b)", device=0),  # type: ignore[call-overload]
            "device: expected one of auto, cpu, cuda",
        ),
        (
            lambda: mf.read_pattern("(a)--(b)"),
            (
                "(a)--(b): found no suffix, expected a pattern in .graph, .pattern, .cypher (or with .gz or "
                ".zst after it); a pattern's text is for Pattern.parse"
            ),
        ),
        (
            lambda: mf.Graph.from_edges([("a", "b")], vertex_labels={"a": "x"}),  # type: ignore[arg-type]
            "vertex_labels: expected a sequence, in order, found a dict",
        ),
        (
            lambda: mf.Graph.from_table({"payer": [1]}),
            (
                "src: expected one of the columns of the table ('payer'), as none is named src, source or "
                "from, found None"
            ),
        ),
    ],
)
def test_the_library_says_what_is_wrong(call: Any, told: str) -> None:
    with pytest.raises(mf.MotifluxError) as caught:
        call()
    assert str(caught.value).startswith(told)


def test_an_engine_that_takes_a_gpu_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_here(name: str) -> None:
        raise DeviceError(f"device {name!r}: expected the NVIDIA driver")

    monkeypatch.setattr(accelerator, "open_accelerator", none_here)
    with pytest.raises(DeviceError, match=r"^engine='dfs' runs on a GPU: device 'cuda': expected the NVIDIA"):
        mf.count(GRAPH, "(a)--(b)", engine="dfs")
    with pytest.raises(DeviceError, match=r"^device 'cuda': expected the NVIDIA"):
        mf.count(GRAPH, "(a)--(b)", engine="dfs", device="cuda")


def test_what_the_loader_of_nvrtc_says_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    class Pathfinder:
        @staticmethod
        def load_nvidia_dynamic_lib(name: str) -> None:
            raise RuntimeError(f"no lib{name}.so\n.")

    monkeypatch.setattr(nvrtc, "_gpu_package", lambda name: Pathfinder)
    with pytest.raises(DeviceError, match=r"^NVRTC cannot be loaded: no libnvrtc.so\. Install what a GPU"):
        nvrtc._versions.__wrapped__()
