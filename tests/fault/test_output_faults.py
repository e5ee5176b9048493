"""Outputs that cannot be written: an `OutputError`, nothing under the name, older files untouched."""

from __future__ import annotations

import errno
import io
import os
import resource
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import pytest

import motiflux as mf
from motiflux import atomic
from motiflux.io.writers import check_output, write_matches

if TYPE_CHECKING:
    from motiflux.types import IdArray

NAMES = ("rows.npy", "rows.csv", "rows.csv.gz", "rows.csv.zst", "rows.parquet", "rows.arrow")
BATCH = np.arange(4000).reshape(-1, 2)


class Batches:
    """Two batches, with something done between them."""

    columns = ["v0", "v1"]

    def __init__(self, between: Callable[[], None] = lambda: None) -> None:
        self._between = between

    def __iter__(self) -> Iterator[IdArray]:
        yield BATCH
        self._between()
        yield BATCH


class Untouched:
    """Matches that must not be searched for."""

    columns = ["v0", "v1"]

    def __iter__(self) -> Iterator[IdArray]:
        raise AssertionError("the search was started")


@pytest.fixture(params=NAMES)
def output(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Name an output beside an older file of that name, which must be all there is afterwards."""
    path = tmp_path / str(request.param)
    path.write_text("older")
    yield path
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "older"


def fail_with(error: BaseException) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise error

    return fail


@pytest.mark.parametrize("error", [RuntimeError("x"), mf.DeviceError("x"), OSError("x"), KeyboardInterrupt()])
def test_a_search_that_fails_leaves_nothing_and_its_error_is_passed_on(
    output: Path, error: BaseException
) -> None:
    with pytest.raises(type(error)) as caught:
        write_matches(Batches(fail_with(error)), output)
    assert caught.value is error


def test_files_of_killed_processes_are_removed_and_those_of_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = """
        import sys, time
        from pathlib import Path
        from motiflux.atomic import AtomicFile
        with AtomicFile(Path(sys.argv[1])) as file:
            file.write(b"x")
            print("open", flush=True)
            time.sleep(600)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "other.csv")]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE) as killed,
        subprocess.Popen(command, stdout=subprocess.PIPE) as alive,
    ):
        try:
            for process in (killed, alive):
                assert process.stdout is not None
                assert process.stdout.readline() == b"open\n"
            before = {path.stat().st_ino: path for path in tmp_path.iterdir()}
            assert len(before) == 2
            killed.kill()
            killed.wait()
            (tmp_path / ".motiflux-notes.tmp").write_text("not of motiflux")
            monkeypatch.setattr(atomic, "_looked_into", set())
            write_matches(Batches(), tmp_path / "rows.csv")
            left = [path for path in before.values() if path.exists()]
            files = Path(f"/proc/{alive.pid}/fd")
            opened = [path.stat().st_ino for path in files.iterdir() if path.exists()]
            assert [path.stat().st_ino in opened for path in left] == [True]
            others = {path.name for path in tmp_path.iterdir()} - {path.name for path in left}
            assert others == {".motiflux-notes.tmp", "rows.csv"}
        finally:
            alive.terminate()
            killed.kill()


