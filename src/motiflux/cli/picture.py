"""The picture that ``motiflux match --picture`` draws."""

# Annotations stay evaluated in this package (no `from __future__ import annotations`): typer reads them.
import os
from pathlib import Path
from typing import Annotated

import typer

from motiflux.cli import options as opt
from motiflux.cli.exits import UsageError
from motiflux.cli.search import Search

PictureOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        parser=opt.file_name,
        help="Draw one occurrence, found by a separate search, to an .svg file. No occurrence, no file.",
        show_default=False,
    ),
]


def check_picture(path: Path, output: Path | None) -> None:
    """Raise an error early if the picture file is not writable, is no .svg or is the file of the rows."""
    from motiflux.atomic import check_place
    from motiflux.draw.picture import check_svg_name

    check_place(path)
    if output is not None and os.path.realpath(path) == os.path.realpath(output):
        raise UsageError(f"{path}: expected different files for the picture and the rows")
    check_svg_name(path)


def draw_first(inputs: opt.Inputs, path: Path, search: Search) -> bool:
    """Draw the first occurrence that a search finds; return whether there was one."""
    import motiflux as mf

    one = {**search.keywords(), "limit": 1, "devices": None}
    pattern = inputs.pattern
    assert isinstance(pattern, mf.Pattern)
    rows = mf.match(inputs.graph, pattern, **one).to_numpy()
    if len(rows):
        attributes = list(dict.fromkeys([*inputs.graph.edge_attributes, *inputs.graph.vertex_attributes]))
        picture = mf.draw_match(
            inputs.graph, pattern, rows[0], attributes=attributes[:2], semantics=search.semantics.value
        )
        picture.save(path)
    return len(rows) > 0
