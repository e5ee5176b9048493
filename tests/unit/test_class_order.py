"""Rows of a labelled graph that a file also has sorted by class, and monitors that leave them there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import motiflux as mf
from motiflux.io.binary.sections import write_sections
from motiflux.stream.matching import core, native
from tests.unit.cli_run import motiflux
from tests.unit.mfg_cases import full_graph, graphs, identical

VERTICES = 60
KINDS = {"vertices": (5, 1), "edges": (1, 4), "both": (4, 3), "many": (13, 9), "more than arcs": (60, 400)}
"""Labels of vertices and of edges."""


def labelled(kind: str, directed: bool, seed: int = 2) -> mf.Graph:
    random, (of_vertices, of_edges) = np.random.default_rng(seed), KINDS[kind]
    ends = (random.random((700, 2)) ** 2 * VERTICES).astype(np.int64)
    return mf.Graph.from_edges(
        ends,
        num_vertices=VERTICES,
        directed=directed,
        vertex_labels=None if of_vertices == 1 else random.integers(0, of_vertices, VERTICES),
        edge_labels=None if of_edges == 1 else random.integers(0, of_edges, 700),
        self_loops="drop",
    )


def ordered(graph: mf.Graph, path: Path) -> mf.Graph:
    mf.write_graph(graph, path, class_order=True)
    return mf.read_graph(path)


@pytest.fixture
def lends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have monitors of the CPU leave rows of small graphs in their file."""
    monkeypatch.setattr(native, "_LENT_ARCS", 1)

    def loaded(*args: Any, lends: str = "", **options: Any) -> Any:
        return native.loaded(*args, lends="on", **options)

    monkeypatch.setattr(core, "loaded", loaded)


def updates(graph: mf.Graph, kind: str, seed: int) -> list[Any]:
    """Return deletions of edges that are there, and insertions, some with labels that are new."""
    random, edges, of_edges = np.random.default_rng(seed), graph.to_edges(), KINDS[kind][1]
    gone = random.choice(len(edges.src), 150, replace=False)
    labels = edges.labels
    told: list[Any] = []
    for at in gone:
        told.append(
            ("-", int(edges.src[at]), int(edges.dst[at]), *([] if labels is None else [int(labels[at])]))
        )
        source, target = (int(end) for end in random.choice(VERTICES, 2, replace=False))
        told.append(
            ("+", source, target, *([] if labels is None else [int(random.integers(0, of_edges + 1))]))
        )
    return told


@pytest.mark.turns(8)
@pytest.mark.parametrize("mode", ["batch", "sequence"])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_monitor_of_rows_in_the_file_finds_the_same(
    kind: str, directed: bool, mode: str, tmp_path: Path, lends: None
) -> None:
    graph = labelled(kind, directed)
    again = ordered(graph, tmp_path / "g.mfg")
    content = (tmp_path / "g.mfg").read_bytes()
    options: dict[str, Any] = {"duplicates": "ignore", "mode": mode, "matches": True}
    patterns = ["(a)--(b)--(c)--(a)", "(a)--(b)--(c)"]
    if KINDS[kind][0] > 1:
        patterns.append("(a:1)--(b)--(c:2)")
    with mf.Monitor(graph, patterns, **options) as here, mf.Monitor(again, patterns, **options) as there:
        assert (here._native.has_lent_rows, there._native.has_lent_rows) == (False, True)
        for seed in range(3):
            told = updates(graph, kind, seed)
            for ours, theirs in zip(here.apply(told), there.apply(told), strict=True):
                assert sorted(ours.matches.tolist()) == sorted(theirs.matches.tolist())
                assert (ours.positive, ours.negative) == (theirs.positive, theirs.negative)
        assert identical(here.snapshot(), there.snapshot())
        there._native.take_over_lent_rows(2)
        assert not there._native.has_lent_rows
        assert identical(here.snapshot(), there.snapshot())
    assert (tmp_path / "g.mfg").read_bytes() == content


