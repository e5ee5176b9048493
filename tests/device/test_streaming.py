"""A resident kernel answers updates one by one, as the CPU's monitor does."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pytest

import motiflux as mf
from motiflux.codegen.streaming import STAMPS, stream_source
from motiflux.gpu.runtime.accelerator import Accelerator
from motiflux.gpu.streaming import ResidentStream, StreamSettings
from motiflux.gpu.streaming.memory import StreamMemory
from motiflux.jit import Compiler, Source
from tests.device.scheduled import scheduled
from tests.device.streaming import StreamedRuns

if TYPE_CHECKING:
    from motiflux.device.base import Device

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it has no kernels")

PATTERNS = {
    "triangle": [(0, 1), (1, 2), (0, 2)],
    "4-cycle": [(0, 1), (1, 2), (2, 3), (0, 3)],
    "diamond": [(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)],
    "star": [(0, 1), (0, 2), (0, 3)],
    "edge": [(0, 1)],
    "clique": [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)],
    "path": [(0, 1), (1, 2), (2, 3), (3, 4)],
}
SMALL: Any = {
    "input_packets": 4,
    "output_packets": 4,
    "spare_vertices": 4,
    "updater_warps": 4,
    "stall_seconds": 30.0,
    "checks": True,
}


def accelerator_of(device: Device) -> Accelerator:
    """Return an accelerator on a device with a scheduler of its own."""
    from tests.simt.register import _compiler  # the tests' cache of kernels

    return Accelerator(device, _compiler(0), compiles_eagerly=False)


def changes_of(
    random: np.random.Generator, vertices: int, count: int, directed: bool
) -> tuple[list[tuple[int, int]], list[tuple[Any, ...]]]:
    """Return edges of a graph, and updates of it."""
    pairs = [(u, v) for u in range(vertices) for v in range(vertices) if u != v and (directed or u < v)]
    edges = [pair for pair in pairs if random.random() < (0.25 if directed else 0.4)]
    chosen = random.integers(0, len(pairs), count)
    inserts = random.random(count) < 0.55
    return edges, [("+" if new else "-", *pairs[at]) for at, new in zip(chosen, inserts, strict=True)]


def check(
    gpu: Device,
    seed: int,
    *,
    patterns: Sequence[str] = ("triangle",),
    policy: str = "random",
    matches: bool = False,
    directed: bool = False,
    vertices: int = 9,
    count: int = 24,
    parts: int = 2,
    semantics: Any = "isomorphism",
    settings: Any = None,
    between: Any = None,
) -> StreamedRuns:
    """Compare a monitor on a resident kernel with the CPU's, per update."""
    random = np.random.default_rng(seed)
    edges, changes = changes_of(random, vertices, count, directed)
    graph = mf.Graph.from_edges(edges, num_vertices=vertices, directed=directed)
    watched = [mf.Pattern.from_edges(PATTERNS[name], directed=directed) for name in patterns]
    return compare_monitors(
        gpu, seed, graph, watched, changes, parts=parts, policy=policy, settings=settings, matches=matches,
        semantics=semantics, between=between,
    )  # fmt: skip


