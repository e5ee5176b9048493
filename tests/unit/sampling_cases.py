"""Small graphs and patterns with counts that are known, for tests of sampling."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

import motiflux as mf
from motiflux.config import private_tuning
from motiflux.cpu.sampling import draw_groups, sample_graph
from motiflux.plan import Plan
from motiflux.plan.sampling import sampling_plan
from motiflux.result.sample_groups import Groups
from motiflux.statistics import GROUP, UNIT_BITS
from motiflux.types import Semantics, Symmetry

ESTIMATORS = ("wanderjoin", "alley", "tree")
INHERITANCE = ("off", "one", "spread")

TRIANGLE = "(a)--(b)--(c)--(a)"
SQUARE = "(a)--(b)--(c)--(d)--(a)"
DIAMOND = "(a)--(b)--(c)--(d)--(a)--(c)"
TAILED = "(a)--(b)--(c)--(a), (c)--(d)"
BOWTIE = "(a)--(b)--(c)--(a), (c)--(d)--(e)--(c)"
PATH = "(a)--(b)--(c)--(d)--(e)"
STAR = "(a)--(b), (a)--(c), (a)--(d)"


@dataclass(frozen=True)
class SamplingCase:
    """A graph, a pattern and what is asked of them."""

    name: str
    graph: Any
    pattern: Any
    semantics: str = "isomorphism"

    def count(self) -> int:
        """The true count."""
        return int(mf.count(self.graph, self.pattern, semantics=self.semantics, device="cpu"))

    def plan(self, **tuning: str) -> Plan:
        """The plan by which samples are drawn."""
        pattern = mf.Pattern.parse(self.pattern) if isinstance(self.pattern, str) else self.pattern
        return sampling_plan(
            self.graph,
            pattern,
            semantics=Semantics(self.semantics),
            symmetry=Symmetry.EMBEDDINGS,
            threads=1,
            deadline=None,
            switches=private_tuning(tuning),
        )

    def groups(
        self, estimator: str, inheritance: str, seed: int, count: int, first: int = 0, **more: Any
    ) -> Groups:
        """Groups of samples."""
        tuning = {name: more.pop(name) for name in ("candidates", "sample_order") if name in more}
        candidates = sample_graph(self.graph, self.plan(**tuning), 1)
        candidates.grow_tree()
        return draw_groups(
            candidates,
            estimator=estimator,
            inheritance=inheritance,
            seed=seed,
            first=first,
            count=count,
            **{"threads": 1, **more},
        )

    def __str__(self) -> str:
        return self.name


def means(groups: Groups) -> Any:
    """The mean weight of each group's samples."""
    return np.ldexp(groups.weights, UNIT_BITS) / GROUP


def random_graph(seed: int, vertices: int, edges: int, labels: int = 1, *, directed: bool = False) -> Any:
    """A graph with uneven degrees: vertices of low number have more edges."""
    random = np.random.default_rng(seed)
    ends = (vertices * random.random((4 * edges, 2)) ** 1.5).astype(np.int64)
    ends = ends[ends[:, 0] != ends[:, 1]]
    ends = np.unique(ends if directed else np.sort(ends, axis=1), axis=0)
    ends = random.permutation(ends)[:edges]
    return mf.Graph.from_edges(
        ends,
        directed=directed,
        num_vertices=vertices,
        vertex_labels=random.integers(0, labels, vertices) if labels > 1 else None,
        edge_labels=random.integers(0, 2, len(ends)) if directed else None,
    )


def _clique(size: int) -> Any:
    return mf.Pattern.from_edges(list(combinations(range(size), 2)))


def _labelled(edges: list[tuple[int, int]], labels: list[Any], **more: Any) -> Any:
    return mf.Pattern.from_edges(edges, vertex_labels=labels, **more)


_PLAIN = random_graph(1, 14, 40)
_LABELLED = random_graph(2, 24, 80, labels=3)
_ARCS = random_graph(3, 18, 90, labels=2, directed=True)

CASES = [
    SamplingCase("triangle", _PLAIN, TRIANGLE),
    SamplingCase("square", _PLAIN, SQUARE),
    SamplingCase("diamond", _PLAIN, DIAMOND),
    SamplingCase("clique", _PLAIN, _clique(4)),
    SamplingCase("bowtie", _PLAIN, BOWTIE),
    SamplingCase("path", _PLAIN, PATH),
    SamplingCase("star", _PLAIN, STAR),
    SamplingCase("triangle-homomorphism", _PLAIN, TRIANGLE, "homomorphism"),
    SamplingCase("square-homomorphism", _PLAIN, SQUARE, "homomorphism"),
    SamplingCase("square-induced", _PLAIN, SQUARE, "induced"),
    SamplingCase("path-induced", _PLAIN, PATH, "induced"),
    SamplingCase("labelled-square", _LABELLED, _labelled([(0, 1), (1, 2), (2, 3), (3, 0)], [0, 1, 0, 1])),
    SamplingCase("labelled-tailed", _LABELLED, _labelled([(0, 1), (1, 2), (2, 0), (2, 3)], [0, None, 0, 2])),
    SamplingCase("label-sets", _LABELLED, _labelled([(0, 1), (1, 2), (2, 3)], [{0, 1}, 2, {0, 2}, None])),
    SamplingCase("labelled-bowtie", _LABELLED, _labelled(
        [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)], [0, 1, 0, None, None]
    )),
    SamplingCase("cycle-of-arcs", _ARCS, mf.Pattern.from_edges([(0, 1), (1, 2), (2, 0)], directed=True)),
    SamplingCase("arcs-with-labels", _ARCS, mf.Pattern.from_edges(
        [(0, 1), (1, 2), (0, 2)], edge_labels=[0, None, 1], directed=True
    )),
    SamplingCase("either-way", _ARCS, mf.Pattern.from_edges([(0, 1), (1, 2), (2, 3)], directed=False)),
    SamplingCase("arcs-induced", _ARCS, mf.Pattern.from_edges([(0, 1), (1, 2)], directed=True), "induced"),
    SamplingCase("two-arcs-of-a-pair", _ARCS, mf.Pattern.from_edges(
        [(0, 1), (1, 0), (1, 2)], directed=True
    ), "homomorphism"),
]  # fmt: skip
