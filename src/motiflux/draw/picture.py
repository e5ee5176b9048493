"""The document: a panel on a card, as SVG."""

from __future__ import annotations

import hashlib
from os import PathLike
from pathlib import Path

from motiflux.atomic import AtomicFile
from motiflux.draw.panel import Panel
from motiflux.draw.style import dark_sheet
from motiflux.draw.type import FONT
from motiflux.draw.xml import element, number, words
from motiflux.errors import OutputError

MARGIN = 20.0


_MOST_TOLD = 2000


def shortened(text: str) -> str:
    """Return a text of at most 2,000 characters: all of it, or its beginning and how long it is."""
    if len(text) <= _MOST_TOLD:
        return text
    return f"{text[:_MOST_TOLD]}… ({len(text):,} characters)"


def check_svg_name(path: str | PathLike[str]) -> None:
    """Refuse the name of a file that says it is no SVG document.

    Raises
    ------
    OutputError
        The suffix is another one than ``.svg``.

    Examples
    --------
    >>> check_svg_name("ring.png")
    Traceback (most recent call last):
    motiflux.errors.OutputError: ring.png: found suffix '.png', expected .svg: pictures are SVG documents; \
    browsers show them, and Inkscape or rsvg-convert make images of pixels from them
    """
    suffix = Path(path).suffix
    if suffix.lower() not in ("", ".svg"):
        raise OutputError(
            f"{path}: found suffix {suffix!r}, expected .svg: pictures are SVG documents; browsers show "
            "them, and Inkscape or rsvg-convert make images of pixels from them"
        )


class Picture(str):
    """A picture: the text of an SVG document, which notebooks show as a picture.

    Equal pictures have equal text. Their ids are made from their content, so that pictures on one page do not
    share ids by accident; definitions that several pictures share are equal in all of them.

    Attributes
    ----------
    name : str
        The name of the picture for screen readers.
    panel : motiflux.draw.Panel
        The content.

    Examples
    --------
    >>> from motiflux import Pattern
    >>> picture = Pattern.parse("(a)-->(b)-->(c)-->(a)").to_svg()
    >>> picture[:35], picture.name
    ('<svg xmlns="http://www.w3.org/2000/', 'Pattern of 3 vertices and 3 edges')
    """

    __slots__ = ("name", "panel")

    panel: Panel
    name: str

    def __new__(cls, panel: Panel, name: str, description: str = "") -> Picture:
        """Return the document that shows `panel`."""
        self = super().__new__(cls, _document(panel, name, description))
        self.panel = panel
        self.name = name
        return self

    @property
    def width(self) -> float:
        """Width in pixels, where nothing scales it."""
        return self.panel.width + 2 * MARGIN

    @property
    def height(self) -> float:
        """Height in pixels, where nothing scales it."""
        return self.panel.height + 2 * MARGIN

    def save(self, path: str | PathLike[str]) -> None:
        """Write the document to a file, which appears whole or not at all.

        Raises
        ------
        OutputError
            The file cannot be written, or its suffix is another one than ``.svg``.
        """
        check_svg_name(path)
        with AtomicFile(Path(path)) as file:
            file.write((str(self) + "\n").encode())

    def _repr_svg_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"Picture({self.name!r}, {self.width:.0f} x {self.height:.0f})"

    def __str__(self) -> str:
        return str.__str__(self)

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (str(self), self.panel, self.name)


def _restored(text: str, panel: Panel, name: str) -> Picture:
    self = str.__new__(Picture, text)
    self.panel, self.name = panel, name
    return self


def _document(panel: Panel, name: str, description: str) -> str:
    sheet = Panel()
    sheet.box(0, 0, panel.width + 2 * MARGIN, panel.height + 2 * MARGIN, "card", radius=12)
    sheet.put(panel, MARGIN, MARGIN)
    body = "\n".join(sheet.shapes)
    title = element("title", {}, words(name))
    title += element("desc", {}, words(shortened(description))) if description else ""
    scope = "mf-" + hashlib.sha256((title + body).encode()).hexdigest()[:12]
    # The card's edge is a pixel wide: half of it lies outside its box.
    width, height = number(sheet.width + 2), number(sheet.height + 2)
    attributes = {
        "xmlns": "http://www.w3.org/2000/svg",
        "id": scope,
        "viewBox": f"-1 -1 {width} {height}",
        "width": width,
        "height": height,
        "role": "img",
        "aria-label": name,
        "font-family": FONT,
        "style": "max-width:100%;height:auto",
    }
    style = element("style", {}, dark_sheet(scope, sheet.roles))
    return element("svg", attributes, f"{title}\n{style}\n{body}\n")