def compare_monitors(
    gpu: Device,
    seed: int,
    graph: mf.Graph,
    watched: Sequence[mf.Pattern],
    changes: Sequence[tuple[Any, ...]],
    *,
    parts: int,
    matches: bool,
    policy: str = "random",
    semantics: Any = "isomorphism",
    settings: Any = None,
    between: Any = None,
) -> StreamedRuns:
    """Apply updates to a monitor on a resident kernel and to one of the CPU."""
    options: Any = {"mode": "sequence", "matches": matches, "semantics": semantics}
    slots = 8 if seed % 2 else 64
    given = StreamSettings(**{**SMALL, "slot_count": slots, "versions": 64 * 4000, **(settings or {})})
    with scheduled(gpu, seed + 1, policy) as device:
        runs = StreamedRuns(given, accelerator_of(device) if device is not gpu else None, between)
        with (
            runs.answering(),
            mf.Monitor(graph, watched, device=gpu.name, engine="changing", **options) as monitor,
            mf.Monitor(graph, watched, device="cpu", **options) as expected,
        ):
            size = -(-len(changes) // parts)
            for first in range(0, len(changes), size):
                some = changes[first : first + size]
                found, wanted = monitor.apply(some), expected.apply(some)
                for pattern in watched:
                    compare(found[pattern], wanted[pattern], matches)
    assert runs.answered > 0 or len(changes) < 20
    return runs


def compare(found: Any, wanted: Any, matches: bool) -> None:
    """Compare what each update gave for a pattern."""
    for name in ("updates", "matches", "signs"):
        assert getattr(found, name).tolist() == getattr(wanted, name).tolist()
    assert (found.positive, found.negative) == (wanted.positive, wanted.negative)
    if matches:
        assert rows_of(found) == rows_of(wanted)


def rows_of(found: Any) -> list[Any]:
    """Return update, sign and vertices of all matches."""
    return sorted(
        (int(update), bool(positive), *map(int, ids))
        for names, piece in found.batches()
        for update, positive, ids in zip(piece.updates, piece.positive, names, strict=True)
    )


def check_labelled(gpu: Device, seed: int, *, directed: bool, matches: bool) -> StreamedRuns:
    """Compare on a graph whose vertices and edges have labels, all of which the patterns name."""
    random = np.random.default_rng(seed)
    arrow = "->" if directed else "-"
    texts = [
        f"(a:0)-[:1]{arrow}(b:1)-[:0]{arrow}(c:0)-[:1]{arrow}(a)",
        f"(a)-[:0]{arrow}(b:1)-[:1]{arrow}(c)-[:0]{arrow}(d:0)",
        f"(a:1)-[:0]{arrow}(b:0)",
        f"(a:0)-[:1]{arrow}(b:0), (a)-[:1]{arrow}(c:1), (a)-[:1]{arrow}(d)",
    ]
    vertices, count = 8, 60
    pairs = [(u, v) for u in range(vertices) for v in range(vertices) if u != v and (directed or u < v)]
    edges = [(*pair, label) for pair in pairs for label in (0, 1) if random.random() < 0.3]
    ends = np.array([edge[:2] for edge in edges])
    graph = mf.Graph.from_edges(
        (ends[:, 0], ends[:, 1]),
        num_vertices=vertices,
        vertex_labels=np.arange(vertices) % 2,
        edge_labels=np.array([edge[2] for edge in edges]),
        directed=directed,
    )
    chosen = random.integers(0, len(pairs), count)
    drawn = zip(random.random(count) < 0.55, chosen, random.integers(0, 2, count).tolist(), strict=True)
    changes = [("+" if new else "-", *pairs[at], label) for new, at, label in drawn]
    watched = [mf.Pattern.parse(text) for text in texts]
    return compare_monitors(gpu, seed, graph, watched, changes, parts=3, matches=matches)


def check_random(gpu: Device, seed: int, policy: str = "random") -> StreamedRuns:
    """Draw patterns, a graph and updates, and how they are answered."""
    random = np.random.default_rng(seed + 10_000)
    names = list(PATTERNS)
    several = sorted(random.choice(len(names), random.integers(1, 4), replace=False).tolist())
    return check(
        gpu,
        seed,
        policy=policy,
        patterns=[names[number] for number in several],
        matches=bool(random.random() < 0.4),
        directed=bool(random.random() < 0.3),
        vertices=int(random.integers(5, 11)),
        count=int(random.integers(4, 50)),
        parts=int(random.integers(1, 4)),
        semantics=str(random.choice(["isomorphism", "homomorphism"])),
        settings={
            "updater_warps": int(
                random.choice([1, 2, 3, 4, 5, 8, 16], p=[0.2, 0.2, 0.1, 0.3, 0.05, 0.1, 0.05])
            ),
            "preset": str(random.choice(["flush", "paper"])),
            "order": str(random.choice(["arrival", "completion"])),
            "without": frozenset(["lines"] if random.random() < 0.3 else []),
        },
    )


def test_one_pattern_is_counted(gpu: Device) -> None:
    for seed in range(3):
        check(gpu, seed)


@pytest.mark.turns(8)
@pytest.mark.parametrize("policy", ["random", "lowest", "highest"])
def test_updates_are_answered_one_by_one(gpu: Device, policy: str) -> None:
    for seed in range(200 if policy == "random" else 20):
        check_random(gpu, seed, policy)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(20))
