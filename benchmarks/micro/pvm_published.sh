#!/usr/bin/env bash
# Checks and times the switches of engine="pvm" on a GPU, in at most two minutes: pvm_switches.py, and the cases
# "published" and "search" of `motiflux bench pvm` on email_enron.
# usage: pvm_published.sh PYTHON [FOLDER OF RESULTS]
set -uo pipefail

python=$1
results=${2:-benchmarks/results}
status=0

bench() {
    MOTIFLUX_QUERIES=3 MOTIFLUX_CASE_SECONDS=0.6 MOTIFLUX_LIMIT=1 timeout "$1" \
        "$(dirname "$python")/motiflux" bench pvm --out "$results" --only "$2" || status=1
}

mkdir -p "$results"
timeout 65 "$python" benchmarks/micro/pvm_switches.py --seconds 36 || status=1
bench 35 "published email_enron"
bench 20 "search email_enron"
exit "$status"
