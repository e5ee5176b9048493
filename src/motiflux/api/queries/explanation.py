"""How the counts of the patterns of a query are put together, in words."""

from __future__ import annotations

from collections.abc import Sequence

from motiflux.api.queries.counts import Sum, Term
from motiflux.pattern import Pattern, Query
from motiflux.pattern.projection import Projection, projection_text, rows_text
from motiflux.types import Symmetry
from motiflux.units import quantity


def summary(query: Query, whole: Sum) -> str:
    """Return a line for the query, and one for each pattern or product of patterns that is counted."""
    number = sum(len(term.products) for term in whole.terms)
    lines = [f"query     {query}: the sum of {quantity(number, 'count')}"]
    at = 0
    for term in whole.terms:
        if term.listed is not None:
            patterns = [str(part.pattern) for case in term.listed.cases for part in case.parts]
            which = ", without an optional edge or path" if term.listed.absent else ""
            lines.append(f"  rows    {'; '.join(patterns)}{which}: counted one by one")
        for product, factor in term.products:
            at += 1
            lines.append(f"  {at:<8}{_product(product, factor)}{_how(term)}")
    return "\n".join(lines)


def summary_of_rows(
    query: Query, projection: Projection, patterns: Sequence[tuple[Pattern, Projection | None]]
) -> str:
    """Return a line for the distinct rows of a query, and one for each pattern that is searched."""
    asked = rows_text(query.vertex_names, projection)
    lines = [f"query     {query} {asked}: the different rows of {quantity(len(patterns), 'pattern')}"]
    for at, (pattern, of_rows) in enumerate(patterns, 1):
        how = "all rows are listed" if of_rows is None else projection_text(pattern, of_rows)
        lines.append(f"  {at:<8}{pattern}; {how}")
    return "\n".join(lines)


def _product(product: Sequence[Pattern], factor: int) -> str:
    sign = "" if factor == 1 else "minus " if factor == -1 else f"{factor} times "
    return sign + " times ".join(f"[{one}]" if len(product) > 1 else str(one) for one in product)


def _how(term: Term) -> str:
    if term.symmetry is Symmetry.EMBEDDINGS and term.divisor > 1:
        return f"; divided by {term.divisor} automorphisms"
    return ""
