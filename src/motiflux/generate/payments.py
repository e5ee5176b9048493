"""Transfers between accounts, with structures planted in them that can be found exactly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from motiflux.arguments import check_integer
from motiflux.errors import ArgumentError
from motiflux.generate.base import Progress, Values, check_number, check_rows, check_vertices
from motiflux.generate.draws import Stream, draw_units, permute, times_of
from motiflux.generate.generator import CountedGenerator
from motiflux.generate.ordered import OrderedPlanting, OrderedRings, plant_ordered
from motiflux.generate.planting import BANDS, KINDS, Kind, Planted, Planting, plant
from motiflux.generate.relations import Relations
from motiflux.graph import Graph
from motiflux.types import MAX_PATTERN_VERTICES, Label

_SHARES = {"card": 0.55, "cash": 0.25, "wire": 0.20}
_WIRE = list(_SHARES).index("wire")
_LEAST, _MOST, _TAIL = 10.0, 1e6, 1.2
"""Amounts follow a power law between these, of this exponent."""


@dataclass(frozen=True, kw_only=True)
class Transfers(CountedGenerator):
    """Transfers in the order of their times, among them planted rings, collectors and the like.

    Most transfers are ordinary: a few accounts make many of them, and their amounts are outside 5,000 to
    10,000. Amounts in this range are for the planted structures, each kind with a band of its own
    (`motiflux.generate.BANDS`), and for decoys. Decoys of a band are wires along one path through accounts
    that no structure uses: they form long chains without rings, and no account sends or receives two. No two
    structures share an account. So **wires within a band form the planted structures of its kind, chains, and
    nothing else**: a pattern of this kind and size with a condition on the amount (`Planted.pattern`) finds
    each planted structure once, and no other.

    Without the condition, many matches occur by chance, as members also make ordinary transfers.

    With `ordered_rings`, amounts from 2,000 to 5,000 are a band too: that of rings in order of time, whose
    amounts fall by at most 8 % from each transfer to the next, and of their decoys, which are rings that fail
    one condition each. **Wires within this band form these rings and nothing else**, so a pattern with the
    conditions on order, span and amounts (`Planted.pattern`) finds each ordered ring of its size once, from
    its first account, by `Planted.choices` choices of transfers, and no decoy.

    Parameters
    ----------
    transfers
        Number of transfers, with the planted ones.
    accounts
        Number of accounts; None: a third of the transfers.
    rings, fan_ins, fan_outs, gather_scatters
        Number of structures of each kind.
    ring_size
        Accounts of a ring, at least 3.
    fan_size
        Payers of a collector, payees of a distributor, and both of a gather-scatter; at least 2.
    decoy_every
        One transfer of this number is a decoy, as long as the path has accounts.
    exponent
        Of the power law that both degrees of accounts follow; above 2, at most 100.
    seconds
        Duration; the attribute ``time`` is in milliseconds from 0 and never decreases. The transfers of a
        structure follow each other within a short time: around the ring from its first account, and gathering
        before scattering.

    Examples
    --------
    >>> import motiflux as mf
    >>> generator = mf.generate.Transfers(transfers=20_000, rings=3, seed=1)
    >>> [one.kind for one in generator.planted].count("ring")
    3
    >>> ring = next(one for one in generator.planted if one.kind == "ring")
    >>> columns = generator.columns()
    >>> bool((columns.sources[ring.rows] == ring.vertices).all())
    True

    Pairs that repeat, and rings in order of time:

    >>> generator = mf.generate.Transfers(
    ...     transfers=20_000, copies=10, ordered_rings=4, ordered_decoys=6, ordered_copies=3, seed=1
    ... )
    >>> [len(one.vertices) for one in generator.planted if one.kind == "ordered_ring"]
    [3, 4, 5, 6]
    >>> [one.fails for one in generator.decoys][:3]
    ['order', 'span', 'amount']
    """

    transfers: int
    accounts: int | None = None
    rings: int = 25
    fan_ins: int = 25
    fan_outs: int = 25
    gather_scatters: int = 25
    ring_size: int = 4
    fan_size: int = 5
    decoy_every: int = 16
    exponent: float = 2.5
    seconds: int = 86_400 * 30
    copies: float = 1
    hubs: int = 0
    hub_share: float = 0.25
    ordered_rings: int = 0
    ordered_decoys: int = 0
    ordered_sizes: tuple[int, int] = (3, 6)
    ordered_copies: int = 1
    span: int = 86_400 * 3
    _planting: Planting = field(init=False, repr=False, compare=False)
    _ordered: OrderedPlanting = field(init=False, repr=False, compare=False)
    _relations: Relations = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rows("transfers", self.transfers)
        if self.accounts is not None:
            check_vertices("accounts", self.accounts)
        check_vertices("accounts", self.num_vertices)
        for name in ("rings", "fan_ins", "fan_outs", "gather_scatters"):
            check_integer(name, getattr(self, name), 0)
        check_integer("ring_size", self.ring_size, 3, 2**16)
        check_integer("fan_size", self.fan_size, 2, 2**16)
        check_integer("decoy_every", self.decoy_every, 2)
        check_number("exponent", self.exponent, 2.001, 100)
        check_integer("seconds", self.seconds, 1, 2**40)
        self._check_repeats_and_order()
        self._plant()

    def _check_repeats_and_order(self) -> None:
        check_number("copies", self.copies, 1, 2**32)
        check_number("hub_share", self.hub_share, 1e-9, 1)
        for name in ("hubs", "ordered_rings", "ordered_decoys"):
            check_integer(name, getattr(self, name), 0, 2**24)
        check_integer("ordered_copies", self.ordered_copies, 1, 2**16)
        check_integer("span", self.span, 1, 2**40)
        match self.ordered_sizes:
            case (int() as least, int() as most) if 3 <= least <= most <= MAX_PATTERN_VERTICES:
                object.__setattr__(self, "ordered_sizes", (least, most))
            case _:
                expected = f"least and most accounts, from 3 to {MAX_PATTERN_VERTICES}"
                raise ArgumentError("ordered_sizes", expected, self.ordered_sizes)

    def _plant(self) -> None:
        """Choose accounts and rows of all structures, and the hubs."""
        rings = OrderedRings(
            seed=self.seed,
            transfers=self.transfers,
            seconds=self.seconds,
            rings=self.ordered_rings,
            decoys=self.ordered_decoys,
            sizes=self.ordered_sizes,
            copies=self.ordered_copies,
            span=self.span,
        )
        counts = (self.rings, self.fan_ins, self.fan_outs, self.gather_scatters)
        structures = dict(zip(KINDS, counts, strict=True))
        sizes = {kind: self.ring_size if kind == "ring" else self.fan_size for kind in KINDS}
        more = sum(rings.ring_sizes())
        planting = plant(self.seed, self.transfers, self.num_vertices, structures, sizes, more_members=more)
        if planting.members + self.hubs > self.num_vertices:
            expected = f"at least {planting.members + self.hubs}, for all structures and hubs"
            raise ArgumentError("accounts", expected, self.num_vertices)
        places = np.arange(planting.members - more, planting.members, dtype=np.uint32)
        members = permute(self.seed, Stream.ACCOUNTS, self.num_vertices, places, 1)
        relations = Relations(
            seed=self.seed,
            rows=self.transfers,
            accounts=self.num_vertices,
            exponent=self.exponent,
            copies=self.copies,
            hubs=self.hubs,
            hub_share=self.hub_share,
        )
        object.__setattr__(self, "_planting", planting)
        object.__setattr__(self, "_ordered", plant_ordered(rings, members, planting.rows))
        object.__setattr__(self, "_relations", relations)

    @property
    def planted(self) -> tuple[Planted, ...]:
        """Every planted structure: its accounts and the numbers of its transfers."""
        return (*self._planting.structures, *(one for one in self._ordered.structures if not one.fails))

    @property
    def decoys(self) -> tuple[Planted, ...]:
        """Every ring that fails one condition of ordered rings."""
        return tuple(one for one in self._ordered.structures if one.fails)

    @property
    def hub_accounts(self) -> NDArray[np.int64]:
        """The hubs: int64 [hubs]."""
        return self._relations.hub_accounts().astype(np.int64)

    @property
    def num_vertices(self) -> int:
        """Number of accounts."""
        return max(2, self.transfers // 3) if self.accounts is None else self.accounts

    @property
    def is_directed(self) -> bool:
        """Transfers have a direction."""
        return True

    @property
    def num_rows(self) -> int:
        """Number of transfers."""
        return self.transfers

    @property
    def edge_label_names(self) -> tuple[Label, ...]:
        """Kinds of transfers."""
        return tuple(_SHARES)

    @property
    def edge_attribute_names(self) -> tuple[str, ...]:
        """Transfers have an amount and a time."""
        return ("amount", "time")

    def draw_ends(
        self, first: int, sources: NDArray[np.uint32], targets: NDArray[np.uint32], threads: int
    ) -> None:
        """Fill the arrays with payers and payees of the transfers number `first`, ..."""
        self._relations.draw_ends(first, sources, targets, threads)
        for band, (rows, steps) in self._decoys(first, len(sources)).items():
            sources[rows] = self._planting.on_path(band, steps, threads)
            targets[rows] = self._planting.on_path(band, steps + 1, threads)
        rows, places = self._planting.within(first, len(sources))
        sources[rows], targets[rows] = self._planting.sources[places], self._planting.targets[places]
        rows, places = self._ordered.within(first, len(sources))
        sources[rows], targets[rows] = self._ordered.sources[places], self._ordered.targets[places]

    def draw_values(self, first: int, size: int, threads: int) -> Values:
        """Return kinds, amounts and times of `size` transfers from number `first` on."""
        labels = self._relations.draw_kinds(np.array(list(_SHARES.values())), first, size, threads)
        units = draw_units(self.seed, Stream.AMOUNTS, first, size, threads)
        amounts = _ordinary(units, self._kinds_of_bands())
        banded = [(band, rows) for band, (rows, _) in self._decoys(first, size).items()]
        rows, places = self._planting.within(first, size)
        banded += [(band, rows[self._planting.bands[places] == band]) for band in range(len(KINDS))]
        for band, chosen in banded:
            low, high = BANDS[KINDS[band]]
            labels[chosen] = _WIRE
            amounts[chosen] = _in_cents(low + units[chosen] * (high - low))
        rows, places = self._ordered.within(first, size)
        labels[rows], amounts[rows] = _WIRE, self._ordered.amounts[places]
        times = times_of(self.seed, first, size, self.transfers, 1000 * self.seconds, threads)
        return labels, {"amount": amounts, "time": times}

    def _kinds_of_bands(self) -> tuple[Kind, ...]:
        """Return the kinds whose bands ordinary transfers avoid."""
        return (*KINDS, "ordered_ring") if self._ordered.structures else KINDS

    def _decoys(self, first: int, size: int) -> dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Return the decoys among `size` rows from `first` on: by band, their places and steps of the path.

        Every so-manieth row is one; bands take turns.
        """
        every = self.decoy_every
        numbers = np.arange(-(-first // every), -(-(first + size) // every), dtype=np.int64)
        rows = numbers * every - first
        found = {}
        for band in range(len(KINDS)):
            mine = (numbers % len(KINDS) == band) & (numbers // len(KINDS) < self._planting.path_steps)
            found[band] = rows[mine], numbers[mine] // len(KINDS)
        return found


def _ordinary(units: NDArray[np.float64], kinds: Iterable[Kind]) -> NDArray[np.float64]:
    """Return amounts outside the bands: amounts that would be in one are moved above the last band."""
    bands = [BANDS[kind] for kind in kinds]
    lowest, highest = min(low for low, _ in bands), max(high for _, high in bands)
    amounts = _in_cents(np.minimum(_LEAST * (1 - units) ** (-1 / _TAIL), _MOST))
    amounts[amounts >= lowest] += highest - lowest
    return amounts


def _in_cents(amounts: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.floor(amounts * 100) / 100


def transfers(
    transfers: int,
    *,
    accounts: int | None = None,
    rings: int = 25,
    fan_ins: int = 25,
    fan_outs: int = 25,
    gather_scatters: int = 25,
    ring_size: int = 4,
    fan_size: int = 5,
    copies: float = 1,
    hubs: int = 0,
    hub_share: float = 0.25,
    ordered_rings: int = 0,
    ordered_decoys: int = 0,
    ordered_sizes: tuple[int, int] = (3, 6),
    ordered_copies: int = 1,
    span: int = 86_400 * 3,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = False,
) -> tuple[Graph, tuple[Planted, ...]]:
    """Return a graph of transfers and its planted structures; parameters as for `Transfers`.

    Returns
    -------
    tuple
        The graph, and every planted structure. `Planted.pattern` finds those of its kind, all of them and no
        others.

    Raises
    ------
    ArgumentError
        There are not enough accounts or transfers for the structures.

    Examples
    --------
    >>> import motiflux as mf
    >>> graph, planted = mf.generate.transfers(20_000, rings=3, seed=1)
    >>> ring = next(one for one in planted if one.kind == "ring")
    >>> ring.pattern().split(", ")[0]
    '(a0)-[:wire WHERE amount >= 8000 AND amount < 10000]->(a1)'
    >>> int(mf.count(graph, mf.Pattern.parse(ring.pattern()), symmetry="subgraphs"))
    3
    """
    generator = Transfers(
        transfers=transfers,
        accounts=accounts,
        rings=rings,
        fan_ins=fan_ins,
        fan_outs=fan_outs,
        gather_scatters=gather_scatters,
        ring_size=ring_size,
        fan_size=fan_size,
        copies=copies,
        hubs=hubs,
        hub_share=hub_share,
        ordered_rings=ordered_rings,
        ordered_decoys=ordered_decoys,
        ordered_sizes=ordered_sizes,
        ordered_copies=ordered_copies,
        span=span,
        seed=seed,
    )
    return generator.graph(threads=threads, progress=progress), generator.planted
