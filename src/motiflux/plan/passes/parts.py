"""Parts: the levels that remain after some are matched, split into independent branches.

`nest` turns the levels from a start on into a tree of blocks (`csrc/search/tail.hpp`). Levels belong to one
component if a query edge joins them, if their vertices might coincide, or if symmetry breaking orders them.
The numbers of components multiply. In a connected component, the first level is matched, and the rest may be
independent again. Within a component, branches that query edges connect may share data vertices with other
branches: the levels concerned are the separators of a branch. Branches with one separator each are counted by
inclusion and exclusion, each vertex weighted by the number of ways to match the rest of its branch. Branches
with several separators become lists of the choices for them. The number of each block is cached by the
vertices on which it depends; the order of vertices that it must only avoid makes no difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from motiflux.plan.passes.part_builder import LISTED, Pair, PartBuilder, PartWay
from motiflux.plan.passes.tail import FIRST_START
from motiflux.plan.shape import PlanArgs, PlanShape, Tail, TailComponent, TailList


def way_of(tail: Tail) -> PartWay:
    """Return how branches that may share data vertices are counted in a tail."""
    lists = any(True for _ in lists_of(tail.components))
    return PartWay(lists or _is_weighted(tail.components), lists)


def _is_weighted(components: Iterable[TailComponent]) -> bool:
    return any(
        (len(one.levels) > 1 and bool(one.child_blocks))
        or any(_is_weighted(block.components) for block in one.child_blocks if block is not None)
        for one in components
    )


def nest(
    shape: PlanShape,
    args: PlanArgs,
    coinciding: frozenset[Pair] = frozenset(),
    classes: tuple[int, ...] | None = None,
    *,
    start: int = FIRST_START,
    way: PartWay = LISTED,
) -> tuple[PlanShape, Tail] | None:
    """Return the tree of the levels from `start` on, and the shape with the restrictions that remain.

    None under induced matching, if a level of the tail must not be adjacent to others.

    Parameters
    ----------
    coinciding
        Pairs of levels that may share a data vertex: they are in different components, as the formula of a
        component is for different vertices.
    classes
        Over a candidate space: a number per level, equal for equal candidates.
    way
        How branches that may share data vertices are counted.

    Notes
    -----
    Call it before intersections are shared, as `close_tail`.
    """
    if len(shape.steps) <= start or any(step.not_out or step.not_in for step in shape.steps[start:]):
        return None
    builder = PartBuilder(shape, args, coinciding, classes, way)
    block = builder.block(range(start, len(shape.steps)), tuple(range(start)))
    tail = Tail(start, block.components, block.exact, block.excluded, block.kept)
    return PlanShape(tuple(builder.steps)), tail


def part_order(
    shape: PlanShape,
    args: PlanArgs,
    coinciding: frozenset[Pair] = frozenset(),
    classes: tuple[int, ...] | None = None,
    *,
    largest_first: bool = False,
    way: PartWay = LISTED,
) -> tuple[int, ...] | None:
    """Return the levels in an order in which `nest` finds more parts: branch by branch, separators first.

    Parameters
    ----------
    largest_first
        Of branches with too many separators, match the largest first, not the one with the least level.
    way
        As for `nest`.
    """
    start = FIRST_START
    if len(shape.steps) <= start or any(step.not_out or step.not_in for step in shape.steps[start:]):
        return None
    builder = PartBuilder(
        shape,
        args,
        coinciding,
        classes,
        way,
        reorders=True,
        largest_first=largest_first,
    )
    builder.block(range(start, len(shape.steps)), tuple(range(start)))
    return (*range(start), *builder.placed)


def lists_of(components: Iterable[TailComponent]) -> Iterator[TailList]:
    """Yield the lists of `components` and of all blocks below them."""
    for component in components:
        yield from component.lists
        for block in (*component.child_blocks, *(one.child_block for one in component.lists)):
            if block is not None:
                yield from lists_of(block.components)