def test_updates_are_answered_under_many_schedules(gpu: Device, part: int) -> None:
    for seed in range(500 * part + 1000, 500 * part + 1500):
        check_random(gpu, seed)


@pytest.mark.turns(8, "emulated")
def test_answers_are_the_same_without_shortcuts(gpu: Device) -> None:
    names = ("few", "few lines", "strips", "ended lines", "fetched", "strips pairs", "early", "early few")
    for seed, without in enumerate(names):
        settings = {"without": frozenset(without.split()), "updater_warps": 8 if seed % 2 else 4}
        check(gpu, seed, patterns=["triangle", "edge"], count=60, settings=settings)


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize(("warps", "without"), [(1, []), (2, []), (4, ["early"]), (8, []), (16, [])])
def test_times_of_updates_go_on_from_stage_to_stage(gpu: Device, warps: int, without: list[str]) -> None:
    settings = {"measures": True, "updater_warps": warps, "without": frozenset(without)}
    is_early = False
    for seed in range(1, 4):
        runs = check(gpu, seed, parts=1, count=40, settings=settings)
        assert runs.answered > 10
        stamps = runs.stamps[runs.stamps[:, STAMPS.index("searched")] > 0]  # of updates that were searched
        assert len(stamps) == runs.answered
        # Its search begins before it is published, if that makes no difference.
        for order in (("seen", "begun", "published"), ("seen", "taken", "searched", "answered")):
            in_order = stamps[:, [STAMPS.index(name) for name in order]]
            assert (np.diff(in_order.astype(np.int64), axis=1) >= 0).all()
        assert (stamps > 0).all()
        is_early |= bool((stamps[:, STAMPS.index("taken")] < stamps[:, STAMPS.index("published")]).any())
    assert is_early == ("early" not in without) or warps <= 2  # one warp does all that comes before a search


@pytest.mark.turns(2, "emulated")
@pytest.mark.parametrize("order", ["arrival", "completion"])
def test_answers_are_taken_in_the_order_of_the_stream(gpu: Device, order: str) -> None:
    taken, take = [], ResidentStream.take

    def taking(stream: ResidentStream, *given: Any, **named: Any) -> Any:
        taken.append(take(stream, *given, **named))
        return taken[-1]

    with mock.patch.object(ResidentStream, "take", taking):
        for seed in range(4):
            check(gpu, seed, patterns=["clique"], count=40, parts=1, settings={"order": order})
    moments = [(int(moment), one.finished) for one in taken for moment in one.counts["moment"]]
    assert len(moments) > 20
    is_early = any(moment > finished for moment, finished in moments)
    assert is_early == (order == "completion") or (not gpu.name.startswith("emulated") and not is_early)


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("warps", [2, 16])
def test_many_rows_are_written_at_once(gpu: Device, warps: int) -> None:
    """Batches change many rows, each once but for some; rows of more than 64 entries are among them.

    Batches change 64 rows: two warps have one that writes eight rows at a time, 16 warps have 13 of them.
    """
    vertices, hub = 160, 0
    random = np.random.default_rng(warps)
    edges = [(hub, other) for other in range(1, 100)] + [(1, other) for other in range(2, 90)]
    edges += [(int(u), int(v)) for u, v in random.integers(2, vertices, (300, 2)) if u < v]
    there, changes = set(edges), []
    for turn in range(3):
        order = np.sort(random.permutation(vertices).reshape(-1, 2), axis=1).tolist()
        again = random.integers(0, len(order), 2 * turn)
        for u, v in [*order, *(order[at] for at in again), *((hub, int(at)) for at in again + 100)]:
            changes.append(("-" if (u, v) in there else "+", u, v))
            there ^= {(u, v)}
    runs = compare_monitors(
        gpu,
        warps,
        mf.Graph.from_edges(sorted(set(edges)), num_vertices=vertices),
        [mf.Pattern.from_edges(PATTERNS["triangle"])],
        changes,
        parts=1,
        matches=False,
        settings={
            "checks": False,
            "measures": True,
            "preset": "paper",
            "slot_count": 128,
            "updater_warps": warps,
            "versions": 64 * 20_000,
        },
    )
    assert runs.answered == len(changes)
    least = 16  # updates of a batch, each of which changes two rows
    assert runs.counters["batches"] * least < runs.answered


