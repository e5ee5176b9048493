"""Tuning switches: options that turn parts of the search on and off, for ablations.

`TUNING` has the switches of users. Tests and benchmarks have more, set by `private_tuning`; code reads the
values of all switches from the same mapping.
"""

from __future__ import annotations

from collections.abc import Mapping

from motiflux.config.option import TuningOption
from motiflux.config.private import PRIVATE, REMOVED
from motiflux.config.public import TUNING
from motiflux.errors import ArgumentError

__all__ = ["PRIVATE", "REMOVED", "TUNING", "Tuning", "TuningOption", "private_tuning", "resolve_tuning"]

_EVERY: Mapping[str, TuningOption] = {**TUNING, **PRIVATE}
_DEFAULTS = {name: option.default for name, option in _EVERY.items()}


class Tuning(dict[str, str]):
    """The checked value of every switch; its repr is the call of `private_tuning` that makes it."""

    def __repr__(self) -> str:
        changed = {name: value for name, value in self.items() if value != _DEFAULTS[name]}
        return f"private_tuning({changed!r})"


def resolve_tuning(given: Mapping[str, str] | None) -> Tuning:
    """Return the value of every switch: from `given`, or the default.

    A mapping with all switches, including private ones, is a modified copy of a resolved one, and may set
    private switches.

    Raises
    ------
    ArgumentError
        A switch does not exist or cannot be set by users, or does not take a value.
    """
    if isinstance(given, Tuning):
        return given
    if given is not None and not isinstance(given, Mapping):
        raise ArgumentError("tuning", "a mapping of switches to values", given)
    given = given or {}
    return _resolved(given, _EVERY if given.keys() >= _EVERY.keys() else TUNING)


def private_tuning(given: Mapping[str, str]) -> Tuning:
    """Return the value of every switch, as `resolve_tuning`, but allow private switches.

    For tests and benchmarks, which pass the result as ``tuning=``.

    Raises
    ------
    ArgumentError
        A switch is unknown, or does not take a value.
    """
    return _resolved(given, _EVERY)


def _resolved(given: Mapping[str, str], options: Mapping[str, TuningOption]) -> Tuning:
    settings = Tuning(_DEFAULTS)
    for name, value in given.items():
        option = options.get(name)
        if option is None and name in REMOVED:
            raise ArgumentError(f"tuning[{name!r}]", f"no such switch ({REMOVED[name]})", value)
        if option is None:
            raise ArgumentError("tuning", f"one of {', '.join(options)}", name)
        if value not in option.values:
            raise ArgumentError(f"tuning[{name!r}]", f"one of {', '.join(option.values)}", value)
        settings[name] = value
    return settings
