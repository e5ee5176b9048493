"""Lines that are changed to see whether tests notice: which, and that clones are put back."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests import mutate
from tests.mutate import Suite, draw, look, mutants_of

CODE = '''"""One and two: a < b."""

LIMIT = 0.0


def least(values: list[int]) -> bool:
    """Return True or False."""
    # a < b
    return "a < b" != "" and min(values) < 1  # a == b
'''


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = tmp_path / "clone"
    (folder / "src/motiflux").mkdir(parents=True)
    (folder / "src/motiflux/code.py").write_text(CODE)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    return folder


def test_only_code_is_changed(clone: Path) -> None:
    found = {one.after.strip() for one in mutants_of(clone / "src/motiflux/code.py", clone)}
    assert found == {
        'return "a < b" == "" and min(values) < 1  # a == b',
        'return "a < b" != "" or min(values) < 1  # a == b',
        'return "a < b" != "" and max(values) < 1  # a == b',
        'return "a < b" != "" and min(values) <= 1  # a == b',
        'return "a < b" != "" and min(values) < 0  # a == b',
    }


@pytest.mark.turns(8)
def test_a_seed_always_gives_the_same_changes() -> None:
    first = draw(3, 4, 2)
    assert draw(3, 4, 2) == first
    assert len({one.file for one in first}) == 6
    assert all(one.before != one.after for one in first)
    assert draw(4, 4, 2) != first


def test_a_table_tells_which_suites_notice(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mutate, "FOUND", tmp_path / "found.jsonl")
    mutants = [one for one in mutants_of(clone / "src/motiflux/code.py", clone) if "max" in one.after]
    suites = [
        Suite.parse(f"blind={clone}=true"),
        Suite.parse(f"keen={clone}=grep -q min src/motiflux/code.py"),
        Suite.parse(f"slow={clone}=sleep 600"),
    ]
    expected = {mutants[0]: {"blind": False, "keen": True, "slow": True}}
    assert look(mutants, suites, 0.5) == expected
    assert (clone / "src/motiflux/code.py").read_text() == CODE
    assert "blind: MISSED; keen: caught;" in capsys.readouterr().out
    (clone / "src/motiflux/code.py").unlink()
    assert look(mutants, suites, 0.5) == expected  # known from the first run
