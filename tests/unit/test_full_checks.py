"""What has changed since all checks passed decides which of them `.ci/run` runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.full_checks import PARTS, RECORD, REPOSITORY, changed_files, changed_parts, record

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
    assert names(repository) == ["kernels"]  # without a commit
    commit(repository)
    assert names(repository) == ["kernels"]
    write(repository, "csrc/search/new.cpp", "first\n")
    assert names(repository) == ["search on CPUs", "kernels"]


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
            assert all((REPOSITORY / word).exists() for word in check if word.startswith("tests/"))
