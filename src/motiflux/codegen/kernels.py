"""Translation units of the search kernels: constants, an include, and one entry point.

The search itself is in ``include/motiflux/match``.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from motiflux.graph import Direction
from motiflux.jit import Source
from motiflux.plan.shape import PlanShape, StepShape
from motiflux.plan.shape import Source as PlanSource

ENTRY = "motiflux_search"
"""Name of the entry point of every search unit."""

THREADS = 128
"""Threads of a block of a search kernel."""

LANES = (8, 16, 32)
"""Possible numbers of lanes of a group."""

WITHIN_BLOCK = {"passive": "PassiveStealing", "active": "ActiveStealing"}
"""Ways in which groups get work of others in their block, and their names in C++."""

CHECK_TURNS = (8, 64)
"""Turns between checks for waiting groups of the block, and for waiting groups of other blocks."""


class Goal(StrEnum):
    """The goal of a search, which names the header and the function template."""

    COUNT = "count"
    STORE = "store"
    """List: write embeddings into memory."""
    TAIL = "tail"
    """Count; the last levels are a tail."""
    STARS = "stars"
    """Count; all levels but the first are a tail."""
    NESTED = "nested"
    """Count; the last levels are a tail with child blocks."""
    IMAGES = "images"
    """Count by images: add each embedding to the numbers of its vertices or arcs."""
    COUNT_COMPARED = "count_compared"
    """Count; attributes are compared."""
    STORE_COMPARED = "store_compared"
    """List; attributes are compared."""

    @property
    def lists(self) -> bool:
        """Whether embeddings are written to memory, and groups may save themselves."""
        return self in (Goal.STORE, Goal.STORE_COMPARED)


TAILS = (Goal.TAIL, Goal.STARS, Goal.NESTED)
"""Goals whose kernels take a tail."""

COMPARED = (Goal.COUNT_COMPARED, Goal.STORE_COMPARED)
"""Goals whose kernels take comparisons of attributes."""


DEFAULT_LANES = {
    Goal.COUNT: LANES[2:],
    Goal.STORE: LANES[:2],
    Goal.TAIL: LANES[2:],
    Goal.STARS: LANES[:2],
    Goal.NESTED: LANES[2:],
    Goal.COUNT_COMPARED: LANES[2:],
    Goal.STORE_COMPARED: LANES[2:],
    Goal.IMAGES: LANES,
}
"""Numbers of lanes with the default tuning. If there are several, the first one is for very short rows."""


_ARGUMENTS = {
    **dict.fromkeys(TAILS, ("TailArgs", "tail")),
    **dict.fromkeys(COMPARED, ("ComparedArgs", "compared")),
    Goal.IMAGES: ("ImageArgs", str(Goal.IMAGES)),
}
"""The argument and the header of goals with arguments of their own."""
_TWO_ROUNDINGS = ("--fmad=false",)
"""The option with which a product and a sum are rounded one after the other, as on the CPU."""


def clique_source() -> Source:
    """Return the kernel that counts cliques of any size; its entry point is `ENTRY`."""
    return _clique_source("cliques", "match/clique.cuh", "CliqueArgs", "count_cliques")


def triangle_source() -> Source:
    """Return the kernel that counts triangles in graphs with short rows; its entry point is `ENTRY`."""
    return _clique_source("triangles", "match/triangle.cuh", "TriangleArgs", "count_triangles")


def triangle_tile_source() -> Source:
    """Return the kernel that counts triangles between the rows of two tiles; its entry point is `ENTRY`."""
    return _clique_source(
        "triangles-of-tiles", "match/triangle.cuh", "TriangleTileArgs", "count_triangles_of_tiles"
    )


def _clique_source(name: str, header: str, arguments: str, body: str) -> Source:
    text = f"""\
#include "motiflux/{header}"

