"""Phases of parallel vertex matching: structures of ``include/motiflux/pvm``, and units of kernels."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from motiflux.codegen.pcsr import HashRows, IntervalRows
from motiflux.jit import Source
from motiflux.types import MAX_PATTERN_VERTICES

_u8, _u32, _u64 = ctypes.c_uint8, ctypes.c_uint32, ctypes.c_uint64

MOST_TABLES, MOST_MEMBERS, MOST_TESTS = 4, 6, 32
"""``pvm::kMostTables``, ``kMostMembers``, ``kMostTests``."""
THREADS, BATCH = 256, 32
"""``pvm::kThreads``, ``kBatch``."""
ANY_LABEL = 2**32 - 1
"""``pvm::kAnyLabel``."""
MEMBER = 32
"""``pvm::kMember``."""
OPENED_BYTES = 1288
"""``sizeof(pvm::OpenedBatch)``."""
OFFSET_THREADS, FILTER_THREADS = 1024, 256
"""``pvm::kOffsetThreads``, ``kFilterThreads``."""
SIGNATURE_WORDS = 16
"""``pvm::kSignatureWords``."""
EVERY_LABEL = 2**32 - 1
"""``pvm::kEveryLabel``."""

ITEMS = np.dtype([("batch", "<u8"), ("first", "<u8"), ("end", "<u8")])
"""``pvm::Items``."""


class Columns(ctypes.Structure):
    """``pvm::Columns``."""

    __slots__ = ()
    _fields_ = [("words", _u64), ("capacity", _u64), ("first", _u32), ("step", _u32)]


class PhaseControl(ctypes.Structure):
    """``pvm::PhaseControl``."""

    __slots__ = ()
    _fields_ = [
        ("batches_taken", _u64),
        ("batches_opened", _u64),
        ("left_taken", _u64),
        ("long_taken", _u64),
        ("made", _u64),
        ("reserved", _u64),
        ("refused", _u64),
        ("parked", _u32),
        ("long_parts", _u32),
        ("overflow", _u32),
        ("unused", _u32),
    ]


class Work(ctypes.Structure):
    """``pvm::Work``."""

    __slots__ = ()
    _fields_ = [
        ("control", _u64),
        ("search", _u64),
        ("before", _u64),
        ("size", _u64),
        ("first_batch", _u64),
        ("left", _u64),
        ("left_count", _u64),
        ("next_batches", _u64),
        ("parked", _u64),
        ("long_parts", _u64),
        ("most_long", _u32),
        ("long_batch", _u32),
        ("limit", _u64),
        ("filled", _u64),
        ("places", _u64),
    ]


class CandidateSet(ctypes.Structure):
    """``pvm::CandidateSet``."""

    __slots__ = ()
    _fields_ = [
        ("table", _u32),
        ("source", _u32),
        ("label", _u32),
        ("ascends", _u32),
        ("labels", _u64),
        ("mask", _u64),
        ("distinct", _u32),
        ("after", _u32),
        ("own_distinct", _u32 * MOST_MEMBERS),
        ("own_after", _u32 * MOST_MEMBERS),
        ("order_positions", _u64),
        ("members", _u32),
        ("orders", _u64),
    ]


class ArcTest(ctypes.Structure):
    """``pvm::ArcTest``."""

    __slots__ = ()
    _fields_ = [("table", _u32), ("source", _u32), ("target", _u32), ("grouped", _u32), ("absent", _u32)]


def _extend_fields(rows: type[ctypes.Structure]) -> list[tuple[str, Any]]:
    return [
        ("work", Work),
        ("in_", Columns),
        ("out", Columns),
        ("tables", rows * MOST_TABLES),
        ("table_count", _u32),
        ("index_words", _u32),
        ("vertex_labels", _u64),
        ("root_labels", _u64),
        ("root_mask", _u64),
        ("sets", CandidateSet * 2),
        ("less", _u32 * MOST_MEMBERS),
        ("different", _u32 * MOST_MEMBERS),
        ("out_count", _u32),
        ("test_count", _u32),
        ("out_sources", _u8 * MAX_PATTERN_VERTICES),
        ("tests", ArcTest * MOST_TESTS),
        ("next_sets", CandidateSet * 2),
        ("set_count", _u32),
        ("next_set_count", _u32),
        ("tuples", _u32),
        ("next_tuples", _u32),
        ("own_test_count", _u32),
    ]


def _eliminate_fields(rows: type[ctypes.Structure]) -> list[tuple[str, Any]]:
    return [
        ("work", Work),
        ("in_", Columns),
        ("out", Columns),
        ("tables", rows * MOST_TABLES),
        ("table_count", _u32),
        ("index_words", _u32),
        ("vertex_labels", _u64),
        ("test_count", _u32),
        ("kept_count", _u32),
        ("tests", ArcTest * MOST_TESTS),
        ("kept", _u8 * MAX_PATTERN_VERTICES),
    ]


class BucketArgs(ctypes.Structure):
    """``pvm::BucketArgs``."""

    __slots__ = ()
    _fields_ = [
        ("in_", Columns),
        ("out", Columns),
        ("size", _u64),
        ("renamed", _u64),
        ("least_ids", _u64),
        ("places", _u64),
        ("tiles", _u32),
        ("column", _u32),
        ("width", _u32),
        ("unused", _u32),
    ]


class ExtendArgs(ctypes.Structure):
    """``pvm::ExtendArgs``."""

    __slots__ = ()
    _fields_ = _extend_fields(IntervalRows)


class EliminateArgs(ctypes.Structure):
    """``pvm::EliminateArgs``."""

    __slots__ = ()
    _fields_ = _eliminate_fields(IntervalRows)


class ExtendByHashArgs(ctypes.Structure):
    """``pvm::ExtendByHashArgs``."""

    __slots__ = ()
    _fields_ = _extend_fields(HashRows)


class EliminateByHashArgs(ctypes.Structure):
    """``pvm::EliminateByHashArgs``."""

    __slots__ = ()
    _fields_ = _eliminate_fields(HashRows)


class OffsetArgs(ctypes.Structure):
    """``pvm::OffsetArgs``."""

    __slots__ = ()
    _fields_ = [("work", Work), ("measured", _u64)]


class FilterArgs(ctypes.Structure):
    """``pvm::FilterArgs``."""

    __slots__ = ()
    _fields_ = [
        ("signatures", _u64),
        ("among", _u64),
        ("candidates", _u64),
        ("vertices", _u32),
        ("wanted", _u32 * SIGNATURE_WORDS),
    ]


class PhaseKernel(StrEnum):
    """Entry points of the units below."""

    WRITE = "motiflux_phase_write"
    """Write the embeddings of the next frontier."""
    COUNT = "motiflux_phase_count"
    """Make them, but only count."""
    SIZE = "motiflux_phase_size"
    """Count by the numbers of candidates; extension phases only."""
    NEXT = "motiflux_phase_next"
    """Make embeddings, and count their extensions by another phase by the numbers of candidates."""
    MEASURE = "motiflux_phase_measure"
    """Writes in two passes: count the embeddings of each unit of work."""
    OFFSETS = "motiflux_phase_offsets"
    """Then find the place of each unit, by one block."""
    PLACE = "motiflux_phase_place"
    """Then write the embeddings to their places."""
    FILTER = "motiflux_phase_filter"
    """Find the candidates of a query vertex by signatures."""


class KernelForm(NamedTuple):
    """How kernels of phases are compiled: other than by default to compare with.

    Parameters
    ----------
    by_hash
        Whether rows are in hash tables; if not, they are found by intervals.
    two_passes
        Whether embeddings are written in two passes.
    """

    by_hash: bool = False
    two_passes: bool = False

    @property
    def ending(self) -> str:
        """The end of the names of units."""
        return "-hash" * self.by_hash + "-two-passes" * self.two_passes

    @property
    def entries(self) -> tuple[PhaseKernel, ...]:
        """Entry points that all phases have."""
        if self.two_passes:
            return PhaseKernel.MEASURE, PhaseKernel.PLACE
        return PhaseKernel.WRITE, PhaseKernel.COUNT

    def argument(self, of: str) -> str:
        """Return the name of the argument in C++."""
        return f"{of}{'ByHash' * self.by_hash}Args"


DEFAULT_FORM = KernelForm()
OTHER_FORMS = (
    KernelForm(by_hash=True),
    KernelForm(two_passes=True),
    KernelForm(by_hash=True, two_passes=True),
)


class BucketKernel(StrEnum):
    """Entry points of `bucket_source`."""

    COUNT = "motiflux_bucket_count"
    """Count the embeddings of each tile."""
    WRITE = "motiflux_bucket_write"
    """Write the embeddings in the order of their tiles."""


class ExtensionShape(NamedTuple):
    """Numbers of query vertices of both sets of candidates.

    Parameters
    ----------
    tuples
        Whether query vertices of one set may have the same candidate.
    nested
        Whether loops over candidates are nested as in algorithm 6.
    """

    first: int
    second: int = 0
    tuples: bool = False
    nested: bool = False

    @property
    def members(self) -> int:
        """Number of query vertices."""
        return self.first + self.second

    @property
    def text(self) -> str:
        """The shape in C++."""
        flags = ", ".join("true" if flag else "false" for flag in (self.tuples, self.nested))
        return f"motiflux::pvm::Shape<{self.first}, {self.second}, {flags}>"

    @property
    def name(self) -> str:
        """The shape in the name of a unit."""
        return f"{self.first}-{self.second}" + "-tuples" * self.tuples + "-nested" * self.nested


_IN_TWO_PASSES = {PhaseKernel.MEASURE: "kMeasure", PhaseKernel.PLACE: "kPlace"}


@cache
def extension_source(shape: ExtensionShape, form: KernelForm = DEFAULT_FORM) -> Source:
    """Return the unit of extension phases of a shape: ``WRITE``, ``COUNT`` and ``NEXT``, or in two passes."""
    if form.two_passes:
        bodies = {
            entry: f"extend<{shape.text}, motiflux::pvm::Goal::kWrite, motiflux::pvm::Pass::{name}>"
            for entry, name in _IN_TWO_PASSES.items()
        }
    else:
        goals = {PhaseKernel.WRITE: "kWrite", PhaseKernel.COUNT: "kCount", PhaseKernel.NEXT: "kCountNext"}
        bodies = {
            entry: f"extend<{shape.text}, motiflux::pvm::Goal::{goal}>" for entry, goal in goals.items()
        }
    return _phase_source(f"pvm-extend-{shape.name}{form.ending}", "extend", form.argument("Extend"), bodies)


@cache
def closing_source(form: KernelForm = DEFAULT_FORM) -> Source:
    """Return the unit of last phases that are counted by the numbers of candidates: ``SIZE``."""
    body = {PhaseKernel.SIZE: "count_by_size"}
    return _phase_source(f"pvm-close{form.ending}", "close", form.argument("Extend"), body)


@cache
def elimination_source(form: KernelForm = DEFAULT_FORM) -> Source:
    """Return the unit of elimination phases: ``WRITE`` and ``COUNT``, or in two passes."""
    if form.two_passes:
        bodies = {
            entry: f"eliminate<true, motiflux::pvm::Pass::{name}>" for entry, name in _IN_TWO_PASSES.items()
        }
    else:
        bodies = {PhaseKernel.WRITE: "eliminate<true>", PhaseKernel.COUNT: "eliminate<false>"}
    return _phase_source(f"pvm-eliminate{form.ending}", "eliminate", form.argument("Eliminate"), bodies)


@cache
def offset_source() -> Source:
    """Return the unit of the places of writes in two passes: ``OFFSETS``."""
    return _phase_source(
        "pvm-offsets", "offsets", "OffsetArgs", {PhaseKernel.OFFSETS: "set_places"}, "kOffsetThreads"
    )


@cache
def filter_source() -> Source:
    """Return the unit of candidates by signatures: ``FILTER``."""
    return _phase_source(
        "pvm-filter", "filter", "FilterArgs", {PhaseKernel.FILTER: "filter"}, "kFilterThreads"
    )


@cache
def bucket_source() -> Source:
    """Return the unit that sorts frontiers by the tiles of a table."""
    bodies = {BucketKernel.COUNT: "bucket<false>", BucketKernel.WRITE: "bucket<true>"}
    return _phase_source("pvm-bucket", "bucket", "BucketArgs", bodies)


COMMON_SHAPES = tuple(ExtensionShape(*sizes) for sizes in ((1,), (2,), (1, 1), (3,), (2, 1)))
"""Shapes of most extension phases."""


def phase_sources() -> list[Source]:
    """Return the units of most phases, and some of those to compare with."""
    nested = [ExtensionShape(3, nested=True), ExtensionShape(2, 1, nested=True)]
    return [
        elimination_source(),
        closing_source(),
        bucket_source(),
        *map(extension_source, COMMON_SHAPES),
        *map(extension_source, nested),
        *(elimination_source(form) for form in OTHER_FORMS),
        *(extension_source(ExtensionShape(1), form) for form in OTHER_FORMS),
        closing_source(KernelForm(by_hash=True)),
        offset_source(),
        filter_source(),
    ]


def _phase_source(
    name: str,
    header: str,
    argument: str,
    bodies: Mapping[Any, str],
    threads: str = "kThreads",
) -> Source:
    entries = "\n".join(
        f"""\
extern "C" __global__ void __launch_bounds__(motiflux::pvm::{threads})
{entry}(const __grid_constant__ motiflux::pvm::{argument} args) {{
  motiflux::pvm::{body}(args);
}}"""
        for entry, body in bodies.items()
    )
    return Source(name, f'#include "motiflux/pvm/{header}.cuh"\n\n{entries}\n')
