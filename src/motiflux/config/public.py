"""The switches of `tuning=` and ``--set``, for ablations and slow searches."""

from __future__ import annotations

from motiflux.config.option import TuningOption, by_name

TUNING = by_name(
    TuningOption(
        "order",
        ("sampled", "cost", "given", "adaptive"),
        "sampled",
        "matching order. sampled: the cheapest by sampling; cost: the cheapest by label frequencies; given: "
        "the order of the pattern, as far as it stays connected; adaptive (CPU, candidate space, not "
        "induced): at each step the query vertex with the fewest candidates left",
    ),
    TuningOption(
        "reuse",
        ("on", "off"),
        "on",
        "start an intersection from the result of an earlier level where possible",
    ),
    TuningOption(
        "simd",
        ("auto", "scalar", "avx2", "avx512"),
        "auto",
        "CPU: instructions for list intersections. auto: the widest of this processor; avx512 needs "
        "VP2INTERSECT",
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
        "backjump",
        ("auto", "on", "off"),
        "auto",
        "CPU: after a failure, skip levels that did not contribute to it. auto: if a search finds little, "
        "which then also uses the order `adaptive` if possible; on: always, without changing the order; "
        "off: never",
    ),
    TuningOption(
        "tables",
        ("auto", "on", "off"),
        "auto",
        "count from tables of local counts. auto: if expected to be faster than the search; on: wherever "
        "possible; off: never",
    ),
    TuningOption(
        "negation",
        ("auto", "search", "subtract"),
        "auto",
        "CPU: count with negated edges between query vertices. search: skip what has such an edge; subtract: "
        "inclusion and exclusion over counts with and without the edges, where possible; auto: if expected "
        "to be faster than the search",
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
        "trawl_nodes",
        ("0", "64", "512", "1024", "4096", "65536", "1048576"),
        "4096",
        "estimate: candidates that trawl searches may visit per slot, shared by 64 slots",
    ),
    TuningOption(
        "lanes",
        ("auto", "8", "16", "32"),
        "auto",
        "GPU: number of lanes that search together. auto: a warp for counting, by the length of rows for "
        "listing",
    ),
    TuningOption(
        "specialize",
        ("auto", "on", "off"),
        "auto",
        "GPU: compile the plan's shape into the kernel. auto: in the background, once searches of this shape "
        "have taken half a second; on: always; off: never",
    ),
    TuningOption(
        "stealing",
        ("auto", "none", "passive", "active"),
        "auto",
        "GPU: lanes without work first get work of their block through shared memory. auto: "
        "passive, if few root arcs lead deep (Monitor: with engine=batch only); none: never; passive: other "
        "lanes give half of a walk; active: take half of the work that others offer",
    ),
    TuningOption(
        "bitmaps",
        ("auto", "on", "cliques", "off"),
        "auto",
        "GPU: bits that store which neighbours of a vertex are adjacent, for cliques and patterns with a "
        "vertex adjacent to all others. auto: for cliques, and for the others if expected to be faster; on: "
        "wherever possible; cliques: for cliques only; off: never. Monitor: bits that store the entries of "
        "long rows. auto: for calls of much work; on: for all calls and rows; cliques, off: never",
    ),
    TuningOption(
        "pooling",
        ("auto", "on", "off"),
        "auto",
        "GPU, Monitor, where matches are counted: partial matches that agree in all vertices that later "
        "levels depend on, as those of a labelled cycle do. auto: count them in a table and complete them "
        "together if many are expected; on: wherever possible; off: complete each one",
    ),
    TuningOption(
        "orbits",
        ("on", "off"),
        "on",
        "Monitor. on: one search for all query edges of an automorphism orbit; off: one search per query "
        "edge",
    ),
    TuningOption(
        "container",
        ("slack", "gpma"),
        "slack",
        "GPU, Monitor: what holds rows that change. slack: rows with some room each; gpma: a packed memory "
        "array of all rows",
    ),
    TuningOption(
        "cache",
        ("frequency", "degree", "khop", "none"),
        "frequency",
        "GPU, engine=outofcore: rows of the host that are copied to the device, by a Monitor before each "
        "run. frequency: those that the search is expected to open most often; degree: the longest ones; "
        "khop: those of vertices that searches may come to, the nearest first (without a Monitor: as "
        "frequency); none: no row",
    ),
    TuningOption(
        "pvm",
        ("pv", "sv"),
        "pv",
        "GPU, engine=pvm: query vertices that a phase matches. pv: as many as possible; sv: one",
    ),
    TuningOption(
        "filter",
        ("mask", "nlf", "none"),
        "mask",
        "Monitor: vertices that searches skip. mask: those without a neighbour of a label that later levels "
        "need; nlf: those with fewer neighbours by label than the query vertex (up to two are counted); "
        "none: no vertex",
    ),
    TuningOption(
        "coalesce",
        ("auto", "on", "off"),
        "auto",
        "Monitor, with orbits=on: match the first levels of searches together that begin at query edges "
        "which are equivalent without some vertices. auto: on a CPU, if expected to save work; on: wherever "
        "possible (on a GPU: where matches are listed); off: never",
    ),
    TuningOption(
        "probe",
        ("on", "off"),
        "on",
        "Monitor, CPU: searches that take a visible share of the work. on: try other orders on a few "
        "updates, and keep one that takes less work; off: keep the orders that the numbers of edges by label "
        "give",
    ),
    TuningOption(
        "stream_batches",
        ("flush", "paper"),
        "flush",
        "GPU, Monitor, engine=streaming: updates that are written into the graph together. flush: all that "
        "wait when the last ones are written; paper: 64, or those of .125 ms (DCSM)",
    ),
    TuningOption(
        "stream_updaters",
        ("1", "2", "4", "8", "16"),
        "16",
        "GPU, Monitor, engine=streaming: warps that write updates into the graph",
    ),
)
"""The public switches by name."""
