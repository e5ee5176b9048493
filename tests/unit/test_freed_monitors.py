"""A monitor goes with its last reference, also after runs that an error or Ctrl-C has ended."""

from __future__ import annotations

import gc
import weakref
from contextlib import suppress
from pathlib import Path

import pytest

import motiflux as mf


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("last", ["e 1 4", "what is this"])
def test_a_monitor_goes_after_a_run(tmp_path: Path, error: type[BaseException] | None, last: str) -> None:
    path = tmp_path / "updates.stream"
    path.write_text("".join(f"e {n} {n + 2}\n" for n in range(9)) + f"{last}\n")
    found = []

    def take(match: object) -> None:
        found.append(match)
        if error is not None:
            raise error

    monitor = mf.Monitor(mf.Graph.from_edges([(u, u + 1) for u in range(12)]), "(a)--(b)--(c)", matches=True)
    gone, totals = weakref.ref(monitor), None
    gc.collect()
    gc.disable()
    try:
        with suppress(ValueError, mf.FormatError):
            totals = monitor.run(path, take, batch_size=3)
        del monitor
        found.clear()
        assert gone() is None, "a circle of references holds it"
        if error is KeyboardInterrupt:
            assert totals is not None
            assert isinstance(totals.stopped_by, KeyboardInterrupt)
    finally:
        gc.enable()
