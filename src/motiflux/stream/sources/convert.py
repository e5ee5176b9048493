"""The source argument of `Monitor.run`, converted to sources."""

from __future__ import annotations

import os
import queue
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from types import NoneType
from typing import Any, Protocol, TypeGuard, runtime_checkable

from motiflux.arguments import check_integer
from motiflux.errors import ArgumentError, FormatError
from motiflux.interop.tables import Table, open_table
from motiflux.io.arrow import ipc, parquet
from motiflux.io.arrow.tables import naming
from motiflux.io.files.source import format_suffix
from motiflux.stream.sources.columns import Name, StreamColumns
from motiflux.stream.sources.missing_ids import MISSING
from motiflux.stream.sources.reading import FileReader, PipeReader, is_regular
from motiflux.stream.sources.rows import QueueSource, RowSource, is_table
from motiflux.stream.sources.source import BEGIN, ON_ERROR, Position, Source
from motiflux.stream.sources.tables import TableSource
from motiflux.stream.sources.text import LINES, TEXT_FORMATS, TextSource
from motiflux.stream.updates import Updates

STDIN = "-"
"""The name of standard input."""

_TABLE_FILES: dict[str, Callable[[Path, Any, int | None], Table]] = {
    ".parquet": parquet.open_file,
    ".arrow": ipc.open_file,
    ".feather": ipc.open_file,
}


@runtime_checkable
class Readable(Protocol):
    """An open pipe or socket."""

    def fileno(self) -> int:
        """Return its descriptor."""


def is_readable(source: object) -> TypeGuard[Readable]:
    """Return whether an object has a descriptor."""
    if not isinstance(source, Readable):
        return False
    with suppress(OSError, ValueError):  # text in memory, or closed
        return source.fileno() >= 0
    return False


STREAM_FORMATS = (*TEXT_FORMATS, *_TABLE_FILES)
"""Suffixes of files of updates; text may have ``.gz`` or ``.zst`` after it."""


