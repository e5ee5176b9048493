"""What has changed since all checks passed decides which of them `.ci/run` runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.full_checks import (
    PARTS,
    RECORD,
    REPOSITORY,
    Check,
    changed_files,
    changed_parts,
    commands_of,
    number_of_commit,
    record,
    run,
)

KERNEL = "src/motiflux/include/motiflux/match/count.cuh"
SEARCH = "csrc/search/search.cpp"


def git(folder: Path, *arguments: str) -> None:
    settings = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *settings, *arguments], cwd=folder, check=True, capture_output=True)


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "more")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository whose checks have passed at a commit."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    for name in (KERNEL, SEARCH, "README.md"):
        write(folder, name, "first\n")
    commit(folder)
    assert record(folder) is None
    commit(folder)
    return folder


def names(folder: Path) -> list[str]:
    return [part.name for part in changed_parts(changed_files(folder))]


def test_nothing_is_checked_where_nothing_has_changed(repository: Path) -> None:
    assert changed_files(repository) == [RECORD]
    write(repository, "README.md", "second\n")
    commit(repository)
    assert names(repository) == []


def test_a_part_with_a_change_is_checked(repository: Path) -> None:
    write(repository, KERNEL, "second\n")
    assert names(repository) == ["kernels", "tests in turn"]  # without a commit
    commit(repository)
    assert names(repository) == ["kernels", "tests in turn"]
    write(repository, "csrc/search/new.cpp", "first\n")
    assert names(repository) == ["search on CPUs", "kernels", "tests in turn"]


def test_all_parts_are_checked_where_the_last_commit_is_not_known(repository: Path, tmp_path: Path) -> None:
    every = [part.name for part in PARTS]
    write(repository, "README.md", "second\n")
    commit(repository)
    git(tmp_path, "clone", "-q", "--depth", "1", repository.as_uri(), "shallow")
    assert names(tmp_path / "shallow") == every
    write(repository, RECORD, f"{'0' * 40}\n")
    assert names(repository) == every
    write(repository, RECORD, "")
    assert names(repository) == every
    (repository / RECORD).unlink()
    assert names(repository) == every


def test_only_a_commit_is_recorded(repository: Path) -> None:
    before = (repository / RECORD).read_text()
    write(repository, "README.md", "second\n")
    assert record(repository) == "there are changes without a commit"
    assert (repository / RECORD).read_text() == before
    commit(repository)
    assert record(repository) is None
    assert (repository / RECORD).read_text() != before
    assert record(repository.parent) == "there is no commit"


def test_parts_name_folders_and_checks_that_exist() -> None:
    for part in PARTS:
        assert all((REPOSITORY / folder).is_dir() for folder in part.folders)
        for check in part.checks:
            assert all((REPOSITORY / word).exists() for word in check.command if word.startswith("tests/"))


def collected(*options: str) -> list[str]:
    """Return the tests of a file that pytest would run."""
    command = [sys.executable, "-m", "pytest", "-qp", "no:cacheprovider", "--collect-only", *options]
    file = "tests/fault/test_long_outputs.py"
    done = subprocess.run([*command, file], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return sorted(line for line in done.stdout.splitlines() if line.startswith(file))


@pytest.mark.turns(8)
@pytest.mark.parametrize("chosen", [(), ("-k", "edges")], ids=str)
def test_every_long_test_is_in_one_share(chosen: tuple[str, ...]) -> None:
    check = Check(chosen, 2)
    shares = [collected("--long", *check.share(number)) for number in (5, 6)]
    assert all(shares)
    assert sorted(test for share in shares for test in share) == collected("-m", "long", *chosen)


def test_another_share_is_run_with_each_commit(repository: Path) -> None:
    first = number_of_commit(repository)
    write(repository, "README.md", "second\n")
    commit(repository)
    assert number_of_commit(repository) == first + 1
    assert number_of_commit(repository.parent) == 0
    for part in PARTS:
        every = {(check.command, at) for check in part.checks for at in range(check.shares or 0)}
        run = [part.share(number) for number in range(first, first + len(part.checks) * 200)]
        assert {command[:-2] for commands in run for command in commands} == {command for command, _ in every}
        for command, at in every:
            shares = next(check.shares for check in part.checks if check.command == command)
            assert [(*command, "--share", f"{at}/{shares}")] in run


def test_what_make_test_runs_in_turn_has_no_shares() -> None:
    (part,) = (part for part in PARTS if part.name == "tests in turn")
    assert commands_of([part], 1) == []
    assert len(commands_of([part])) == len(part.checks) == 2


def test_a_check_that_fails_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([("echo", "fine"), ("sh", "-c", "echo wrong; exit 3"), ("false",)]) == 2
    said = capsys.readouterr().out
    assert said.endswith("failed: sh -c 'echo wrong; exit 3'\nfailed: false\n")
    assert "==> echo fine\nfine\n" in said
    assert "wrong\n" in said
