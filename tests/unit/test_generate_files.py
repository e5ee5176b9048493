"""Generated graphs in files, and the command that draws them."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import motiflux as mf
from motiflux.generate import Flows, Generator, PowerLaw, Rmat, Transfers, UniformGraph
from motiflux.generate import write as write_module
from tests.unit.cli_run import motiflux, only_json

LOSSES = pytest.mark.filterwarnings("ignore:.*left out:motiflux.MotifluxWarning")

GENERATORS: list[Generator] = [
    Rmat(scale=8, edges=3000, seed=1),
    Rmat(scale=6, edges=3000, seed=1, duplicates="drop"),
    Rmat(scale=6, edges=3000, seed=1, max_degree=40),
    UniformGraph(vertices=200, probability=0.1, seed=2),
    PowerLaw(vertices=200, edges=3000, vertex_label_count=4, edge_label_count=3),
    Flows(flows=3000),
    Transfers(transfers=5000),
]
EVERY = pytest.mark.parametrize("generator", GENERATORS, ids=lambda one: type(one).__name__)


def rows_of(graph: mf.Graph) -> list[tuple[object, ...]]:
    edges = graph.to_edges()
    labels = [0] * len(edges.src) if edges.labels is None else edges.labels.tolist()
    ends = zip(edges.src.tolist(), edges.dst.tolist(), strict=True)
    pairs = [pair if graph.directed else tuple(sorted(pair)) for pair in ends]
    return sorted(zip(pairs, labels, edges.multiplicity.tolist(), strict=True))


@EVERY
@pytest.mark.parametrize("suffix", [".npz", ".mfg"])
def test_a_file_holds_the_graph(generator: Generator, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"graph{suffix}"
    assert generator.write(path) == len(generator.columns())
    found, expected = mf.read_graph(path), generator.graph()
    assert found.directed == expected.directed
    assert rows_of(found) == rows_of(expected)
    assert found.vertex_labels_by_id() == expected.vertex_labels_by_id()
    for name in generator.edge_attribute_names:
        columns = [np.sort(graph.edge_attributes[name].to_numpy()) for graph in (found, expected)]
        assert np.array_equal(*columns)


@LOSSES
@EVERY
def test_an_edge_list_holds_ids_and_codes(generator: Generator, tmp_path: Path) -> None:
    path = tmp_path / "graph.txt"
    columns = generator.columns()
    assert generator.write(path) == len(columns)
    lines = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
    expected = [
        columns.sources,
        columns.targets,
        *([] if columns.edge_labels is None else [columns.edge_labels]),
    ]
    assert np.array_equal(np.array(lines, dtype=np.int64), np.column_stack(expected))


def test_text_is_the_same_whatever_its_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = Transfers(transfers=5000)
    for name, rows in (("whole.csv", 1 << 16), ("slices.csv", 700)):
        monkeypatch.setattr(write_module, "_SLICE_ROWS", rows)
        assert generator.write(tmp_path / name) == len(generator.columns())
    assert (tmp_path / "slices.csv").read_text() == (tmp_path / "whole.csv").read_text()


@LOSSES
@EVERY
def test_a_table_names_its_columns(generator: Generator, tmp_path: Path) -> None:
    path = tmp_path / "graph.csv"
    generator.write(path)
    columns = generator.columns()
    header, *lines = (line.split(",") for line in path.read_text().splitlines())
    labelled = ["label"] if columns.edge_labels is not None else []
    assert header == ["src", "dst", *labelled, *columns.edge_attributes]
    table = dict(zip(header, zip(*lines, strict=True), strict=True))
    assert [int(value) for value in table["dst"]] == columns.targets.tolist()
    if columns.edge_labels is not None:
        assert table["label"] == tuple(str(columns.edge_label_names[code]) for code in columns.edge_labels)
    for name, values in columns.edge_attributes.items():
        assert [float(value) for value in table[name]] == values.tolist()


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name, threads in (("one.npz", 1), ("two.npz", 2)):
        Transfers(transfers=5000).write(tmp_path / name, threads=threads)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


@pytest.mark.turns(8)
def test_memory_does_not_grow_with_the_graph(tmp_path: Path) -> None:
    peaks = []
    for edges in (10_000_000, 20_000_000):
        tracemalloc.start()
        Rmat(scale=20, edges=edges).write(tmp_path / "graph.npz")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]
    assert peaks[1] < 20_000_000 * 6


def test_what_goes_wrong_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(write_module.TextTable, "format", fail)
    with pytest.raises(KeyboardInterrupt):
        Rmat(scale=8, edges=3000).write(tmp_path / "graph.txt")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["graph.xlsx", "graph", "missing/graph.npz"])
def test_an_output_that_cannot_be_is_refused_before_anything_is_drawn(name: str, tmp_path: Path) -> None:
    with pytest.raises(mf.OutputError):
        Rmat(scale=31, edges=10**12).write(tmp_path / name)


class TestCommand:
    def test_it_draws_what_the_library_does(self, tmp_path: Path) -> None:
        path = tmp_path / "graph.npz"
        result = motiflux("generate", "rmat", path, "--scale", "8", "--edges", "3000", "--seed", "1")
        assert result.exit_code == 0, result.output
        assert "256 vertices, 3,000 edges" in result.stdout
        assert rows_of(mf.read_graph(path)) == rows_of(mf.generate.rmat(8, 3000, seed=1))

    @pytest.mark.parametrize(
        "arguments",
        [
            ("rmat", "--scale", "6", "--edges", "50", "--noise", "0.1", "--undirected", "--no-permute"),
            ("erdos-renyi", "--vertices", "50", "--edges", "50"),
            ("erdos-renyi", "--vertices", "50", "--probability", "0.1", "--directed"),
            (
                "power-law",
                "--vertices",
                "50",
                "--edges",
                "50",
                "--vertex-labels",
                "3",
                "--duplicates",
                "drop",
            ),
            ("flows", "--flows", "50", "--hosts", "20"),
            ("transfers", "--transfers", "5000", "--rings", "2"),
        ],
    )
    def test_every_kind_can_be_drawn(self, arguments: tuple[str, ...], tmp_path: Path) -> None:
        path = tmp_path / "graph.npz"
        kind, *options = arguments
        found = only_json(motiflux("generate", kind, path, *options, "--json"))
        graph = mf.read_graph(path)
        assert (found["kind"], found["vertices"]) == (kind, graph.num_vertices)
        assert found["edges"] == graph.num_edge_copies
        assert found["directed"] == graph.directed
        assert found["bytes"] == path.stat().st_size

    def test_what_was_planted_is_written_beside(self, tmp_path: Path) -> None:
        truth = tmp_path / "truth.jsonl"
        result = motiflux(
            *("generate", "transfers", tmp_path / "graph.npz", "--transfers", "5000", "--rings", "3"),
            *("--truth", truth),
        )
        assert result.exit_code == 0, result.output
        planted = [json.loads(line) for line in truth.read_text().splitlines()]
        rings = [one for one in planted if one["kind"] == "ring"]
        expected = [one for one in Transfers(transfers=5000, rings=3).planted if one.kind == "ring"]
        assert [one["vertices"] for one in rings] == [one.vertices.tolist() for one in expected]
        graph = mf.read_graph(tmp_path / "graph.npz")
        assert mf.count(graph, mf.Pattern.parse(rings[0]["pattern"]), symmetry="subgraphs") == 3

    def test_ordered_rings_and_their_decoys_are_written_beside(self, tmp_path: Path) -> None:
        truth = tmp_path / "truth.jsonl"
        result = motiflux(
            *("generate", "transfers", tmp_path / "graph.csv", "--transfers", "5000", "--copies", "4"),
            *("--hubs", "3", "--hub-share", "0.5", "--ordered-rings", "2", "--ordered-decoys", "3"),
            *("--ordered-sizes", "4", "5", "--ordered-copies", "2", "--span", "86400", "--truth", truth),
        )
        assert result.exit_code == 0, result.output
        options = {"copies": 4, "hubs": 3, "hub_share": 0.5, "span": 86_400}
        rings = {"ordered_rings": 2, "ordered_decoys": 3, "ordered_sizes": (4, 5), "ordered_copies": 2}
        generator = Transfers(transfers=5000, **options, **rings)  # type: ignore[arg-type]
        expected = [one for one in (*generator.planted, *generator.decoys) if one.kind == "ordered_ring"]
        written = [json.loads(line) for line in truth.read_text().splitlines()]
        found = [one for one in written if one["kind"] == "ordered_ring"]
        assert [(one["vertices"], one["fails"], one["choices"]) for one in found] == [
            (one.vertices.tolist(), one.fails, one.choices) for one in expected
        ]
        assert [one["other_rows"] for one in found] == [one.other_rows.tolist() for one in expected]
        assert not any("fails" in one for one in written if one["kind"] != "ordered_ring")
        assert (tmp_path / "graph.csv").read_text().count("\n") == 5001

    def test_progress_is_shown_where_it_is_asked_for(self, tmp_path: Path) -> None:
        arguments = ("generate", "rmat", tmp_path / "graph.npz", "--scale", "8", "--edges", "3000")
        assert "drawing" not in motiflux(*arguments).stderr
        assert "generating graph.npz: 100%, 3,000 edges" in motiflux(*arguments, "--progress").stderr

    def test_what_cannot_be_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "graph.npz"
        result = motiflux("generate", "erdos-renyi", path, "--vertices", "4", "--edges", "7")
        assert result.exit_code == 2
        assert "edges: expected at most 6" in result.stderr
        assert motiflux("generate", "rmat", tmp_path / "x.pdf", "--scale", "4", "--edges", "1").exit_code == 2
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("generator", "name", "lost"),
    [
        (PowerLaw(vertices=20, edges=30, vertex_label_count=4), "graph.csv", "vertex labels"),
        (
            Transfers(transfers=5000),
            "graph.txt",
            "names of edge labels, which become numbers; edge attributes (amount, time)",
        ),
    ],
)
def test_what_a_file_has_no_place_for_is_said(
    generator: Generator, name: str, lost: str, tmp_path: Path
) -> None:
    with pytest.warns(mf.MotifluxWarning) as notes:
        generator.write(tmp_path / name)
    assert [str(note.message) for note in notes] == [
        f"{tmp_path / name}: left out, the file has no place for: {lost}"
    ]


def test_what_was_planted_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "graph.npz"
    done = motiflux("generate", "transfers", path, "--transfers", 5000, "--truth", path)
    assert (done.exit_code, path.exists(), "expected different files" in done.stderr) == (2, False, True)
