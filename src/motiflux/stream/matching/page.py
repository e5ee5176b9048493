"""Monitors and changes as notebooks show them: tables of known facts, and patterns or matches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from motiflux.draw.page import facts_table, rows_table, small_picture
from motiflux.pattern import Pattern
from motiflux.units import grouped, quantity, seconds_text

if TYPE_CHECKING:
    from motiflux.stream.matching.delta import Delta, PatternDelta

_MOST_PATTERNS = 12
_MOST_DRAWN = 12
_MOST_ROWS = 5
"""Matches of each pattern."""


def monitor_page(facts: Sequence[tuple[str, str]], patterns: Sequence[Pattern]) -> str:
    """Return the facts of a monitor, and its patterns: a picture of the only one, or the first of them."""
    parts = [facts_table(facts)]
    if len(patterns) == 1 and patterns[0].num_vertices <= _MOST_DRAWN:
        parts.insert(0, small_picture(patterns[0].to_svg()))
    elif patterns:
        shown = [[str(at), str(pattern)] for at, pattern in enumerate(patterns[:_MOST_PATTERNS])]
        parts.append(rows_table(["", "pattern"], shown, len(patterns), "pattern"))
    return "<div>\n" + "\n".join(parts) + "\n</div>"


def delta_page(delta: Delta) -> str:
    """Return what changed by pattern, and the first matches of the first patterns that have any."""
    changes = list(delta)
    first = changes[:_MOST_PATTERNS]
    shown = [[str(one.pattern), grouped(one.positive), grouped(one.negative)] for one in first]
    headings = ["pattern", "appeared", "vanished"]
    parts = [facts_table(_facts(delta)), rows_table(headings, shown, len(changes), "pattern")]
    parts += [_matches(one) for one in first if one.rows is not None and len(one.rows)]
    return "<div>\n" + "\n".join(parts) + "\n</div>"


def _facts(delta: Delta) -> list[tuple[str, str]]:
    effects = (
        (delta.noops, f"{grouped(delta.noops)} without effect"),
        (delta.self_loops, quantity(delta.self_loops, "self-loop")),
        (delta.late, f"{grouped(delta.late)} late"),
        (delta.expired, f"{quantity(delta.expired, 'edge')} expired"),
    )
    updates = [grouped(delta.updates), *(text for number, text in effects if number)]
    state = "complete" if delta.complete else "incomplete: nothing was applied"
    return [("updates", ", ".join(updates)), ("state", state), ("time", seconds_text(delta.seconds))]


def _matches(change: PatternDelta) -> str:
    """Return the first matches that appeared or vanished."""
    assert change.rows is not None
    ids, piece = next(change.batches(_MOST_ROWS))
    signs = ["+" if positive else "-" for positive in piece.positive.tolist()]
    rows = [[sign, *map(str, row)] for sign, row in zip(signs, ids.tolist(), strict=True)]
    names = ["", *(vertex.name for vertex in change.pattern.vertices)]
    return rows_table(names, rows, len(change.rows), "match")
