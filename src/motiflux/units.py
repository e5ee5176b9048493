"""Numbers, times and amounts of memory as people read them."""

from __future__ import annotations

_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def grouped(number: int) -> str:
    """Give a number as people read it: ``1,234,567``."""
    return f"{number:,}"


def quantity(number: int, noun: str) -> str:
    """Give a number of things.

    >>> quantity(1, "row"), quantity(12000, "row"), quantity(0, "vertex")
    ('1 row', '12,000 rows', '0 vertices')
    """
    return f"{grouped(number)} {_noun(number, noun)}"


def quantity_was(number: int, noun: str) -> str:
    """Give a number of things with a verb.

    >>> quantity_was(1, "row"), quantity_was(12000, "row")
    ('1 row was', '12,000 rows were')
    """
    return f"{quantity(number, noun)} {'was' if number == 1 else 'were'}"


def counted(number: int, noun: str) -> str:
    """Give a number of things, as files have it: without commas.

    >>> counted(1, "vertex"), counted(12000, "entry"), counted(2, "query vertex")
    ('1 vertex', '12000 entries', '2 query vertices')
    """
    return f"{number} {_noun(number, noun)}"


def rough(number: float) -> str:
    """Give a number of at least 1 in two digits.

    >>> rough(84.4), rough(12_345), rough(1_234_567), rough(98.7e9), rough(1.3e20)
    ('84', '12,000', '1.2 million', '99 billion', '1.3e+20')
    """
    two = float(f"{number:.1e}")
    if two >= 1e15:
        return f"{two:.2g}"
    for unit, name in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if two >= unit:
            return f"{two / unit:,.{int(two < 10 * unit)}f} {name}"
    return f"{two:,.0f}"


def _noun(number: int, noun: str) -> str:
    """Return a noun in the singular for 1, else in the plural."""
    if number == 1:
        return noun
    for end, plural in (
        ("vertex", "vertices"),
        ("entry", "entries"),
        ("index", "indices"),
        ("match", "matches"),
        ("batch", "batches"),
        ("launch", "launches"),
        ("class", "classes"),
    ):
        if noun.endswith(end):
            return noun.removesuffix(end) + plural
    return noun + "s"


def seconds_text(seconds: float) -> str:
    """Give a duration in the unit that suits its size.

    >>> seconds_text(0.0123), seconds_text(75.0)
    ('12.3 ms', '75.00 s')
    """
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} us"
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:,.2f} s" if seconds < 100 else f"{seconds:,.0f} s"


def bytes_text(number: int) -> str:
    """Give an amount of memory in the unit that suits its size.

    >>> bytes_text(512), bytes_text(1 << 20), bytes_text(123_456_789)
    ('512 B', '1 MiB', '118 MiB')
    """
    amount, unit = float(number), _BYTE_UNITS[0]
    for larger in _BYTE_UNITS[1:]:
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.3g} {unit}" if amount < 1000 else f"{amount:,.0f} {unit}"
