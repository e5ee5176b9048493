"""Planted structures: all found, nothing else found, and ordinary in all other ways."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import motiflux as mf
from motiflux.generate import EdgeColumns, Planted, Transfers
from motiflux.generate.planting import BANDS, KINDS


def rotation(ring: list[int]) -> tuple[int, ...]:
    first = ring.index(min(ring))
    return (*ring[first:], *ring[:first])


def identity(kind: str, vertices: list[int]) -> tuple[Any, ...]:
    """Return one spelling of a structure, however its pattern's automorphisms turn it."""
    if kind == "ring":
        return rotation(vertices)
    hub, others = vertices[0], vertices[1:]
    if kind == "gather_scatter":
        half = len(others) // 2
        return (hub, frozenset(others[:half]), frozenset(others[half:]))
    return (hub, frozenset(others))


def in_band(columns: EdgeColumns, kind: str) -> Any:
    low, high = BANDS[kind]  # type: ignore[index]
    amounts = columns.edge_attributes["amount"]
    return np.flatnonzero((amounts >= low) & (amounts < high))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_pattern_finds_every_planted_structure_and_nothing_else(kind: str, seed: int) -> None:
    graph, planted = mf.generate.transfers(
        60_000, rings=11, fan_ins=9, fan_outs=7, gather_scatters=5, ring_size=5, fan_size=3, seed=seed
    )
    mine = [one for one in planted if one.kind == kind]
    pattern = mf.Pattern.parse(mine[0].pattern())
    found = mf.match(graph, pattern, symmetry="subgraphs").to_numpy().tolist()
    truth = {identity(kind, one.vertices.tolist()) for one in mine}
    assert len(found) == len(mine) == len(truth)
    assert {identity(kind, vertices) for vertices in found} == truth


def test_chance_rings_are_there_to_be_told_apart() -> None:
    graph, planted = mf.generate.transfers(200_000, rings=10, seed=3)
    wires = mf.Pattern.parse("(a)-[:wire]->(b)-[:wire]->(c)-[:wire]->(d)-[:wire]->(a)")
    assert mf.count(graph, wires, symmetry="subgraphs") > 10 * sum(one.kind == "ring" for one in planted)


def test_rows_say_which_transfers_a_structure_is_made_of() -> None:
    generator = Transfers(transfers=30_000, seed=4)
    columns = generator.columns()
    for one in generator.planted:
        ends = [(int(one.vertices[payer]), int(one.vertices[payee])) for payer, payee in one.edges()]
        rows = one.rows
        assert list(zip(columns.sources[rows].tolist(), columns.targets[rows].tolist(), strict=True)) == ends
        assert columns.edge_labels is not None
        assert {columns.edge_label_names[code] for code in columns.edge_labels[rows]} == {"wire"}
        low, high = BANDS[one.kind]
        amounts = columns.edge_attributes["amount"][rows]
        assert (low <= amounts).all()
        assert (amounts < high).all()
        assert (np.diff(rows) > 0).all()
        assert rows[-1] - rows[0] < 64 * len(rows)
    every_row = np.concatenate([one.rows for one in generator.planted])
    assert len(np.unique(every_row)) == len(every_row)


def test_no_two_structures_share_an_account() -> None:
    planted = Transfers(transfers=30_000, seed=4).planted
    accounts = np.concatenate([one.vertices for one in planted])
    assert len(np.unique(accounts)) == len(accounts)
    assert Counter(one.kind for one in planted) == dict.fromkeys(KINDS, 25)


@pytest.mark.parametrize("kind", KINDS)
def test_what_else_is_in_a_band_are_chains_away_from_all_members(kind: str) -> None:
    generator = Transfers(transfers=50_000, seed=5)
    columns = generator.columns()
    members = np.concatenate([one.vertices for one in generator.planted])
    planted = np.concatenate([one.rows for one in generator.planted if one.kind == kind])
    decoys = np.setdiff1d(in_band(columns, kind), planted)
    assert len(decoys) > 2 * len(planted)
    sources, targets = columns.sources[decoys], columns.targets[decoys]
    assert not np.isin(np.concatenate([sources, targets]), members).any()
    following = dict(zip(sources.tolist(), targets.tolist(), strict=True))
    assert len(following) == len(set(following.values())) == len(decoys)
    # No circle: walking on from any account ends, and all walks together take a step per decoy.
    starts = set(following) - set(following.values())
    steps = 0
    for account in starts:
        while account in following:
            account, steps = following[account], steps + 1
    assert steps == len(decoys)


def test_members_do_ordinary_business_too() -> None:
    generator = Transfers(transfers=200_000, seed=6)
    columns = generator.columns()
    members = np.concatenate([one.vertices for one in generator.planted])
    ends = np.concatenate([columns.sources, columns.targets])
    degrees = np.bincount(ends, minlength=generator.num_vertices)
    assert (degrees[members] > 2).mean() > 0.5
    assert np.median(degrees[members]) < 5 * np.median(degrees)


@given(
    st.integers(0, 400),
    st.integers(2, 400),
    st.tuples(*[st.integers(0, 4)] * 4),
    st.integers(3, 6),
    st.integers(2, 4),
    st.integers(0, 2**64 - 1),
)
@example(transfers=36, accounts=35, counts=(0, 1, 4, 4), ring_size=3, fan_size=2, seed=0)  # all are members
def test_structures_fit_or_are_refused(
    transfers: int, accounts: int, counts: tuple[int, ...], ring_size: int, fan_size: int, seed: int
) -> None:
    sizes = {"ring_size": ring_size, "fan_size": fan_size}
    names = dict(zip(("rings", "fan_ins", "fan_outs", "gather_scatters"), counts, strict=True))
    try:
        generator = Transfers(transfers=transfers, accounts=accounts, seed=seed, **names, **sizes)
    except mf.ArgumentError as refused:
        assert "for all structures" in str(refused)  # noqa: PT017
        return
    columns = generator.columns()
    assert len(columns) == transfers
    assert (columns.sources != columns.targets).all()
    for kind in KINDS:
        mine: list[Planted] = [one for one in generator.planted if one.kind == kind]
        rows = in_band(columns, kind)
        edges = Counter(zip(columns.sources[rows].tolist(), columns.targets[rows].tolist(), strict=True))
        for one in mine:
            for payer, payee in one.edges():
                assert edges[int(one.vertices[payer]), int(one.vertices[payee])] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"transfers": 1000, "accounts": 50},
            "accounts: expected at least 675, for all structures",
        ),
        ({"transfers": 100, "accounts": 1000}, "transfers: expected at least 1000, for all structures"),
        ({"transfers": 1000, "ring_size": 2}, "ring_size: expected an integer from 3"),
        ({"transfers": 1000, "rings": -1}, "rings: expected an integer of at least 0"),
    ],
)
def test_too_little_room_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(mf.ArgumentError) as refused:
        Transfers(**arguments)
    assert message in str(refused.value)
