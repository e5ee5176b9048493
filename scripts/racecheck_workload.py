"""Short searches by every kernel that uses shared memory, each answer compared with the CPU's.

    python scripts/racecheck_workload.py [CASE...] [--device cuda]

`scripts/racecheck.py` runs one case after another under compute-sanitizer, which makes kernels some hundred
times slower. So graphs are small and grids have few blocks. Prints a line for each case: its seconds, how
often work changed hands within blocks, and the units whose kernels ran. It ends with an error if an answer is
wrong, or if a unit did not run that the case is for. Patterns are made from edges, as the pattern language
needs a package that a machine with a GPU may lack.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations, product
from typing import Any
from unittest import mock

import numpy as np

import motiflux as mf
from motiflux.codegen import kernels
from motiflux.config import private_tuning
from motiflux.gpu import strategy
from motiflux.gpu.engine import DfsEngine
from motiflux.gpu.images import five_sums
from motiflux.gpu.kernels import cliques, table_run
from motiflux.gpu.kernels import universal_vertex as cones
from motiflux.gpu.kernels.table_run import Shape
from motiflux.gpu.launch import prepare
from motiflux.gpu.pcsr.device_rows import RowFinder
from motiflux.gpu.pcsr.partitions import Partitions
from motiflux.gpu.rows import stored_rows
from motiflux.gpu.runtime.accelerator import Accelerator, open_accelerator
from motiflux.gpu.runtime.job import AnyJob, KernelJob
from motiflux.gpu.storage import wedge_roots as device_roots
from motiflux.jit import Source
from motiflux.types import Semantics
from motiflux.words import ModeName, SemanticsName

Edges = Sequence[tuple[int, int]]

MULTIPROCESSORS = 2
"""As many as grids are made for: some blocks run beside each other, and racecheck follows all of them."""
ATTEMPTS = 10
"""Times that a search is repeated until work has changed hands within a block."""

SEARCH = {"tables": "off", "bitmaps": "off", "parts": "off", "stealing": "none", "specialize": "off"}
"""Nothing but the search; the other cases add to it."""
MATCHED = {**SEARCH, "tail": "off"}
PARTS = {**SEARCH, "parts": "on", "order": "given"}


class WrongAnswerError(Exception):
    """What a device found is not what the CPU found, or a case did not run what it is for."""


@dataclass
class Checked:
    """Runs searches on a device and compares their answers with the CPU's.

    Attributes
    ----------
    units
        Names of the units whose kernels ran.
    stolen
        How often work changed hands within a block.
    """

    device: str
    units: set[str] = field(default_factory=set)
    stolen: int = 0

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Note units and work that changes hands; have grids be small."""
        unit, result = Accelerator._unit, KernelJob.result

        def noting_unit(accelerator: Accelerator, source: Source) -> object:
            self.units.add(source.name)
            return unit(accelerator, source)

        def noting_stolen(job: AnyJob) -> Any:
            self.stolen += int(job.control.final.stolen)
            return result(job)

        device = open_accelerator(self.device).device
        with (
            mock.patch.object(Accelerator, "_unit", noting_unit),
            mock.patch.object(KernelJob, "result", noting_stolen),
            mock.patch.object(device, "multiprocessors", MULTIPROCESSORS),
        ):
            yield

    def count(
        self,
        graph: mf.Graph,
        pattern: mf.Pattern,
        tuning: dict[str, str],
        semantics: SemanticsName = "isomorphism",
    ) -> None:
        """Count on the device and on the CPU."""
        expected = int(mf.count(graph, pattern, semantics=semantics, device="cpu"))
        found = int(mf.count(graph, pattern, semantics=semantics, device=self.device, tuning=tuning))
        _compare(pattern, found, expected)
        if expected == 0:
            raise WrongAnswerError(f"{pattern}: expected a pattern that occurs")

    def count_until_stolen(self, graph: mf.Graph, pattern: mf.Pattern, tuning: dict[str, str]) -> None:
        """Count again and again until work has changed hands within a block."""
        before = self.stolen
        for _ in range(ATTEMPTS):
            self.count(graph, pattern, tuning)
            if self.stolen > before:
                return
        raise WrongAnswerError(f"{pattern}: no work changed hands within a block in {ATTEMPTS} counts")

    def rows(self, graph: mf.Graph, pattern: mf.Pattern, tuning: dict[str, str]) -> None:
        """List on the device and on the CPU."""
        expected = mf.match(graph, pattern, device="cpu").to_numpy().tolist()
        found = mf.match(graph, pattern, device=self.device, tuning=tuning).to_numpy().tolist()
        _compare(pattern, sorted(found), sorted(expected))

    def ids(self, graph: mf.Graph, pattern: mf.Pattern) -> None:
        """List into arrays of ids on the device."""
        batches = mf.match(graph, pattern, device=self.device, tuning=MATCHED).device_batches()
        found = [row for batch in batches for row in batch.to_numpy().tolist()]
        expected = mf.match(graph, pattern, device="cpu").to_numpy().tolist()
        _compare(pattern, sorted(found), sorted(expected))

    def updates(
        self,
        graph: mf.Graph,
        one: mf.Pattern,
        *,
        mode: ModeName,
        listed: bool,
        container: str = "slack",
        bitmaps: str = "auto",
        given: Sequence[Sequence[tuple[str, int, int]]] = (),
        on_host: dict[str, str] | None = None,
    ) -> None:
        """Apply insertions and deletions to a monitor on the device, and to one on the CPU.

        `on_host`: switches of a monitor on the device whose rows stay on the host; None: they do not.
        """
        options: dict[str, Any] = {"matches": listed, "tuning": {"container": container, "bitmaps": bitmaps}}
        there = options if on_host is None else {**options, "engine": "outofcore", "tuning": on_host}
        random = np.random.default_rng(12)
        pairs = random.integers(0, graph.num_vertices, (80, 2))
        rows = [("+" if random.random() < 0.6 else "-", int(u), int(v)) for u, v in pairs if u != v]

        def changed(device: str) -> list[tuple[int, int]]:
            switches = options if device == "cpu" else there
            with mf.Monitor(graph, one, mode=mode, device=device, **switches) as monitor:
                deltas = [monitor.apply(part)[0] for part in given or (rows[:40], rows[40:])]
            return [(delta.positive, delta.negative) for delta in deltas]

        _compare(one, changed(self.device), changed("cpu"))

    def estimate(
        self, graph: mf.Graph, pattern: mf.Pattern, estimator: str | mf.SamplingPolicy, tuning: dict[str, str]
    ) -> None:
        """Estimate from the same samples on the device and, but by an estimator of one's own, on the CPU."""
        tuning = {**tuning, "count_first": "off", "trawling": "off"}

        def drawn(device: str) -> tuple[float, float, float]:
            one = mf.estimate(
                graph, pattern, estimator=estimator, samples=2048, seed=5, device=device, tuning=tuning
            )
            return one.value, one.low, one.high

        found = drawn(self.device)
        if isinstance(estimator, str):
            _compare(pattern, found, drawn("cpu"))
        elif not found[1] <= int(mf.count(graph, pattern, device="cpu")) <= found[2]:
            raise WrongAnswerError(f"{pattern}: the count is not in the interval of {found}")

    def images(self, graph: mf.Graph, pattern: mf.Pattern, tuning: dict[str, str]) -> None:
        """Count at each vertex and each edge on the device and on the CPU."""
        for call in (mf.count_per_vertex, mf.count_per_edge):
            found = call(graph, pattern, device=self.device, tuning=tuning)
            _compare(pattern, found.counts.tolist(), call(graph, pattern, device="cpu").counts.tolist())

    def orbits(self, graph: mf.Graph, size: int = 4, *, of_edges: bool = False) -> None:
        """Count orbits on the device and on the CPU."""
        count = mf.edge_orbits if of_edges else mf.orbits
        found, expected = (count(graph, size, device=device).counts for device in (self.device, "cpu"))
        if not np.array_equal(found, expected):
            raise WrongAnswerError("the orbits differ")


