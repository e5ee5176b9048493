"""Attributes of single vertices and edges, in dictionaries, turned into columns."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import ArgumentError, GraphError
from motiflux.interop.strings import from_list
from motiflux.times import is_moment
from motiflux.types import Label

_PLAIN = (bool, int, float, str, dt.date, np.datetime64, dt.timedelta, dt.time, np.timedelta64)


@dataclass(frozen=True)
class Wanted:
    """The attributes of vertices, or of edges, to take.

    Parameters
    ----------
    label
        The attribute that holds the label; None: there are no labels.
    default
        The label of elements without one; None: such elements are an error, unless no element has a label.
    attributes
        Names of the attributes to take; None takes all but the label.
    """

    label: str | None
    default: Label | None
    attributes: Sequence[str] | None


def split_records(
    records: Sequence[Mapping[str, Any]], wanted: Wanted, name: Callable[[int], str], of: str
) -> tuple[list[Label] | None, dict[str, list[Any]]]:
    """Return labels, None where there are none, and columns by name, with None where a value is missing.

    Parameters
    ----------
    records
        The attributes of each vertex, or of each edge.
    wanted
        The attributes to take.
    name
        The name of an element in errors.
    of
        ``"vertex"`` or ``"edge"``.

    Raises
    ------
    GraphError
        A label is missing or of another kind than the others, or an attribute cannot be one; names where.
    """
    names = dict.fromkeys(key for record in records for key in record)
    labels = _labels(records, wanted, name, of)
    chosen = list(names) if wanted.attributes is None else list(wanted.attributes)
    if wanted.attributes is None and wanted.label in chosen:
        chosen.remove(wanted.label)
    for key in chosen:
        if not isinstance(key, str) or (wanted.attributes is not None and key not in names and records):
            known = ", ".join(map(repr, names)) or "none"
            raise ArgumentError(f"{of}_attributes", f"names out of those there are ({known})", key)
    return labels, {key: _column(records, key, name, of) for key in chosen}


def ids_of(names: Iterable[Any], element: str, advice: str) -> NDArray[Any]:
    """Return the ids of vertices: their names, if all are integers of 64 bits or all strings, else as text.

    Parameters
    ----------
    names
        Of any type.
    element, advice
        ``"node"`` or ``"vertex"`` in errors, and the advice.

    Raises
    ------
    GraphError
        A name is missing, or two have the same text; gives the names.
    """
    given = [plain(name) for name in names]
    for place, name in enumerate(given):
        if name is None or name != name:
            raise GraphError(f"{element} {place}: expected a name, found {name!r}; {advice}")
    if all(isinstance(name, str) for name in given):
        return from_list(given)
    if all(type(name) is int and -(2**63) <= name < 2**63 for name in given):
        return np.array(given, dtype=np.int64)
    texts: dict[str, Any] = {}
    for name in given:
        text = str(name)
        if text in texts:
            raise GraphError(
                f"{element} {name!r}: expected names whose texts differ, as they are not all integers or all "
                f"strings, found {texts[text]!r} too; {advice}"
            )
        texts[text] = name
    return from_list(list(texts))


def _labels(
    records: Sequence[Mapping[str, Any]], wanted: Wanted, name: Callable[[int], str], of: str
) -> list[Label] | None:
    if wanted.label is None:
        return None
    found = [plain(record.get(wanted.label)) for record in records]
    present = [place for place, label in enumerate(found) if label is not None]
    if not present:
        return None if wanted.default is None else [wanted.default] * len(found)
    if len(present) < len(found) and wanted.default is None:
        absent = next(place for place, label in enumerate(found) if label is None)
        raise GraphError(
            f"{name(absent)}: expected a label in {wanted.label!r}, as {name(present[0])} has one, found "
            f"none; default_{of}_label= is given to those without"
        )
    labels: list[Any] = [wanted.default if label is None else label for label in found]
    kind = str if isinstance(labels[present[0]], str) else int
    for place, label in enumerate(labels):
        if not isinstance(label, kind) or isinstance(label, bool):
            kinds = "an integer or a string"
            if isinstance(label, (int, str)) and not isinstance(label, bool):
                kinds = ("a string" if kind is str else "an integer") + f" as of {name(present[0])}"
            raise GraphError(f"{name(place)}: expected as label {kinds}, found {label!r}")
    return labels


def _column(records: Sequence[Mapping[str, Any]], key: str, name: Callable[[int], str], of: str) -> list[Any]:
    values = [plain(record.get(key)) for record in records]
    for place, value in enumerate(values):
        if value is not None and not isinstance(value, _PLAIN):
            raise GraphError(
                f"{name(place)}, attribute {key!r}: expected integers, floats, booleans, strings or "
                f"datetimes, found {value!r}; {of}_attributes=[...] takes only those it lists"
            )
    return values


def plain(value: Any) -> Any:
    """Return NumPy's numbers and strings as Python's, all else as it is."""
    timed = is_moment(value) or isinstance(value, np.timedelta64)
    return value.item() if isinstance(value, np.generic) and not timed else value