def open_source(
    path: str | os.PathLike[str] | Readable,
    *,
    columns: Mapping[str, Name] | None = None,
    format: str | None = None,  # noqa: A002
    header: bool | None = None,
    sep: str | None = None,
    follow: bool = False,
    on_error: str = "stop",
    missing: str = "error",
    start: Position | tuple[int, int] = BEGIN,
) -> Source:
    r"""Open a file of updates.

    Parameters
    ----------
    path
        ``.stream``, ``.csv``, ``.tsv`` (also ``.gz``, ``.zst``), ``.parquet``, ``.arrow``; ``"-"`` is
        standard input. Or an open pipe or socket, an object with `fileno`, that nothing was read from.
    columns
        Columns of a table, by name or position, for the parts ``op`` (``+`` or ``-``; without it, all updates
        are insertions), ``src``, ``dst``, ``label``, ``time``, ``src_label`` and ``dst_label``, which are
        also the default column names. Without ``src`` and ``dst``, two names that mean the ends of an edge,
        such as ``payer`` and ``payee``, are taken.
    format
        One of the suffixes, if the name has none; the default for standard input, pipes and sockets is
        ``.stream``.
    header
        Whether the first record of text holds the column names; None: unless it begins with an op.
    sep
        Field separator of text.
    follow
        Whether to wait at the end for appended lines. A line is read when its line end is there.
    on_error
        Handling of a malformed line: ``"stop"`` with an error that names it, after all previous updates, or
        ``"skip"`` and count it.
    missing
        Meaning of a word for a missing value, such as ``nan`` or ``NULL``, that is an id: ``"error"``, its
        line is malformed, or ``"keep"``, it is a name.
    start
        Start position: the position of a batch, or `Monitor.source_position`.

    Raises
    ------
    ArgumentError
        An option is not allowed for the format.
    FormatError
        The suffix is unknown. The content of the file is checked when it is read.

    Examples
    --------
    >>> import tempfile, pathlib, motiflux as mf
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "friends.stream")
    >>> _ = path.write_text("e 1 2\ne 2 3\n-e 1 2\n")
    >>> graph = mf.Graph.from_edges([(3, 4)])
    >>> with mf.Monitor(graph, "(a)--(b)", symmetry="subgraphs") as monitor:
    ...     [int(delta[0].net) for delta in monitor.run(mf.open_source(path))]
    [1]
    >>> folder.cleanup()
    """
    _check_on_error(on_error)
    if missing not in MISSING:
        raise ArgumentError("missing", "'error' or 'keep'", missing)
    pipe = None if isinstance(path, (str, os.PathLike)) else path
    if not (str(path) if pipe is None else is_readable(pipe)):
        raise ArgumentError("path", "the name of a file, '-', or an open pipe or socket", path)
    given = StreamColumns.of(columns)
    begin = _position(start)
    is_stdin = pipe is None and str(path) == STDIN
    name = "standard input" if is_stdin else _name_of(path)
    file = Path(name)
    if not isinstance(format, (str, NoneType)):
        raise ArgumentError("format", ", ".join(STREAM_FORMATS), format)
    if is_stdin:
        pipe = sys.stdin
    form = format if format is not None else (LINES if pipe is not None else format_suffix(file))
    form = form if form.startswith(".") else f".{form}"
    if form not in STREAM_FORMATS:
        expected = ", ".join(STREAM_FORMATS)
        if format is not None:
            raise ArgumentError("format", expected, format)
        raise FormatError(file, f"found suffix {file.suffix!r}, expected {expected}")
    if form in TEXT_FORMATS:
        if pipe is not None and follow:
            raise ArgumentError("follow", f"a file: {name} is waited for anyway", STDIN if is_stdin else path)
        reader = FileReader(file, follow=follow) if pipe is None else PipeReader(pipe, name)
        return TextSource(
            reader,
            form,
            columns=given,
            header=header,
            sep=sep,
            on_error=on_error,
            missing=missing,
            start=begin,
        )
    for argument, value in (("follow", follow or None), ("header", header), ("sep", sep)):
        if value is not None:
            raise ArgumentError(argument, "a file of text", str(path))
    if pipe is not None:
        raise ArgumentError("format", f"one of text for {name}: {', '.join(TEXT_FORMATS)}", form)

    @contextmanager
    def opened() -> Iterator[Table]:
        with naming(file, given=given != StreamColumns()) as pa:
            yield _TABLE_FILES[form](file, pa, None)

    return TableSource(
        opened,
        str(file),
        columns=given,
        on_error=on_error,
        missing=missing,
        start=begin,
        can_repeat=is_regular(file),
    )


def _name_of(path: str | os.PathLike[str] | Readable) -> str:
    if isinstance(path, (str, os.PathLike)):
        return os.fspath(path)
    name = getattr(path, "name", None)
    return name if isinstance(name, str) else type(path).__name__


def _check_on_error(on_error: str) -> None:
    if not isinstance(on_error, str) or on_error not in ON_ERROR:
        raise ArgumentError("on_error", "'stop' or 'skip'", on_error)


def _position(start: object) -> Position:
    if not isinstance(start, (tuple, list)) or len(start) != 2:
        raise ArgumentError("start", "the position of a batch: two numbers", start)
    return Position(*(check_integer("start", number, 0) for number in start))


def as_source(source: object, *, on_error: str = "stop") -> Source:
    """Return a source of updates as a `Source`: itself, a file, a queue, a table, `Updates`, or any iterable.

    Raises
    ------
    ArgumentError
        It has another type.
    """
    _check_on_error(on_error)
    if isinstance(source, Source):
        return source
    if isinstance(source, (str, os.PathLike)):
        return open_source(source, on_error=on_error)
    if is_readable(source):
        return open_source(source, on_error=on_error)
    if isinstance(source, queue.Queue) or (hasattr(source, "get") and hasattr(source, "put")):
        return QueueSource(source, on_error=on_error)
    if isinstance(source, Updates):
        return RowSource((source,), on_error=on_error)
    if is_table(source):
        return TableSource(lambda: nullcontext(open_table(source, "table")), "table", on_error=on_error)
    if isinstance(source, Iterable):
        return RowSource(source, on_error=on_error)
    raise ArgumentError("source", "a file, a queue, a table, Updates, or an iterable of rows", source)
