"""Transfers that services of tests read, and what a monitor finds in them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import motiflux as mf

PATTERNS = {"ring3": "(a)-->(b)-->(c)-->(a)", "ring4": "(a)-->(b)-->(c)-->(d)-->(a)"}
Transfer = dict[str, Any]


def transfers(count: int, *, accounts: int, seed: int, disorder: int = 0) -> list[Transfer]:
    """Return transfers by time, of which some are deleted; with `disorder`, moved by up to as many places."""
    draw = random.Random(seed)
    made: list[Transfer] = []
    for number in range(count):
        if made and draw.random() < 0.12:
            old = draw.choice(made)
            transfer = {"op": "-", "src": old["src"], "dst": old["dst"], "time": number}
        else:
            ends = [f"acct{draw.randrange(accounts)}" for _ in range(2)]
            transfer = {"op": "+", "src": ends[0], "dst": ends[1], "time": number}
        made.append(transfer)
    if disorder:
        places = sorted(range(count), key=lambda at: (at + draw.randrange(disorder), at))
        made = [made[at] for at in places]
    return made


def lines(made: list[Transfer]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in made)


def configuration(folder: Path, **more: dict[str, Any]) -> dict[str, Any]:
    """Return a service that reads ``in.jsonl``, and delivers to a file and a database."""
    made: dict[str, Any] = {
        "service": {"state": str(folder / "state"), "listen": "off"},
        "sources": [{"name": "bank", "type": "file", "path": str(folder / "in.jsonl"), "poll": "2ms"}],
        "monitors": [{"name": "main", "window": "200s"}],
        "patterns": [{"name": name, "pattern": text} for name, text in PATTERNS.items()],
        "sinks": [
            {"name": "lines", "type": "jsonl", "path": str(folder / "out.jsonl")},
            {"name": "table", "type": "sqlite", "path": str(folder / "out.sqlite")},
        ],
    }
    for key, values in more.items():
        made[key] = {**made.get(key, {}), **values}
    return made


Match = tuple[str, int, int, str]


def alerts_in(file: Path) -> list[Match]:
    """Return pattern, sign, number of the record and match of each alert, in their order."""
    found = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return [(one["pattern"], one["sign"], one["number"], json.dumps(one["match"])) for one in found]


def expected(made: list[Transfer]) -> tuple[dict[str, tuple[int, int]], set[Match]]:
    """Return what appears and vanishes of each pattern, and all that appears, by applying all in one call."""
    counts, matches = {}, set()
    for name, text in PATTERNS.items():
        pattern = mf.Pattern.parse(text)
        empty = mf.Graph.from_edges([], directed=True)
        with mf.Monitor(empty, pattern, matches=True, symmetry="subgraphs", window="200s") as monitor:
            rows = [(one["op"], one["src"], one["dst"]) for one in made]
            change = monitor.apply(rows, times=[one["time"] for one in made])[0]
        counts[name] = change.positive, change.negative
        for ids, piece in change.batches():
            for match, update, positive in zip(ids.tolist(), piece.updates, piece.positive, strict=True):
                if positive:
                    names = dict(zip("abcd", match, strict=False))
                    matches.add((name, 1, int(update), json.dumps(names)))
    return counts, matches
