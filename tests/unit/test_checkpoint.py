"""Monitors that are saved, and go on from what was saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from motiflux.io.binary.sections import SectionFile, write_sections

OPTIONS: dict[str, dict[str, Any]] = {
    "sequence": {"mode": "sequence", "matches": True, "symmetry": "subgraphs"},
    "batch": {"mode": "batch", "matches": True, "duplicates": "ignore", "tuning": {"orbits": "off"}},
    "edges": {"window": 20, "matches": True, "symmetry": "subgraphs"},
    "time": {"window": "30s", "time_unit": "ms", "disorder": "clamp"},
    "homomorphism": {"semantics": "homomorphism", "window": 15.0, "duplicates": "ignore"},
}
PATTERNS = ["(a)-->(b)-->(c)-->(a)", "(a:shop)-[:wire|card]->(b)--(c:shop)"]


def updates(seed: int, count: int) -> mf.Updates:
    draw = np.random.default_rng(seed)
    sources = draw.integers(0, 8, count)
    return mf.Updates(
        draw.random(count) < 0.7,
        np.array([f"v{number}" for number in sources]),
        np.array([f"v{number}" for number in (sources + draw.integers(1, 8, count)) % 8]),
        draw.choice(np.array(["wire", "card"]), count),
        (1 + seed * count + np.arange(count)) * 1000,
    )


def begin(options: dict[str, Any]) -> mf.Monitor:
    graph = mf.Graph.from_edges(
        [("v0", "v1"), ("v0", "v1"), ("v1", "v2")],
        directed=True,
        vertex_ids=[f"v{number}" for number in range(8)],
        vertex_labels=["shop", "payer"] * 4,
        edge_labels=["wire"] * 3,
        edge_attributes={"time": [0, 100, 200]},
    )
    edge_times = "time" if "window" in options else None
    monitor = mf.Monitor(graph, PATTERNS[0], edge_times=edge_times, **options)
    monitor.add(PATTERNS[1], matches=False)
    return monitor


def told(delta: mf.Delta) -> list[Any]:
    """All that a delta says, but for how long it took."""
    found: list[Any] = [delta.updates, delta.noops, delta.late, delta.expired, delta.self_loops]
    for one in delta:
        found += [one.pattern, one.positive, one.negative, one.updates.tolist(), one.matches.tolist()]
        if one.rows is not None:
            named = (tuple(row) for row in one._ids.names(one.rows.vertices).tolist())
            found.append(
                sorted(zip(one.rows.updates.tolist(), one.rows.positive.tolist(), named, strict=True))
            )
    return found


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_loaded_monitor_goes_on_as_the_saved_one_does(options: dict[str, Any], tmp_path: Path) -> None:
    monitor = begin(options)
    for seed in range(4):
        monitor.apply(updates(seed, 50))
        monitor.save(tmp_path / "monitor.mfg", position={"offset": seed})
        loaded = mf.Monitor.load(tmp_path / "monitor.mfg")
        assert repr(loaded) == repr(monitor)
        assert (loaded.updates_applied, loaded.source_position) == (monitor.updates_applied, {"offset": seed})
        assert loaded.patterns == monitor.patterns
        further = updates(seed + 1, 50)
        assert told(loaded.apply(further)) == told(mf.Monitor.load(tmp_path / "monitor.mfg").apply(further))
        again = begin(options)
        for past in range(seed + 1):
            again.apply(updates(past, 50))
        assert told(again.apply(further)) == told(mf.Monitor.load(tmp_path / "monitor.mfg").apply(further))


def test_all_that_a_pattern_can_say_is_kept(tmp_path: Path) -> None:
    patterns = [
        mf.Pattern.from_edges(
            [(0, 1), (1, 2), (2, 3)],
            vertex_labels=[1, frozenset({1, "x"}), None, None],
            edge_labels=[frozenset({0, 5}), None, 7],
            vertex_ids=[None, None, frozenset({3, 4}), None],
            may_coincide=[(0, 3)],
            directed=False,
            name="all",
        ),
        mf.Pattern.from_edges([(0, 1)], directed=True),
        mf.Pattern.from_edges([(0, 1)]),
        mf.Pattern.parse("(first)-[named]->(second)"),
    ]
    monitor = mf.Monitor(mf.Graph.from_edges([(0, 1)], directed=True), patterns)
    monitor.save(tmp_path / "monitor.mfg")
    loaded = mf.Monitor.load(tmp_path / "monitor.mfg")
    assert loaded.patterns == tuple(patterns)
    assert [one.name for one in loaded.patterns] == [one.name for one in patterns]


@pytest.mark.parametrize("ids", [np.int64, np.str_])
def test_an_empty_monitor_is_kept(ids: type, tmp_path: Path) -> None:
    monitor = mf.Monitor(mf.Graph.from_edges(np.empty((0, 2), dtype=np.int64)), "(a)--(b)", window=5)
    monitor.save(tmp_path / "monitor.mfg")
    loaded = mf.Monitor.load(tmp_path / "monitor.mfg")
    assert loaded.apply(inserts=np.array([[1, 2]]).astype(ids))[0].positive == 2


def saved(tmp_path: Path) -> Path:
    monitor = begin(OPTIONS["edges"])
    monitor.apply(updates(0, 50))
    path = tmp_path / "monitor.mfg"
    monitor.save(path)
    return path


def test_any_byte_changed_is_noticed(tmp_path: Path) -> None:
    path = saved(tmp_path)
    sound = path.read_bytes()
    last = max(section.end for section in SectionFile(path).sections.values())
    assert last == len(sound)
    inside = [
        at for section in SectionFile(path).sections.values() for at in range(section.offset, section.end, 7)
    ]
    for at in [*range(0, 600, 13), *inside]:
        path.write_bytes(sound[:at] + bytes([sound[at] ^ 0x20]) + sound[at + 1 :])
        with pytest.raises(mf.FormatError, match=r"monitor\.mfg"):
            mf.Monitor.load(path)


@pytest.mark.parametrize("kept", [0, 10, 64, 300, -1])
def test_a_file_cut_short_is_refused(kept: int, tmp_path: Path) -> None:
    path = saved(tmp_path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(mf.FormatError, match=r"monitor\.mfg"):
        mf.Monitor.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"monitor": 5}, "found checkpoint version 5, written by a newer motiflux; expected version 1 to 4"),
        ({"monitor": None}, "expected a saved monitor"),
        ({"options": {"mode": "other"}}, "facts are damaged"),
        ({"options": {"color": "red"}}, "facts are damaged"),
        ({"patterns": [3]}, "facts are damaged"),
        ({"facts": {}}, "facts are damaged"),
        ({"edge_labels": []}, "section edges.labels: expected numbers below 0"),
    ],
)
def test_a_file_that_says_what_cannot_be_is_refused(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = changed(saved(tmp_path), change)
    with pytest.raises(mf.FormatError, match=message):
        mf.Monitor.load(path)


def changed(path: Path, facts: dict[str, Any]) -> Path:
    """Write a saved monitor with other facts; return the new file."""
    file = SectionFile(path)
    arrays = {
        name: np.array(file.array(name, "<U" if "U" in one.dtype else one.dtype, one.shape))
        for name, one in file.sections.items()
    }
    other = path.with_name("other.mfg")
    write_sections(other, file.facts | facts, arrays)
    return other


def test_switches_that_a_file_does_not_have_yet_have_their_defaults(tmp_path: Path) -> None:
    path = saved(tmp_path)
    options = SectionFile(path).facts["options"]
    tuning = {name: value for name, value in options["tuning"].items() if name != "container"}
    assert len(tuning) < len(options["tuning"])
    monitor = mf.Monitor.load(changed(path, {"options": options | {"tuning": tuning}}))
    assert dict(monitor._options.switches) == options["tuning"]


def test_a_graph_is_no_checkpoint(tmp_path: Path) -> None:
    mf.write_graph(mf.Graph.from_edges([(0, 1)]), tmp_path / "graph.mfg")
    with pytest.raises(mf.FormatError, match=r"found another \.mfg file, expected a saved monitor"):
        mf.Monitor.load(tmp_path / "graph.mfg")
    with pytest.raises(mf.FormatError, match="nowhere"):
        mf.Monitor.load(tmp_path / "nowhere.mfg")


def test_a_monitor_that_cannot_be_saved_leaves_the_file_before_it(tmp_path: Path) -> None:
    path = saved(tmp_path)
    before = path.read_bytes()
    monitor = begin(OPTIONS["edges"])
    with pytest.raises(mf.OutputError, match="position"):
        monitor.save(path, position=object())
    assert monitor.source_position is None
    with pytest.raises(mf.OutputError, match="no folder"):
        monitor.save(tmp_path / "no folder" / "monitor.mfg")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    assert monitor.save(path) == path.stat().st_size
