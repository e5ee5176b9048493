"""Plans with their rows or candidate space, as arguments of the native code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from motiflux import _native
from motiflux.errors import ArgumentError, InternalError
from motiflux.graph import Adjacency, AdjacencyKey, Direction, Graph
from motiflux.plan.candidates.space import CandidateSpace, candidate_space
from motiflux.plan.ir import Plan
from motiflux.plan.native_comparisons import native_comparisons
from motiflux.plan.shape import SpaceKey, StepShape, TailBlock, TailList

_List: TypeAlias = tuple[list[int], list[int], int, list[int], bool, int]
_Component: TypeAlias = tuple[list[int], list[int], list[int], list[int], list[_List]]
_Block: TypeAlias = tuple[list[_Component], list[int], list[tuple[list[int], list[int]]], bool]

_NO_REUSE = -1
_NO_BLOCK = -1
_METHODS = {"auto": 0, "merge": 1, "gallop": 2}
_SIMD = {"scalar": 0, "avx2": 1, "avx512": 2}
_BACKJUMP = {"off": 0, "on": 1, "auto": 2}
_DIRECTIONS = {Direction.OUT: 0, Direction.IN: 1, Direction.EITHER: 2}


_KEPT_ARGUMENTS = "native arguments"
_MOST_KEPT = 512


@dataclass(frozen=True, slots=True)
class _Arguments:
    """The arguments of the native code that depend on the plan only, not on the graph."""

    plan: Plan
    """Referenced so that no other plan gets its id."""
    steps: list[_native.Step]
    bounds: list[tuple[int, int]]
    edges: list[tuple[int, bool]]
    keys: list[AdjacencyKey]
    slots: list[int]
    tail: tuple[int, list[_Block]]

    nbytes = 1
    """The limit on kept arguments is their number."""

    @classmethod
    def of(cls, plan: Plan) -> _Arguments:
        over_space = plan.space is not None
        slots: dict[AdjacencyKey, int] = {}
        return cls(
            plan=plan,
            steps=[_step(shape, bounds=not over_space) for shape in plan.shape.steps],
            bounds=[
                (0, 0) if over_space else (args.min_out_degree, args.min_in_degree)
                for args in plan.args.steps
            ],
            edges=[edge for args in plan.args.steps for edge in args.edges],
            slots=[slots.setdefault(key, len(slots)) for args in plan.args.steps for key in args.adjacencies],
            keys=list(slots),
            tail=_tail(plan),
        )


def native_problem(
    graph: Graph,
    plan: Plan,
    *,
    intersect: str,
    threads: int,
    simd: str = "auto",
    rows: dict[AdjacencyKey, Adjacency] | None = None,
    backjump: str = "off",
    adaptive: bool = False,
    again: bool = False,
) -> _native.NativePlan:
    """Return the search of `plan` over its candidate space, or over rows of the graph.

    Parameters
    ----------
    rows
        Cache of narrowed rows, which is filled: problems with the same cache share their arrays.
    backjump
        Whether a search jumps back over levels that did not cause a failure: ``on``, ``off``, or ``auto``:
        if it finds little.
    adaptive
        Whether the search may then continue in an adaptive order.
    again
        Whether arguments of the plan are kept with the graph for further calls.
    """
    if plan.impossible is not None:
        raise InternalError(f"expected a plan with a search, found an empty plan: {plan.impossible}")
    if again:
        given = graph.memo.get_sized(_KEPT_ARGUMENTS, id(plan), lambda: _Arguments.of(plan), _MOST_KEPT)
    else:
        given = _Arguments.of(plan)
    out = (graph.forward.offsets, graph.forward.neighbors)
    into = (graph.reverse.offsets, graph.reverse.neighbors)
    if plan.space is not None:
        problem = _native.NativePlan(
            steps=given.steps,
            bounds=given.bounds,
            space=_space_of(graph, plan, plan.space, threads).native,
            order=plan.order,
            source_edges=given.edges,
            out=out,
            in_=into,
            sets=_policy(intersect, simd),
            tail=given.tail,
        )
        problem.prune(_BACKJUMP[backjump], plan.all_different)
        if plan.adaptive_order is not None and adaptive:
            problem.set_adaptive_order(
                plan.adaptive_order.links, plan.adaptive_order.compared, plan.adaptive_order.always
            )
        return problem
    narrowed = {} if rows is None else rows
    for key in given.keys:
        if key not in narrowed:
            narrowed[key] = graph.adjacency(key, threads)
    problem = _native.NativePlan(
        steps=given.steps,
        bounds=given.bounds,
        source_adjacencies=given.slots,
        adjacencies=[narrowed[key] for key in given.keys],
        out=out,
        in_=into,
        sets=_policy(intersect, simd),
        tail=given.tail,
    )
    problem.prune(_BACKJUMP[backjump], plan.all_different)
    if plan.comparisons is not None:
        problem.set_comparisons(*native_comparisons(graph, plan))
    return problem


def _space_of(graph: Graph, plan: Plan, key: SpaceKey, threads: int) -> CandidateSpace:
    """Return the candidate space of a plan."""
    space = candidate_space(graph, key, threads)
    if space is None:
        raise InternalError("the candidate space of a plan does not fit into memory any more")
    if not _is_of(plan, space):
        raise InternalError("the candidate space of a plan has other candidates now")
    return space


def _is_of(plan: Plan, space: CandidateSpace) -> bool:
    """Whether the space has candidates, equal for the levels for which the plan assumes it."""
    pairs = {(number, space.classes[v]) for number, v in zip(plan.classes, plan.order, strict=True)}
    return not space.empty and len(pairs) == len(set(plan.classes))


@cache
def simd_here() -> tuple[str, ...]:
    """Return the values of the switch ``simd`` that this processor supports, the fastest last."""
    here = _native.simd_here()
    return tuple(name for name, number in _SIMD.items() if number in here)


def _policy(intersect: str, simd: str) -> tuple[int, int]:
    """Return the codes of the intersection method and of the instruction set."""
    here = simd_here()
    if simd not in ("auto", *here):
        raise ArgumentError("tuning['simd']", f"auto, or what this processor has: {', '.join(here)}", simd)
    return _METHODS[intersect], _SIMD[here[-1] if simd == "auto" else simd]


def _tail(plan: Plan) -> tuple[int, list[_Block]]:
    if plan.tail is None:
        return len(plan.order), []
    blocks: list[_Block] = []
    tail = plan.tail
    _add_block(TailBlock(tail.components, tail.exact, tail.excluded, tail.kept), blocks)
    return plan.tail.start, blocks


def _add_block(block: TailBlock, blocks: list[_Block]) -> int:
    """Append `block` and the blocks below it; return its position."""
    components: list[_Component] = []
    at = len(blocks)
    excluded = [(list(members), list(levels)) for members, levels in block.excluded]
    blocks.append((components, list(block.exact), excluded, block.kept))
    for one in block.components:
        child_blocks = [
            _NO_BLOCK if below is None else _add_block(below, blocks) for below in one.child_blocks
        ]
        lists = [_list(listed, blocks) for listed in one.lists]
        components.append((list(one.levels), list(one.sets), list(one.chains), child_blocks, lists))
    return at


def _list(one: TailList, blocks: list[_Block]) -> _List:
    child_block = _NO_BLOCK if one.child_block is None else _add_block(one.child_block, blocks)
    return list(one.levels), list(one.listed), one.separators, list(one.exact), one.kept, child_block


def _step(shape: StepShape, *, bounds: bool = True) -> _native.Step:
    """Return one step; `bounds` is false for candidate spaces, whose candidates have the degrees already."""
    return _native.Step(
        source_levels=[source.level for source in shape.sources],
        source_directions=[_DIRECTIONS[source.direction] for source in shape.sources],
        reuse=_NO_REUSE if shape.reuse is None else shape.reuse,
        anchor=shape.anchor,
        after=_mask(shape.after),
        before=_mask(shape.before),
        distinct=_mask(shape.distinct),
        not_out=_mask(shape.not_out),
        not_in=_mask(shape.not_in),
        bounds_out=bounds and shape.bounds_out,
        bounds_in=bounds and shape.bounds_in,
    )


def _mask(levels: Iterable[int]) -> int:
    return sum(1 << level for level in levels)
