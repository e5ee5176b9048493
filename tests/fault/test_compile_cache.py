"""Damage, crashes, full disks and crowds: the cache of compiled units is never wrong and never in the way."""

from __future__ import annotations

import errno
import itertools
import os
import time
import warnings
from pathlib import Path

import pytest

from motiflux.errors import MotifluxWarning
from motiflux.jit import Compiler, KernelCache, Source
from tests.unit.jit_cases import CopyingToolchain, run_python, start_python
from tests.waiting import wait_until

KEY = "5a" * 32
OTHER = "a5" * 32
IMAGE = bytes(range(256)) * 2


@pytest.fixture(autouse=True)
def not_warned_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test is as a new process to the warning that comes once per process."""
    monkeypatch.setattr("motiflux.jit.cache._troubles", itertools.count())


def filled(folder: Path) -> tuple[KernelCache, Path]:
    """Return a cache with one entry, and where that is."""
    cache = KernelCache(folder)
    cache.put(KEY, IMAGE)
    return cache, folder / f"{KEY}.kernel"


def test_any_flipped_byte_is_noticed_and_dropped(tmp_path: Path) -> None:
    cache, path = filled(tmp_path)
    sound = path.read_bytes()
    for position in range(len(sound)):
        for bits in (0x01, 0x80, 0xFF):
            damaged = bytearray(sound)
            damaged[position] ^= bits
            path.write_bytes(damaged)
            assert cache.get(KEY) is None
            assert not path.exists()
    cache.put(KEY, IMAGE)
    assert cache.get(KEY) == IMAGE


def test_any_truncation_and_any_appendix_is_noticed_and_dropped(tmp_path: Path) -> None:
    cache, path = filled(tmp_path)
    sound = path.read_bytes()
    for damaged in [*(sound[:length] for length in range(len(sound))), sound + b"\0", sound + sound]:
        path.write_bytes(damaged)
        assert cache.get(KEY) is None
        assert not path.exists()


def test_an_entry_under_another_ones_name_is_not_taken_for_it(tmp_path: Path) -> None:
    cache, path = filled(tmp_path)
    path.rename(tmp_path / f"{OTHER}.kernel")
    assert cache.get(OTHER) is None
    assert not list(tmp_path.iterdir())


def test_a_damaged_length_does_not_ask_for_memory(tmp_path: Path) -> None:
    cache, path = filled(tmp_path)
    damaged = bytearray(path.read_bytes())
    damaged[8:16] = b"\xff" * 8
    path.write_bytes(damaged)
    os.truncate(path, 2**40)  # sparse
    assert cache.get(KEY) is None


def test_a_damaged_entry_is_built_again(tmp_path: Path) -> None:
    toolchain = CopyingToolchain()
    unit = Source("unit", "text")
    code = Compiler(toolchain, KernelCache(tmp_path)).compile(unit)
    path = tmp_path / f"{code.key}.kernel"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert Compiler(toolchain, KernelCache(tmp_path)).wait(unit).image == b"text"
    assert len(toolchain.built) == 2
    assert Compiler(toolchain, KernelCache(tmp_path)).known(unit)


def unusable(tmp_path: Path) -> list[Path]:
    """Return folders that cannot be written to, even by root."""
    occupied = tmp_path / "occupied"
    occupied.write_text("a file")
    return [occupied, occupied / "below", Path("/proc/motiflux"), tmp_path / ("x" * 300)]


def test_a_folder_that_cannot_be_used_means_one_warning_and_no_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in unusable(tmp_path):
        monkeypatch.setattr("motiflux.jit.cache._troubles", itertools.count())
        compiler = Compiler(CopyingToolchain(), KernelCache(folder))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for number in range(3):
                unit = Source(f"unit-{number}", "text")
                assert compiler.compile(unit).image == b"text"
                assert compiler.compile(unit).cached
        assert [warning.category for warning in caught] == [MotifluxWarning]
        message = str(caught[0].message)
        assert str(folder) in message
        assert "MOTIFLUX_CACHE" in message


def test_the_warning_comes_once_per_process_whatever_the_thread(tmp_path: Path) -> None:
    (tmp_path / "occupied").write_text("a file")
    script = (
        "import sys, warnings\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from motiflux.jit import Compiler, KernelCache, Source\n"
        "from tests.unit.jit_cases import CopyingToolchain\n"
        "warnings.simplefilter('always')\n"
        "def work(number):\n"
        "    compiler = Compiler(CopyingToolchain(), KernelCache.from_environment())\n"
        "    return compiler.wait(Source('unit', str(number))).image\n"
        "with ThreadPoolExecutor(8) as pool:\n"
        "    print(sorted(pool.map(work, range(8))) == [b'%d' % number for number in range(8)])\n"
    )
    status, out, err = run_python(script, MOTIFLUX_CACHE=str(tmp_path / "occupied"))
    assert (status, out) == (0, "True\n")
    assert err.count("MotifluxWarning") == 1


def test_a_source_that_does_not_compile_is_saved_even_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "occupied").write_text("a file")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = KernelCache(tmp_path / "occupied").save_failed("unit", "text")
    assert path is not None
    assert path.read_text() == "text"
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    assert KernelCache(tmp_path / "occupied").save_failed("unit", "text") is None


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace", "os.scandir"])
def test_a_disk_that_fills_up_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    cache, _ = filled(tmp_path)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(step, full)
        with pytest.warns(MotifluxWarning, match="No space left"):
            cache.put(OTHER, IMAGE)
    assert cache.get(KEY) == IMAGE
    assert cache.get(OTHER) in (None, IMAGE)
    assert all(path.suffix == ".kernel" for path in tmp_path.iterdir())
    cache.put(OTHER, IMAGE)
    assert cache.get(OTHER) == IMAGE


def test_other_things_under_an_entrys_name_do_no_harm(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path)
    os.mkfifo(tmp_path / f"{KEY}.kernel")
    (tmp_path / f"{OTHER}.kernel").mkdir()
    with pytest.warns(MotifluxWarning):
        assert cache.get(KEY) is None
    assert cache.get(OTHER) is None
    cache.put(OTHER, IMAGE)
    cache.put(KEY, IMAGE)
    assert cache.get(KEY) == IMAGE


def test_another_process_may_remove_everything_at_any_time(tmp_path: Path) -> None:
    cache, path = filled(tmp_path / "cache")
    path.unlink()
    assert cache.get(KEY) is None
    path.parent.rmdir()
    assert cache.get(KEY) is None
    cache.put(KEY, IMAGE)
    assert cache.get(KEY) == IMAGE


def test_what_a_crashed_writer_left_is_swept_but_not_what_is_being_written(tmp_path: Path) -> None:
    old, new = (tmp_path / f".kernel-{digit * 16}.tmp" for digit in "01")
    for path in (old, new):
        path.write_bytes(b"half an im")
    hours_ago = time.time() - 7200
    os.utime(old, (hours_ago, hours_ago))
    KernelCache(tmp_path).put(KEY, IMAGE)
    assert not old.exists()
    assert new.exists()


CROWD = """
import hashlib, random, sys
from pathlib import Path
from motiflux.jit import KernelCache
folder, number, rounds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
cache = KernelCache(folder, limit=40_000)  # about half of what is put: everyone evicts all the time
draw = random.Random(number)
def image(key):
    return hashlib.shake_256(key.encode()).digest(4000 + int(key[-2:], 16) * 50)
