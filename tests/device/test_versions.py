"""Rows of several versions: updates read what their moments hold, while others are written and collected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from motiflux.codegen.streaming import (
    FARTHEST_END,
    MOST_IN_FLIGHT,
    SLAB_BYTES,
    Effect,
)
from tests.device.scheduled import scheduled
from tests.device.versions import UNDIRECTED, Change, Edge, Graph, Model, Places, Run
from tests.simt.emulated import EmulatedDevice

if TYPE_CHECKING:
    from motiflux.device.base import Device

pytestmark = pytest.mark.devices("emulated", "cuda", reason="it has no kernels")

GraphOf = Callable[..., AbstractContextManager[Graph]]
INCOMING = 100
"""The first row of incoming edges."""
DIRECTED: Places = (((0, False), (INCOMING, True)),)
LABELLED: Places = (((0, False), (0, True)), (), ((0, False), (0, True), (INCOMING, True), (INCOMING, False)))
"""Edges of class 1 are written nowhere, those of class 2 to two rows of each end."""


@pytest.fixture
def graph_of(gpu: Device, image_of: Callable[[Path], bytes]) -> GraphOf:
    image = image_of(Path(__file__).with_name("versions.cu"))

    @contextmanager
    def opened(rows: int, *, seed: int = 1, policy: str = "random", **options: Any) -> Iterator[Graph]:
        with scheduled(gpu, seed, policy) as device:
            stream = device.stream()
            try:
                yield Graph(device, stream, device.load(image, "versions").kernel, rows, **options)
            finally:
                stream.close()

    return opened


def random_edges(random: np.random.Generator, vertices: int) -> list[Edge]:
    return [(u, v) for u in range(vertices) for v in range(u + 1, vertices) if random.random() < 0.3]


def random_changes(random: np.random.Generator, vertices: int, count: int) -> list[Change]:
    """Return updates, of which many change the same edges again."""
    inserts = random.choice([0.3, 0.5, 0.8])
    ends = np.sort(np.array([random.choice(vertices, 2, replace=False) for _ in range(max(3, count // 4))]))
    chosen = ends[random.integers(len(ends), size=count)].tolist()
    return [((u, v), bool(random.random() < inserts)) for u, v in chosen]


def check_run(
    model: Model, classes: list[int], changes: list[Change], asked: NDArray[np.uint32], run: Run
) -> None:
    """Compare what updates found and did, and what memory came back."""
    model.apply(changes, classes)
    for moment, rows in enumerate(run.rows):
        for row, (ids, _) in zip(asked[moment].tolist(), rows, strict=True):
            assert ids == model.history[moment][row], f"row {row}, update {moment}"
    assert run.effects == model.effects[-len(run.effects) :]
    progress = run.progress
    assert (progress.exhausted, progress.violated) == (0, 0)
    assert progress.finished == progress.collected == progress.published
    assert progress.unlinked == 0
    # Only newest versions are left.
    assert run.slabs == 0
    assert run.counts.asked == run.kept


def check_random(graph_of: GraphOf, seed: int, policy: str = "random", **options: Any) -> Run:
    random = np.random.default_rng(seed)
    vertices, count = int(random.integers(3, 12)), int(random.integers(10, 120))
    places = (UNDIRECTED, DIRECTED, LABELLED)[seed % 3]
    rows = vertices if places is UNDIRECTED else INCOMING + vertices
    changes = random_changes(random, vertices, count)
    classes = [sum(edge) % len(places) for edge, _ in changes]
    asked = random.integers(0, vertices, (count, 3)).astype(np.uint32)
    asked[:, 0] = [edge[0] for edge, _ in changes]
    if places is not UNDIRECTED:
        asked[:, 1] += INCOMING
    model = Model(rows, places)
    edges = random_edges(random, vertices)
    model.load(edges, [sum(edge) % len(places) for edge in edges])
    drawn = {
        "slot_count": int(random.choice([16, 64])),
        "farthest_end": int(random.choice([3, FARTHEST_END])),
        "strip": int(random.choice([0, 1, 2, 5])),
    }
    with graph_of(rows, seed=seed + 1, policy=policy, places=places, **drawn, **options) as graph:
        assert graph.load(model.now)
        batch, threads = int(random.choice([1, 4, 16])), int(random.choice([32, 64]))
        run = graph.run(changes, classes, asked, batch_size=batch, threads=threads, seed=seed)
    check_run(model, classes, changes, asked, run)
    return run


@pytest.mark.turns(4)
@pytest.mark.parametrize("policy", ["random", "lowest", "highest"])
def test_each_update_reads_the_rows_of_its_moment(graph_of: GraphOf, policy: str) -> None:
    for seed in range(200 if policy == "random" else 10):
        check_random(graph_of, seed, policy)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(10))
def test_each_update_reads_the_rows_of_its_moment_under_many_schedules(graph_of: GraphOf, part: int) -> None:
    for seed in range(1000 * (part + 1), 1000 * (part + 2)):
        check_random(graph_of, seed)


def asked_of(changes: list[Change], *rows: int) -> NDArray[np.uint32]:
    """Have each update ask for the same rows."""
    return np.array([rows] * len(changes), np.uint32)


def check_star(graph_of: GraphOf, changes: list[Change], neighbors: set[int], **options: Any) -> Run:
    """Have each update read row 0, and what it changes at first."""
    rows = 1 + max(max(edge) for edge, _ in changes)
    rows = max(rows, 1 + max(neighbors, default=0))
    how = {
        name: options.pop(name)
        for name in ("batch_size", "lag", "start", "threads", "seed")
        if name in options
    }
    model = Model(rows, UNDIRECTED)
    model.load([(0, other) for other in sorted(neighbors)], [0] * len(neighbors))
    asked = asked_of(changes, 0, 1)
    with graph_of(rows, seed=how.get("seed", 1), **options) as graph:
        assert graph.load(model.now)
        run = graph.run(changes, [0] * len(changes), asked, **how)
    check_run(model, [0] * len(changes), changes, asked, run)
    return run


def test_a_row_is_clean_unless_an_entry_does_not_live(graph_of: GraphOf) -> None:
    steps: list[tuple[Change, bool]] = [
        (((0, 1), True), True),  # an insertion, as its own update sees it
        (((0, 2), True), True),
        (((0, 9), False), True),  # no-op
        (((0, 1), False), True),  # a deletion is not seen by its own update
        (((0, 3), False), False),
        (((0, 1), False), False),  # no-op
        (((0, 1), True), True),  # inserted again: what has ended is left out
        (((0, 5), False), True),
        (((0, 3), False), False),
    ]
    run = check_star(graph_of, [change for change, _ in steps], {3, 5}, batch_size=1, lag=3)
    assert [row[0][1] for row in run.rows] == [clean for _, clean in steps]


def test_in_one_batch_a_row_is_clean_once_all_that_it_brings_is_there(graph_of: GraphOf) -> None:
    # One version, which begins with the first insertion.
    changes: list[Change] = [
        ((0, 5), False), ((0, 1), True), ((0, 1), False), ((0, 2), True), ((0, 1), True), ((0, 4), False),
        ((0, 6), False),
    ]  # fmt: skip
    for seed in range(20):  # batches have random sizes, up to all updates
        run = check_star(graph_of, changes, {3, 5, 6}, batch_size=64, seed=seed)
        if run.progress.freed_versions == 1:
            break
    assert run.progress.freed_versions == 1
    assert [row[0][1] for row in run.rows] == [True] + 6 * [False]
    assert run.effects == [
        Effect.VANISHES, Effect.APPEARS, Effect.VANISHES, Effect.APPEARS, Effect.APPEARS, Effect.NONE,
        Effect.VANISHES,
    ]  # fmt: skip


@pytest.mark.parametrize("start", [2**32 - 40, 2**32 - 1, 2**33 + 5, 2**40, MOST_IN_FLIGHT, 2**63])
def test_moments_have_64_bits(graph_of: GraphOf, start: int) -> None:
    random = np.random.default_rng(start % 1000)
    changes = [((0, int(other)), bool(random.random() < 0.6)) for other in random.integers(1, 9, 90)]
    run = check_star(graph_of, changes, {1, 2, 3}, start=start, lag=5)
    assert run.progress.published == start + 90


def test_versions_that_are_far_apart_are_told_apart(graph_of: GraphOf) -> None:
    # The first version is as old as makes the low bits of its moment look as if it came later.
    for start in (2**32 - 60, 2**32 - MOST_IN_FLIGHT // 2, 2**34 - 7):
        check_star(
            graph_of, [((1, 2), True)] * 30 + [((0, 2), True), ((0, 1), False)] * 5, {1, 3}, start=start
        )


@pytest.mark.turns(4)
def test_many_versions_of_a_row_are_in_several_slabs(graph_of: GraphOf) -> None:
    for seed in range(6):
        changes = [((0, 1 + (7 * number) % 40), number % 3 != 2) for number in range(240)]
        run = check_star(
            graph_of, changes, {50, 60}, batch_size=1, lag=120, slot_count=128, units=20_000, threads=64,
            seed=seed,
        )  # fmt: skip
        assert run.progress.freed_slabs >= 4
        assert run.counts.high_water > 4 * SLAB_BYTES // 64


def test_rows_longer_than_a_team_are_copied(graph_of: GraphOf) -> None:
    neighbors = set(range(1, 700, 2))
    random = np.random.default_rng(5)
    changes = [((0, int(other)), bool(random.random() < 0.6)) for other in random.integers(1, 710, 60)]
    for threads in (32, 128):
        check_star(graph_of, changes, neighbors, batch_size=16, threads=threads, units=60_000, lag=4)


def check_hubs(graph_of: GraphOf, seed: int, policy: str = "random") -> Run:
    """Change rows of hubs, of random lengths, whose strips are as long."""
    random = np.random.default_rng(seed)
    hubs, others = int(random.integers(1, 4)), int(random.choice([20, 80, 300]))
    neighbors = [
        (hub, hubs + int(other))
        for hub in range(hubs)
        for other in np.flatnonzero(random.random(others) < random.choice([0.1, 0.6, 0.95]))
    ]
    inserts, count = random.choice([0.4, 0.7, 1.0]), int(random.integers(10, 50))
    narrow = max(2, others // int(random.choice([1, 10])))  # changes meet in one strip, or not
    changes: list[Change] = [
        ((int(hub), hubs + int(other)), bool(random.random() < inserts))
        for hub, other in zip(random.integers(0, hubs, count), random.integers(0, narrow, count), strict=True)
    ]
    rows = hubs + others
    model = Model(rows, UNDIRECTED)
    model.load(neighbors, [0] * len(neighbors))
    asked = asked_of(changes, *range(hubs))
    drawn = {
        "strip": int(random.choice([1, 3, 16, 40, 70])),
        "farthest_end": int(random.choice([3, FARTHEST_END])),
        "slot_count": 32,
    }
    with graph_of(rows, seed=seed, policy=policy, units=40_000, **drawn) as graph:
        assert graph.load(model.now)
        batch, threads = int(random.choice([1, 8, 32])), int(random.choice([32, 96]))
        run = graph.run(changes, [0] * count, asked, batch_size=batch, threads=threads, seed=seed)
    check_run(model, [0] * count, changes, asked, run)
    return run


@pytest.mark.turns(8)
@pytest.mark.parametrize("policy", ["random", "lowest", "highest"])
def test_rows_of_hubs_are_copied_in_strips(graph_of: GraphOf, policy: str) -> None:
    runs = [check_hubs(graph_of, seed, policy) for seed in range(30 if policy == "random" else 6)]
    assert all(run.helped <= run.copied for run in runs)
    assert sum(run.copied for run in runs) > 40 * len(runs)
    assert policy != "random" or sum(run.helped for run in runs) > 100


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(10))
def test_rows_of_hubs_are_copied_in_strips_under_many_schedules(graph_of: GraphOf, part: int) -> None:
    for seed in range(300 * (part + 1), 300 * (part + 2)):
        check_hubs(graph_of, seed)


def test_updates_that_make_more_changes_than_a_batch_holds_are_several_batches(graph_of: GraphOf) -> None:
    vertices, blocks = 6, 40
    places: Places = (tuple((vertices * number, number % 2 == 1) for number in range(blocks)),)
    random = np.random.default_rng(7)
    changes = random_changes(random, vertices, 50)
    asked = random.integers(0, vertices * blocks, (50, 4)).astype(np.uint32)
    model = Model(vertices * blocks, places)
    with graph_of(vertices * blocks, places=places, units=60_000, slot_count=32) as graph:
        assert graph.load(model.now)
        run = graph.run(changes, [0] * 50, asked, batch_size=64)
    check_run(model, [0] * 50, changes, asked, run)


@pytest.mark.turns(4)
@pytest.mark.parametrize("policy", ["random", "lowest", "highest"])
def test_memory_that_is_short_makes_the_updater_wait(graph_of: GraphOf, gpu: Device, policy: str) -> None:
    # In a fixed order all lanes of a warp do the same at a time, as on a GPU: while one cuts the only block
    # that is large enough, the others find none.
    merges = refusals = 0
    for seed in range(20):
        run = check_random(graph_of, 3 * seed, policy, units=58 + 2 * seed)
        merges += run.counts.merges
        refusals += run.counts.refusals
    assert refusals >= merges  # memory is merged once there was none for a row
    if isinstance(gpu, EmulatedDevice):  # on a GPU the collector may be fast enough
        assert merges > 0
        assert refusals > merges


def test_a_batch_whose_rows_do_not_fit_at_once_is_written_in_parts(graph_of: GraphOf) -> None:
    # Nothing is collected during a batch: whatever the schedule, memory suffices for at most 20 new versions,
    # of two units each.
    pairs, spare = 32, 40
    rows = 2 * pairs
    loaded = [(number, (number + 1) % rows) for number in range(rows)]
    changes: list[Change] = [((number, pairs + number), True) for number in range(pairs)]
    for seed in (0, 1, 4, 7):  # their first batches have 23 updates and more, of two rows each
        model = Model(rows, UNDIRECTED)
        model.load(loaded, [0] * rows)
        asked = asked_of(changes, 0, pairs)
        with graph_of(rows, seed=seed, units=1 + 2 * rows + spare) as graph:
            assert graph.load(model.now)
            run = graph.run(changes, [0] * pairs, asked, batch_size=pairs, seed=seed)
        check_run(model, [0] * pairs, changes, asked, run)
        assert run.progress.freed_versions == rows
        assert run.counts.high_water <= 2 * rows + spare
        assert 0 < run.counts.merges < run.counts.refusals


def test_memory_that_does_not_suffice_for_one_update_ends_the_stream_as_it_was(graph_of: GraphOf) -> None:
    changes: list[Change] = [((0, number), True) for number in range(1, 40)]
    model = Model(40, UNDIRECTED)
    model.load([(0, 1)], [0])
    model.apply(changes, [0] * len(changes))
    with graph_of(40, units=48) as graph:
        assert graph.load([frozenset({1}), frozenset({0}), *[frozenset[int]()] * 38])
        run = graph.run(changes, [0] * len(changes), asked_of(changes, 0), batch_size=16)
    done = run.progress.published
    assert run.progress.exhausted == 1
    assert 5 < done < 39
    assert run.progress.finished <= done
    for rows, expected in zip(run.rows[: run.progress.finished], model.history, strict=False):
        assert rows[0][0] == expected[0]


def test_rows_that_find_no_memory_are_not_loaded(graph_of: GraphOf) -> None:
    with graph_of(30, units=20) as graph:
        assert not graph.load([frozenset(range(20))] * 30)
