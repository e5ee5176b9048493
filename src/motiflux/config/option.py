"""What a tuning switch is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class TuningOption:
    """One switch: its name, the values it takes, the default and what it does."""

    name: str
    values: tuple[str, ...]
    default: str
    help: str


def by_name(*options: TuningOption) -> Mapping[str, TuningOption]:
    """Return the options by their names, in their order."""
    return MappingProxyType({option.name: option for option in options})
