"""Matches as notebooks show them: known facts, the pattern, and the first rows that were taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from motiflux.draw.page import facts_table, rows_table, small_picture
from motiflux.result.columns import RowColumns
from motiflux.types import VertexArray

if TYPE_CHECKING:
    from motiflux.result.queries.columns import QueryColumns


def matches_page(
    facts: Sequence[tuple[str, str]], layout: RowColumns | QueryColumns, first: VertexArray | None, rows: int
) -> str:
    """Return facts, the pattern, and the first of `rows` rows, if any were taken."""
    parts = [facts_table(facts)]
    picture = layout.picture()
    if picture is not None:
        parts.insert(0, small_picture(picture))
    if first is not None and rows:
        shown = [[str(value) for value in row] for row in layout.array(first[:rows]).tolist()]
        parts.append(rows_table(layout.columns, shown, rows))
    return "<div>\n" + "\n".join(parts) + "\n</div>"
