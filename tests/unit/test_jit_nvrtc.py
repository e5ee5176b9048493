"""NVRTC compiles units without a GPU, lets other threads run, and says all it has to say."""

from __future__ import annotations

import importlib
import importlib.metadata
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest

from motiflux.errors import CompileError, DeviceError, InternalError
from motiflux.jit import BuildError, Compiler, KernelCache, NvrtcToolchain, Source, nvrtc
from tests.interrupts import FOR_GOOD
from tests.nvrtc.resources import parse_resources
from tests.rotating import in_turn
from tests.unit.jit_cases import run_python

HAS_NVRTC = subprocess.run([sys.executable, "-c", "import cuda.core"], capture_output=True).returncode == 0
needs_nvrtc = pytest.mark.skipif(not HAS_NVRTC, reason="cuda.core is not installed")

PLAIN = Source("plain", 'extern "C" __global__ void plain(unsigned* p) { p[threadIdx.x] += 1; }')
# The front end takes a second for it, ptxas much longer.
BIG_TEXT = """
template <int N> __device__ int g(int x) { return g<N - 1>(x * N + (x >> 3)) ^ g<N - 1>(x + N); }
template <> __device__ int g<0>(int x) { return x; }
extern "C" __global__ void big(int* p) { p[0] = g<%d>(p[1]); }
"""


@needs_nvrtc
def test_a_unit_becomes_a_cubin_and_a_log() -> None:
    built = NvrtcToolchain("sm_90").build(PLAIN, ())
    assert built.image.startswith(b"\x7fELF")
    assert b"plain" in built.image
    assert "\0" not in built.log
    resources = parse_resources(built.log)["plain"]
    assert 0 < resources.registers < 32
    assert (resources.stack, resources.spill_stores, resources.spill_loads) == (0, 0, 0)


