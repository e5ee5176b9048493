"""The WordNet graph that comes with motiflux."""

from __future__ import annotations

import lzma
import os
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pytest

import motiflux as mf
from motiflux.datasets import wordnet_file
from motiflux.datasets.wordnet_file import FILES, RELATIONS
from tests.data_paths import shared_path

REPOSITORY = Path(__file__).resolve().parents[2]
BUNDLED = REPOSITORY / "src/motiflux/datasets" / wordnet_file.NAME
DATABASE = Path(os.environ.get("MOTIFLUX_WORDNET", "/usr/share/wordnet"))
"""The folder of data.noun, index.noun and so on."""

INVERSES = [("hypernym", "hyponym"), ("part_holonym", "part_meronym"), ("topic", "topic_member")]


@pytest.fixture(scope="module")
def graph() -> mf.Graph:
    return mf.datasets.wordnet()


def count(graph: mf.Graph, pattern: str) -> int:
    return int(mf.count(graph, mf.Pattern.parse(pattern)))


def edges_of(graph: mf.Graph, relation: str) -> set[tuple[str, str]]:
    edges = graph.to_edges()
    assert edges.labels is not None
    chosen = edges.labels == relation
    return set(zip(edges.src[chosen].tolist(), edges.dst[chosen].tolist(), strict=True))


@pytest.mark.turns(8)
def test_it_is_as_large_as_it_should_be(graph: mf.Graph) -> None:
    assert (graph.num_vertices, graph.num_edges) == (117_659, 364_543)
    assert graph.directed
    assert (graph.duplicate_edges, graph.self_loops_dropped) == (0, 0)


def test_labels_are_files_and_relations_by_name(graph: mf.Graph) -> None:
    assert set(graph.vertex_label_table.values) == set(FILES)
    assert set(graph.edge_label_table.values) == set(RELATIONS)
    assert (len(FILES), len(RELATIONS)) == (45, 27)


@pytest.mark.turns(8)
def test_each_synset_has_a_name_of_its_own(graph: mf.Graph) -> None:
    assert len(np.unique(graph.vertex_ids)) == graph.num_vertices
    assert graph.vertex_labels_by_id()["dog.n.01"] == "noun.animal"
    position = int(graph.vertex_index(["dog.n.01"])[0])
    words = graph.vertex_attributes["words"].to_numpy()
    assert words[position] == "dog, domestic dog, Canis familiaris"


@pytest.mark.turns(8)
def test_relations_lead_from_a_synset_to_what_the_label_calls_it(graph: mf.Graph) -> None:
    assert ("dog.n.01", "canine.n.02") in edges_of(graph, "hypernym")
    assert ("canine.n.02", "dog.n.01") in edges_of(graph, "hyponym")
    assert ("lion.n.01", "pride.n.04") in edges_of(graph, "member_holonym")
    assert ("porch.n.01", "house.n.01") in edges_of(graph, "part_holonym")


def test_a_pointer_symbol_means_what_its_part_of_speech_says(graph: mf.Graph) -> None:
    adverbs = {name.split(".")[-2] for name, _ in edges_of(graph, "derived_from_adjective")}
    adjectives = {name.split(".")[-2] for name, _ in edges_of(graph, "pertainym")}
    assert adverbs == {"r"}
    assert adjectives <= {"a", "s"}


@pytest.mark.parametrize(("relation", "inverse"), INVERSES)
def test_both_directions_of_a_relation_are_there(graph: mf.Graph, relation: str, inverse: str) -> None:
    assert edges_of(graph, relation) == {(target, source) for source, target in edges_of(graph, inverse)}


def test_counts_of_a_few_relations_are_those_of_the_database(graph: mf.Graph) -> None:
    assert count(graph, "(a)-[:hypernym]->(b)") == 89_089
    assert count(graph, "(a)-[:antonym]->(b)") == 7_604
    assert count(graph, "(a)-[:cause]->(b)") == 220
    assert count(graph, "(a)-[:pertainym|derived_from_adjective]->(b)") == 6_667


@pytest.mark.turns(8)
def test_its_edges_are_those_of_the_shared_file(graph: mf.Graph) -> None:
    with np.load(shared_path("data", "wordnet30_relations.npz")) as archive:
        expected, labels = archive["edges"], archive["edge_labels"]
        vertex_labels = archive["vertex_labels"]
    packed = wordnet_file.unpack(BUNDLED.read_bytes())
    found = np.column_stack([packed.sources, packed.targets, packed.relations])
    # The file has one label for what adverbs and adjectives pertain to, and numbers of its own.
    merged = np.array([*range(len(RELATIONS))])
    merged[RELATIONS.index("derived_from_adjective")] = RELATIONS.index("pertainym")
    found[:, 2] = merged[found[:, 2]]
    given = np.column_stack([expected, labels])
    found, given = (rows[np.lexsort(rows[:, :2].T[::-1])] for rows in (found, given))
    assert np.array_equal(np.unique(found[:, :2], axis=0), np.unique(given[:, :2], axis=0))
    sizes = [np.sort(np.bincount(rows[:, 2])) for rows in (found, given)]
    assert np.array_equal(sizes[0][sizes[0] > 0], sizes[1][sizes[1] > 0])
    assert len(found) == len(given)
    assert np.array_equal(np.sort(np.bincount(packed.files)), np.sort(np.bincount(vertex_labels)))


@pytest.mark.turns(8)
def test_the_file_is_small_and_read_back_as_it_was_packed() -> None:
    content = BUNDLED.read_bytes()
    assert len(content) <= 2_500_000
    once = wordnet_file.unpack(content)
    order = np.lexsort((once.targets, once.sources, once.relations))
    parts = {name: getattr(once, name)[order] for name in ("relations", "sources", "targets")}
    again = wordnet_file.WordNet(once.words, once.kinds, once.senses, once.files, **parts)
    twice = wordnet_file.unpack(wordnet_file.pack(again))
    assert twice.words == once.words
    for name in ("kinds", "senses", "files", "relations", "sources", "targets"):
        assert np.array_equal(getattr(twice, name), getattr(once, name)), name


def test_its_licence_comes_with_the_package() -> None:
    metadata = distribution("motiflux").metadata
    assert metadata["License-Expression"] == "Apache-2.0 AND LicenseRef-WordNet-3.0"
    assert "licenses/WordNet-3.0.txt" in (metadata.get_all("License-File") or [])
    text = (REPOSITORY / "licenses/WordNet-3.0.txt").read_text(encoding="utf-8")
    assert "WordNet 3.0 Copyright 2006 by Princeton University" in text


@pytest.mark.long
def test_it_is_what_the_script_makes_of_the_database(tmp_path: Path) -> None:
    if not (DATABASE / "data.noun").exists():
        pytest.skip(f"no WordNet database in {DATABASE} (MOTIFLUX_WORDNET names the folder)")
    script = REPOSITORY / "scripts/build-wordnet.py"
    contents = []
    for name in ("first", "second"):
        subprocess.run([sys.executable, script, DATABASE, tmp_path / name], check=True, capture_output=True)
        contents.append((tmp_path / name).read_bytes())
    assert contents[0] == contents[1]
    # Another version of liblzma may pack the same in another way.
    assert lzma.decompress(contents[0]) == lzma.decompress(BUNDLED.read_bytes())
