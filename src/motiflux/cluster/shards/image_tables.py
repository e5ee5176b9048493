"""Tables of the different images of query vertices: of distinct rows, and of what thresholds count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motiflux.api.queries.distinct import COMPARED, differ_from_before
from motiflux.conditions import Operator
from motiflux.pattern.projection import Projection, Threshold

Images = NDArray[np.int64]
"""Type of tables: ascending rows, each once."""


@dataclass(frozen=True, slots=True)
class ImageTable:
    """The different images of the returned vertices, each with those of vertices that are counted.

    Columns are ids of the returned vertices, a number, and ids of the counted vertices. Bit 0 of the number
    tells that a counted vertex is missing, the others which returned ones are; ids are 0 there.

    Parameters
    ----------
    returned, counted
        Vertices, by their position in the query.
    most
        The most images of counted vertices that are kept of a row: further ones change no threshold.
    """

    returned: tuple[int, ...]
    counted: tuple[int, ...] = ()
    most: int = 1

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.returned) + 1 + len(self.counted)

    def images(self, rows: NDArray[np.int64], vertices: Sequence[int | None]) -> Images:
        """Return the images in rows of a pattern.

        Parameters
        ----------
        vertices
            For each vertex of the query, that of the pattern; None where it is missing.
        """
        number, returned = len(rows), len(self.returned)
        found = np.zeros((number, self.width), np.int64)
        counted = [vertices[vertex] for vertex in self.counted]
        if None in counted:
            found[:, returned] = 1
            counted = []
        for place, vertex in enumerate(vertices[one] for one in self.returned):
            if vertex is None:
                found[:, returned] |= 2 << place
            else:
                found[:, place] = rows[:, vertex]
        for place, vertex in enumerate(counted, returned + 1):
            found[:, place] = rows[:, vertex]
        return self.joined([found])

    def joined(self, tables: Sequence[NDArray[np.int64]]) -> Images:
        """Return all images of some tables in one."""
        found = np.concatenate([np.empty((0, self.width), np.int64), *tables])
        found = found[np.lexsort(found.T[::-1])]
        found = found[differ_from_before(found)]
        if not self.counted:
            return found
        first = np.flatnonzero(self._begins(found))
        sizes = np.diff(first, append=len(found))
        return found[np.arange(len(found)) - np.repeat(first, sizes) < self.most]

    def rows(self, images: Images) -> NDArray[np.int64]:
        """Return the images of the returned vertices and their number, each once."""
        return images[self._begins(images), : len(self.returned) + 1]

    def counts(self, images: Images) -> NDArray[np.int64]:
        """Return the number of images of the counted vertices, for each of `rows`."""
        begins = self._begins(images)
        there = images[:, len(self.returned)] & 1 == 0
        group = np.cumsum(begins) - 1
        return np.bincount(group[there], minlength=int(begins.sum()))

    def _begins(self, images: Images) -> NDArray[np.bool_]:
        """Return where the images of another row begin."""
        rows = images[:, : len(self.returned) + 1].copy()
        rows[:, -1] >>= 1
        return differ_from_before(rows)


def tables_of(projection: Projection) -> tuple[ImageTable, ...]:
    """Return the tables that tell the rows of a projection: one for each set of vertices that is counted."""
    most: dict[tuple[int, ...], int] = {}
    for one in projection.thresholds:
        most[one.counted] = max(_most(one), most.get(one.counted, 1))
    if not most:
        return (ImageTable(projection.returned),)
    return tuple(ImageTable(projection.returned, *one) for one in most.items())


def bytes_of_row(tables: Sequence[ImageTable]) -> int:
    """Return the most bytes that a row and its images have in all tables."""
    return sum(table.most * table.width * 8 for table in tables)


def held(
    projection: Projection, tables: Sequence[ImageTable], images: Sequence[Images], *, complete: bool
) -> NDArray[np.int64]:
    """Return the rows that satisfy all thresholds, with the number behind the ids.

    Parameters
    ----------
    images
        The content of each table, all of the same rows.
    complete
        Whether these are all images; unless they are, rows hold whatever is found later.
    """
    rows = tables[0].rows(images[0])
    if not complete and not projection.lasting:
        return rows[:0]
    holds = np.ones(len(rows), dtype=bool)
    for one in projection.thresholds:
        at = [table.counted for table in tables].index(one.counted)
        holds &= COMPARED[one.operator](tables[at].counts(images[at]), one.number)
    return rows[holds]


def _most(threshold: Threshold) -> int:
    """Return the number of images that decides a threshold, whatever is found beyond."""
    reaches = threshold.operator in (Operator.AT_LEAST, Operator.LESS)
    return threshold.number if reaches else threshold.number + 1