def _compare(pattern: mf.Pattern, found: object, expected: object) -> None:
    if found != expected:
        raise WrongAnswerError(f"{pattern}: expected {str(expected)[:200]}, found {str(found)[:200]}")


def path(size: int) -> Edges:
    """Return the edges of a path of so many vertices."""
    return [(v, v + 1) for v in range(size - 1)]


def cycle(size: int) -> Edges:
    """Return the edges of a cycle of so many vertices."""
    return [*path(size), (size - 1, 0)]


def clique(size: int) -> Edges:
    """Return the edges of a clique of so many vertices."""
    return list(combinations(range(size), 2))


def pattern(edges: Edges, labels: Sequence[int] | None = None) -> mf.Pattern:
    """Return an undirected pattern."""
    return mf.Pattern.from_edges(edges, vertex_labels=labels)


def over(rim: Edges, size: int) -> mf.Pattern:
    """Return the pattern of vertex 0 over a pattern of so many vertices."""
    return pattern([*((0, v + 1) for v in range(size)), *((u + 1, v + 1) for u, v in rim)])


def skewed(vertices: int, edges: int, seed: int, labels: int = 0, *, directed: bool = False) -> mf.Graph:
    """Return a random graph with a few hubs."""
    random = np.random.default_rng(seed)
    weights = random.random(vertices) ** 3
    pairs = random.choice(vertices, (edges, 2), p=weights / weights.sum())
    return mf.Graph.from_edges(
        pairs[pairs[:, 0] != pairs[:, 1]],
        num_vertices=vertices,
        directed=directed,
        vertex_labels=np.arange(vertices) % labels if labels else None,
    )


