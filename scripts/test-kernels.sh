#!/usr/bin/env bash
# Compiles every kernel for every architecture and then runs kernels under the emulator, beside all other tests:
# either side takes about one core, and as long as the other.
# usage: test-kernels.sh PYTHON [pytest's arguments for the emulated tests]
set -euo pipefail

python=$1
scripts=$(dirname "${BASH_SOURCE[0]}")
folder=$(mktemp -d)

kernels() {
  local status=0
  "$python" -m pytest -q -p no:cacheprovider tests/nvrtc >"$folder/compiled" 2>&1 || status=$?
  "$scripts/test-emulated.sh" "$@" -p no:cacheprovider >"$folder/emulated" 2>&1 || status=$?
  return "$status"
}

set -m # a process group of its own, so that all of it ends with this script
kernels "$@" </dev/null &
kernels=$!
set +m
trap 'kill -- "-$kernels" 2>/dev/null || true; rm -rf "$folder"' EXIT

status=0
echo "==> tests (make test-all runs the long ones too)"
"$python" -m pytest -q --ignore tests/nvrtc | tee "$folder/rest" || status=$?
wait "$kernels" || status=$?
echo "==> kernels compiled for every architecture"
cat "$folder/compiled"
echo "==> tests of the GPU's kernels, emulated and sanitized"
cat "$folder/emulated"
echo "==> tests"
tail -n 1 "$folder/rest"
exit "$status"
