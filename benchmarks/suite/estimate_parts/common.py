"""What the parts of the suite ``estimate`` share: graphs, queries and their counts, errors."""

from __future__ import annotations

import json
import math
import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import motiflux as mf
from motiflux.bench.measure import Timing, repeat, wall_clock
from motiflux.bench.suite import load_part
from motiflux.config import private_tuning

random_queries = load_part(Path(__file__).resolve().parent / "random_queries.py")

QUERIES = Path(__file__).resolve().parents[2] / "queries"
SEED = 1611
GRAPHS = {
    "yeast": ("yeast", None),
    "hprd": ("hprd", None),
    "human": ("human", None),
    "enron_label20": ("enron_label20", None),
    "wordnet30": ("wordnet30_relations", None),
    "slashdot": ("soc_slashdot0902", 16),
    "uk2007": ("web_uk2007_100k", 16),
}
"""File, and number of labels to draw where it has none."""
SIZES = {4: ("any",), 8: ("sparse", "dense"), 16: ("sparse", "dense")}
ESTIMATORS = ("wanderjoin", "alley", "tree")
SAMPLES = 1_000_000
COUNT_SECONDS = 10.0
TRAWL_OFF = {"trawling": "off"}
TRAWL_ON = {"trawling": "on"}
SWEPT = ("trawl_wordnet30_dense_12", "trawl_wordnet30_dense_198", "trawl_wordnet30_dense_605")
ORACLE = "benchmarks/queries/trawl_counts.json"


def q_error(estimate: float, count: int) -> float:
    """Return by which factor an estimate is off; less than one counts as one."""
    value, truth = max(estimate, 1.0), max(count, 1)
    return max(value / truth, truth / value)


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values))


@dataclass
class Measured:
    """What the bars are about, filled by the probes."""

    errors: list[float] = field(default_factory=list)
    covered: list[bool] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    cuts: dict[tuple[str, str, str], list[float]] = field(default_factory=dict)
    """By estimator, inheritance and way: q-error not trawled over trawled, of each query."""
    slower: dict[tuple[str, str, str], list[float]] = field(default_factory=dict)
    """The same of seconds, trawled over not."""


def mean(values: Sequence[bool]) -> float:
    return sum(values) / len(values)


@cache
def graph_of(shared: Path, name: str) -> mf.Graph:
    file, labels = GRAPHS[name]
    return random_queries.read_labelled(shared / f"data/{file}.npz", labels, SEED)


@cache
def drawn(shared: Path, name: str, size: int, kind: str) -> mf.Pattern:
    """Return the query of a cell of the tables."""
    randomness = random.Random(f"{SEED} {name} {size} {kind}")
    draw = random_queries.dense_query if kind == "dense" else random_queries.sparse_query
    return draw(graph_of(shared, name), size, randomness)


@cache
def exact(shared: Path, name: str, size: int, kind: str, seconds: float) -> int | None:
    found = mf.count(graph_of(shared, name), drawn(shared, name, size, kind), timeout=seconds, threads=1)
    return int(found) if found.complete else None


def estimated(
    graph: mf.Graph,
    pattern: mf.Pattern,
    estimator: str,
    tuning: Mapping[str, str],
    samples: int,
    *,
    seed: int = SEED,
    device: str = "cpu",
    runs: int = 1,
) -> tuple[mf.Estimate, Timing]:
    """Estimate on one thread, planned before; seconds are the least of some runs."""

    def once() -> mf.Estimate:
        return mf.estimate(
            graph,
            pattern,
            estimator=estimator,
            samples=samples,
            seed=seed,
            threads=1,
            device=device,
            tuning=private_tuning(tuning),
        )

    mf.estimate(
        graph,
        pattern,
        estimator=estimator,
        samples=32,
        threads=1,
        device=device,
        tuning=private_tuning(tuning),
    )
    return repeat(once, runs=runs) if device == "cpu" else repeat(once, wall_clock, runs=runs)


def figures_of(found: mf.Estimate, count: int | None, seconds: float) -> dict[str, float]:
    """Return what a row of the tables says."""
    figures = {
        "estimate": found.value,
        "valid_share": found.valid_samples / max(1, found.samples),
        "ms_per_million": 1e9 * seconds / max(1, found.samples),
    }
    if count is not None:
        figures |= {
            "q_error": q_error(found.value, count),
            "covered": float(found.low <= count <= found.high),
        }
    return figures


def parts_of(found: mf.Estimate) -> dict[str, float]:
    """Return in milliseconds what the time of a call went to."""
    parts = {"planning": found.plan_seconds} | found.parts
    names = {what: what.replace(" ", "_").replace("-", "_") for what in parts}
    return {f"{names[what]}_ms": 1000 * seconds for what, seconds in parts.items()}


@cache
def trawl_counts() -> dict[str, int]:
    """Return the committed queries that samples hardly ever answer, and their counts."""
    counts: dict[str, int] = json.loads((QUERIES / "trawl_counts.json").read_text())
    return counts


def trawl_query(shared: Path, name: str) -> tuple[mf.Graph, mf.Pattern]:
    """Return the graph and the pattern of ``trawl_GRAPH_...``."""
    return graph_of(shared, name.split("_")[1]), mf.read_pattern(QUERIES / f"{name}.graph")


@cache
def drawn_counts() -> dict[str, int]:
    """Return the counts of the tables' queries, where the CPU engine knew them soon."""
    counts: dict[str, int] = json.loads((QUERIES / "drawn_counts.json").read_text())
    return counts
