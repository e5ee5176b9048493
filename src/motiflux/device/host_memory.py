"""Memory of the host that this process may use: of the machine, and within the limits of its control groups.

A container, a service or a job of a cluster is in a control group with a limit, which the kernel enforces by
ending processes. Limits hold for a group with all groups below it, so those above the own one count, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path("/")


@dataclass(frozen=True)
class _Files:
    """Names of the files of one version of control groups.

    Attributes
    ----------
    limit, usage
        Files with one number, or ``max``.
    reclaimable
        Lines of ``memory.stat`` with bytes that the kernel takes back when the group needs memory.
    """

    limit: str
    usage: str
    reclaimable: tuple[str, ...]


_V2 = _Files("memory.max", "memory.current", ("inactive_file", "active_file", "slab_reclaimable"))
_V1 = _Files("memory.limit_in_bytes", "memory.usage_in_bytes", ("total_inactive_file", "total_active_file"))


def total(root: Path = ROOT) -> int:
    """Return the bytes of memory of the machine, or of the least limit on this process.

    Parameters
    ----------
    root
        Where ``proc`` and ``sys`` are.
    """
    limits = [
        limit for folder, files in _groups(root) if (limit := _number(folder / files.limit)) is not None
    ]
    return min(_of_machine(root), *limits) if limits else _of_machine(root)


def available(root: Path = ROOT) -> int | None:
    """Return the bytes that this process can get without anything being moved to a disk; None if unknown.

    What the kernel can take back, mostly copies of files, counts as available.
    """
    rooms = [
        max(0, limit - usage + _reclaimable(folder / "memory.stat", files.reclaimable))
        for folder, files in _groups(root)
        if (limit := _number(folder / files.limit)) is not None
        and (usage := _number(folder / files.usage)) is not None
    ]
    machine = _meminfo(root, "MemAvailable")
    return min(rooms if machine is None else [*rooms, machine], default=None)


def _of_machine(root: Path) -> int:
    found = _meminfo(root, "MemTotal")
    return int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_PHYS_PAGES")) if found is None else found


def _meminfo(root: Path, name: str) -> int | None:
    for line in _lines(root / "proc" / "meminfo"):
        key, _, value = line.partition(":")
        if key == name and (words := value.split()) and words[0].isdecimal():
            return int(words[0]) << 10
    return None


def _groups(root: Path) -> Iterator[tuple[Path, _Files]]:
    """Yield the folders of the own control group and of those above it; some may not be there.

    A container may see the path of its group from outside. Then only the top folder exists: it is its own.
    """
    mounts = root / "sys" / "fs" / "cgroup"
    for line in _lines(root / "proc" / "self" / "cgroup"):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "":
            top, files = mounts, _V2
        elif "memory" in controllers.split(","):
            top, files = mounts / "memory", _V1
        else:
            continue
        own = PurePosixPath(path)
        for group in (own, *own.parents):
            yield top / str(group).lstrip("/"), files


def _reclaimable(path: Path, names: tuple[str, ...]) -> int:
    found = 0
    for line in _lines(path):
        name, _, value = line.partition(" ")
        if name in names and value.isdecimal():
            found += int(value)
    return found


def _number(path: Path) -> int | None:
    """Return the number in a file; None if there is no file, or no limit."""
    text = "".join(_lines(path)).strip()
    return int(text) if text.isdecimal() else None


def _lines(path: Path) -> list[str]:
    with suppress(OSError, UnicodeDecodeError):
        return path.read_text().splitlines()
    return []
