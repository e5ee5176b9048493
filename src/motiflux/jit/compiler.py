"""Compiles units, each once, in the background if wanted, and keeps them in memory and on disk."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import OrderedDict, deque
from collections.abc import Mapping
from concurrent.futures import Future, wait
from dataclasses import replace
from pathlib import Path

from motiflux import log
from motiflux.errors import CompileError
from motiflux.jit.base import BuildError, Code, Source, Toolchain
from motiflux.jit.cache import KernelCache
from motiflux.jit.key import headers_digest, source_key
from motiflux.jit.prebuilt import PrebuiltKernels

HEADERS = Path(__file__).resolve().parents[1] / "include"
"""The folder of motiflux' headers."""

_POLL_SECONDS = 0.05
_MEMORY_BYTES = 64 * 2**20


class _Job:
    """A unit that is being compiled or waits for it, with its future and its callbacks."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.future: Future[Code] = Future()
        # Several callers may wait for the same unit, so none of them can cancel it.
        self.future.set_running_or_notify_cancel()


class Compiler:
    """Compiles units with one toolchain.

    Safe to use from several threads, and in a forked child, which repeats unfinished compilations of its
    parent. The interpreter exits without waiting for compilations.

    Parameters
    ----------
    toolchain
        Compiles source text to images.
    cache
        The cache on disk, shared by processes.
    include
        Folders of headers, which must not change while the compiler is in use.
    prebuilt
        Units that were compiled for the package.
    """

    def __init__(
        self,
        toolchain: Toolchain,
        cache: KernelCache,
        include: tuple[Path, ...] = (HEADERS,),
        prebuilt: PrebuiltKernels | None = None,
    ) -> None:
        self._toolchain = toolchain
        self._cache = cache
        self._include = include
        self._prebuilt = prebuilt
        self._headers = ""
        self._settings: Mapping[str, str] | None = None
        self._memory: OrderedDict[Source, Code] = OrderedDict()
        self._memory_bytes = 0
        self._lock = threading.RLock()
        self._jobs: dict[Source, _Job] = {}
        self._queue: deque[_Job] = deque()
        self._worker: threading.Thread | None = None
        _compilers.add(self)

    def compile(self, source: Source) -> Code:
        """Compile `source` in the calling thread, or wait for another thread that already compiles it.

        An interrupt takes effect only once the toolchain is done: a main thread should call `wait` instead.

        Raises
        ------
        CompileError
            The toolchain refused the unit.
        DeviceError
            The toolchain is not available.
        """
        with self._lock:
            if (code := self._remembered(source)) is not None:
                return code
            job = self._jobs.get(source)
            ours = job is None or job in self._queue
            if job is None:
                job = self._jobs[source] = _Job(source)
            elif ours:
                self._queue.remove(job)
        if ours:
            self._run(job)
        return job.future.result()

    def submit(self, source: Source) -> Future[Code]:
        """Have `source` compiled in the background, one unit after another.

        Returns
        -------
        Future
            The compiled unit, or the error of `compile`. It cannot be cancelled. In a forked child, futures
            of the parent never complete.
        """
        with self._lock:
            if (code := self._remembered(source)) is not None:
                done: Future[Code] = Future()
                done.set_result(code)
                return done
            job = self._jobs.get(source)
            if job is None:
                job = _Job(source)
                self._queue.append(job)
                self._jobs[source] = job
            self._start_worker()
            return job.future

    def wait(self, source: Source, timeout: float | None = None) -> Code:
        """Return `source` compiled, without waiting for other units. An interrupt takes effect at once.

        A unit in the queue leaves it. After an interrupt or the timeout, the compilation continues, so that
        the next call can use the result.

        Parameters
        ----------
        source
            The unit.
        timeout
            Maximum number of seconds to wait.

        Raises
        ------
        CompileError
            The toolchain refused the unit.
        DeviceError
            The toolchain is not available.
        TimeoutError
            The compilation takes longer than `timeout`.
        """
        future = self.start(source)
        deadline = None if timeout is None else time.monotonic() + timeout
        while not future.done():
            left = _POLL_SECONDS if deadline is None else deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"kernel {source.name} is not compiled within {timeout} seconds")
            # Python lets signals through while the main thread waits for a lock, but not on every platform;
            # polling does not depend on it.
            wait([future], min(_POLL_SECONDS, left))
        return future.result()

    def start(self, source: Source) -> Future[Code]:
        """Have `source` compiled at once in a new thread, unless another thread already compiles it.

        Returns
        -------
        Future
            As of `submit`.
        """
        with self._lock:
            job = self._jobs.get(source)
            if job is None:
                if self._remembered(source) is not None:
                    return self.submit(source)
                job = _Job(source)
                self._queue.append(job)  # it stays queued if an interrupt comes before its thread runs
                self._jobs[source] = job
            waiting = job in self._queue
        if waiting:
            # A daemon, as the interpreter waits for others at exit.
            threading.Thread(target=self._take, args=(job,), name="motiflux-compiler", daemon=True).start()
        return job.future

    def _take(self, job: _Job) -> None:
        """Compile a job, unless another thread took it meanwhile."""
        with self._lock:
            if job not in self._queue:
                return
            self._queue.remove(job)
        self._run(job)

    def settle(self, timeout: float | None = None) -> bool:
        """Wait until all submitted units are compiled or refused; return False after the timeout.

        An interrupt takes effect at once.
        """
        with self._lock:
            pending = [job.future for job in self._jobs.values()]
        deadline = None if timeout is None else time.monotonic() + timeout
        while not all(future.done() for future in pending):
            if deadline is not None and time.monotonic() >= deadline:
                return False
            wait(pending, _POLL_SECONDS)
        return True

    def known(self, source: Source) -> bool:
        """Return whether `source` is compiled already: in memory, in the package or on disk.

        Raises
        ------
        DeviceError
            The toolchain is not available.
        """
        with self._lock:
            if self._remembered(source) is not None:
                return True
        return self._load(source) is not None

    @property
    def is_loaded(self) -> bool:
        """Whether the toolchain's libraries are loaded; else `known` takes .1 s to load them."""
        return self._settings is not None

    def drop_prebuilt(self) -> None:
        """Use no prebuilt units from now on: the device refuses them."""
        with self._lock:
            self._prebuilt = None
            for source in [source for source, code in self._memory.items() if code.prebuilt]:
                self._memory_bytes -= len(self._memory.pop(source).image)

    def _run(self, job: _Job) -> None:
        """Compile a job that no other thread has taken, and set its future."""
        try:
            code = self._produce(job.source)
        except Exception as error:  # noqa: BLE001, as all waiting callers get the error
            self._forget(job)
            job.future.set_exception(error)
        except BaseException:
            # The calling thread was interrupted. Others may wait for this unit: the worker thread takes over.
            with self._lock:
                self._queue.append(job)
                self._start_worker()
            raise
        else:
            self._forget(job)
            job.future.set_result(code)

    def _produce(self, source: Source) -> Code:
        if (code := self._load(source)) is not None:
            return code
        key = self._key(source)
        began = time.perf_counter()
        try:
            built = self._toolchain.build(source, self._include)
        except BuildError as error:
            raise self._refused(source, key, error.log) from error
        code = Code(source.name, built.image, key, built.log, seconds=time.perf_counter() - began)
        log.COMPILE.info("%s: compiled in %.3g s", source.name, code.seconds)
        self._remember(source, code)
        # If an upgrade has replaced the headers meanwhile, the image does not match its key.
        if headers_digest(self._include) == self._headers_digest():
            self._cache.put(key, built.image)
        return code

    def _load(self, source: Source) -> Code | None:
        """Return `source` from the package or from the cache on disk; None if it is in neither.

        The package comes first: it needs no toolchain, whose libraries take .1 s to load.
        """
        began = time.perf_counter()
        key, prebuilt = "", self._prebuilt
        image = None if prebuilt is None else prebuilt.get(source, self._headers_digest())
        came = image is not None
        if image is None:
            key = self._key(source)
            image = self._cache.get(key)
        if image is None:
            return None
        seconds = time.perf_counter() - began
        code = Code(source.name, image, key, cached=True, prebuilt=came, seconds=seconds)
        log.COMPILE.debug("%s: from %s, %.3g s", source.name, "the package" if came else "the cache", seconds)
        self._remember(source, code)
        return code

    def _refused(self, source: Source, key: str, log: str) -> CompileError:
        # Other inputs of the compilation are appended, so that the line numbers of the log stay valid.
        identity = self._identity()
        text = "\n".join(
            [
                source.text.rstrip("\n"),
                "",
                *(f"// {name}: {value}" for name, value in sorted(identity.items())),
                f"// options of this unit: {' '.join(source.options) or 'none'}",
                *(f"// {line}" for line in source.description.splitlines()),
                "",
            ]
        )
        path = self._cache.save_failed(f"{source.name[:80]}-{key[:12]}", text)
        return CompileError(source.name, log, path, source.description)

    def _key(self, source: Source) -> str:
        return source_key(self._identity(), self._headers_digest(), source)

    def _identity(self) -> Mapping[str, str]:
        """Return the identity of the toolchain, computed once."""
        if self._settings is None:
            self._settings = self._toolchain.identity()
        return self._settings

    def _headers_digest(self) -> str:
        """Return the digest of the headers, computed once."""
        if not self._headers:
            self._headers = headers_digest(self._include)
        return self._headers

    def _remembered(self, source: Source) -> Code | None:
        """Return `source` from memory. The lock is held."""
        code = self._memory.get(source)
        if code is not None:
            self._memory.move_to_end(source)
        return code

    def _remember(self, source: Source, code: Code) -> None:
        """Keep a unit in memory, and drop the least recently used units."""
        kept = replace(code, log="", cached=True, seconds=0.0)
        with self._lock:
            if source not in self._memory:
                self._memory[source] = kept
                self._memory_bytes += len(code.image)
            while self._memory_bytes > _MEMORY_BYTES and len(self._memory) > 1:
                _, oldest = self._memory.popitem(last=False)
                self._memory_bytes -= len(oldest.image)

    def _forget(self, job: _Job) -> None:
        """Remove a job that is done."""
        with self._lock:
            if self._jobs.get(job.source) is job:
                del self._jobs[job.source]

    def _start_worker(self) -> None:
        """Start the worker thread if there is work and none runs. The lock is held."""
        if self._queue and (self._worker is None or not self._worker.is_alive()):
            # A daemon, as the interpreter waits for others at exit.
            self._worker = threading.Thread(target=self._work, name="motiflux-compiler", daemon=True)
            self._worker.start()

    def _work(self) -> None:
        """Compile the queued jobs, then end: an idle compiler has no thread and can be garbage-collected."""
        while True:
            with self._lock:
                if not self._queue:
                    self._worker = None
                    return
                job = self._queue.popleft()
            self._run(job)

    def _start_anew(self) -> None:
        """Discard the state of the parent's threads, which do not exist in a forked child."""
        self._lock = threading.RLock()
        self._jobs.clear()
        self._queue.clear()
        self._worker = None
        if self._prebuilt is not None:
            self._prebuilt.start_anew()


_compilers: weakref.WeakSet[Compiler] = weakref.WeakSet()


def _start_compilers_anew() -> None:
    for compiler in list(_compilers):
        compiler._start_anew()


os.register_at_fork(after_in_child=_start_compilers_anew)
