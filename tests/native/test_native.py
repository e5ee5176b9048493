"""The parts of the extension that need no Python, compiled with sanitizers and run.

ThreadSanitizer also runs the litmus tests of what threads tell each other: it knows what the orders of atomic
operations promise, so it finds one that is too weak where the processor that runs the test would not show it.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

# The first that links the search compiles all of it with a sanitizer.
pytestmark = pytest.mark.timeout(900)

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
SOURCES = sorted(HERE.glob("test_*.cpp"))
LITMUS_TESTS = [
    source
    for source in SOURCES
    if source.name.startswith(
        (
            "test_atomics",
            "test_block_work_queue",
            "test_dynamic",
            "test_work_queue",
            "test_parallel",
            "test_pcsr",
            "test_ring",
            "test_sharing",
            "test_streaming",
        )
    )
]
FLAGS = (
    "-std=c++20",
    "-O1",
    "-g1",
    "-pthread",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fno-sanitize-recover=all",
    "-D_GLIBCXX_ASSERTIONS",
)
THREADS = ("csrc/common/parallel.cpp", "csrc/common/thread_pool.cpp")
SEARCH = ("csrc/sets/*.cpp", "csrc/search/*.cpp", "csrc/copies/*.cpp", "csrc/common/team.cpp", *THREADS)
DYNAMIC = ("csrc/dynamic/*.cpp", "csrc/copies/*.cpp", "csrc/search/tail.cpp", "csrc/sets/*.cpp", *THREADS)
ROWS = ("csrc/dynamic/row_blocks.cpp", "csrc/dynamic/rows.cpp", *THREADS)
PCSR = ("csrc/pcsr/*.cpp", *THREADS)
UPDATES = ("csrc/text/updates.cpp", "csrc/text/record.cpp", "csrc/text/dictionary.cpp")
COPIES = ("csrc/copies/*.cpp",)
ALLOWED = ("csrc/copies/allowed.cpp",)
ORBITS = (
    "csrc/local_counts/edge_orbits.cpp",
    "csrc/local_counts/five/edges.cpp",
    "csrc/local_counts/five/hub.cpp",
    "csrc/local_counts/five/triangles.cpp",
    "csrc/local_counts/wedges.cpp",
    "csrc/sets/*.cpp",
    *THREADS,
)
PARTS = {
    "test_allowed": ALLOWED,
    "test_copies": COPIES,
    "test_dynamic": DYNAMIC,
    "test_dynamic_accesses": DYNAMIC,
    "test_dynamic_candidates": DYNAMIC,
    "test_dynamic_probe": DYNAMIC,
    "test_dynamic_reader": ROWS,
    "test_dynamic_runs": DYNAMIC,
    "test_dynamic_writing": DYNAMIC,
    "test_lent_memory": DYNAMIC,
    "test_looks": ORBITS,
    "test_lent_rows": ROWS,
    "test_parallel": THREADS,
    "test_pcsr": PCSR,
    "test_related": COPIES,
    "test_rows": ROWS,
    "test_sets": ("csrc/sets/*.cpp",),
    "test_sharing": SEARCH,
    "test_sharing_nested_tails": SEARCH,
    "test_updates": UPDATES,
    "test_vertex_ids": ("csrc/dynamic/vertex_ids.cpp",),
}
"""What a check is linked with."""
SLOW = (SEARCH, DYNAMIC, UPDATES)
"""Parts that take one to four minutes to compile with a sanitizer: `make test-all` does so, and
`make test-changed` if they have changed. The others are compiled in turn."""
INCLUDES = ("csrc", "src/motiflux/include", "tests/native")


@functools.cache
def folder_of_objects() -> Path:
    """Where sources that several checks are linked with lie compiled, each once."""
    folder = tempfile.mkdtemp(prefix="motiflux-objects-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@functools.cache
def compiled(source: Path, flags: tuple[str, ...]) -> tuple[Path, str]:
    """Compile one source; return the object, and what the compiler said if it failed."""
    name = hashlib.sha256(repr((source, flags)).encode()).hexdigest()[:16]
    target = folder_of_objects() / f"{source.stem}-{name}.o"
    includes = [f"-I{REPOSITORY / folder}" for folder in INCLUDES]
    command = [compiler(), *flags, *includes, "-c", str(source), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return target, done.stderr if done.returncode else ""


def compiler() -> str:
    found = shutil.which(os.environ.get("CXX", "g++"))
    if found is None:
        pytest.skip("no C++ compiler")
    return found


def compile_program(
    source: Path, program: Path, sanitizers: str, *options: str
) -> subprocess.CompletedProcess[str]:
    command = [compiler(), *FLAGS, *options, f"-fsanitize={sanitizers}"]
    parts = [path for pattern in PARTS.get(source.stem, ()) for path in sorted(REPOSITORY.glob(pattern))]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        built = list(pool.map(lambda path: compiled(path, tuple(command[1:])), (source, *parts)))
    for _, failure in built:
        if failure:
            return subprocess.CompletedProcess(command, 1, "", failure)
    objects = [str(path) for path, _ in built]
    return subprocess.run(
        [*command, *objects, "-o", str(program)], capture_output=True, text=True, check=False
    )


def check(source: Path, program: Path, sanitizers: str, *options: str) -> None:
    linked = compile_program(source, program, sanitizers, *options)
    assert linked.returncode == 0, linked.stderr
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def thread_sanitizer(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Its name as a compiler takes it; skips where it does not run (some kernels' address layouts)."""
    folder = tmp_path_factory.mktemp("thread")
    source = folder / "nothing.cpp"
    source.write_text("int main() {}\n")
    if compile_program(source, folder / "nothing", "thread").returncode != 0:
        pytest.skip("this compiler has no ThreadSanitizer")
    if subprocess.run([folder / "nothing"], capture_output=True, check=False).returncode != 0:
        pytest.skip("ThreadSanitizer does not run on this system")
    return "thread"


def cases(sources: list[Path]) -> list[Any]:
    """Give the checks; those that are slow to compile are long."""
    return [
        pytest.param(path, marks=[pytest.mark.long] if PARTS.get(path.stem) in SLOW else [], id=path.stem)
        for path in sources
    ]


@pytest.mark.turns(8)
@pytest.mark.parametrize("source", cases(SOURCES))
def test_the_native_checks_hold_under_the_sanitizers(source: Path, tmp_path: Path) -> None:
    check(source, tmp_path / source.stem, "address,undefined")


@pytest.mark.turns(8)
@pytest.mark.parametrize("source", cases(LITMUS_TESTS))
def test_the_litmus_tests_have_no_race(source: Path, tmp_path: Path, thread_sanitizer: str) -> None:
    check(source, tmp_path / source.stem, thread_sanitizer)


@pytest.mark.turns(8)
def test_sets_need_no_wide_instructions(tmp_path: Path) -> None:
    check(HERE / "test_sets.cpp", tmp_path / "scalar", "address,undefined", "-DMOTIFLUX_NO_SIMD")


def test_all_native_checks_are_found() -> None:
    names = {"test_atomics.cpp", "test_ring.cpp", "test_ring_host.cpp", "test_sets.cpp", "test_total.cpp"}
    assert {source.name for source in SOURCES} >= names
    assert len(LITMUS_TESTS) >= 3
