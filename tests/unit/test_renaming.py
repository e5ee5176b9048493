"""New ids of vertices by Algorithm 2 of GENEVA, against the algorithm in plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motiflux import _native
from tests.unit.pcsr_cases import as_arrays, number_of_intervals, renamed_by_the_paper

PARTITIONS = st.lists(st.sets(st.integers(0, 6)).map(sorted), max_size=40)
WIDE = st.lists(st.sets(st.integers(0, 90), max_size=4).map(sorted), max_size=25)
"""More partitions than vertices."""

EXAMPLE = [[0], [0, 1], [0, 2], [1], [0, 1, 2], [2], [0, 1], [1, 2], [0, 1, 2], [0, 2]]
"""Of Fig. 4d the text says: vertices 4 and 8 are in partitions 0, 1 and 2; partition 0 is the largest, its
second sub-partition is shared with partition 1, and both are one interval of partitions 0 and 1."""


def rename(partitions_of: list[list[int]], count: int, steps: int = _native.COMPARED_STEPS) -> list[int]:
    return _native.rename_vertices(*as_arrays(partitions_of), count, steps, 1).tolist()


@settings(settings.get_profile("many"))
@given(st.one_of(PARTITIONS, WIDE))
def test_ids_are_those_of_the_paper(partitions_of: list[list[int]]) -> None:
    assert rename(partitions_of, 91) == renamed_by_the_paper(partitions_of)


@settings(settings.get_profile("many"))
@given(st.one_of(PARTITIONS, WIDE), st.sampled_from((0, 3, 20)))
def test_ids_are_a_permutation_wherever_comparisons_end(partitions_of: list[list[int]], steps: int) -> None:
    renamed = rename(partitions_of, 91, steps)
    assert sorted(renamed) == list(range(len(partitions_of)))
    with_arcs = sum(map(bool, partitions_of))
    assert all((renamed[v] < with_arcs) == bool(of) for v, of in enumerate(partitions_of))
    found = number_of_intervals(partitions_of, renamed)
    if found:
        sizes = {one: sum(one in of for of in partitions_of) for one in found}
        largest = max(sizes, key=lambda one: (sizes[one], -one))
        assert found[largest] == 1


@pytest.mark.parametrize("steps", [0, _native.COMPARED_STEPS], ids=["Gray", "compared"])
def test_the_paper_s_example_has_fewer_intervals(steps: int) -> None:
    renamed = rename(EXAMPLE, 3, steps)
    assert sorted(renamed) == list(range(10))
    assert {renamed[4], renamed[8]} == {0, 1}
    assert {renamed[1], renamed[6]} == {2, 3}
    new, old = (number_of_intervals(EXAMPLE, ids) for ids in (renamed, list(range(10))))
    assert new[0] == 1
    assert sum(new.values()) < sum(old.values())


@pytest.mark.parametrize("partitions", [5, 12])
def test_random_share_sets_have_far_fewer_intervals_than_ids_of_the_graph(partitions: int) -> None:
    rng = np.random.default_rng(7)
    members = rng.random((3000, partitions)) < 0.4
    partitions_of = [np.flatnonzero(row).tolist() for row in members]
    old = number_of_intervals(partitions_of, range(3000))
    for steps in (0, 10_000, _native.COMPARED_STEPS):
        new = number_of_intervals(partitions_of, rename(partitions_of, partitions, steps))
        assert 2 * sum(new.values()) < sum(old.values())
        assert len(new) == partitions


@pytest.mark.parametrize(
    "partitions_of",
    [[], [[]], [[], []], [[0]], [[], [0], []], [[0]] * 5, [[v] for v in range(8)], [[7], [7, 8], [8]]],
    ids=str,
)
def test_few_vertices_and_empty_partitions(partitions_of: list[list[int]]) -> None:
    assert rename(partitions_of, 10) == renamed_by_the_paper(partitions_of)


@pytest.mark.parametrize(
    ("offsets", "partitions"),
    [([0, 2], [1, 1]), ([0, 2], [1, 0]), ([0, 1], [5]), ([0, 2], [1]), ([1, 1], [1]), ([0, 1, 0, 1], [1])],
    ids=str,
)
def test_partitions_that_are_not_ascending_are_refused(offsets: list[int], partitions: list[int]) -> None:
    with pytest.raises(ValueError, match="expected"):
        _native.rename_vertices(np.array(offsets, np.uint64), np.array(partitions, np.uint32), 5, 0, 1)