extern "C" __global__ void __launch_bounds__({THREADS})
{ENTRY}(const __grid_constant__ motiflux::match::{arguments} args) {{
  motiflux::match::{body}(args);
}}
"""
    return Source(name, text)


def placed(source: Source) -> Source:
    """Return the unit for rows that may lie anywhere, of which some have copies on the device.

    Rows are read by a table of their places and ends (``view/adjacency.hpp``), not by offsets.
    """
    text = f"#define MOTIFLUX_PLACED_ROWS\n{source.text}"
    return replace(source, name=f"{source.name}-placed", text=text)


def ring_sources() -> list[Source]:
    """Return the kernels that measure the ring between host and device."""
    return [Source("ring", '#include "motiflux/device/echo.cuh"\n')]


RMAT_ENTRY = "motiflux_rmat"


def rmat_source() -> Source:
    """Return the kernel that draws R-MAT edges; its entry point is `RMAT_ENTRY`."""
    return Source("rmat", '#include "motiflux/generate/rmat.cuh"\n')


NUMBER_ENTRY = "motiflux_number"


def number_source() -> Source:
    """Return the kernel that writes the ids of rows and their images; its entry point is `NUMBER_ENTRY`."""
    return Source("number", '#include "motiflux/rows/number.cuh"\n')


def clique(vertices: int) -> PlanShape:
    """Return the shape of a plan for a clique in an undirected graph, each subgraph once."""
    steps = [StepShape(bounds_out=True)]
    for level in range(1, vertices):
        shares = level > 2
        sources = range(level - 1, level) if shares else range(level)
        steps.append(
            StepShape(
                sources=tuple(PlanSource(source, Direction.EITHER) for source in sources),
                reuse=level - 1 if shares else None,
                anchor=level - 1,
                after=(level - 1,),
                bounds_out=level < vertices - 1,
            )
        )
    return PlanShape(tuple(steps))


def search_source(
    goal: Goal,
    lanes: int,
    shape: PlanShape | None = None,
    description: str = "",
    within: str | None = None,
) -> Source:
    """Return the unit that searches by any plan, or by plans of one `shape` only.

    Parameters
    ----------
    lanes
        Number of lanes of a group: 8, 16 or 32.
    shape
        The shape that is compiled into the kernel; None for a kernel that reads the plan from its argument.
    description
        Text that is shown if the unit does not compile.
    within
        The way in which groups get work of others in their block, a key of `WITHIN_BLOCK`; None: they do not.
    """
    kind = "any" if shape is None else f"{len(shape.steps)}v"
    definition = "using Plan = motiflux::match::RuntimePlan;\n" if shape is None else _static_plan(shape)
    args, header = _ARGUMENTS.get(goal, ("SearchArgs", str(goal)))
    text = f"""\
#include "motiflux/match/{header}.cuh"

{definition}
extern "C" __global__ void __launch_bounds__({THREADS})
{ENTRY}(const __grid_constant__ motiflux::match::{args}<Plan> args) {{
  motiflux::match::{goal}<Plan, {lanes}{_within(within)}>(args);
}}
"""
    suffix = "" if within is None else f"-{within}"
    name = str(goal).replace("_", "-")
    options = _TWO_ROUNDINGS if goal in COMPARED else ()
    return Source(f"search-{name}-{kind}-{lanes}{suffix}", text, options, description)


def _within(within: str | None) -> str:
    return (
        ""
        if within is None
        else f", motiflux::match::{WITHIN_BLOCK[within]}<{CHECK_TURNS[0]}, {CHECK_TURNS[1]}>"
    )


def renewed(shape: PlanShape) -> list[int]:
    """Return, per level, the mask of levels whose sets change with its vertex (whose `anchor` it is)."""
    masks = [0] * len(shape.steps)
    for level, step in enumerate(shape.steps):
        if level > 1:
            masks[step.anchor] |= 1 << level
    return masks


def mask(levels: tuple[int, ...]) -> int:
    """Return a set of levels as bits."""
    return sum(1 << level for level in levels)


def _static_plan(shape: PlanShape) -> str:
    steps, levels, first = [], [], 0
    for step in shape.steps:
        steps.append(_step(step, first))
        levels += [str(source.level) for source in step.sources]
        first += len(step.sources)
    masks = ", ".join(f"{value:#x}u" for value in renewed(shape))
    return f"""\
namespace {{

struct Shape {{
  static constexpr std::uint32_t kLevels = {len(shape.steps)};
  static constexpr std::uint32_t kSources = {first};
  // first_source, source_count, reuse, anchor, after, before, distinct, not_out, not_in, bounds_out, _in
  static constexpr motiflux::view::StepShape kSteps[kLevels] = {{
      {("," + chr(10) + "      ").join(steps)}}};
  static constexpr std::uint32_t kRenewed[kLevels] = {{{masks}}};
  static constexpr std::uint32_t kSourceLevels[kSources] = {{{", ".join(levels)}}};
}};

using Plan = motiflux::match::StaticPlan<Shape>;

}}  // namespace
"""


def _step(step: StepShape, first_source: int) -> str:
    fields = [
        str(first_source),
        str(len(step.sources)),
        "-1" if step.reuse is None else str(step.reuse),
        str(step.anchor),
        *(
            f"{mask(levels):#x}u"
            for levels in (step.after, step.before, step.distinct, step.not_out, step.not_in)
        ),
        "true" if step.bounds_out else "false",
        "true" if step.bounds_in else "false",
    ]
    return "{" + ", ".join(fields) + "}"
