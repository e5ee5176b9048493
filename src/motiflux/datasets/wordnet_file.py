"""The file of the WordNet graph: its layout, and how it is written and read.

xz, in which NumPy arrays (the ``.npy`` format) follow each other:

======== ===============  =====================================================================
name     type             holds
======== ===============  =====================================================================
words    uint8 [bytes]    a line for each synset, its words separated by blanks
kinds    uint8 [n]        n, v, a, s or r: noun, verb, adjective, satellite adjective, adverb
senses   uint8 [n]        which sense of its first word a synset is, from 1
files    uint8 [n]        number of the lexicographer file, a position in `FILES`
counts   int32 [k]        how many edges of each stored relation there are, by position in `RELATIONS`
steps    int32 [h]        sources of the stored edges, each as the difference from the one before
targets  int32 [h]        their targets
singles  uint8 [h]        1 for an edge that has no inverse
======== ===============  =====================================================================

Of two edges that are each other's inverse (hypernym and hyponym; antonyms) one is stored: the edge
of the relation that comes first in `RELATIONS`; if the relation is its own inverse, the edge from the
greater number to the smaller. Edges are in order of relation, source, target.
"""

from __future__ import annotations

import io
import lzma
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

NAME = "wordnet-3.0.xz"

FILES = (
    *("adj.all", "adj.pert", "adv.all", "noun.Tops", "noun.act", "noun.animal", "noun.artifact"),
    *("noun.attribute", "noun.body", "noun.cognition", "noun.communication", "noun.event", "noun.feeling"),
    *("noun.food", "noun.group", "noun.location", "noun.motive", "noun.object", "noun.person"),
    *("noun.phenomenon", "noun.plant", "noun.possession", "noun.process", "noun.quantity", "noun.relation"),
    *("noun.shape", "noun.state", "noun.substance", "noun.time", "verb.body", "verb.change"),
    *("verb.cognition", "verb.communication", "verb.competition", "verb.consumption", "verb.contact"),
    *("verb.creation", "verb.emotion", "verb.motion", "verb.perception", "verb.possession", "verb.social"),
    *("verb.stative", "verb.weather", "adj.ppl"),
)
"""Names of the lexicographer files by number."""

_PAIRS = (
    ("hypernym", "hyponym"),
    ("instance_hypernym", "instance_hyponym"),
    ("member_holonym", "member_meronym"),
    ("part_holonym", "part_meronym"),
    ("substance_holonym", "substance_meronym"),
    ("topic", "topic_member"),
    ("region", "region_member"),
    ("usage", "usage_member"),
)
_MUTUAL = ("antonym", "attribute", "derivation", "similar_to", "verb_group")
_OTHERS = (*("also_see", "cause", "derived_from_adjective", "entailment", "participle_of", "pertainym"),)

RELATIONS = (*(first for first, _ in _PAIRS), *(second for _, second in _PAIRS), *_MUTUAL, *_OTHERS)
"""Names of the relations by number."""

_INVERSE = np.array([*range(8, 16), *range(8), *range(16, 21), *[-1] * len(_OTHERS)])
"""Number of the inverse of each relation, -1 where there is none."""


@dataclass(frozen=True, eq=False)
class WordNet:
    """Synsets by number, and the edges between them in order of relation, source, target once packed.

    Parameters
    ----------
    words
        Words of each synset, separated by blanks.
    kinds, senses, files
        As in the file.
    relations, sources, targets
        One entry for each edge.
    """

    words: list[str]
    kinds: NDArray[np.uint8]
    senses: NDArray[np.uint8]
    files: NDArray[np.uint8]
    relations: NDArray[np.uint8]
    sources: NDArray[np.int32]
    targets: NDArray[np.int32]


def pack(found: WordNet) -> bytes:
    """Return the content of the file; the edges are in order of relation, source, target."""
    relations, sources, targets = found.relations, found.sources, found.targets
    size = len(found.words)
    inverse = _INVERSE[relations]
    keys = (relations.astype(np.int64) * size + sources) * size + targets
    paired = (inverse >= 0) & np.isin((inverse * size + targets) * size + sources, keys)
    first = np.where(inverse == relations, sources > targets, relations < inverse)
    kept = ~paired | first
    counts = np.bincount(relations[kept], minlength=len(RELATIONS))
    text = "".join(f"{words}\n" for words in found.words).encode()
    content = io.BytesIO()
    for array in (
        np.frombuffer(text, dtype=np.uint8),
        *(found.kinds, found.senses, found.files),
        counts.astype("<i4"),
        np.diff(sources[kept], prepend=0).astype("<i4"),
        targets[kept].astype("<i4"),
        (~paired[kept]).astype(np.uint8),
    ):
        np.lib.format.write_array(content, array, version=(1, 0), allow_pickle=False)
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "pb": 0, "lc": 4, "lp": 0}]
    return lzma.compress(content.getvalue(), format=lzma.FORMAT_XZ, filters=filters)


def unpack(packed: bytes) -> WordNet:
    """Return the input of `pack`, with the edges in another order."""
    content = io.BytesIO(lzma.decompress(packed))
    arrays: list[NDArray[Any]] = [np.lib.format.read_array(content, allow_pickle=False) for _ in range(8)]
    text, kinds, senses, files, counts, steps, targets, singles = arrays
    relations = np.repeat(np.arange(len(counts), dtype=np.uint8), counts)
    sources = np.cumsum(steps, dtype=np.int32)
    paired = singles == 0
    return WordNet(
        words=text.tobytes().decode().split("\n")[:-1],
        kinds=kinds,
        senses=senses,
        files=files,
        relations=np.concatenate([relations, _INVERSE[relations[paired]].astype(np.uint8)]),
        sources=np.concatenate([sources, targets[paired]]),
        targets=np.concatenate([targets, sources[paired]]),
    )
