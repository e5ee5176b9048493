"""The dictionary of strings that columns of them are numbered by."""

from __future__ import annotations

import numpy as np
import pytest

from motiflux._native import Names
from tests.interrupts import ctrl_c_in_native_code
from tests.rotating import in_turn

WIDTH = 8
Text = np.ndarray[tuple[int], np.dtype[np.uint8]]


def strings(count: int) -> tuple[Text, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Return strings of a fixed width, nearly all of them different."""
    text = np.random.default_rng(1).integers(0, 256, WIDTH * count, dtype=np.uint8)
    return text, np.arange(0, len(text) + 1, WIDTH)


def held(names: Names) -> int:
    """Return how many strings have a number, by adding one more."""
    new = np.frombuffer(b"a string that is longer than all others", np.uint8)
    return int(names.codes(new, np.array([0, len(new)]))[0])


@pytest.mark.turns(8)
@pytest.mark.parametrize("known", in_turn(1, [1000, 2**22]))
def test_an_interrupt_stops_numbering_and_loses_nothing(known: int) -> None:
    text, offsets = strings(6_000_000)
    names, few = Names(), offsets[: known + 1]
    before = names.codes(text, few)
    with pytest.raises(KeyboardInterrupt), ctrl_c_in_native_code():
        names.codes(text, offsets)
    assert (names.codes(text, few) == before).all()
    assert known <= held(names) < 5_900_000  # far from the end


@pytest.mark.turns(8)
def test_an_interrupt_of_sorting_leaves_the_names() -> None:
    text, offsets = strings(2_000_000)
    names = Names()
    before = names.codes(text, offsets)
    with pytest.raises(KeyboardInterrupt), ctrl_c_in_native_code():
        names.finish()
    assert (names.codes(text, offsets) == before).all()
    assert held(names) == before.max() + 1
