from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
DEMO = REPOSITORY / "demo"


def run_demo(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, DEMO / "run.py", *options], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture
def demo_modules(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType]:
    """Return the demo's modules `transfers` and `witness`, which import each other by bare names."""
    monkeypatch.syspath_prepend(str(DEMO))
    import transfers
    import witness

    return transfers, witness


def test_the_demo_finds_every_planted_ring_and_every_check_holds():
    done = run_demo("--transfers", "4000", "--rings", "5")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all 5 planted rings are listed" in done.stdout
    assert "FAILED" not in done.stdout


def test_the_demo_counts_lists_and_explains_the_files_it_is_given(tmp_path):
    graph, pattern = tmp_path / "square.txt", tmp_path / "path.graph"
    graph.write_text("10 20\n20 30\n30 40\n40 10\n")
    pattern.write_text("t 3 2\nv 0 -1\nv 1 -1\nv 2 -1\ne 0 1\ne 1 2\n")
    done = run_demo("--graph", str(graph), "--pattern", str(pattern))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 embeddings" in done.stdout


def test_the_demo_wants_graph_and_pattern_together(tmp_path):
    done = run_demo("--graph", str(tmp_path / "alone.txt"))
    assert done.returncode == 2
    assert "go together" in done.stderr


@pytest.mark.parametrize(
    "options", [["--transfers", "50"], ["--transfers", "-5", "--rings", "0"], ["--rings", "-1"]]
)
def test_the_demo_refuses_sizes_that_make_no_network(options):
    done = run_demo(*options)
    assert done.returncode == 2
    assert "error: --" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_demo_takes_the_smallest_network_it_says_it_takes():
    done = run_demo("--transfers", "10", "--rings", "0")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_demo_ends_in_one_line_on_ctrl_c(demo_modules, monkeypatch, capsys):
    import run

    def interrupt(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "run_planted", interrupt)
    monkeypatch.setattr(sys, "argv", ["run.py"])
    assert run.main() == 1
    assert capsys.readouterr().err == "interrupted\n"


def test_make_demo_can_read_a_file_as_directed():
    command = ["make", "--dry-run", "demo", "GRAPH=g.txt", "PATTERN=p.graph"]
    for more, expected in ((["DIRECTED=1"], True), ([], False), (["DIRECTED=0"], False)):
        said = subprocess.run([*command, *more], cwd=REPOSITORY, capture_output=True, text=True, check=True)
        assert ("--directed" in said.stdout) == expected


def test_the_demos_picture_marks_the_planted_ring(demo_modules):
    import picture

    drawn = picture.picture()
    assert drawn.count('class="found"') == 2 * 4
    assert drawn == picture.picture()


def test_the_demo_names_a_file_that_is_not_there(tmp_path):
    done = run_demo("--graph", str(tmp_path / "absent.txt"), "--pattern", str(tmp_path / "absent.graph"))
    assert done.returncode == 2
    assert "absent" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_the_same_seed_gives_the_same_transfers(demo_modules):
    transfers, _ = demo_modules
    first, second = (transfers.generate(3000, accounts=900, rings=4, seed=5) for _ in range(2))
    assert first.rings == second.rings
    for column in ("payer", "payee", "kind"):
        assert (getattr(first, column) == getattr(second, column)).all()


def test_planted_rings_are_wires_among_the_transfers_and_nobody_pays_himself(demo_modules):
    transfers, witness = demo_modules
    network = transfers.generate(3000, accounts=900, rings=4)
    assert len(network.payer) == len(network.payee) == len(network.kind) == 3000
    assert (network.payer != network.payee).all()
    is_wire = network.kind == "wire"
    book = witness.WireBook(
        zip(network.payer[is_wire].tolist(), network.payee[is_wire].tolist(), strict=True)
    )
    assert all(book.is_ring(ring) for ring in network.rings)


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
def test_the_witness_counts_rings_of_four(demo_modules, wires, rings):
    _, witness = demo_modules
    assert witness.WireBook(tuple(wire) for wire in wires.split()).count_rings() == rings


@pytest.mark.parametrize(
    ("wires", "collectors"),
    [("ax bx cx xo", 1), ("ax bx cx xa", 0), ("ax bx cx dx xa", 1), ("ax bx cx xo xp", 2)],
)
def test_the_witness_counts_a_collector_only_with_a_fifth_account_paid(demo_modules, wires, collectors):
    _, witness = demo_modules
    assert witness.WireBook(tuple(wire) for wire in wires.split()).count_collectors() == collectors
