"""Alerts and counts of a service, whatever its groups and restarts, are those of the reference."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motiflux.cpu import reference
from motiflux.serve.service import Service
from tests.serve.test_durability import fed, service_in

VERTICES = 5
PATTERNS: dict[str, list[tuple[int, int]]] = {
    "path": [(0, 1), (1, 2)],
    "ring": [(0, 1), (1, 2), (2, 0)],
    "fan": [(0, 1), (0, 2), (1, 2)],
}
Update = tuple[bool, int, int]
ends = st.integers(0, VERTICES - 1)
updates = st.lists(st.tuples(st.sampled_from([True, True, False]), ends, ends), max_size=25)


def embeddings(name: str, edges: list[tuple[int, int]]) -> set[tuple[int, ...]]:
    """Return the embeddings of a pattern, by the reference."""
    pattern = PATTERNS[name]
    choices = [None] * (1 + max(max(edge) for edge in pattern))
    query = [(source, target, None, "arc") for source, target in pattern]
    return set(reference.embeddings(VERTICES, edges, choices, query, directed=True))


def truth(made: list[Update]) -> set[tuple[str, int, int, tuple[int, ...]]]:
    """Return all changes: pattern, sign, number of the update, and embedding."""
    copies: Counter[tuple[int, int]] = Counter()
    found = set()
    before: dict[str, set[tuple[int, ...]]] = {name: set() for name in PATTERNS}
    for number, (insert, source, target) in enumerate(made):
        if source != target:
            copies[source, target] = max(0, copies[source, target] + (1 if insert else -1))
        there = [edge for edge, count in copies.items() if count]
        for name in PATTERNS:
            after = embeddings(name, there)
            found |= {(name, 1, number, one) for one in after - before[name]}
            found |= {(name, -1, number, one) for one in before[name] - after}
            before[name] = after
    return found


def lines(made: list[Update]) -> bytes:
    names = ({"op": "+" if insert else "-", "src": f"v{src}", "dst": f"v{dst}"} for insert, src, dst in made)
    return b"".join(json.dumps(one).encode() + b"\n" for one in names)


def configuration(folder: Path) -> dict[str, Any]:
    made = service_in(folder)
    made["monitors"] = [{"name": "main", "symmetry": "embeddings"}]
    made["log"] = {"checkpoint_updates": 7}
    texts = {
        name: ", ".join(f"(q{source})-->(q{target})" for source, target in PATTERNS[name])
        for name in PATTERNS
    }
    made["patterns"] = [{"name": name, "pattern": text, "on": "both"} for name, text in texts.items()]
    return made


def service_finds(lives: list[list[Update]]) -> set[tuple[str, int, int, tuple[int, ...]]]:
    """Return what a service reports that is stopped and started again between parts of its input."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for life in lives:
            with Service(configuration(folder)) as service:
                middle = len(life) // 2
                for part in (life[:middle], life[middle:]):
                    fed(service, lines(part))
        out = folder / "out.jsonl"
        found = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    reported = [
        (
            one["pattern"],
            one["sign"],
            one["number"],
            tuple(int(name[1:]) for _, name in sorted(one["match"].items())),
        )
        for one in found
    ]
    assert len(set(reported)) == len(reported)
    return set(reported)


@settings(max_examples=6)
@given(updates, updates)
def test_alerts_are_those_of_the_reference(first: list[Update], second: list[Update]) -> None:
    assert service_finds([first, second]) == truth(first + second)


@pytest.mark.long
@settings(max_examples=60)
@given(updates, updates, updates)
def test_alerts_of_more_streams_are_those_of_the_reference(
    first: list[Update], second: list[Update], third: list[Update]
) -> None:
    assert service_finds([first, second, third]) == truth(first + second + third)
