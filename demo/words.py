"""Three queries on WordNet, the graph bundled with motiflux."""

from __future__ import annotations

from rich.console import Console
from show import heading, say, table, timed

import motiflux as mf

QUERIES = {
    "antonymous adjectives whose derived nouns are antonyms too": (
        "(one:`adj.all`)-[:antonym]->(other:`adj.all`), "
        "(one)-[:derivation]->(noun:`noun.attribute`)-[:antonym]->(contrary:`noun.attribute`), "
        "(other)-[:derivation]->(contrary)"
    ),
    "capitals, their countries and the inhabitants": (
        "(town:`noun.location`)-[:instance_hypernym]->(kind {words: 'national capital'}), "
        "(town)-[:part_holonym]->(country:`noun.location`)-[:member_meronym]->(people:`noun.person`)"
    ),
    "artifacts with two hypernyms that share a hypernym": (
        "(thing:`noun.artifact`)-[:hypernym]->(one:`noun.artifact`)-[:hypernym]->(whole:`noun.artifact`), "
        "(thing)-[:hypernym]->(other:`noun.artifact`)-[:hypernym]->(whole)"
    ),
}
SHOWN = 4


def run(console: Console) -> None:
    """Count, show the first rows with names, and the plan of the last query."""
    with timed(console, "loaded WordNet"):
        graph = mf.datasets.wordnet()
    kinds = len(graph.edge_label_table)
    say(console, f"{graph.num_vertices:,} synsets, {graph.num_edges:,} relations of {kinds} kinds")
    for title, text in QUERIES.items():
        pattern = mf.Pattern.parse(text, name=title)
        count = mf.count(graph, pattern, symmetry="subgraphs")
        rows = mf.match(graph, pattern, symmetry="subgraphs", names=True)
        heading(
            console,
            f"{title[0].upper()}{title[1:]}: {int(count):,}, found in {1000 * count.seconds:.1f} ms",
        )
        first = sorted(rows.to_numpy().tolist())[:SHOWN]
        console.print(table([vertex.name for vertex in pattern.vertices], first))
    heading(console, "The plan of the last query")
    say(console, str(mf.explain(graph, pattern, symmetry="subgraphs")))
