"""Edges into files as they are drawn, never all in memory."""

from __future__ import annotations

import os
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from motiflux.atomic import AtomicFile, check_place
from motiflux.errors import MotifluxWarning, OutputError
from motiflux.generate.base import EdgeColumns, EdgeSource, Progress, reporting
from motiflux.graph import Column
from motiflux.interop.strings import StringTable
from motiflux.io.binary.npz_writer import write_member
from motiflux.io.files.sinks import CountingFile
from motiflux.io.text.csv_writer import TextTable
from motiflux.units import counted

if TYPE_CHECKING:
    from motiflux.types import Label

_Part = Callable[[EdgeColumns], NDArray[Any]]

_TEXT = (".txt", ".edges", ".el")
_SLICE_ROWS = 1 << 16


def write(
    generator: EdgeSource, path: str | os.PathLike[str], *, threads: int | None, progress: Progress
) -> int:
    """Draw into a file; see `Generator.write`."""
    output = Path(path)
    check_output(output)
    suffix = output.suffix.lower()
    _warn_of_losses(generator, output, suffix)
    if suffix == ".mfg":
        from motiflux.io import write_graph

        graph = generator.graph(threads=threads, progress=progress)
        write_graph(graph, output)
        return graph.num_edge_copies
    rows = getattr(generator, "num_rows", None)
    with AtomicFile(output) as file, reporting(progress, f"drawing {output.name}", rows) as update:
        if suffix == ".npz":
            return _write_npz(generator, file, threads, update)
        return _write_text(generator, file, threads, update, as_csv=suffix == ".csv")


def check_output(path: str | os.PathLike[str]) -> None:
    """Refuse a name that edges cannot be drawn into, before any work is done.

    Raises
    ------
    OutputError
        If the suffix is unknown, something is there that is no regular file, or the folder is missing or
        not writable.

    Examples
    --------
    >>> from motiflux.generate import check_output
    >>> check_output("graph.xlsx")
    Traceback (most recent call last):
    motiflux.errors.OutputError: graph.xlsx: found suffix '.xlsx', expected .npz .csv .txt .edges .el .mfg
    """
    output = Path(path)
    expected = (".npz", ".csv", *_TEXT, ".mfg")
    if output.suffix.lower() not in expected:
        found = f"suffix {output.suffix!r}" if output.suffix else "no suffix"
        raise OutputError(f"{output}: found {found}, expected {' '.join(expected)}")
    check_place(output)


def _warn_of_losses(generator: EdgeSource, output: Path, suffix: str) -> None:
    """Warn of data that the file does not hold."""
    lost = ["vertex labels"] if generator.vertex_label_names and suffix in (".csv", *_TEXT) else []
    if suffix in _TEXT:
        if any(isinstance(name, str) for name in generator.edge_label_names):
            lost.append("names of edge labels, which become numbers")
        if generator.edge_attribute_names:
            lost.append(f"edge attributes ({', '.join(generator.edge_attribute_names)})")
    if lost:
        message = f"{output}: left out, the file has no place for: {'; '.join(lost)}"
        warnings.warn(message, MotifluxWarning, stacklevel=4)  # where Generator.write was called


def _write_text(
    generator: EdgeSource,
    file: AtomicFile,
    threads: int | None,
    update: Callable[[int], None],
    *,
    as_csv: bool,
) -> int:
    rows = 0
    labelled = bool(generator.edge_label_names)
    if as_csv:
        names = ["src", "dst", *["label"] * labelled, *generator.edge_attribute_names]
        file.write((",".join(names) + "\n").encode())
    else:
        kind = "directed" if generator.is_directed else "undirected"
        what = "source target label" if labelled else "source target"
        size = counted(generator.num_vertices, "vertex")
        file.write(f"# {what}; {kind}, {size}\n".encode())
    strings = None
    if as_csv and any(isinstance(name, str) for name in generator.edge_label_names):
        strings = StringTable.of(map(str, generator.edge_label_names))
    table = TextTable(separator="," if as_csv else " ", name="a drawn graph")
    for block in generator.blocks(threads=threads):
        columns = [Column(block.sources), Column(block.targets)]
        if block.edge_labels is not None:
            columns.append(Column(block.edge_labels, None, strings))
        if as_csv:
            columns += [Column(values) for values in block.edge_attributes.values()]
        for start in range(0, len(block), _SLICE_ROWS):
            file.write(table.format(columns, slice(start, start + _SLICE_ROWS)))
        rows += len(block)
        update(rows)
    return rows


def _names(names: tuple[Label, ...]) -> NDArray[Any]:
    return np.array(names)


def _write_npz(
    generator: EdgeSource, file: AtomicFile, threads: int | None, update: Callable[[int], None]
) -> int:
    """Write an archive for `motiflux.read_graph`. Each member draws the edges again, so none is in memory."""
    rows = getattr(generator, "num_rows", None)
    if rows is None or getattr(generator, "draws_whole", False):
        rows = sum(len(block) for block in generator.blocks(threads=threads))

    def drawn(part: _Part, *, counted: bool = False) -> Iterator[NDArray[Any]]:
        done = 0
        for block in generator.blocks(threads=threads):
            yield part(block)
            done += len(block)
            if counted:
                update(done)

    with zipfile.ZipFile(cast("IO[bytes]", CountingFile(file)), "w", zipfile.ZIP_STORED) as archive:
        _add(archive, "directed", np.array(generator.is_directed))
        _add(archive, "num_vertices", np.array(generator.num_vertices))
        labels = generator.vertex_labels(threads=threads)
        if labels is not None:
            _add(archive, "vertex_labels", _names(generator.vertex_label_names)[labels])
        pairs = drawn(lambda block: np.column_stack([block.sources, block.targets]), counted=True)
        write_member(archive, "edges", np.dtype("<u4"), (rows, 2), pairs)
        if generator.edge_label_names:
            names = _names(generator.edge_label_names)
            chunks = drawn(lambda block: names[block.edge_labels])
            write_member(archive, "edge_labels", names.dtype, (rows,), chunks)
        for name in generator.edge_attribute_names:
            sample = next(generator.blocks(rows=1, threads=1), None)
            dtype = np.dtype(np.float64) if sample is None else sample.edge_attributes[name].dtype
            chunks = drawn(lambda block, name=name: block.edge_attributes[name])  # type: ignore[misc]
            write_member(archive, f"edge.{name}", dtype, (rows,), chunks)
    return int(rows)


def _add(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> None:
    write_member(archive, name, array.dtype, array.shape, [array])
