"""Elements of SVG as text: names are escaped, and characters that XML cannot hold are replaced."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML 1.0 document may hold, not even as references."""


def element(tag: str, attributes: Mapping[str, object] | None = None, *inside: str) -> str:
    """Return an element around its content, which is XML already.

    >>> element("circle", {"r": 2.50, "class": "<a>"})
    '<circle r="2.5" class="&lt;a&gt;"/>'
    >>> element("text", {}, words("a & b"))
    '<text>a &amp; b</text>'
    """
    given = "".join(f' {name}="{_value(value)}"' for name, value in (attributes or {}).items())
    return f"<{tag}{given}>{''.join(inside)}</{tag}>" if inside else f"<{tag}{given}/>"


def words(text: str) -> str:
    """Return text as XML shows it."""
    return escape(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text))


def number(value: float) -> str:
    """Return a coordinate with one decimal at most.

    >>> number(3.0), number(-0.04), number(12.345)
    ('3', '0', '12.3')
    """
    rounded = round(value, 1)
    return f"{int(rounded)}" if rounded == int(rounded) else f"{rounded:.1f}"


def _value(value: object) -> str:
    return number(value) if isinstance(value, float) else words(str(value))
