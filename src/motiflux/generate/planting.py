"""Which accounts and which rows planted structures take.

Accounts are put in a random order. The first ones are the members of structures, in turn; the others are
where the paths of decoys run, in an order of its own for each kind. The rows are cut into as many slices as
there are structures, and each structure takes rows of one slice, near each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import ArgumentError
from motiflux.generate.draws import Stream, permute

Kind = Literal["ring", "fan_in", "fan_out", "gather_scatter", "ordered_ring"]

KINDS: tuple[Kind, ...] = ("ring", "fan_in", "fan_out", "gather_scatter")
"""The kinds that lie in slices, each with a path of decoys: all but rings in order of time."""

Failed = Literal["order", "span", "amount"]
"""The condition of a ring in order of time that a decoy fails."""

BANDS: Mapping[Kind, tuple[int, int]] = {
    "ring": (8000, 10000),
    "fan_in": (5000, 6000),
    "fan_out": (6000, 7000),
    "gather_scatter": (7000, 8000),
    "ordered_ring": (2000, 5000),
}
"""Amounts of the wires of each kind, from the first to below the second.

That of ``ordered_ring`` is a band only where such rings or decoys of them are planted.
"""

_ROWS_OF_EDGE = 64
"""The rows of a structure lie within this number of rows for each of its edges."""


@dataclass(frozen=True, eq=False)
class Planted:
    """A structure that was planted.

    Parameters
    ----------
    kind
        ``"ring"``: each account pays the next, the last the first. ``"fan_in"``: all others pay the first.
        ``"fan_out"``: the first pays all others. ``"gather_scatter"``: the first half of the others pay the
        first, who pays the other half. ``"ordered_ring"``: a ring in order of time, from the first account
        on, within a span, whose amounts fall by at most 10 % from one transfer to the next.
    vertices
        int64 [k], the accounts in that order.
    rows
        int64 [e], the numbers of its transfers as they are drawn, in the order of `edges`; ascending, unless
        the order of time is what fails.
    other_rows, other_edges
        int64 [f] each, the other transfers of the same payers, payees and band, and the edge of each one, as
        a position in `edges`. Only ordered rings have some: as many on each edge.
    span
        Seconds within which an ordered ring lies; 0 for other kinds.
    fails
        The condition that a decoy of ordered rings fails: ``"order"``, ``"span"`` or ``"amount"``.

    Examples
    --------
    >>> import motiflux as mf
    >>> one = mf.generate.Transfers(transfers=10_000, seed=1).planted[0]
    >>> len(one.vertices), len(one.rows) >= 4
    (4, True)
    """

    kind: Kind
    vertices: NDArray[np.int64]
    rows: NDArray[np.int64]
    other_rows: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    other_edges: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    span: int = 0
    fails: Failed | None = None

    @property
    def choices(self) -> int:
        """By how many choices of transfers its pattern matches here; 0 for decoys."""
        return 0 if self.fails else 1 + int((self.other_edges == 0).sum())

    def edges(self) -> list[tuple[int, int]]:
        """Return payer and payee of each transfer, as positions in `vertices`."""
        return edges_of(self.kind, len(self.vertices))

    def pattern(self) -> str:
        """Return the pattern, as text, that finds all planted structures of this kind and no others.

        Its vertices are in the order of `vertices`; a pattern of a structure is found once per structure with
        ``symmetry="subgraphs"``. That of an ordered ring has the size of this one, and conditions on the
        order, the span and the amounts; that of a decoy finds the ordered rings of its size, not the decoy.
        """
        low, high = BANDS[self.kind]
        if self.kind == "ordered_ring":
            return ordered_pattern(len(self.vertices), span=self.span, band=(low, high))
        wire = f"-[:wire WHERE amount >= {low} AND amount < {high}]->"
        into = f"<{wire[:-1]}"
        # A pattern's vertices are in the order in which they are first named.
        hub_first = self.kind != "ring"
        return ", ".join(
            f"(a0){into}(a{payer})" if hub_first and payee == 0 else f"(a{payer}){wire}(a{payee})"
            for payer, payee in self.edges()
        )


def ordered_pattern(
    size: int, *, span: int, band: tuple[int, int] | None = None, label: str = "wire", fall: str = "0.9"
) -> str:
    """Return the pattern of a ring in order of time, as text.

    Parameters
    ----------
    size
        Number of accounts.
    span
        Seconds within which it lies; times are in milliseconds.
    band
        Amounts, from the first to below the second; None: any.
    label
        Of the edges.
    fall
        What is left of the amount from one transfer to the next, at least.

    Examples
    --------
    >>> from motiflux.generate.planting import ordered_pattern
    >>> paths, conditions = ordered_pattern(3, span=86_400).split(" WHERE ")
    >>> paths
    '(a0)-[e0:wire]->(a1), (a1)-[e1:wire]->(a2), (a2)-[e2:wire]->(a0)'
    >>> conditions.split(" AND ")[:4]
    ['e0.time < e1.time < e2.time',
     'e2.time - e0.time <= 86400000',
     'e1.amount <= e0.amount',
     'e1.amount >= 0.9 * e0.amount']
    """
    within = "" if band is None else f" WHERE amount >= {band[0]} AND amount < {band[1]}"
    ring = edges_of("ordered_ring", size)
    paths = ", ".join(
        f"(a{payer})-[e{at}:{label}{within}]->(a{payee})" for at, (payer, payee) in enumerate(ring)
    )
    conditions = [
        " < ".join(f"e{at}.time" for at in range(size)),
        f"e{size - 1}.time - e0.time <= {1000 * span}",
    ]
    for at in range(1, size):
        conditions += [f"e{at}.amount <= e{at - 1}.amount", f"e{at}.amount >= {fall} * e{at - 1}.amount"]
    return f"{paths} WHERE {' AND '.join(conditions)}"


def edges_of(kind: Kind, accounts: int) -> list[tuple[int, int]]:
    """Return payer and payee of each transfer of a structure, as positions among its accounts."""
    if kind in ("ring", "ordered_ring"):
        return [(at, (at + 1) % accounts) for at in range(accounts)]
    payers = {"fan_in": accounts - 1, "fan_out": 0, "gather_scatter": accounts // 2}[kind]
    return [(at, 0) if at <= payers else (0, at) for at in range(1, accounts)]


@dataclass(frozen=True, eq=False)
class Planting:
    """The planted structures of a network, their transfers by row, and where decoys run.

    Parameters
    ----------
    structures
        All of them.
    rows, sources, targets, bands
        Row, payer, payee and kind (a position in `KINDS`) of each planted transfer, by ascending row.
    seed, accounts, members
        Seed of the order of the accounts, their number, and the number of accounts in structures of any kind.
    """

    structures: tuple[Planted, ...]
    rows: NDArray[np.int64]
    sources: NDArray[np.uint32]
    targets: NDArray[np.uint32]
    bands: NDArray[np.int64]
    seed: int
    accounts: int
    members: int

    @property
    def path_steps(self) -> int:
        """Transfers along the path of a band."""
        return max(0, self.accounts - self.members - 1)

    def on_path(self, band: int, steps: NDArray[np.int64], threads: int) -> NDArray[np.uint32]:
        """Return the accounts on the path of a band after the given numbers of steps."""
        if not len(steps):
            return np.empty(0, np.uint32)
        others = self.accounts - self.members  # at least one: a path has steps
        places = permute(self.seed, Stream.BANDS + band, others, steps.astype(np.uint32), threads)
        return permute(self.seed, Stream.ACCOUNTS, self.accounts, places + np.uint32(self.members), threads)

    def within(self, first: int, size: int) -> tuple[NDArray[np.int64], slice]:
        """Return the planted transfers of `size` rows from `first` on: places among these rows, and here."""
        begin, end = np.searchsorted(self.rows, [first, first + size]).tolist()
        return self.rows[begin:end] - first, slice(begin, end)


def plant(
    seed: int,
    rows: int,
    accounts: int,
    counts: Mapping[Kind, int],
    sizes: Mapping[Kind, int],
    *,
    more_members: int = 0,
) -> Planting:
    """Choose accounts and rows of all structures.

    Parameters
    ----------
    seed
        Decides them.
    rows, accounts
        Of the whole network.
    counts
        Structures of each kind.
    sizes
        Accounts of a ring; accounts on one side of the others.
    more_members
        Accounts of structures that are not planted here: those that follow in the order.

    Raises
    ------
    ArgumentError
        There are not enough rows or accounts.
    """
    widths = {kind: _accounts_of(kind, sizes[kind]) for kind in KINDS}
    members = sum(counts[kind] * widths[kind] for kind in KINDS)
    total = sum(counts.values())
    if members + more_members > accounts:
        expected = f"at least {members + more_members}, for all structures"
        raise ArgumentError("accounts", expected, accounts)
    longest = max((len(edges_of(kind, widths[kind])) for kind in KINDS if counts[kind]), default=0)
    slice_rows = rows // max(total, 1)
    if slice_rows < longest:
        raise ArgumentError("transfers", f"at least {total * longest}, for all structures", rows)

    order = permute(seed, Stream.ACCOUNTS, accounts, np.arange(members, dtype=np.uint32), 1)
    slices = permute(seed, Stream.SLICES, max(total, 1), np.arange(total, dtype=np.uint32), 1).astype(
        np.int64
    )
    structures: list[Planted] = []
    parts: list[tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]]] = []
    taken = 0
    for band, kind in enumerate(KINDS):
        ends = np.array(edges_of(kind, widths[kind]))
        for _ in range(counts[kind]):
            number = len(structures)
            who = order[taken : taken + widths[kind]]
            taken += widths[kind]
            where = slices[number] * slice_rows + _rows_in(seed, number, slice_rows, len(ends))
            structures.append(Planted(kind, who.astype(np.int64), where))
            parts.append((where, who[ends[:, 0]], who[ends[:, 1]], np.full(len(ends), band)))
    if not parts:
        nothing = np.empty(0, dtype=np.int64)
        none = nothing.astype(np.uint32)
        return Planting((), nothing, none, none, nothing, seed, accounts, more_members)
    where, sources, targets, bands = (np.concatenate(column) for column in zip(*parts, strict=True))
    by_row = np.argsort(where)
    columns = (where[by_row], sources[by_row], targets[by_row], bands[by_row])
    return Planting(tuple(structures), *columns, seed, accounts, members + more_members)


def _accounts_of(kind: Kind, size: int) -> int:
    return {"ring": size, "fan_in": size + 1, "fan_out": size + 1, "gather_scatter": 2 * size + 1}[kind]


def _rows_in(seed: int, number: int, size: int, edges: int) -> NDArray[np.int64]:
    """Return distinct rows of a slice, ascending, near each other."""
    window = min(size, edges * _ROWS_OF_EDGE)
    stream = Stream.STRUCTURES + 2 * number
    start = permute(seed, stream, size - window + 1, np.zeros(1, dtype=np.uint32), 1)[0]
    drawn = permute(seed, stream + 1, window, np.arange(edges, dtype=np.uint32), 1)
    return np.sort(drawn.astype(np.int64)) + int(start)
