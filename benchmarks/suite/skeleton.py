"""Every count that is known, and whether it is right and done in time.

``motiflux bench skeleton``. Needs the shared graphs and oracles (``MOTIFLUX_SHARED``). Cases on the R-MAT
graph of 15.7M edges run only if ``MOTIFLUX_RMAT20`` names the file that ``oracle/rmat20/generate.py`` writes.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

import motiflux as mf
from motiflux.bench.results import Bar, CaseResult
from motiflux.bench.suite import Case, GraphSource, Suite

QUERY_FILES = {
    "triangle": "q_tri", "diamond": "q_diam", "4cycle": "q_c4", "tailedtri": "q_tailtri", "house": "q_house",
    "4clique": "q_k4", "5clique": "q_k5",
}  # fmt: skip
AUTOMORPHISMS = {"q_tri": 6, "q_diam": 4, "q_c4": 8, "q_tailtri": 2, "q_house": 2, "q_k4": 24, "q_k5": 120}
PATTERNS = {
    "4path": [(0, 1), (1, 2), (2, 3)],
    "3star": [(0, 1), (0, 2), (0, 3)],
    "4star": [(0, 1), (0, 2), (0, 3), (0, 4)],
    "5cycle": [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)],
}
"""Patterns that have a count but no file. A 4-path has four vertices."""
TRIANGLE = [(0, 1), (1, 2), (0, 2)]
TWO_PATH = [(0, 1), (1, 2)]
UNTRUSTED = ("stmatch",)
"""Peers whose counts are known to be wrong on some cases."""
WEB_HOUSE = 67_002_891_227_194
"""Embeddings of the house in web_uk2007_100k, read as undirected: two independent programs."""
SCALED = ("wiki_vote 4cycle", "ego_facebook diamond", "email_enron 5clique")
"""Cases that are also timed by the wall clock, on one and two threads."""


def build(shared: Path) -> Suite:
    cases = [*unlabelled(shared), *yeast(shared), *enron(shared), *every_graph(shared)]
    if file := os.environ.get("MOTIFLUX_RMAT20"):
        cases += rmat(shared, GraphSource(Path(file), labelled=False), GraphSource(Path(file)))
    return Suite("skeleton", cases, bars)


def bars(results: Sequence[CaseResult]) -> list[Bar]:
    plain = [result for result in results if ", wall, " not in result.case]
    speedups = [result for result in results if result.case.endswith(", wall, 2 threads")]
    return [
        Bar("counts that disagree with the oracle", sum(result.disagrees for result in results), 0, "lower"),
        Bar("cases not finished in time", sum(result.count is None for result in plain), 0, "lower"),
        *(Bar(f"{one.case}: speed-up over 1 thread", one.ratio, 1.7, "higher") for one in speedups),
    ]


def unlabelled(shared: Path) -> Iterator[Case]:
    """Give the seven patterns, and those from closed forms, on the unlabelled graphs: each subgraph once."""
    occurrences = shared / "oracle/unlabelled/occurrences.json"
    for graph, counts in json.loads(occurrences.read_text()).items():
        if graph != "note":
            for query, count in counts.items():
                yield _unlabelled_case(shared, graph, query, count, occurrences.name)
    peers = agreed_embeddings(shared / "oracle/unlabelled/h100_peers.csv")
    peers["web_uk2007_100k", "q_house"] = WEB_HOUSE
    queries = {file: query for query, file in QUERY_FILES.items()}
    for (graph, file), embeddings in sorted(peers.items()):
        count = embeddings // AUTOMORPHISMS[file]
        yield _unlabelled_case(shared, graph, queries[file], count, "h100_peers.csv")


def _unlabelled_case(shared: Path, graph: str, query: str, count: int, source: str) -> Case:
    name = f"{graph} {query}"
    return Case(
        name,
        GraphSource(shared / f"data/{graph}.npz", directed=False),
        partial(unlabelled_pattern, shared, query),
        count,
        f"oracle/unlabelled/{source}",
        symmetry="subgraphs",
        scaling=(1, 2) if name in SCALED else (),
        quick=graph == "wiki_vote",
    )


def unlabelled_pattern(shared: Path, query: str) -> mf.Pattern:
    if query in PATTERNS:
        return mf.Pattern.from_edges(PATTERNS[query], name=query)
    return mf.read_pattern(shared / f"oracle/unlabelled/queries/{QUERY_FILES[query]}.graph")


def agreed_embeddings(path: Path) -> dict[tuple[str, str], int]:
    """Give, per (graph, query), the count that all trusted systems agree on that have one; else none."""
    counts: dict[tuple[str, str], set[int]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["system"] not in UNTRUSTED and row["embeddings"].isdigit():
                case = (row["graph"].removesuffix(".graph"), row["query"].removesuffix(".graph"))
                counts.setdefault(case, set()).add(int(row["embeddings"]))
    return {case: found.pop() for case, found in counts.items() if len(found) == 1}


def yeast(shared: Path) -> Iterator[Case]:
    """Give the forty labelled queries on yeast: every embedding."""
    graph = GraphSource(shared / "data/yeast.npz")
    counts = json.loads((shared / "oracle/yeast/embeddings.json").read_text())
    for query in sorted(counts):
        count = counts[query]
        yield Case(
            f"yeast {query.removesuffix('.graph')}",
            graph,
            partial(mf.read_pattern, shared / "oracle/yeast/queries" / query),
            None if count is None else int(count),
            "oracle/yeast/embeddings.json",
            quick="_4_" in query or "_8_" in query,
        )


def enron(shared: Path) -> Iterator[Case]:
    """Give the twelve labelled random-walk queries on enron: every embedding."""
    graph = GraphSource(shared / "data/enron_label20.npz")
    folder = shared / "oracle/labelled"
    agreed = agreed_embeddings(folder / "h100_peers.csv")
    for path in sorted((folder / "queries").glob("*.graph")):
        yield Case(
            f"enron_label20 {path.stem.removeprefix('q_enron_L20_')}",
            graph,
            partial(mf.read_pattern, path),
            agreed.get(("enron_label20", path.stem)),
            "oracle/labelled/h100_peers.csv",
            quick="_6_" in path.stem,
        )


def every_graph(shared: Path) -> Iterator[Case]:
    """Give two-paths and triangles on every graph as it is: directions kept, labels ignored."""
    for path in sorted((shared / "data").glob("*.npz")):
        graph = GraphSource(path)
        pattern = partial(mf.Pattern.from_edges, TWO_PATH, name="twopath")
        yield Case(
            f"{path.stem} as is, twopath",
            graph,
            pattern,
            partial(two_paths, path),
            "closed form over degrees",
            symmetry="subgraphs",
            quick=True,
        )
        pattern = partial(mf.Pattern.from_edges, TRIANGLE, name="triangle")
        yield Case(f"{path.stem} as is, triangle", graph, pattern, symmetry="subgraphs", quick=True)


def two_paths(path: Path) -> int:
    """Count paths u - v - w, or arcs u -> v -> w, with u other than w, from degrees alone."""
    with np.load(path) as file:
        edges, directed = file["edges"].astype(np.int64), bool(file["directed"])
    size = int(edges.max()) + 1
    if directed:
        arcs = np.unique(edges[:, 0] * size + edges[:, 1])
        source, target = np.divmod(arcs, size)
        out_degree, in_degree = np.bincount(source, minlength=size), np.bincount(target, minlength=size)
        there_and_back = np.isin(target * size + source, arcs, assume_unique=True).sum()
        return int(np.dot(out_degree, in_degree)) - int(there_and_back)
    pairs = np.unique(edges.min(axis=1) * size + edges.max(axis=1))
    degree = np.bincount(np.concatenate(np.divmod(pairs, size)), minlength=size)
    return int((degree * (degree - 1) // 2).sum())


def rmat(shared: Path, plain: GraphSource, labelled: GraphSource) -> Iterator[Case]:
    """Give the seven patterns on the R-MAT graph without its labels, and its labelled queries."""
    folder = shared / "oracle/rmat20"
    for known, embeddings in json.loads((folder / "counts.json").read_text()).items():
        if known != "note":
            query = known.replace("tailed triangle", "tailedtri").replace("-", "")
            yield Case(
                f"rmat20 {query}",
                plain,
                partial(unlabelled_pattern, shared, query),
                embeddings // AUTOMORPHISMS[QUERY_FILES[query]],
                "oracle/rmat20/counts.json",
                symmetry="subgraphs",
            )
    for path in sorted((folder / "queries").glob("*.graph")):
        yield Case(f"rmat20 {path.stem}", labelled, partial(mf.read_pattern, path))
