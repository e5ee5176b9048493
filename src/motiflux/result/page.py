"""Matches as notebooks show them: known facts, the pattern, and the first rows that were taken."""

from __future__ import annotations

from motiflux.draw.page import facts_table, rows_table, small_picture
from motiflux.result.columns import RowColumns
from motiflux.result.count import outcome_facts
from motiflux.result.matches import Matches
from motiflux.types import VertexArray
from motiflux.units import quantity

_MOST_DRAWN = 12


def matches_page(matches: Matches, layout: RowColumns, first: VertexArray | None) -> str:
    """Return the page of matches; `first` are the first rows, if any were taken."""
    state = "open" if matches.complete is None else "complete" if matches.complete else "incomplete"
    taken = quantity(matches.rows, "row") if matches.rows else "none: rows are found as they are taken"
    facts = [("columns", ", ".join(matches.columns)), ("rows taken", taken), ("state", state)]
    parts = [facts_table([*facts, *outcome_facts(matches)])]
    if layout.pattern.num_vertices <= _MOST_DRAWN:
        parts.insert(0, small_picture(layout.pattern.to_svg()))
    if first is not None and matches.rows:
        rows = [[str(value) for value in row] for row in layout.array(first[: matches.rows]).tolist()]
        parts.append(rows_table(matches.columns, rows, matches.rows))
    return "<div>\n" + "\n".join(parts) + "\n</div>"
