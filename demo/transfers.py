"""A made-up network of transfers between accounts, with rings hidden in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

KINDS = np.array(["card", "cash", "wire"])
SHARES = (0.55, 0.25, 0.20)


@dataclass(frozen=True)
class Transfers:
    """One row per transfer, and the rings that were planted.

    Attributes
    ----------
    payer, payee
        Account ids, strings.
    kind
        ``card``, ``cash`` or ``wire``.
    rings
        The planted rings: ``(a, b, c, d)`` with wires a -> b -> c -> d -> a.
    """

    payer: NDArray[np.str_]
    payee: NDArray[np.str_]
    kind: NDArray[np.str_]
    rings: tuple[tuple[str, ...], ...]


def generate(
    transfers: int = 200_000, *, accounts: int = 60_000, rings: int = 25, seed: int = 7
) -> Transfers:
    """Draw a network in which a few accounts do much of the business, then plant rings of four wires.

    The ring members are ordinary accounts: each also has drawn transfers, so degree does not give them away.
    The same arguments give the same network.
    """
    rng = np.random.default_rng(seed)
    names = np.char.add("ACC", np.char.zfill(rng.permutation(accounts).astype(str), 6))
    members = rng.choice(accounts, size=(rings, 4), replace=False)

    drawn = transfers - members.size
    payer = _skewed(rng, accounts, drawn)
    payee = _skewed(rng, accounts, drawn)
    payee = np.where(payee == payer, (payee + 1) % accounts, payee)
    kind = rng.choice(KINDS, size=drawn, p=SHARES)

    order = rng.permutation(transfers)
    return Transfers(
        payer=names[np.concatenate([payer, members.ravel()])][order],
        payee=names[np.concatenate([payee, np.roll(members, -1, axis=1).ravel()])][order],
        kind=np.concatenate([kind, np.full(members.size, "wire")])[order],
        rings=tuple(tuple(map(str, names[ring])) for ring in members),
    )


def _skewed(rng: np.random.Generator, accounts: int, size: int) -> NDArray[np.int64]:
    """Accounts 0.., the low ones more often: the k-th gets business in proportion to 1 / sqrt(k)."""
    return (accounts * rng.random(size) ** 2).astype(np.int64)
