"""The words that options take. Imports no arrays: the command line starts with these."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, TypeAlias


class Semantics(StrEnum):
    """The definition of an embedding (``docs/reference/semantics.md``)."""

    ISOMORPHISM = "isomorphism"
    INDUCED = "induced"
    HOMOMORPHISM = "homomorphism"


class Symmetry(StrEnum):
    """Whether automorphic images count one by one or as one occurrence."""

    EMBEDDINGS = "embeddings"
    SUBGRAPHS = "subgraphs"


SemanticsName: TypeAlias = Literal["isomorphism", "induced", "homomorphism"] | Semantics
"""The argument ``semantics=`` of a public call."""
SymmetryName: TypeAlias = Literal["embeddings", "subgraphs"] | Symmetry
"""The argument ``symmetry=`` of a public call."""
DeviceName: TypeAlias = Literal["auto", "cpu", "cuda"] | str  # noqa: PYI051  (editors offer the words)
"""The argument ``device=`` of a public call; also ``"cuda:1"`` and so on."""
ModeName: TypeAlias = Literal["sequence", "batch"]
"""The argument ``mode=`` of a monitor."""
