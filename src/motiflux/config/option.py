"""The description of a tuning switch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class TuningOption:
    """One switch: its name, values, default and help text."""

    name: str
    values: tuple[str, ...]
    default: str
    help: str


def by_name(*options: TuningOption) -> Mapping[str, TuningOption]:
    """Return the options by their names, in their order."""
    return MappingProxyType({option.name: option for option in options})
