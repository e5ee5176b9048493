"""Pieces of pages as notebooks show them: tables of facts, no scripts, everything escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from motiflux.draw.picture import Picture, shortened
from motiflux.draw.xml import words
from motiflux.units import quantity

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


def rows_table(columns: Sequence[str], rows: Sequence[Sequence[str]], number: int, noun: str = "row") -> str:
    """Return a table of the first of `number` rows, and a line with how many more there are.

    >>> print(rows_table(["a"], [["<1>"]], 3))
    <table>
    <tr><th style="text-align: left">a</th></tr>
    <tr><td style="text-align: left">&lt;1&gt;</td></tr>
    <tr><td style="text-align: left" colspan="1">and 2 more rows</td></tr>
    </table>
    """
    lines = ["".join(f"<th{LEFT}>{words(shortened(name))}</th>" for name in columns)]
    lines += ["".join(f"<td{LEFT}>{words(shortened(cell))}</td>" for cell in row) for row in rows]
    if number > len(rows):
        more = f"and {quantity(number - len(rows), f'more {noun}')}"
        lines.append(f'<td{LEFT} colspan="{len(columns)}">{more}</td>')
    return "<table>\n" + "\n".join(f"<tr>{line}</tr>" for line in lines) + "\n</table>"


def small_picture(picture: Picture) -> str:
    """Return a picture that is at most 240 pixels wide."""
    return f'<div style="max-width: 240px">\n{picture}\n</div>'


def shown_with_text(picture: Picture, text: str) -> str:
    """Return a picture with a line of code below it."""
    return f"<div>\n{picture}\n<br><code>{words(shortened(text))}</code>\n</div>"
