"""Compiled units are kept on disk, within a limit, where the user wants them."""

from __future__ import annotations

from pathlib import Path

import pytest

from motiflux.errors import ArgumentError
from motiflux.jit import KernelCache
from motiflux.jit.cache import DEFAULT_LIMIT

KEYS = [f"{number:064x}" for number in range(10)]
HEADER_BYTES = 80


def entries(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("*.kernel")}


@pytest.mark.parametrize("image", [b"", b"x", bytes(range(256)) * 1000])
def test_what_is_put_is_got(tmp_path: Path, image: bytes) -> None:
    cache = KernelCache(tmp_path / "new" / "folder")
    assert cache.get(KEYS[0]) is None
    cache.put(KEYS[0], image)
    assert cache.get(KEYS[0]) == image
    assert cache.get(KEYS[1]) is None
    assert KernelCache(tmp_path / "new" / "folder").get(KEYS[0]) == image


def test_a_later_image_replaces_an_earlier_one(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path)
    cache.put(KEYS[0], b"first")
    cache.put(KEYS[0], b"second")
    assert cache.get(KEYS[0]) == b"second"
    assert [path.name for path in tmp_path.iterdir()] == [f"{KEYS[0]}.kernel"]


def test_the_folder_is_the_users_alone(tmp_path: Path) -> None:
    KernelCache(tmp_path / "cache").put(KEYS[0], b"image")
    assert (tmp_path / "cache").stat().st_mode & 0o077 == 0


def test_entries_not_used_for_longest_go_first(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path, limit=3 * (HEADER_BYTES + 100))
    for key in KEYS[:3]:
        cache.put(key, bytes(100))
    assert entries(tmp_path) == set(KEYS[:3])
    assert cache.get(KEYS[0]) is not None  # used again: now the second is the oldest
    cache.put(KEYS[3], bytes(100))
    assert entries(tmp_path) == {KEYS[0], KEYS[2], KEYS[3]}
    cache.put(KEYS[4], bytes(200))
    assert entries(tmp_path) == {KEYS[3], KEYS[4]}


def test_the_limit_holds_for_all_files_together(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path, limit=2500)
    for key in KEYS:
        cache.put(key, bytes(500))
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 2500
    assert entries(tmp_path) == set(KEYS[-4:])


def test_an_image_larger_than_the_limit_drives_nothing_out(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path, limit=1000)
    cache.put(KEYS[0], bytes(100))
    cache.put(KEYS[1], bytes(1000))
    assert entries(tmp_path) == {KEYS[0]}


def test_files_that_are_not_the_caches_own_are_left_alone(tmp_path: Path) -> None:
    foreign = [tmp_path / "notes.txt", tmp_path / "other.kernel", tmp_path / ".motiflux-0123456789abcdef.tmp"]
    for path in foreign:
        path.write_bytes(bytes(5000))
    (tmp_path / "folder.kernel").mkdir()
    KernelCache(tmp_path, limit=1000).put(KEYS[0], b"image")
    assert all(path.exists() for path in foreign)
    assert entries(tmp_path) >= {KEYS[0]}


def test_a_cache_that_is_off_keeps_nothing() -> None:
    cache = KernelCache.from_environment({"MOTIFLUX_CACHE": " OFF "})
    assert cache.folder is None
    cache.put(KEYS[0], b"image")
    assert cache.get(KEYS[0]) is None


def test_the_environment_says_where_and_how_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    cases = {
        tmp_path / "chosen": {"MOTIFLUX_CACHE": str(tmp_path / "chosen"), "XDG_CACHE_HOME": "/elsewhere"},
        tmp_path / "home" / "chosen": {"MOTIFLUX_CACHE": "~/chosen"},
        tmp_path / "xdg" / "motiflux" / "kernels": {
            "MOTIFLUX_CACHE": "",
            "XDG_CACHE_HOME": str(tmp_path / "xdg"),
        },
        tmp_path / "home" / ".cache" / "motiflux" / "kernels": {},
        tmp_path / "home" / ".cache" / "motiflux" / "kernels/": {"XDG_CACHE_HOME": "relative"},
    }
    for folder, environment in cases.items():
        assert KernelCache.from_environment(environment).folder == folder
    assert KernelCache.from_environment({}).limit == DEFAULT_LIMIT == 512 * 2**20
    assert KernelCache.from_environment({"MOTIFLUX_CACHE_BYTES": "1000"}).limit == 1000


def test_a_folder_named_relatively_stays_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "later").mkdir()
    monkeypatch.chdir(tmp_path)
    cache = KernelCache.from_environment({"MOTIFLUX_CACHE": "cache"})
    monkeypatch.chdir(tmp_path / "later")
    cache.put(KEYS[0], b"image")
    assert entries(tmp_path / "cache") == {KEYS[0]}


@pytest.mark.parametrize("limit", ["lots", "-1", "1.5", "5GiB"])
def test_a_limit_that_is_no_number_of_bytes_is_refused(limit: str) -> None:
    with pytest.raises(ArgumentError, match="MOTIFLUX_CACHE_BYTES"):
        KernelCache.from_environment({"MOTIFLUX_CACHE_BYTES": limit})


def test_failed_sources_are_saved_and_only_the_newest_kept(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path)
    paths = [cache.save_failed(f"unit-{number}", f"text {number}") for number in range(40)]
    assert paths[-1] == tmp_path / "failed" / "unit-39.cu"
    assert paths[-1].read_text() == "text 39"
    assert len(list((tmp_path / "failed").iterdir())) == 32


def test_failed_sources_go_elsewhere_without_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = KernelCache(None).save_failed("unit", "text")
    assert path is not None
    assert path.parent == tmp_path
    assert path.read_text() == "text"
    assert "unit" in path.name
