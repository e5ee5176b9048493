"""The result of comparing counts with those of random graphs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.draw import Picture
from motiflux.errors import ArgumentError
from motiflux.graph import Column
from motiflux.plan.census import CensusClass
from motiflux.result.class_chart import class_chart
from motiflux.result.tabled import Tabled, integer_column, text_column
from motiflux.statistics.hypotheses import adjusted, mean_and_deviation, p_value, z_score
from motiflux.units import quantity, seconds_text

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Significance(Tabled):
    """Counts of a graph beside those of random graphs: a row for each class or pattern.

    Parameters
    ----------
    names
        The classes of the census, or the patterns.
    classes
        The classes; None for patterns.
    observed
        The counts of the given graph: Python integers.
    null_counts
        The counts of random graphs: Python integers [random graphs, names].
    model
        ``"degrees"`` or ``"labels"``.
    directed
        Whether directions tell classes apart.
    alternative, correction
        Those of the call.
    complete
        False if a timeout left fewer random graphs than asked for; the others are valid.
    proposals
        Swaps proposed for each edge of a random graph; 0 for shuffled labels.
    swaps
        Swaps done for each edge, on average.
    mixed
        Whether the number of swaps met the mixing rule; None if it was given or there were no swaps.
    seconds
        Wall-clock seconds of the call.

    Examples
    --------
    >>> import motiflux as mf
    >>> ring = mf.Graph.from_edges([(v, (v + d) % 30) for v in range(30) for d in (1, 2)], directed=True)
    >>> found = mf.significance(ring, nulls=99)
    >>> found["030T"].observed, found["030T"].z > 5, found["030T"].p
    (30, True, 0.02)
    """

    names: tuple[str, ...]
    classes: tuple[CensusClass, ...] | None
    observed: tuple[int, ...]
    null_counts: NDArray[np.object_]
    model: str
    directed: bool
    alternative: str
    correction: str
    complete: bool
    proposals: float
    swaps: float
    mixed: bool | None
    seconds: float

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, name: str) -> SignificanceRow:
        """Return the row of a class or pattern."""
        if name not in self.names:
            raise KeyError(name)
        at = self.names.index(name)
        numbers = (self.mean, self.deviation, self.z, self.p, self.adjusted)
        return SignificanceRow(self.names[at], self.observed[at], *(float(column[at]) for column in numbers))

    @cached_property
    def _moments(self) -> list[tuple[float, float]]:
        return [mean_and_deviation(column) for column in self._samples]

    @cached_property
    def _samples(self) -> list[list[int]]:
        return [self.null_counts[:, at].tolist() for at in range(len(self.names))]

    @property
    def mean(self) -> Floats:
        """The mean counts of the random graphs."""
        return np.array([mean for mean, _ in self._moments])

    @property
    def deviation(self) -> Floats:
        """Their standard deviations."""
        return np.array([deviation for _, deviation in self._moments])

    @cached_property
    def z(self) -> Floats:
        """How many standard deviations each count is above the mean; infinite if there is no deviation."""
        pairs = zip(self.observed, self._moments, strict=True)
        return np.array([z_score(number, *moments) for number, moments in pairs])

    @cached_property
    def p(self) -> Floats:
        """The p-values of single tests: (1 + random graphs as extreme) / (1 + random graphs)."""
        pairs = zip(self.observed, self._samples, strict=True)
        return np.array([p_value(number, sample, self.alternative) for number, sample in pairs])

    @cached_property
    def adjusted(self) -> Floats:
        """The p-values that hold for all tests together, by `correction`."""
        return adjusted(self.p.tolist(), self.correction)

    @property
    def profile(self) -> Floats:
        """The z-scores divided by the root of the sum of their squares: the significance profile.

        It compares graphs of different sizes (Milo et al., Science 2004). NaN if a z-score is infinite.
        """
        if not np.isfinite(self.z).all():
            return np.full(len(self.z), nan)
        return self.z / max(float(np.linalg.norm(self.z)), np.finfo(float).tiny)

    def to_svg(self, *, most: int = 30) -> Picture:
        """Draw the classes with the greatest z-scores, of either sign.

        Parameters
        ----------
        most
            The largest number of classes.

        Raises
        ------
        ArgumentError
            The rows are patterns, which have no diagrams here: `motiflux.plot.significance` draws them.
        """
        if self.classes is None:
            raise ArgumentError("self", "a census: motiflux.plot.significance draws patterns", self)
        finite = [
            at for at in range(len(self)) if isfinite(self.z[at]) and (self.observed[at] or self.mean[at])
        ]
        shown = sorted(finite, key=lambda at: -abs(self.z[at]))[:most]
        panel = class_chart(
            [self.classes[at] for at in shown],
            [float(self.z[at]) for at in shown],
            [f"z = {self.z[at]:.3g}, p = {self.adjusted[at]:.2g}" for at in shown],
            directed=self.directed,
            title=f"z-scores against {quantity(len(self.null_counts), 'random graph')}",
        )
        return Picture(panel, "Significance of subgraphs")

    def _columns(self) -> Mapping[str, Column]:
        great = max(self.observed, default=0) >= 2**63
        return {
            "class" if self.classes is not None else "pattern": text_column(list(self.names)),
            "observed": integer_column(np.array(self.observed, object if great else np.int64)),
            "mean": Column(self.mean),
            "deviation": Column(self.deviation),
            "z": Column(self.z),
            "p": Column(self.p),
            "adjusted": Column(self.adjusted),
        }

    def __repr__(self) -> str:
        cut = "" if self.complete else ", incomplete"
        what = quantity(len(self), "class" if self.classes is not None else "pattern")
        graphs = quantity(len(self.null_counts), "random graph")
        return f"Significance({what}, {graphs}{cut}, {seconds_text(self.seconds)})"


@dataclass(frozen=True, slots=True)
class SignificanceRow:
    """One class or pattern of a `Significance`.

    Parameters
    ----------
    name, observed, mean, deviation, z, p, adjusted
        As the properties of `Significance`.
    """

    name: str
    observed: int
    mean: float
    deviation: float
    z: float
    p: float
    adjusted: float


def null_table(rows: list[Any], names: int) -> NDArray[np.object_]:
    """Return the counts of random graphs as a table, of no rows too."""
    table = np.empty((len(rows), names), object)
    for at, row in enumerate(rows):
        table[at] = row
    return table
