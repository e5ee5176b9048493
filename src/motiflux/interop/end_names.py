"""Names of columns that mean the ends of an edge."""

from __future__ import annotations

import re
from collections.abc import Sequence

SOURCES = ("src", "source", "from")
TARGETS = ("dst", "target", "to")

_PAIRS = (
    *(
        (source, target)
        for source in ("src", "source", "orig", "origin")
        for target in ("dst", "dest", "target")
    ),
    ("source", "destination"),
    ("src", "destination"),
    ("origin", "destination"),
    ("from", "to"),
    ("payer", "payee"),
    ("sender", "receiver"),
    ("sender", "recipient"),
    ("debtor", "creditor"),
    ("buyer", "seller"),
    ("caller", "callee"),
    ("follower", "followee"),
    ("follower", "followed"),
    ("citing", "cited"),
    ("client", "server"),
    ("parent", "child"),
    ("subject", "object"),
    ("presynaptic", "postsynaptic"),
    ("pre", "post"),
)
_KINDS = ("", "id", "node", "vertex", "account", "address", "addr", "ip", "host", "user", "name", "key")
"""Words that may follow a name or precede it: ``from_node``, ``source_id``, ``id.orig``."""

_NUMBERED = ("node", "vertex", "id", "user", "account", "gene", "protein", "author")
_NO_LETTER = re.compile(r"[\W_]+")


def _known() -> list[tuple[str, str]]:
    """Return all pairs of names, the best first, in the form of `_plain`."""
    pairs = [
        (first, second)
        for kind in _KINDS
        for source, target in _PAIRS
        for first, second in ((source + kind, target + kind), (kind + source, kind + target))
    ]
    pairs += [("start" + kind, "end" + kind) for kind in _KINDS[1:]]
    numbered = [(f"{kind}{first}", f"{kind}{second}") for kind in _NUMBERED for first, second in ("12", "ab")]
    return list(dict.fromkeys([*pairs, *numbered, ("idorigh", "idresph"), ("u", "v")]))


_KNOWN = _known()


def find_ends(names: Sequence[str]) -> tuple[int, int] | None:
    """Return the positions of two columns whose names mean the ends of an edge; None if there are none.

    >>> find_ends(["id", "Sender ID", "amount", "Receiver ID"])
    (1, 3)
    >>> find_ends(["txn", "when", "amount"])
    """
    plain = [_plain(name) for name in names]
    position = {name: place for place, name in reversed(list(enumerate(plain)))}
    for source, target in _KNOWN:
        if source in position and target in position:
            return position[source], position[target]
    return None


def _plain(name: str) -> str:
    return _NO_LETTER.sub("", name.lower())
