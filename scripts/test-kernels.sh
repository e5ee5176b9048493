#!/usr/bin/env bash
# Compiles every kernel for every architecture, beside the tests that run kernels under the emulator: the one
# takes a core for minutes, the others mostly one as well.
# usage: test-kernels.sh PYTHON [pytest's arguments for the emulated tests]
set -euo pipefail

python=$1
output=$(mktemp)
"$python" -m pytest -q -p no:cacheprovider tests/nvrtc >"$output" 2>&1 &
compiling=$!
trap 'kill "$compiling" 2>/dev/null || true; rm -f "$output"' EXIT

status=0
"$(dirname "${BASH_SOURCE[0]}")/test-emulated.sh" "$@" || status=$?
wait "$compiling" || status=$?
echo "==> kernels compiled for every architecture"
cat "$output"
exit "$status"