def one_sided(seed: int, *, plain: bool = False) -> mf.Graph:
    """Return a graph in which all matches of patterns with a vertex labelled 1 hang from two arcs."""
    random = np.random.default_rng(seed)
    pairs = random.integers(1, 36, (320, 2))
    edges = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    edges = np.concatenate([[(0, 1), (0, 2)], edges])
    return mf.Graph.from_edges(edges, vertex_labels=None if plain else [1] + [0] * 35)


def with_hub() -> mf.Graph:
    """Return a sparse graph beside a vertex, the only one labelled 1, that is the neighbour of all others."""
    random = np.random.default_rng(3)
    pairs = np.unique(np.sort(random.integers(1, 161, (240, 2))), axis=0)
    edges = [*((0, v) for v in range(1, 161)), *pairs[pairs[:, 0] != pairs[:, 1]].tolist()]
    return mf.Graph.from_edges(edges, vertex_labels=[1] + [0] * 160)


ROOTED_PATH = pattern(path(5), [1, 0, 0, 0, 0])
TAILED_TRIANGLE = pattern([(0, 1), (1, 2), (2, 0), (0, 3), (3, 4), (4, 5), (5, 6)])


def counts(run: Checked) -> None:
    """Search, the last two levels at once and one after the other, with groups of all widths."""
    graph = skewed(90, 500, seed=1, labels=3)
    for lanes, packing in (("8", "on"), ("32", "on"), ("32", "off")):
        tuning = private_tuning({**MATCHED, "lanes": lanes, "packing": packing})
        run.count(graph, pattern(cycle(4)), tuning)
        run.count(graph, pattern(clique(4)), tuning)
        run.count(graph, pattern(path(4), [0, 1, 2, 0]), tuning, "induced")
    run.count(graph, pattern(cycle(4)), {**MATCHED, "specialize": "on"})


def tails(run: Checked) -> None:
    """Count the last levels in closed form."""
    graph = skewed(60, 300, seed=2, labels=3)
    run.count(graph, pattern([(0, 1), (1, 2), (2, 0), (0, 3), (1, 4), (2, 5)]), SEARCH)
    run.count(graph, pattern([(0, 1), (1, 2), (2, 0), (0, 3), (0, 4)], [0, 1, 2, 0, 1]), SEARCH)
    run.count(graph, pattern([(0, 1), (0, 2), (0, 3)]), SEARCH)


def parts(run: Checked) -> None:
    """Count pieces that hang from others, keeping numbers that come again and not."""
    graph = skewed(30, 100, seed=2)
    for remember in ("on", "off"):
        run.count(graph, TAILED_TRIANGLE, private_tuning({**PARTS, "remember": remember}))


