"""What `scripts/fuzz_streams.py` does: stream after stream through a Monitor, recounted at intervals."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np

import motiflux as mf
from motiflux.config import PRIVATE, TUNING, private_tuning
from motiflux.stream import VertexLabels
from motiflux.stream.matching.engine import ENGINES, STREAMING
from tests.row_access import ROW_ACCESS
from tests.update_streams import Edge, Stream

UPDATES = 1_000_000
OF_A_STREAM = 20_000
SHARING = ("stealing", "roots", "coalesce", "coalesce_without")
"""Switches of how searches share work and levels."""
LARGEST_CALL = 2_000
RECOUNTED = 250
"""Updates after which all patterns are counted again, at the end of a call."""
STATUS_UPDATES = 100_000
INTERRUPTED = 130


Feed = Callable[[mf.Monitor, Stream, np.random.Generator], Iterator[mf.Delta]]
"""How updates come to a monitor."""


class DifferenceError(Exception):
    """What differed, and after which update of the stream."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run streams until the number of updates is reached; return the exit code."""
    parser = argparse.ArgumentParser(description="Compare a Monitor with counts of the graph.")
    parser.add_argument("--updates", type=int, default=UPDATES, help="end after so many")
    parser.add_argument("--seed", type=int, default=None, help="of what is drawn; default: from the clock")
    parser.add_argument("--stream", type=int, default=None, help="run this stream of the seed alone")
    parser.add_argument("--length", type=int, default=OF_A_STREAM, help="updates of a stream")
    parser.add_argument("--device", default="cpu", help="where updates are matched, as for a Monitor")
    parser.add_argument("--devices", type=int, default=None, help="how many devices match, as for a Monitor")
    given = parser.parse_args(arguments)
    seed = int(time.time()) if given.seed is None else given.seed
    print(f"fuzz of streams: seed={seed}", flush=True)
    done = recounts = 0
    try:
        for number in count() if given.stream is None else [given.stream]:
            updates = given.length if given.stream is not None else min(given.length, given.updates - done)
            recounts += run_stream(seed, number, updates, given.device, given.devices)
            done += updates
            if done % STATUS_UPDATES < updates:
                print(f"{done:,} updates, {recounts:,} counts compared", flush=True)
            if done >= given.updates:
                break
    except DifferenceError as difference:
        again = f"scripts/fuzz_streams.py --seed {seed} --stream {number}"
        again += f" --length {updates}" if updates != OF_A_STREAM else ""
        again += f" --device {given.device}" if given.device != "cpu" else ""
        again += f" --devices {given.devices}" if given.devices is not None else ""
        print(f"differs: {difference}; again: {again}", flush=True)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    print(f"fuzz of streams: {done:,} updates in {number + 1:,} streams, none differs", flush=True)
    return 0


def run_stream(seed: int, number: int, updates: int, device: str = "cpu", devices: int | None = None) -> int:
    """Apply one stream; return how many counts were compared.

    With another device than the CPU, each update's matches are compared with the CPU's too.

    Raises
    ------
    DifferenceError
        At the first count, row or edge that is wrong.
    """
    random = np.random.default_rng([seed, number])
    stream = drawn_stream(random, updates)
    options = drawn_options(random)
    fed = [applied, from_text][int(random.random() < 0.4)]
    engine = "auto" if device == "cpu" else str(random.choice(list(ENGINES)))
    if engine == STREAMING and (options["mode"] == "batch" or devices is not None):
        engine = "changing"
    drawn = f"({fed.__name__}, {stream}, engine={engine}, {options})"
    states = stream.states()
    edges = next(states)
    known = counts(stream, edges)
    compared = done = recounted = 0
    with mf.Monitor(
        stream.graph(+edges, vertices=present(stream)),
        stream.patterns,
        duplicates=stream.duplicates,
        device=device,
        devices=devices,
        engine=engine,
        **stream.options(),
        **options,
    ) as monitor:
        again = np.random.default_rng([seed, number, 1]), np.random.default_rng([seed, number, 1])
        here = None if device == "cpu" else beside(stream, options, fed, again[1])
        for delta in fed(monitor, stream, again[0]):
            if here is not None and told(delta) != (expected := told(next(here))):
                raise DifferenceError(
                    f"{told(delta)} is {expected} on the CPU, before {done:,} updates {drawn}"
                )
            done += delta.updates
            for _ in range(delta.updates):
                edges = next(states)
            for at, pattern in enumerate(stream.patterns):
                known[at] += delta[pattern].net
                check_rows(delta[pattern], drawn, listed=options["matches"])
            if done - recounted >= RECOUNTED or done == updates:
                recounted = done
                compared += len(known)
                anew = counts(stream, edges)
                if anew != known:
                    raise DifferenceError(f"{known} is {anew} after {done:,} updates {drawn}")
        if done != updates or edges_of(monitor.snapshot()) != +edges:
            raise DifferenceError(f"the graph after {done:,} updates {drawn}")
    return compared


def beside(
    stream: Stream, options: dict[str, Any], fed: Feed, random: np.random.Generator
) -> Iterator[mf.Delta]:
    """Give what a monitor on the CPU says of the same calls."""
    graph = stream.graph(stream.first, vertices=present(stream))
    with mf.Monitor(
        graph, stream.patterns, duplicates=stream.duplicates, **stream.options(), **options
    ) as monitor:
        yield from fed(monitor, stream, random)


