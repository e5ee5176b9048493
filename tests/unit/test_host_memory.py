"""Memory of the host that a process may use, read from copies of the kernel's files."""

from __future__ import annotations

from pathlib import Path

import pytest

from motiflux.device.host_memory import available, total

MIB = 1 << 20
FILES = {
    "v2": ("memory.max", "memory.current", "inactive_file", "0::{}\n", ""),
    "v1": (
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
        "12:cpu,cpuacct:/elsewhere\n4:memory:{}\n1:name=systemd:/init\n0::/init\n",
        "memory",
    ),
}


def machine(root: Path, mib: int = 1000, free: int = 600) -> Path:
    (root / "proc" / "self").mkdir(parents=True)
    meminfo = f"MemTotal:   {mib << 10} kB\nMemFree:   {1 << 10} kB\nMemAvailable:   {free << 10} kB\n"
    (root / "proc" / "meminfo").write_text(meminfo)
    return root


def group(root: Path, version: str, path: str, limit: str, usage: int = 0, files: int = 0) -> None:
    names = FILES[version]
    folder = root / "sys" / "fs" / "cgroup" / names[4] / path.lstrip("/")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{usage}\n")
    (folder / "memory.stat").write_text(f"anon 5\n{names[2]} {files}\nshmem 7\n")


def of(root: Path, version: str, path: str) -> None:
    (root / "proc" / "self" / "cgroup").write_text(FILES[version][3].format(path))


def test_without_control_groups_it_is_that_of_the_machine(tmp_path: Path) -> None:
    root = machine(tmp_path)
    assert (total(root), available(root)) == (1000 * MIB, 600 * MIB)


def test_this_machine_has_some() -> None:
    assert total() > 1 << 28
    found = available()
    assert found is None or 0 < found <= total()


def test_where_nothing_is_known_no_memory_is_missed(tmp_path: Path) -> None:
    assert available(tmp_path) is None
    assert total(tmp_path) > 1 << 28


@pytest.mark.parametrize("version", FILES)
def test_the_limit_of_the_own_group_holds(tmp_path: Path, version: str) -> None:
    root = machine(tmp_path)
    of(root, version, "/jobs/mine")
    group(root, version, "/jobs/mine", str(300 * MIB), usage=250 * MIB, files=40 * MIB)
    group(root, version, "/jobs/other", str(MIB))
    assert (total(root), available(root)) == (300 * MIB, 90 * MIB)


@pytest.mark.parametrize("version", FILES)
def test_limits_of_groups_above_it_hold_too(tmp_path: Path, version: str) -> None:
    root = machine(tmp_path)
    of(root, version, "/jobs/mine")
    group(root, version, "/jobs/mine", str(300 * MIB))
    group(root, version, "/jobs", str(200 * MIB), usage=210 * MIB)
    assert (total(root), available(root)) == (200 * MIB, 0)


@pytest.mark.parametrize("version", FILES)
def test_a_container_that_sees_the_path_from_outside_has_its_limit_at_the_top(
    tmp_path: Path, version: str
) -> None:
    root = machine(tmp_path)
    of(root, version, "/docker/0123456789ab")
    group(root, version, "/", str(300 * MIB), usage=100 * MIB)
    assert (total(root), available(root)) == (300 * MIB, 200 * MIB)


@pytest.mark.parametrize(("version", "limit"), [("v2", "max"), ("v1", str(2**63 - 4096))])
def test_no_limit_is_none(tmp_path: Path, version: str, limit: str) -> None:
    root = machine(tmp_path)
    of(root, version, "/jobs/mine")
    group(root, version, "/jobs/mine", limit, usage=900 * MIB)
    assert (total(root), available(root)) == (1000 * MIB, 600 * MIB)
