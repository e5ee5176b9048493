"""The environment of a measurement: processor, versions, commit."""

from __future__ import annotations

import platform
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")


def cpu_model() -> str:
    """Name the processor as the system does, e.g. ``AMD EPYC 9R14``."""
    try:
        text = CPU_INFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    named = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return named.group(1).strip() if named else platform.processor() or platform.machine()


def slug(name: str) -> str:
    """Give a name as part of a file name.

    >>> slug("Intel(R) Xeon(R) CPU @ 2.50GHz")
    'intel-r-xeon-r-cpu-2-50ghz'
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unknown"


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of Python and of the packages; a missing package is named as such."""
    from importlib.metadata import PackageNotFoundError, version  # takes 20 ms

    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def commit(folder: Path) -> str:
    """Give the commit of a folder, with ``-dirty`` if files differ; ``unknown`` outside a repository."""
    head = _git(folder, "rev-parse", "HEAD")
    if not head:
        return "unknown"
    return head + ("-dirty" if _git(folder, "status", "--porcelain") else "")


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