def test_ctrl_c_leaves_nothing(output: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        write_matches(Batches(lambda: signal.raise_signal(signal.SIGINT)), output)


@pytest.mark.parametrize("name", NAMES)
def test_a_new_name_does_not_appear_when_writing_fails(tmp_path: Path, name: str) -> None:
    with pytest.raises(RuntimeError):
        write_matches(Batches(fail_with(RuntimeError())), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("buffer", [1, 2**20], ids=["while-writing", "at-the-end"])
def test_a_full_disk_is_reported(output: Path, monkeypatch: pytest.MonkeyPatch, buffer: int) -> None:
    create = atomic._create

    def create_on_full_disk(path: Path) -> BinaryIO:
        create(path).close()
        return Path("/dev/full").open("wb", buffering=max(buffer, 2))

    monkeypatch.setattr(atomic, "_create", create_on_full_disk)
    with pytest.raises(mf.OutputError) as caught:
        write_matches(Batches(), output)
    assert str(caught.value) == f"{output}: cannot be written: No space left on device"


@pytest.mark.turns(8)
@pytest.mark.parametrize("name", NAMES)
def test_a_file_size_limit_is_reported(tmp_path: Path, name: str) -> None:
    output = tmp_path / "out" / name
    output.parent.mkdir()
    output.write_text("older")
    program = """
        import sys
        import numpy as np
        import motiflux as mf
        from motiflux.io.writers import write_matches

        class Batches:
            columns = ["v0", "v1"]
            def __iter__(self):
                for _ in range(100):
                    yield np.arange(200_000).reshape(-1, 2)

        try:
            write_matches(Batches(), sys.argv[1])
        except mf.OutputError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(output)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{output}: cannot be written: File too large\n"
    assert [entry.name for entry in output.parent.iterdir()] == [name]
    assert output.read_text() == "older"


def test_a_failing_fsync_is_reported(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", fail_with(OSError(errno.EIO, os.strerror(errno.EIO))))
    with pytest.raises(mf.OutputError, match="cannot be written: Input/output error"):
        write_matches(Batches(), output)


def test_a_failing_close_of_a_file_that_nothing_waited_for_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class OverNetwork(io.FileIO):
        def close(self) -> None:
            if not self.closed:
                super().close()
                raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    monkeypatch.setattr(atomic, "_create", lambda path: OverNetwork(path, "x"))
    with (
        pytest.raises(mf.OutputError, match=os.strerror(errno.EDQUOT)),
        atomic.AtomicFile(tmp_path / "run", lasting=False) as file,
    ):
        file.write(b"numbers")


def test_a_failing_rename_is_reported(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "replace", fail_with(OSError(errno.EPERM, os.strerror(errno.EPERM))))
    with pytest.raises(mf.OutputError, match="cannot be written: Operation not permitted"):
        write_matches(Batches(), output)


def test_ctrl_c_at_the_end_leaves_nothing(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", fail_with(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        write_matches(Batches(), output)


def test_a_folder_where_nothing_can_be_created_is_reported() -> None:
    if not Path("/proc/self").is_dir():
        pytest.skip("no /proc: no folder that refuses root too")
    with pytest.raises(mf.OutputError, match=r"^/proc/self/rows\.npy: cannot be written: "):
        write_matches(Batches(), "/proc/self/rows.npy")


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_a_folder_that_is_not_writable_is_refused_before_the_search(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(mf.OutputError) as caught:
        write_matches(Untouched(), tmp_path / "rows.npy")
    tmp_path.chmod(0o700)
    expected = f"{tmp_path / 'rows.npy'}: cannot be written: the folder {tmp_path} is not writable"
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rows.xlsx", "found suffix '.xlsx', expected .parquet, .arrow, .csv, .npy"),
        ("rows", "found no suffix, expected .parquet, .arrow, .csv, .npy"),
        ("rows.npy.gz", "found suffix '.gz', expected .parquet, .arrow, .csv, .npy"),
        ("folder.npy", "found a directory, expected a regular file or a new name"),
        ("none/rows.npy", "cannot be written: there is no folder {folder}/none"),
        ("file/rows.npy", "cannot be written: there is no folder {folder}/file"),
    ],
)
def test_a_name_that_cannot_be_written_is_refused_before_the_search(
    tmp_path: Path, name: str, expected: str
) -> None:
    (tmp_path / "folder.npy").mkdir()
    (tmp_path / "file").touch()
    output = tmp_path / name
    for refuse in (lambda: check_output(output), lambda: write_matches(Untouched(), output)):
        with pytest.raises(mf.OutputError) as caught:
            refuse()
        assert str(caught.value) == f"{output}: {expected.format(folder=tmp_path)}"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "folder.npy"]


@pytest.fixture(params=["pipe.csv", "link.csv", "loop.csv"])
def irregular(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Name a pipe, a symbolic link to it, or a link to itself."""
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "link.csv").symlink_to(tmp_path / "pipe.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    return tmp_path / str(request.param)


def test_what_is_no_regular_file_is_refused_before_the_search(irregular: Path) -> None:
    for refuse in (lambda: check_output(irregular), lambda: write_matches(Untouched(), irregular)):
        with pytest.raises(mf.OutputError, match=r"found a .*, expected a regular file or a new name"):
            refuse()


def test_a_pipe_that_appears_while_writing_is_not_replaced(tmp_path: Path) -> None:
    output = tmp_path / "rows.csv"
    with pytest.raises(mf.OutputError) as caught:
        write_matches(Batches(lambda: os.mkfifo(output)), output)
    assert str(caught.value) == f"{output}: found a named pipe, expected a regular file or a new name"
    assert output.is_fifo()
    assert [entry.name for entry in tmp_path.iterdir()] == ["rows.csv"]


def test_an_id_without_a_form_in_utf8_is_reported(tmp_path: Path) -> None:
    class Strings:
        columns = ["v0", "v1"]

        def __iter__(self) -> Iterator[IdArray]:
            yield np.array([["good", "\ud800 bad"]])

    path = tmp_path / "rows.csv"
    with pytest.raises(mf.OutputError) as caught:
        write_matches(Strings(), path)
    assert str(caught.value) == f"{path}: cannot be written: the id '\\ud800 bad' has no form in UTF-8"
    assert list(tmp_path.iterdir()) == []


def test_check_output_touches_nothing(tmp_path: Path) -> None:
    check_output(tmp_path / "rows.npy")
    check_output(str(tmp_path / "rows.CSV"))
    assert list(tmp_path.iterdir()) == []


def test_string_ids_have_no_npy_file(tmp_path: Path) -> None:
    class Strings:
        columns = ["v0", "v1"]

        def __iter__(self) -> Iterator[IdArray]:
            yield np.array([["a", "b"]])

    path = tmp_path / "rows.npy"
    with pytest.raises(mf.OutputError) as caught:
        write_matches(Strings(), path)
    expected = f"{path}: .npy holds integer ids, found strings: write a .csv file instead"
    assert str(caught.value) == expected
    assert list(tmp_path.iterdir()) == []