@pytest.mark.parametrize("directed", [False, True])
def test_a_monitor_holds_only_what_was_changed(directed: bool, tmp_path: Path, lends: None) -> None:
    random = np.random.default_rng(1)
    graph = mf.Graph.from_edges(
        np.unique(np.sort(random.integers(0, 1000, (200_000, 2)), axis=1), axis=0),
        num_vertices=1000,
        directed=directed,
        vertex_labels=random.integers(0, 8, 1000),
        self_loops="drop",
    )
    again = ordered(graph, tmp_path / "g.mfg")
    with mf.Monitor(graph, "(a)--(b)") as here, mf.Monitor(again, "(a)--(b)") as there:
        assert there._native.nbytes < 0.2 * here._native.nbytes


class TestTheFile:
    @given(graphs())
    def test_it_is_the_same_graph(self, tmp_path_factory: pytest.TempPathFactory, graph: mf.Graph) -> None:
        path = tmp_path_factory.getbasetemp() / "drawn.mfg"
        again = ordered(graph, path)
        has_labels = graph.vertex_labels is not None or graph.forward.labels is not None
        assert identical(graph, again)
        assert (again.forward.class_order is not None) == has_labels
        mf.verify_graph(path)
        first = path.read_bytes()
        mf.write_graph(again, path, class_order=True)
        assert path.read_bytes() == first

    @pytest.mark.parametrize("directed", [False, True])
    def test_it_is_written_only_if_it_is_asked_for(self, directed: bool, tmp_path: Path) -> None:
        graph, path = full_graph(directed), tmp_path / "g.mfg"
        plain = mf.write_graph(graph, path)
        assert mf.read_graph(path).forward.class_order is None
        more = mf.write_graph(graph, path, class_order=True)
        assert more > plain + 4 * graph.forward.num_arcs

    def test_rows_of_both_ways_share_no_page_with_each_other_or_with_other_rows(self, tmp_path: Path) -> None:
        random = np.random.default_rng(4)
        graph = mf.Graph.from_edges(
            random.integers(0, 1100, (5000, 2)),
            num_vertices=1100,
            directed=True,
            vertex_labels=random.integers(0, 3, 1100),
            self_loops="drop",
        )
        again = ordered(graph, tmp_path / "g.mfg")
        order = again.forward.class_order
        assert order is not None
        assert order.reverse is not None
        rows = (order.forward, order.reverse, again.forward.neighbors, again.reverse.neighbors)
        pages = [
            set(range(one.ctypes.data // 4096, (one.ctypes.data + one.nbytes - 1) // 4096 + 1))
            for one in rows
        ]
        assert sum(map(len, pages)) == len(set().union(*pages))

    def test_the_command_writes_it(self, tmp_path: Path) -> None:
        plain, path = tmp_path / "plain.mfg", tmp_path / "ordered.mfg"
        mf.write_graph(full_graph(), plain)
        assert motiflux("convert", str(plain), str(path), "--class-order").exit_code == 0
        assert mf.read_graph(path).forward.class_order is not None
        refused = motiflux("convert", str(plain), str(tmp_path / "g.csv"), "--class-order")
        assert refused.exit_code == 2
        assert "found suffix '.csv', expected .mfg for class_order" in refused.stderr
        with pytest.raises(mf.OutputError, match=r"expected \.mfg for class_order"):
            mf.write_graph(full_graph(), tmp_path / "g.npz", class_order=True)


class TestDamage:
    @pytest.fixture(params=[False, True], ids=["undirected", "directed"])
    def write(
        self, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> Callable[..., Path]:
        """Write a file with one section replaced."""
        graph = labelled("both", request.param)
        return partial(written_with, graph, tmp_path / "g.mfg", monkeypatch)

    @pytest.mark.parametrize(
        ("name", "change", "message"),
        [
            ("forward", lambda rows: changed(rows, 0, lambda word: word + 1), "found another row 0"),
            ("forward", lambda rows: changed(rows, 0, lambda _: 2**32 - 1), "found another row 0"),
            ("forward", lambda rows: changed(rows, -1, lambda word: word ^ 1), "found another row"),
            ("forward", lambda rows: rows[:-1], r"found \d+ words, expected \d+"),
            ("forward", lambda rows: np.append(rows, rows[:1]), r"found \d+ words, expected \d+"),
            ("forward", lambda rows: rows[:0], "found 0 words, expected"),
            (
                "classes",
                lambda pairs: pairs[[0, 0, *range(2, len(pairs))]],
                "found the labels of pair 1 twice",
            ),
        ],
    )
    def test_a_monitor_and_verify_refuse_rows_that_are_others(
        self,
        name: str,
        change: Callable[[Any], Any],
        message: str,
        write: Callable[..., Path],
        lends: None,
    ) -> None:
        path = write(name, change)
        graph = mf.read_graph(path)
        text = rf"g\.mfg: section class_order\.{name}: {message}"
        with pytest.raises(mf.FormatError, match=text):
            mf.Monitor(graph, "(a)--(b)")
        with pytest.raises(mf.FormatError, match=text):
            mf.verify_graph(path)
        sound = labelled("both", graph.directed)
        assert mf.count(graph, "(a)--(b)--(c)") == mf.count(sound, "(a)--(b)--(c)")

    def test_damage_to_the_reverse_rows_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def wrong(rows: Any) -> Any:
            return changed(rows, -1, lambda word: word ^ 1)

        path = written_with(labelled("both", True), tmp_path / "g.mfg", monkeypatch, "reverse", wrong)
        with pytest.raises(mf.FormatError, match=r"class_order\.reverse: found another row"):
            mf.verify_graph(path)

    def test_classes_in_another_order_do_not_fit_the_rows(self, write: Callable[..., Path]) -> None:
        path = write("classes", lambda pairs: pairs[::-1])
        with pytest.raises(mf.FormatError, match=r"class_order\.forward: found another row"):
            mf.verify_graph(path)

    def test_classes_that_lack_are_numbered_as_they_occur(
        self, write: Callable[..., Path], lends: None
    ) -> None:
        path = write("classes", lambda pairs: pairs[:0])
        mf.verify_graph(path)
        with mf.Monitor(mf.read_graph(path), "(a)--(b)") as monitor:
            assert monitor._native.has_lent_rows

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda classes: classes + 1000, r"classes: found the code \d+, expected one below"),
            (lambda classes: classes.ravel(), "classes"),
            (lambda classes: np.hstack([classes, classes]), "classes: found 4 columns, expected 2"),
            (lambda classes: classes.astype(np.int64), "classes"),
        ],
    )
    def test_classes_are_checked_when_a_file_is_opened(
        self, change: Callable[[Any], Any], message: str, write: Callable[..., Path]
    ) -> None:
        with pytest.raises(mf.FormatError, match=f"class_order.{message}"):
            mf.read_graph(write("classes", change))

    def test_a_section_that_lacks_is_named(self, write: Callable[..., Path]) -> None:
        with pytest.raises(mf.FormatError, match=r"class_order\.forward"):
            mf.read_graph(write("forward", lambda rows: None))


def changed(rows: Any, at: int, change: Callable[[int], int]) -> Any:
    again = rows.copy()
    again[at] = change(int(again[at]))
    return again


def written_with(
    graph: mf.Graph, path: Path, monkeypatch: pytest.MonkeyPatch, name: str, change: Callable[[Any], Any]
) -> Path:
    def replaced(path: Path, facts: Any, arrays: dict[str, Any]) -> int:
        section = f"class_order.{name}"
        found = change(arrays[section])
        others = {key: array for key, array in arrays.items() if key != section}
        return write_sections(
            path, facts, others if found is None else {**others, section: np.ascontiguousarray(found)}
        )

    with monkeypatch.context() as patched:
        patched.setattr("motiflux.io.binary.mfg.write_sections", replaced)
        mf.write_graph(graph, path, class_order=True)
    return path
