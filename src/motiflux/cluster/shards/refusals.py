"""What queries have that no patterns of a sharded graph tell."""

from __future__ import annotations

from motiflux.comparisons import Within
from motiflux.errors import ArgumentError
from motiflux.pattern.queries.shapes import AbsentPath, Shape
from motiflux.request.request import Request


def refusal(shape: Shape, found: object, request: Request) -> ArgumentError:
    """Return the error for a shape of which rows would have to be looked at one by one."""
    expected = "OPTIONAL edges that fewer vertices of the pattern may be the ends of"
    paths = [one for one in shape.absent if isinstance(one, AbsentPath)]
    some = "OPTIONAL paths, and OPTIONAL edges to new vertices or with negated edges"
    if request.copies:
        beside = some if shape.absent else "negated edges or comparisons between parts"
        return ArgumentError("copies", f"False beside {beside}, for a sharded graph", True)
    if any(one.induced for one in paths):
        expected = "'isomorphism' or 'homomorphism' beside OPTIONAL edges to new vertices"
        return ArgumentError("semantics", f"{expected}, for a sharded graph", "induced")
    if paths:
        expected = "OPTIONAL edges, or OPTIONAL paths of one edge or more to any vertex"
    elif not shape.is_connected:
        expected = "one connected part beside OPTIONAL"
    elif shape.skeleton.may_coincide:
        expected = "no WALK or may_equal beside OPTIONAL"
    elif shape.absent and has_within(shape):
        expected = f"no WITHIN beside {some}"
    return ArgumentError("pattern", f"{expected}, for a sharded graph", found)


def has_within(shape: Shape) -> bool:
    """Return whether all edges of a shape lie within a span."""
    return any(isinstance(one, Within) for case in shape.cases for one in case.pattern.comparisons)
