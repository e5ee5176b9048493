from __future__ import annotations

import importlib
import io
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

REPOSITORY = Path(__file__).resolve().parents[2]
DEMO = REPOSITORY / "demo"


def run_demo(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, DEMO / "run.py", *options], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture
def demo_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the demo's modules be imported by their bare names, as they import each other."""
    monkeypatch.syspath_prepend(str(DEMO))


@pytest.mark.turns(8)
def test_the_demo_finds_all_that_is_planted_and_every_check_holds(tmp_path):
    picture = tmp_path / "new" / "ring.svg"
    done = run_demo("--transfers", "4000", "--rings", "5", "--picture", str(picture))
    assert done.returncode == 0, done.stdout + done.stderr
    for kind in ("rings", "fan-ins", "fan-outs", "gather-scatters"):
        assert f"all 5 planted {kind} are found, and nothing else" in done.stdout
    assert done.stdout.count("plain Python sets find 5 among") == 4
    assert "all 5 planted rings are reported, and nothing else" in done.stdout
    assert "each at the very transfer that closes it" in done.stdout
    assert "FAILED" not in done.stdout
    assert "found in" in done.stdout  # WordNet
    assert picture.read_text().startswith("<svg")


@pytest.mark.usefixtures("demo_folder")
def test_the_demo_shows_names_whole_and_as_they_are() -> None:
    show = importlib.import_module("show")
    out = io.StringIO()
    console = Console(file=out, width=20)
    console.print(show.table(["name"], [["[/red]"], ["unconstitutionality.n.01"]]))
    shown = "".join(line.strip("\u2502 ") for line in out.getvalue().splitlines())
    assert "[/red]" in shown
    assert "unconstitutionality.n.01" in shown


@pytest.mark.turns(8)
def test_the_demo_counts_lists_and_explains_the_files_it_is_given(tmp_path):
    graph, pattern = tmp_path / "square.txt", tmp_path / "path.graph"
    graph.write_text("10 20\n20 30\n30 40\n40 10\n")
    pattern.write_text("t 3 2\nv 0 -1\nv 1 -1\nv 2 -1\ne 0 1\ne 1 2\n")
    done = run_demo("--graph", str(graph), "--pattern", str(pattern))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 embeddings" in done.stdout


@pytest.mark.turns(8)
def test_the_demo_wants_graph_and_pattern_together(tmp_path):
    done = run_demo("--graph", str(tmp_path / "alone.txt"))
    assert done.returncode == 2
    assert "go together" in done.stderr


@pytest.mark.turns(8)
@pytest.mark.parametrize(
    "options", [["--transfers", "50"], ["--transfers", "-5", "--rings", "0"], ["--rings", "-1"]]
)
def test_the_demo_refuses_sizes_that_make_no_network(options):
    done = run_demo(*options)
    assert done.returncode == 2
    assert "error: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.turns(8)
def test_the_demo_takes_the_smallest_network_it_says_it_takes():
    done = run_demo("--transfers", "1", "--rings", "0")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_demo_ends_in_one_line_on_ctrl_c(demo_folder, monkeypatch, capsys):
    import run

    def interrupt(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(run.words, "run", interrupt)
    monkeypatch.setattr(sys, "argv", ["run.py"])
    assert run.main() == 1
    assert capsys.readouterr().err == "interrupted\n"


@pytest.mark.turns(8)
def test_make_demo_can_read_a_file_as_directed():
    command = ["make", "--dry-run", "demo", "GRAPH=g.txt", "PATTERN=p.graph"]
    for more, expected in ((["DIRECTED=1"], True), ([], False), (["DIRECTED=0"], False)):
        said = subprocess.run([*command, *more], cwd=REPOSITORY, capture_output=True, text=True, check=True)
        assert ("--directed" in said.stdout) == expected


@pytest.mark.turns(8)
def test_the_demos_picture_marks_the_planted_ring(demo_folder):
    import picture

    drawn = picture.picture()
    assert drawn.count('class="found"') == 2 * 4
    assert drawn == picture.picture()


@pytest.mark.turns(8)
def test_the_demo_names_a_file_that_is_not_there(tmp_path):
    done = run_demo("--graph", str(tmp_path / "absent.txt"), "--pattern", str(tmp_path / "absent.graph"))
    assert done.returncode == 2
    assert "absent" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("wires", "rings"),
    [
        ("ab bc cd da", 1),
        ("ab bc cd ad", 0),
        ("ab ba bc cb", 0),
        ("ab bc cd da ae ec", 2),
        ("ab ac ad ba bc bd ca cb cd da db dc", 6),
    ],
)
def test_the_witness_counts_rings_of_four(demo_folder, wires, rings):
    from witness import WireBook

    assert WireBook(tuple(wire) for wire in wires.split()).count_rings(4) == rings


@pytest.mark.parametrize(
    ("kind", "wires", "number"),
    [
        ("fan_in", "ax bx cx xo", 3),
        ("fan_in", "ax ax", 0),
        ("fan_out", "xa xb yc", 1),
        ("gather_scatter", "ax bx xc xd", 1),
        ("gather_scatter", "ax bx xa xd", 0),
        ("gather_scatter", "ax bx xc xd xe", 3),
    ],
)
def test_the_witness_counts_structures_of_two(demo_folder, kind, wires, number):
    from witness import WireBook

    assert WireBook(tuple(wire) for wire in wires.split()).count(kind, 2) == number
