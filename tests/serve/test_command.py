"""The command `motiflux serve`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.data_paths import REPOSITORY
from tests.serve.test_durability import RING, edges
from tests.serve.transfers import alerts_in
from tests.unit.cli_run import motiflux
from tests.waiting import wait_until

FILE = """
[service]
listen = "127.0.0.1:0"
[[sources]]
name = "bank"
type = "file"
path = "in.jsonl"
[[patterns]]
name = "ring"
pattern = "(a)-->(b)-->(c)-->(a)"
[[sinks]]
name = "alerts"
type = "jsonl"
path = "out.jsonl"
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "service.toml").write_text(FILE)
    (tmp_path / "in.jsonl").write_bytes(edges(RING))
    return tmp_path / "service.toml"


def test_a_configuration_is_checked_without_beginning_anything(config: Path) -> None:
    done = motiflux("serve", str(config), "--check")
    assert (done.exit_code, done.stdout) == (0, f"{config}: as expected\n")
    assert not (config.parent / "state").exists()
    config.write_text(FILE.replace('"jsonl"', '"tape"'))
    done = motiflux("serve", str(config))
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error: {config}: sinks[0].type: expected one of jsonl, parquet")


def test_all_that_is_there_is_done_once(config: Path) -> None:
    for _ in range(2):
        assert motiflux("serve", str(config), "--once").exit_code == 0
        assert len(alerts_in(config.parent / "out.jsonl")) == 1


def test_a_stop_is_success_and_leaves_a_checkpoint(config: Path) -> None:
    command = [sys.executable, "-m", "motiflux", "serve", str(config), "--log", "json"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            said = [json.loads(process.stderr.readline()) for _ in range(2)]
            wait_until(lambda: alerts_in(config.parent / "out.jsonl"), "the alert is there", of=process)
            process.send_signal(signal.SIGTERM)
            said += [json.loads(line) for line in process.stderr]
        finally:
            process.kill()
    assert process.returncode == 0
    messages = [one["message"] for one in said]
    assert messages[0].startswith("began after record 0")
    assert messages[1].startswith("the page is at http://127.0.0.1:")
    assert messages[-1].startswith("checkpoint after record 3")
    assert len(list((config.parent / "state").glob("main-*.mfg"))) == 1


def test_importing_motiflux_imports_no_service() -> None:
    code = (
        "import sys, motiflux; motiflux.count\n"
        "print([name for name in sys.modules if name.startswith('motiflux.serve')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    "file", sorted((REPOSITORY / "examples").rglob("*.toml")), ids=lambda file: file.name
)
def test_examples_are_configurations(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOTIFLUX_TOKEN", "0123456789abcdef")
    assert tomllib.loads(file.read_text())
    done = motiflux("serve", str(file), "--check")
    assert (done.exit_code, done.stderr) == (0, "")
    assert not (file.parent / "state").exists()
