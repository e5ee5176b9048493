"""Pieces of pages as notebooks show them: tables of facts, no scripts, everything escaped."""

from __future__ import annotations

from collections.abc import Iterable

from motiflux.draw.picture import Picture, shortened
from motiflux.draw.xml import words

LEFT = ' style="text-align: left"'
RIGHT = ' style="text-align: right"'


def facts_table(facts: Iterable[tuple[str, str]]) -> str:
    """Return a table of two columns: headings and texts.

    >>> print(facts_table([("name", "<a>")]))
    <table>
    <tr><th style="text-align: left">name</th><td style="text-align: left">&lt;a&gt;</td></tr>
    </table>
    """
    rows = (
        f"<tr><th{LEFT}>{words(name)}</th><td{LEFT}>{words(shortened(text))}</td></tr>"
        for name, text in facts
    )
    return "<table>\n" + "\n".join(rows) + "\n</table>"


def shown_with_text(picture: Picture, text: str) -> str:
    """Return a picture with a line of code below it."""
    return f"<div>\n{picture}\n<br><code>{words(shortened(text))}</code>\n</div>"
