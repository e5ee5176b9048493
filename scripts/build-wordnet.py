#!/usr/bin/env python3
"""Builds the WordNet graph that motiflux brings with it, from the database files of WordNet 3.0.

usage: build-wordnet.py FOLDER [OUTPUT]

FOLDER holds data.noun, index.noun and so on. Debian has them in its package wordnet-base:

    apt-get download wordnet-base && dpkg-deb -x wordnet-base_*.deb unpacked
    scripts/build-wordnet.py unpacked/usr/share/wordnet

The same files give the same bytes, with the same version of liblzma. What is in OUTPUT, and how it is laid
out, is said in ``src/motiflux/datasets/wordnet_file.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from motiflux.datasets import wordnet_file
from motiflux.datasets.wordnet_file import RELATIONS, WordNet

PARTS_OF_SPEECH = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
OUTPUT = Path(__file__).resolve().parents[1] / "src/motiflux/datasets" / wordnet_file.NAME

# Pointer symbols by what they are called in the file format's manual (wndb). A backslash means one thing at
# an adjective and another at an adverb.
POINTERS = {
    "!": "antonym",
    "@": "hypernym",
    "@i": "instance_hypernym",
    "~": "hyponym",
    "~i": "instance_hyponym",
    "#m": "member_holonym",
    "#s": "substance_holonym",
    "#p": "part_holonym",
    "%m": "member_meronym",
    "%s": "substance_meronym",
    "%p": "part_meronym",
    "=": "attribute",
    "+": "derivation",
    ";c": "topic",
    "-c": "topic_member",
    ";r": "region",
    "-r": "region_member",
    ";u": "usage",
    "-u": "usage_member",
    "*": "entailment",
    ">": "cause",
    "^": "also_see",
    "$": "verb_group",
    "&": "similar_to",
    "<": "participle_of",
}
PERTAINS = {"a": "pertainym", "r": "derived_from_adjective"}


@dataclass(frozen=True)
class Synset:
    """One line of a data file."""

    part_of_speech: str
    offset: str
    kind: str
    file: int
    words: list[str]
    pointers: list[tuple[str, tuple[str, str]]]


def read_synsets(folder: Path, part_of_speech: str) -> Iterator[Synset]:
    """Yield the synsets of one data file in its order, which is that of their offsets."""
    path = folder / f"data.{PARTS_OF_SPEECH[part_of_speech]}"
    for line in path.read_text(encoding="ascii").splitlines():
        if line.startswith(" "):  # the licence
            continue
        fields = line.partition(" | ")[0].split()
        count = int(fields[3], 16)
        words = [word.partition("(")[0] for word in fields[4 : 4 + 2 * count : 2]]
        first = 5 + 2 * count
        pointers = []
        for at in range(first, first + 4 * int(fields[first - 1]), 4):
            symbol, offset, target = fields[at : at + 3]
            relation = PERTAINS[part_of_speech] if symbol == "\\" else POINTERS[symbol]
            pointers.append((relation, (target, offset)))
        yield Synset(part_of_speech, fields[0], fields[2], int(fields[1]), words, pointers)


def read_senses(folder: Path, part_of_speech: str) -> dict[tuple[str, str], int]:
    """Return the sense number, from 1, of each word in each of its synsets, by word and offset."""
    path = folder / f"index.{PARTS_OF_SPEECH[part_of_speech]}"
    senses = {}
    for line in path.read_text(encoding="ascii").splitlines():
        if not line.startswith(" "):
            fields = line.split()
            for number, offset in enumerate(fields[-int(fields[2]) :], start=1):
                senses[fields[0], offset] = number
    return senses


def read_wordnet(folder: Path) -> WordNet:
    """Return the graph: each (source, relation, target) once, pointers of a synset to itself left out."""
    synsets = [synset for part in PARTS_OF_SPEECH for synset in read_synsets(folder, part)]
    senses = {part: read_senses(folder, part) for part in PARTS_OF_SPEECH}
    numbers = {(synset.part_of_speech, synset.offset): number for number, synset in enumerate(synsets)}
    edges = set()
    for number, synset in enumerate(synsets):
        for relation, target in synset.pointers:
            if numbers[target] != number:
                edges.add((RELATIONS.index(relation), number, numbers[target]))
    columns = np.array(sorted(edges), dtype=np.int32).T
    return WordNet(
        words=[" ".join(synset.words) for synset in synsets],
        kinds=np.frombuffer("".join(synset.kind for synset in synsets).encode(), dtype=np.uint8),
        senses=np.array(
            [senses[one.part_of_speech][one.words[0].lower(), one.offset] for one in synsets], dtype=np.uint8
        ),
        files=np.array([synset.file for synset in synsets], dtype=np.uint8),
        relations=columns[0].astype(np.uint8),
        sources=columns[1],
        targets=columns[2],
    )


def main(arguments: list[str]) -> None:
    """Build the file that the arguments ask for."""
    if len(arguments) not in (1, 2):
        sys.exit(__doc__)
    folder, output = Path(arguments[0]), Path(arguments[1]) if len(arguments) == 2 else OUTPUT
    found = read_wordnet(folder)
    content = wordnet_file.pack(found)
    output.write_bytes(content)
    print(f"{output}: {len(found.words):,} synsets, {len(found.sources):,} edges, {len(content):,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
