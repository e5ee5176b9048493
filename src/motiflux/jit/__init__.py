"""Compiling at run time: text and options in, binary images out.

A `Compiler` turns a `Source` into `Code` with a `Toolchain`: `NvrtcToolchain` for GPUs. It compiles each unit
once, in the background if the caller has to stay interruptible, and keeps images in memory and in a
`KernelCache` on disk, under keys that cover all inputs of the compilation. This package does not depend on
graphs or plans.
"""

from motiflux.jit.base import BuildError, Built, Code, Source, Toolchain
from motiflux.jit.cache import KernelCache
from motiflux.jit.compiler import HEADERS, Compiler
from motiflux.jit.nvrtc import NvrtcToolchain
from motiflux.jit.prebuilt import PrebuiltKernels

__all__ = [
    "HEADERS",
    "BuildError",
    "Built",
    "Code",
    "Compiler",
    "KernelCache",
    "NvrtcToolchain",
    "PrebuiltKernels",
    "Source",
    "Toolchain",
]