def stealing_counts(run: Checked, within: str) -> None:
    """Share matched levels within blocks, with groups of several to a warp and one."""
    more = {"stealing": within}
    for lanes in ("8", "32"):
        for handover in ("on", "off"):
            tuning = private_tuning({**MATCHED, **more, "lanes": lanes, "handover": handover})
            run.count_until_stolen(one_sided(6), ROOTED_PATH, tuning)
    run.count(
        one_sided(6, plain=True), pattern(clique(4)), private_tuning({**MATCHED, **more, "packing": "off"})
    )


def stealing_tails(run: Checked, within: str) -> None:
    """Share levels before tails and parts within blocks."""
    more = {"stealing": within}
    run.count_until_stolen(one_sided(5), pattern(path(6), [1, 0, 0, 0, 0, 0]), {**SEARCH, **more})
    with mock.patch.object(prepare, "_piece_of", lambda _groups, _fewest, arcs: arcs):
        # Only the roots are shared: one group has all of the hub's row, which is longer than it is wide.
        run.count_until_stolen(with_hub(), ROOTED_PATH, {**PARTS, **more})


def stealing_rows(run: Checked, within: str) -> None:
    """Share what is listed within blocks, with groups that find no room for rows and go on later."""
    with little_room():
        for handover in ("on", "off"):
            tuning = {"stealing": within, "lanes": "16", "handover": handover}
            run.rows(one_sided(7), ROOTED_PATH, private_tuning({**MATCHED, **tuning}))


@contextlib.contextmanager
def little_room() -> Iterator[None]:
    """Leave listing groups little room, so that they park and go on in another launch."""
    with mock.patch.multiple(stored_rows, _FIRST_BYTES=16_000, _MOST_BYTES=16_000):
        yield


def rows(run: Checked) -> None:
    """List into memory of the device, and as ids on the device."""
    graph = one_sided(4)
    run.rows(graph, pattern(clique(4)), MATCHED)
    with little_room():
        run.rows(graph, ROOTED_PATH, {**MATCHED, "lanes": "8"})
    run.ids(skewed(30, 120, seed=8), pattern(cycle(4)))


def clique_bits(run: Checked) -> None:
    """Count cliques in bits: rows for warps and for blocks, in slices, and too long for shared memory."""
    graph = skewed(70, 900, seed=3)
    tuning = {**SEARCH, "bitmaps": "cliques"}
    for size in (3, 4, 5, 6):
        run.count(graph, pattern(clique(size)), tuning)
    cuts = (
        {"_SHORT_ROW": 8},
        {"_SHORT_ROW": 8, "_LEAST_SLICE": 1.0},
        {"_SHORT_ROW": 8, "_SHARED_BYTES": 1500},
    )
    for cut in cuts:
        for size in (3, 4, 5, 7):
            with (
                mock.patch.object(strategy, "_LONG_ON_AVERAGE", 0),
                mock.patch.multiple(cliques, **cut),
            ):
                # A graph of its own: how units are cut up stays with a graph.
                run.count(skewed(70, 900, seed=3), pattern(clique(size)), tuning)


def cone_bits(run: Checked) -> None:
    """Count cones in bits, likewise."""
    patterns = (
        over(cycle(4), 4),
        pattern([edge for edge in clique(4) if edge != (2, 3)]),
        over(path(4), 4),
        over([*cycle(3), (3, 4)], 5),
        pattern([edge for edge in clique(5) if edge != (3, 4)]),
    )
    for short, shared, slice_ in ((32, 24 << 10, 2e4), (8, 24 << 10, 1.0), (8, 2500, 2e4)):
        graph = skewed(50, 350, seed=4)
        with (
            mock.patch.multiple(cones, _SHORT_ROW=short, _LEAST_SLICE=slice_, ROOT=1e-3, LOOK_UP=1e-3),
            mock.patch.multiple(cliques, _SHORT_ROW=short, _SHARED_BYTES=shared),
        ):
            tuning = {**SEARCH, "bitmaps": "on"}
            for one in patterns:
                run.count(graph, one, tuning)
            run.count(graph, patterns[0], tuning, "induced")


