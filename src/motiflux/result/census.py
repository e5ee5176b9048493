"""The result of a census."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.draw import Panel, Picture
from motiflux.graph import Column
from motiflux.plan.census import CensusClass
from motiflux.result.class_chart import class_chart
from motiflux.result.tabled import Tabled, integer_column, text_column
from motiflux.units import quantity, seconds_text


@dataclass(frozen=True, eq=False, repr=False)
class Census(Tabled, Mapping[str, int]):
    """Numbers of sets of vertices by the class of the subgraph that they induce: a mapping from names.

    Parameters
    ----------
    size, directed
        The number of vertices of each set; whether directions tell classes apart.
    classes
        The classes, in order: with ``.name``, ``.code``, ``.arcs`` and ``.connected``.
    counts
        The number of each class: Python integers.
    complete
        False if a timeout stopped the census: all counts are then 0.
    seconds
        Wall-clock seconds of the call.

    Examples
    --------
    >>> import motiflux as mf
    >>> found = mf.census(mf.Graph.from_edges([(0, 1), (1, 2), (0, 2), (2, 3)], directed=True))
    >>> found["030T"], found.total
    (1, 4)
    >>> {name: count for name, count in found.items() if count}
    {'012': 1, '021C': 2, '030T': 1}
    """

    size: int
    directed: bool
    classes: tuple[CensusClass, ...]
    counts: tuple[int, ...]
    complete: bool
    seconds: float

    def __getitem__(self, name: str) -> int:
        for one, count in zip(self.classes, self.counts, strict=True):
            if one.name == name:
                return count
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (one.name for one in self.classes)

    def __len__(self) -> int:
        return len(self.classes)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the classes."""
        return tuple(one.name for one in self.classes)

    @property
    def total(self) -> int:
        """The sum of all counts; of all classes, the number of sets of `size` vertices."""
        return sum(self.counts)

    def to_svg(self, *, most: int = 30) -> Picture:
        """Draw the most frequent connected classes with their counts.

        Parameters
        ----------
        most
            The largest number of classes.
        """
        shown = [at for at, one in enumerate(self.classes) if one.connected and self.counts[at]]
        shown = sorted(shown, key=lambda at: -self.counts[at])[:most]
        panel: Panel = class_chart(
            [self.classes[at] for at in shown],
            [float(np.log10(1.0 + float(self.counts[at]))) for at in shown],
            [f"{self.counts[at]:,}" for at in shown],
            directed=self.directed,
            title=f"{self._what()}: counts, bars on a logarithmic scale",
        )
        return Picture(panel, f"Census of {quantity(self.size, 'vertex')}")

    def _what(self) -> str:
        return f"{'directed' if self.directed else 'undirected'} subgraphs of {quantity(self.size, 'vertex')}"

    def _columns(self) -> Mapping[str, Column]:
        return {
            "class": text_column([one.name for one in self.classes]),
            "code": Column(np.array([one.code for one in self.classes], np.int64)),
            "connected": Column(np.array([one.connected for one in self.classes], np.bool_)),
            "count": integer_column(_integers(self.counts)),
        }

    def __repr__(self) -> str:
        cut = "" if self.complete else ", incomplete"
        return f"Census({quantity(len(self), 'class')} of {self._what()}{cut}, {seconds_text(self.seconds)})"


def _integers(counts: tuple[int, ...]) -> NDArray[Any]:
    return np.array(counts, object if max(counts, default=0) >= 2**63 else np.int64)
