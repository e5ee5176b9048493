"""Caches that are damaged or cannot be written, and kernels that do not compile, as searches meet them."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import motiflux as mf
from motiflux.errors import CompileError, MotifluxWarning
from motiflux.jit import Source
from tests.backend.cases import TRIANGLE, clique
from tests.conftest import EMULATOR, REPOSITORY
from tests.fault.benches import LOG, Bench
from tests.fault.conftest import Connect
from tests.rotating import in_turn
from tests.unit.cli_run import clique_pattern, complete_graph, motiflux, motiflux_process

SIZE = 8
TRIANGLES = 8 * 7 * 6
GENERAL = ["search-count-any-32", "search-store-any-16"]
"""The units that count and list by any plan."""
BY_LEVELS = {"bitmaps": "off"}
"""Cliques have a kernel of their own otherwise."""


@pytest.fixture
def graph() -> mf.Graph:
    return mf.Graph.from_edges(clique(SIZE))


@pytest.fixture(autouse=True)
def not_warned_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test is as a new process to the warning that comes once per process."""
    monkeypatch.setattr("motiflux.jit.cache._troubles", itertools.count())


def count_and_list(graph: mf.Graph, bench: Bench) -> None:
    assert mf.count(graph, TRIANGLE, device=bench.name, tuning=BY_LEVELS) == TRIANGLES
    assert len(mf.match(graph, TRIANGLE, device=bench.name).to_numpy()) == TRIANGLES


def inputs(folder: Path) -> tuple[Path, Path]:
    """Write the graph and the triangle for the command line."""
    return complete_graph(folder / "graph.txt", SIZE), clique_pattern(folder / "triangle.graph", 3)