def tables(run: Checked) -> None:
    """Count from tables, with light roots and heavy ones, in much shared memory and in little."""
    diamond = pattern([(0, 1), (1, 2), (2, 0), (1, 3), (3, 2)])
    house = pattern([*cycle(4), (0, 4), (4, 1)])
    theta = pattern([(0, 2), (2, 1), (0, 3), (3, 1), (0, 4), (4, 5), (5, 1)])
    bipartite = pattern([(hub, leaf) for hub in (0, 1) for leaf in (2, 3, 4, 5)])
    tailed = pattern([*cycle(3), (0, 3)])
    undirected = (diamond, tailed, pattern(cycle(4)), house, bipartite, pattern(cycle(5)), theta)
    several = mf.Pattern.from_edges(
        [(0, 2), (2, 1), (0, 3), (3, 1)], vertex_labels=[0, None, 1, 0], directed=True
    )
    hanging = pattern([*cycle(4), (0, 4)])
    shapes = (None, Shape(threads=64, words=128, slots=32))
    tuning = {**SEARCH, "tables": "on"}
    for shape in shapes:
        graph = skewed(120, 500, seed=6)
        whole = table_run.shape_of if shape is None else lambda *_, shape=shape: shape
        with (
            mock.patch.object(table_run, "shape_of", whole),
            mock.patch.object(device_roots, "_LEAST_PIECE", 8),
        ):
            for one in (*undirected, hanging):
                run.count(graph, one, tuning)
            run.count(skewed(120, 700, seed=5, labels=2, directed=True), several, tuning)


def spaces(run: Checked) -> None:
    """Search the candidate space, made on the device."""
    graph = skewed(150, 900, seed=7, labels=4)
    tuning = {**MATCHED, "candidates": "on"}
    run.count(graph, pattern(path(5), [0, 1, 2, 3, 0]), tuning)
    run.count(graph, pattern(cycle(4), [0, 1, 2, 1]), tuning)


WEIGHTED = """\
struct Custom : Alley {
  static constexpr Pick kPick = Pick::kWeighted;
  MOTIFLUX_HOST_DEVICE static bool refines(const Level&) { return true; }
  template <class State>
  MOTIFLUX_HOST_DEVICE static double sample(const CandidateGraph&, const State&, std::uint32_t, const Row&,
                                            std::uint32_t candidate) {
    return 1 + candidate % 3;
  }
};
"""


def estimates(run: Checked) -> None:
    """Estimate, with candidates that lanes refine together in every way."""
    graph = skewed(120, 2500, seed=9)
    house = pattern([*cycle(4), (0, 4), (4, 1)])
    ways = (("packed", "sample"), ("adaptive", "sample"), ("leader", "iteration"), ("packed", "iteration"))
    for streaming, sync in ways:
        run.estimate(graph, house, "alley", {"streaming": streaming, "sync": sync})
    run.estimate(graph, house, "wanderjoin", {"inheritance": "one"})
    run.estimate(graph, house, "tree", {})
    run.estimate(graph, house, mf.SamplingPolicy(WEIGHTED, name="weighted"), {"streaming": "packed"})


def changes(run: Checked) -> None:
    """Search from updates, in rows that change."""
    graph = skewed(60, 300, seed=10)
    for one in (pattern(clique(4)), pattern(path(4)), pattern(cycle(4))):
        run.updates(graph, one, mode="sequence", listed=False)
        run.updates(graph, one, mode="batch", listed=False)
    run.updates(graph, pattern(cycle(4)), mode="sequence", listed=True)
    run.updates(graph, pattern(clique(3)), mode="batch", listed=False, container="gpma")
    run.updates(graph, pattern(clique(3)), mode="batch", listed=False, bitmaps="on")
    # A row that grows by 30 and 500 entries: windows that a block and the device rewrite.
    ring = mf.Graph.from_edges([(u, (u + 1) % 4000) for u in range(4000)])
    leaves = [("+", 7, 2 * leaf) for leaf in range(10, 540)]
    run.updates(
        ring,
        pattern(clique(3)),
        mode="batch",
        listed=False,
        container="gpma",
        given=(leaves[:30], leaves[30:]),
    )


