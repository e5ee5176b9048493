"""Names of a package whose modules are imported when a name is first used."""

from __future__ import annotations

import os
import sys
from _thread import get_ident
from collections.abc import Callable, Mapping
from importlib import _bootstrap, import_module


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


def _forget_unfinished_imports() -> None:
    """Forget the modules that other threads were importing when the process forked.

    A child does not have these threads: it would wait for them when it needs the same modules. Waiting before
    the fork instead could wait for ever, since locks of other libraries are held by then.
    """
    locks = getattr(_bootstrap, "_module_locks", {})  # of CPython, by name of module
    for name, reference in list(locks.items()):
        lock = reference()
        if lock is None or getattr(lock, "owner", None) in (None, get_ident()):
            continue
        locks.pop(name, None)
        if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False):
            del sys.modules[name]


os.register_at_fork(after_in_child=_forget_unfinished_imports)
