"""What ptxas says of a kernel is read from its log."""

from __future__ import annotations

from tests.nvrtc.resources import Resources, parse_resources

LOG = """\
unit(1): warning #177-D: variable "unused" was declared but never referenced
ptxas info    : Overriding maximum register limit 256 for 'plain' with  32 of maxrregcount option
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'spilling' for 'sm_90'
ptxas info    : Function properties for spilling
ptxas         .     336 bytes stack frame, 316 bytes spill stores, 356 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 336 bytes cumulative stack size, 512 bytes smem
ptxas info    : Compile time = 40.083 ms
ptxas info    : Compiling entry function 'calling' for 'sm_90'
ptxas info    : Function properties for calling
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 26 registers, used 0 barriers
ptxas info    : Compile time = 2.820 ms
ptxas info    : Function properties for _Z3recPii
ptxas         .     40 bytes stack frame, 36 bytes spill stores, 32 bytes spill loads
ptxas info    : Compiling entry function '_ZN1q1tILi3EEEvPi' for 'sm_90'
ptxas info    : Function properties for _ZN1q1tILi3EEEvPi
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
"""


def test_every_kernel_of_a_log_is_found() -> None:
    found = parse_resources(LOG)
    assert found["spilling"] == Resources(registers=64, stack=336, spill_stores=316, spill_loads=356)
    assert found["_ZN1q1tILi3EEEvPi"] == Resources(8, 0, 0, 0)
    assert len(found) == 3


def test_functions_that_a_kernel_calls_count_as_the_kernels() -> None:
    assert parse_resources(LOG)["calling"] == Resources(
        registers=26, stack=40, spill_stores=36, spill_loads=32
    )


def test_a_log_of_another_toolchain_speaks_of_no_kernel() -> None:
    assert parse_resources("") == {}
    assert parse_resources("unit.cpp:1: warning: unused variable") == {}
