"""The cells that `make test` looks at: every pair of values each time, every cell in a few commits."""

from __future__ import annotations

from itertools import combinations

import pytest

from tests import rotating as rotating_module
from tests.rotating import few_emulated, is_turn_of, pairwise_cover, rotating, seed_of_commit
from tests.strategies import COMBINATIONS


def pairs(cells: list[tuple[object, ...]]) -> set[object]:
    return {pair for cell in cells for pair in combinations(enumerate(cell), 2)}


@pytest.mark.parametrize("seed", range(20))
def test_a_cover_has_every_pair_and_few_cells(seed: int) -> None:
    cover = pairwise_cover(COMBINATIONS, str(seed))
    assert pairs(cover) == pairs(COMBINATIONS)
    assert len(cover) == len(set(cover)) <= 16 < len(COMBINATIONS) == 40


def test_a_few_commits_see_every_cell() -> None:
    seen = {cell for seed in range(25) for cell in pairwise_cover(COMBINATIONS, f"commit {seed}")}
    assert seen == set(COMBINATIONS)


def test_a_commit_always_has_the_same_cells() -> None:
    assert pairwise_cover(COMBINATIONS, "a") == pairwise_cover(COMBINATIONS, "a")
    assert pairwise_cover(COMBINATIONS, "a") != pairwise_cover(COMBINATIONS, "b")
    assert seed_of_commit() == seed_of_commit() != ""


def test_cells_outside_the_cover_are_long_and_none_is_lost() -> None:
    parameters = rotating(COMBINATIONS)
    assert [parameter.values[0] for parameter in parameters] == COMBINATIONS
    quick = [parameter.values[0] for parameter in parameters if not parameter.marks]
    assert pairs(quick) == pairs(COMBINATIONS)
    assert {mark.name for parameter in parameters for mark in parameter.marks} == {"long"}


def test_pairs_that_are_not_emulated_keep_their_names() -> None:
    parameters = few_emulated(2, {"a": 1, "b": 2}, {"c": [3], "d": [4]})
    assert [one.id for one in parameters] == ["a-c", "a-d", "b-c", "b-d"]
    assert [one.values for one in parameters] == [(1, [3]), (1, [4]), (2, [3]), (2, [4])]
    assert sorted(mark.args for one in parameters for mark in one.marks) == [("emulated",)] * 2


def test_only_so_many_cells_are_looked_at_where_that_is_asked() -> None:
    quick = [parameter.values[0] for parameter in rotating(COMBINATIONS, most=6) if not parameter.marks]
    assert len(quick) == 6


def test_each_test_has_its_turn_once_in_so_many_commits() -> None:
    names = [f"tests/unit/test_some.py::test_{number}" for number in range(400)]
    turns = [{name for name in names if is_turn_of(name, 4, commit)} for commit in range(1000, 1004)]
    assert set().union(*turns) == set(names)
    assert sum(map(len, turns)) == len(names)
    assert all(60 < len(turn) < 140 for turn in turns)


def test_a_file_that_is_being_edited_has_all_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    file = "tests/unit/test_some.py"
    names = [f"{file}::test_{number}" for number in range(20)]
    monkeypatch.setattr(rotating_module, "_edited", lambda: frozenset())
    assert 0 < sum(is_turn_of(name, 4) for name in names) < len(names)
    monkeypatch.setattr(rotating_module, "_edited", lambda: frozenset({file}))
    assert all(is_turn_of(name, 4) for name in names)
    assert not all(is_turn_of(name.replace("some", "other"), 4) for name in names)
