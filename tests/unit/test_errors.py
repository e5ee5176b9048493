"""Errors can be pickled, as those of other processes are."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

from motiflux import errors

MODULES = (
    "motiflux.cli.exits",
    "motiflux.device.base",
    "motiflux.gpu.outofcore.pinned",
    "motiflux.gpu.streaming.watching",
    "motiflux.interop.columns",
    "motiflux.serve.core",
    "motiflux.stream.matching.engine",
)
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "ArgumentError": ("k", "an integer", None),
    "CompileError": ("search", "no such name", "/kernels/search.cu", "plan"),
    "CountingError": ("pattern", "one at a time", "two"),
    "DeviceMemoryError": ("rows", 200, 100, "use device='cpu'"),
    "FormatError": ("graph.csv", "expected an id", 3),
    "OutOfMemoryError": ("the result takes 8 bytes", 8),
    "PatternSyntaxError": ("expected a vertex", "(a)--\n(b)--?", 11, "pattern.graph"),
    "RowError": ("edges", 3, "expected an id"),
    "StreamError": ("no such edge", 3, None),
    "UnmatchedPatternError": (SimpleNamespace(name="dfs"), "it is not connected", "(a), (b)"),
}


def kinds(of: type[errors.MotifluxError] = errors.MotifluxError) -> Iterator[type[errors.MotifluxError]]:
    yield of
    for kind in of.__subclasses__():
        yield from kinds(kind)


for module in MODULES:
    import_module(module)
KINDS = sorted({kind for kind in kinds() if kind.__module__.startswith("motiflux.")}, key=str)


def test_all_errors_of_the_public_module_are_among_them() -> None:
    public = {kind for kind in vars(errors).values() if isinstance(kind, type)}
    assert {kind for kind in public if issubclass(kind, errors.MotifluxError)} <= set(KINDS)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_error_is_the_same_in_another_process(kind: type[errors.MotifluxError]) -> None:
    error = kind(*ARGUMENTS.get(kind.__name__, ("something is wrong",)))
    for change in (lambda: None, lambda: setattr(error, "args", (f"on cuda:1: {error}",))):
        change()
        for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            assert type(again) is kind
            assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))
