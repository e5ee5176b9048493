"""A limit on the matches of a run: which of a batch are the first."""

from __future__ import annotations

from collections.abc import Iterator

from motiflux.stream.matching.delta import Delta


def first_matches(delta: Delta, most: int) -> list[tuple[int, int]]:
    """Return how many of the first `most` matches appeared and vanished, by pattern.

    Matches of earlier updates come first; within an update, matches of earlier patterns; within a batch that
    is one change, matches that appear.
    """
    counts = [[0, 0] for _ in delta]
    left = most
    for number, side, matches in _in_order(delta):
        taken = min(left, matches)
        counts[number][side] += taken
        left -= taken
    return [(positive, negative) for positive, negative in counts]


def _in_order(delta: Delta) -> Iterator[tuple[int, int, int]]:
    """Yield patterns, 0 for matches that appear or 1, and numbers of matches, the earliest first."""
    parts = [
        (int(update), number, 0 if sign > 0 else 1, int(matches))
        for number, one in enumerate(delta)
        for update, sign, matches in zip(
            one.updates.tolist(), one.signs.tolist(), one.matches.tolist(), strict=True
        )
    ]
    if parts:
        for _, number, side, matches in sorted(parts, key=lambda part: part[:2]):
            yield number, side, matches
        return
    for number, one in enumerate(delta):
        yield number, 0, one.positive
        yield number, 1, one.negative
