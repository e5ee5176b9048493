"""Messages in the shell speak of options."""

# Annotations stay evaluated here: the options are in them.

from pathlib import Path
from typing import Annotated

import pytest
import typer

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
        (DeviceError("directed=False (--undirected) reads it"), "--undirected reads it"),
        (DeviceError("mydevice='cpu'"), "mydevice='cpu'"),
        (DeviceError("device=None"), "device=None"),
        (DeviceError("columns={'src': 'a'}"), "columns={'src': 'a'}"),
    ],
)
def test_keywords_become_options_of_the_command(error: Exception, text: str) -> None:
    assert in_options(error, OPTIONS) == text


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


def test_columns_of_a_stream_become_options() -> None:
    options = {"stream_columns": ("--stream-column", None)}
    error = ArgumentError("columns, src", "columns={'src': 'paid by', 'dst': \"b's\"} in a.csv", "x")
    expected = "--stream-column src: expected --stream-column 'src=paid by' --stream-column 'dst=b'\"'\"'s'"
    assert in_options(error, options) == f"{expected} in a.csv, found 'x'"