class TestCache:
    @pytest.mark.turns(8)
    @pytest.mark.parametrize("below", in_turn(1, ["", "below"]))
    def test_a_cache_that_cannot_be_written_means_one_warning_and_the_right_count(
        self, connect: Connect, graph: mf.Graph, tmp_path: Path, below: str
    ) -> None:
        occupied = tmp_path / "occupied"
        occupied.write_text("a file")
        folder = occupied / below
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(2):
                bench = connect(cache=folder)
                count_and_list(graph, bench)
                assert bench.toolchain.asked == GENERAL
        (warning,) = caught
        assert warning.category is MotifluxWarning
        assert f"compiled kernels cannot be kept in {folder}" in str(warning.message)
        assert "Set MOTIFLUX_CACHE to a folder that can be written to" in str(warning.message)
        assert occupied.read_text() == "a file"

    @pytest.mark.turns(8)
    def test_a_process_whose_cache_is_a_file_notes_it_and_counts(
        self, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        occupied = tmp_path / "occupied"
        occupied.write_text("a file")
        monkeypatch.setenv("MOTIFLUX_CACHE", str(occupied))
        monkeypatch.setenv("MOTIFLUX_DEVICES", EMULATOR)
        monkeypatch.setenv("PYTHONPATH", str(REPOSITORY), prepend=os.pathsep)
        where = "cuda" if device == "cuda" else "emulated"
        with motiflux_process("count", *inputs(tmp_path), "--device", where) as process:
            out, err = process.communicate(timeout=120)
        assert (process.returncode, out.splitlines()[0]) == (0, f"{TRIANGLES} embeddings")
        assert err.startswith(f"note: compiled kernels cannot be kept in {occupied}: ")
        assert len(err.splitlines()) == 1

    DAMAGE: dict[str, Callable[[bytes], bytes]] = {
        "a flipped byte of the image": lambda entry: entry[:-1000] + bytes([entry[-1000] ^ 1]) + entry[-999:],
        "a flipped byte of the header": lambda entry: entry[:20] + bytes([entry[20] ^ 128]) + entry[21:],
        "every byte flipped": lambda entry: bytes(byte ^ 255 for byte in entry),
        "half an entry": lambda entry: entry[: len(entry) // 2],
        "an entry without its last byte": lambda entry: entry[:-1],
        "an empty entry": lambda entry: b"",
    }

    @pytest.mark.turns(8)
    @pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
    def test_damaged_entries_are_noticed_and_built_again(
        self, connect: Connect, graph: mf.Graph, tmp_path: Path, damage: Callable[[bytes], bytes]
    ) -> None:
        bench = connect(cache=tmp_path)
        count_and_list(graph, bench)
        entries = {path: path.read_bytes() for path in tmp_path.glob("*.kernel")}
        assert len(entries) == len(bench.toolchain.asked) == 2
        for path, sound in entries.items():
            path.write_bytes(damage(sound))
            assert path.read_bytes() != sound
        bench = connect(cache=tmp_path)
        count_and_list(graph, bench)
        assert bench.toolchain.asked == GENERAL
        assert {path: path.read_bytes() for path in tmp_path.glob("*.kernel")} == entries
        bench = connect(cache=tmp_path)
        count_and_list(graph, bench)
        assert bench.toolchain.asked == []

    @pytest.mark.turns(8)
    def test_entries_that_vanish_between_two_searches_are_missed_by_no_one(
        self, connect: Connect, graph: mf.Graph, tmp_path: Path
    ) -> None:
        bench = connect(cache=tmp_path)
        count_and_list(graph, bench)
        for path in tmp_path.iterdir():
            path.unlink()
        count_and_list(graph, bench)
        assert bench.toolchain.asked == GENERAL


class TestRefusedKernels:
    @pytest.mark.turns(8)
    @pytest.mark.parametrize("call", [mf.count, mf.match])
    def test_the_error_has_the_log_the_source_and_the_plan_and_the_graph_is_usable(
        self, connect: Connect, graph: mf.Graph, tmp_path: Path, call: Callable[..., object]
    ) -> None:
        bench = connect(cache=tmp_path)
        bench.toolchain.refuses = lambda source: True
        with pytest.raises(CompileError) as caught:
            call(graph, TRIANGLE, device=bench.name, tuning=BY_LEVELS)
        error = caught.value
        assert error.name in GENERAL
        assert error.log == LOG
        assert error.description.startswith("plan: order (")
        assert error.description.count("\n  level ") == TRIANGLE.num_vertices
        assert error.path is not None
        source = Path(error.path).read_text()
        assert "motiflux_search" in source
        assert all(f"// {line}" in source for line in error.description.splitlines())
        assert all(part in str(error) for part in (error.name, error.path, LOG, error.description))
        assert mf.count(graph, TRIANGLE, device="cpu") == TRIANGLES
        held = bench.held(graph)
        bench.toolchain.refuses = lambda source: False
        count_and_list(graph, bench)
        assert bench.held(graph) == held

    def test_the_command_line_calls_it_a_defect_and_says_where_the_source_is(
        self, connect: Connect, tmp_path: Path
    ) -> None:
        bench = connect(cache=tmp_path / "cache")
        bench.toolchain.refuses = lambda source: True
        graph, triangle = inputs(tmp_path)
        result = motiflux("count", graph, triangle, "--device", bench.name, "--set", "bitmaps=off")
        assert (result.exit_code, result.stdout) == (4, "")
        assert len(result.stderr.splitlines()) == 1
        assert result.stderr.startswith("internal error: CompileError: kernel search-count-any-32 does not ")
        (source,) = (tmp_path / "cache" / "failed").iterdir()
        assert str(source) in result.stderr
        assert "the last complaint" in result.stderr
        result = motiflux("count", graph, triangle, "--device", "cpu")
        assert (result.exit_code, result.stdout.splitlines()[0]) == (0, f"{TRIANGLES} embeddings")

    def test_a_special_kernel_that_was_asked_for_is_an_error(self, bench: Bench, graph: mf.Graph) -> None:
        bench.toolchain.refuses = is_special
        with pytest.raises(CompileError, match="search-count-3v-32") as caught:
            mf.count(graph, TRIANGLE, device=bench.name, tuning={"specialize": "on", **BY_LEVELS})
        assert caught.value.log == LOG
        count_and_list(graph, bench)

    @pytest.mark.turns(8)
    def test_a_special_kernel_that_nobody_asked_for_means_one_warning_and_the_right_count(
        self, connect: Connect, graph: mf.Graph
    ) -> None:
        bench = connect(eager=True)
        bench.toolchain.refuses = is_special
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(10_000):
                assert mf.count(graph, TRIANGLE, device=bench.name, tuning=BY_LEVELS) == TRIANGLES
                if caught:
                    break
            for _ in range(5):
                assert mf.count(graph, TRIANGLE, device=bench.name, tuning=BY_LEVELS) == TRIANGLES
        assert [warning.category for warning in caught] == [MotifluxWarning]
        message = str(caught[0].message)
        assert message.startswith("a plan runs without its own kernel: kernel search-count-3v-32 does not ")
        assert LOG in message
        assert bench.toolchain.asked == ["search-count-any-32", "search-count-3v-32"]


def is_special(source: Source) -> bool:
    return "-any-" not in source.name
