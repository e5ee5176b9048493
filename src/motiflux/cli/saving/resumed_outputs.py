"""The outputs of a saved run that a later run continues: found and compared before any is changed."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from motiflux.cli.exits import UsageError
from motiflux.cli.saving.moved_files import Content, absolute, beside, bytes_content, is_standard, relative_to
from motiflux.errors import OutputError
from motiflux.io.files.sinks import split_suffix
from motiflux.units import quantity

_END_OF_ARROW = 8
"""Bytes that mark the end of an Arrow stream."""

_ADVICE = "give the file of the saved run with -o, or begin a new run without --resume"

Facts = Mapping[str, Any]
"""An output in a checkpoint: ``name``, ``relative``, ``kept`` and ``content``."""


def facts_of(saved: Path, name: str, kept: int | None) -> dict[str, Any]:
    """Return the facts of an output.

    Parameters
    ----------
    saved
        The checkpoint.
    name
        The output.
    kept
        How much of it stays, as `FileSink.mark` returns it.
    """
    return {
        "name": absolute(name),
        "relative": relative_to(saved, name),
        "kept": kept,
        "content": None if kept is None else _content(Path(name), kept),
    }


def _content(path: Path, kept: int) -> Content | None:
    if path.suffix.lower() != ".arrow":
        return bytes_content(path, kept)
    from motiflux.stream.sinks.arrow_rows import stored_kinds

    with suppress(OSError):  # of a file that is gone; OutputError is one
        # Its mark counts rows, and the mark of its end goes.
        content = bytes_content(path, max(0, path.stat().st_size - _END_OF_ARROW))
        return None if content is None else {**content, "time": stored_kinds(path)["time_kind"]}
    return None


def continued(saved: Path, outputs: Sequence[Facts], given: Sequence[Path]) -> list[Path]:
    """Return the outputs that a run continues; all have the content that they had when they were saved.

    Parameters
    ----------
    saved
        The checkpoint.
    outputs
        The outputs in it.
    given
        The outputs of the command line, in the same order; none: those that were saved, which may have been
        moved together with the checkpoint.

    Raises
    ------
    UsageError
        Names the first output that cannot be continued.
    """
    if not outputs:
        return list(given)
    places = list(given) or _places(saved, outputs)
    if len(places) != len(outputs) or not all(map(_is_same_kind, places, outputs)):
        names = ", ".join(one["name"] for one in outputs)
        raise UsageError(
            f"--output: expected the outputs of {saved} in their order, {names}; "
            f"found {', '.join(map(str, places))}"
        )
    for place, one in zip(places, outputs, strict=True):
        if not is_standard(str(place)) and (found := _fault(place, one)) is not None:
            raise UsageError(f"{'--output' if given else f'--resume {saved}'}: {found}; {_ADVICE}")
    return places


def _places(saved: Path, outputs: Sequence[Facts]) -> list[Path]:
    """Return where the outputs are: if one of them was moved together with the checkpoint, all were."""
    names = [Path(one["name"]) for one in outputs]
    relative = [one["relative"] for one in outputs]
    here = [name if one is None else beside(saved, one) for name, one in zip(names, relative, strict=True)]
    was_moved = any(place.exists() and place != name for place, name in zip(here, names, strict=True))
    return here if was_moved else names


def _is_same_kind(place: Path, one: Facts) -> bool:
    name, before = str(place), str(one["name"])
    if is_standard(name) or is_standard(before):
        return name == before
    return split_suffix(place) == split_suffix(Path(before))


def _fault(place: Path, one: Facts) -> str | None:
    """Return what is wrong with a file that should have the content that the saved run had written."""
    name, content, kept = one["name"], one["content"], one["kept"]
    is_same = absolute(str(place)) == name
    if kept is None:
        if place.exists() and not is_same:
            return f"expected a new file, as the saved run had written nothing to {name}, found {place}"
        return None
    if not place.is_file():
        return f"expected the output {place}, found no such file"
    if content is not None and (_agrees(place, content) or (is_same and _is_widened(place, content))):
        return None
    size = quantity(content["amount"] if content is not None else kept, "byte")
    where = "" if is_same else f" to {name}"
    found = quantity(place.stat().st_size, "byte")
    return (
        f"expected the output {place} to begin with the {size} that the saved run wrote{where}, "
        f"found others in its {found}"
    )


def _agrees(place: Path, content: Content) -> bool:
    found = bytes_content(place, content["amount"])
    return found is not None and found["sha256"] == content["sha256"]


def _is_widened(place: Path, content: Content) -> bool:
    """Return whether the file was rewritten after it was saved, as fractional times followed integers."""
    from motiflux.stream.sinks.arrow_rows import stored_kinds

    if content.get("time") != "i" or place.suffix.lower() != ".arrow":
        return False
    with suppress(OutputError):  # another file is there
        return bool(stored_kinds(place)["time_kind"] == "f")
    return False
