"""The meaning of the columns of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeAlias

import numpy as np

from motiflux.errors import ArgumentError
from motiflux.interop.end_names import SOURCES, TARGETS, find_ends

ColumnName: TypeAlias = str | int
"""A column by name, or by position counted from 0."""

TIME = "time"
"""The edge attribute that holds the times of edges."""

_LABELS = ("label",)
_TIMES = ("time", "timestamp")
_IDS = ("id",)
_MOST_NAMES = 20


class How(StrEnum):
    """How the columns of the ends were chosen."""

    SAID = "said"
    """The caller named them."""
    USUAL = "usual"
    """They have the usual names, such as ``src`` and ``dst``."""
    MEANT = "meant"
    """They have other names that mean ends, such as ``payer`` and ``payee``."""
    ONLY = "only"
    """There are no others."""
    GUESSED = "guessed"
    """They are the first two of several."""


class EndColumns(NamedTuple):
    """The columns of a table from which the ends of edges were taken.

    Parameters
    ----------
    source, target
        Their names; positions counted from 0 in a table without names.
    guessed
        Whether they were chosen as the first two, although there are others.
    """

    source: ColumnName
    target: ColumnName
    guessed: bool

    def __str__(self) -> str:
        return f"{self.source!r} and {self.target!r}"


@dataclass(frozen=True)
class ChosenColumns:
    """The positions of the columns that are wanted.

    Parameters
    ----------
    ends
        Of the sources and the targets; of a table of vertices, of the ids alone.
    label
        Of the labels; None where there are none.
    attributes
        By the name that the attribute is to have.
    how
        Why the ends are these.
    """

    ends: tuple[int, ...]
    label: int | None
    attributes: dict[str, int]
    how: How = field(default=How.SAID, repr=False)

    def positions(self) -> list[int]:
        """Return all positions, each once, ascending."""
        label = () if self.label is None else (self.label,)
        return sorted({*self.ends, *label, *self.attributes.values()})

    def end_columns(self, names: Sequence[str] | None) -> EndColumns:
        """Return where the ends of edges are from; `names` of all columns, None where they have none."""
        source, target = (place if names is None else names[place] for place in self.ends)
        return EndColumns(source, target, self.how is How.GUESSED)

    def advice(self, options: Sequence[str] = ("src", "dst")) -> str:
        """Return advice for errors about ids: how to name other columns. Empty if the caller named these."""
        if self.how not in (How.MEANT, How.GUESSED):
            return ""
        return f"; {' and '.join(f'{name}=' for name in options)} name other columns"


@dataclass(frozen=True)
class ColumnMapping:
    """The meaning of the columns of a table of edges: names, or positions counted from 0.

    Parameters
    ----------
    src, dst
        The ends of an edge. Without them the first column named ``src``, ``source`` or ``from`` and the
        first named ``dst``, ``target`` or ``to``, in any case of letters; else two columns whose names mean
        ends (``payer`` and ``payee``, ``sender_id`` and ``receiver_id``, `motiflux.interop.end_names`); where
        there is none of these, the first and the second column.
    label
        The labels; without it the column named ``label``, if there is one.
    time
        The times, which become the edge attribute ``time``; without it the column named ``time`` or
        ``timestamp``, if there is one.
    attributes
        The columns to take as edge attributes of their own names; without it all others. An empty list
        takes none.

    Examples
    --------
    >>> from motiflux.interop import ColumnMapping
    >>> ColumnMapping().choose(["id", "from", "to", "Label", "amount"])
    ChosenColumns(ends=(1, 2), label=3, attributes={'id': 0, 'amount': 4})
    >>> ColumnMapping(src="payer", dst="payee", attributes=[]).choose(["payer", "payee", "amount"])
    ChosenColumns(ends=(0, 1), label=None, attributes={})
    """

    src: ColumnName | None = None
    dst: ColumnName | None = None
    label: ColumnName | None = None
    time: ColumnName | None = None
    attributes: Sequence[ColumnName] | None = None

    def given(self) -> dict[str, object]:
        """Return the arguments that were given, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def choose(self, names: Sequence[str], table: str = "the table") -> ChosenColumns:
        """Return where the columns of this meaning are.

        Parameters
        ----------
        names
            The names of all columns in their order.
        table
            The name of the table in errors.

        Raises
        ------
        ArgumentError
            There is no such column, more than one, or one has two meanings; lists the columns.
        """
        header = _Header(names, table)
        ends, how = self._ends(header)
        label = header.said_or_named("label", self.label, _LABELS, ends)
        time = header.find("time", self.time)
        if time is None and self.attributes is None:
            time = header.named(_TIMES, {*ends, label})
        taken = {*ends, label, time}
        attributes = header.attributes(self.attributes, taken)
        if time is not None:
            if attributes.get(TIME, time) != time:
                raise ArgumentError("time", "no other column named 'time'", header.name(attributes[TIME]))
            attributes[TIME] = time
        known = {*taken, *(attributes.values() if self.attributes is not None else ())}
        if how is How.GUESSED and known.issuperset(range(len(header))):
            how = How.ONLY
        return ChosenColumns(ends, label, attributes, how)

    def _ends(self, header: _Header) -> tuple[tuple[int, int], How]:
        source, target = header.find("src", self.src), header.find("dst", self.dst)
        how = How.USUAL if source is None and target is None else How.SAID
        usual = (
            header.named(SOURCES, {target}) if source is None else source,
            header.named(TARGETS, {source}) if target is None else target,
        )
        if how is How.USUAL and None in usual:
            found, how = header.ends(), How.MEANT
            if found is None and usual == (None, None) and len(header) >= 2:
                found, how = (0, 1), How.ONLY if len(header) == 2 else How.GUESSED
            usual = found or usual
        if usual[0] is None:
            raise header.not_there("src", self.src)
        if usual[1] is None:
            raise header.not_there("dst", self.dst)
        if usual[0] == usual[1]:
            raise ArgumentError("dst", f"another column than src, {header.listing}", self.dst)
        return (usual[0], usual[1]), how


