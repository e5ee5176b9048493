"""Plans as kernel arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from motiflux.codegen import compared, layout
from motiflux.codegen.kernels import mask, renewed
from motiflux.codegen.pack_tail import pack_tail
from motiflux.codegen.tails import DeviceTail
from motiflux.plan import Plan
from motiflux.plan.shape import StepShape

RowAddresses = Sequence[Sequence[tuple[int, int]]]
"""Per level and source: the addresses of the offsets and of the neighbours of its rows on the device."""

_NO_REUSE = -1


def pack_runtime(
    plan: Plan,
    rows: RowAddresses,
    tail: DeviceTail | None = None,
    network: compared.Network | None = None,
    *,
    images: bool = False,
) -> Any:
    """Return ``SearchArgs<RuntimePlan>`` with its plan filled in and its task empty.

    With a tail, return ``TailArgs``; with comparisons, ``ComparedArgs``; with `images`, ``ImageArgs`` with no
    images.
    """
    args: Any
    if network is not None:
        args = compared.RuntimeArgs(network=network)
    elif images:
        args = layout.RuntimeImageArgs()
    elif tail is None:
        args = layout.RuntimeArgs()
    else:
        args = layout.RuntimeTailArgs(tail=pack_tail(tail))
    packed = args.plan
    packed.level_count = len(plan.shape.steps)
    place = 0
    for level, (shape, step_args, addresses) in enumerate(
        zip(plan.shape.steps, plan.args.steps, rows, strict=True)
    ):
        packed.shapes[level] = _shape(shape, place)
        packed.args[level] = layout.StepArgs(step_args.min_out_degree, step_args.min_in_degree)
        for source, address in zip(shape.sources, addresses, strict=True):
            packed.source_levels[place] = source.level
            packed.rows[place] = layout.Adjacency(*address)
            place += 1
    for level, levels in enumerate(renewed(plan.shape)):
        packed.renewed[level] = levels
    return args


def pack_static(
    plan: Plan,
    rows: RowAddresses,
    tail: DeviceTail | None = None,
    network: compared.Network | None = None,
    *,
    images: bool = False,
) -> Any:
    """Return ``SearchArgs<StaticPlan<Shape>>`` for the plan's shape, with an empty task.

    With a tail, return ``TailArgs``; with comparisons, ``ComparedArgs``; with `images`, ``ImageArgs`` with no
    images.
    """
    sources = [address for addresses in rows for address in addresses]
    levels = len(plan.shape.steps)
    args: Any
    if network is not None:
        args = compared.static_args(levels, len(sources))(network=network)
    else:
        args = layout.static_args(levels, len(sources), tail=tail is not None, images=images)()
    if tail is not None:
        args.tail = pack_tail(tail)
    packed: Any = args.plan
    for level, step in enumerate(plan.args.steps):
        packed.args[level] = layout.StepArgs(step.min_out_degree, step.min_in_degree)
    for place, address in enumerate(sources):
        packed.rows[place] = layout.Adjacency(*address)
    return args


def span_counts(plan: Plan) -> list[int]:
    """Return the number of sets that the step of each level intersects."""
    return [len(step.sources) + (step.reuse is not None) for step in plan.shape.steps]


def _shape(step: StepShape, first_source: int) -> layout.StepShape:
    return layout.StepShape(
        first_source=first_source,
        source_count=len(step.sources),
        reuse=_NO_REUSE if step.reuse is None else step.reuse,
        anchor=step.anchor,
        after=mask(step.after),
        before=mask(step.before),
        distinct=mask(step.distinct),
        not_out=mask(step.not_out),
        not_in=mask(step.not_in),
        bounds_out=step.bounds_out,
        bounds_in=step.bounds_in,
    )
