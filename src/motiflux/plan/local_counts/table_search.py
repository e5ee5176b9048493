"""Plans of the searches that fill tables: from each image of the roots of a pattern."""

from __future__ import annotations

from functools import lru_cache

from motiflux.pattern import Pattern, QueryEdge, QueryVertex
from motiflux.pattern.automorphism import automorphisms
from motiflux.plan.bind import BoundPattern
from motiflux.plan.ir import Plan
from motiflux.plan.passes.reuse import share_intersections
from motiflux.plan.passes.steps import build_steps
from motiflux.plan.passes.symmetry import Restriction, closure, restrictions
from motiflux.plan.passes.tail import close_tail
from motiflux.plan.rooted import Rooted
from motiflux.types import Semantics, Symmetry


@lru_cache(maxsize=2048)
def table_search_plan(
    pattern: Rooted, bound: BoundPattern, order: tuple[int, ...], *, injective: bool, tails: bool
) -> Plan:
    """Return the plan of a search from each image of the roots, without estimates; it serves any graph."""
    semantics = Semantics.ISOMORPHISM if injective else Semantics.HOMOMORPHISM
    breaking: tuple[Restriction, ...] = ()
    images = 1
    if injective and not pattern.roots:
        group = automorphisms(_as_pattern(pattern, bound), base=order)
        breaking, images = restrictions(group), group.order
    if pattern.below:
        breaking = _not_implied({*breaking, *((vertex, 0) for vertex in pattern.below)})
    shape, args = build_steps(bound, order, breaking, semantics, degrees=True)
    tail = None
    if tails:
        shape, tail = close_tail(shape, args, frozenset(), None)
    shape, args = share_intersections(shape, args, None, tail)
    return Plan(
        order=order,
        shape=shape,
        args=args,
        semantics=semantics,
        symmetry=Symmetry.EMBEDDINGS,
        multiplier=images,
        automorphisms=images,
        restrictions=breaking,
        estimates=(),
        tail=tail,
    )


def _not_implied(pairs: set[Restriction]) -> tuple[Restriction, ...]:
    known = closure(tuple(pairs))
    middles = {v for _, v in known}
    return tuple(
        sorted((u, v) for u, v in pairs if not any((u, w) in known and (w, v) in known for w in middles))
    )


def _as_pattern(pattern: Rooted, bound: BoundPattern) -> Pattern:
    """Return a pattern with the same automorphisms: vertex kinds and order restrictions become labels."""
    kinds = [
        (kind, bool(pattern.below) and at == 0, at in pattern.below)
        for at, kind in enumerate(pattern.vertices)
    ]
    labels = {kind: number for number, kind in enumerate(sorted(set(kinds)))}
    return Pattern(
        tuple(QueryVertex(str(at), frozenset([labels[kind]])) for at, kind in enumerate(kinds)),
        tuple(
            QueryEdge(u, v, frozenset([kind]), directed=not edge.either)
            for (u, v, kind), edge in zip(pattern.edges, bound.edges, strict=True)
        ),
    )