@dataclass(frozen=True)
class VertexMapping:
    """The meaning of the columns of a table of vertices: names, or positions counted from 0.

    Parameters
    ----------
    id
        The ids; without it the column named ``id``, in any case of letters, else the first one.
    label
        The labels; without it the column named ``label``, if there is one.

    Examples
    --------
    >>> from motiflux.interop import VertexMapping
    >>> VertexMapping().choose(["name", "ID", "age"])
    ChosenColumns(ends=(1,), label=None, attributes={'name': 0, 'age': 2})
    """

    id: ColumnName | None = None
    label: ColumnName | None = None

    def given(self) -> dict[str, object]:
        """Return the arguments that were given, by name."""
        return {f"vertex_{name}": value for name, value in vars(self).items() if value is not None}

    def refuse_alone(self) -> None:
        """Refuse arguments for a table of vertices if there is none."""
        for argument, found in self.given().items():
            raise ArgumentError(argument, "a table of vertices beside it (vertices=)", found)

    def choose(self, names: Sequence[str], table: str = "the table of vertices") -> ChosenColumns:
        """Return where the columns of this meaning are; see `ColumnMapping.choose`."""
        header = _Header(names, table)
        vertex_id = header.said_or_named("vertex_id", self.id, _IDS, ())
        if vertex_id is None:
            vertex_id = 0
        if not len(header):
            raise header.not_there("vertex_id", self.id)
        label = header.said_or_named("vertex_label", self.label, _LABELS, (vertex_id,))
        how = How.USUAL if header.name(vertex_id).lower() in _IDS else How.GUESSED
        how = how if self.id is None else How.SAID
        return ChosenColumns((vertex_id,), label, header.attributes(None, {vertex_id, label}), how)


class _Header:
    """The names of a table's columns."""

    def __init__(self, names: Sequence[str], table: str) -> None:
        self._names = list(names)
        self._table = table

    def __len__(self) -> int:
        return len(self._names)

    @property
    def listing(self) -> str:
        """The columns, as errors list them."""
        shown = ", ".join(map(repr, self._names[:_MOST_NAMES]))
        more = ", ..." if len(self) > _MOST_NAMES else ""
        return f"one of the columns of {self._table} ({shown or 'it has none'}{more})"

    def name(self, position: int) -> str:
        return self._names[position]

    def not_there(self, argument: str, found: object) -> ArgumentError:
        if found is None:
            usual = {"src": SOURCES, "dst": TARGETS}.get(argument, ())
            named = f", as none is named {', '.join(usual[:-1])} or {usual[-1]}" if usual else ""
            return ArgumentError(argument, self.listing + named, found)
        return ArgumentError(argument, self.listing, found)

    def ends(self) -> tuple[int, int] | None:
        return find_ends(self._names)

    def find(self, argument: str, wanted: ColumnName | None) -> int | None:
        """Return the position of the column `wanted`; None if it is None."""
        if wanted is None:
            return None
        if isinstance(wanted, (int, np.integer)) and not isinstance(wanted, bool):
            if not 0 <= wanted < len(self):
                raise self.not_there(argument, wanted)
            return int(wanted)
        if not isinstance(wanted, str) or wanted not in self._names:
            raise self.not_there(argument, wanted)
        if self._names.count(wanted) > 1:
            raise ArgumentError(
                argument, f"a position, as several columns of {self._table} have this name", wanted
            )
        return self._names.index(wanted)

    def named(self, names: Iterable[str], taken: Iterable[int | None]) -> int | None:
        """Return the first column that has one of some names, in any case of letters, and is not taken."""
        wanted, used = set(names), set(taken)
        places = (place for place, name in enumerate(self._names) if name.lower() in wanted)
        return next((place for place in places if place not in used), None)

    def said_or_named(
        self, argument: str, wanted: ColumnName | None, names: Iterable[str], taken: Iterable[int | None]
    ) -> int | None:
        place = self.find(argument, wanted)
        return self.named(names, taken) if place is None else place

    def attributes(self, wanted: Sequence[ColumnName] | None, taken: Iterable[int | None]) -> dict[str, int]:
        """Return the attributes in `wanted`, or all columns that are not taken."""
        used = set(taken)
        if isinstance(wanted, str):
            raise ArgumentError("attributes", "a list of columns", wanted)
        if wanted is None:
            places = [place for place in range(len(self)) if place not in used]
        else:
            found = (self.find("attributes", one) for one in wanted)
            places = [place for place in found if place is not None]
        chosen: dict[str, int] = {}
        for place in places:
            name = self._names[place]
            if not name:
                raise ArgumentError("attributes", f"columns that have names, column {place} has none", name)
            if chosen.setdefault(name, place) != place:
                raise ArgumentError(
                    "attributes", f"names that differ, as each names an attribute of {self._table}", name
                )
        return chosen
