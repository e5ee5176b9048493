"""Transfers that repeat, hubs, and rings in order of time: those planted are there, and no others."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux.generate import BANDS, EdgeColumns, Planted, Transfers

Wire = tuple[int, float]
"""Time and amount."""

RINGS = Transfers(
    transfers=40_000, copies=8, hubs=20, ordered_rings=12, ordered_decoys=24, ordered_copies=3, seed=11
)
CONDITIONS = ("order", "span", "amount")


def wires_in_band(columns: EdgeColumns) -> dict[int, dict[int, list[Wire]]]:
    """Return the wires of the band by payer and payee."""
    low, high = BANDS["ordered_ring"]
    amounts, times = columns.edge_attributes["amount"], columns.edge_attributes["time"]
    found: dict[int, dict[int, list[Wire]]] = defaultdict(lambda: defaultdict(list))
    for row in np.flatnonzero((amounts >= low) & (amounts < high)).tolist():
        wire = int(times[row]), float(amounts[row])
        found[int(columns.sources[row])][int(columns.targets[row])].append(wire)
    return found


def rings_of(wires: dict[int, dict[int, list[Wire]]], size: int) -> Iterator[tuple[int, ...]]:
    """Yield every ring of a size from every start."""

    def longer(path: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        for payee in list(wires.get(path[-1], ())):
            if len(path) == size and payee == path[0]:
                yield path
            elif len(path) < size and payee not in path:
                yield from longer((*path, payee))

    for account in list(wires):
        yield from longer((account,))


def failures(choice: tuple[Wire, ...], span: int) -> set[str]:
    """Return the conditions that a choice of wires fails."""
    kept = {
        "order": all(earlier[0] < later[0] for earlier, later in pairwise(choice)),
        "span": max(choice)[0] - min(choice)[0] <= 1000 * span,
        "amount": all(0.9 * before[1] <= after[1] <= before[1] for before, after in pairwise(choice)),
    }
    return {condition for condition, holds in kept.items() if not holds}


def choices_of(ring: tuple[int, ...], wires: dict[int, dict[int, list[Wire]]]) -> Iterator[tuple[Wire, ...]]:
    yield from product(*[wires[payer][payee] for payer, payee in pairwise((*ring, ring[0]))])


def ordered_rings(generator: Transfers) -> dict[tuple[int, ...], int]:
    """Return every ring in the band that satisfies all conditions, by its accounts in order: its choices."""
    wires = wires_in_band(generator.columns())
    least, most = generator.ordered_sizes
    return {
        ring: choices
        for size in range(least, most + 1)
        for ring in rings_of(wires, size)
        if (choices := sum(not failures(choice, generator.span) for choice in choices_of(ring, wires)))
    }


def in_order(generator: Transfers) -> list[Planted]:
    return [one for one in generator.planted if one.kind == "ordered_ring"]


@pytest.mark.turns(8)
@pytest.mark.parametrize("copies", [1, 4])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_conditions_hold_of_every_planted_ring_and_of_nothing_else(copies: int, seed: int) -> None:
    generator = replace(RINGS, ordered_copies=copies, seed=seed)
    found = ordered_rings(generator)
    assert found == {tuple(one.vertices.tolist()): one.choices for one in in_order(generator)}
    assert set(found.values()) == {copies}
    assert Counter(map(len, found)) == {3: 3, 4: 3, 5: 3, 6: 3}


def test_a_decoy_fails_its_condition_by_every_choice_and_by_one_no_other() -> None:
    wires = wires_in_band(RINGS.columns())
    for one in RINGS.decoys:
        ring = tuple(one.vertices.tolist())
        failed = [failures(choice, RINGS.span) for choice in choices_of(ring, wires)]
        assert all(one.fails in conditions for conditions in failed)
        assert {one.fails} in failed
        assert one.choices == 0
    assert Counter(one.fails for one in RINGS.decoys) == dict.fromkeys(CONDITIONS, 8)
    assert {(len(one.vertices), one.fails) for one in RINGS.decoys} == set(product(range(3, 7), CONDITIONS))


def test_the_first_wire_of_an_edge_alone_does_not_make_the_ring() -> None:
    wires = wires_in_band(RINGS.columns())
    for one in in_order(RINGS):
        ring = tuple(one.vertices.tolist())
        first = tuple(min(wires[payer][payee]) for payer, payee in pairwise((*ring, ring[0])))
        assert failures(first, RINGS.span)


def test_rows_say_which_transfers_a_ring_is_made_of() -> None:
    columns = RINGS.columns()
    assert columns.edge_labels is not None
    times, amounts = columns.edge_attributes["time"], columns.edge_attributes["amount"]
    for one in (*in_order(RINGS), *RINGS.decoys):
        ends = np.array([(one.vertices[payer], one.vertices[payee]) for payer, payee in one.edges()])
        for rows, edges in ((one.rows, np.arange(len(ends))), (one.other_rows, one.other_edges)):
            assert np.array_equal(
                np.column_stack([columns.sources[rows], columns.targets[rows]]), ends[edges]
            )
            assert {columns.edge_label_names[code] for code in columns.edge_labels[rows]} == {"wire"}
        choice = tuple(zip(times[one.rows].tolist(), amounts[one.rows].tolist(), strict=True))
        assert failures(choice, RINGS.span) == ({one.fails} if one.fails else set())
    every_row = np.concatenate(
        [rows for one in (*RINGS.planted, *RINGS.decoys) for rows in (one.rows, one.other_rows)]
    )
    assert len(np.unique(every_row)) == len(every_row)


def test_no_two_structures_share_an_account_and_none_is_a_hub() -> None:
    accounts = [one.vertices for one in (*RINGS.planted, *RINGS.decoys)]
    everyone = np.concatenate([*accounts, RINGS.hub_accounts])
    assert len(np.unique(everyone)) == len(everyone)


def test_structures_of_other_kinds_lie_where_they_lay() -> None:
    before = Transfers(transfers=40_000, seed=11).planted
    for one, other in zip(before, RINGS.planted, strict=False):
        assert one.kind == other.kind
        assert np.array_equal(one.vertices, other.vertices)
        assert np.array_equal(one.rows, other.rows)


def test_transfers_without_the_options_are_those_of_earlier_versions() -> None:
    columns = Transfers(transfers=60_000, seed=6).columns()
    # Sums of integers: amounts in cents.
    amounts = np.round(columns.edge_attributes["amount"] * 100).astype(np.int64)
    assert columns.edge_labels is not None
    found = [
        int((column.astype(np.int64) * (1 + np.arange(len(columns)) % 1009)).sum())
        for column in (columns.sources, columns.targets, columns.edge_labels, amounts)
    ]
    assert found == EARLIER


EARLIER = [298725081652, 299449977499, 22595648, 1681025893009]
"""By the version that had none of the options."""


def test_pairs_repeat_as_often_as_asked_for_with_one_kind_each() -> None:
    def copies_of(asked: float) -> Any:
        columns = Transfers(transfers=100_000, copies=asked, rings=0, seed=3).columns()
        assert columns.edge_labels is not None
        ordinary = columns.edge_attributes["amount"] < BANDS["fan_in"][0]
        ends = columns.sources.astype(np.int64) << 32 | columns.targets
        pairs, counts = np.unique(ends[ordinary], return_counts=True)
        edges = np.unique(np.column_stack([ends, columns.edge_labels])[ordinary], axis=0)
        return counts, len(edges) / len(pairs)

    for asked in (5, 100):
        counts, kinds = copies_of(asked)
        assert 0.8 * asked < counts.mean() < 1.3 * asked
        assert counts.max() > 3 * asked
        assert kinds < 1.1
    counts, _ = copies_of(1)
    assert counts.mean() < 1.1


@pytest.mark.parametrize("copies", [1, 10])
def test_hubs_have_their_share_of_the_transfers(copies: int) -> None:
    generator = Transfers(transfers=200_000, copies=copies, hubs=25, hub_share=0.3, rings=0, seed=4)
    columns = generator.columns()
    ordinary = columns.edge_attributes["amount"] < BANDS["fan_in"][0]
    pays = np.isin(columns.sources[ordinary], generator.hub_accounts)
    paid = np.isin(columns.targets[ordinary], generator.hub_accounts)
    assert 0.28 < (pays | paid).mean() < 0.36
    assert abs(pays.mean() - paid.mean()) < 0.05
    degrees = np.bincount(
        np.concatenate([columns.sources, columns.targets]), minlength=generator.num_vertices
    )
    assert degrees[generator.hub_accounts].min() > 20 * np.median(degrees)


@settings(max_examples=40)
@given(
    st.integers(200, 4000),
    st.tuples(st.integers(0, 6), st.integers(0, 9)),
    st.integers(3, 7),
    st.integers(0, 3),
    st.integers(1, 4),
    st.sampled_from([1, 60, 86_400 * 30]),
    st.sampled_from([0.02, 0.1, 0.4]),
    st.integers(0, 2**64 - 1),
)
def test_rings_fit_or_are_refused(
    transfers: int,
    rings: tuple[int, int],
    least: int,
    more: int,
    copies: int,
    seconds: int,
    span: float,
    seed: int,
) -> None:
    try:
        generator = Transfers(
            transfers=transfers,
            **dict.fromkeys(("rings", "fan_ins", "fan_outs", "gather_scatters"), 1),
            ordered_rings=rings[0],
            ordered_decoys=rings[1],
            ordered_sizes=(least, least + more),
            ordered_copies=copies,
            seconds=seconds,
            span=max(1, int(span * seconds)),
            copies=3,
            hubs=5,
            seed=seed,
        )
    except mf.ArgumentError as refused:
        assert any(word in str(refused) for word in ("structures", "ordered rings"))  # noqa: PT017
        return
    expected = {tuple(one.vertices.tolist()): one.choices for one in in_order(generator)}
    assert len(expected) == rings[0]
    assert len(generator.decoys) == rings[1]
    assert ordered_rings(generator) == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"copies": 0.5}, "copies: expected a number from 1 to"),
        ({"hub_share": 0}, "hub_share: expected a number from 1e-09 to 1"),
        ({"hubs": 4000}, "accounts: expected at least 4675, for all structures and hubs"),
        ({"ordered_sizes": (2, 4)}, "ordered_sizes: expected least and most accounts, from 3 to 32"),
        ({"ordered_sizes": (5, 4)}, "ordered_sizes: expected least and most accounts"),
        ({"ordered_rings": 1000}, "accounts: expected at least 5175, for all structures"),
        ({"ordered_rings": 1, "span": 60}, "span: expected a time of 3 transfers at least"),
        ({"ordered_decoys": 2, "seconds": 86_400}, "seconds: expected a time in which all ordered rings"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(mf.ArgumentError) as refused:
        Transfers(transfers=10_000, **arguments)
    assert message in str(refused.value)