@pytest.mark.turns(8, "emulated")
@pytest.mark.parametrize("warps", [1, 4, 16])
@pytest.mark.parametrize("without", ["", "strips", "ended", "pairs"])
def test_long_rows_are_copied_in_strips(gpu: Device, warps: int, without: str) -> None:
    """Rows of hubs have hundreds of entries, of which some end; edges between hubs count what they share."""
    hubs, vertices = 5, 420
    random = np.random.default_rng(warps)
    between = [(u, v) for u in range(hubs) for v in range(u + 1, hubs)]
    leaves = [(hub, leaf) for hub in range(hubs) for leaf in range(hubs, vertices)]
    there = {edge for edge in leaves if random.random() < (0.05, 0.3, 0.6, 0.9, 1.0)[edge[0]]}
    edges, changes = sorted(there), []
    for turn in range(240):
        pairs = between if turn % 3 == 0 else leaves
        edge = pairs[int(random.integers(len(pairs)))]
        for again in range(2 if random.random() < 0.1 else 1):
            changes.append(("-" if edge in there else "+", *edge))
            there ^= {edge}
            edge = leaves[int(random.integers(len(leaves)))] if again == 0 else edge
    runs = compare_monitors(
        gpu,
        warps,
        mf.Graph.from_edges(edges, num_vertices=vertices),
        [mf.Pattern.from_edges(PATTERNS["triangle"])],
        changes,
        parts=2,
        matches=False,
        settings={
            "checks": False,
            "slot_count": 128,
            "updater_warps": warps,
            "versions": 64 * 40_000,
            "without": frozenset(without.split()),
        },
    )
    assert runs.answered == len(changes)


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("semantics", ["isomorphism", "homomorphism"])
def test_several_patterns_are_counted(gpu: Device, directed: bool, semantics: Any) -> None:
    for seed in range(3):
        check(gpu, seed, patterns=list(PATTERNS), directed=directed, semantics=semantics, count=40)


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("directed", [False, True])
def test_matches_of_several_patterns_are_listed(gpu: Device, directed: bool) -> None:
    for seed in range(3):
        check(gpu, seed, patterns=list(PATTERNS), matches=True, directed=directed, count=40)


@pytest.mark.parametrize("matches", [False, True])
def test_long_updates_are_shared(gpu: Device, matches: bool) -> None:
    given = 0
    for seed in range(8):
        runs = check(gpu, seed, patterns=["clique", "path"], matches=matches, vertices=12, count=8, parts=1)
        given += runs.counters["parts_given"]
    assert given > 10


@pytest.mark.turns(4, "emulated")
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("matches", [False, True])
def test_labels_say_which_plans_an_update_concerns(gpu: Device, directed: bool, matches: bool) -> None:
    for seed in range(4):
        check_labelled(gpu, seed, directed=directed, matches=matches)


@pytest.mark.parametrize("matches", [False, True])
def test_patterns_come_and_go_while_rows_stay(gpu: Device, matches: bool) -> None:
    for seed in range(4):
        random = np.random.default_rng(seed)
        edges, changes = changes_of(random, 8, 60, directed=True)
        graph = mf.Graph.from_edges(edges, num_vertices=8, directed=True)
        watched = {name: mf.Pattern.from_edges(edges, directed=True) for name, edges in PATTERNS.items()}
        options: Any = {"mode": "sequence", "matches": matches}
        runs = StreamedRuns(StreamSettings(**SMALL, slot_count=16, versions=64 * 4000), replaces=True)
        with (
            runs.answering(),
            mf.Monitor(
                graph, [watched["triangle"]], device=gpu.name, engine="changing", **options
            ) as monitor,
            mf.Monitor(graph, [watched["triangle"]], device="cpu", **options) as expected,
            mock.patch.object(ResidentStream, "load", autospec=True, side_effect=ResidentStream.load) as load,
        ):
            now = ["triangle"]
            for step, (added, dropped) in enumerate(
                [(None, None), ("clique", None), ("star", "triangle"), ("edge", "clique"), ("path", "star")]
            ):
                for one in (monitor, expected):
                    if added is not None:
                        one.add(watched[added])
                    if dropped is not None:
                        one.drop(watched[dropped])
                now = [name for name in (*now, added) if name not in (None, dropped)]
                some = changes[12 * step : 12 * step + 12]
                found, wanted = monitor.apply(some), expected.apply(some)
                for name in now:
                    assert name is not None
                    compare(found[watched[name]], wanted[watched[name]], matches)
        assert load.call_count == 1


