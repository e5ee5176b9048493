"""Which rows have copies, and in which segments: compared with a dictionary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from motiflux.gpu.outofcore.held_rows import HeldRows


class Rows:
    num_rows, written = 60, 1


@pytest.mark.parametrize("keeps_places", [False, True])
def test_copies_come_and_go(*, keeps_places: bool) -> None:
    draw, rows = np.random.default_rng(1), Rows()
    held: Any = HeldRows(rows, keeps_places=keeps_places)  # type: ignore[arg-type]
    known: dict[int, tuple[int, int, int]] = {}
    versions = {held.version}
    for step in range(300):
        if step == 200:
            rows.num_rows = 90  # there are new vertices
        some = np.flatnonzero(draw.random(rows.num_rows) < 0.1).astype(np.uint32)
        there = held.has(some)
        assert there.tolist() == [int(vertex) in known for vertex in some]
        segment = int(draw.integers(0, 4))
        match step % 4:
            case 0:
                gone = some[there]
            case 1:
                gone = held.in_segment(segment)
                assert gone.tolist() == sorted(v for v, (where, *_) in known.items() if where == segment)
            case _:
                gone = np.empty(0, np.uint32)
                fresh = some[~there]
                starts = np.concatenate([[0], np.cumsum(draw.integers(1, 9, len(fresh)))]).astype(np.uint64)
                held.add(fresh, segment, step, starts)
                for at, vertex in enumerate(fresh.tolist()):
                    known[vertex] = segment, step + int(starts[at]), int(starts[at + 1] - starts[at])
                versions.add(held.version)
        held.drop(gone)
        for vertex in gone.tolist():
            del known[vertex]
        versions.add(held.version)
        assert held.held.tolist() == sorted(known)
        assert len(held) == len(known)
        ascending = np.array(sorted(known), np.uint32)
        assert held.segments_of(ascending).tolist() == [known[vertex][0] for vertex in sorted(known)]
        if keeps_places:
            assert held.firsts.tolist() == [known[vertex][1] for vertex in sorted(known)]
            assert held.sizes.tolist() == [known[vertex][2] for vertex in sorted(known)]
    assert len(versions) > 200
