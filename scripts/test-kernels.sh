#!/usr/bin/env bash
# Compiles every kernel for every architecture, beside the tests that run kernels under the emulator and then
# all others: the one takes a core for minutes, the others mostly one as well.
# usage: test-kernels.sh PYTHON [pytest's arguments for the emulated tests]
set -euo pipefail

python=$1
output=$(mktemp) rest=$(mktemp)
"$python" -m pytest -q -p no:cacheprovider tests/nvrtc >"$output" 2>&1 &
compiling=$!
trap 'kill "$compiling" 2>/dev/null || true; rm -f "$output" "$rest"' EXIT

status=0
"$(dirname "${BASH_SOURCE[0]}")/test-emulated.sh" "$@" || status=$?
echo "==> tests (make test-all runs the long ones too)"
"$python" -m pytest -q --ignore tests/nvrtc | tee "$rest" || status=$?
wait "$compiling" || status=$?
echo "==> kernels compiled for every architecture"
cat "$output"
echo "==> tests"
tail -n 1 "$rest"
exit "$status"