def told(delta: mf.Delta) -> list[tuple[int, int, list[int], list[int]]]:
    """Return what a delta says of its patterns."""
    return [(one.positive, one.negative, one.updates.tolist(), one.matches.tolist()) for one in delta]


def present(stream: Stream) -> int:
    """Return how many vertices are there at the start: those after the last with an edge come later."""
    return 1 + max(max(u, v) for u, v, _ in stream.first)


def applied(monitor: mf.Monitor, stream: Stream, random: np.random.Generator) -> Iterator[mf.Delta]:
    """Apply the updates by calls of any size."""
    columns = stream.columns()
    labels = {vertex: stream.labels[vertex] for vertex in range(present(stream), stream.vertices)}
    for first, end in pairwise(calls(random, stream.updates)):
        part = columns.rows(np.arange(first, end))
        ends = {*part.sources.tolist(), *part.targets.tolist()}
        new = {vertex: labels.pop(vertex) for vertex in ends & labels.keys()}
        yield monitor.apply(replace(part, vertex_labels=VertexLabels.of(new) if new else None))


def from_text(monitor: mf.Monitor, stream: Stream, random: np.random.Generator) -> Iterator[mf.Delta]:
    """Write the updates to a file and let the monitor read it."""
    labels = {vertex: stream.labels[vertex] for vertex in range(present(stream), stream.vertices)}
    lines = []
    for inserts, (u, v, label) in stream.changes:
        lines += [f"v {vertex} {labels.pop(vertex)}" for vertex in (u, v) if vertex in labels]
        lines.append(f"{'e' if inserts else '-e'} {u} {v} {label}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "updates.stream")
        path.write_text("\n".join(lines) + "\n")
        yield from monitor.run(path, batch_size=int(random.choice([1, 7, 300, 5_000])))


def drawn_stream(random: np.random.Generator, updates: int) -> Stream:
    """Draw a stream whose updates are quick."""
    homomorphism = bool(random.random() < 0.2)
    symmetry = "embeddings" if homomorphism or random.random() < 0.5 else "subgraphs"
    most = 4 if homomorphism else 6
    return Stream(
        seed=int(random.integers(2**32)),
        vertices=int(random.choice([40, 200, 1000])),
        directed=bool(random.random() < 0.5),
        vertex_kinds=int(random.choice([2, 4, 8])),
        edge_kinds=int(random.choice([1, 1, 3])),
        sizes=tuple(random.integers(2, most, int(random.integers(1, 5))).tolist()),
        updates=updates,
        symmetry=symmetry,
        semantics="homomorphism" if homomorphism else "isomorphism",
        duplicates=str(random.choice(["count", "ignore"])),
    )


def drawn_options(random: np.random.Generator) -> dict[str, Any]:
    """Draw how a monitor works."""
    return {
        "mode": str(random.choice(["sequence", "sequence", "batch"])),
        "matches": bool(random.random() < 0.4),
        "threads": int(random.choice([1, 2])),
        "tuning": private_tuning(
            {
                "put_off": str(random.choice(["on", "on", "off"])),
                "at_once": str(random.choice(["auto", "on", "off"])),
                **{
                    name: str(random.choice({**TUNING, **PRIVATE}[name].values))
                    for name in (
                        "container",
                        "gpma_leaf",
                        "gpma_index",
                        "gpma_groups",
                        "bitmaps",
                        "pooling",
                        "filter",
                        "filter_bits",
                        "encode",
                        "cache",
                        "access_walks",
                        "carry",
                        "cache_time",
                        "cache_copies",
                        "host_memory",
                        *SHARING,
                    )
                },
                **ROW_ACCESS[int(random.integers(len(ROW_ACCESS)))],
                "quotients": str(random.choice(["auto", "on", "off"])),
                "probe_eager": str(random.choice(["off", "on"])),
            }
        ),
    }


def calls(random: np.random.Generator, updates: int) -> Iterator[int]:
    """Give the places where calls begin, and the end; many are short, some of one update."""
    at = 0
    while at < updates:
        yield at
        at = min(updates, at + 1 + int(LARGEST_CALL * random.random() ** 4))
    yield updates


def counts(stream: Stream, edges: Counter[Edge]) -> list[int]:
    graph = stream.graph(+edges)
    return [int(mf.count(graph, pattern, **stream.options())) for pattern in stream.patterns]


def check_rows(found: mf.PatternDelta, drawn: str, *, listed: bool) -> None:
    """Check that there are as many rows as were counted."""
    if listed:
        rows = len(found.appeared()), len(found.vanished())
        if rows != (found.positive, found.negative):
            raise DifferenceError(f"rows {rows}, counted {found.positive, found.negative} {drawn}")


def edges_of(graph: mf.Graph) -> Counter[Edge]:
    """Return the copies of each edge."""
    edges = graph.to_edges()
    labels = np.zeros(len(edges.src), np.int64) if edges.labels is None else edges.labels
    columns = (column.tolist() for column in (edges.src, edges.dst, labels, edges.multiplicity))
    found: Counter[Edge] = Counter()
    for u, v, label, copies in zip(*columns, strict=True):
        found[(u, v, label) if graph.directed or u < v else (v, u, label)] += copies
    return found
