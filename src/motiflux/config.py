"""Tuning switches: options that turn parts of the search on and off, for ablations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from motiflux.errors import ArgumentError


@dataclass(frozen=True, slots=True)
class TuningOption:
    """One switch: its name, the values it takes, the default and what it does."""

    name: str
    values: tuple[str, ...]
    default: str
    help: str


_OPTIONS = (
    TuningOption(
        "order",
        ("sampled", "cost", "given", "adaptive"),
        "sampled",
        "matching order. sampled: the cheapest by sampling; cost: the cheapest by label frequencies; given: "
        "the order of the pattern, as far as it stays connected; adaptive (CPU, candidate space, not "
        "induced): at each step the query vertex with the fewest candidates left",
    ),
    TuningOption(
        "multiply",
        ("on", "off"),
        "on",
        "on: count embeddings as subgraphs times |Aut|; off: count them one by one",
    ),
    TuningOption(
        "reuse",
        ("on", "off"),
        "on",
        "start an intersection from the result of an earlier level where possible",
    ),
    TuningOption(
        "intersect",
        ("auto", "merge", "gallop"),
        "auto",
        "intersection of sorted lists. auto: merge or gallop by their length ratio; merge, gallop: always",
    ),
    TuningOption(
        "simd",
        ("auto", "scalar", "avx2", "avx512"),
        "auto",
        "CPU: instructions for list intersections. auto: the widest of this processor; avx512 needs "
        "VP2INTERSECT",
    ),
    TuningOption(
        "degrees", ("on", "off"), "on", "skip candidates with fewer neighbours than the query vertex"
    ),
    TuningOption(
        "candidates",
        ("auto", "on", "off"),
        "auto",
        "search a candidate space. auto: if labels filter candidates; on: always; off: never",
    ),
    TuningOption(
        "rounds",
        ("0", "1", "2", "3", "4", "8", "16"),
        "4",
        "maximum number of rounds in which candidates are filtered along query edges",
    ),
    TuningOption(
        "tail",
        ("on", "off"),
        "on",
        "count trailing levels in closed form where possible",
    ),
    TuningOption(
        "parts",
        ("auto", "on", "off"),
        "auto",
        "count independent parts of a pattern as a product and store the counts of parts. auto: if probing "
        "predicts that it is cheaper; on: wherever the plan allows it; off: never",
    ),
    TuningOption(
        "lists",
        ("on", "off"),
        "on",
        "parts that share several vertices with other parts. on: count them as lists of the choices for "
        "these vertices; off: match these vertices",
    ),
    TuningOption(
        "meetings",
        ("on", "off"),
        "on",
        "parts that share several vertices with other parts, or a vertex with further parts below it. on: "
        "count them as a whole; off: match their first vertices",
    ),
    TuningOption(
        "backjump",
        ("auto", "on", "off"),
        "auto",
        "CPU: after a failure, skip levels that did not contribute to it. auto: if a search finds little, "
        "which then also uses the order `adaptive` if possible; on: always, without changing the order; "
        "off: never",
    ),
    TuningOption(
        "room",
        ("on", "off"),
        "on",
        "leave a level as soon as it has fewer candidates than later levels need from it",
    ),
    TuningOption(
        "tables",
        ("auto", "on", "off"),
        "auto",
        "count from tables of local counts. auto: if expected to be faster than the search; on: wherever "
        "possible; off: never",
    ),
    TuningOption(
        "share",
        ("on", "off"),
        "on",
        "several patterns in one call. on: search shared levels once; off: search them for each pattern",
    ),
    TuningOption(
        "dispatch",
        ("learn", "race", "first"),
        "learn",
        "device='auto'. learn: start the other engine too if the selected one does not finish soon, and run "
        "repeated short counts where they were faster before; race: the same without learning; first: start "
        "the other engine only if the selected one cannot run the search",
    ),
    TuningOption(
        "sample_order",
        ("cost", "quicksi", "plan"),
        "cost",
        "estimate: order in which samples grow. cost: by the vertex that multiplies them least; quicksi: by "
        "the rarest edge (QuickSI); plan: as in the search",
    ),
    TuningOption(
        "cycles",
        ("4", "3", "0"),
        "4",
        "estimate, sample: keep an arc between candidates only if the pattern's cycles of up to this many "
        "edges can close over it",
    ),
    TuningOption(
        "inheritance",
        ("spread", "one", "off"),
        "spread",
        "estimate: samples that died continue with living samples of their group of 32. spread: distributed "
        "over all of them; one: all with the first; off: not at all",
    ),
    TuningOption(
        "streaming",
        ("packed", "adaptive", "leader", "off"),
        "packed",
        "GPU, estimate: refinement of candidates by all lanes of a warp. packed: candidates of all samples "
        "as one list; adaptive: the same, except for short rows; leader: full blocks of one sample at a "
        "time; off: by each lane alone",
    ),
    TuningOption(
        "edge_bits",
        ("on", "off"),
        "on",
        "GPU, estimate: also store rows of small candidate sets as bits, so that an edge test is one look-up",
    ),
    TuningOption(
        "sync",
        ("sample", "iteration"),
        "sample",
        "GPU, estimate. sample: lanes of a warp start new samples together when all are done; iteration: "
        "each lane starts when its own sample died, without inheritance",
    ),
    TuningOption(
        "count_first",
        ("on", "off"),
        "on",
        "estimate without a named estimator: first try to count patterns of four vertices or more exactly, "
        "with at most 8 candidates per sample and 524,288 in total; then, if a pilot predicts more work for "
        "the samples, with as much",
    ),
    TuningOption(
        "trawling",
        ("auto", "on", "off"),
        "auto",
        "estimate: besides sampling, search all extensions of a few short samples. auto: if few samples of "
        "a pilot are embeddings; on: always; off: never",
    ),
    TuningOption(
        "trawl_batches",
        ("1", "2", "4", "6", "8", "12", "16"),
        "6",
        "estimate: number of batches of samples; slots of the trawl are searched beside each batch",
    ),
    TuningOption(
        "trawl_samples",
        ("auto", "64", "128", "256", "512", "1024", "4096"),
        "auto",
        "estimate: slots of the trawl per batch. auto: one per 1,024 samples, at least 64",
    ),
    TuningOption(
        "trawl_depth",
        ("1", "2", "3"),
        "1",
        "estimate: minimum number of levels that a slot of the trawl samples before it searches the rest",
    ),
    TuningOption(
        "trawl_nodes",
        ("0", "64", "512", "1024", "4096", "65536", "1048576"),
        "4096",
        "estimate: candidates that trawl searches may visit per slot, shared by 64 slots",
    ),
    TuningOption(
        "trawl_unfinished",
        ("deepen", "sample", "drop"),
        "deepen",
        "estimate: samples with an unfinished search. deepen: extend by one level and search again; sample: "
        "extend to the end; drop: drop, which makes estimates too low",
    ),
    TuningOption(
        "lanes",
        ("auto", "8", "16", "32"),
        "auto",
        "GPU: number of lanes that search together. auto: a warp for counting, by the length of rows for "
        "listing",
    ),
    TuningOption(
        "remember",
        ("on", "off"),
        "on",
        "GPU: store the counts of parts that repeat, or count them again",
    ),
    TuningOption(
        "specialize",
        ("auto", "on", "off"),
        "auto",
        "GPU: compile the plan's shape into the kernel. auto: once the plan is repeated; on: always; off: "
        "never",
    ),
    TuningOption(
        "handover",
        ("on", "off"),
        "on",
        "GPU: lanes without work. on: wait for half of the work of other lanes; off: end",
    ),
    TuningOption(
        "stealing",
        ("auto", "none", "passive", "active"),
        "auto",
        "GPU: before `handover`, lanes without work get work of their block through shared memory. auto: "
        "passive, if few root arcs lead deep; none: never; passive: other lanes give half of a walk; "
        "active: take half of the work that others offer",
    ),
    TuningOption(
        "packing",
        ("on", "off"),
        "on",
        "GPU: count of the last two levels. on: one lane per pair; off: one candidate after the other",
    ),
    TuningOption(
        "bitmaps",
        ("auto", "on", "cliques", "off"),
        "auto",
        "GPU: bits that store which neighbours of a vertex are adjacent, for cliques and patterns with a "
        "vertex adjacent to all others. auto: for cliques, and for the others if expected to be faster; on: "
        "wherever possible; cliques: for cliques only; off: never",
    ),
    TuningOption(
        "rest",
        ("on", "off"),
        "on",
        "GPU: keep the setup of a count for the next equal count, or repeat it",
    ),
    TuningOption(
        "rows",
        ("memory", "ring"),
        "memory",
        "GPU: rows of a listing. memory: into device memory, copied in pieces; ring: through a ring buffer "
        "while the kernel runs",
    ),
    TuningOption(
        "images",
        ("on", "off"),
        "on",
        "list embeddings. on: search for one embedding of each subgraph and write its images under "
        "automorphisms; off: search for each embedding",
    ),
    TuningOption(
        "orbits",
        ("on", "off"),
        "on",
        "Monitor. on: one search for all query edges of an automorphism orbit; off: one search per query "
        "edge",
    ),
    TuningOption(
        "at_once",
        ("auto", "on", "off"),
        "auto",
        "Monitor, with several threads: match several updates at the same time. auto: if each takes long "
        "enough; on: always; off: never",
    ),
    TuningOption(
        "put_off",
        ("on", "off"),
        "on",
        "Monitor: updates that concern no pattern. on: write them together, row by row; off: write each one "
        "in its turn",
    ),
)

TUNING: Mapping[str, TuningOption] = {option.name: option for option in _OPTIONS}
"""Every tuning switch by name."""
_DEFAULTS = {option.name: option.default for option in _OPTIONS}


class _Resolved(dict[str, str]):
    """The value of every switch, checked."""


def resolve_tuning(given: Mapping[str, str] | None) -> dict[str, str]:
    """Return the value of every switch: `given` where it names one, the default elsewhere.

    Raises
    ------
    ArgumentError
        An unknown switch, or a value it does not take.
    """
    if isinstance(given, _Resolved):
        return given
    settings = _Resolved(_DEFAULTS)
    if given is not None and not isinstance(given, Mapping):
        raise ArgumentError("tuning", "a mapping of switches to values", given)
    for name, value in (given or {}).items():
        option = TUNING.get(name)
        if option is None:
            raise ArgumentError("tuning", f"one of {', '.join(TUNING)}", name)
        if value not in option.values:
            raise ArgumentError(f"tuning[{name!r}]", f"one of {', '.join(option.values)}", value)
        settings[name] = value
    return settings
