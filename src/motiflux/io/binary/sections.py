"""Named arrays in one file that is mapped into memory: the container of ``.mfg`` files.

All numbers are little-endian.

    byte 0    8    magic: 89 'm' 'f' 'g' 0D 0A 1A 0A (a transfer as text breaks it)
         8    4    major version: a reader refuses an unknown one
         12   4    minor version: additions that a reader may ignore
         16   8    bytes of the whole file
         24   8    bytes of the table
         32   4    CRC-32 of the table
         36   4    CRC-32 of bytes 0 to 35
         40   24   zeros
         64   ...  the table, JSON: {"facts": {...},
                   "sections": [[name, type, shape, offset, bytes, CRC-32], ...]}
         ...       the sections, each at a multiple of 64 bytes, in the order of the table

Opening reads and checks the first 64 bytes and the table. The checksum of a section is compared only on
request. CRC-32 finds any damage of up to 32 bits in a row and all but one in 4 billion others; `zlib` has it,
near the speed of memory.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import re
import stat
import struct
import sys
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from motiflux.atomic import AtomicFile
from motiflux.errors import FormatError, OutputError
from motiflux.io.files.source import CHUNK_BYTES, open_source

MAJOR, MINOR = 1, 1
_MAGIC = b"\x89mfg\r\n\x1a\n"
_START = struct.Struct("<8sIIQQI")
_CHECKSUM = struct.Struct("<I")
_HEADER_BYTES = 64
_ALIGNMENT = 64
_DTYPE = re.compile(r"[|](?:b1|i1|u1)|<(?:[iu][248]|f[248]|U[1-9][0-9]{0,8})")


@dataclass(frozen=True, slots=True)
class Section:
    """The position of an array in the file, and its type and shape."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int
    checksum: int

    @property
    def end(self) -> int:
        """The first byte after it."""
        return self.offset + self.nbytes


def write_sections(
    path: Path, facts: Mapping[str, object], arrays: Mapping[str, NDArray[Any]], *, lasting: bool = True
) -> int:
    """Write a file of arrays; it appears under its name when all of it is on disk.

    Parameters
    ----------
    facts
        Any value that JSON can represent.
    arrays
        By name.
    lasting
        Whether it has to outlive a crash of the machine; else it is not waited for until it is on disk.

    Returns
    -------
    int
        Bytes of the file.

    Raises
    ------
    OutputError
        It cannot be written; nothing is left, and a file that was there is as it was.
    """
    if sys.byteorder != "little":
        raise OutputError(f"{path}: cannot be written: the format is little-endian, this machine is not")
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    sections = [
        Section(name, array.dtype.str, array.shape, 0, array.nbytes, _checksum(_bytes_of(array)))
        for name, array in arrays.items()
    ]
    table = _table(facts, _laid_out(sections, 2**40))  # offsets of the most digits: the table gets no longer
    placed = _laid_out(sections, _aligned(_HEADER_BYTES + len(table)))
    table = _table(facts, placed).ljust(len(table))
    size = max([section.end for section in placed], default=_HEADER_BYTES + len(table))
    with AtomicFile(path, lasting=lasting) as file:
        file.write(_header(size, table) + table)
        at = _HEADER_BYTES + len(table)
        for section in placed:
            file.write(bytes(section.offset - at))
            for chunk in _chunks(_bytes_of(arrays[section.name])):
                file.write(chunk)
            at = section.end
    return size


MONITOR = "monitor"
"""The fact that a saved monitor has, and a graph has not."""


def refuse_monitor(path: Path) -> None:
    """Refuse a file that holds a saved monitor, whatever its name is.

    Raises
    ------
    FormatError
        It holds one; names the call that reads it.
    """
    try:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                return
        facts = SectionFile(path).facts
    except (OSError, ValueError):  # there is no such file, or it is damaged, or no such file at all
        return
    if MONITOR in facts:
        raise FormatError(path, SAVED_MONITOR)


