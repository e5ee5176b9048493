"""Transfers between accounts, with structures planted in them that can be found exactly."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from motiflux import _native
from motiflux.arguments import check_integer
from motiflux.generate.base import Progress, Values, check_number, check_rows, check_vertices
from motiflux.generate.degrees import skew_of
from motiflux.generate.draws import Stream, draw_codes, draw_units, times_of
from motiflux.generate.generator import CountedGenerator
from motiflux.generate.planting import BANDS, KINDS, Planted, Planting, plant
from motiflux.graph import Graph
from motiflux.types import Label

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
    _planting: Planting = field(init=False, repr=False, compare=False)

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
        counts = (self.rings, self.fan_ins, self.fan_outs, self.gather_scatters)
        structures = dict(zip(KINDS, counts, strict=True))
        sizes = {kind: self.ring_size if kind == "ring" else self.fan_size for kind in KINDS}
        planting = plant(self.seed, self.transfers, self.num_vertices, structures, sizes)
        object.__setattr__(self, "_planting", planting)

    @property
    def planted(self) -> tuple[Planted, ...]:
        """Every planted structure: its accounts and the numbers of its transfers."""
        return self._planting.structures

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
        # Who pays much is paid much.
        skew = skew_of(self.seed, self.num_vertices, self.exponent, Stream.SOURCE_IDS)
        _native.draw_skewed(self.seed, Stream.ENDS, skew, skew, True, first, sources, targets, threads)
        for band, (rows, steps) in self._decoys(first, len(sources)).items():
            sources[rows] = self._planting.on_path(band, steps, threads)
            targets[rows] = self._planting.on_path(band, steps + 1, threads)
        rows, places = self._planting.within(first, len(sources))
        sources[rows], targets[rows] = self._planting.sources[places], self._planting.targets[places]

    def draw_values(self, first: int, size: int, threads: int) -> Values:
        """Return kinds, amounts and times of `size` transfers from number `first` on."""
        labels = draw_codes(
            self.seed, Stream.EDGE_LABELS, np.array(list(_SHARES.values())), first, size, threads
        )
        units = draw_units(self.seed, Stream.AMOUNTS, first, size, threads)
        amounts = _ordinary(units)
        banded = [(band, rows) for band, (rows, _) in self._decoys(first, size).items()]
        rows, places = self._planting.within(first, size)
        banded += [(band, rows[self._planting.bands[places] == band]) for band in range(len(KINDS))]
        for band, chosen in banded:
            low, high = BANDS[KINDS[band]]
            labels[chosen] = _WIRE
            amounts[chosen] = _in_cents(low + units[chosen] * (high - low))
        times = times_of(self.seed, first, size, self.transfers, 1000 * self.seconds, threads)
        return labels, {"amount": amounts, "time": times}

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


def _ordinary(units: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return amounts outside all bands: amounts that would be in one are moved above the last band."""
    lowest, highest = min(low for low, _ in BANDS.values()), max(high for _, high in BANDS.values())
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
        seed=seed,
    )
    return generator.graph(threads=threads, progress=progress), generator.planted