hits = 0
for _ in range(rounds):
    key = f"{draw.randrange(16):064x}"
    match draw.randrange(8):
        case 0:
            try:
                path = folder / f"{key}.kernel"
                path.write_bytes(path.read_bytes()[:-1])  # damage
            except FileNotFoundError:
                pass
        case 1 | 2:
            cache.put(key, image(key))
        case _:
            found = cache.get(key)
            assert found is None or found == image(key)
            hits += found is not None
print(hits)
"""


@pytest.mark.turns(8)
def test_a_crowd_of_processes_gets_right_images_only(tmp_path: Path) -> None:
    crowd = [start_python(CROWD, str(tmp_path), str(number), "400") for number in range(4)]
    hits = 0
    for process in crowd:
        with process:
            out, err = process.communicate(timeout=120)
        assert (process.returncode, err) == (0, "")
        hits += int(out)
    assert hits > 0
    assert all(path.suffix == ".kernel" for path in tmp_path.iterdir())


WRITE = """
import sys
from pathlib import Path
from motiflux.jit import KernelCache
cache = KernelCache(Path(sys.argv[1]))
print("ready", flush=True)
while True:
    cache.put("5a" * 32, bytes(4_000_000))
"""


@pytest.mark.turns(8)
def test_no_part_of_a_file_is_ever_seen_and_a_killed_writer_leaves_the_cache_usable(tmp_path: Path) -> None:
    path = tmp_path / f"{KEY}.kernel"
    for round_ in range(3):
        with start_python(WRITE, str(tmp_path)) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            wait_until(path.exists, "the file", of=writer)
            looks = 0
            while looks < 10_000 + 2_345 * round_:
                if path.exists():
                    assert path.stat().st_size == 4_000_080
                    looks += 1
            writer.kill()
        cache = KernelCache(tmp_path)
        assert cache.get(KEY) == (bytes(4_000_000) if path.exists() else None)
        cache.put(OTHER, IMAGE)
        assert cache.get(OTHER) == IMAGE
    assert set(tmp_path.glob("*.kernel")) == {path, tmp_path / f"{OTHER}.kernel"}
