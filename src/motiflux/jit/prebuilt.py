"""Compiled units that come with the package: one archive for each architecture.

`make wheels` writes the archives (``scripts/build-kernels.py``). An installation from source has none.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from motiflux.errors import MotifluxWarning
from motiflux.jit.archives import FOLDER
from motiflux.jit.base import Source
from motiflux.jit.key import source_key
from motiflux.jit.nvrtc import options_of

if TYPE_CHECKING:
    from zipfile import ZipFile

_NAME = re.compile(r"(?P<family>sm_\d*)(?P<minor>\d)", re.ASCII)


class PrebuiltKernels:
    """The archive of one architecture.

    Safe to use from several threads. A damaged archive causes one warning, and has no kernels.

    Parameters
    ----------
    archive
        The file; None if there is none.
    """

    def __init__(self, archive: Path | None) -> None:
        self.archive = archive
        self._lock = threading.RLock()
        self._file: ZipFile | None = None

    @classmethod
    def for_architecture(cls, arch: str, folder: Path = FOLDER) -> PrebuiltKernels:
        """Return the archive for a device.

        The archive is for the device's architecture, or for an older one with the same major version, whose
        code the device runs too: an ``sm_89`` runs code for ``sm_80``.
        """
        found = _NAME.fullmatch(arch)
        if found is None:
            return cls(None)
        for minor in range(int(found["minor"]), -1, -1):
            archive = folder / f"{found['family']}{minor}.zip"
            if archive.is_file():
                return cls(archive)
        return cls(None)

    def get(self, source: Source, headers: str) -> bytes | None:
        """Return the image of `source` with these headers; None if the archive does not have it.

        Parameters
        ----------
        headers
            The result of `headers_digest`.
        """
        with self._lock:
            archive = self.archive
            if archive is None:
                return None
            try:
                if self._file is None:
                    self._file = _opened(archive)
                return self._file.read(entry_name(source, headers))
            except KeyError:
                return None
            except Exception as error:  # noqa: BLE001 - damage shows as errors of zipfile, lzma, struct and others
                self.archive, why = None, error
        warnings.warn(
            f"{archive}: expected an archive of kernels, found one that cannot be read ({why}): they are "
            "compiled here, which takes longer; install motiflux anew",
            MotifluxWarning,
            stacklevel=2,
        )
        return None

    def __len__(self) -> int:
        """Return the number of units."""
        if self.archive is None:
            return 0
        try:
            with _opened(self.archive) as file:
                return len(file.namelist())
        except Exception:  # noqa: BLE001 - as above
            return 0

    def start_anew(self) -> None:
        """Have the archive opened again when needed: a forked child shares the position in the file."""
        self._lock = threading.RLock()
        self._file = None


def entry_name(source: Source, headers: str) -> str:
    """Return the name of a unit in an archive: a digest of its text, headers and options."""
    return f"{source_key({'options': options_of(line_table=False)}, headers, source)}.cubin"


def _opened(archive: Path) -> ZipFile:
    # Imported here: some Python installations lack lzma, which motiflux needs for nothing else.
    from zipfile import ZipFile

    return ZipFile(archive)


def write_archive(path: Path, images: Iterable[tuple[Source, bytes]], headers: str) -> None:
    """Write the archive of one architecture. Equal images give equal bytes."""
    import zipfile

    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as file:
        for source, image in images:
            entry = zipfile.ZipInfo(entry_name(source, headers))  # with the date 1980, not the current time
            entry.compress_type = zipfile.ZIP_LZMA
            entry.external_attr = 0o644 << 16
            file.writestr(entry, image)