@needs_nvrtc
def test_a_unit_is_compiled_while_another_thread_imports_cuda_core(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = importlib.import_module("cuda.core")
    begun = ModuleType("cuda.core")
    monkeypatch.setitem(sys.modules, "cuda.core", begun)
    ends = threading.Timer(0.2, begun.__dict__.update, [whole.__dict__])
    ends.start()
    assert NvrtcToolchain("sm_90").build(PLAIN, ()).image
    ends.join()


@needs_nvrtc
def test_a_cuda_core_without_what_compiling_needs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.core", ModuleType("cuda.core"))
    monkeypatch.setattr(nvrtc, "_MOST_WAIT", 0.01)
    with pytest.raises(DeviceError, match=r"cuda\.core lacks Program or ProgramOptions"):
        NvrtcToolchain("sm_90").build(PLAIN, ())


@needs_nvrtc
def test_the_identity_names_version_target_and_options() -> None:
    identity = NvrtcToolchain("sm_90").identity()
    assert identity["arch"] == "sm_90"
    assert "c++20" in identity["options"]
    assert identity["version"].split(".")[0].isdigit()
    assert identity != NvrtcToolchain("sm_80").identity()
    assert identity == NvrtcToolchain("sm_90").identity()


@needs_nvrtc
def test_the_identity_does_not_import_what_only_compiling_needs() -> None:
    script = """
import sys
from motiflux.jit import NvrtcToolchain
named = NvrtcToolchain("sm_90").identity()["cuda.core"]
assert "cuda.core" not in sys.modules
import cuda.core
print(named == cuda.core.__version__)
"""
    status, out, err = run_python(script)
    assert (status, out.strip()) == (0, "True"), err


@needs_nvrtc
def test_an_installation_of_cuda_core_that_does_not_say_its_version_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    version = importlib.metadata.version

    def nothing(name: str) -> str:
        if name == "cuda-core":
            raise importlib.metadata.PackageNotFoundError(name)
        return version(name)

    expected = nvrtc._versions.__wrapped__()
    monkeypatch.setattr(importlib.metadata, "version", nothing)
    assert nvrtc._versions.__wrapped__() == expected
    monkeypatch.setitem(sys.modules, "cuda.core", None)
    with pytest.raises(DeviceError, match=r"compiling for a GPU needs the package cuda: .*pip install"):
        nvrtc._versions.__wrapped__()


@needs_nvrtc
def test_headers_come_from_the_folders_named_and_from_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here.hpp").write_text("#define VALUE 7")
    monkeypatch.chdir(tmp_path)
    unit = Source("unit", '#include "here.hpp"\nextern "C" __global__ void k(int* p) { *p = VALUE; }')
    toolchain = NvrtcToolchain("sm_90")
    assert toolchain.build(unit, (tmp_path,)).image
    with pytest.raises(BuildError, match=r"here\.hpp"):
        toolchain.build(unit, ())


@needs_nvrtc
def test_options_of_a_unit_reach_the_compiler() -> None:
    text = 'extern "C" __global__ void k(int* p) { *p = A + B; }\n#if A != 5\n#error A\n#endif'
    NvrtcToolchain("sm_90").build(Source("unit", text, ("-DA=5", "-DB", "--maxrregcount=32")), ())
    with pytest.raises(InternalError, match="-G"):
        NvrtcToolchain("sm_90").build(Source("unit", text, ("-G",)), ())


@needs_nvrtc
def test_the_log_of_a_refused_unit_is_whole() -> None:
    text = "\n".join(f"__device__ int f{n}() {{ return undefined_{n}; }}" for n in range(90))
    with pytest.raises(BuildError) as caught:
        NvrtcToolchain("sm_90").build(Source("unit", text), ())
    log = caught.value.log
    assert all(f'identifier "undefined_{number}" is undefined' in log for number in range(90))
    assert "90 errors detected" in log
    assert "\0" not in log


@needs_nvrtc
def test_what_ptxas_refuses_is_in_the_log_too() -> None:
    large = 'extern "C" __global__ void k(int* p) { __shared__ int a[100000]; a[*p] = 1; *p = a[p[1]]; }'
    with pytest.raises(BuildError, match="too much shared data"):
        NvrtcToolchain("sm_90").build(Source("unit", large), ())
    with pytest.raises(BuildError, match="bogus"):
        NvrtcToolchain("sm_90").build(
            Source("unit", 'extern "C" __global__ void k() { asm("bogus.i;"); }'), ()
        )
    with pytest.raises(BuildError, match="arch"):
        NvrtcToolchain("sm_1").build(PLAIN, ())


@needs_nvrtc
def test_a_compiler_with_nvrtc_says_where_the_source_is(tmp_path: Path) -> None:
    compiler = Compiler(NvrtcToolchain("sm_90"), KernelCache(tmp_path))
    assert compiler.wait(PLAIN).image == compiler.compile(PLAIN).image
    with pytest.raises(CompileError, match="undefined") as caught:
        compiler.wait(Source("bad", "__device__ int f() { return undefined; }", description="the plan"))
    assert caught.value.path is not None
    assert "arch: sm_90" in Path(caught.value.path).read_text()


@pytest.mark.turns(8)
@needs_nvrtc
def test_other_threads_run_while_nvrtc_compiles() -> None:
    turns = 0
    compiling, done = threading.Event(), threading.Event()

    def take_turns() -> None:
        nonlocal turns
        compiling.wait()
        while not done.wait(0.005):
            turns += 1

    before = sys.getswitchinterval()
    other = threading.Thread(target=take_turns)
    other.start()
    try:
        sys.setswitchinterval(FOR_GOOD)  # turns come only where the interpreter is given up
        compiling.set()
        NvrtcToolchain("sm_90").build(Source("big", BIG_TEXT % 9), ())
    finally:
        sys.setswitchinterval(before)
        done.set()
        other.join()
    assert turns >= 5


@pytest.mark.turns(8)
@needs_nvrtc
@pytest.mark.parametrize("delay", in_turn(2, ["0.1", "0.7", "1.5", "2"]))
def test_exit_while_nvrtc_compiles_is_clean(delay: str) -> None:
    # NVRTC's destructors under a running compilation crash the process now and then, mostly while ptxas runs.
    script = (
        "import atexit, sys, time\n"
        "from motiflux.jit import Compiler, KernelCache, NvrtcToolchain, Source\n"
        "atexit.register(print, 'at exit')\n"
        "compiler = Compiler(NvrtcToolchain('sm_90'), KernelCache(None))\n"
        "compiler.submit(Source('big', sys.argv[1]))\n"
        "time.sleep(float(sys.argv[2]))\n"
        "print('leaving')\n"
        "sys.exit(3)\n"
    )
    assert run_python(script, BIG_TEXT % 13, delay, timeout=120) == (3, "leaving\nat exit\n", "")


def test_without_the_gpu_packages_the_error_says_what_to_install() -> None:
    script = (
        "import sys\n"
        "sys.modules['cuda'] = sys.modules['cuda.core'] = None\n"
        "from motiflux.errors import DeviceError\n"
        "from motiflux.jit import Compiler, KernelCache, NvrtcToolchain, Source\n"
        "compiler = Compiler(NvrtcToolchain('sm_90'), KernelCache(None))\n"
        "for call in (compiler.compile, compiler.wait, compiler.known):\n"
        "    try:\n"
        "        call(Source('unit', ''))\n"
        "    except DeviceError as error:\n"
        "        print(error)\n"
    )
    status, out, err = run_python(script)
    assert (status, err) == (0, "")
    assert out.count("pip install 'motiflux[gpu]'") == 3
