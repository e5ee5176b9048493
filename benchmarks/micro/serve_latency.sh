#!/usr/bin/env bash
# Latency of a service between two streams of JetStream on an idle machine, after the time of a bare fsync there.
# usage: serve_latency.sh [FOLDER]
# FOLDER (default /tmp) is on the disk that is measured. nats-server has to be on PATH, or in build/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export TMPDIR=${1:-/tmp} PATH=$PWD/build:$PATH
nproc
uptime
.venv/bin/python - <<'PY'
import os
import tempfile
import time

with tempfile.NamedTemporaryFile() as file:
    times = []
    for _ in range(500):
        file.write(bytes(4096))
        file.flush()
        begin = time.perf_counter()
        os.fsync(file.fileno())
        times.append((time.perf_counter() - begin) * 1e3)
    times.sort()
    print(f"a bare fsync of a page in {tempfile.gettempdir()}: median {times[250]:.2f} ms, 99 % {times[495]:.2f} ms")
PY
for case in "10,000/s, 10" "10,000/s, 1 " "50,000" "100,000"; do
  out=$(mktemp -d)
  .venv/bin/motiflux bench serve --only "jetstream $case" --out "$out"
  cat "$out"/*.json | grep -E '"(case|[a-z0-9_]+_ms|cpu_us_per_update|queue_us_per_update|load)"'
done
