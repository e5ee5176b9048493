"""The resources of a multiprocessor that a kernel needs, as the assembler reports them."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ENTRY = re.compile(r"Compiling entry function '(?P<name>[^']+)'")
_BLOCK = re.compile(r"(?=Compiling entry function ')")  # where a log begins to speak of another kernel
_STACK = re.compile(
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads"
)
_REGISTERS = re.compile(r"Used (?P<registers>\d+) registers")


@dataclass(frozen=True, slots=True)
class Resources:
    """Registers and local memory of one kernel.

    Parameters
    ----------
    registers
        Registers per thread.
    stack
        Bytes of stack frame per thread: arrays that are indexed at run time, arguments of calls, spills.
    spill_stores
        Bytes that each thread writes for want of registers.
    spill_loads
        Bytes that each thread reads back.
    """

    registers: int
    stack: int
    spill_stores: int
    spill_loads: int


def parse_resources(log: str) -> dict[str, Resources]:
    """Return the resources of each kernel that a log of ptxas (run with ``-v``) speaks of.

    Stack and spills of functions that a kernel calls, where ptxas did not inline them, are added to the
    kernel's.

    Returns
    -------
    dict
        From entry point, as it is named in the image, to its resources. Empty for a log without them, such as
        that of another toolchain.
    """
    found: dict[str, Resources] = {}
    for block in _BLOCK.split(log):
        registers = _REGISTERS.search(block)
        entry = _ENTRY.match(block)
        if registers is None or entry is None:
            continue
        frames = [[int(number) for number in frame.groups()] for frame in _STACK.finditer(block)]
        stack, stores, loads = (sum(column) for column in zip(*frames, strict=True)) if frames else (0, 0, 0)
        found[entry["name"]] = Resources(int(registers["registers"]), stack, stores, loads)
    return found
