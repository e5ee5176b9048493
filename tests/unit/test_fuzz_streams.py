"""The fuzzer of streams: it says what differs, and that stream runs again as it was."""

from __future__ import annotations

import pytest

from tests.fuzz import updates


def test_a_run_without_differences_says_how_much_it_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert updates.main(["--updates", "300", "--seed", "3"]) == 0
    assert "300 updates in 1 streams, none differs" in capsys.readouterr().out


def test_a_wrong_count_is_found_and_the_command_to_repeat_it_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    counts, called = updates.counts, []

    def one_more(*given: object) -> list[int]:
        called.append(given)
        return [number + (len(called) == 2) for number in counts(*given)]  # type: ignore[arg-type]

    monkeypatch.setattr(updates, "counts", one_more)
    assert updates.main(["--updates", "200", "--seed", "3"]) == 1
    printed = capsys.readouterr().out
    assert "again: scripts/fuzz_streams.py --seed 3 --stream 0" in printed
    assert "after 200 updates" in printed


def test_a_wrong_graph_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updates, "edges_of", lambda graph: {})
    with pytest.raises(updates.DifferenceError, match="the graph after 100 updates"):
        updates.run_stream(3, 0, 100)
