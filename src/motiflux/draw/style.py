"""Colours: of light backgrounds as attributes, which every viewer knows, of dark ones in a style sheet.

Each picture has a card of its own behind it, so that it can be read on any page, also where the page and the
viewer do not agree whether it is dark.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Role:
    """The colours of an element of a picture: pairs (light, dark), empty for none."""

    fill: tuple[str, str] = ("none", "none")
    stroke: tuple[str, str] | None = None
    width: float = 0.0
    more: tuple[tuple[str, str], ...] = ()


_CARD, _LINE, _FAINT = ("#ffffff", "#161b22"), ("#64748b", "#8b98a8"), ("#cdd5df", "#3d4652")
_FOUND = ("#d9480f", "#ff8a5c")
_FILLS = (
    ("#2563b0", "#3672c4"),
    ("#c2410c", "#c9531d"),
    ("#1f7a4d", "#2a8458"),
    ("#7c4dbd", "#8a5ecb"),
    ("#0e7490", "#1a7f99"),
    ("#b02a6f", "#bd3d80"),
    ("#7a6410", "#857022"),
    ("#5b6472", "#667080"),
)
SLOTS = len(_FILLS)
"""Number of colours that tell nodes apart."""

ROLES = {
    "card": Role(_CARD, ("#d8dee6", "#30363d"), 1),
    "plate": Role(_CARD, more=(("fill-opacity", "0.9"),)),
    "ink": Role(("#1f2937", "#e6edf3")),
    "dim": Role(("#5b6879", "#9aa7b5")),
    "white": Role(("#ffffff", "#ffffff")),
    "hit": Role(_FOUND),
    "line": Role(stroke=_LINE, width=1.6),
    "line-tip": Role(_LINE),
    "faint": Role(stroke=_FAINT, width=1.2),
    "faint-tip": Role(_FAINT),
    "found": Role(stroke=_FOUND, width=2.4),
    "found-tip": Role(_FOUND),
    "node-open": Role(("#f1f4f8", "#21262d"), ("#8595aa", "#77859a"), 1.6),
    "node-faint": Role(("#eef1f5", "#262c34"), ("#c3ccd8", "#475060"), 1.2),
    "node-found": Role(("#cf430c", "#d4541f"), _CARD, 1),
    "frame": Role(stroke=("#b4bfcd", "#4a5563"), width=1.2, more=(("stroke-dasharray", "4 4"),)),
    "rule": Role(stroke=("#e3e8ee", "#2b323b"), width=1),
    "estimated": Role(("#aebdd2", "#4d5f7a")),
    "actual": Role(("#d9480f", "#e0642f")),
    **{f"node-{slot}": Role(fill, _CARD, 1) for slot, fill in enumerate(_FILLS)},
}


def paint(role: str) -> dict[str, object]:
    """Return the attributes that paint a part; its class lets the dark style sheet change them."""
    what = ROLES[role]
    attributes: dict[str, object] = {"class": role, "fill": what.fill[0]}
    if what.stroke is not None:
        attributes |= {"stroke": what.stroke[0], "stroke-width": what.width}
    return attributes | dict(what.more)


def dark_sheet(scope: str, used: Iterable[str]) -> str:
    """Return the style sheet of dark viewers for the parts that are used, within the element `scope`."""
    rules = []
    for role in sorted(used):
        what = ROLES[role]
        rule = f"fill:{what.fill[1]}" + (f";stroke:{what.stroke[1]}" if what.stroke else "")
        rules.append(f"#{scope} .{role}{{{rule}}}")
    return f"@media (prefers-color-scheme:dark){{{''.join(rules)}}}"


def slots_for(names: Iterable[str]) -> dict[str, int]:
    """Return a colour for each name, the same for the same set of names.

    >>> slots_for(["person", "bank", "person"])
    {'bank': 0, 'person': 1}
    """
    return {name: position % SLOTS for position, name in enumerate(sorted(set(names)))}