SAVED_MONITOR = (
    "found a saved monitor, expected a graph: Monitor.load reads it, and Monitor.snapshot returns its graph"
)


class SectionFile:
    """A file of arrays, mapped.

    The arrays are read-only and stay valid as long as they are held, even when another file takes the name.
    If the file itself were truncated meanwhile, an access to a missing part would end the process (SIGBUS).

    Parameters
    ----------
    path
        The file.

    Attributes
    ----------
    facts
        The data written in addition to the arrays.
    sections
        By name.

    Raises
    ------
    FormatError
        It cannot be opened, is of a newer version, or its header or table is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with open_source(path) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise self.fault("found no regular file, expected one that can be mapped into memory")
            table = self._read_table(file, status.st_size)
            self.facts, self.sections = self._parse(table, status.st_size)
            try:
                self._map = mmap.mmap(file.fileno(), status.st_size, access=mmap.ACCESS_READ)
            except (OSError, ValueError) as error:
                raise self.fault(f"cannot be mapped into memory: {error}") from error

    def fault(self, message: str) -> FormatError:
        """Return an error about this file."""
        return FormatError(self.path, message)

    def array(self, name: str, dtypes: str, shape: tuple[int, ...] | int) -> NDArray[Any]:
        """Return an array, mapped: nothing of it is read.

        Parameters
        ----------
        dtypes
            The types it may have, separated by blanks; ``<U`` means strings of any width.
        shape
            The shape it must have, or for any shape the number of its dimensions.

        Raises
        ------
        FormatError
            There is no section of this name, type and shape.
        """
        section = self.sections.get(name)
        if section is None:
            raise self.fault(f"section {name}: found none, expected one")
        kind = "<U" if section.dtype.startswith("<U") else section.dtype
        fits = len(section.shape) == shape if isinstance(shape, int) else section.shape == shape
        if kind not in dtypes.split() or not fits:
            expected = f"{shape} dimensions" if isinstance(shape, int) else str(list(shape))
            found = f"{section.dtype} {list(section.shape)}"
            raise self.fault(f"section {name}: found {found}, expected {dtypes} {expected}")
        if not section.nbytes:
            return _read_only(np.zeros(section.shape, dtype=section.dtype))
        return np.ndarray(section.shape, section.dtype, self._map, section.offset)

    def sound_array(self, name: str, dtypes: str, shape: tuple[int, ...] | int) -> NDArray[Any]:
        """Return an array as `array` does, after its checksum was compared.

        Raises
        ------
        FormatError
            As `array` does, or the section is damaged.
        """
        array = self.array(name, dtypes, shape)
        self._compare([self.sections[name]])
        return array

    def verify(self) -> None:
        """Compare the checksums of all sections.

        Raises
        ------
        FormatError
            With the names of the damaged sections.
        """
        self._compare(self.sections.values())

    def _compare(self, sections: Any) -> None:
        content = memoryview(self._map)
        damaged = [one.name for one in sections if _checksum(content[one.offset : one.end]) != one.checksum]
        if damaged:
            what = "section" if len(damaged) == 1 else "sections"
            raise self.fault(f"{what} {', '.join(damaged)}: found another checksum than when it was written")

    def _read_table(self, file: BinaryIO, size: int) -> bytes:
        header = file.read(_HEADER_BYTES)
        if not header.startswith(_MAGIC):
            raise self.fault("found no .mfg file, expected one (its first bytes are others)")
        if len(header) < _HEADER_BYTES:
            raise self.fault(f"found {size} bytes, expected at least {_HEADER_BYTES}: the file is cut short")
        _, major, _, file_bytes, table_bytes, table_checksum = _START.unpack_from(header)
        if major != MAJOR:
            age = "a newer motiflux" if major > MAJOR else "no motiflux"
            raise self.fault(f"found format {major}, written by {age}; expected format {MAJOR}")
        if _CHECKSUM.unpack_from(header, _START.size)[0] != _checksum(memoryview(header)[: _START.size]):
            raise self.fault("the header is damaged: found another checksum than when it was written")
        if any(header[_START.size + _CHECKSUM.size :]):
            raise self.fault("the header is damaged: found other bytes than zeros at its end")
        if size != file_bytes:
            state = "cut short" if size < file_bytes else "longer than it was"
            raise self.fault(f"found {size} bytes, expected {file_bytes}: the file is {state}")
        table = file.read(table_bytes) if table_bytes <= size else b""
        if len(table) != table_bytes:
            raise self.fault(f"the header is damaged: found a table of {table_bytes} bytes in a smaller file")
        if _checksum(memoryview(table)) != table_checksum:
            raise self.fault("the table is damaged: found another checksum than when it was written")
        return table

    def _parse(self, table: bytes, size: int) -> tuple[dict[str, Any], dict[str, Section]]:
        try:
            content = json.loads(table)
            facts, rows = content["facts"], content["sections"]
            sections = [Section(name, dtype, tuple(shape), *rest) for name, dtype, shape, *rest in rows]
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise self.fault(f"the table is damaged: {type(error).__name__}: {error}") from None
        if not isinstance(facts, dict):
            raise self.fault("the table is damaged: found no facts")
        end = _HEADER_BYTES + len(table)
        by_name: dict[str, Section] = {}
        for section in sections:
            fault = _section_fault(section, end, size)
            if fault or section.name in by_name:
                raise self.fault(f"section {section.name!r}: {fault or 'found two, expected one'}")
            by_name[section.name] = section
            end = section.end
        return facts, by_name


def _section_fault(section: Section, start: int, size: int) -> str:
    """Return the error in an entry of the table; sections follow each other from `start` on."""
    numbers: list[Any] = [*section.shape, section.offset, section.nbytes, section.checksum]
    if not all(isinstance(text, str) for text in (section.name, section.dtype)):
        return "found no name and type, expected strings"
    if not all(type(number) is int and number >= 0 for number in numbers):
        return "found other than integers of at least 0 for its place"
    if not _DTYPE.fullmatch(section.dtype):
        return f"found the type {section.dtype!r}, expected that of a plain array"
    if (
        section.nbytes != math.prod(section.shape) * np.dtype(section.dtype).itemsize
        or len(section.shape) > 2
    ):
        return f"found {section.nbytes} bytes, which do not make {section.dtype} {list(section.shape)}"
    if section.offset % _ALIGNMENT or section.offset < start or section.end > size:
        return (
            f"found it in bytes {section.offset} to {section.end}, "
            f"expected a multiple of {_ALIGNMENT} from {start} on, before byte {size}"
        )
    return ""


def _laid_out(sections: list[Section], start: int) -> list[Section]:
    placed = []
    for one in sections:
        placed.append(Section(one.name, one.dtype, one.shape, start, one.nbytes, one.checksum))
        start = _aligned(start + one.nbytes)
    return placed


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT


def _table(facts: Mapping[str, object], sections: list[Section]) -> bytes:
    rows = [[one.name, one.dtype, one.shape, one.offset, one.nbytes, one.checksum] for one in sections]
    return json.dumps({"facts": facts, "sections": rows}).encode("ascii")


def _header(size: int, table: bytes) -> bytes:
    start = _START.pack(_MAGIC, MAJOR, MINOR, size, len(table), _checksum(memoryview(table)))
    return (start + _CHECKSUM.pack(_checksum(memoryview(start)))).ljust(_HEADER_BYTES, b"\0")


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data if array.size else memoryview(b"")


def _chunks(content: memoryview) -> Iterator[memoryview]:
    """Yield pieces: between two of them Ctrl-C is answered."""
    for start in range(0, len(content), CHUNK_BYTES):
        yield content[start : start + CHUNK_BYTES]


def _checksum(content: memoryview) -> int:
    checksum = 0
    for chunk in _chunks(content):
        checksum = zlib.crc32(chunk, checksum)
    return checksum


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array
