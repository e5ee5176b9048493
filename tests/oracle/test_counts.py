"""Counts on real graphs that independent systems agree on."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import motiflux as mf
from tests.data_paths import or_skip, shared_path
from tests.oracle.graphs import (
    SECONDS,
    UNFINISHED,
    assert_exact_or_partial,
    data_graph,
    oracle_json,
    peer_counts,
)
from tests.rotating import in_turn

EDGES = {
    "triangle": [(0, 1), (1, 2), (0, 2)],
    "diamond": [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)],
    "4cycle": [(0, 1), (1, 2), (2, 3), (3, 0)],
    "4path": [(0, 1), (1, 2), (2, 3)],
    "3star": [(0, 1), (0, 2), (0, 3)],
    "4star": [(0, 1), (0, 2), (0, 3), (0, 4)],
    "tailedtri": [(0, 1), (1, 2), (0, 2), (0, 3)],
    "5cycle": [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)],
    "house": [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4)],
    "4clique": [(u, v) for u in range(4) for v in range(u)],
    "5clique": [(u, v) for u in range(5) for v in range(u)],
}
"""The unlabelled patterns of ``unlabelled/occurrences.json``, by their names there."""

HOUSE = ("web_uk2007_100k", "q_house.graph", 67_002_891_227_194)
"""Known from two programs, though no peer finished it."""

IN_PARTS = {
    "query_dense_16_158.graph": 1_678_027_857_516,
    "query_sparse_32_183.graph": 95_470_717_314_382_618,
    "query_sparse_32_32.graph": 1_581_215_771_520,
    "query_dense_16_162.graph": 4_280_338,
}
"""Yeast queries that only counting in parts finishes soon; a program of its own gave the first count."""

MOST_ROWS = 1_000_000
"""Matches with fewer rows are held in memory as a whole."""

SLOW = {
    "enron_label20": {"q_enron_L20_12_s0.graph", "q_enron_L20_12_s1.graph"},
    "yeast": {
        "query_dense_16_158.graph",
        "query_dense_16_162.graph",
        "query_dense_32_146.graph",
        "query_dense_32_81.graph",
        "query_sparse_16_13.graph",
        "query_sparse_32_158.graph",
        "query_sparse_32_183.graph",
        "query_sparse_32_23.graph",
        "query_sparse_32_32.graph",
        "query_sparse_8_16.graph",
    },
    "ego_facebook": {"4cycle", "4star", "5cycle", "house"},
    "wiki_vote": {"4cycle", "4star", "5cycle", "house"},
    "email_enron": {"q_c4.graph", "q_house.graph"},
    "soc_slashdot0902": {"q_c4.graph", "q_house.graph"},
    "web_uk2007_100k": {
        "q_c4.graph",
        "q_diam.graph",
        "q_k4.graph",
        "q_k5.graph",
        "q_tailtri.graph",
        "q_house.graph",
    },
}
"""Cases by graph that take more than a second or so: they are long."""

MAY_BE_CUT = {
    "yeast": {
        "query_dense_16_158.graph",
        "query_dense_16_162.graph",
        "query_dense_32_81.graph",
        "query_sparse_16_13.graph",
        "query_sparse_32_158.graph",
        "query_sparse_32_183.graph",
        "query_sparse_32_23.graph",
        "query_sparse_32_32.graph",
    },
    "ego_facebook": {"4star", "5cycle", "house"},
    "wiki_vote": {"4star", "5cycle", "house"},
    "email_enron": {"q_house.graph"},
    "soc_slashdot0902": {"q_house.graph"},
    "web_uk2007_100k": {"q_c4.graph", "q_k5.graph", "q_house.graph"},
}
"""Cases by graph that may take more than `SECONDS`; every other one must be complete by then."""

SLOWDOWN = 10 if os.environ.get("MOTIFLUX_SIMT_SANITIZE") == "1" else 1
"""How many times as long the others may take: the emulator is several times slower with sanitizers."""


def by_cost(cases: list[tuple[Any, ...]]) -> list[Any]:
    """Mark slow cases as long."""
    return [
        pytest.param(
            graph,
            pattern,
            count,
            id=f"{graph}-{pattern}",
            marks=pytest.mark.long if is_slow(graph, pattern) else [],
        )
        for graph, pattern, count in cases
    ]


def is_slow(graph: str, pattern: str) -> bool:
    return pattern in SLOW.get(graph, ())


def seconds(graph: str, pattern: str) -> float:
    """Return the time that a case may take."""
    return SECONDS if pattern in MAY_BE_CUT.get(graph, ()) else SLOWDOWN * SECONDS


def judge(counted: Any, true_count: int, graph: str, pattern: str, record: Any) -> None:
    assert_exact_or_partial(
        counted,
        true_count,
        case=f"{graph} {pattern.removesuffix('.graph')}",
        may_be_cut=pattern in MAY_BE_CUT.get(graph, ()),
        record=record,
    )


def occurrence_cases() -> list[tuple[str, str, int]]:
    counts = oracle_json("unlabelled", "occurrences.json") or {}
    return [
        (name, pattern, count)
        for name, patterns in counts.items()
        if name != "note"
        for pattern, count in patterns.items()
    ]


def unlabelled_cases() -> list[tuple[str, str, int]]:
    cases = [(*case, count) for case, count in peer_counts("unlabelled").items()]
    return [*cases, HOUSE] if cases else []


def labelled_cases() -> list[tuple[str, str, int]]:
    return [(*case, count) for case, count in peer_counts("labelled").items()]


def few_row_cases() -> list[tuple[str, str, int]]:
    return [case for case in labelled_cases() if case[-1] < MOST_ROWS]


def yeast_cases() -> list[tuple[str, str, int | None]]:
    counts = oracle_json("yeast", "embeddings.json") or {}
    return [("yeast", name, None if count is None else int(count)) for name, count in sorted(counts.items())]


@pytest.mark.parametrize(
    ("graph", "pattern", "occurrences"),
    or_skip(by_cost(occurrence_cases()), "oracle/unlabelled/occurrences.json", values=3),
)
def test_occurrences_of_unlabelled_patterns(
    graph: str, pattern: str, occurrences: int, device: str, record_property: Any
) -> None:
    counted = mf.count(
        data_graph(graph, directed=False),
        mf.Pattern.from_edges(EDGES[pattern]),
        symmetry="subgraphs",
        device=device,
        timeout=seconds(graph, pattern),
    )
    judge(counted, occurrences, graph, pattern, record_property)


@pytest.mark.parametrize(
    ("graph", "query", "embeddings"),
    or_skip(by_cost(unlabelled_cases()), "oracle/unlabelled/h100_peers.csv", values=3),
)
def test_embeddings_of_unlabelled_queries(
    graph: str, query: str, embeddings: int, device: str, record_property: Any
) -> None:
    pattern = mf.read_pattern(shared_path("oracle", "unlabelled", "queries", query))
    counted = mf.count(
        data_graph(graph, directed=False), pattern, device=device, timeout=seconds(graph, query)
    )
    judge(counted, embeddings, graph, query, record_property)


@pytest.mark.parametrize(
    ("graph", "query", "embeddings"),
    or_skip(by_cost(labelled_cases()), "oracle/labelled/h100_peers.csv", values=3),
)
def test_embeddings_of_labelled_queries(
    graph: str, query: str, embeddings: int, device: str, record_property: Any
) -> None:
    pattern = mf.read_pattern(shared_path("oracle", "labelled", "queries", query))
    counted = mf.count(data_graph(graph), pattern, device=device, timeout=seconds(graph, query))
    judge(counted, embeddings, graph, query, record_property)


@pytest.mark.parametrize(
    ("graph", "query", "embeddings"),
    or_skip(by_cost(yeast_cases()), "oracle/yeast/embeddings.json", values=3),
)
def test_embeddings_of_yeast_queries(
    graph: str, query: str, embeddings: int | None, device: str, record_property: Any
) -> None:
    pattern = mf.read_pattern(shared_path("oracle", "yeast", "queries", query))
    counted = mf.count(data_graph(graph), pattern, device=device, timeout=seconds(graph, query))
    if embeddings is None:
        record_property("count", int(counted))
        record_property("complete", counted.complete)
        if not counted.complete:
            UNFINISHED.append(f"{graph} {query}: {int(counted):,} of what nobody knows")
        return
    judge(counted, embeddings, graph, query, record_property)


@pytest.mark.parametrize(
    ("graph", "query", "embeddings"), or_skip(few_row_cases(), "oracle/labelled/h100_peers.csv", values=3)
)
def test_match_gives_each_embedding_once(graph: str, query: str, embeddings: int, device: str) -> None:
    pattern = mf.read_pattern(shared_path("oracle", "labelled", "queries", query))
    rows = mf.match(data_graph(graph), pattern, device=device).to_numpy()
    assert rows.shape == (embeddings, pattern.num_vertices)
    assert len(np.unique(rows, axis=0)) == embeddings


@pytest.mark.turns(8)
@pytest.mark.parametrize("query", in_turn(1, list(IN_PARTS)))
def test_counting_in_parts_finishes(query: str) -> None:
    pattern = mf.read_pattern(shared_path("oracle", "yeast", "queries", query))
    counted = mf.count(data_graph("yeast"), pattern, device="cpu")
    assert (counted, counted.complete) == (IN_PARTS[query], True)
