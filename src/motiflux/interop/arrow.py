"""Arrow arrays and tables of any library, converted by pyarrow for `tables`."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motiflux._native import Names
from motiflux.errors import GraphError
from motiflux.interop.strings import from_utf8
from motiflux.packages import require


def is_arrow(values: object) -> bool:
    """Tell whether an object has one of the Arrow capsules."""
    return hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__")


def is_arrow_array(values: object) -> bool:
    """Tell whether a column is an array of pyarrow."""
    return type(values).__module__.partition(".")[0] == "pyarrow"


def open_stream(table: Any, what: str) -> Any:
    """Return a `pyarrow.RecordBatchReader` over a table of any library.

    Raises
    ------
    GraphError
        It is no table.
    """
    pa = require("pyarrow", what)
    try:
        if hasattr(table, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(table)
        batch = pa.record_batch(table)
        return pa.RecordBatchReader.from_batches(batch.schema, [batch])
    except (pa.ArrowException, TypeError, ValueError) as error:
        _refuse_mixed_column(pa, table)
        raise GraphError(f"{what}: expected a table, found {type(table).__name__}: {error}") from error


def _refuse_mixed_column(pa: Any, table: Any) -> None:
    """Refuse a column of Python objects of several types, as data frames of pandas may have.

    Raises
    ------
    GraphError
        There is one; names the column and the row.
    """
    for name in getattr(table, "columns", ()):
        values = np.asarray(table[name])
        if values.dtype.kind != "O" or values.ndim != 1 or _are_of_one_type(pa, values):
            continue
        row = bisect_left(range(len(values)), 1, key=lambda row: not _are_of_one_type(pa, values[: row + 1]))
        expected = "an integer, a float, a boolean, a string or a datetime, as the values before"
        raise GraphError(f"column {str(name)!r}, row {row}: expected {expected}, found {values[row]!r}")


def _are_of_one_type(pa: Any, values: NDArray[Any]) -> bool:
    try:
        pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        return False
    return True


def batches_of(reader: Any, positions: list[int], what: str) -> Iterator[list[Any]]:
    """Yield some columns of each batch of a `pyarrow.RecordBatchReader`.

    Raises
    ------
    GraphError
        The batches end with an error.
    """
    pa = require("pyarrow", what)
    while True:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            return
        except (pa.ArrowException, OSError) as error:
            raise GraphError(f"{what}: the table cannot be read to its end: {error}") from error
        yield [batch.column(position) for position in positions]


def array_of(values: Any, what: str) -> Any:
    """Return an Arrow column of any library as an array of pyarrow, in one piece."""
    pa = require("pyarrow", what)
    try:
        if not hasattr(values, "__arrow_c_stream__"):
            return pa.array(values)
        chunked = pa.chunked_array(values)
        return chunked.combine_chunks() if chunked.num_chunks != 1 else chunked.chunk(0)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise GraphError(
            f"{what}: expected an Arrow array, found {type(values).__name__}: {error}"
        ) from error


def first_null(array: Any) -> int | None:
    """Return the first row without a value; None where all have one."""
    nulls = array.is_null(nan_is_null=_types().is_floating(array.type)) if _may_lack(array) else None
    if nulls is None:
        return None
    places = np.flatnonzero(nulls.to_numpy(zero_copy_only=False))
    return int(places[0]) if places.size else None


def _may_lack(array: Any) -> bool:
    types = _types()
    if types.is_dictionary(array.type):
        return True  # its values may have nulls
    return bool(array.null_count) or types.is_floating(array.type) or types.is_null(array.type)


def is_string(array: Any) -> bool:
    """Tell whether an array is of strings, coded or not."""
    types = _types()
    kind = array.type.value_type if types.is_dictionary(array.type) else array.type
    view = hasattr(types, "is_string_view") and types.is_string_view(kind)
    return bool(view or types.is_string(kind) or types.is_large_string(kind))


def is_coded(array: Any) -> bool:
    """Tell whether an array is dictionary-encoded."""
    return bool(_types().is_dictionary(array.type))


def is_floating(array: Any) -> bool:
    """Tell whether an array is of floats."""
    return bool(_types().is_floating(array.type))


def is_integer(array: Any) -> bool:
    """Tell whether an array is of integers, coded or not."""
    kind = array.type.value_type if is_coded(array) else array.type
    return bool(_types().is_integer(kind))


def integers(array: Any) -> NDArray[Any]:
    """Return an array of integers without nulls as NumPy's, without a copy where there can be none."""
    if is_coded(array):
        array = array.dictionary_decode()
    values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return values


