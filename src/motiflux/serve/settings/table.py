"""Reads the values of a table of a configuration, and says what is wrong by file and key."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from motiflux.arguments import check_bytes
from motiflux.errors import ArgumentError, FormatError
from motiflux.times.durations import parse_duration

_REQUIRED: Any = object()
_SHOWN = 60


class Table:
    """A table, whose values are read once each; `end` refuses the keys that nobody read.

    Parameters
    ----------
    file
        The configuration, as errors name it.
    key
        The key of the table, empty for the whole file.
    values
        Its content.
    folder
        Relative names of files begin there.
    """

    def __init__(self, file: Path | str, key: str, values: Mapping[str, Any], folder: Path) -> None:
        self.file, self.key, self.folder = file, key, folder
        self._values = values
        self._read: set[str] = set()

    def fault(self, key: str, expected: str, found: object = _REQUIRED) -> FormatError:
        """Return the error of a key."""
        place = f"{self.key}.{key}" if self.key else key
        said = "nothing" if found is _REQUIRED else repr(found)
        shown = said if len(said) <= _SHOWN else f"{said[:_SHOWN]}..."
        return FormatError(self.file, f"{place}: expected {expected}, found {shown}")

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def value(self, key: str) -> Any:
        """Return a value as it is; None if there is none."""
        return self._take(key, None, "a value")

    def _take(self, key: str, default: Any, expected: str) -> Any:
        self._read.add(key)
        if key not in self._values:
            if default is _REQUIRED:
                raise self.fault(key, expected)
            return default
        return self._values[key]

    def text(self, key: str, default: Any = _REQUIRED, *, expected: str = "text") -> Any:
        """Return text that is not empty."""
        value = self._take(key, default, expected)
        if key in self._values and (not isinstance(value, str) or not value or "\0" in value):
            raise self.fault(key, expected, value)
        return value

    def word(self, key: str, words: Sequence[str], default: Any = _REQUIRED) -> Any:
        """Return one of some words."""
        expected = "one of " + ", ".join(words)
        value = self._take(key, default, expected)
        if key in self._values and value not in words:
            raise self.fault(key, expected, value)
        return value

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false."""
        value = self._take(key, default, "true or false")
        if not isinstance(value, bool):
            raise self.fault(key, "true or false", value)
        return value

    def integer(self, key: str, default: Any = _REQUIRED, *, least: int = 0, most: int = 2**63 - 1) -> Any:
        """Return an integer in a span."""
        expected = f"an integer from {least} to {most}"
        value = self._take(key, default, expected)
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if key in self._values and (not is_whole or not least <= value <= most):
            raise self.fault(key, expected, value)
        return value

    def number(self, key: str, default: Any = _REQUIRED, *, least: float = 0.0) -> Any:
        """Return a finite number."""
        expected = f"a number of at least {least:g}"
        value = self._take(key, default, expected)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if key in self._values and (not is_number or not least <= value < float("inf")):
            raise self.fault(key, expected, value)
        return value

    def duration(self, key: str, default: str | None, *, least: int = 0, without: str | None = None) -> Any:
        """Return nanoseconds of a duration such as ``"5ms"``; None if the default is None.

        Parameters
        ----------
        without
            The word for none.
        """
        expected = 'a duration such as "5ms" or "1h30m"' + ("" if without is None else f', or "{without}"')
        value = self._take(key, default, expected)
        if value is None or value == without:
            return None
        found = parse_duration(value) if isinstance(value, str) else None
        if found is None or found < least:
            raise self.fault(key, expected, value)
        return found

    def size(self, key: str, default: str | None) -> Any:
        """Return bytes of a size such as ``"64MiB"``; None if the default is None."""
        value = self._take(key, default, "bytes")
        if value is None:
            return None
        try:
            return check_bytes(key, value)
        except ArgumentError:
            raise self.fault(key, 'bytes, or a size such as "64MiB"', value) from None

    def texts(self, key: str, default: Any = _REQUIRED) -> Any:
        """Return a tuple of texts."""
        value = self._take(key, default, "a list of texts")
        if key not in self._values:
            return value
        if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
            raise self.fault(key, "a list of texts", value)
        return tuple(value)

    def path(self, key: str, default: Any = _REQUIRED) -> Any:
        """Return the path of a file; relative ones begin in the folder of the configuration."""
        value = self.text(key, default, expected="the name of a file")
        return self.folder / value if key in self._values else value

    def mapping(self, key: str) -> dict[str, Any]:
        """Return a table as it is; empty if there is none."""
        value = self._take(key, {}, "a table")
        if not isinstance(value, dict):
            raise self.fault(key, "a table", value)
        return value

    def table(self, key: str) -> Table:
        """Return a table inside this one; empty if there is none."""
        return self._inner(key, self.mapping(key))

    def tables(self, key: str) -> list[Table]:
        """Return a list of tables."""
        value = self._take(key, [], "tables")
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            raise self.fault(key, f"tables, each under [[{key}]]", value)
        return [self._inner(f"{key}[{at}]", one) for at, one in enumerate(value)]

    def _inner(self, key: str, values: Mapping[str, Any]) -> Table:
        return Table(self.file, f"{self.key}.{key}" if self.key else key, values, self.folder)

    def end(self) -> None:
        """Refuse keys that were not read.

        Raises
        ------
        FormatError
            Names the first, and the key that is most like it.
        """
        for key in self._values:
            if key not in self._read:
                alike = difflib.get_close_matches(key, self._read, 1)
                known = f"{alike[0]!r}" if alike else "one of " + ", ".join(sorted(self._read))
                raise self.fault(key, f"{known} as the key", key)
