"""motiflux beside networkx, igraph, rustworkx, grandiso and DuckDB: one run, one thread, process CPU time.

``motiflux bench peers``. Needs the shared graphs (``MOTIFLUX_SHARED``) and the packages of the group
``peers``. Each peer is given every method of its that yields the number (the files in `benchmarks/peer` say
what each one counts), in a process of its own and within the time limit; the ratio is against the fastest.
Rows named "by hand" are formulas that a user would have to think of, on top of a peer's primitives: listed,
not what the bars are held against.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import motiflux as mf
from motiflux.bench.measure import Timing
from motiflux.bench.results import Bar, CaseResult
from motiflux.bench.suite import BaselineResult, Case, GraphSource, Settings, Suite

BENCHMARKS = Path(__file__).resolve().parents[1]
RUNNER = BENCHMARKS / "run_peer.py"
QUERIES = BENCHMARKS / "queries"
PACKAGES = ("networkx", "igraph", "rustworkx", "grandiso", "duckdb")
TARGET = 10.0
"""How many times faster than the best of them we want to be."""

MATCHERS = (
    "networkx.GraphMatcher",
    "igraph.count_subisomorphisms_vf2",
    "igraph.get_subisomorphisms_lad",
    "rustworkx.vf2_mapping",
    "rustworkx.vf2_mapping(id_order=False)",
    "grandiso.find_motifs",
    "duckdb.sql",
)
"""Methods that take any pattern, but for LAD: it compares no labels of edges."""
IN_ORDER = "duckdb.sql, ids in order"
"""The join that gives each subgraph once."""
UNLABELLED: dict[str, tuple[str, int, int, tuple[str, ...]]] = {
    "triangle": (
        "q_tri",
        6,
        608_389,
        ("networkx.triangles", "igraph.list_triangles", "igraph.motifs_randesu", "rustworkx.transitivity"),
    ),
    "diamond": (
        "q_diam",
        4,
        40_544_543,
        (
            "igraph.motifs_randesu",
            "networkx.common_neighbors, by hand",
            "igraph.list_triangles, by hand",
            "duckdb.sql of pairs, by hand",
        ),
    ),
    "4clique": (
        "q_k4",
        24,
        2_077_903,
        ("networkx.enumerate_all_cliques", "igraph.cliques", "igraph.motifs_randesu"),
    ),
    "4cycle": (
        "q_c4",
        8,
        57_654_491,
        ("networkx.simple_cycles", "igraph.motifs_randesu", "duckdb.sql of pairs, by hand"),
    ),
}
"""Query file, automorphisms, occurrences in wiki_vote read as undirected, methods beside the matchers."""
YEAST = {"dense_4_138": 1255, "dense_8_23": 1320, "sparse_8_108": 6370, "dense_8_112": 36}
"""Labelled queries on yeast and their embeddings."""
WORDNET = ("wordnet_diamond", "wordnet_square", "wordnet_tree_4", "wordnet_tree_5")
"""Queries with directions and labels on edges; the trees have labels on vertices too."""
RINGS = {"ring_3": 3, "ring_4": 4, "ring_4_label1": 4}
"""Rings of transfers, and their automorphisms."""


def build(shared: Path) -> Suite:
    cases = [*unlabelled(shared), *yeast(shared), *wordnet(shared), *rings(shared)]
    return Suite("peers", cases, bars, ("motiflux", "numpy", *PACKAGES))


def bars(results: Sequence[CaseResult]) -> list[Bar]:
    ours = [result for result in results if not result.engine.startswith(PACKAGES)]
    text = "at least 10x the best peer on"
    return [Bar(f"{text} {result.case}", result.ratio, TARGET, "higher") for result in ours]


def unlabelled(shared: Path) -> Iterator[Case]:
    """Give four patterns on wiki_vote: each subgraph once."""
    graph = shared / "data/wiki_vote.npz"
    for name, (file, automorphisms, occurrences, special) in UNLABELLED.items():
        query = shared / f"oracle/unlabelled/queries/{file}.graph"
        # Without labels in the graph those of the query, all 0, say nothing.
        methods = (*special, *MATCHERS, IN_ORDER)
        yield Case(
            f"wiki_vote {name}",
            GraphSource(graph, directed=False),
            partial(mf.read_pattern, query),
            occurrences,
            "oracle/unlabelled/occurrences.json",
            symmetry="subgraphs",
            first_call=True,
            quick=name == "triangle",
            baselines=[Peer(method, graph, query, automorphisms) for method in methods],
        )


def yeast(shared: Path) -> Iterator[Case]:
    """Give four labelled queries on yeast: every embedding."""
    graph = shared / "data/yeast.npz"
    for name, embeddings in YEAST.items():
        query = shared / f"oracle/yeast/queries/query_{name}.graph"
        yield Case(
            f"yeast {name}",
            GraphSource(graph),
            partial(mf.read_pattern, query),
            embeddings,
            "oracle/yeast/embeddings.json",
            first_call=True,
            quick=True,
            baselines=[Peer(method, graph, query) for method in MATCHERS],
        )


def wordnet(shared: Path) -> Iterator[Case]:
    """Give directed queries with labels on edges: every embedding. The peers check the count."""
    graph = shared / "data/wordnet30_relations.npz"
    for name in WORDNET:
        query = QUERIES / f"{name}.graph"
        one_kind = name == "wordnet_diamond"
        methods = [method for method in MATCHERS if one_kind or method != "igraph.get_subisomorphisms_lad"]
        yield Case(
            name.replace("_", " "),
            GraphSource(graph),
            partial(mf.read_pattern, query),
            first_call=True,
            quick=True,
            baselines=[Peer(method, graph, query, directed=True) for method in methods],
        )


def rings(shared: Path) -> Iterator[Case]:
    """Give rings of transfers: each once. The peers check the count."""
    graph = shared / "data/amlsim_20k_fanin_cycle.npz"
    for name, automorphisms in RINGS.items():
        query = QUERIES / f"{name}.graph"
        labelled = name.endswith("label1")
        special = () if labelled else ("networkx.simple_cycles", "igraph.simple_cycles")
        methods = (*special, *MATCHERS, IN_ORDER)
        yield Case(
            f"transfers {name.replace('_', ' ')}",
            GraphSource(graph, labelled=labelled),
            partial(mf.read_pattern, query),
            symmetry="subgraphs",
            first_call=True,
            quick=True,
            baselines=[Peer(method, graph, query, automorphisms, directed=True) for method in methods],
        )


@dataclass(frozen=True)
class Peer:
    """One method of a peer on one case.

    `automorphisms` is what embeddings are divided by where the case counts each subgraph once.
    """

    name: str
    graph: Path
    query: Path
    automorphisms: int = 1
    directed: bool = False

    @property
    def compared(self) -> bool:
        """Whether a library's own method gives the number."""
        return not self.name.endswith("by hand")

    def run(self, settings: Settings) -> BaselineResult | None:
        """Run it in a process of its own; None if its package is not installed."""
        if importlib.util.find_spec(self.name.split(".")[0]) is None:
            return None
        command = [sys.executable, str(RUNNER), self.name, str(self.graph), str(self.query)]
        command += ["--limit", str(settings.timeout), "--runs", str(settings.runs)]
        command += ["--directed"] if self.directed else []
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        runs = [line for line in lines if "count" in line]
        if runs:
            divisor = self.automorphisms if lines[0]["counts"] == "embeddings" else 1
            count, remainder = divmod(runs[-1]["count"], divisor)
            note = f"{runs[-1]['count']} is no multiple of {divisor}" if remainder else ""
            return BaselineResult(count, Timing.of([run["seconds"] for run in runs]), note=note)
        if lines and "stopped" in lines[-1]:
            given = Timing.of([lines[-1]["stopped"]])
            return BaselineResult(None, given, timeout=True, note="stopped by the limit")
        last = done.stderr.strip().splitlines()[-1:] or [f"exit {done.returncode}"]
        return BaselineResult(None, None, note=f"failed: {last[0]}")
