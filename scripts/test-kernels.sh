#!/usr/bin/env bash
# Runs all tests that are not long, in three processes that take about as long: units, examples and oracles; NVRTC on
# kernels, native checks, then the emulator on each kind of kernel; all others, which are shown.
# usage: test-kernels.sh PYTHON
set -euo pipefail

python=$1
scripts=$(dirname "${BASH_SOURCE[0]}")
folder=$(mktemp -d)

# Together they launch every kind of kernel; tests/backend/test_every_kernel.py knows which.
emulated=(
  tests/device tests/backend/test_specialized.py tests/backend/test_every_kernel.py
  tests/backend/test_equal_candidates.py tests/unit/test_fuzz.py tests/property/test_agreement.py
  tests/property/test_device_sampling.py tests/property/test_device_space.py tests/property/test_monitor_devices.py
  tests/property/test_sizes_of_calls.py
)
# In a process of their own: behind all others, the process was once aborted, for a reason that was not found.
emulated_apart=(
  tests/property/test_monitor_out_of_core.py tests/property/test_monitor_overlap.py tests/property/test_pvm_search.py
)

units=(tests/unit tests/oracle)
compiled=(tests/nvrtc tests/native)

kernels() {
  local status=0
  "$python" -m pytest -q -p no:cacheprovider "${compiled[@]}" >"$folder/compiled" 2>&1 || status=$?
  "$scripts/test-emulated.sh" "$python" "${emulated[@]}" -p no:cacheprovider >"$folder/emulated" 2>&1 || status=$?
  "$scripts/test-emulated.sh" "$python" "${emulated_apart[@]}" -p no:cacheprovider >>"$folder/emulated" 2>&1 || status=$?
  return "$status"
}

units() {
  "$python" -m pytest -q -p no:cacheprovider "${units[@]}" docs src >"$folder/units" 2>&1
}

set -m # process groups of their own, so that all of them end with this script
kernels </dev/null &
kernel_tests=$!
units </dev/null &
unit_tests=$!
set +m
trap 'kill -- "-$kernel_tests" "-$unit_tests" 2>/dev/null || true; rm -rf "$folder"' EXIT

status=0
echo "==> tests (make test-all runs the long ones too)"
"$python" -m pytest -q "${compiled[@]/#/--ignore=}" "${units[@]/#/--ignore=}" tests | tee "$folder/rest" || status=$?
wait "$unit_tests" || status=$?
wait "$kernel_tests" || status=$?
echo "==> kernels compiled: all by NVRTC's front end, those of default tuning for one architecture; native checks"
cat "$folder/compiled"
echo "==> tests of the GPU's kernels, emulated and sanitized"
cat "$folder/emulated"
echo "==> unit tests, examples of the documentation, oracles"
cat "$folder/units"
echo "==> other tests"
tail -n 1 "$folder/rest"
exit "$status"
