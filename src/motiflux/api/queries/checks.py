"""What queries cannot have together with options of a call."""

from __future__ import annotations

from motiflux.errors import ArgumentError
from motiflux.pattern.queries.shapes import Shape
from motiflux.request.request import Request
from motiflux.types import Semantics, Symmetry


def check_symmetry_of(shape: Shape, request: Request) -> None:
    """Refuse to count occurrences where embeddings that differ by an automorphism can be one map.

    Raises
    ------
    ArgumentError
        Names the option.
    """
    if request.symmetry is not Symmetry.SUBGRAPHS:
        return
    if request.semantics is Semantics.HOMOMORPHISM or shape.skeleton.may_coincide:
        raise ArgumentError(
            "symmetry",
            "'embeddings' with homomorphism, and for vertices that may be equal: embeddings that differ by an"
            " automorphism can be one map",
            request.symmetry.value,
        )


def check_apart(shape: Shape, request: Request) -> None:
    """Refuse what has no meaning for several parts.

    Raises
    ------
    ArgumentError
        Names the option.
    """
    if request.semantics is Semantics.INDUCED:
        raise ArgumentError(
            "semantics", "'isomorphism' or 'homomorphism' for a disconnected pattern", request.semantics.value
        )
    if shape.skeleton.may_coincide:
        raise ArgumentError("pattern", "a connected pattern beside may_equal and WALK", "parts")


def check_copies(shape: Shape, request: Request) -> None:
    """Refuse choices of copies where alternatives of conditions on edges overlap.

    Raises
    ------
    ArgumentError
        Names the option.
    """
    if shape.overlaps and request.copies:
        raise ArgumentError("copies", "False beside OR across edges", True)
