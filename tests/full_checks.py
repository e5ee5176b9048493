"""Run all checks of the parts that have changed since all checks passed.

    python tests/full_checks.py            run them
    python tests/full_checks.py --share    run a share of their long tests, of another check and another one
                                           with each commit; `.ci/run` does so
    python tests/full_checks.py --list     tell which parts have changed
    python tests/full_checks.py --record   all checks have passed; `make test-all` does so at its end

``tests/full_checks.txt`` names the commit at which `make test-all` passed last. If the history does not have
it, as in a shallow clone, or without the file or Git, all parts count as changed.

Exit codes: 0 all passed or nothing has changed, 1 some failed, or there is no commit to record.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
RECORD = "tests/full_checks.txt"

_SIDE_BY_SIDE = 2
"""Checks that run at once."""
_PYTEST = (sys.executable, "-m", "pytest", "-q", "--long")
_EMULATED = ("scripts/test-emulated.sh", sys.executable, "--long")


@dataclass(frozen=True, slots=True)
class Check:
    """Tests of a part, by one call of pytest.

    Parameters
    ----------
    command
        The call. It takes further options.
    shares
        Shares that the tests which `make test` leaves out are divided into, so that one takes about a minute
        of a core. None if `make test` runs all of them within a few commits.
    """

    command: tuple[str, ...]
    shares: int | None

    def share(self, number: int) -> tuple[str, ...]:
        """Return the command that runs one share; later numbers are of other shares, until all were run."""
        assert self.shares is not None
        return (*self.command, "--share", f"{number % self.shares}/{self.shares}")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the sources.

    Parameters
    ----------
    name
        What it is called.
    folders
        Where its sources are, relative to the repository.
    checks
        All that `make test-all` checks of it; `make test` runs some of these.
    """

    name: str
    folders: tuple[str, ...]
    checks: tuple[Check, ...]

    def share(self, number: int) -> list[tuple[str, ...]]:
        """Return the command for one share of one check; later numbers are of other checks and shares."""
        divided = [check for check in self.checks if check.shares is not None]
        return [divided[number % len(divided)].share(number // len(divided))] if divided else []


def _in(folder: str, *names: str) -> list[str]:
    return [f"tests/{folder}/test_{name}.py" for name in names]


PARTS = (
    Part(
        "search on CPUs",
        ("csrc/search", "csrc/sets", "csrc/common", "src/motiflux/include/motiflux/sets"),
        (
            Check((*_PYTEST, "tests/native", "-k", "not dynamic and not updates"), 4),
            Check(
                (
                    *_PYTEST,
                    *_in("property", "agreement", "backjumping", "tails", "parts", "witnesses", "options"),
                ),
                96,
            ),
        ),
    ),
    Part(
        "graphs that change",
        ("csrc/dynamic", "csrc/text"),
        (
            Check((*_PYTEST, "tests/native", "-k", "dynamic or updates"), 12),
            Check((*_PYTEST, *_in("property", "monitor"), *_in("oracle", "streams")), 4),
        ),
    ),
    Part(
        "kernels",
        ("src/motiflux/include/motiflux/match", "src/motiflux/codegen"),
        (
            Check((*_PYTEST, "tests/nvrtc"), 16),
            Check((*_EMULATED, "tests/backend", "tests/device"), 128),
            Check(
                (
                    *_EMULATED,
                    *_in("property", "agreement", "block_stealing", "cones", "tails", "several_devices"),
                ),
                24,
            ),
        ),
    ),
    Part("services", ("src/motiflux/serve",), (Check((*_PYTEST, "tests/serve"), 5),)),
    Part("pages", ("docs",), (Check((*_PYTEST, "tests/unit/test_docs_examples.py"), None),)),
    Part(
        "tests in turn",
        ("src", "csrc"),
        (
            Check((*_PYTEST, "-m", "turns", "tests"), None),
            Check((*_EMULATED, "-m", "turns", "tests/backend", "tests/device", "tests/property"), None),
        ),
    ),
)


def changed_files(repository: Path = REPOSITORY) -> list[str] | None:
    """Return the files that differ from the recorded commit; None if that cannot be told."""
    try:
        words = (repository / RECORD).read_text().split()
        commit = words[0] if words else ""
        if _git(repository, "merge-base", "--is-ancestor", commit, "HEAD") is None:
            return None
        differing = _git(repository, "diff", "--name-only", commit)
        new = _git(repository, "ls-files", "--others", "--exclude-standard")
    except OSError:
        return None
    return None if differing is None or new is None else [*differing.splitlines(), *new.splitlines()]


def changed_parts(files: Sequence[str] | None, parts: Sequence[Part] = PARTS) -> list[Part]:
    """Return the parts that have one of the files; all of them if the files are not known."""
    if files is None:
        return list(parts)
    return [
        part
        for part in parts
        if any(file.startswith(f"{folder}/") for file in files for folder in part.folders)
    ]


def record(repository: Path = REPOSITORY) -> str | None:
    """Record the current commit; return why not, if there are changes that are not in it."""
    status = _git(repository, "status", "--porcelain", "--", ".", f":!{RECORD}")
    head = _git(repository, "rev-parse", "HEAD")
    if status is None or head is None:
        return "there is no commit"
    if status:
        return "there are changes without a commit"
    (repository / RECORD).parent.mkdir(exist_ok=True)
    (repository / RECORD).write_text(f"{head.strip()}\n")
    return None


def _git(repository: Path, *arguments: str) -> str | None:
    """Return what Git prints, None if it fails."""
    done = subprocess.run(["git", *arguments], cwd=repository, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def commands_of(parts: Sequence[Part], share: int | None = None) -> list[tuple[str, ...]]:
    """Return the commands of all checks of parts, or of the share of each part that a number stands for."""
    if share is not None:
        return [command for part in parts for command in part.share(share)]
    return [check.command for part in parts for check in part.checks]


def run(commands: Sequence[tuple[str, ...]]) -> int:
    """Run commands, a few at once, and print what each says when it ends; return how many failed."""
    failed = []
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        for command, (status, text) in zip(commands, pool.map(_told, commands), strict=True):
            print(f"==> {shlex.join(command)}\n{text}", flush=True)
            if status != 0:
                failed.append(command)
    for command in failed:
        print(f"failed: {shlex.join(command)}")
    return len(failed)


def _told(command: tuple[str, ...]) -> tuple[int, str]:
    done = subprocess.run(
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.returncode, done.stdout


def number_of_commit(repository: Path = REPOSITORY) -> int:
    """Return a number that grows by one with each commit of the main line; 0 without Git.

    A shallow clone does not know how many there are: there it is any number that belongs to the commit.
    """
    if (_git(repository, "rev-parse", "--is-shallow-repository") or "").strip() == "true":
        return int((_git(repository, "rev-parse", "HEAD") or "0")[:8], 16)
    count = _git(repository, "rev-list", "--count", "--first-parent", "HEAD")
    return int(count) if count is not None else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="tell which parts have changed")
    what.add_argument("--share", action="store_true", help="run a share, another one with each commit")
    what.add_argument("--record", action="store_true", help="record that all checks passed at this commit")
    asked = parser.parse_args(arguments)
    if asked.record:
        reason = record()
        print(f"{RECORD} stays as it is: {reason}" if reason else f"recorded in {RECORD}: commit that file")
        return 0 if reason is None else 1
    parts = changed_parts(changed_files())
    names = ", ".join(part.name for part in parts) or "no part"
    print(f"==> changed since all checks passed: {names}", flush=True)
    if asked.list:
        return 0
    return min(1, run(commands_of(parts, number_of_commit() if asked.share else None)))


if __name__ == "__main__":
    raise SystemExit(main())
