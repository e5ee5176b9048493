"""Messages in the shell speak of options."""

# Annotations stay evaluated here: the options are in them.

from pathlib import Path
from typing import Annotated

import pytest
import typer

import motiflux as mf
from motiflux.cli.wording import in_options, options_of
from motiflux.errors import ArgumentError, DeviceError
from tests.unit.cli_run import motiflux


def command(
    gpu_memory: Annotated[str, typer.Option()],
    settings: Annotated[str, typer.Option("--set")],
    directed: Annotated[bool, typer.Option("--directed/--undirected")],
    device: Annotated[str, typer.Option("-d", "--device")],
) -> None:
    """Do nothing."""


OPTIONS = options_of(command)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ArgumentError("gpu_memory", "bytes, or None", 3), "--gpu-memory: expected bytes, found 3"),
        (ArgumentError("settings", "one", 3), "--set: expected one, found 3"),
        (ArgumentError("batch_size", "device='cpu'", 3), "batch_size: expected --device cpu, found 3"),
        (DeviceError('use device="cuda" or engine="cpu"'), 'use --device cuda or engine="cpu"'),
        (DeviceError("directed=True, not directed=False"), "--directed, not --undirected"),
        (DeviceError("settings= and device= say which"), "--set and --device say which"),
        (DeviceError("device=';', or device='a b'"), "--device ';', or --device 'a b'"),
        (
            DeviceError("found device=3, device=[0, 5], device=(1,)"),
            "found --device 3, --device 0,5, --device 1",
        ),
        (DeviceError("device=cpu/x, data/device=3, device=3.csv: found 'device=3'"), None),
        (DeviceError("a.device='cpu'\ndevice='cpu'"), None),
        (DeviceError("mydevice='cpu'"), "mydevice='cpu'"),
        (DeviceError("device=None"), "device=None"),
        (DeviceError("columns={'src': 'a'}"), "columns={'src': 'a'}"),
    ],
)
def test_keywords_become_options_of_the_command(error: Exception, text: str | None) -> None:
    assert in_options(error, OPTIONS) == (str(error) if text is None else text)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["match", "G", "(a)-[x]->(b)", "--column", "w"], "--column: expected --edges beside attributes of"),
        (["match", "G", "(a)-[x]->(b)", "--attributes", "v"], "--attributes: expected"),
        (
            ["count", "G", "(a)-->(b)", "--limit", "-3"],
            "--limit: expected an integer of at least 0, found -3",
        ),
        (["count", "G", "(a)-->(b)", "--gpu-memory", "3x"], "--gpu-memory: expected a number of bytes"),
        (
            ["count", "G", "(a)-->(b)", "--semantics", "homomorphism", "--symmetry", "subgraphs"],
            "--symmetry: expected 'embeddings' with --semantics homomorphism, found 'subgraphs'",
        ),
    ],
)
def test_commands_report_their_own_options(tmp_path: Path, arguments: list[str], text: str) -> None:
    (tmp_path / "g.csv").write_text("src,dst,w\n1,2,3\n")
    name, _, *rest = arguments
    result = motiflux(name, tmp_path / "g.csv", *rest, "--directed")
    assert (result.exit_code, result.stderr.startswith(f"error: {text}")) == (2, True), result.stderr


@pytest.mark.parametrize(
    ("content", "arguments", "text"),
    [
        ("1;2\n3;4\n", [], "--sep ';' if ';' separates fields\n"),
        ("src,dst\n1,2\nx,4\n", [], "; --ids names takes all ids as names\n"),
        ("src,dst\n1,2\n,4\n", [], "; --missing drop leaves out rows without an id\n"),
        ("src,dst\na,b\nNULL,c\n", [], "--missing keep takes the word as a name\n"),
        ("txn,when\na,b\n", ["--no-header"], ""),
        ("txn,when,payer\na,b,c\n", [], "'txn' and 'when'; --src and --dst say which; line 1 was"),
        ("ann,bob\ncy,dan\n", [], "; --no-header reads it as an edge"),
    ],
)
def test_advice_on_tables_names_options(
    tmp_path: Path, content: str, arguments: list[str], text: str
) -> None:
    (tmp_path / "g.csv").write_text(content)
    result = motiflux("info", tmp_path / "g.csv", *arguments)
    assert text in result.stderr
    assert "=" not in result.stderr


def test_a_saved_monitor_is_continued_by_a_command(tmp_path: Path) -> None:
    saved = tmp_path / "state.mfg"
    with mf.Monitor(mf.Graph.from_edges([(0, 1)]), "(a)--(b)") as monitor:
        monitor.save(saved)
    result = motiflux("count", saved, "(a)--(b)")
    message = "found a saved monitor, expected a graph: motiflux watch --resume continues it"
    assert (result.exit_code, result.stderr) == (2, f"error: {saved}: {message}\n")
    mf.write_graph(mf.Graph.from_edges([(0, 1)]), tmp_path / "graph.mfg")
    (tmp_path / "empty.stream").write_text("")
    again = motiflux("watch", "none", tmp_path / "empty.stream", "--resume", tmp_path / "graph.mfg")
    assert again.stderr.endswith("graph.mfg: found another .mfg file, expected a saved monitor\n")


def test_watch_names_its_own_options(tmp_path: Path) -> None:
    (tmp_path / "late.csv").write_text("src,dst,time\n1,2,5\n2,3,4\n")
    watch = ["watch", "none", tmp_path / "late.csv", "--pattern", "(a)--(b)"]
    without = motiflux(*watch, "--src", "x", "--self-loops", "drop")
    assert without.stderr == "error: --src, --self-loops: expected a graph table, found none\n"
    late = motiflux(*watch, "--window", "10s")
    assert late.stderr.endswith("; --disorder clamp or --disorder drop lets such updates pass\n")


def test_columns_of_a_stream_become_options() -> None:
    options = {"stream_columns": ("--stream-column", None)}
    error = ArgumentError("columns, src", "columns={'src': 'paid by', 'dst': \"b's\"} in a.csv", "x")
    expected = "--stream-column src: expected --stream-column 'src=paid by' --stream-column 'dst=b'\"'\"'s'"
    assert in_options(error, options) == f"{expected} in a.csv, found 'x'"
