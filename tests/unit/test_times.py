"""Datetimes as nanoseconds: text, arrays, Python's values, and durations."""

from __future__ import annotations

import datetime as dt
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motiflux.interop.strings import StringTable
from motiflux.times import (
    LARGEST,
    MomentError,
    format_moment,
    format_moments,
    moment_of,
    moments_of_array,
    moments_of_objects,
    parse_duration,
    parse_moment,
    parse_moments,
    python_moment,
)

NANOSECONDS = st.integers(-LARGEST, LARGEST)
ZONES = ["", "Z", "z", "+02:00", "-0130", "+05"]


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Draw a datetime in one of its forms, of all years."""
    moment = draw(st.datetimes())
    text = f"{moment:%Y-%m-%d}".rjust(10, "0")
    form = draw(st.integers(0, 2))
    if form:
        text += draw(st.sampled_from("Tt ")) + f"{moment:%H:%M}"
        if form == 2:
            digits = draw(st.text("0123456789", max_size=9))
            text += f":{moment:%S}" + (draw(st.sampled_from(".,")) + digits if digits else "")
        text += draw(st.sampled_from(ZONES))
    return text


def parsed_together(strings: list[str]) -> list[tuple[int | None, bool]] | None:
    encoded = [one.encode() for one in strings]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    found = parse_moments(np.frombuffer(b"".join(encoded), np.uint8), offsets)
    if found is None:
        return None
    rows = zip(found.nanoseconds.tolist(), found.zoned.tolist(), found.fits.tolist(), strict=True)
    return [(number if fits else None, zoned) for number, zoned, fits in rows]


@given(texts())
def test_a_text_means_what_python_says(text: str) -> None:
    found = parse_moment(text)
    assert found is not None
    plain = text.replace(",", ".").replace("t", "T").replace("z", "Z")
    fraction = re.search(r"\.(\d+)", plain)
    digits = fraction[1].ljust(9, "0") if fraction else "000000000"
    moment = dt.datetime.fromisoformat(re.sub(r"\.\d+", "", plain))
    offset = (moment.utcoffset() or dt.timedelta(0)) // dt.timedelta(seconds=1)
    seconds = (moment.replace(tzinfo=None) - dt.datetime(1970, 1, 1)) // dt.timedelta(seconds=1) - offset
    assert found == (seconds * 10**9 + int(digits), moment.tzinfo is not None)


@given(st.lists(texts(), min_size=1))
def test_many_texts_are_read_as_each_alone(strings: list[str]) -> None:
    expected = [parse_moment(text) for text in strings]
    assert parsed_together(strings) == [
        (one[0] if abs(one[0]) <= LARGEST else None, one[1]) for one in expected if one is not None
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2024",
        "2024-03",
        "20240301",
        "2024-3-1",
        "2024-02-30",
        "2023-02-29",
        "1900-02-29",
        "2024-04-31",
        "2024-13-01",
        "2024-00-01",
        "2024-01-00",
        "0000-01-01",
        "2024-01-01T",
        "2024-01-01T12",
        "2024-01-01T24:00",
        "2024-01-01T12:60",
        "2024-01-01T12:00:60",
        "2024-01-01T12:00:00.",
        "2024-01-01T12:00:00.1234567891",
        "2024-01-01T12:00:00+24:00",
        "2024-01-01T12:00:00+02:60",
        "2024-01-01T12:00:00+2",
        "2024-01-01T12:00:00 UTC",
        "2024-01-01Z",
        " 2024-01-01",
        "2024-01-01\n",
        "\uff12024-01-01",
        "NaT",
    ],
)
def test_other_text_is_no_datetime(text: str) -> None:
    assert parse_moment(text) is None
    assert parsed_together([text]) is None
    assert parsed_together(["2024-01-01", text]) is None


def test_the_ends_of_the_range_are_exact() -> None:
    inside = ["1677-09-21T00:12:43.145224193", "2262-04-11T23:47:16.854775807"]
    outside = ["1677-09-21T00:12:43.145224192", "2262-04-11T23:47:16.854775808", "1677-09-21", "2262-04-12"]
    assert parsed_together([*inside, *outside]) == [(-LARGEST, False), (LARGEST, False)] + 4 * [(None, False)]


def test_texts_beyond_one_slice_are_all_read() -> None:
    days = np.datetime_as_string(np.arange(-40_000, 40_000).astype("M8[D]")).tolist()
    found = parsed_together(days)
    assert found == [(day * 86_400 * 10**9, False) for day in range(-40_000, 40_000)]


@given(st.lists(NANOSECONDS, min_size=1), st.booleans())
def test_text_that_is_written_is_read_again(numbers: list[int], utc: bool) -> None:
    written = format_moments(np.array(numbers, dtype=np.int64), utc=utc).tolist()
    assert {len(text) for text in written} == {29 + utc}
    assert parsed_together([format_moment(number, utc=utc) for number in numbers]) == parsed_together(written)
    assert parsed_together(written) == [(number, utc) for number in numbers]


@pytest.mark.parametrize(
    ("nanoseconds", "utc", "text"),
    [
        (0, False, "1970-01-01T00:00:00"),
        (-1, True, "1969-12-31T23:59:59.999999999Z"),
        (1_500_000_000, False, "1970-01-01T00:00:01.5"),
    ],
)
def test_fractions_have_the_digits_that_they_need(nanoseconds: int, utc: bool, text: str) -> None:
    assert format_moment(nanoseconds, utc=utc) == text


@given(NANOSECONDS, st.booleans())
def test_datetimes_of_python_are_exact(number: int, utc: bool) -> None:
    number -= number % 1000
    assert moment_of(python_moment(max(number, -LARGEST // 1000 * 1000 + 1000), utc=utc)) == (
        max(number, -LARGEST // 1000 * 1000 + 1000),
        utc,
    )


def test_datetimes_of_pandas_keep_nanoseconds() -> None:
    pd = pytest.importorskip("pandas")
    assert moment_of(pd.Timestamp("2024-03-01 00:00:00.000000001")) == (1709251200 * 10**9 + 1, False)
    fine = python_moment(1, utc=True)
    assert (type(fine), fine.tzinfo is not None, moment_of(fine)) == (pd.Timestamp, True, (1, True))


@pytest.mark.parametrize("unit", ["Y", "M", "7M", "W", "D", "h", "m", "25s", "s", "ms", "us", "ns", ">s"])
def test_arrays_of_any_unit_are_exact(unit: str) -> None:
    dtype = np.dtype(">M8[s]" if unit == ">s" else f"M8[{unit}]")
    array = np.array([3, -2, 0], dtype=np.int64).view(f"M8[{unit.lstrip('>')}]").astype(dtype)
    array[2] = np.datetime64("NaT", "s")
    nanoseconds, missing = moments_of_array(array)
    assert nanoseconds[:2].tolist() == array[:2].astype("M8[ns]").astype(np.int64).tolist()
    assert missing.tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array(["2024", "2300"], dtype="M8[Y]"), "row 1 expected datetimes .* found 2300"),
        (np.array([0, 2**62], dtype="M8[M]"), "row 1 expected datetimes from 1677-09-21 to 2262-04-11"),
        (np.array(["1677-01-01"], dtype="M8[D]"), "row 0 expected datetimes .* found 1677-01-01"),
        (np.array([2**62], dtype="M8[s]"), "row 0 expected datetimes"),
        (np.array([2**62], dtype="M8[25s]"), "row 0 expected datetimes"),
        (np.array([1000, 1], dtype="M8[ps]"), "row 1 expected whole nanoseconds"),
    ],
)
def test_arrays_out_of_range_are_refused(array: np.ndarray, message: str) -> None:
    with pytest.raises(MomentError) as caught:
        moments_of_array(array)
    assert re.match(message, f"row {caught.value.row} {caught.value.message}")


def test_values_with_and_without_a_time_zone_are_refused_together() -> None:
    values = [dt.date(2024, 3, 1), None, dt.datetime(2024, 3, 1, tzinfo=dt.UTC)]
    with pytest.raises(
        MomentError, match="without a time zone as before, found 2024-03-01 00:00:00"
    ) as caught:
        moments_of_objects(values, np.array([False, True, False]))
    assert caught.value.row == 2


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("90s", 90 * 10**9),
        ("1h30m", 5400 * 10**9),
        ("1h 30min", 5400 * 10**9),
        (" 1.5 h ", 5400 * 10**9),
        ("2w3d", 17 * 86_400 * 10**9),
        ("1s2ms3us4ns", 1_002_003_004),
        ("0.25us", 250),
        ("", None),
        ("90", None),
        ("s", None),
        ("1h30", None),
        ("30m1h", None),
        ("1m1min", None),
        ("-1h", None),
        ("1H", None),
        ("0.5ns", None),
        ("1 year", None),
        ("9" * 101 + "s", None),
    ],
)
def test_durations_are_numbers_with_units(text: str, nanoseconds: int | None) -> None:
    assert parse_duration(text) == nanoseconds


def test_strings_of_a_table_are_read_where_they_lie() -> None:
    table = StringTable.of(["2024-03-01", "2024-03-01T12:00Z"])
    found = parse_moments(table.text, table.offsets)
    assert found is not None
    assert found.zoned.tolist() == [False, True]
