"""How candidates are divided into blocks for the roots that come next: as it was right for those before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from motiflux.cluster.shards.part import Roots, Span

_FILLED = 0.7
"""Blocks that take this share of the memory together become one."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A part that was searched.

    Parameters
    ----------
    spans
        The blocks that its roots had; see `Roots`.
    nbytes
        The bytes that it took.
    """

    spans: Mapping[int, Span]
    nbytes: int


class Division:
    """Blocks of the candidates of one query vertex.

    Neighbouring roots have about the same candidates, so roots that are divided as those before mostly fit.
    What is tried first is not right or wrong: blocks that do not fit are divided further.

    Parameters
    ----------
    vertices
        Of the graph.
    memory
        Bytes of a part.
    """

    def __init__(self, vertices: int, memory: int) -> None:
        self._vertices, self._memory = vertices, memory
        self._vertex = -1
        self._spans: list[Span] = []

    def of(self, roots: Roots) -> list[Roots]:
        """Return the roots in parts."""
        if roots.spans or not self._spans:
            return [roots]
        return [replace(roots, spans={self._vertex: span}) for span in self._spans]

    def note(self, leaves: Sequence[Leaf]) -> None:
        """Take note of the parts of roots that were searched."""
        self._spans = []
        vertices = {vertex for leaf in leaves for vertex in leaf.spans}
        if len(vertices) != 1 or any(len(leaf.spans) != 1 for leaf in leaves):
            return
        (self._vertex,) = vertices
        most: dict[Span, int] = {}
        for leaf in leaves:
            span = leaf.spans[self._vertex]
            most[span] = max(most.get(span, 0), leaf.nbytes)
        blocks: list[tuple[int, int]] = []  # where they begin, and their bytes
        for (begin, _), nbytes in sorted(most.items()):
            if blocks and blocks[-1][1] + nbytes <= _FILLED * self._memory:
                blocks[-1] = blocks[-1][0], blocks[-1][1] + nbytes
            else:
                blocks.append((begin, nbytes))
        if len(blocks) > 1:
            ends = [*(begin for begin, _ in blocks[1:]), self._vertices]
            self._spans = list(zip([0, *ends[:-1]], ends, strict=True))