def test_vertices_are_reserved_while_rows_stay(gpu: Device) -> None:
    runs = StreamedRuns(StreamSettings(**SMALL, slot_count=16, versions=64 * 4000))
    graph = mf.Graph.from_edges([(0, 1), (1, 2), (0, 3)], num_vertices=4)
    pattern = mf.Pattern.from_edges(PATTERNS["triangle"])
    options: Any = {"mode": "sequence", "matches": True}
    with (
        runs.answering(),
        mf.Monitor(graph, [pattern], device=gpu.name, engine="changing", **options) as monitor,
        mf.Monitor(graph, [pattern], device="cpu", **options) as expected,
    ):
        for turn in range(5):
            at = 4 + 4 * turn
            changes = [
                ("+", at, at + 1), ("+", 0, at), ("+", 0, at + 1), ("-", 0, 3), ("+", 1, at + 2),
                ("+", at + 2, 2), ("-", at, at + 1), ("+", 0, 3), ("+", at + 3, 0), ("+", at + 3, at),
            ]  # fmt: skip
            found, wanted = monitor.apply(changes), expected.apply(changes)
            compare(found[pattern], wanted[pattern], True)
            assert runs.stream is not None
            assert runs.stream.vertices >= at + 4


@pytest.mark.turns(8, "emulated")
def test_a_stream_may_be_parked_at_any_time(gpu: Device) -> None:
    random = np.random.default_rng(3)

    def park(stream: ResidentStream, _: int) -> None:
        if random.random() < 0.3:
            stream.park()
            stream.start()

    for seed in range(4):
        check(gpu, seed, patterns=["clique", "edge"], matches=seed % 2 == 0, count=40, between=park)


@pytest.mark.turns(2)
@pytest.mark.devices("emulated", reason="it compiles no kernel that is compiled already")
def test_a_quickly_compiled_kernel_answers_until_the_one_at_full_speed_is_there(gpu: Device) -> None:
    random = np.random.default_rng(5)
    edges, changes = changes_of(random, 9, 24, directed=False)
    graph, pattern = mf.Graph.from_edges(edges, num_vertices=9), mf.Pattern.from_edges(PATTERNS["triangle"])
    options: Any = {"mode": "sequence", "matches": False}
    compiled, submit = Future[Any](), Compiler.submit

    def submitting(compiler: Compiler, source: Source) -> Future[Any]:
        return compiled if source.name == "streaming-count-checks" else submit(compiler, source)

    with (
        scheduled(gpu, 3, "random") as device,
        mock.patch.object(Compiler, "known", return_value=False),
        mock.patch.object(Compiler, "submit", submitting),
        # More blocks of the faster kernel run at once.
        mock.patch.object(StreamMemory, "_most_blocks", side_effect=[2, 3]),
    ):
        accelerator = accelerator_of(device)
        accelerator.compiles_long_quickly = True
        runs = StreamedRuns(StreamSettings(**SMALL, slot_count=8, versions=64 * 4000), accelerator)
        with (
            runs.answering(),
            mf.Monitor(graph, pattern, device=gpu.name, engine="changing", **options) as monitor,
            mf.Monitor(graph, pattern, device="cpu", **options) as expected,
        ):
            blocks = []
            for part, is_best in ((changes[:12], False), (changes[12:], True)):
                compare(monitor.apply(part)[pattern], expected.apply(part)[pattern], matches=False)
                assert runs.stream is not None
                assert runs.stream.has_best_kernel == is_best
                blocks.append(runs.counters["blocks"])
                if not is_best:
                    source = stream_source(lists=False, checks=True)
                    compiled.set_result(accelerator.compiler.compile(source))
            assert blocks == [2, 3]
