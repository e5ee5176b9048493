"""Plans with their rows or candidate space, as arguments of the native code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from motiflux import _native
from motiflux.errors import ArgumentError, InternalError
from motiflux.graph import Adjacency, AdjacencyKey, Direction, Graph
from motiflux.plan.candidates.space import CandidateSpace, candidate_space
from motiflux.plan.comparisons.native import SearchComparisons, native_comparisons
from motiflux.plan.ir import Plan
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
_KEPT_PROBLEMS = "native problems"
_MOST_SEARCHES = 16
"""Searches that are kept with a candidate space."""
_BYTES_OF_COPY = 64
"""Bytes of an index of copies, for each of them: about."""


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
    apart: list[tuple[int, int, AdjacencyKey]]
    """Levels, and earlier ones from which these arcs must not lead to them."""
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
            apart=[
                (level, earlier, key)
                for level, args in enumerate(plan.args.steps)
                for earlier, key in args.apart
            ],
            tail=_tail(plan),
        )


@dataclass(frozen=True, slots=True)
class _Problem:
    """The search of a plan, which repeated calls share.

    `nbytes` is about the size of the indexes of copies that it refers to.
    """

    plan: Plan
    """Referenced so that no other plan gets its id."""
    native: _native.NativePlan
    nbytes: int


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
        Whether the search of the plan is kept for further calls: with its candidate space or, with
        comparisons, with the graph. Of other plans, the arguments are kept.
    """
    if plan.impossible is not None:
        raise InternalError(f"expected a plan with a search, found an empty plan: {plan.impossible}")
    if again and plan.comparisons is not None and rows is None:
        edges = sum(variable.edge is not None for variable in plan.comparisons.variables)

        def make() -> _Problem:
            problem = native_problem(
                graph,
                plan,
                intersect=intersect,
                threads=threads,
                simd=simd,
                backjump=backjump,
                adaptive=adaptive,
            )
            return _Problem(plan, problem, edges * graph.num_edge_copies * _BYTES_OF_COPY)

        call = (id(plan), intersect, simd, backjump, adaptive)
        return graph.memo.get_sized(_KEPT_PROBLEMS, call, make, graph.cache_bytes()).native
    if again and plan.space is not None and rows is None and not _has_absent(plan):
        return _kept_search(graph, plan, plan.space, threads, intersect, simd, backjump, adaptive)
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
        _set_apart(problem, graph, given, threads, {})
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
    _set_apart(problem, graph, given, threads, narrowed)
    if plan.comparisons is not None:
        made = native_comparisons(graph, plan)
        filtered = [key.target_labels is not None or key.target_where is not None for key in given.keys]
        problem.set_comparisons(
            made.native, made.variables_of_sources, [filtered[slot] for slot in given.slots]
        )
        if made.copy_walk is not None:
            problem.set_copy_walk(*made.copy_walk)
    return problem


def _kept_search(
    graph: Graph,
    plan: Plan,
    key: SpaceKey,
    threads: int,
    intersect: str,
    simd: str,
    backjump: str,
    adaptive: bool,
) -> _native.NativePlan:
    """Return the search of a plan that is kept with its candidate space, and make it at the first call."""
    space = candidate_space(graph, key, threads)
    call = (id(plan), intersect, simd, backjump, adaptive)
    kept: _Problem | None = None if space is None else space.searches.get(call)
    if kept is not None:
        return kept.native
    made = native_problem(
        graph, plan, intersect=intersect, threads=threads, simd=simd, backjump=backjump, adaptive=adaptive
    )
    if space is not None:
        space.searches[call] = _Problem(plan, made, 0)
        for oldest in list(space.searches)[:-_MOST_SEARCHES]:
            space.searches.pop(oldest, None)
    return made


def _has_absent(plan: Plan) -> bool:
    """Whether arcs must not be there: a search for these may hold rows of the graph."""
    return any(step.not_out or step.not_in for step in plan.shape.steps) or any(
        args.apart for args in plan.args.steps
    )


def native_problem_of_rows(
    plan: Plan,
    rows: Sequence[Adjacency],
    *,
    sources: Sequence[int],
    out: int,
    into: int,
    apart: Sequence[tuple[int, int, int]],
    intersect: str,
    simd: str,
    backjump: str,
    compared: SearchComparisons | None = None,
    steps: list[_native.Step] | None = None,
) -> _native.NativePlan:
    """Return the search of `plan` over rows that were narrowed before: degrees have no bounds.

    Parameters
    ----------
    steps
        What `steps_of_rows` returned for the plan, if several problems share it.
    rows
        Rows over the same vertices.
    sources
        Of each source of the plan, the rows that it reads, by their position.
    out, into
        The rows of the arcs that must not lead to, and from, a later level, if not in `apart`.
    apart
        Levels, earlier levels, and the rows of the arcs that must not lead from these to them.
    compared
        The comparisons of the plan, with values of the vertices of these rows and copies of their arcs.
    """
    problem = _native.NativePlan(
        steps=steps_of_rows(plan) if steps is None else steps,
        bounds=[(0, 0)] * len(plan.order),
        source_adjacencies=list(sources),
        adjacencies=list(rows),
        out=rows[out],
        in_=rows[into],
        sets=_policy(intersect, simd),
        tail=_tail(plan),
    )
    problem.prune(_BACKJUMP[backjump], plan.all_different)
    if apart:
        problem.set_apart([(level, earlier, rows[key]) for level, earlier, key in apart])
    if compared is not None:
        filtered = [source not in compared.own_rows for source in range(len(sources))]
        problem.set_comparisons(compared.native, compared.variables_of_sources, filtered)
    return problem


def steps_of_rows(plan: Plan) -> list[_native.Step]:
    """Return the steps of `native_problem_of_rows`."""
    return [_step(shape, bounds=False) for shape in plan.shape.steps]


def _set_apart(
    problem: _native.NativePlan,
    graph: Graph,
    given: _Arguments,
    threads: int,
    rows: dict[AdjacencyKey, Adjacency],
) -> None:
    """Set the arcs that must not be there, if they are not all arcs of the graph; `rows` is a cache.

    Rows of the graph itself repeat neighbours that several labels join: then all arcs are set, too.
    """
    apart = [*given.apart, *_all_arcs(graph, given)] if graph.forward.labels is not None else given.apart
    for _, _, key in apart:
        if key not in rows:
            rows[key] = graph.adjacency(key, threads)
    if apart:
        problem.set_apart([(level, earlier, rows[key]) for level, earlier, key in apart])


def _all_arcs(graph: Graph, given: _Arguments) -> Iterable[tuple[int, int, AdjacencyKey]]:
    """Yield the arcs that must not be there at levels where all arcs are meant."""
    own = {level for level, _, _ in given.apart}
    out = AdjacencyKey(Direction.OUT if graph.directed else Direction.EITHER, None, None, None)
    into = AdjacencyKey(Direction.IN, None, None, None)
    for level, step in enumerate(given.plan.shape.steps):
        if level not in own:
            yield from ((level, earlier, out) for earlier in step.not_out)
            yield from ((level, earlier, into) for earlier in step.not_in)


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
