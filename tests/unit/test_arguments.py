"""Arguments that may be given as text."""

from __future__ import annotations

import pytest

from motiflux.arguments import check_bytes
from motiflux.errors import ArgumentError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3", 3),
        ("3B", 3),
        ("2 kB", 2000),
        ("2KiB", 2048),
        ("1.5MiB", 3 << 19),
        ("1GB", 10**9),
        ("1 TiB", 1 << 40),
    ],
)
def test_units_of_bytes(text: str, expected: int) -> None:
    assert check_bytes("memory", text) == expected


@pytest.mark.parametrize("text", ["0", "-1", "1 PiB", "GiB", ""])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match="memory"):
        check_bytes("memory", text)
