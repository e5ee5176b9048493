"""The kernels that count patterns with a universal vertex in bitmaps: their units and arguments.

Fields are as in ``include/motiflux/match/universal_vertex_task.hpp``; ``tests/native/test_layout.py``
compares.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable

from motiflux.codegen.layout import Adjacency, CliqueTask
from motiflux.jit import Source
from motiflux.plan.neighborhood.universal_vertex import (
    MOST_LEVELS,
    ClosedForm,
    NeighborhoodShape,
    NeighborhoodStep,
)

_u32, _i32, _u64 = ctypes.c_uint32, ctypes.c_int32, ctypes.c_uint64

_NO_REUSE = -1
_FIELDS = "joined", "apart", "after", "before", "distinct"


class Base(ctypes.Structure):
    """``match::UniversalVertexBase``."""

    __slots__ = ()
    _fields_ = [("kind", _u32), ("order", _u32)]


class Step(ctypes.Structure):
    """``match::UniversalVertexStep``."""

    __slots__ = ()
    _fields_ = [*((name, _u32) for name in _FIELDS), ("start", _i32), ("base", _u32)]


class Shape(ctypes.Structure):
    """``match::UniversalVertexShape``."""

    __slots__ = ()
    _fields_ = [
        ("levels", _u32),
        ("lanes", _u32),
        ("bases", _u32),
        ("close", _u32),
        ("base", Base * MOST_LEVELS),
        ("step", Step * MOST_LEVELS),
        ("renewed", _u32 * MOST_LEVELS),
    ]


class Task(ctypes.Structure):
    """``match::UniversalVertexTask``."""

    __slots__ = ()
    _fields_ = [("above", Adjacency), ("kinds", _u64)]


class Args(ctypes.Structure):
    """``match::UniversalVertexArgs``."""

    __slots__ = ()
    _fields_ = [("task", CliqueTask), ("pattern", Task), ("shape", Shape)]


def pack(shape: NeighborhoodShape) -> Shape:
    """Return a shape as the structure that kernels take."""
    packed = Shape(levels=len(shape.steps), lanes=shape.lanes, bases=len(shape.bases), close=shape.close)
    for number, (kind, order) in enumerate(shape.bases):
        packed.base[number] = Base(kind, order)
    for level, (step, renewed) in enumerate(zip(shape.steps, shape.renewed, strict=True)):
        packed.step[level] = Step(*_words(step))
        packed.renewed[level] = _mask(renewed)
    return packed


def universal_vertex_source(
    shape: NeighborhoodShape | None = None, entry: str = "motiflux_search", threads: int = 128
) -> Source:
    """Return the unit that counts patterns with a universal vertex: of any shape, or of one `shape` only."""
    kind = "any" if shape is None else f"{len(shape.steps) + 1}v"
    definition = (
        "using Shape = motiflux::match::RuntimeUniversalVertex;\n" if shape is None else _static_shape(shape)
    )
    text = f"""\
#include "motiflux/match/universal_vertex.cuh"

{definition}
extern "C" __global__ void __launch_bounds__({threads})
{entry}(const __grid_constant__ motiflux::match::UniversalVertexArgs args) {{
  motiflux::match::count_universal_vertex<Shape>(args);
}}
"""
    return Source(
        f"universal-vertex-{kind}", text, description="" if shape is None else f"universal vertex: {shape}"
    )


def _static_shape(shape: NeighborhoodShape) -> str:
    close = f"motiflux::match::UniversalVertexClosedForm::k{ClosedForm(shape.close).name.title()}"
    bases = ", ".join(
        f"{{{kind}, static_cast<motiflux::match::UniversalVertexOrder>({order})}}"
        for kind, order in shape.bases
    )
    steps = ",\n       ".join("{" + ", ".join(map(str, _words(step))) + "}" for step in shape.steps)
    renewed = ", ".join(str(_mask(levels)) for levels in shape.renewed)
    return f"""\
namespace {{

struct Constants {{
  // joined, apart, after, before, distinct, start, base
  static constexpr motiflux::match::UniversalVertexShape kShape = {{
      {len(shape.steps)}, {shape.lanes}, {len(shape.bases)}, {close},
      {{{bases}}},
      {{{steps}}},
      {{{renewed}}}}};
}};

using Shape = motiflux::match::StaticUniversalVertex<Constants>;

}}  // namespace
"""


def _words(step: NeighborhoodStep) -> list[int]:
    masks = [_mask(getattr(step, name)) for name in _FIELDS]
    return [*masks, _NO_REUSE if step.start is None else step.start, step.base]


def _mask(levels: Iterable[int]) -> int:
    return sum(1 << level for level in levels)
