"""The rows that searches open are those of a plain count, for streams of any kind."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import motiflux as mf
from motiflux import _native
from tests.access_counts import PAPER, PLACEMENT, WEIGHTED, CountingEngine, looking
from tests.property.test_monitor_engines import streams
from tests.update_streams import Stream


@settings(deadline=None)
@given(
    stream=streams(),
    mode=st.sampled_from(("sequence", "batch")),
    size=st.sampled_from((1, 7, 150)),
    matches=st.booleans(),
    threads=st.sampled_from((1, 2, 5)),
)
def test_exact_accesses_are_those_of_a_plain_count(
    stream: Stream, mode: str, size: int, matches: bool, threads: int
) -> None:
    def look(engine: CountingEngine, run: _native.Run) -> None:
        expected = engine.counted(run)
        assert engine.estimated(run, threads=threads) == expected
        for method in (WEIGHTED, PAPER):
            given = engine.estimated(run, method, walks=9, most_walks=50, seconds=None, threads=threads)
            assert set(given) <= set(expected)
            assert all(times > 0 for times in given.values())
        run.write_rows()
        assert engine.estimated(run, threads=threads) == expected

    options: dict[str, Any] = {**stream.options(), "mode": mode, "duplicates": stream.duplicates}
    options["threads"] = threads
    with (
        looking(look),
        mf.Monitor(
            stream.graph(stream.first), stream.patterns, matches=matches, **options, **PLACEMENT
        ) as monitor,
    ):
        for part in stream.columns().slices(size):
            monitor.apply(part)