def walks(run: Checked) -> None:
    """Walk from updates to the rows that a search will open, which stay on the host."""
    graph = skewed(60, 300, seed=10)
    switches = private_tuning({"access_walks": "device", "cache_time": "free"})
    run.updates(graph, pattern(cycle(4)), mode="batch", listed=False, on_host=switches)
    run.updates(graph, pattern(path(4)), mode="sequence", listed=True, on_host=switches)


def partitions(run: Checked) -> None:
    """Find rows of partitions by intervals, whose index is in shared memory, and by hash tables."""
    random = np.random.default_rng(13)
    pairs = random.integers(0, 300, (3000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    graph = mf.Graph.from_edges(pairs, edge_labels=random.integers(0, 4, len(pairs)), num_vertices=300)
    made, asked = Partitions.of(graph), np.arange(300, dtype=np.uint32)
    accelerator = open_accelerator(run.device)
    session = accelerator.session()
    try:
        finder = RowFinder(accelerator, session.main)
        intervals = made.intervals()
        renamed = finder.upload_ids(made.renamed)
        for one, other in zip(intervals.partitions, made.hashes().partitions, strict=True):
            first, second = finder.upload(one, renamed), finder.upload(other)
            for alone in (False, True):
                found = finder.find(first, asked, alone=alone, index_bytes=64)
                rows = [one.neighbors[begin : begin + size].tolist() for begin, size in found]
                expected = finder.find(second, asked, alone=alone)
                wanted = [other.neighbors[begin : begin + size].tolist() for begin, size in expected]
                _compare(pattern(path(2)), rows, wanted)
    finally:
        accelerator.recycle(session)


def phases(run: Checked) -> None:
    """Match in phases of one to three query vertices, with all switches that have kernels of their own."""
    random = np.random.default_rng(17)
    pairs = random.integers(0, 60, (300, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    graph = mf.Graph.from_edges(pairs, edge_labels=random.integers(0, 2, len(pairs)), num_vertices=60)
    shapes = (
        "(a)-[:0]-(b)-[:0]-(c)-[:1]-(a)",
        "(a)-[:0]-(b), (a)-[:0]-(c), (b)-[:1]-(d)",
        "(a)-[:0]-(b), (a)-[:0]-(c), (a)-[:0]-(d), (b)-[:1]-(e)",
        "(a)-[:0]-(b)-[:1]-(c), (a)-[:1]-(d), (a)-[:1]-(e), (c)-[:0]-(f)",
    )
    compared_with = {"pvm_rows": "hash", "pvm_filter": "on", "pvm_writes": "two_pass"}
    switches: tuple[dict[str, str], ...]
    switches = ({}, {"pvm_fused": "off"}, {**compared_with, "pvm": "sv"}, {"pvm_generation": "nested"})
    for shape, some in product(shapes, switches):
        tuning = private_tuning(some)
        asked = partial(mf.count, graph, mf.Pattern.parse(shape))
        for semantics in (Semantics.ISOMORPHISM, Semantics.INDUCED, Semantics.HOMOMORPHISM):
            found = asked(semantics=semantics, device=run.device, engine="pvm", tuning=tuning)
            _compare(mf.Pattern.parse(shape), int(found), int(asked(semantics=semantics, device="cpu")))


@dataclass(frozen=True)
class Case:
    """Searches, and how the names of the units begin whose kernels they must have run."""

    run: Callable[[Checked], None]
    units: tuple[str, ...]


def _stealing(within: str) -> dict[str, Case]:
    """Return the cases of one way in which work changes hands within a block."""

    def units(*goals: str) -> tuple[str, ...]:
        return tuple(f"search-{goal}-{within}" for goal in goals)

    return {
        f"{within}-counts": Case(
            lambda run: stealing_counts(run, within), units("count-any-8", "count-any-32")
        ),
        f"{within}-tails": Case(
            lambda run: stealing_tails(run, within), units("tail-any-32", "nested-any-32")
        ),
        f"{within}-rows": Case(lambda run: stealing_rows(run, within), units("store-any-16")),
    }


def images(run: Checked) -> None:
    """Count at vertices and edges by a search whose groups share work, and orbits of long rows."""
    graph = skewed(60, 300, seed=9)
    for lanes in ("8", "32"):
        for one in (pattern(clique(4)), pattern([*cycle(4), (0, 4), (4, 1)])):
            run.images(graph, one, private_tuning({**MATCHED, "lanes": lanes}))
    dense = mf.Graph.from_edges([*clique(40), *((0, leaf) for leaf in range(40, 60))])
    run.orbits(dense)
    run.orbits(graph)
    with mock.patch.object(table_run.TableRun, "room_of_two", return_value=256):
        run.orbits(dense)


def orbits(run: Checked) -> None:
    """Count orbits of five vertices, at vertices and edges; bits and counters in shared memory, or not."""
    graph = skewed(60, 300, seed=9)
    for of_edges in (False, True):
        run.orbits(graph, 5, of_edges=of_edges)
    with (
        mock.patch.object(table_run.TableRun, "room_of_two", return_value=256),
        mock.patch.object(five_sums, "_HUBS", ((20, 3, 64), (1, 1, 128))),
    ):
        for of_edges in (False, True):
            run.orbits(skewed(60, 300, seed=9), 5, of_edges=of_edges)


CASES = {
    "counts": Case(counts, ("search-count-any-8", "search-count-any-32", "search-count-4v-32")),
    "tails": Case(tails, ("search-tail-any", "search-stars-any")),
    "parts": Case(parts, ("search-nested-any",)),
    **_stealing("passive"),
    **_stealing("active"),
    "changes": Case(
        changes, ("changing-count", "changing-store", "changing-rows", "changing-bitmaps", "gpma")
    ),
    "walks": Case(walks, ("changing-walks",)),
    "rows": Case(rows, ("search-store-any", "number")),
    "cliques": Case(clique_bits, ("cliques",)),
    "cones": Case(cone_bits, ("universal-vertex",)),
    "tables": Case(
        tables,
        tuple(
            f"local-counts-{name}"
            for name in ("triangles", "wedge-total", "wedge-ends", "wedge-arcs", "kinds", "walks", "sums")
        ),
    ),
    "images": Case(images, ("search-images-any", "local-counts-diamonds", "local-counts-orbits")),
    "orbits": Case(
        orbits,
        tuple(
            f"local-counts-five-{name}{where}"
            for name in ("hubs", "pairs", "walks", "opposites")
            for where in ("", "-at-edges")
        ),
    ),
    "spaces": Case(spaces, ("space",)),
    "partitions": Case(partitions, ("pcsr",)),
    "phases": Case(
        phases,
        ("pvm-eliminate", "pvm-close", "pvm-extend-1-0", "pvm-extend-2-0", "pvm-offsets", "pvm-filter"),
    ),
    "estimates": Case(estimates, ("draw-alley", "draw-wanderjoin", "draw-tree", "draw-custom")),
}


def run_case(name: str, device: str) -> Checked:
    """Run a case; raises `WrongAnswerError`."""
    case, run = CASES[name], Checked(device)
    with (
        run.watching(),
        mock.patch.object(
            DfsEngine, "capabilities", replace(DfsEngine.capabilities, searchers=1)
        ),  # else so small graphs are enumerated, to be busy
        mock.patch.object(kernels, "CHECK_TURNS", (1, 2)),  # so that so little work changes hands
    ):
        case.run(run)
    if missed := [start for start in case.units if not any(unit.startswith(start) for unit in run.units)]:
        raise WrongAnswerError(f"{name}: expected units {missed}, found {sorted(run.units)}")
    return run


def main() -> None:
    """Run the cases named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="all if none is named")
    parser.add_argument("--device", default="cuda", help="where to run them")
    parser.add_argument("--list", action="store_true", help="print the names of all cases, and run none")
    given = parser.parse_args()
    if given.list:
        print("\n".join(CASES))
        return
    if unknown := set(given.cases) - set(CASES):
        parser.error(f"expected cases of {', '.join(CASES)}, found {', '.join(sorted(unknown))}")
    for name in given.cases or CASES:
        started = time.perf_counter()
        run = run_case(name, given.device)
        seconds = time.perf_counter() - started
        print(f"{name}: {seconds:.1f} s; {run.stolen} stolen; {', '.join(sorted(run.units))}", flush=True)


if __name__ == "__main__":
    main()
