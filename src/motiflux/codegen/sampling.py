"""The kernels that draw samples: their units, and the structures of their arguments.

Fields are as in ``include/motiflux/sample``; ``tests/native/test_layout.py`` compares them.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from enum import StrEnum

from motiflux.codegen.layout import Adjacency
from motiflux.jit import Source
from motiflux.types import MAX_PATTERN_VERTICES

_u32, _u64, _f64 = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_double

DRAW_THREADS = 128
"""Threads of a block."""
GROUP = 32
"""``sample::kGroup``: samples of a group, and lanes of a warp."""
POOL_BYTES = 16
"""``sample::kPoolBytes``."""
LANE_ROWS_BYTES = 36 * GROUP
"""Size of ``sample::LaneRows``."""
WINDOW_WEIGHTS_BYTES = 16 * GROUP
"""Size of ``sample::WindowWeights``."""
MOST_GROUPS = 1 << 25
"""Most groups of one launch."""


BITS_ENTRY = "motiflux_write_bits"


class DrawKernel(StrEnum):
    """Entry points of a unit."""

    DRAW = "motiflux_draw"
    ADD_GROUPS = "motiflux_add_groups"


@dataclass(frozen=True)
class Estimator:
    """The estimator by which samples are drawn.

    Parameters
    ----------
    name
        Name for messages and file names.
    policy
        The policy type, in the namespace ``motiflux::sample``.
    text
        C++ text that defines the policy.
    scratch
        Bytes of shared memory that the policy needs per warp, in addition to the samples themselves.
    refines
        Whether the policy may refine candidates; only then does streaming make a difference.
    """

    name: str
    policy: str
    text: str
    scratch: int
    refines: bool


WANDERJOIN = Estimator(
    "wanderjoin", "WanderJoin", '#include "motiflux/sample/wander_join.hpp"\n', 0, refines=False
)
ALLEY = Estimator("alley", "Alley", '#include "motiflux/sample/alley.hpp"\n', LANE_ROWS_BYTES, refines=True)
TREE = Estimator("tree", "Tree", '#include "motiflux/sample/tree.hpp"\n', 0, refines=False)

ESTIMATORS = {one.name: one for one in (WANDERJOIN, ALLEY, TREE)}
"""The estimators of motiflux by name."""

STREAMING = {"packed": "kPacked", "adaptive": "kAdaptive", "leader": "kLeader", "off": "kOff"}
"""Values of the switch ``streaming``."""


def custom_estimator(text: str) -> Estimator:
    """Return the estimator that C++ text defines: a structure ``Custom``, as in ``sample/policy.hpp``."""
    inside = f"""\
#include "motiflux/sample/alley.hpp"
#include "motiflux/sample/wander_join.hpp"

namespace motiflux::sample {{
#line 1 "estimator"
{text}
}}  // namespace motiflux::sample
"""
    return Estimator("custom", "Custom", inside, LANE_ROWS_BYTES + WINDOW_WEIGHTS_BYTES, refines=True)


def scratch_bytes(estimator: Estimator, levels: int) -> int:
    """Return the bytes of shared memory of a warp."""
    return estimator.scratch + ctypes.sizeof(_u32) * GROUP * levels


def draw_source(estimator: Estimator, streaming: str = "packed", sync: str = "sample") -> Source:
    """Return the unit that draws samples; its entry points are those of `DrawKernel`.

    Parameters
    ----------
    streaming, sync
        Values of the switches of these names.
    """
    streaming = streaming if estimator.refines else "off"
    body = {"sample": "draw_by_samples", "iteration": "draw_by_iterations"}[sync]
    text = f"""\
#include "motiflux/sample/draw.cuh"
{estimator.text}
extern "C" __global__ void __launch_bounds__({DRAW_THREADS})
{DrawKernel.DRAW}(const __grid_constant__ motiflux::sample::DrawArgs args) {{
  using namespace motiflux::sample;
  {body}<{estimator.policy}, Streaming::{STREAMING[streaming]}>(args);
}}

extern "C" __global__ void __launch_bounds__({DRAW_THREADS})
{DrawKernel.ADD_GROUPS}(const __grid_constant__ motiflux::sample::DrawArgs args) {{
  motiflux::sample::add_groups(args);
}}
"""
    name = f"draw-{estimator.name}-{streaming}-{sync}"
    return Source(name, text, options=("--fmad=false",), description=f"estimator {estimator.name}")


def bits_source() -> Source:
    """Return the unit that writes rows as bitmaps; its entry point is `BITS_ENTRY`."""
    text = f"""\
#include "motiflux/sample/bits.cuh"

extern "C" __global__ void __launch_bounds__({DRAW_THREADS})
{BITS_ENTRY}(const __grid_constant__ motiflux::sample::BitsArgs args) {{
  motiflux::sample::write_bits(args);
}}
"""
    return Source("sample-bits", text)


def draw_sources() -> list[Source]:
    """Return all units for the estimators of motiflux."""
    plain = [draw_source(estimator) for estimator in (WANDERJOIN, TREE)]
    alley = [draw_source(ALLEY, streaming) for streaming in STREAMING]
    iterating = [draw_source(one, sync="iteration") for one in (WANDERJOIN, ALLEY)]
    return [*plain, *alley, *iterating, bits_source()]


class SampleSource(ctypes.Structure):
    """``sample::Source``."""

    __slots__ = ()
    _fields_ = [("rows", Adjacency), ("level", _u32), ("words", _u32), ("bits", _u64)]


class Level(ctypes.Structure):
    """``sample::Level``."""

    __slots__ = ()
    _fields_ = [
        ("members", _u64),
        ("sums", _u64),
        ("first_source", _u32),
        ("source_count", _u32),
        ("distinct", _u32),
        ("not_out", _u32),
        ("not_in", _u32),
        ("tree_source", _u32),
    ]


class CandidateGraph(ctypes.Structure):
    """``sample::CandidateGraph``."""

    __slots__ = ()
    _fields_ = [
        ("sources", _u64),
        ("roots", _u64),
        ("root_sums", _u64),
        ("trees", _f64),
        ("root_count", _u64),
        ("out", Adjacency),
        ("in_", Adjacency),
        ("levels", _u32),
        ("level", Level * MAX_PATTERN_VERTICES),
    ]


class BitsArgs(ctypes.Structure):
    """``sample::BitsArgs``."""

    __slots__ = ()
    _fields_ = [("rows", Adjacency), ("bits", _u64), ("starts", _u32), ("words", _u32)]


class DrawArgs(ctypes.Structure):
    """``sample::DrawArgs``."""

    __slots__ = ()
    _fields_ = [
        ("graph", CandidateGraph),
        ("seed", _u64),
        ("first", _u64),
        ("count", _u32),
        ("inheritance", _u32),
        ("pool", _u32),
        ("scratch_bytes", _u32),
        ("control", _u64),
        ("weights", _u64),
        ("valid", _u64),
        ("work", _u64),
        ("sample_weights", _u64),
        ("sample_work", _u64),
    ]
