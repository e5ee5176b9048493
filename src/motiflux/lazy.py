"""Names of a package whose modules are imported when a name is first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(package: str, homes: Mapping[str, tuple[str, ...]]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package.

    Parameters
    ----------
    package
        Its name.
    homes
        For each module, the names that it defines and the package has.
    """
    home_of = {name: module for module, names in homes.items() for name in names}

    def find(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(home_of[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return find