def without_value(array: Any, words: Sequence[str]) -> NDArray[np.bool_]:
    """Return where an array has a null, NaN, or a string that is one of some words."""
    if is_coded(array):
        array = array.dictionary_decode()
    missing: NDArray[np.bool_] = array.is_null(nan_is_null=is_floating(array)).to_numpy(zero_copy_only=False)
    if is_string(array):
        pa, compute = import_module("pyarrow"), import_module("pyarrow.compute")
        among = compute.is_in(array.cast(pa.large_string()), value_set=pa.array(words, pa.large_string()))
        missing = missing | among.to_numpy(zero_copy_only=False)
    return missing


def nulls(array: Any) -> NDArray[np.bool_] | None:
    """Return where an array of strings, coded or not, has none; None where all are there."""
    missing: NDArray[np.bool_] | None = None
    if array.null_count:
        missing = array.is_null().to_numpy(zero_copy_only=False)
    if is_coded(array) and array.dictionary.null_count:
        none = array.dictionary.is_null().to_numpy(zero_copy_only=False)
        lacking = none[array.indices.fill_null(0).to_numpy(zero_copy_only=False)]
        missing = lacking if missing is None else missing | lacking
    return missing if missing is not None and missing.any() else None


def at(array: Any, places: NDArray[np.intp]) -> Any:
    """Return some rows of an array of strings."""
    return (array if is_coded(array) else _rows(array)).take(import_module("pyarrow").array(places))


def _rows(array: Any) -> Any:
    """Return strings in a type whose rows pyarrow can take: it cannot take rows of views, as in polars."""
    types = _types()
    view = hasattr(types, "is_string_view") and types.is_string_view(array.type)
    return array.cast(import_module("pyarrow").large_string()) if view else array


def codes(names: Names, array: Any) -> NDArray[np.uint32]:
    """Return the numbers of strings, coded or not, none missing; `names` has the earlier strings."""
    long_type = import_module("pyarrow").large_string()
    if is_coded(array):
        places = array.indices.to_numpy(zero_copy_only=False)
        occurs = np.zeros(len(array.dictionary), dtype=bool)
        occurs[places] = True
        used = np.flatnonzero(occurs)
        code_of = np.zeros(len(occurs), dtype=np.uint32)
        code_of[used] = codes(names, _rows(array.dictionary).take(import_module("pyarrow").array(used)))
        coded: NDArray[np.uint32] = code_of[places]
        return coded
    long = array.cast(long_type)
    _, offsets, text = long.buffers()
    if not len(long):
        return np.zeros(0, dtype=np.uint32)
    ends = np.frombuffer(offsets, np.int64)[long.offset : long.offset + len(long) + 1]
    data = np.frombuffer(text, np.uint8) if text is not None and text.size else np.zeros(0, np.uint8)
    return names.codes(data, ends)


def distinct(names: Names) -> tuple[NDArray[np.str_], NDArray[np.uint32]]:
    """Return the strings, ascending, and the place among them of each code; `names` is empty then."""
    (text, offsets), places = names.finish()
    return from_utf8(text, offsets), places


def numbers(array: Any, what: str) -> Any:
    """Return decimals as numbers of 64 bits: integers where the type has no fraction, else floats.

    Other arrays are returned as they are; coded arrays other than strings are decoded.

    Raises
    ------
    GraphError
        An integer has more than 64 bits; the message has advice.
    """
    pa, types = import_module("pyarrow"), _types()
    if is_coded(array) and not is_string(array):
        array = array.dictionary_decode()
    if not types.is_decimal(array.type):
        return array
    if array.type.scale > 0:
        return array.cast(pa.float64())
    try:
        return array.cast(pa.int64())
    except pa.ArrowInvalid:
        whole = (value.as_py() for value in array)
        found = next(one for one in whole if one is not None and not -(2**63) <= one < 2**63)
        raise GraphError(
            f"{what}: expected integers of 64 bits, found {found} in a column of {array.type}; cast the "
            "column to floats (DOUBLE) or strings (VARCHAR)"
        ) from None


def _types() -> Any:
    return import_module("pyarrow.types")
