#!/usr/bin/env bash
# Runs the tests that have a device with the kernels under the SIMT emulator, AddressSanitizer and
# UndefinedBehaviorSanitizer. The sanitizers' library has to be loaded before Python.
# usage: test-emulated.sh PYTHON [pytest's arguments]
set -euo pipefail

python=$1
shift
cxx=${CXX:-g++}
libraries="$("$cxx" -print-file-name=libasan.so) $("$cxx" -print-file-name=libstdc++.so.6)"

export MOTIFLUX_SIMT_SANITIZE=1
# Python itself does not free everything at exit; stacks of fibers are switched on purpose.
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:${ASAN_OPTIONS:-}
export UBSAN_OPTIONS=print_stacktrace=1:${UBSAN_OPTIONS:-}
LD_PRELOAD=$libraries exec "$python" -m pytest -q --device emulated "$@"
