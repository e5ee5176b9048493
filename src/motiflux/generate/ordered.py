"""Rings of wires in order of time whose amounts fall, and decoys, which fail one of their conditions.

The wires of a ring, several for each of its edges, lie in rows that no other structure takes. Time is the
order of the rows. `c - 1` of the `c` wires of each edge come early, in the opposite order of the edges, so
that only those of the first edge can begin the ring:

    early                                    late
    edge 3, 3   edge 2, 2   edge 1, 1   edge 0, 0   edge 0   edge 1   edge 2   edge 3

All wires of an edge have the same amount. The ring therefore matches from one account alone, by `c` choices
of wires: after any other start, an edge would come too early, or an amount would rise. In a decoy that fails
the order, all wires lie in the opposite order; in one that fails the span, those of the last edge all come
too late.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import ArgumentError
from motiflux.generate.draws import Stream, draw_units, permute
from motiflux.generate.planting import Failed, Planted

_FIRST_AMOUNTS = 4400.0, 5000.0
"""Amounts of the first edge; the last ones are in the band too, as they fall to 0.46 of it at most."""
_LEAST_FALL, _MOST_FALL, _LEAST_SHARE = 0.005, 0.08, 0.62
"""Fall of the amount from one edge to the next, and what is left of it in the end, at least."""
_WRONG_FALL = 0.15, 0.25
_MILLISECONDS_APART = 2
"""Rows this far apart have different times."""


@dataclass(frozen=True, kw_only=True)
class OrderedRings:
    """How many rings are planted, and what they are like; parameters as for `motiflux.generate.Transfers`."""

    seed: int
    transfers: int
    seconds: int
    rings: int
    decoys: int
    sizes: tuple[int, int]
    copies: int
    span: int

    def ring_sizes(self) -> list[int]:
        """Return the number of accounts of each ring, decoys last."""
        least, most = self.sizes
        return [least + at % (most - least + 1) for n in (self.rings, self.decoys) for at in range(n)]

    def failures(self) -> list[Failed | None]:
        """Return which condition each ring fails."""
        # A size that has all three kinds in turn needs as many turns of the sizes.
        words, turn = get_args(Failed), self.sizes[1] - self.sizes[0] + 1
        return [*[None] * self.rings, *[words[(at // turn + at) % len(words)] for at in range(self.decoys)]]


@dataclass(frozen=True, eq=False)
class OrderedPlanting:
    """The planted rings, and their transfers by ascending row.

    Parameters
    ----------
    structures
        All of them, decoys last.
    rows, sources, targets, amounts
        Row, payer, payee and amount of each planted transfer.
    """

    structures: tuple[Planted, ...]
    rows: NDArray[np.int64]
    sources: NDArray[np.uint32]
    targets: NDArray[np.uint32]
    amounts: NDArray[np.float64]

    def within(self, first: int, size: int) -> tuple[NDArray[np.int64], slice]:
        """Return the planted transfers of `size` rows from `first` on: places among these rows, and here."""
        begin, end = np.searchsorted(self.rows, [first, first + size]).tolist()
        return self.rows[begin:end] - first, slice(begin, end)


def plant_ordered(
    rings: OrderedRings, members: NDArray[np.uint32], taken: NDArray[np.int64]
) -> OrderedPlanting:
    """Choose rows and amounts of all rings.

    Parameters
    ----------
    rings
        What is planted.
    members
        uint32 [accounts of all rings], in the order of `OrderedRings.ring_sizes`.
    taken
        Rows of other structures.

    Raises
    ------
    ArgumentError
        The transfers are too few, or not spread over a time long enough.
    """
    rows = _Rows(rings, set(taken.tolist()))
    structures: list[Planted] = []
    parts: list[tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64]]] = []
    begin = 0
    for number, (size, failed) in enumerate(zip(rings.ring_sizes(), rings.failures(), strict=True)):
        who = members[begin : begin + size]
        begin += size
        units = draw_units(rings.seed, Stream.ORDERED + 2 * number, 0, size + 4, 1)
        where, edges = rows.of_ring(number, size, failed, units[size], units[size + 1])
        amounts = _amounts(size, failed, units[:size], units[size + 2])
        # Of each edge, the last wire is in `rows`.
        last = np.array([np.flatnonzero(edges == edge)[-1] for edge in range(size)])
        others = np.delete(np.arange(len(edges)), last)
        others = others[np.lexsort((where[others], edges[others]))]
        structures.append(
            Planted(
                "ordered_ring",
                who.astype(np.int64),
                where[last],
                other_rows=where[others],
                other_edges=edges[others],
                span=rings.span,
                fails=failed,
            )
        )
        parts.append((where, who[edges], who[(edges + 1) % size], amounts[edges]))
    if not parts:
        none = np.empty(0, np.uint32)
        return OrderedPlanting((), np.empty(0, np.int64), none, none, np.empty(0, np.float64))
    all_rows, sources, targets, all_amounts = (np.concatenate(column) for column in zip(*parts, strict=True))
    by_row = np.argsort(all_rows)
    return OrderedPlanting(
        tuple(structures), all_rows[by_row], sources[by_row], targets[by_row], all_amounts[by_row]
    )


def _amounts(
    size: int, failed: Failed | None, units: NDArray[np.float64], wrong: float
) -> NDArray[np.float64]:
    """Return the amount of each edge: it falls a little from each to the next, once too much for a decoy."""
    low, high = _FIRST_AMOUNTS
    most = min(_MOST_FALL, 1 - _LEAST_SHARE ** (1 / (size - 1)))
    falls = _LEAST_FALL + units[1:] * (most - _LEAST_FALL)
    if failed == "amount":
        least, greatest = _WRONG_FALL
        falls[int(wrong * (size - 1))] = least + units[0] * (greatest - least)
    amounts = (low + units[0] * (high - low)) * np.cumprod([1.0, *(1 - falls)])
    cents: NDArray[np.float64] = np.floor(amounts * 100) / 100
    return cents


@dataclass(eq=False)
class _Rows:
    """The rows that rings may take: those whose number is a multiple of `step` and that are not taken."""

    rings: OrderedRings
    taken: set[int]

    def __post_init__(self) -> None:
        apart = 1000 * self.rings.seconds / max(self.rings.transfers, 1)  # milliseconds between two rows
        self.step = max(1, math.ceil(_MILLISECONDS_APART / apart))
        self.count = -(-self.rings.transfers // self.step)
        self.of_span = int(1000 * self.rings.span / (apart * self.step))
        """How far apart two rows within the span may be, in steps."""

    def of_ring(
        self, number: int, size: int, failed: Failed | None, width: float, place: float
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows of a ring, in order of time, and the edge of each one.

        `width` and `place`, of [0, 1), decide how far apart they are, and where.
        """
        copies = self.rings.copies
        backwards = np.arange(size - 1, -1, -1)
        if failed == "order":
            edges = np.repeat(backwards, copies)
        elif failed == "span":
            last = np.full(copies, size - 1)
            edges = np.concatenate([np.repeat(backwards[1:], copies - 1), np.arange(size - 1), last])
        else:
            edges = np.concatenate([np.repeat(backwards, copies - 1), np.arange(size)])
        late = copies if failed == "span" else 0  # so many wires come after the span
        near = len(edges) - late
        gap = self.of_span + 2 if late else 0
        room = self.count - gap
        self._check(near, near + late, room)
        most = min(self.of_span, room - late)
        steps = near + int(width * (most - near))
        after = min(room - steps, self.of_span // 2 + len(edges)) if late else 0
        start = int(place * (room - steps - after + 1))
        stream = Stream.ORDERED + 2 * number + 1
        rows = list(self._draw(stream, start, steps, near))
        if late:
            rows += self._draw(stream, start + steps + gap, after, late)
        return np.array(rows, dtype=np.int64), edges

    def _check(self, near: int, needed: int, room: int) -> None:
        """Refuse what does not fit: `near` wires within the span, and `needed` ones in all."""
        if self.of_span < near:
            raise ArgumentError(
                "span", f"a time of {near} transfers at least, for ordered rings", self.rings.span
            )
        if room < needed:
            expected = "a time in which all ordered rings, and decoys longer than the span, fit"
            raise ArgumentError("seconds", expected, self.rings.seconds)

    def _draw(self, stream: int, start: int, width: int, count: int) -> Iterator[int]:
        """Take `count` rows from `width` steps after `start`, ascending."""
        drawn = count
        while True:
            drawn = min(2 * drawn, width)
            steps = permute(self.rings.seed, stream, width, np.arange(drawn, dtype=np.uint32), 1)
            rows = ((start + steps.astype(np.int64)) * self.step).tolist()
            free = [row for row in rows if row not in self.taken][:count]
            if len(free) == count:
                self.taken.update(free)
                yield from sorted(free)
                return
            if drawn == width:
                raise ArgumentError("transfers", "more, for all structures", self.rings.transfers)
