#!/usr/bin/env bash
# Runs the memory cases of the suite pvm on a GPU, in at most 150 seconds: tables of 2 and 8 times the memory
# that a search may hold, beside the same search with all memory, uploads included. Counts are compared with
# those of engine dfs. MOTIFLUX_RMAT is the scale of the graph; 19 has tables of about 100 MB.
# usage: bench-memory.sh PYTHON [FOLDER of the results]
set -euo pipefail

python=$1
results=${2:-$(mktemp -d)}
export MOTIFLUX_RMAT=${MOTIFLUX_RMAT:-19} MOTIFLUX_CASE_SECONDS=${MOTIFLUX_CASE_SECONDS:-0.4}
export MOTIFLUX_LIMIT=${MOTIFLUX_LIMIT:-5}
mkdir -p "$results"
timeout 145 "$python" -m motiflux bench pvm --only "memory " --out "$results" || echo "exit code $?"
"$python" - "$results" <<'SCRIPT'
import json, pathlib, sys

for path in sorted(pathlib.Path(sys.argv[1]).glob("pvm*.json")):
    result = json.loads(path.read_text())
    print(result["device"])
    for case in result["cases"]:
        print(case["case"], case["engine"], case["count"], case["checked_against"], case["seconds"], sep=" | ")
        for name, value in case["figures"].items():
            print(f"    {name}: {value:,.3f}")
    for bar in result["bars"]:
        print(bar["bar"], bar["value"], "target", bar["target"], "holds" if bar["holds"] else "MISSED", sep=" | ")
SCRIPT
