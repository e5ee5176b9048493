"""All devices by name. Each is opened once per process."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import threading
from typing import TYPE_CHECKING

from motiflux.errors import ArgumentError, DeviceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from motiflux.device.base import Device

ENVIRONMENT = "MOTIFLUX_DEVICES"
"""Variable with functions, ``module:function[,module:function]``, called once to register more devices."""


def _open_cuda() -> Device:
    from motiflux.device.cuda import open_device as open_cuda

    return open_cuda()


class _Registry:
    def __init__(self) -> None:
        self.lock = threading.RLock()  # functions of the environment variable call `register`
        self.factories: dict[str, Callable[[], Device]] = {"cuda": _open_cuda}
        self.opened: dict[tuple[str, int], Device] = {}
        self.asked: set[str] = set()

    def ask_environment(self) -> None:
        """Call each function of the environment variable once. The lock is held."""
        for entry in os.environ.get(ENVIRONMENT, "").split(","):
            entry = entry.strip()
            if entry and entry not in self.asked:
                self.asked.add(entry)
                try:
                    _call(entry)
                except BaseException:
                    self.asked.discard(entry)  # the error is raised again at the next use
                    raise


_CUDA = re.compile(r"cuda(?::(0|[1-9][0-9]*))?", re.ASCII)


def _cuda_factory(name: str) -> Callable[[], Device] | None:
    """Return a function that opens one of several GPUs: ``cuda:1``; None for a name of another form."""
    named = _CUDA.fullmatch(name)
    if named is None or named[1] is None:
        return None

    def open_one() -> Device:
        from motiflux.device.cuda import open_device as open_cuda

        return open_cuda(int(named[1]))

    return open_one


_registry = _Registry()


def _after_fork() -> None:
    # A thread of the parent may have held the lock; it does not exist in the child and cannot release it.
    _registry.lock = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)


def register(name: str, factory: Callable[[], Device]) -> None:
    """Register a device, which `factory` opens; a known name is replaced.

    Raises
    ------
    ArgumentError
        The name is not a valid value of ``device=``.
    """
    if not name or name in ("cpu", "auto"):
        raise ArgumentError("name", "the name of a new device, other than 'cpu' and 'auto'", name)
    with _registry.lock:
        _registry.factories[name] = factory
        _registry.opened.pop((name, os.getpid()), None)


def devices_like(name: str) -> tuple[str, ...]:
    """Return the names of all devices of one kind on this machine, in the order of their ordinals.

    Raises
    ------
    DeviceError
        There are no such devices, or they cannot be counted.
    """
    if name == "cuda" and (name,) == _registered_like(name):
        from motiflux.device.cuda import list_devices

        return tuple(f"cuda:{gpu.ordinal}" if gpu.ordinal else "cuda" for gpu in list_devices())
    return _registered_like(name)


def _registered_like(name: str) -> tuple[str, ...]:
    known = known_devices()
    found: list[str] = [name] if name in known else []
    while found and f"{name}:{len(found)}" in known:
        found.append(f"{name}:{len(found)}")
    return tuple(found)


def is_device(name: str) -> bool:
    """Return whether `open_device` takes a name: that of a known device, or of a GPU by its ordinal.

    Examples
    --------
    >>> is_device("cuda:1"), is_device("quantum")
    (True, False)
    """
    return name in known_devices() or _cuda_factory(name) is not None


def known_devices() -> tuple[str, ...]:
    """Return the names that `open_device` takes, whether or not the devices can be opened.

    In addition, a GPU can be given by its ordinal: ``"cuda:1"``.

    Examples
    --------
    >>> "cuda" in known_devices()
    True
    """
    with _registry.lock:
        _registry.ask_environment()
        return tuple(_registry.factories)


def open_device(name: str) -> Device:
    """Return the device of that name, opened once per process, and make it the thread's current device.

    Raises
    ------
    ArgumentError
        There is no device of that name.
    DeviceError
        The device cannot be used; the message has the cause and advice.
    """
    with _registry.lock:
        _registry.ask_environment()
        name = _only_name(name)
        factory = _registry.factories.get(name) or _cuda_factory(name)
        if factory is None:
            raise ArgumentError("device", "one of " + ", ".join(_registry.factories), name)
        key = (name, os.getpid())
        device = _registry.opened.get(key)
        if device is None:
            device = _registry.opened[key] = factory()
    device.use()
    return device


def begin_opening(name: str) -> bool:
    """Begin to open a device on a thread of its own; `open_device` waits for it, or raises its error.

    Return whether the device is not open yet.
    """
    if (_only_name(name), os.getpid()) in _registry.opened:
        return False

    def opening() -> None:
        with contextlib.suppress(Exception):  # `open_device` tries again
            open_device(name)

    with contextlib.suppress(RuntimeError):  # no more threads
        threading.Thread(target=opening, name=f"motiflux: opening {name}").start()
    return True


def _only_name(name: str) -> str:
    """Return the name under which a device is kept."""
    return "cuda" if name == "cuda:0" else name


def _call(entry: str) -> None:
    module, _, function = entry.partition(":")
    try:
        register_more = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise DeviceError(
            f"{ENVIRONMENT}: expected module:function, importable from here, found {entry!r}: {error}"
        ) from error
    register_more()
