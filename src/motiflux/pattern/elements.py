"""Query vertices and query edges, with the conditions on data vertices and edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import SupportsIndex, TypeAlias

from motiflux.conditions import Condition
from motiflux.errors import PatternError
from motiflux.pattern.where import normal_form
from motiflux.types import Label, VertexId

LabelChoice: TypeAlias = Label | Iterable[Label] | None
"""One label, a set of labels of which any will do, or None: any label at all."""
IdChoice: TypeAlias = VertexId | Iterable[VertexId] | None
"""One vertex id, a set of ids of which any will do, or None: any vertex."""


@dataclass(frozen=True, slots=True)
class QueryVertex:
    """A query vertex.

    Parameters
    ----------
    name
        Its name, of its own in the pattern.
    labels
        The labels it may have; None is a wildcard.
    ids
        The data vertices that it may be, by their external ids; None: any.
    where
        A condition on its attributes (`motiflux.conditions`).
    """

    name: str
    labels: frozenset[Label] | None = None
    ids: frozenset[VertexId] | None = None
    where: Condition | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", _name(self.name, "vertex"))
        object.__setattr__(self, "labels", label_set(self.labels))
        object.__setattr__(self, "ids", id_set(self.ids))
        object.__setattr__(self, "where", normal_form(self.where))


@dataclass(frozen=True, slots=True)
class QueryEdge:
    """A query edge between two query vertices, given by position.

    Parameters
    ----------
    source, target
        Positions in `Pattern.vertices`.
    labels
        The labels it may have; None is a wildcard.
    directed
        True: the arc source -> target. False: an arc in either direction. None: follow the data graph.
    name
        Its name, unique in the pattern; empty if it has none.
    where
        A condition on its attributes (`motiflux.conditions`).
    """

    source: int
    target: int
    labels: frozenset[Label] | None = None
    directed: bool | None = None
    name: str = ""
    where: Condition | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", label_set(self.labels))
        object.__setattr__(self, "name", _name(self.name, "edge"))
        object.__setattr__(self, "where", normal_form(self.where))


def edge_names(edges: Sequence[QueryEdge]) -> list[str]:
    """Return a name for each query edge, no two alike: its own, else e0, e1, ... by its position.

    One that another edge has gets underscores.
    """
    taken = {edge.name for edge in edges}
    names = []
    for at, edge in enumerate(edges):
        name = edge.name or f"e{at}"
        while not edge.name and name in taken:
            name += "_"
        names.append(name)
    return names


def label_set(choice: LabelChoice) -> frozenset[Label] | None:
    """Return the labels of `choice`, or None for a wildcard.

    Raises
    ------
    PatternError
        An empty set, or something that is neither an integer nor a string.
    """
    return _choice(choice, "label", "any label")


def id_set(choice: IdChoice) -> frozenset[VertexId] | None:
    """Return the vertex ids of `choice`, or None for any vertex.

    Raises
    ------
    PatternError
        An empty set, or something that is neither an integer nor a string.
    """
    return _choice(choice, "id", "any vertex")


def _choice(
    choice: int | str | Iterable[int | str] | None, what: str, wildcard: str
) -> frozenset[int | str] | None:
    if choice is None:
        return None
    if isinstance(choice, (str, bytes, Mapping)) or not isinstance(choice, Iterable):
        return frozenset([_one(choice, what)])
    chosen = frozenset(_one(item, what) for item in choice)
    if not chosen:
        raise PatternError(f"{what}: expected at least one {what} or None ({wildcard}), found an empty set")
    return chosen


def _one(item: object, what: str) -> int | str:
    if isinstance(item, str):
        return str(item)
    if not isinstance(item, bool) and isinstance(item, SupportsIndex):
        return index(item)
    raise PatternError(f"{what}: expected an integer, a string, a set of them or None, found {item!r}")


def _name(name: object, what: str) -> str:
    if not isinstance(name, str):
        raise PatternError(f"{what}: expected a string for a name, found {name!r}")
    return str(name)
