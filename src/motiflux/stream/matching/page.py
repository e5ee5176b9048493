"""A monitor as notebooks show it: a table of known facts, and its patterns."""

from __future__ import annotations

from collections.abc import Sequence

from motiflux.draw.page import facts_table, rows_table, small_picture
from motiflux.pattern import Pattern

_MOST_PATTERNS = 12
_MOST_DRAWN = 12


def monitor_page(facts: Sequence[tuple[str, str]], patterns: Sequence[Pattern]) -> str:
    """Return the facts of a monitor, and its patterns: a picture of the only one, or the first of them."""
    parts = [facts_table(facts)]
    if len(patterns) == 1 and patterns[0].num_vertices <= _MOST_DRAWN:
        parts.insert(0, small_picture(patterns[0].to_svg()))
    elif patterns:
        shown = [[str(at), str(pattern)] for at, pattern in enumerate(patterns[:_MOST_PATTERNS])]
        parts.append(rows_table(["", "pattern"], shown, len(patterns), "pattern"))
    return "<div>\n" + "\n".join(parts) + "\n</div>"
